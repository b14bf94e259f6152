"""A worker decided by asking once (sim/ask/): schemes of the table as Python programs have the cells of scenarios/matrix.yaml, each witness
replayed with real workers; what cannot be decided says why."""

import html
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
import yaml
from conftest import BUILD, LONG, ROOT
from readme import BLAME, causes_in
from workers import PLAIN, PYTHON, RUN, needs_redis_py, plain_worker

plain = pytest.fixture(plain_worker)

NPM = BUILD / "workers" / "node_modules"
FAULTS = ["none", "stall", "lose-reply", "late-request", "crash", "restart-empty"]
SCHEMES = ["setnx-del", "setnx-expire-del", "lua-setnx-expire-del", "set-nx-ex-del", "set-nx-ex-get-del", "set-nx-px-cad",
           "set-nx-px-cad-weak-token", "set-nx-px-cad-empty-token", "set-nx-px-evalsha", "set-nx-px-evalsha-eval", "multi-setnx-expire-del", "watch-multi-del",
           "get-watch-multi-del", "fenced", "redlock", "fenced-late-incr"]
FIXED = ["setnx-del", "setnx-expire-del", "lua-setnx-expire-del", "set-nx-ex-del", "set-nx-px-cad-empty-token", "multi-setnx-expire-del"]  # one token
# `NAME as HOW`: the same lock, done otherwise. The rest of the table is not decided by asking: stamps, watchdogs, WAIT, DELEX.
REPLAYED = [*SCHEMES, "set-nx-px-cad as set-nx-px-cad set-up", "set-nx-px-cad as hash"]
# test_asking.c holds schemes to their own steps; here each witness is replayed, too, and its cause is told. Of each scheme one cell of the six, another
# one from scheme to scheme. Three of them in CI: one that is safe, one that is broken, one of several commands; all, with all cells, in `make check-long`.
SAMPLE = {scheme: FAULTS if LONG else [FAULTS[at % 6]] for at, scheme in enumerate(REPLAYED)}
# What the matrix has of a quorum is found on three servers, one cell of it (late-request) by what critical sections count.
QUORUM = "/usr/bin/python3 sim/test/quorum_worker.py"
BOUNDS = {"redlock": ["--servers", "3", "--clients", "2", "--rounds", "2" if LONG else "1", "--section", "counter"]}


def worker(name):
    return QUORUM if name == "redlock" else f"/usr/bin/python3 sim/test/scheme_worker.py {name}"


def explore(name, *options):
    return subprocess.run([BUILD / "picklock", "explore", "--worker", worker(name), *options], cwd=ROOT, text=True, capture_output=True,
                          timeout=300)


def counted(words):
    """What of a cell of the matrix, which names whosever fault it is, counts of a worker: `--fail-on scheme`."""
    told = causes_in(words)
    own = [cause for cause in told if BLAME[cause[0]] == "scheme"] or told
    parts = [("" if cause == "stuck" and not at else f"{cause}, ") + f"{steps} steps" for at, (cause, steps) in enumerate(own)]
    return f"{words.split()[0]} ({'; '.join(parts)})" if told else words


def cells(folder):
    (run,) = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return run, {row["fault"]: row for row in json.loads((run / "results.json").read_text())["results"]}


@pytest.mark.parametrize("scheme", [pytest.param(scheme, marks=[] if scheme in ("set-nx-px-cad-weak-token", "set-nx-px-cad-empty-token", "multi-setnx-expire-del")
                                                 else pytest.mark.long("three schemes of them in CI")) for scheme in REPLAYED])
def test_a_scheme_as_a_worker_has_the_cells_of_the_matrix(scheme, tmp_path):
    expected = yaml.safe_load((ROOT / "scenarios" / "matrix.yaml").read_text())[scheme.split()[0]]
    done = explore(scheme.split(" as ")[-1], "--no-cache", "--fault", ",".join(SAMPLE[scheme]), *BOUNDS.get(scheme, []), "--out", str(tmp_path))
    assert done.returncode in (0, 1), done.stderr
    found = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    _, rows = cells(tmp_path)
    assert set(rows) == set(SAMPLE[scheme])
    for fault in SAMPLE[scheme]:
        words = rows[fault]["search"]["words"]
        assert words == counted(expected[fault]), fault
        if "broken" in words or "only" in words:
            assert found[fault].endswith("confirmed")
    assert "executions of the worker" in done.stdout and "Assumed:" in done.stdout
    assert ("no token is drawn twice by chance" in " ".join(done.stdout.split())) == (scheme not in FIXED)


