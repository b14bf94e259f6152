"""Workers in scenarios: a user's lock as a process, judged like a scheme; an unmodified library and the scheme that does the same
have the same verdicts and causes."""

import json
import os
import shlex

import jsonschema
import pytest
from conftest import LONG, ROOT, verdicts
from workers import (EXAMPLES, NAIVE, PLAIN, PYTHON, REDIS_PY, RUN, SETS, SMALL_NODE,
                     changed_naive, needs_node, needs_redis_py, own_scenario, rows_of, scenario, verdict_of)

pytestmark = needs_redis_py

def test_a_plain_delete_is_found(picklock, tmp_path):
    ran = picklock("run", "--worker", NAIVE, scenario("expired-lease-double-delete"))
    assert ran.status == 1, ran
    assert "lease-exclusion is violated (unlock-bug)" in ran.out, ran
    assert "A sent DEL lock, executed at 310.7 ms: it removed B's lock" in ran.out, ran


@pytest.mark.parametrize("release", [
    pytest.param("p = self.redis.pipeline(); p.delete(self.settings.key); p.execute()", marks=pytest.mark.long("one of several")),  # MULTI, DEL, EXEC
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


def test_what_is_granted_without_a_command_is_untrue_and_hides_nothing(picklock, tmp_path):
    """A plain DEL, which is proved, and behind it a grant from memory: picklock stands on every connection, so no line is missing."""
    worker = changed_naive(tmp_path, (SETS, f"self.has = getattr(self, 'has', False) or {SETS.removeprefix('return ')}; return self.has"))
    path, out = own_scenario(tmp_path, "A acquires", "lease expires", "B acquires", "A releases", "C acquires", "A acquires"), tmp_path / "out"
    ran = picklock("run", "--worker", worker, path, "--out", out)
    assert ran.status == 1 and "lock.py fails: unlock-bug, untrue-answer." in ran.out, ran
    [history] = (out / "latest" / "histories").iterdir()
    checked = picklock("check", history)
    assert checked.status == 1 and "lock.py fails: unlock-bug, untrue-answer." in checked.out, checked
    history.write_text(history.read_text().replace(',"all_commands":true', ""))  # as one from elsewhere, of which a line may be missing
    assert "bug-or-loss" in (checked := picklock("check", history)).out and "unlock-bug" not in checked.out, checked


def test_an_acquire_that_waits_first_is_told_so(picklock, tmp_path):
    """Asking does not decide it, and it is not said to send nothing at all."""
    worker = changed_naive(tmp_path, (SETS, f"import time; time.sleep(0.01); {SETS}"))
    ran = picklock("explore", "--worker", worker, "--fault", "none", "--rounds", "1", "--no-cache", "--json", tmp_path / "r.json")
    assert ran.status == 2 and "its acquire sends no command at once: one that waits first" in (tmp_path / "r.json").read_text(), ran


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
@pytest.mark.parametrize("words", [b"DEL lock\r\n", *(pytest.param(words, marks=pytest.mark.long("one of four")) for words in
                                                       (b"SET lock A PX 300\r\n", b"PEXPIRE lock 1\r\n", b"FLUSHALL\r\n"))])
def test_a_command_past_the_proxy_is_nobodys_fault(picklock, tmp_path, words):
    """By a raw system call, which nothing that is preloaded can stop: the deployment is not blamed for it."""
    path = own_scenario(tmp_path, "A acquires", "B acquires")
    row, _ = verdict_of(picklock, tmp_path, changed_naive(tmp_path, (SETS, PAST_THE_PROXY % words + SETS)), path)
    assert row["verdict"] == "unknown" and "somebody changed the key 'lock' past the proxy" in row["trouble"], row


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls")
def test_what_was_said_past_the_proxy_does_not_matter(picklock, tmp_path):
    worker = changed_naive(tmp_path, (SETS, PAST_THE_PROXY % b"GET lock\r\n" + SETS))
    row, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", "B acquires"))
    assert row["verdict"] == "unknown" and "somebody went past the proxy: server 1 has had" in row["trouble"], row


def test_an_expiry_that_is_set_to_what_it_was_is_a_write(picklock, tmp_path):
    """B, which is refused, gives A's key the very expiry that it has."""
    worker = changed_naive(tmp_path, (SETS, f"""
        if self.settings.name == "B":
            self.redis.pexpireat(self.settings.key, 1767225600300)
        {SETS}"""))
    row, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", "B acquires", "A releases"))
    assert found["extend-own"] == ("violated", "foreign-extend"), row


@pytest.mark.parametrize("value", [pytest.param("self.settings.name", marks=pytest.mark.long("one of two")), "'1'"])
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


@pytest.mark.parametrize("worker", [pytest.param(NAIVE, marks=pytest.mark.long("one of two")), REDIS_PY])
def test_the_same_run_has_the_same_history(picklock, tmp_path, worker):
    found = []
    for out in (tmp_path / "first", tmp_path / "second"):
        picklock("run", "--worker", worker, scenario("late-grant"), "--out", out)
        [path] = (out / "latest" / "histories").iterdir()
        found.append(path.read_text())
    assert found[0] == found[1]


@pytest.mark.long("all scenarios with it")
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
    names = ["duplicated-delete", "expired-lease-double-delete", *(["get-then-delete-gap", "own-stamp-check-then-delete", "late-grant", "restart-empty",
                                                                    "crash-without-expiry"] if LONG else [])]
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
    names = ["expired-lease-double-delete", "restart-empty", *(["late-grant", "duplicated-set", "failover-loses-lock", "server-clock-jump"] if LONG else [])]
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
    text = PLAIN + RUN
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


@pytest.mark.parametrize("scheme, fences", [pytest.param("fenced", True, marks=pytest.mark.long("one of two with fences")), ("fenced-late-incr", True), ("set-nx-px-cad", False)])
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


TRUSTING = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} trusting"


@pytest.mark.parametrize("worker", [REDIS_PY, TRUSTING])
def test_a_write_that_is_lost_is_no_release(picklock, tmp_path, worker):
    """The section's connection breaks while it writes: nobody knows whether that was done, and the worker's lock is as it was. So is its connection:
    one that does not look whether that has broken meanwhile can release."""
    path = own_scenario(tmp_path, "A acquires", "A writes, stalls after SET", "A loses the reply", "A gives up", "A releases", "B acquires")
    ran = picklock("run", "--worker", worker, path, "--out", tmp_path / "out")
    assert ran.status == 0, ran
    [history] = (tmp_path / "out" / "latest" / "histories").iterdir()
    events = [json.loads(line) for line in history.read_text().splitlines()[1:-1]]
    told = [(event["client"], event["op"], event["result"]) for event in events if event["kind"] == "return"]
    assert told == [(0, "acquire", "granted"), (0, "access", "failed"), (0, "release", "released"), (1, "acquire", "granted")], told
