"""`picklock watch`: how it ends, and with which status, when the command, the server, a connection or the disk does."""

import contextlib
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

import pytest
import redis
from conftest import PATIENCE_S, PICKLOCK, run, server, stat_of, until
from watching import MANY, PRELUDE, RIGHT, is_clean, json_of, told, violated, watch


def test_who_goes_away_before_the_answer_may_have_been_granted(tmp_path):
    """Whoever nobody answered holds the lock all the same: the next is refused, and gets it when its time is over."""
    result, results = json_of(tmp_path, """
import socket
from urllib.parse import urlparse
there = urlparse(os.environ["REDIS_URL"])
for i in range(20):
    gone = socket.create_connection((there.hostname, there.port))
    gone.sendall(f"SET lock:{i} token-of-gone-{i} NX PX 300\\r\\n".encode())
    gone.close()
late = client()
for i in range(20):
    while not late.set(f"lock:{i}", A + str(i), nx=True, px=20000): pass
    assert late.eval(CAD, 1, f"lock:{i}", A + str(i)) == 1
""")
    assert is_clean(result, results), result.out + result.err


def test_the_status_is_that_of_the_command(tmp_path):
    assert watch(tmp_path, RIGHT + "sys.exit(7)").status == 7


def test_behind_a_command_that_waits_nothing_is_known_and_nobody_stands_still(tmp_path):
    """The same connection asks for the lock, and whoever is to push must release it first."""
    result = watch(tmp_path, """
import socket
from urllib.parse import urlparse
there, one = urlparse(os.environ["REDIS_URL"]), client()
assert one.set("lock:1", A, nx=True, px=20000)
waits = socket.create_connection((there.hostname, there.port))
waits.sendall(f"BLPOP queue 0\\r\\nSET lock:1 {B} NX PX 20000\\r\\n".encode())
while not any(found["cmd"] == "blpop" for found in one.client_list()): pass
assert one.eval(CAD, 1, "lock:1", A) == 1
one.rpush("queue", 1)
answers = waits.makefile("rb")
while answers.readline() != b"+OK\\r\\n": pass
""")
    assert result.status == 2 and "a connection that waits" in told(result), result.out + result.err


def test_a_server_that_is_killed_is_no_verdict(tmp_path):
    result = watch(tmp_path, """
one = client()
assert one.set("lock:1", A, nx=True, px=20000)
os.kill(one.info("server")["process_id"], 9)
try:
    while True: one.ping()
except redis.exceptions.ConnectionError: pass
time.sleep(0.1)
""")
    assert result.status == 2 and "unknown:" in result.out, result.out + result.err


SLIP = """
assert client().set("lock:slip", A, nx=True, px=20000)
assert client().persist("lock:slip")
"""


def told_of_cut(json_file, status, out, err, why):
    """The row of a watched run whose history has no end: what was found by then, and nothing that holds."""
    assert status == 70 and "cannot be written" in err and why in err, out + err
    row, = json.loads(json_file.read_text())["results"]
    words = " ".join(out.split())
    assert why in words and "Watched: " in words and "are sure to be in it" in words, out
    assert not [found for found in row["properties"] if found["verdict"] == "holds"], row
    return row


def test_of_a_history_on_a_full_disk_what_was_found_is_told(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + SLIP + MANY % 20)
    small = tmp_path / "small"
    small.mkdir()
    words = [str(PICKLOCK), "watch", "--key", "lock:*", "--out", str(small), "--json", str(tmp_path / "r.json"), "--", sys.executable, str(script)]
    done = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=64k none {small} && {shlex.join(words)}"],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system of our own here")
    row = told_of_cut(tmp_path / "r.json", done.returncode, done.stdout, done.stderr, "No space left on device")
    assert row["verdict"] == "violated" and "always-expires" in done.stdout, done


def test_a_history_that_may_not_grow_is_no_verdict_and_a_report_all_the_same(tmp_path):
    """A limit like a full disk; the page fits."""
    result = watch(tmp_path, MANY % 100, "--json", tmp_path / "r.json", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (150000, 150000)))
    row = told_of_cut(tmp_path / "r.json", result.status, result.out, result.err, "File too large")
    assert row["verdict"] == "unknown" and "File too large" in row["trouble"], row
    latest = tmp_path / "runs" / "latest"
    assert "unknown" in (latest / "index.html").read_text()
    cut = run("check", latest / "histories" / "watch.jsonl")
    assert cut.status == 2 and "the history has no end" in cut.out, cut


