"""Workers in scenarios: a user's lock as a process, judged like a scheme; an unmodified library and the scheme that does the same
have the same verdicts and causes."""

import json
import os
import shlex

import jsonschema
import pytest
from conftest import ROOT, verdicts
from workers import EXAMPLES, NAIVE, PLAIN, PYTHON, REDIS_PY, RUN, SMALL_NODE, WATCHDOG, WATCHDOG_GUARDED, needs_node, needs_redis_py

pytestmark = needs_redis_py


def scenario(name):
    return ROOT / "scenarios" / f"{name}.yaml"


def rows_of(picklock, tmp_path, worker, scheme, *scenarios):
    """{scenario: (the scheme's row, the worker's row)}"""
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, "--scheme", scheme, "--fail-on", "never", "--json", out, *scenarios)
    assert ran.status in (0, 2), ran
    rows = {}
    for row in json.loads(out.read_text())["results"]:
        rows.setdefault(row["scenario"], []).append(row)
    return rows


def test_a_plain_delete_is_found(picklock, tmp_path):
    ran = picklock("run", "--worker", NAIVE, scenario("expired-lease-double-delete"))
    assert ran.status == 1, ran
    assert "lease-exclusion is violated (unlock-bug)" in ran.out, ran
    assert "A sent DEL lock, executed at 310.7 ms: it removed B's lock" in ran.out, ran


@pytest.mark.parametrize("release", [
    "p = self.redis.pipeline(); p.delete(self.settings.key); p.execute()",  # MULTI, DEL, EXEC
    "self.redis.eval('return redis.call(\"DEL\", \"' + self.settings.key[:3] + '\" .. \"' + self.settings.key[3:] + '\")', 0)",
    "self.redis.flushall()",
])
def test_what_names_no_key_is_judged_by_what_it_did(picklock, tmp_path, release):
    """The history, too: `check` says the same."""
    worker, out = tmp_path / "lock.py", tmp_path / "out"
    text = (EXAMPLES / "naive_lock.py").read_text()
    worker.write_text(text.replace("return self.redis.delete(self.settings.key) == 1", f"{release}; return True"))
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(worker))}", scenario("expired-lease-double-delete"), "--out", out)
    assert ran.status == 1 and "lease-exclusion is violated (unlock-bug)" in ran.out, ran
    [history] = (out / "latest" / "histories").iterdir()
    checked = picklock("check", history)
    assert checked.status == 1 and "lease-exclusion is violated (unlock-bug)" in checked.out, checked


def own_scenario(tmp_path, *steps):
    """Of a worker, where nothing is expected of any scheme."""
    path = tmp_path / "own.yaml"
    lines = "".join(f"  - {step}\n" for step in steps)
    path.write_text(f"# What is tried here.\nname: own\nsource: none\nlease: 300ms\nclients: [A, B, C]\nsteps:\n{lines}"
                    "expect:\n  set-nx-px-cad: { progress: holds }\n")
    return path


def changed_naive(tmp_path, *changes):
    """The naive lock with some of its lines replaced."""
    text = (EXAMPLES / "naive_lock.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "lock.py"
    path.write_text(text)
    return f"{PYTHON} {shlex.quote(str(path))}"


def verdict_of(picklock, tmp_path, worker, path):
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, path, "--json", out, "--fail-on", "never")
    assert ran.status in (0, 2), ran
    [row] = json.loads(out.read_text())["results"]
    return row, {name: (found["verdict"], found["cause"]) for found in row["properties"] for name in [found["property"]]}