@pytest.mark.parametrize("lock, cause", [("hash", "overrun"), ("hash-del", "unlock-bug")])
def test_a_lock_in_a_hash_is_judged_by_running_as_by_asking(lock, cause, tmp_path):
    asked = explore(lock, "--clients", "2", "--rounds", "1", "--fault", "slow-work", "--out", str(tmp_path))
    assert ("unlock-bug" in asked.stdout) == (cause == "unlock-bug"), asked.stdout
    ran = subprocess.run([BUILD / "picklock", "run", "--worker", worker(lock), "scenarios/expired-lease-double-delete.yaml", "--out",
                          str(tmp_path)], cwd=ROOT, text=True, capture_output=True, timeout=60)
    assert re.search(rf"violated +\S+ +{cause}\b", ran.stdout), ran.stdout + ran.stderr


def test_its_schedules_are_replayed_by_the_commands_on_its_page(tmp_path):
    done = explore("set-nx-ex-del", "--clients", "2", "--rounds", "1", "--fault", "restart-empty", "--out", str(tmp_path))
    assert done.returncode == 1, done.stderr
    run, rows = cells(tmp_path)
    violated = [row for row in rows["restart-empty"]["properties"] if row["verdict"] == "violated"]
    page = html.unescape((run / "index.html").read_text())
    commands = sorted(set(re.findall(r"<code>picklock (replay [^<]+)</code>", page)))
    assert len(commands) == len(violated) > 0
    for command in commands:
        done = subprocess.run([BUILD / "picklock", *shlex.split(command)], cwd=ROOT, text=True, capture_output=True, timeout=60)
        assert "violated" in done.stdout, done.stdout + done.stderr
    assert "picklock explore --worker" in page and "--section" not in page