def test_a_history_that_the_command_removes_is_no_verdict(tmp_path):
    result = watch(tmp_path, RIGHT + f"import pathlib; next(pathlib.Path({str(tmp_path)!r}).glob('**/watch.jsonl')).unlink()\n")
    assert result.status == 70 and "cannot be written: another program removed or replaced it" in result.err and "holds" not in result.out, result


def test_a_command_that_ignores_the_signal_is_killed_and_one_that_forked_is_not_waited_for(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
assert client().set("lock:1", A, nx=True, px=20000)
print("has it", flush=True); time.sleep(600)
""")
    with subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--", sys.executable, script],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline() == "has it\n"
        watching.send_signal(signal.SIGTERM)
        watching.communicate(timeout=PATIENCE_S)
        assert watching.returncode == 128 + signal.SIGKILL
    result, results = json_of(tmp_path, """
one = client()
assert one.set("lock:1", A, nx=True, px=20000) and one.eval(CAD, 1, "lock:1", A) == 1
heard, tells = os.pipe()
if os.fork() == 0:
    for stream in (0, 1, 2): os.close(stream)
    own = client(); own.ping(); os.write(tells, b"connected")
    try:
        while True: own.ping()
    except redis.exceptions.ConnectionError: os._exit(0)
os.read(heard, 1)
os._exit(0)
""")
    assert is_clean(result, results) and any("outlived the command" in note for note in results["notes"]), results["notes"]


def test_a_server_of_somebody_else_and_a_signal(tmp_path):
    """Without a command it ends with a signal; the password goes nowhere."""
    with server("--requirepass", "s@cret") as port:
        watching = subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--redis", f"redis://:s%40cret@127.0.0.1:{port}/2",
                                     "--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = watching.stdout.readline().strip()
        assert re.fullmatch(r"redis://127\.0\.0\.1:\d+/2", address)
        ours = redis.Redis.from_url(address.replace("//", "//:s%40cret@"))
        assert ours.set("lock:1", "token-of-ours", nx=True, px=20000)
        assert ours.eval("return redis.call('del', KEYS[1])", 1, "lock:1", "token-of-ours") == 1
        watching.send_signal(signal.SIGUSR1)  # and it goes on
        assert "1 connection, 1 open; 2 commands that name a watched key; 1 grant, 0 refusals, 1 release\n" in watching.stderr.readline()
        ours.close()
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 2 and "no contention" in out and "1 grant," in out, out + err
    assert not subprocess.run(["grep", "-rlE", "s(@|%40)cret", tmp_path], capture_output=True, text=True).stdout


def test_a_command_that_is_ended_by_a_signal(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + "client().set('lock:1', A, nx=True, px=20000); print('has it', flush=True); time.sleep(600)")
    watching = subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--", sys.executable, script],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watching.stdout.readline() == "has it\n"
    watching.send_signal(signal.SIGTERM)
    out, err = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 128 + signal.SIGTERM and "it was ended by SIGTERM" in out + err, out + err


HOLDS = """
one, two = client(), client()
assert one.set("lock:1", A, nx=True, px=20000) and not two.set("lock:1", B, nx=True, px=20000)
assert one.eval(CAD, 1, "lock:1", A) == 1
"""
DIES = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n"


@pytest.mark.parametrize("heeds", [DIES, "import signal; signal.signal(signal.SIGINT, lambda *_: os._exit(0))\n"], ids=["it dies of it", "it ends well"])
def test_a_signal_that_a_terminal_sends_to_both_is_no_end(tmp_path, heeds):
    """The command may be gone before anybody looks for our own signal: what it had still to do nobody saw."""
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + HOLDS + heeds + "print('has held it', flush=True)\nwhile True: time.sleep(1)")
    watching = subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--json", tmp_path / "results.json", "--", sys.executable, script],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert watching.stdout.readline() == "has held it\n"
    os.killpg(watching.pid, signal.SIGINT)
    out, err = watching.communicate(timeout=PATIENCE_S)
    results = json.loads((tmp_path / "results.json").read_text())
    row, = results["results"]
    assert watching.returncode == (128 + signal.SIGINT if heeds == DIES else 2), out + err
    assert results["interrupted"]["why"] == "SIGINT" and "INTERRUPTED: 0 of 1 run (SIGINT)" in out, out + err
    assert row["verdict"] == "unknown" and "holds" not in {found["verdict"] for found in row["properties"] if found["property"] != "no-crash"}, row


@pytest.mark.parametrize("number, status", [(None, 0), (signal.SIGSEGV, 128 + signal.SIGSEGV)], ids=["to its end", "not to its end"])
def test_a_command_that_dies_is_not_whole(tmp_path, number, status):
    result, results = json_of(tmp_path, HOLDS + (f"os.kill(os.getpid(), {int(number)})" if number else ""))
    row, = results["results"]
    assert result.status == status and row["verdict"] == ("unknown" if number else "holds"), result.out + result.err
    assert ("the command was ended by SIGSEGV" in result.out) == bool(number), result.out + result.err


@pytest.mark.parametrize("under_way", ["asks = client().connection_pool.get_connection('_'); asks.send_command('DEL', 'lock:1')", ""],
                         ids=["behind the look before a command", "behind the look at the end"])
def test_a_signal_ends_the_wait_for_a_server_that_is_stopped(tmp_path, under_way):
    """A look that is not answered takes 5 s; as long as one is waited for, the command is told of no signal."""
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + f"""
import signal
assert client().set("lock:1", A, nx=True, px=20000)
os.kill(client().info("server")["process_id"], signal.SIGSTOP)
{under_way}
print("stopped", flush=True); signal.pause()
""")
    with server() as port, subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--redis", f"redis://127.0.0.1:{port}", "--out", tmp_path, "--",
                                             sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline() == "stopped\n"
        began = time.monotonic()
        watching.send_signal(signal.SIGTERM)
        out, err = watching.communicate(timeout=PATIENCE_S)
        took = time.monotonic() - began
    assert watching.returncode == 128 + signal.SIGTERM and "it was ended by SIGTERM" in out + err, out + err
    assert took < 4.5, (took, out, err)


def test_a_script_too_long_to_be_seen_whole_is_no_verdict(tmp_path):
    """One that comes in one piece may be longer than 16 kB, and is seen: this one can not."""
    result = watch(tmp_path, """
assert client().set("lock:1", A, nx=True, px=20000)
client().eval("-- " + 300000 * "x" + "\\nreturn redis.call('del', KEYS[1])", 1, "lock:1")
""")
    assert result.status == 2 and "not all keys that it names were seen" in told(result), result.out + result.err


def test_no_lock_is_no_verdict(tmp_path):
    """Why is told once: by the report, or, where none is in words, on stderr."""
    result = watch(tmp_path, 'client().set("other", 1)')
    assert result.status == 2 and told(result).count("no watched key was granted") == 1 and "unknown" not in result.err, result.out + result.err
    result = watch(tmp_path, 'client().set("other", 1)', "--json", "-")
    assert result.status == 2 and "no watched key was granted" in result.err, result.err


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (["--", "true"], 64, "--key"),
    (["--key", "lock:*", "--redis", "redis://127.0.0.1:1", "--", "true"], 69, "127.0.0.1:1"),
    (["--key", "lock:*", "--", "/no/such/command"], 69, "/no/such/command"),
    (["--key", "lock:*", "--fence-key", "", "--", "true"], 64, "--fence-key"),
    (["--key", "lock:*", "--redis", "redis://x", "--redis-server", "y", "--", "true"], 64, "exclude"),
])
def test_bad_use(tmp_path, arguments, status, words):
    result = run("watch", "--out", tmp_path, *arguments)
    assert result.status == status and words in told(result), result.err


TREE = "sleep 1000 & echo $!; setsid sh -c 'sleep 1000 & echo $!' & wait $!; "


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("heeds", ["", "trap '' TERM HUP; "], ids=["that dies of it", "that ignores it"])
def test_who_ends_a_command_ends_all_that_it_has_started(tmp_path, number, heeds):
    """Also one in a session of its own, that has lost its parent."""
    with subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--", "bash", "-c", TREE + heeds + "echo $$; sleep 1000; true"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        started = [int(watching.stdout.readline()) for _ in range(3)]
        watching.send_signal(number)
        watching.communicate(timeout=PATIENCE_S)
        until(lambda: all((stat_of(pid) or "Z")[0] == "Z" for pid in started), "all have ended")
    assert watching.returncode == (-number if number == signal.SIGKILL else 128 + (signal.SIGKILL if heeds else number))


def test_what_a_command_leaves_behind_when_it_ends_by_itself_stays(tmp_path):
    """It has no stream of ours, but a FIFO that it writes to when it is told to."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    daemon = f"read word < {fifo}; echo $word back > {fifo}"
    result = run("watch", "--key", "lock:*", "--out", tmp_path / "out", "--", "sh", "-c", f"({daemon}) < /dev/null > /dev/null 2>&1 &")
    assert result.status == 2, result.out + result.err
    fifo.write_text("word\n")
    assert fifo.read_text() == "word back\n"


def test_a_shell_at_a_terminal_is_as_any(tmp_path):
    """The command stays in the session and process group of picklock's: it may read, and Ctrl-C is for both."""
    script = tmp_path / "suite.py"
    script.write_text("""
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: print("heard it", flush=True) or os._exit(0))
print(os.getsid(0) == int(sys.argv[1]), os.getpgrp() == os.tcgetpgrp(0), input(), flush=True)
while True: signal.pause()
""")
    picklock, terminal = pty.fork()
    if picklock == 0:
        os.execv(PICKLOCK, [PICKLOCK, "watch", "--key", "lock:*", "--out", str(tmp_path / "out"), "--", sys.executable, str(script), str(os.getpid())])
    os.write(terminal, b"typed\n")
    said = b""
    while b"True True typed" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # EIO: all have ended
        while more := os.read(terminal, 4096):
            said += more
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(picklock, 0)[1]) == 2 and b"heard it" in said and b"INTERRUPTED" in said, said