SETS = "return self.redis.set(self.settings.key, self.settings.name, nx=True, px=self.settings.ttl_ms)"
PAST_THE_PROXY = """
        import ctypes, socket, struct
        if self.settings.name == "B":
            libc, port = ctypes.CDLL(None), self.redis.info("server")["tcp_port"]
            plain = socket.socket()
            address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton("127.0.0.1") + bytes(8)
            assert libc.syscall(42, plain.fileno(), address, len(address)) == 0
            words = %r
            libc.syscall(1, plain.fileno(), words, len(words))
            answer = ctypes.create_string_buffer(100)
            libc.syscall(0, plain.fileno(), answer, 100)
        """


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls")
@pytest.mark.parametrize("words", [b"DEL lock\r\n", b"SET lock A PX 300\r\n", b"PEXPIRE lock 1\r\n", b"FLUSHALL\r\n"])
def test_a_command_past_the_proxy_is_nobodys_fault(picklock, tmp_path, words):
    """By a raw system call, which nothing that is preloaded can stop: the deployment is not blamed for it."""
    path = own_scenario(tmp_path, "A acquires", "B acquires")
    row, _ = verdict_of(picklock, tmp_path, changed_naive(tmp_path, (SETS, PAST_THE_PROXY % words + SETS)), path)
    assert row["verdict"] == "unknown" and "somebody changed the key 'lock' past the proxy" in row["trouble"], row
    row, found = verdict_of(picklock, tmp_path, changed_naive(tmp_path, (SETS, PAST_THE_PROXY % b"GET lock\r\n" + SETS)), path)
    assert row["trouble"] is None and found["lease-exclusion"] == ("holds", None), row


def test_an_expiry_that_is_set_to_what_it_was_is_a_write(picklock, tmp_path):
    """B, which is refused, gives A's key the very expiry that it has."""
    worker = changed_naive(tmp_path, (SETS, f"""
        if self.settings.name == "B":
            self.redis.pexpireat(self.settings.key, 1767225600300)
        {SETS}"""))
    row, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", "B acquires", "A releases"))
    assert found["extend-own"] == ("violated", "foreign-extend"), row


@pytest.mark.parametrize("value", ["self.settings.name", "'1'"])
def test_a_value_over_a_live_key_takes_the_lock(picklock, tmp_path, value):
    """Be it the value that stood there: B is the one that took it from A."""
    worker = changed_naive(tmp_path, (SETS, f"return self.redis.set(self.settings.key, {value}, px=self.settings.ttl_ms)"))
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, own_scenario(tmp_path, "A acquires", "B acquires"), "--json", out)
    [row] = json.loads(out.read_text())["results"]
    [found] = [found for found in row["properties"] if found["property"] == "lease-exclusion"]
    assert ran.status == 1 and found["cause"] == "acquire-bug", ran
    assert "(A,B): Acquire bug in B." in found["witness"] and "B sent SET lock" in " ".join(found["witness"]), found


def test_the_library_that_compares_is_not_blamed(picklock):
    ran = picklock("run", "--worker", REDIS_PY, scenario("expired-lease-double-delete"))
    assert ran.status == 0, ran
    assert "overrun" in ran.out and "Nobody's bug" in ran.out, ran


@pytest.mark.parametrize("worker, status", [(NAIVE, 1), (REDIS_PY, 0)])
def test_the_history_says_the_same(picklock, tmp_path, worker, status):
    out = tmp_path / "out"
    picklock("run", "--worker", worker, scenario("expired-lease-double-delete"), "--out", out)
    [path] = (out / "latest" / "histories").iterdir()
    checked = picklock("check", path, "--fail-on", "scheme")
    assert checked.status == status, checked
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["history"] == "picklock.history/2" and "expiry" in lines[0]["promises"]
    schema = json.loads((ROOT / "reports" / "history.schema.json").read_text())
    for line in lines:
        jsonschema.validate(line, schema)
    done = [line["effects"][0]["did"] for line in lines if line.get("kind") == "execute" and line.get("effects")]
    assert done[:2] == ["created", "created"]
    assert ("deleted" in done) == (worker == NAIVE)


def test_messages_are_held_and_named(picklock, tmp_path):
    out = tmp_path / "out"
    picklock("run", "--worker", REDIS_PY, scenario("expired-lease-double-delete"), "--out", out)
    [path] = (out / "latest" / "schedules").iterdir()
    text = path.read_text()
    for line in ("A's SET reaches server 1", "A hears SET from server 1", "A's EVALSHA reaches server 1", "A hears SCRIPT from server 1"):
        assert line in text, text