def test_what_its_verdicts_rest_on_stands_in_every_report(tmp_path):
    done = explore("set-nx-ex-del", "--clients", "2", "--rounds", "1", "--fault", "none", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    run, _ = cells(tmp_path)
    note, unjudged = json.loads((run / "results.json").read_text())["notes"]
    assert unjudged.startswith("Not judged, since the worker does not promise")
    assert note.startswith("Decided by asking once: ") and "Assumed: the worker is deterministic" in note and note.endswith("just before a lease ends, is not tried.")
    again = subprocess.run([BUILD / "picklock", "report", run], text=True, capture_output=True, timeout=60)
    assert again.returncode == 0, again.stderr
    for text in (done.stdout, again.stdout, (run / "index.html").read_text(), (run / "report.md").read_text()):
        assert note in " ".join(text.replace("\\", "").split())  # Markdown escapes its parentheses


@pytest.mark.parametrize("name, why", [
    ("growing", "it does not close"),
    ("beside", "it keeps a key 'releases' beside the lock's"),
])
def test_what_is_not_decided_is_unknown_and_says_why(name, why):
    done = explore(name, "--clients", "2", "--rounds", "1", "--fault", "none")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "0 safe" in done.stdout and "1 unknown" in done.stdout and "not decided by asking" in done.stdout
    assert why in " ".join(done.stdout.split())


def test_a_delay_that_the_grid_of_time_makes_a_lease_is_not_called_safe(picklock):
    """It is asked again, with waits that are rounded down, and then it meets who holds the lock."""
    worker = "/usr/bin/python3 sim/test/keeping_worker.py 1.2"
    done = picklock("explore", "--worker", worker, "--clients", "2", "--rounds", "1", "--fault", "restart-empty", "--no-cache", cwd=ROOT)
    assert re.search(r"restart-empty +broken \(lost-grant, 9 steps\)", done.out) and ": 1 cell was decided so" in " ".join(done.out.split()), done


@pytest.mark.parametrize("scheme, options", [
    ("fenced-late-incr", ["--fault", "stall"]),  # a search of its own, since it promises fences
    ("set-nx-ex-del", ["--fault", "slow-work", "--rounds", "1", "--section", "counter"]),
])
def test_what_critical_sections_do_is_judged_as_a_schemes(scheme, options, tmp_path):
    done = explore(scheme, "--clients", "2", "--no-cache", *options, "--out", str(tmp_path))
    own = subprocess.run([BUILD / "picklock", "explore", "--scheme", scheme, "--clients", "2", *options, "--json", "-"], text=True, capture_output=True)
    run, rows = cells(tmp_path)
    told = {row["property"]: row for [cell] in [rows.values()] for row in cell["properties"]}
    expected = {row["property"]: row for row in json.loads(own.stdout)["results"][0]["properties"]}
    about = "no-lost-update" if "--section" in options else "fence-order"
    assert about in told and told[about]["replayed"], done.stdout + done.stderr
    for name, row in told.items():
        for what in ("verdict", "cause", "faults", "witness_steps"):
            assert row[what] == expected[name][what], (name, what)
    commands = [line for line in html.unescape((run / "index.html").read_text()).splitlines() if "picklock explore --worker" in line]
    assert commands and all(("--section counter" in line) == ("--section" in options) for line in commands)
    assert ("section: counter)" in done.stdout) == ("--section" in options) and "section: none" not in done.stdout


@pytest.mark.parametrize("name, status, verdict, cause", [("alike", 1, "violated", "fence-disorder"), ("by-time", 2, "unknown", None)])
def test_a_fence_that_does_not_grow_is_found_and_one_that_is_no_count_is_unknown(name, status, verdict, cause, tmp_path):
    done = explore(f"fenced-{name}", "--clients", "2", "--rounds", "1", "--fault", "none", "--no-cache", "--out", str(tmp_path))
    _, rows = cells(tmp_path)
    told = {row["property"]: row for row in rows["none"]["properties"]}
    assert done.returncode == status and (told["fence-order"]["verdict"], told["fence-order"]["cause"]) == (verdict, cause), done.stdout
    assert told["mutual-exclusion"]["verdict"] == told["truthful"]["verdict"] == "holds", "all else is decided"
    assert ("no fault: its fences are in doubt" in " ".join(done.stdout.split())) == (status == 2), done.stdout
    assert "no-lost-update" not in told


# It connects for each operation, and where it times out it may forget to close what it had.
CONNECTS = PLAIN.replace("self.socket = socket.create_connection(settings.address())", "self.left = []").replace(
    "    def ask(self, *words):\n", "    def ask(self, *words):\n        self.socket = socket.create_connection(self.settings.address(), timeout=0.5)\n").replace(
    "        return self.socket.recv(4096)", """        try:
            said = self.socket.recv(4096)
        except TimeoutError:
            self.left.append(self.socket)
            CLOSES
            raise
        self.socket.close()
        return said""") + RUN


@pytest.mark.parametrize("closes", [False, True])
def test_a_connection_that_is_left_open_behind_a_time_out_is_told_of(tmp_path, closes):
    (tmp_path / "my_lock.py").write_text(CONNECTS.replace("CLOSES", "self.socket.close()" if closes else "pass"))
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", f"{PYTHON} '{tmp_path / 'my_lock.py'}'", "--fault", "late-reply",
                           "--clients", "2", "--rounds", "1"], text=True, capture_output=True, timeout=120)
    words = " ".join(done.stdout.split())
    assert ("the connection is still open on which the reply to its last command may come" in words) == (not closes), words
    assert ("Close a connection that timed out" in words) == (not closes), words


@pytest.mark.parametrize("ends, why", [pytest.param("os._exit(9)", "its process ended with status 9", marks=pytest.mark.long("one of two")),
                                       ("os.write(picklock_worker._out, b'oops\\n')", "this is no JSON: 'oops'")])
def test_a_worker_that_ends_in_one_history_leaves_that_cell_open(tmp_path, ends, why):
    """Where a release finds nothing: by asking, and when the cell is run instead. The other cells are decided."""
    (tmp_path / "my_lock.py").write_text(PLAIN + f"""
class Worker(Worker):
    def release(self):
        script = "return redis.call('GET',KEYS[1])==ARGV[1] and redis.call('DEL',KEYS[1]) or 0"
        return self.ask("EVAL", script, 1, self.settings.key, self.settings.name) == b":1\\r\\n" or {ends}
""" + RUN)
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", f"{PYTHON} '{tmp_path / 'my_lock.py'}'", "--fault", "none,slow-work",
                           "--clients", "2", "--rounds", "1", "--no-cache"], text=True, capture_output=True, timeout=120)
    found = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line.startswith("  ")}
    words = " ".join(done.stdout.split())
    assert done.returncode == 2 and found == {"none": "safe", "slow-work": "unknown"}, done.stdout + done.stderr
    assert "slow-work: unknown, because worker A: " in words and "Run instead, it did not come to a verdict" in words and words.count(why) == 2, words


