"""picklock for Python tests: explore a lock, steer a private redis-server, and hold a lock to what it promises.

    import picklock

    def test_my_lock():
        picklock.explore("my_lock.py").assert_as_expected()    # nothing that is found is its own fault

Standard library only. The program is `picklock` on the PATH, or what the environment variable PICKLOCK names; in a copy of picklock's
own tree it is build/picklock.
"""

import difflib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

__all__ = ["explore", "run", "replay", "schemes", "Report", "Violation", "Server", "Proxy", "PicklockError", "program"]


class PicklockError(Exception):
    """picklock refused what it was asked, or is not here; its own words."""


def program():
    """The path of the program."""
    here = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "picklock"
    named = os.environ.get("PICKLOCK") or (str(here) if here.is_file() else shutil.which("picklock"))
    if not named or not shutil.which(named):
        raise PicklockError(f"no program picklock: {named or 'it is not on the PATH'}; install it, or set PICKLOCK to its path")
    return named


def _call(words, **more):
    return subprocess.run([program(), *map(str, words)], stdin=subprocess.DEVNULL, text=True, capture_output=True, **more)


# What runs a file that is no program by itself.
_RUNTIMES = {".py": [sys.executable], ".js": ["node"], ".mjs": ["node"], ".rb": ["ruby"]}


def _lock_words(lock):
    """--worker for a program, --scheme for a shared object or a name of the table."""
    if isinstance(lock, (list, tuple)):
        return ["--worker", shlex.join(map(str, lock))]
    lock = str(lock)
    path = pathlib.Path(lock)
    if path.suffix == ".so":
        return ["--scheme", lock if "/" in lock else f"./{lock}"]
    file = lock if path.is_file() else lock.split(" ")[0]
    runtime, options = _RUNTIMES.get(pathlib.Path(file).suffix), lock[len(file):]
    if runtime and not os.path.isfile(file):
        raise PicklockError(f"{file}: no such file")
    if runtime:
        return ["--worker", shlex.join([*runtime, file]) + options]
    if path.is_file() and os.access(path, os.X_OK):
        return ["--worker", shlex.join([str(path.resolve())])]
    return ["--worker" if options else "--scheme", lock]  # a command line, as a shell has it, or a name of the table


def _option_words(options):
    words = []
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            words.append(name)
        elif value not in (False, None):
            words += [name, ",".join(map(str, value)) if isinstance(value, (list, tuple, set)) else str(value)]
    return words


# Whose faults count: `--fail-on`, as results.json has it.
_BLAMES = ("nobody", "deployment", "either", "scheme")
_COUNTED = {"scheme": {"scheme", "either"}, "deployment": {"deployment", "either"}, "bug": {"scheme", "deployment", "either"},
            "any": set(_BLAMES)}


def _failing(row, found, blames):
    """For which of its causes a property makes its row fail: what is not as a scenario states; else what counts, by results.json."""
    causes = set(found.get("causes") or ([found["cause"]] if found["cause"] else []))
    if found["verdict"] != "violated" or row["as_expected"] is not False:
        return set()
    if row["kind"] == "cell":
        causes = causes if found["failed"] else set()
    elif "fail_on" not in row:
        causes = set() if found["expected"] == "violated" else causes
    else:
        causes = {cause for cause in causes if blames[cause] in _COUNTED.get(row["fail_on"], ())}
    return set() if row.get("known") else causes - set(found.get("known", []))


class Violation:
    """One property of one run or cell that does not hold."""

    def __init__(self, row, found):
        self._row, self._found = row, found
        self.lock = row["scheme"] or row.get("worker")
        self.subject = row.get("fault") or row.get("scenario")
        self.property, self.cause, self.sentences = found["property"], found["cause"], found["witness"]
        self.causes = set(found.get("causes") or [found["cause"]])
        self.steps = found.get("witness_steps")
        self.history = found.get("history") or row.get("history")

    def __str__(self):
        steps = f", {self.steps} steps" if self.steps else ""
        return f"{self.lock}, {self.subject}: {self.property} is violated ({self.cause}{steps})"