def test_a_schedule_replays(picklock, tmp_path):
    out = tmp_path / "out"
    picklock("run", "--worker", REDIS_PY, scenario("duplicated-delete"), "--out", out)
    [path] = (out / "latest" / "schedules").iterdir()
    [history] = (out / "latest" / "histories").iterdir()
    again = picklock("replay", path, "--worker", REDIS_PY, "--out", tmp_path / "again")
    assert again.status == 0, again
    [other] = (tmp_path / "again" / "latest" / "histories").iterdir()
    assert history.read_text().splitlines()[1:] == other.read_text().splitlines()[1:]
    path.write_text(path.read_text().replace("EVALSHA", "EVALX"))
    followed = picklock("replay", path, "--worker", REDIS_PY)
    assert followed.status == 0 and "A's release sends EVALSHA to server 1, not EVALX" in " ".join(followed.out.split()), followed
    path.write_text(path.read_text().replace("A's SET reaches server 1\n", "", 1))
    diverged = picklock("replay", path, "--worker", REDIS_PY)
    assert diverged.status == 2 and "A has no SET at server 1" in " ".join(diverged.out.split()), diverged
    without = picklock("replay", path)
    assert without.status == 64 and "unknown scheme 'redis_py_lock.py'" in without.err, without
    assert f'it is a worker, named with --worker "{REDIS_PY}"' in " ".join(without.err.split()), without


@pytest.mark.parametrize("token, drawn", [("'held-by-somebody'", "held-by-somebody"), ("'the-token-of-' + self.settings.name", "B1")])
def test_a_token_of_all_has_no_ones_name(picklock, tmp_path, token, drawn):
    """In a diagram: one that is an attempt's own is called by that."""
    (tmp_path / "my_lock.py").write_text(PLAIN.replace('"SET", self.settings.key, self.settings.name', f'"SET", self.settings.key, {token}') + RUN)
    picklock("run", "--worker", f"{PYTHON} '{tmp_path / 'my_lock.py'}'", scenario("expired-lease-double-delete"), "--out", tmp_path / "out")
    [history] = (tmp_path / "out" / "latest" / "histories").iterdir()
    assert f"B acquires: SET lock {drawn} NX PX" in picklock("check", history, "--timeline").out


def test_an_acquire_waits_for_as_long_as_it_is_told(picklock, tmp_path):
    """The schedule keeps how long; without a word of it nobody waits."""
    own, out = own_scenario(tmp_path, "A acquires", "B acquires"), tmp_path / "out"
    ran = picklock("run", "--worker", REDIS_PY, "--wait", "250ms", own, "--out", out)
    assert ran.status == 0, ran
    (path,) = next(path for path in out.iterdir() if not path.is_symlink()).glob("schedules/*")
    text = path.read_text()
    assert "\nwait: 250ms\n" in text and text.count("B's SET reaches server 1") == 3 and text.count("B wakes") == 2, text
    again = picklock("replay", path, "--worker", REDIS_PY)
    assert again.status == 0, again
    (tmp_path / "short").write_text(text.replace("wait: 250ms\n", ""))
    shorter = picklock("replay", tmp_path / "short", "--worker", REDIS_PY)
    assert shorter.status == 0 and "B sets no timer in its acquire any more" in " ".join(shorter.out.split()), shorter


@pytest.mark.parametrize("worker", [NAIVE, REDIS_PY])
def test_the_same_run_has_the_same_history(picklock, tmp_path, worker):
    found = []
    for out in (tmp_path / "first", tmp_path / "second"):
        picklock("run", "--worker", worker, scenario("late-grant"), "--out", out)
        [path] = (out / "latest" / "histories").iterdir()
        found.append(path.read_text())
    assert found[0] == found[1]