def test_of_several_servers_it_is_asked_only_where_it_promises_a_quorum():
    done = explore("set-nx-ex-del", "--clients", "2", "--rounds", "1", "--fault", "none", "--servers", "3")
    assert done.returncode == 2 and "1 unknown" in done.stdout
    assert "it does not promise a quorum" in " ".join(done.stdout.split())


@needs_redis_py
def test_a_careful_lock_passes_without_options(tmp_path):
    """Two clients, one attempt and some of the faults for the time that it takes: `make check-long` has the default bounds. A library that sends its release
    again by itself, and takes the second answer for the truth, is found."""
    lock = ROOT / "sim" / "worker" / "examples" / "careful_lock.py"
    again = tmp_path / "again.py"
    again.write_text(lock.read_text().replace("import redis\n", "import redis\nfrom redis.backoff import NoBackoff\nfrom redis.retry import Retry\n")
                     .replace("port=port,", "port=port, retry=Retry(NoBackoff(), 1), retry_on_error=[redis.ConnectionError],"))
    short = ["--clients", "2", "--rounds", "1", "--fault", "none,lose-reply", "scenarios/client-kill.yaml"]
    options = ["--no-cache", "--out", str(tmp_path)]
    done = subprocess.run([BUILD / "picklock", "test", f"/usr/bin/python3 {shlex.quote(str(lock))}", *options,
                           *([] if LONG else short)], cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and "careful_lock.py passes" in done.stdout and "0 unknown" in done.stdout, done.stdout + done.stderr
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", f"/usr/bin/python3 {shlex.quote(str(again))}", *options, "--clients", "2",
                           "--rounds", "1", "--fault", "lose-reply"], cwd=ROOT, text=True, capture_output=True, timeout=300)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  lose-reply ")]
    assert done.returncode == 1 and "broken (untrue-answer" in line and line.endswith("confirmed"), done.stdout


@pytest.mark.long("12 s of CPU")
def test_what_only_a_third_attempt_does_otherwise_is_no_new_worker(picklock, tmp_path):
    """From its third release on it deletes whatever is there: with three attempts of a client that is in the bound."""
    once = "ARGV[1] then return redis.call('DEL',KEYS[1])"
    text = PLAIN.replace("def release(self):\n        ", f"""def release(self):
        self.released = getattr(self, "released", 0) + 1
        if self.released < 3:
            return self.ask("EVAL", "if redis.call('GET',KEYS[1])=={once} else return 0 end", 1, self.settings.key, self.settings.name) == b":1\\r\\n"
        """)
    assert text != PLAIN
    (tmp_path / "my_lock.py").write_text(text + RUN)
    for rounds, words in (("2", "overrun only"), ("3", "broken (unlock-bug, at most")):
        done = picklock("explore", "--worker", f"{PYTHON} '{tmp_path / 'my_lock.py'}'", "--no-cache", "--clients", "2", "--rounds", rounds,
                        "--fault", "slow-work")
        assert f"slow-work  {words}" in done.out, done
    assert "goes on otherwise than a new one" in " ".join(done.out.split())


# Of the library: its cleaning up says "no" of what it had itself when its lease was over, and a copy of its script finds its own key. An extend whose
# reply is lost is an error, and behind that it gives the lock back while its holder still counts on the lease that it had.
NPM_REDLOCK = {"none": "safe", "stall": "overrun only", "lose-reply": "broken (short-ttl, 17 steps)", "restart-empty": "broken (lost-grant, 12 steps)",
               "duplicate": "broken (untrue-answer, 11 steps)"}


