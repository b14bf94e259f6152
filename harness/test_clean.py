"""On somebody else's server: what a run leaves there, whatever ends it, and `picklock clean`."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, ask, free_port, run, server, stat_of, until

# Near misses: nobody's but theirs.
FOREIGN = ["lock", "picklock", "picklock:", "picklock:0123456789abcdef:lock", "picklock:0123456789abcdef:0:locks",
           "picklock:0123456789ABCDEF:0:lock", "picklock:0123456789abcde:0:lock", "picklock:0123456789abcdef0:0:lock",
           "picklock:0123456789abcdef:x0:lock", "picklock:0123456789abcdef:0:", "picklock:0123456789abcdef::lock",
           "my:picklock:0123456789abcdef:0:lock", "picklock:0123456789abcdef:runs"]


def keys(port):
    return set(ask(port, "KEYS", "*").splitlines())


def ours(port):
    return {key for key in keys(port) if re.fullmatch(r"picklock:[0-9a-f]{16}:(run|\d+:(lock|fence|counter|list|resource))", key)}


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def stressing(port, out, *more, scheme="setnx-del"):
    """A run under way, whose keys are there. setnx-del gives its lock no expiry."""
    before = ours(port)
    process = subprocess.Popen([PICKLOCK, "stress", "--scheme", scheme, "--clients", "5", "--duration", "100s",
                                "--redis", f"redis://127.0.0.1:{port}", "--out", out, *more], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: any(key.endswith(":counter") for key in ours(port) - before), "its keys are there")
    return process


def run_of(process, port):
    [name] = re.findall(r"name=picklock-([0-9a-f]{16}) ", ask(port, "CLIENT", "LIST"))
    return name


def clean(port, *more, **environment):
    return run("clean", "--redis", f"redis://127.0.0.1:{port}", *more, **environment)


def kill_all(process):
    """The whole of it at once, with the helper that would tidy up: as a machine ends."""
    helpers = children(process.pid)
    assert helpers
    for pid in [*helpers, process.pid]:
        os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("end", ["kill", "second signal", "stop"])
def test_whatever_ends_a_run_its_keys_go(tmp_path, end):
    with server() as port:
        for key in FOREIGN:
            ask(port, "SET", key, "theirs")
        process = stressing(port, tmp_path)
        if end == "kill":
            process.kill()
        else:
            process.send_signal(signal.SIGINT)
            if end == "second signal":
                process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        until(lambda: not ours(port), "nothing of ours is left")
        assert keys(port) == set(FOREIGN)


def test_a_server_that_is_stopped_holds_up_neither_the_end_nor_the_helper(tmp_path):
    """An answer has half a second behind the signal, and the helper five seconds behind us. What was asked of the server is done once it goes on."""
    with server() as port:
        pid = int(re.search(r"process_id:(\d+)", ask(port, "INFO", "server"))[1])
        process = stressing(port, tmp_path, "--no-faults")
        (helper,) = children(process.pid)
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 2
        ended = time.monotonic()
        until(lambda: (stat_of(helper) or "Z")[0] == "Z", "the helper has ended")
        gone = time.monotonic()
        os.kill(pid, signal.SIGCONT)
        results = json.loads((tmp_path / "latest" / "results.json").read_text())
        assert results["interrupted"]["done"] == 0 and results["results"][0]["verdict"] == "unknown", results
        assert ended - began < 5 and gone - ended < 20, (ended - began, gone - ended)
        until(lambda: not ours(port), "nothing of ours is left")


def test_a_lost_connection_is_made_anew(tmp_path):
    """The run ends with its clients' connections; its keys are deleted on a new one."""
    with server() as port:
        process = stressing(port, tmp_path)
        ask(port, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert process.wait(timeout=PATIENCE_S) == 2
        until(lambda: not ours(port), "nothing of ours is left")


# All but the lock, whose expiry is the scheme's business, in one moment of the server: "KEY MS" each, -1 without an expiry.
EXPIRIES = """
local found = {}
for _, key in ipairs(redis.call('keys', 'picklock:*')) do
  if not string.find(key, ':lock$') then found[#found + 1] = key .. ' ' .. redis.call('pttl', key) end
end
return found"""


def expiries(port):
    rows = (line.rsplit(" ", 1) for line in ask(port, "EVAL", EXPIRIES, "0").splitlines())
    return {key.rsplit(":", 1)[1]: int(left) for key, left in rows}


@pytest.mark.parametrize("scheme, written", [("fenced", {"counter", "list", "fence", "resource"}), *(
    pytest.param(*row, marks=pytest.mark.long("one of three")) for row in [("setnx-del", {"counter", "list"}), ("fenced-late-incr", {"counter", "list", "fence", "resource"})])])
def test_what_a_lock_guards_has_an_expiry_at_every_moment(tmp_path, scheme, written):
    """Also behind a run that nothing of is left to tidy up."""
    day_ms = 24 * 3600 * 1000
    with server() as port:
        process = stressing(port, tmp_path, "--no-faults", "--lease", "100s", "--locks", "1", scheme=scheme)
        seen = set()

        def sampled():
            found = expiries(port)
            assert all(0 < left <= day_ms for left in found.values()), found
            seen.update(found)
            sampled.times += 1
            return sampled.times >= 40 and written <= seen

        sampled.times = 0
        try:
            until(sampled, f"{written} are there, and were sampled")
        finally:
            kill_all(process)
        left = expiries(port)
        assert written <= set(left) and all(0 < ms <= day_ms for ms in left.values()), left


def test_clean_removes_what_the_dead_have_left(tmp_path):
    with server() as port:
        for key in FOREIGN:
            ask(port, "SET", key, "theirs")
        assert clean(port).out == "no run has left anything\n"
        process = stressing(port, tmp_path)
        dead = run_of(process, port)
        kill_all(process)
        left = ours(port)
        assert f"picklock:{dead}:run" in left and len(left) > 1
        # Its mark may be that of a run which has lost its connection: it must be named, or expire.
        ran = clean(port)
        assert ran.status == 2 and f"run {dead}:" in ran.out and "--run" in ran.out, ran
        assert ours(port) == left
        assert clean(port, "--run", "0" * 16).status == 2 and ours(port) == left
        ran = clean(port, "--run", dead)
        assert ran.status == 0 and re.search(rf"run {dead}: \d+ keys? removed", ran.out), ran
        assert keys(port) == set(FOREIGN)


def test_clean_removes_a_run_whose_mark_has_expired(tmp_path):
    with server() as port:
        process = stressing(port, tmp_path)
        dead = run_of(process, port)
        kill_all(process)
        assert 0 < int(ask(port, "PTTL", f"picklock:{dead}:run")) <= 30000
        ask(port, "PEXPIRE", f"picklock:{dead}:run", "1")
        until(lambda: f"picklock:{dead}:run" not in ours(port), "it expires")
        assert ours(port)
        ran = run("clean", env={"PICKLOCK_REDIS_URL": f"REDIS://127.0.0.1:{port}"})
        assert ran.status == 0 and "removed" in ran.out and not ours(port), ran


def test_clean_leaves_a_run_alone_that_is_alive(tmp_path):
    with server() as port:
        dead = stressing(port, tmp_path / "dead")
        dead_run = run_of(dead, port)
        kill_all(dead)
        alive = stressing(port, tmp_path / "alive")
        try:
            alive_run = run_of(alive, port)
            for words in ([], ["--run", alive_run], ["--run", dead_run]):
                ran = clean(port, *words)
                assert f"run {alive_run}:" in ran.out and "the run is alive" in ran.out, ran
            assert ran.status == 0 and not any(dead_run in key for key in ours(port)), ran
            # Without its mark, too: its name is seen.
            ask(port, "DEL", f"picklock:{alive_run}:run")
            assert "the run is alive" in clean(port, "--run", alive_run).out
            assert any(key.endswith(":counter") for key in ours(port))
            assert alive.poll() is None
        finally:
            alive.send_signal(signal.SIGINT)
            alive.communicate(timeout=PATIENCE_S)
        until(lambda: not ours(port), "nothing of ours is left")


def test_clean_where_names_cannot_be_seen(tmp_path):
    """A user who may not see connections: a mark is enough to leave all alone, even what is named."""
    with server() as port:
        process = stressing(port, tmp_path)
        dead = run_of(process, port)
        kill_all(process)
        ask(port, "ACL", "SETUSER", "few", "on", ">word", "~*", "+@all", "-client")
        url = f"redis://few:word@127.0.0.1:{port}"
        ran = run("clean", "--redis", url, "--run", dead)
        assert ran.status == 2 and "CLIENT LIST" in ran.out and ours(port), ran
        ask(port, "DEL", f"picklock:{dead}:run")
        assert run("clean", "--redis", url).status == 0 and not ours(port)


def test_clean_where_somebody_else_made_the_mark():
    """A mark that never goes away, or that says what no run says: no waiting is promised, and how to go on is told."""
    marks = {"0" * 16: ["SET", "KEY", "named"], "1" * 16: ["SET", "KEY", "other", "PX", "20000"], "2" * 16: ["SADD", "KEY", "named"],
             "3" * 16: ["SET", "KEY", "unnamed", "EX", "1000"]}
    with server() as port:
        for number, words in marks.items():
            ask(port, *[f"picklock:{number}:run" if word == "KEY" else word for word in words])
        before = keys(port)
        ran = clean(port, "--run", "0" * 16)
        assert ran.status == 2 and ran.out.count("was not set by a run of picklock") == len(marks), ran
        assert "CLIENT LIST" not in ran.out and "has ended" not in ran.out and keys(port) == before
        # What it says to do.
        for number in marks:
            ask(port, "PEXPIRE", f"picklock:{number}:run", "1")
        until(lambda: clean(port).status == 0, "they are gone")


@pytest.mark.parametrize("words, status", [
    ([], 64), (["--redis", "redis://"], 64), (["x"], 64), (["--redis", "redis://h", "--run", "picklock"], 64)])
def test_clean_used_wrongly(words, status):
    ran = run("clean", *words)
    assert ran.status == status and ran.err, ran


def test_clean_where_nobody_is():
    ran = clean(free_port())
    assert ran.status == 69 and "refused" in ran.err, ran


@contextlib.contextmanager
def endless(dbsize):
    """A server whose SCAN comes to no end: it always says that there is more."""
    def answer(words):
        return {b"SCAN": b"*2\r\n$1\r\n7\r\n*0\r\n", b"DBSIZE": dbsize}.get(words[0].upper(), b"+OK\r\n")

    def serve(connection):
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
            while line := lines.readline():
                words = [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
                connection.sendall(answer(words))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("dbsize, pages", [(b":0\r\n", 1000), (b":100000\r\n", 2000)])
def test_a_scan_without_an_end_is_given_up(dbsize, pages):
    with endless(dbsize) as port:
        ran = clean(port)
    assert ran.status == 69 and f"its SCAN has not come to an end after {pages} pages" in ran.err and not ran.out, ran