def test_redis_py_is_what_it_looks_like(picklock, tmp_path):
    """Debian's Lock is a SET NX PX, released by a script that compares: in every scenario that it can follow, whatever the fault,
    each property has the verdict and the cause that the scheme has, of which picklock has every step."""
    rows = rows_of(picklock, tmp_path, REDIS_PY, "set-nx-px-cad")
    followed = {name: pair for name, pair in rows.items() if "not_applicable" not in (pair[0]["verdict"], pair[1]["verdict"])}
    assert len(followed) >= 20
    # No scheme is asked to extend, or has a connection: this library waits for ever where nobody gives it a time-out.
    assert {name: worker["verdict"] for name, (scheme, worker) in rows.items() if scheme["verdict"] == "not_applicable" != worker["verdict"]} == \
        {"extend-in-time": "holds", "extend-too-late": "violated", "half-open": "violated", "slow-dial": "holds"}
    for name, (scheme, worker) in followed.items():
        assert without_fences(verdicts(scheme)) == verdicts(worker), name
        assert worker["verdict"] != "unknown", f"{name}: no lock that plays it could ever pass"
    told = {name: pair[1]["verdict"] for name, pair in followed.items()}
    assert told["late-grant"] == told["restart-empty"] == told["eviction"] == "violated"
    assert told["duplicated-delete"] == told["get-then-delete-gap"] == told["script-flush"] == "holds"


def test_a_naive_lock_is_what_it_looks_like(picklock, tmp_path):
    names = ["duplicated-delete", "get-then-delete-gap", "expired-lease-double-delete", "own-stamp-check-then-delete", "late-grant",
             "restart-empty", "crash-without-expiry"]
    rows = rows_of(picklock, tmp_path, NAIVE, "set-nx-ex-del", *map(scenario, names))
    assert len(rows) == len(names)
    for name, (scheme, worker) in rows.items():
        assert verdicts(scheme) == verdicts(worker), name


def test_a_server_that_refuses_is_one_that_nobody_can_connect_to(picklock, tmp_path):
    """The library's own words for ECONNREFUSED; and when the server is there again, so is the lock."""
    worker, said, out = tmp_path / "lock.py", tmp_path / "said", tmp_path / "out"
    text = (EXAMPLES / "naive_lock.py").read_text()
    worker.write_text(text.replace("        return self.redis.delete(self.settings.key) == 1", f"""
        try:
            return self.redis.delete(self.settings.key) == 1
        except redis.ConnectionError as error:
            open({str(said)!r}, "a").write(str(error))
            raise"""))
    picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(worker))}", scenario("refusing-server"), "--out", out)
    assert "Connection refused" in said.read_text()
    [path] = (out / "latest" / "histories").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]
    told = [(line["kind"], line.get("fault") or line.get("result") or line.get("op")) for line in lines]
    refused = told.index(("fault", "refusing-server"))
    assert told[refused + 1:][:3] == [("call", "release"), ("return", "failed"), ("fault", "reachable")], told
    assert told[-1] == ("return", "granted"), told


@needs_node
def test_a_lock_in_node_is_what_it_looks_like(picklock, tmp_path):
    names = ["expired-lease-double-delete", "restart-empty", "late-grant", "duplicated-set", "failover-loses-lock", "server-clock-jump"]
    rows = rows_of(picklock, tmp_path, SMALL_NODE, "set-nx-px-cad", *map(scenario, names))
    assert len(rows) == len(names)
    for name, (scheme, worker) in rows.items():
        worker = {key: value for key, value in verdicts(worker).items() if key != "no-orphan"}  # it does not promise a token
        assert {key: value for key, value in verdicts(scheme).items() if key != "no-orphan"} == worker, name


@pytest.mark.parametrize("more, words", [
    (["--on", "sim"], "leave out --on sim"),
    (["--redis", "redis://127.0.0.1:1"], "leave out --on sim"),
    (["--real-time"], "leave out --on sim"),
])
def test_where_workers_do_not_run(picklock, more, words):
    ran = picklock("run", "--worker", NAIVE, *more, scenario("late-grant"))
    assert ran.status == 64 and words in ran.err, ran