@pytest.mark.skipif(not shutil.which("node") or not NPM.exists(), reason="the libraries of npm are not installed: harness/setup.sh workers")
def test_npm_redlock_is_decided_on_one_server():
    faults = list(NPM_REDLOCK) if LONG else ["none", "duplicate"]
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", "node sim/worker/examples/redlock_npm.js", "--clients", "2", "--rounds", "1",
                           "--fault", ",".join(faults)], cwd=ROOT, text=True, capture_output=True, timeout=300,
                          env={**os.environ, "NODE_PATH": str(NPM)})
    assert done.returncode == 1, done.stdout + done.stderr
    found = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    for fault in faults:
        assert " ".join(found[fault].split(" states")[0].split()[1:-1]) == NPM_REDLOCK[fault], fault
        assert found[fault].endswith("confirmed") or NPM_REDLOCK[fault] == "safe"
    (executions,) = re.findall(r"(\d+) executions of the worker", done.stdout)
    assert int(executions) <= 450


@pytest.mark.skipif(not shutil.which("node") or not NPM.exists(), reason="the libraries of npm are not installed: harness/setup.sh workers")
@pytest.mark.parametrize("keeps", [False, pytest.param(True, marks=pytest.mark.long("25 s of CPU"))])
@pytest.mark.long("npm redlock is decided above, a connection that stays open told of with Python")
def test_a_careful_lock_over_ioredis_is_decided_and_its_command_timeout_leaves_a_connection_open(tmp_path, keeps):
    """What helps is told in the words of that library, and once of all cells."""
    lock = (ROOT / "sim" / "worker" / "examples" / "careful_lock.js").read_text()
    faults = [*(["late-reply"] if LONG else []), "late-request" if keeps else "client-kill"]
    for does, careless in (("    hangUp();\n    throw error;", "    throw error;"), ("setTimeout(hangUp, PATIENCE_MS)", "null"),
                           ("maxRetriesPerRequest: 0, ", "maxRetriesPerRequest: 0, commandTimeout: PATIENCE_MS, ")) if keeps else ():
        assert does in lock
        lock = lock.replace(does, careless)
    (tmp_path / "lock.js").write_text(lock)
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", f"node {shlex.quote(str(tmp_path / 'lock.js'))}", "--clients", "2", "--rounds", "1",
                           "--fault", ",".join(faults)], text=True, capture_output=True, timeout=300, env={**os.environ, "NODE_PATH": str(NPM)})
    words = " ".join(done.stdout.split())
    if keeps:
        assert done.returncode == 2 and words.count("Close a connection that timed out: commandTimeout of ioredis does not; disconnect()") == 1, words
        assert "socket.makefile" not in words and "2 unknown" in words, words
    else:
        assert done.returncode == 0 and all(re.search(f"{fault} +leftover only", done.stdout) for fault in faults), words


@pytest.mark.skipif(not shutil.which("node") or not NPM.exists(), reason="the libraries of npm are not installed: harness/setup.sh workers")
@pytest.mark.long("14 s of CPU")
def test_a_connection_that_breaks_between_two_attempts_of_npm_redlock_is_heard_of_by_neither():
    """Behind it the next attempt begins, with a token of its own."""
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", "node sim/worker/examples/redlock_npm.js", "--clients", "2", "--rounds", "2",
                           "--no-extend", "--fault", "client-kill"], cwd=ROOT, text=True, capture_output=True, timeout=300,
                          env={**os.environ, "NODE_PATH": str(NPM)})
    assert done.returncode == 0 and re.search("client-kill +leftover only", done.stdout), done.stdout + done.stderr


def test_what_a_quorum_of_three_does_is_replayed_with_its_workers():
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", "/usr/bin/python3 sim/test/quorum_worker.py", "--clients", "2", "--rounds", "1",
                           "--servers", "3", "--fault", "none,slow-work"], cwd=ROOT, text=True, capture_output=True, timeout=600)
    found = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert "safe" in found["none"] and "overrun only" in found["slow-work"] and found["slow-work"].endswith("confirmed"), done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "it treats its servers alike" in said and "the order of what different servers say is the same to it" in said and "0 stayed apart" in said