class Report:
    """What a command came to: results (the document that results.json is), and the folder with its histories and page."""

    def __init__(self, folder, done, temporary=None):
        self.folder, self._temporary = pathlib.Path(folder), temporary
        self.status, self.output = done.returncode, done.stdout + done.stderr
        try:
            self.results = json.loads((self.folder / "results.json").read_text())
        except OSError:
            raise PicklockError(f"picklock ended with status {done.returncode}: {self.output.strip()}") from None

    @property
    def rows(self):
        return self.results["results"]

    @property
    def violations(self):
        return [Violation(row, found) for row in self.rows for found in row["properties"] if found["verdict"] == "violated"]

    @property
    def unknown(self):
        """What was not decided, in words; empty: all was."""
        words = [self.results["interrupted"]["why"]] if self.results.get("interrupted") else []
        words += self.results.get("missing", [])
        for row in self.rows:
            name = f"{row['scheme'] or row.get('worker')}, {row.get('fault') or row.get('scenario')}"
            if row["trouble"] and row["verdict"] != "violated":
                words.append(f"{name}: {row['trouble']}")
            elif row["kind"] == "cell" and not row["search"]["complete"] and not row["unsupported"]:
                words.append(f"{name}: {row['search']['end']}")
            elif row["verdict"] == "unknown":
                words.append(f"{name}: {_why_unknown(row)}")
        return words if self.rows else [*words, "nothing was run"]

    def diagram(self, violation):
        """The space-time diagram of the violation's run; "" where it has no history."""
        if not violation.history:
            return ""
        drawn = _call(["check", self.folder / violation.history, "--timeline"], env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
        start = re.search(r"^ *ms  ", drawn, re.M)
        return "\n" + drawn[start.start():].rstrip() if start else ""

    def assert_safe(self, except_for=()):
        """Every property holds, but for violations whose causes (`picklock list causes`) are all named; and all was decided. Else an
        AssertionError whose message is the shortest counterexample."""
        __tracebackhide__ = True  # pytest shows the caller
        allowed = {except_for} if isinstance(except_for, str) else set(except_for)
        _check_causes(allowed)
        bad = [violation for violation in self.violations if not violation.causes <= allowed]
        if bad:
            raise AssertionError(self._told(bad))
        if self.unknown:
            raise AssertionError("not decided, so not safe:\n" + "\n".join(f"  {words}" for words in self.unknown))

    def assert_as_expected(self):
        """No row is other than its scenario says; without expectation none is the fault of the lock."""
        __tracebackhide__ = True
        bad = [row for row in self.rows if row["as_expected"] is False and not row.get("known")]
        if bad:
            found = [violation for violation in self.violations if violation._row in bad]
            blames = _causes()
            failing = [violation for violation in found if _failing(violation._row, violation._found, blames)]
            raise AssertionError("\n".join([*_missed(bad), *([self._told(failing, found)] if failing else [])]) or self.output)
        if self.status != 0:
            raise AssertionError("not decided:\n" + ("\n".join(f"  {words}" for words in self.unknown) or self.output))

    def _told(self, violations, others=()):
        """The gravest of the violations, its shortest counterexample; below it the other ones; then what is there, and does not fail."""
        blames = _causes()

        def gravity(violation):
            gravest = min(map([*blames, *violation.causes].index, violation.causes))  # in the order of the program's table
            return gravest, violation.steps or 1 << 30, violation.property == "mutual-exclusion", violation.property

        first, *more = sorted(violations, key=gravity)
        parts = [str(first), *_not_expected(first), *(f"  {sentence}" for sentence in first.sentences), self.diagram(first)]
        for title, listed in [("also:", more), ("found, and not what fails:", [one for one in others if one not in violations])]:
            parts += ["", title, *(f"  {violation}" for violation in listed)] if listed else []
        return "\n".join(parts)


def _not_expected(violation):
    """What the scenario says instead."""
    if violation._row["kind"] == "cell" or "fail_on" in violation._row:
        return []
    expected = violation._found["expected"]
    return [f"  not expected: the scenario says {expected}" if expected else "  not expected: the scenario does not state it"]


def _missed(rows):
    """What scenarios state, and what did not come so, though nothing is violated: "release-own holds, the scenario says: violated"."""
    words = []
    for row in rows:
        for found in row["properties"]:
            if found["expected"] == "violated" and found["verdict"] == "holds" and "fail_on" not in row:
                words.append(f"{row['scheme'] or row.get('worker')}, {row.get('scenario')}: {found['property']} holds; "
                             "the scenario says that it is violated")
    return words


def _why_unknown(row):
    for found in row["properties"]:
        if found["verdict"] == "unknown":
            return f"{found['property']}: " + (found.get("why") or " ".join(found["witness"]) or "unknown")
    return "unknown"


def _causes():
    """Whose fault each is."""
    return {row["name"]: row["blame"] for row in json.loads(_call(["list", "causes", "--json"]).stdout)["causes"]}


def _check_causes(names):
    if not names:
        return
    known = _causes()
    for name in sorted(names - set(known)):
        raise ValueError(f"except_for: {name!r} is no cause; there are {', '.join(sorted(known))}")


def _report(words, folder):
    temporary = None if folder else tempfile.TemporaryDirectory(prefix="picklock-")
    out = pathlib.Path(folder or temporary.name)
    done = _call([*words, "--out", out])
    return Report((out / "latest").resolve(), done, temporary)


def explore(lock, folder=None, **options):
    """Searches every interleaving up to a bound: the options of `picklock explore`, as fault=["none", "stall"], clients=2, states=100000.

    lock: a worker ("my_lock.py", "my_lock.py --fair", "python3 my_lock.py", ["node", "my_lock.js"]), a scheme ("./my_lock.so"), or one of picklock's table.
    folder: where the run folder is kept; without it, it goes with the report."""
    return _report(["explore", *_lock_words(lock), *_option_words(options)], folder)


def run(*scenarios, lock=None, folder=None, **options):
    """Plays scenario files, with the lock, or with those that they mention: the options of `picklock run`."""
    return _report(["run", *scenarios, *(_lock_words(lock) if lock else []), *_option_words(options)], folder)


def replay(schedule, lock=None, folder=None, **options):
    """Replays a schedule file: the options of `picklock replay`."""
    return _report(["replay", schedule, *(_lock_words(lock) if lock else []), *_option_words(options)], folder)


class _Running:
    """A picklock that serves until it is closed, or this process ends. What it says first is where: self.said."""

    def __init__(self, *words):
        self._process = subprocess.Popen([program(), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
        self.said = self._process.stdout.readline().strip()
        if not self.said:
            raise PicklockError(self._process.communicate()[1].strip())

    def close(self):
        self._process.terminate()
        self._process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server(_Running):
    """A private redis-server whose clock stands still until it is moved. It dies with this process."""

    def __init__(self, redis_server=None):
        super().__init__("server", *(["--redis-server", redis_server] if redis_server else []))
        self.url = self.said
        self.host, self.port = "127.0.0.1", int(self.url.rsplit(":", 1)[1])

    def _tell(self, line):
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # why, the end says
        said = self._process.stdout.readline().strip()
        if not said.startswith("ok "):
            raise PicklockError(said.removeprefix("error ") or self._process.communicate()[1].strip() or "the server ended")
        self.now_us = int(said[3:])

    now_us = 0

    def advance(self, time):
        """Moves the clock on: "10s", "250ms", or a number of seconds. Leases end by it, at once."""
        self._tell(f"advance {time if isinstance(time, str) else f'{round(time * 1e6)}us'}")

    def reset(self):
        """No keys, no scripts, default settings, no connections; the time stays."""
        self._tell("reset")


_TOXICS = {"noop": (), "latency": ("latency", "jitter"), "bandwidth": ("rate",), "slow_close": ("delay",), "timeout": ("timeout",),
           "reset_peer": ("timeout",), "slicer": ("average_size", "size_variation", "delay"), "limit_data": ("bytes",)}


class Proxy(_Running):
    """The fault proxy in front of a server: faults come and go while connections live. It dies with this process.

    upstream: "127.0.0.1:6379", or a URL as Server.url. A client is given url; each fault is a toxic, as Toxiproxy calls it."""

    def __init__(self, upstream, seed=1):
        super().__init__("proxy", "--toxiproxy-api", "127.0.0.1:0", "--seed", seed)
        self._api = f"http://127.0.0.1:{self.said}"
        upstream = upstream.rsplit("@", 1)[-1].removeprefix("redis://").split("/")[0]
        try:
            made = self._ask("POST", "/proxies", {"name": "redis", "listen": "127.0.0.1:0", "upstream": upstream})
        except PicklockError:
            self.close()
            raise
        self.host, port = made["listen"].rsplit(":", 1)
        self.port = int(port)
        self.url = f"redis://{self.host}:{self.port}"

    def _ask(self, method, path, body=None):
        request = urllib.request.Request(self._api + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise PicklockError(error.read().decode(errors="replace").strip()) from None
        except OSError as error:
            raise PicklockError(f"the proxy does not answer: {error}") from None
        return json.loads(text) if text else None

    def add(self, type, name=None, stream="downstream", toxicity=1.0, **attributes):
        """A fault until it is removed: "latency" (latency=300, jitter=50: ms), "timeout" (timeout=0: silence), "reset_peer", "bandwidth"
        (rate: kB/s), "limit_data" (bytes), "slicer", "slow_close". stream: "downstream", what the server says, or "upstream". Its name."""
        known = _TOXICS.get(type)
        for attribute in attributes if known is not None else ():
            if attribute not in known:
                near = difflib.get_close_matches(attribute, known, 1)
                raise PicklockError(f"{type} has no {attribute}" + (f"; did you mean '{near[0]}'?" if near else f": it has {', '.join(known) or 'none'}"))
        toxic = {"type": type, "stream": stream, "toxicity": toxicity, "attributes": attributes, **({"name": name} if name else {})}
        return self._ask("POST", "/proxies/redis/toxics", toxic)["name"]

    def remove(self, name):
        self._ask("DELETE", f"/proxies/redis/toxics/{name}")

    def down(self):
        """The server is out of reach: connections end, new ones are refused."""
        self._ask("POST", "/proxies/redis", {"enabled": False})

    def up(self):
        self._ask("POST", "/proxies/redis", {"enabled": True})

    def heal(self):
        """No fault any more, and within reach."""
        self._ask("POST", "/reset")


def schemes():
    """The names of picklock's own schemes."""
    return {row["name"] for row in json.loads(_call(["list", "schemes", "--json"]).stdout)["schemes"]}