def test_a_worker_that_ends_spoils_one_run(picklock, tmp_path):
    """C ends: what was seen before stays, what was not seen to the end is unknown, and other scenarios are played."""
    lock, out = tmp_path / "lock.py", tmp_path / "results.json"
    text = (EXAMPLES / "naive_lock.py").read_text()
    lock.write_text(text.replace("wait_ms):\n", "wait_ms):\n        if self.settings.name == 'C':\n            __import__('os')._exit(3)\n"))
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(lock))}", scenario("expired-lease-double-delete"),
                   scenario("late-grant"), "--json", out, "--fail-on", "scheme")
    first, second = json.loads(out.read_text())["results"]
    found = {row["property"]: row["verdict"] for row in first["properties"]}
    assert ran.status == 1 and found["release-own"] == "violated" and "holds" not in found.values(), first
    assert second["verdict"] == "violated" and second["trouble"] is None, second
    lock.write_text(lock.read_text().replace("'C'", "'B'"))
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(lock))}", scenario("late-grant"), scenario("restart-empty"))
    assert ran.status == 2 and " ".join(ran.out.split()).count("B acquires: worker B: its process ended with status 3") == 2, ran
    # An overrun that nobody is to blame for was seen by then: that makes the rest of it no better known.
    lock.write_text(text.replace("release(self):\n", "release(self):\n        __import__('os')._exit(3)\n"))
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(lock))}", scenario("expired-lease-double-delete"))
    assert ran.status == 2 and "overrun" in ran.out and "its process ended with status 3" in " ".join(ran.out.split()), ran


def test_a_worker_that_cannot_be_run_ends_the_program(picklock):
    ran = picklock("run", "--worker", "no-such-program x.py", scenario("late-grant"))
    assert ran.status == 69 and "no-such-program cannot be run" in ran.err, ran


def test_what_a_worker_cannot_do_is_not_applicable(picklock):
    ran = picklock("run", "--worker", NAIVE, scenario("loser-cuts-expiry"))
    assert "not applicable" in ran.out and "all workers are given the same lease" in " ".join(ran.out.split()), ran


# --- what the lock guards ---

def without_fences(found):
    return {key: value for key, value in found.items() if key != "fence-order"}


@pytest.mark.parametrize("scheme, fences", [("fenced", True), ("fenced-late-incr", True), ("set-nx-px-cad", False)])
def test_what_a_critical_section_writes_is_judged_as_a_schemes(picklock, tmp_path, scheme, fences):
    """Over a connection of our own, with the fence that the worker gave. A fence that it does not promise is not judged."""
    worker = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {scheme}"
    names = ["lost-update", "stale-write", "late-fence-token", "failover-fence", "hand-over"]
    rows = rows_of(picklock, tmp_path, worker, scheme, *map(scenario, names))
    for name, (own, told) in rows.items():
        own, told = verdicts(own), verdicts(told)
        assert (own if fences else without_fences(own)) == told, name
    found = {name: verdicts(pair[1]) for name, pair in rows.items()}
    assert found["lost-update"]["no-lost-update"] == ("violated", "overrun")
    if fences:
        assert found["stale-write"]["fence-order"][0] == "holds"
        assert (found["late-fence-token"]["fence-order"][0] == "violated") == (scheme == "fenced-late-incr")


def test_a_stale_write_shows(picklock, tmp_path):
    """A lock whose number does not grow: the resource cannot tell who is late. Its history says the same to `check`."""
    lock, out = tmp_path / "lock.py", tmp_path / "out"
    text = (EXAMPLES / "naive_lock.py").read_text().replace('["expiry"]', '["expiry", "fence"]')
    lock.write_text(text.replace("px=self.settings.ttl_ms)", "px=self.settings.ttl_ms) and 7"))
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(lock))}", scenario("stale-write"), "--out", out)
    assert ran.status == 1 and "fence-order is violated" in ran.out, ran
    [history] = (out / "latest" / "histories").iterdir()
    checked = picklock("check", history)
    assert checked.status == 1 and "fence-order is violated" in checked.out, checked


def test_a_write_that_is_lost_is_no_release(picklock, tmp_path):
    """Its connection breaks while the section writes: nobody knows whether that was done, and the worker's lock is as it was."""
    path = own_scenario(tmp_path, "A acquires", "A writes, stalls after SET", "A loses the reply", "A gives up", "A releases", "B acquires")
    ran = picklock("run", "--worker", REDIS_PY, path, "--out", tmp_path / "out")
    assert ran.status == 0, ran
    [history] = (tmp_path / "out" / "latest" / "histories").iterdir()
    events = [json.loads(line) for line in history.read_text().splitlines()[1:-1]]
    told = [(event["client"], event["op"], event["result"]) for event in events if event["kind"] == "return"]
    assert told == [(0, "acquire", "granted"), (0, "access", "failed"), (0, "release", "released"), (1, "acquire", "granted")], told