def test_what_was_learned_of_a_quorum_is_said_and_drawn(tmp_path):
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", "/usr/bin/python3 sim/test/quorum_worker.py", "--clients", "2", "--rounds", "1",
                           "--servers", "3", "--fault", "none,slow-work", "--learn", "--model", str(tmp_path / "model.dot")], cwd=ROOT, text=True, capture_output=True, timeout=600)
    found = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert "safe" in found["none"] and "overrun only" in found["slow-work"] and found["slow-work"].endswith("confirmed"), done.stdout + done.stderr
    assert "section: none, up to the learned model, k = 7)" in " ".join(done.stdout.split()), "above the cells"
    assert re.search(r"all holds up to the learned model: \d+ classes of histories, .* 200 walks through the model found no difference",
                     " ".join(done.stdout.split()))
    drawn = (tmp_path / "model.dot").read_text()
    steps = re.findall(r'^  h(\d+) -> h(\d+) \[label="((?:[^"\\]|\\.)+)"\];$', drawn, re.M)
    assert any(begin == "0" and re.match(r"it is asked to acquire\\nsends SET lock its-token\S* .*, to 3 servers", label) for begin, _, label in steps)
    assert any(re.match(r"it is asked to release\\nsends EVAL .*, to 3 servers", label) for _, _, label in steps)
    # Whatever is reached goes on, to a new one at the last.
    assert {end for _, end, _ in steps} <= {begin for begin, _, _ in steps}
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "model.svg", tmp_path / "model.dot"], check=True, timeout=60)


def test_nothing_is_learned_of_a_scheme():
    done = subprocess.run([BUILD / "picklock", "explore", "--learn", "--scheme", "redlock"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 64 and "--learn goes with --worker" in done.stderr
    done = subprocess.run([BUILD / "picklock", "explore", "--model", "m.dot", "--scheme", "redlock"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 64 and "--model goes with --learn" in done.stderr


@pytest.mark.parametrize("options, why", [
    (["--scheme", "redlock"], "--scheme does not go with --worker"),
    (["--runs", "3"], "--runs goes with --search random"),
    (["--fault", "resend"], "resend does not apply to a worker"),
    (["--fault", "stall+refusing-server"], "refusing-server does not apply to a worker"),
])
def test_what_does_not_apply_is_refused(options, why):
    done = explore("set-nx-px-cad", *options)
    assert done.returncode == 64 and why in done.stderr


# Its script is loaded once, and never again: a server that forgot it refuses every acquire.
LOADS_ONCE = """
import time, uuid
import picklock_worker, redis

TAKE = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0"
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class Worker(picklock_worker.Worker):
    promises = ["expiry", "token"]

    def init(self, settings):
        host, port = settings.address()
        self.settings, self.redis = settings, redis.Redis(host=host, port=port)
        self.take = self.redis.script_load(TAKE)

    def acquire(self, wait_ms):
        self.token, begun = uuid.uuid4().hex, time.monotonic()
        if not self.redis.evalsha(self.take, 1, self.settings.key, self.token, self.settings.ttl_ms):
            return False
        if time.monotonic() - begun > self.settings.ttl_ms * 0.0009:
            self.release()
            raise TimeoutError("granted too late")
        return True

    def release(self):
        return self.redis.eval(FREE, 1, self.settings.key, self.token) == 1

    def close(self):
        self.redis.close()
""" + RUN


@needs_redis_py
@pytest.mark.long("9 s of CPU")
def test_a_stuck_state_that_no_replay_shows_is_no_finding(picklock, tmp_path):
    """Every acquire fails there, and says so: the checks blame nobody, so neither does the cell. What they see in the replay is `stuck`, confirmed."""
    (tmp_path / "loads_once.py").write_text(LOADS_ONCE)
    ran = picklock("explore", "--worker", f"{PYTHON} {tmp_path / 'loads_once.py'}", "--fault", "restart-empty")
    assert ran.status in (1, 2) and "stuck (" not in ran.out and "not confirmed" not in ran.out and " 0 stuck, 1 unknown" in ran.out, ran
    assert "a violation of progress was found, and did not show when it was replayed" in " ".join(ran.out.split()), ran
    done = explore("setnx-expire-del", "--fault", "crash")
    assert done.returncode == 1 and "stuck (3 steps; " in done.stdout and "confirmed" in done.stdout, done


@pytest.mark.parametrize("close, is_told", [("threading.Event().wait()", True), ("self.ask('PING')", False)])
def test_a_reset_that_hangs_is_named_as_such(picklock, plain, tmp_path, close, is_told):
    """And not a client that sends again by itself."""
    ran = picklock("explore", "--frontier", "--no-cache", "--worker", plain(f"""
class Worker(Worker):
    def close(self):
        {close}
"""), "--clients", 2, "--rounds", 1, "--fault", "none", "--out", tmp_path)
    text = " ".join(ran.out.split())
    assert ("unknown, because it hangs in its reset" in text) == is_told and "does not end when its connections break" not in text, ran