def test_a_command_that_is_stopped_hears_a_signal(tmp_path):
    with subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--", "sh", "-c", "echo $$; exec sleep 1000"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        os.kill(int(watching.stdout.readline()), signal.SIGSTOP)
        watching.send_signal(signal.SIGTERM)
        watching.communicate(timeout=PATIENCE_S)
        assert watching.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(("asks", "status"), [("", 2), ("assert not client().set('lock:1', B, nx=True, px=20000)", 0)], ids=["alone", "contended"])
def test_where_nobody_contends_nothing_is_proved(tmp_path, asks, status):
    """The status is that of its own verdict, and of every format of it."""
    result = watch(tmp_path, f"""
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
{asks}
assert a.eval(CAD, 1, "lock:1", A) == 1
""")
    assert result.status == status and ("no contention" in result.err + result.out) == (status == 2), result.out + result.err
    assert run("report", tmp_path / "runs" / "latest").status == status
    assert f'errors="{status // 2}"' in (tmp_path / "runs" / "latest" / "junit.xml").read_text()


def test_processes_one_after_the_other_do_not_contend(tmp_path):
    """Their lock excludes nobody, and nobody would see it."""
    result = watch(tmp_path, """
for _ in range(3):
    if os.fork() == 0:
        a = client()
        assert a.eval("redis.call('set', KEYS[1], ARGV[1], 'px', 20000) return 1", 1, "lock:1", A) == 1
        assert a.eval(CAD, 1, "lock:1", A) == 1
        os._exit(0)
    assert os.wait()[1] == 0
""")
    assert result.status == 2 and "no contention" in result.err + result.out, result.out + result.err


def test_whoever_is_stopped_beside_it_costs_nobody_a_hang_up(tmp_path):
    """Without a terminal: the kernel hangs up on a group in which somebody is stopped, as the last one ends that connects it with the session."""
    beside = subprocess.run(["bash", "-c", f"""
sleep 1000 & stopped=$!
trap 'echo hung up' HUP
kill -STOP $stopped
{shlex.quote(str(PICKLOCK))} watch --key 'lock:*' --out {shlex.quote(str(tmp_path / 'runs'))} -- sh -c 'exit 7' > /dev/null 2>&1
echo ended with $?
kill -KILL $stopped
"""], start_new_session=True, text=True, capture_output=True, timeout=PATIENCE_S)
    assert beside.stdout == "ended with 7\n", beside