# --- leases that are asked for anew ---

def scheme_worker(name):
    return f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {name}"


def played(picklock, tmp_path, worker, *steps):
    """{property: (verdict, cause)} of what is not so, and what each operation came to; `check` says the same of the history."""
    results, out = tmp_path / "results.json", tmp_path / "out"
    ran = picklock("run", "--worker", worker, own_scenario(tmp_path, *steps), "--fail-on", "never", "--json", results, "--out", out)
    [row] = json.loads(results.read_text())["results"]
    [history] = (out / "latest" / "histories").iterdir()
    checked = tmp_path / "checked.json"
    picklock("check", history, "--json", checked)
    told = {name: verdict for name, verdict in verdicts(row).items() if verdict[0] != "holds"}
    again = verdicts(json.loads(checked.read_text())["results"][0])
    assert {name: verdict for name, verdict in again.items() if verdict[0] not in ("holds", "not_applicable")} == told, ran
    events = [json.loads(line) for line in history.read_text().splitlines()[1:-1]]
    return told, [("ABC"[event["client"]], event["op"], event["result"]) for event in events if event["kind"] == "return"]


def test_a_lease_that_is_had_anew_lasts_longer(picklock, tmp_path):
    """Nobody gets the lock while the second lease lasts, and who works within it does not outlive it."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "time passes 200ms", "A extends", "time passes 200ms",
                        "B acquires", "A releases")
    assert not told and ends == [("A", "acquire", "granted"), ("A", "extend", "done"), ("B", "acquire", "refused"), ("A", "release", "released")]


def test_a_lease_counts_anew_from_the_request(picklock, tmp_path):
    """Its answer is late: when it is told, the second lease has ended, too."""
    told, _ = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "A extends, stalls after the expire", "lease expires", "B acquires",
                     "A goes on")
    assert told == {"mutual-exclusion": ("violated", "overrun")}


def test_a_lease_that_was_not_told_does_not_count(picklock, tmp_path):
    """The reply is lost: nobody knows, so the first lease is all that its holder may count on; and that is no untrue answer."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "time passes 200ms", "A extends, stalls after the expire",
                        "A loses the reply", "A gives up", "time passes 200ms", "B acquires", "A releases")
    assert not told and ends[1] == ("A", "extend", "failed"), (told, ends)


def test_who_is_told_that_it_is_not_his_holds_it_no_more(picklock, tmp_path):
    """He had outlived his lease until then; behind it he does nothing more."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "lease expires", "A extends", "B acquires")
    assert not told and ends[1] == ("A", "extend", "not-mine")
    told, _ = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "lease expires", "B acquires", "A extends", "C acquires")
    assert told == {"mutual-exclusion": ("violated", "overrun")}


def test_extending_anybodys_lock_is_found(picklock, tmp_path):
    told, _ = played(picklock, tmp_path, scheme_worker("extending-anybodys"), "A acquires", "lease expires", "B acquires", "A extends")
    assert told == {"extend-own": ("violated", "foreign-extend"), "truthful": ("violated", "untrue-answer"),
                    "mutual-exclusion": ("violated", "overrun")}
    told, _ = played(picklock, tmp_path, scheme_worker("extending-anybodys"), "A acquires", "A extends", "A releases", "B acquires")
    assert not told


def test_an_extend_that_did_nothing_is_found(picklock, tmp_path):
    told, _ = played(picklock, tmp_path, scheme_worker("extending-in-words"), "A acquires", "A extends", "A releases", "B acquires")
    assert told == {"truthful": ("violated", "untrue-answer")}


def test_who_does_not_extend_is_not_asked_to(picklock, tmp_path):
    path = own_scenario(tmp_path, "A acquires", "A extends")
    ran = picklock("run", "--worker", NAIVE, path)
    assert ran.status == 2 and "A extends: the worker does not promise that it extends" in " ".join(ran.out.split()), ran
    ran = picklock("run", "--scheme", "set-nx-px-cad", path)
    assert "nobody asks a scheme to extend" in " ".join(ran.out.split()), ran


# --- what a worker promises of a loss ---

# A timer of its own rings as the lease ends, from a thread of its own.
KNOWS_ITS_LEASE = (SETS, f"""
        threading.Timer(self.settings.ttl_ms / 1000, {{rings}}).start()
        {SETS}""")
LEASE_ENDS = ("A acquires", "lease expires", "time passes 100ms", "B acquires")  # a twentieth of a lease is forgiven


def loss_notice_of(picklock, tmp_path, promises, rings, *steps):
    ring = (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings=rings))
    worker = changed_naive(tmp_path, ring, ("import redis", "import redis\nimport threading"), ('["expiry"]', promises))
    row, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *steps))
    assert row["trouble"] is None, row
    return found.get("loss-notice")  # a property that is not applicable is not in the row


def test_a_promised_notice_is_asked_for(picklock, tmp_path):
    """A's lease ends: who promises to say so, and does, keeps it; who does not, has broken it; who never promised is not asked."""
    promised, silent, says = '["expiry", "notice"]', "lambda: None", "self.lost"
    assert loss_notice_of(picklock, tmp_path, promised, says, *LEASE_ENDS) == ("holds", None)
    assert loss_notice_of(picklock, tmp_path, promised, silent, *LEASE_ENDS) == ("violated", "no-notice")
    assert loss_notice_of(picklock, tmp_path, '["expiry"]', silent, *LEASE_ENDS) is None


def test_a_promised_exit_is_asked_for(picklock, tmp_path):
    """Its process ends when its lease does: that is its notice, and it is out of the story then. Who stays has broken its promise."""
    promised, silent = '["expiry", "exits_on_loss"]', "lambda: None"
    exits = "lambda: __import__('os')._exit(3)"
    assert loss_notice_of(picklock, tmp_path, promised, exits, *LEASE_ENDS) == ("holds", None)
    assert loss_notice_of(picklock, tmp_path, promised, silent, *LEASE_ENDS) == ("violated", "no-notice")
    # Without that promise an end is no answer; and with it, none of who holds nothing.
    for promises, steps in ('["expiry"]', LEASE_ENDS), (promised, ("A acquires", "A releases", "lease expires", "time passes 100ms", "B acquires")):
        worker = changed_naive(tmp_path, (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings=exits)), ("import redis", "import redis\nimport threading"),
                               ('["expiry"]', promises))
        row, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *steps))
        assert row["verdict"] == "unknown" and "its process ended" in row["trouble"], row


@pytest.mark.parametrize("promises, rings, verdict", [
    ('["exits_on_loss", "expiry"]', "self.lost", ("violated", "no-notice")),
    ('["exits_on_loss", "expiry", "notice"]', "self.lost", ("violated", "no-notice")),
    ('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('os')._exit(3))", ("holds", None)),
    # It tidies up first, which takes a hundredth of a lease; or a tenth.
    ('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('time').sleep(0.003), __import__('os')._exit(3))", ("holds", None)),
    ('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('time').sleep(0.03), __import__('os')._exit(3))", ("violated", "no-notice")),
    ('["expiry", "notice"]', "self.lost", ("holds", None)),
])
def test_who_promised_to_end_and_only_says_so_goes_on(picklock, tmp_path, promises, rings, verdict):
    """It knows of its loss: a notice is none of an end. Who ends keeps its promise, and has not crashed."""
    assert loss_notice_of(picklock, tmp_path, promises, rings, *LEASE_ENDS) == verdict


def test_who_loses_nothing_owes_no_notice(picklock, tmp_path):
    """The same silent worker, released in time."""
    assert loss_notice_of(picklock, tmp_path, '["expiry", "notice"]', "lambda: None", "A acquires", "A releases", "B acquires") == ("holds", None)


def exiting(tmp_path, promises, *changes):
    """Its process ends as its lease does."""
    ring = (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings="lambda: os._exit(3)"))
    return changed_naive(tmp_path, *changes, ring, ("import redis", "import os\nimport redis\nimport threading"), ('["expiry"]', promises))


@pytest.mark.parametrize("step, code", [
    ("A extends", "def extend(self): os._exit(3)\n\n    def close(self):"),
    ("A extends", "def extend(self): self.redis.get('lock'); os._exit(3)\n\n    def close(self):"),
    ("A releases", "def close(self):"),
])
def test_who_ends_in_an_operation_of_a_holder(picklock, tmp_path, step, code):
    """It may have found there that its lock is lost: it holds no more, and the next one is alone."""
    promises = ('["expiry"]', '["expiry", "extends", "exits_on_loss"]')
    worker = changed_naive(tmp_path, ("def close(self):", code), ("import redis", "import os\nimport redis"), promises,
                           ("return self.redis.delete(self.settings.key) == 1", "os._exit(3)"))
    ended, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", step, "lease expires", "B acquires", "time passes 100ms"))
    assert ended["trouble"] is None and found["loss-notice"] == found["mutual-exclusion"] == ("holds", None), ended


def test_who_ends_in_a_release_does_not_give_back_for_ever(picklock, tmp_path):
    """A key without expiry that it leaves behind is nobody's: B is stuck, as behind a crash; its release goes on no more."""
    worker = changed_naive(tmp_path, ("return self.redis.delete(self.settings.key) == 1", "os._exit(3)"), ("import redis", "import os\nimport redis"),
                           ('["expiry"]', '["exits_on_loss"]'), (", px=self.settings.ttl_ms", ""))
    for step in "A releases", "A crashes":
        ended, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", step, "time passes 500ms", "B acquires"))
        assert ended["trouble"] is None and found["progress"] == ("violated", "stuck"), (step, ended)


def test_who_has_ended_does_nothing_more(picklock, tmp_path):
    worker = exiting(tmp_path, '["expiry", "exits_on_loss"]')
    ended, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *LEASE_ENDS, "A releases"))
    assert ended["verdict"] == "not_applicable" and "A has crashed" in json.dumps(ended), ended


def test_an_end_that_no_loss_explains_is_none_that_was_promised(picklock, tmp_path):
    """In the middle of an acquire there is nothing to lose."""
    worker = changed_naive(tmp_path, (SETS, f"import os; os._exit(3); {SETS}"), ('["expiry"]', '["expiry", "exits_on_loss"]'))
    ended, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", "B acquires"))
    assert ended["verdict"] == "unknown" and "its process ended with status 3" in ended["trouble"], ended


@pytest.mark.parametrize("scheme,text,notice,progress", [
    ("watchdog", WATCHDOG, ("violated", "no-notice"), ("violated", "stuck")),
    ("watchdog-guarded", WATCHDOG_GUARDED, ("holds", None), ("holds", None)),
], ids=["plain", "guarded"])
def test_a_watchdog_in_a_thread(picklock, tmp_path, scheme, text, notice, progress):
    """As the scheme: a renewal that hangs past the lease is no secret of the guarded one; only the other renews a lock whose release was lost."""
    worker = tmp_path / "watchdog.py"
    worker.write_text(text)
    names = ("watchdog-hangs", "watchdog-outlives-release")
    rows = rows_of(picklock, tmp_path, f"{PYTHON} {shlex.quote(str(worker))}", scheme, *map(scenario, names))
    told = {}
    for name in names:
        assert rows[name][1]["trouble"] is None, rows[name]
        told[name] = [{one["property"]: (one["verdict"], one["cause"]) for one in row["properties"]} for row in rows[name]]
        for rule in ("loss-notice", "mutual-exclusion", "lease-exclusion", "extend-own", "progress", "no-orphan"):
            assert told[name][0][rule] == told[name][1][rule], (name, rule, told)
    assert told["watchdog-hangs"][1]["loss-notice"] == notice, told
    assert told["watchdog-outlives-release"][1]["progress"] == progress, told


def test_a_watchdog_is_not_decided_by_asking(picklock, tmp_path):
    """It is unknown, and says what looks at it."""
    worker = tmp_path / "watchdog.py"
    worker.write_text(WATCHDOG)
    asked = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(worker))}", "--rounds", 1, "--fault", "none")
    told = "a lock that renews by itself is not decided by asking yet: --search random runs it"
    assert asked.status == 2 and told in " ".join(asked.out.split()), asked
