"""Workers: somebody's lock program as a process, one clean hand-over (`test --once`), and everything that can be wrong with one."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time

import jsonschema
import pytest
from conftest import PICKLOCK, ROOT, stat_of

PYTHON = "/usr/bin/python3"
EXAMPLES = ROOT / "sim" / "worker" / "examples"
needs_redis_py = pytest.mark.skipif(subprocess.run([PYTHON, "-c", "import redis"], capture_output=True).returncode != 0,
                                    reason="python3-redis is not installed")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

# A lock of the worker's own, without a library: enough to be wrong in one way at a time.
PLAIN = """
import json, os, socket, sys, threading, time
import picklock_worker

class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        self.settings = settings
        self.socket = socket.create_connection(settings.address())

    def ask(self, *words):
        parts = [f"${len(str(word))}\\r\\n{word}\\r\\n" for word in words]
        self.socket.sendall(f"*{len(words)}\\r\\n{''.join(parts)}".encode())
        return self.socket.recv(4096)

    def acquire(self, wait_ms):
        return self.ask("SET", self.settings.key, self.settings.name, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def release(self):
        return self.ask("DEL", self.settings.key) == b":1\\r\\n"
"""
RUN = "\npicklock_worker.run(Worker)\n"


@pytest.fixture
def worker(tmp_path):
    """The command of a worker in Python: the plain one, with what is added behind it."""

    def write(added="", text=None):
        path = tmp_path / "my_lock.py"
        path.write_text(text if text is not None else PLAIN + added + RUN)
        return f"{PYTHON} {shlex.quote(str(path))}"

    return write


def once(picklock, command, *more):
    return picklock("test", "--once", command, *more)


# --- as it should be ---


def test_a_hand_over_with_every_command_reply_and_clock_read(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        print("a word of the library")
        time.monotonic(); time.time()
        return super().release()
"""))
    assert ran.status == 0, ran
    for words in ("A  sends to server 1: SET lock A NX PX 10000", "A's 1st SET to server 1 is executed: OK",
                  "B's 1st SET to server 1 is executed: nil", "B  answers ok: false", "A's 1st DEL to server 1 is executed: 1",
                  "B's 2nd SET to server 1 is executed: OK", "A  prints: a word of the library",
                  "A  reads its clocks: monotonic", "their clocks are ours", "A clean hand-over: as expected."):
        assert words in ran.out, ran


@needs_redis_py
def test_redis_py_as_it_is(picklock):
    ran = once(picklock, f"{PYTHON} {shlex.quote(str(EXAMPLES / 'redis_py_lock.py'))}")
    assert ran.status == 0, ran
    assert "redis-py" in ran.out and "A's 2nd EVALSHA to server 1 is executed: 1" in ran.out, ran
    assert "they promise: expiry, extends" in ran.out, ran


@needs_node
def test_a_lock_in_node(picklock):
    ran = once(picklock, f"node {shlex.quote(str(EXAMPLES / 'small_lock.js'))}")
    assert ran.status == 0, ran
    assert "B's 1st EVAL to server 1 is executed: 1" in ran.out, ran


def test_an_asynchronous_worker(picklock, worker):
    ran = once(picklock, worker(text="""
import asyncio
import picklock_worker

class Worker(picklock_worker.Worker):
    async def init(self, settings):
        self.settings = settings
        self.reader, self.writer = await asyncio.open_connection(*settings.address())

    async def ask(self, *words):
        parts = [f"${len(str(word))}\\r\\n{word}\\r\\n" for word in words]
        self.writer.write(f"*{len(words)}\\r\\n{''.join(parts)}".encode())
        return await self.reader.readline()

    async def acquire(self, wait_ms):
        await asyncio.sleep(0.25)
        return await self.ask("SET", self.settings.key, "x", "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    async def release(self):
        return await self.ask("DEL", self.settings.key) == b":1\\r\\n"

picklock_worker.run(Worker)
"""))
    assert ran.status == 0, ran
    assert "they promise: expiry, cancels" in ran.out and "time passes: 250.0 ms" in ran.out, ran


def test_the_same_seed_the_same_words(picklock, worker):
    command = worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        print(os.urandom(4).hex(), time.time_ns())
        return super().acquire(wait_ms)
""")
    first, second, other = once(picklock, command), once(picklock, command), once(picklock, command, "--seed", 2)
    assert first.status == 0 and first.out == second.out
    assert first.out != other.out


def test_a_long_sleep_takes_no_time(picklock, worker):
    began = time.monotonic()
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        time.sleep(3)
        done = threading.Event()
        threading.Timer(4, done.set).start()
        done.wait()
        return super().release()
"""))
    assert ran.status == 0 and "time passes: 3000.0 ms" in ran.out and "time passes: 4000.0 ms" in ran.out, ran
    assert time.monotonic() - began < 14


def test_a_fence_must_grow(picklock, worker):
    fenced = """
class Worker(Worker):
    promises = ["expiry", "fence"]
    def acquire(self, wait_ms):
        return super().acquire(wait_ms) and %s
"""
    good = once(picklock, worker(fenced % "int(self.ask('INCR', 'fence')[1:-2])"))
    assert good.status == 0 and "answers ok: true, fence 2" in good.out, good
    bad = once(picklock, worker(fenced % "7"))
    assert bad.status == 1 and "fence 7, and the grant before had 7" in bad.err, bad
    none = once(picklock, worker(fenced % "True"))
    assert none.status == 1 and 'promises "fence", and was granted the lock without one' in none.err, none


def test_a_notice_is_shown(picklock, worker):
    """Behind its release nobody can say that it is not so."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        self.lost()
        return super().release()
"""))
    assert ran.status == 0 and "A  says that its lock is lost" in ran.out, ran


def test_a_notice_of_a_lock_that_it_has(picklock, worker):
    """From a thread of its own, while B is asked: A's lease goes on."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        if self.settings.name == "A":
            threading.Timer(1, self.lost).start()
        else:
            time.sleep(2)
        return super().acquire(wait_ms)
"""))
    assert ran.status == 1 and "A  says that its lock is lost" in ran.out, ran
    assert "worker A said at 1000.0 ms that its lock is lost, but it has it: its lease does not end before 10000.0 ms" in ran.err, ran


def test_a_notice_of_a_lease_that_is_over(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        if self.settings.name == "A":
            threading.Timer(11, self.lost).start()
        else:
            time.sleep(12)
        return super().acquire(wait_ms)
"""))
    assert ran.status == 1 and "A  says that its lock is lost" in ran.out, ran
    assert "worker B was asked to acquire, and answered ok: true, but A holds the lock" in ran.err, ran


# --- how it is told ---


def test_lines_as_wide_as_the_terminal(worker):
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    ran = subprocess.run([PICKLOCK, "test", "--once", worker()], stdout=slave, stderr=subprocess.PIPE, timeout=120)
    os.close(slave)
    told = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(master, 65536):
            told += part
    os.close(master)
    lines = told.decode().splitlines()
    assert ran.returncode == 0, ran
    assert max(map(len, lines)) <= 50
    assert "      0.0  A  sends to server 1: SET lock A NX PX" in lines and " " * 14 + "10000" in lines, lines


def test_interrupted_it_says_what_it_knows(worker, tmp_path):
    mark = tmp_path / "mark"
    command = worker(f"""
class Worker(Worker):
    def release(self):
        open({str(mark)!r}, "w").close()
        while True:
            pass
""")
    process = subprocess.Popen([PICKLOCK, "test", "--once", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, (out, err)
    assert "A  is asked to release" in out and "interrupted while worker A was asked to release" in err, (out, err)


# --- what is not a lock ---


def test_no_clean_hand_over(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        return True
"""))
    assert ran.status == 1 and "worker B was asked to acquire, and answered ok: true, but A holds the lock" in ran.err, ran


def test_an_error_is_told(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        raise RuntimeError("no such lock")
"""))
    assert ran.status == 1 and "answered with an error: RuntimeError: no such lock" in ran.err, ran


def test_a_worker_that_never_answers_is_stuck(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        threading.Event().wait()
"""))
    assert ran.status == 1, ran
    assert "worker A is stuck: it was asked to release, and waits for what will never come" in ran.err, ran


# --- failures ---


def test_no_such_program(picklock):
    ran = once(picklock, "no-such-program my_lock.py")
    assert ran.status == 69 and "no-such-program cannot be run: No such file or directory" in ran.err, ran


@pytest.mark.parametrize("program, package", [("python3", "python3"), ("node", "nodejs"), ("ruby", "ruby"),
                                              ("java", "default-jre-headless"), ("go", "golang-go")])
def test_no_such_language_here(picklock, tmp_path, program, package):
    servers = tmp_path / "bin"
    servers.mkdir()
    (servers / "redis-server").symlink_to(shutil.which("redis-server"))
    ran = picklock("test", "--once", f"{program} my_lock", env={"PATH": str(servers)})
    assert ran.status == 69 and f"{program} cannot be run" in ran.err and f"the Debian package {package} has it" in ran.err, ran


@pytest.mark.parametrize("command, words", [
    ("python3 my_lock.py | tee log", "'|' is for one; put it into quotes, or name a shell"),
    ("python3 'my_lock.py", "a quote has no end"),
    ("  ", "the command of the worker is empty"),
])
def test_what_is_no_command(picklock, command, words):
    ran = once(picklock, command)
    assert ran.status == 64 and words in ran.err, ran


def test_a_worker_that_does_not_begin(picklock, worker):
    ran = once(picklock, worker(text="import no_such_library\n"))
    assert ran.status == 64, ran
    assert "its process ended with status 1; its last words: \"ModuleNotFoundError: No module named 'no_such_library'\"" in ran.err


def test_garbage_is_quoted(picklock, worker):
    ran = once(picklock, worker(text="print('starting up ...', flush=True); import time; time.sleep(1000)\n"))
    assert ran.status == 64 and "where only answers may stand: this is no JSON: 'starting up ...'" in ran.err, ran


def test_a_line_without_an_end(picklock, worker):
    ran = once(picklock, worker(text="import sys\nwhile True: sys.stdout.write('x' * 65536)\n"))
    assert ran.status == 64 and "this is no JSON: 'xxxx" in ran.err, ran


@pytest.mark.parametrize("answer, words", [
    ('{"id": 1, "ready": true, "promises": ["expiri"]}', "unknown promise 'expiri', did you mean 'expiry'"),
    ('{"id": 1, "ready": true, "promises": ["reentrant"]}', "which picklock cannot check yet"),
    ('{"id": 1, "redy": true}', "unknown member 'redy', did you mean 'ready'"),
    ('{"ready": true}', "'id' is missing"),
    ('[1]', "a line is a JSON object"),
    ('{"id": 1, "ok": true}', "answered request 1 (init) with what is an answer to something else"),
    ('{"id": 9, "ok": true}', "answered request 9, which was never asked"),
])
def test_answers_that_are_none(picklock, worker, answer, words):
    ran = once(picklock, worker(text=f"input()\nprint('''{answer}''', flush=True)\ninput()\n"))
    assert ran.status == 64 and words in ran.err, ran


def test_a_worker_that_answers_twice(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        picklock_worker._say({"id": 4, "ok": True})
        return super().acquire(wait_ms)
"""))
    assert ran.status == 64 and "answered request 4 (acquire) twice" in ran.err, ran


def test_a_worker_that_answers_again_much_later(picklock, worker):
    """From a timer of its own, while it is asked for something else."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        granted = super().acquire(wait_ms)
        threading.Timer(2, lambda: picklock_worker._say({"id": 4, "ok": True})).start()
        return granted
    def release(self):
        time.sleep(5)
        return super().release()
"""))
    assert ran.status == 64 and "answered request 4 (acquire) twice" in ran.err, ran


@pytest.mark.parametrize("what", [
    "while True:\n            pass",
    "[0] * (1 << 62) if False else [x for x in iter(int, 1)]",
])
def test_a_worker_that_computes_for_ever_is_unknown(picklock, worker, what):
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def release(self):
        {what}
"""), "--patience", "1500ms")
    assert ran.status == 2 and "worker A is busy: it has not come to rest within 1.5 s of real time (thread " in ran.err, ran


def test_a_worker_that_spins_on_the_clock(picklock, worker):
    """It comes to where it wants to be, without a wait."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass
        return super().release()
"""))
    assert ran.status == 0 and "A  answers ok: true" in ran.out, ran


def test_a_worker_with_many_threads(picklock, worker):
    """Each of them waits for its own time, and the worker for all of them."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        done = []
        threads = [threading.Thread(target=lambda i=i: (time.sleep(0.01 * i), done.append(i))) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return done == list(range(40)) and super().acquire(wait_ms)
"""))
    assert ran.status == 0 and ran.out.count("time passes: 10.0 ms") == 3 * 39, ran


def test_a_worker_that_forks(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        if os.fork() == 0:
            time.sleep(0.2)
            os._exit(0)
        os.wait()
        return super().acquire(wait_ms)
"""))
    assert ran.status == 0 and "time passes" not in ran.out, ran


def test_a_worker_that_prints_very_much(picklock, worker):
    """A GB without a line feed, and no pipe that fills up: it is read while it is written, and cut."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        for _ in range(1024 if self.settings.name == "A" else 0):
            sys.stderr.write("x" * 1048576)
        return super().release()
"""))
    assert ran.status == 0 and "A  prints: xxx" in ran.out and max(map(len, ran.out.splitlines())) < 1100, ran.out[-500:]


def test_a_worker_that_exits(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        sys.stderr.write("giving up\\n")
        os._exit(3)
"""))
    assert ran.status == 64 and 'worker A: its process ended with status 3; its last words: "giving up"' in ran.err, ran


def test_a_connection_past_the_proxy(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        try:
            socket.create_connection(("127.0.0.1", 26379))
        except OSError:
            return False
"""))
    assert ran.status == 64 and "wants to connect to 127.0.0.1:26379, which is none of the servers" in ran.err, ran


def test_a_program_that_drops_our_time(picklock, worker):
    ran = once(picklock, f"env -u LD_PRELOAD {worker()}")
    assert ran.status == 69 and "does not follow our time" in ran.err, ran


def test_no_address_of_a_server_in_its_environment(picklock, worker, tmp_path):
    ran = picklock("test", "--once",
                   worker(f"open({str(tmp_path / 'seen')!r}, 'w').write(str([name for name in os.environ if 'REDIS' in name]))\n"),
                   env={"PICKLOCK_REDIS_URL": "redis://127.0.0.1:1", "REDIS_URL": "redis://127.0.0.1:1"})
    assert ran.status == 0, ran
    assert (tmp_path / "seen").read_text() == "[]"


def test_workers_die_with_picklock(worker, tmp_path):
    mark = tmp_path / "mark"
    command = worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        open({str(mark)!r} + self.settings.name, "w").write(str(os.getpid()))
        while True:
            pass
""")
    process = subprocess.Popen([PICKLOCK, "test", "--once", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = tmp_path / "markA"
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    pid = int(path.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    while stat_of(pid) is not None and stat_of(pid)[0] != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    assert stat_of(pid) is None or stat_of(pid)[0] == "Z"


OFFSPRING = """
import subprocess
class Worker(Worker):
    def acquire(self, wait_ms):
        if self.settings.name == "A":
            one = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            two = subprocess.run(["sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 & echo $!"], capture_output=True, text=True)
            with open(%r, "w") as file:
                file.write(f"{one.pid} {two.stdout}.")
        while %s:
            pass
        return super().acquire(wait_ms)
"""


def gone(pid, end):
    while stat_of(pid) is not None and stat_of(pid)[0] != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    return stat_of(pid) is None or stat_of(pid)[0] == "Z"


def test_what_a_worker_has_started_ends_with_it(picklock, worker, tmp_path):
    """In sessions of its own, and orphans: at the end of a run, and when picklock is killed."""
    pids, end = tmp_path / "pids", time.monotonic() + 60
    ran = once(picklock, worker(OFFSPRING % (str(pids), "False")))
    assert ran.status == 0, ran
    first = [int(word) for word in pids.read_text().strip(".").split()]
    assert len(first) == 2 and all(gone(pid, end) for pid in first)
    pids.unlink()
    process = subprocess.Popen([PICKLOCK, "test", "--once", worker(OFFSPRING % (str(pids), "True"))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (pids.exists() and pids.read_text().endswith(".")) and time.monotonic() < end:
        time.sleep(0.01)
    second = [int(word) for word in pids.read_text().strip(".").split()]
    assert len(second) == 2 and all(stat_of(pid) is not None for pid in second)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(gone(pid, end) for pid in second)


@pytest.mark.parametrize("wrapper", [
    'python=$(sleep 0.4; echo %(python)s | cat)\nexec "$python" "$@"\n',
    'exec sh -c \'x=`sleep 0.2 | cat`; y=$(echo "$x" | sed s/a/b/); exec %(python)s "$@"\' sh "$@"\n',
])
def test_a_wrapper_that_asks_its_children(picklock, worker, tmp_path, wrapper):
    """As pyenv's python3 does: it waits for a pipe, and what it starts lives by the real time."""
    path = tmp_path / "wrapper"
    path.write_text("#!/usr/bin/env bash\n" + wrapper % {"python": PYTHON})
    path.chmod(0o755)
    ran = once(picklock, f"{shlex.quote(str(path))} {worker().split(maxsplit=1)[1]}")
    assert ran.status == 0, ran


def test_a_worker_that_asks_another_program(picklock, worker):
    """It waits for its output, and nothing else would make it go on."""
    ran = once(picklock, worker("""
import subprocess
class Worker(Worker):
    def acquire(self, wait_ms):
        word = subprocess.run(["sh", "-c", "sleep 0.3; echo token"], stdout=subprocess.PIPE, text=True).stdout.strip()
        return word == "token" and super().acquire(wait_ms)
"""))
    assert ran.status == 0 and "time passes" not in ran.out, ran


# --- the protocol's schema ---


def test_the_schema_has_what_the_helper_says_and_hears():
    schema = json.loads((ROOT / "sim" / "worker" / "worker.schema.json").read_text())
    lines = ['{"op":"init","id":1,"key":"k","client":0,"name":"A","ttl_ms":1000,"work_ms":10,"servers":["127.0.0.1:1"]}',
             '{"op":"time","id":2}', '{"op":"acquire","id":3,"wait_ms":0}', '{"op":"release","id":4}', '{"op":"cancel","id":5,"of":3}']
    text = """
import sys
sys.path.insert(0, sys.argv[1])
import picklock_worker
class Worker(picklock_worker.Worker):
    def init(self, settings): pass
    def acquire(self, wait_ms): return 12
    def release(self): self.lost(); raise OSError("gone")
picklock_worker.run(Worker)
"""
    done = subprocess.run([PYTHON, "-c", text, ROOT / "sim" / "worker" / "python"], input="\n".join(lines) + "\n", text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said[0]["ready"] and said[2] == {"id": 3, "ok": True, "fence": 12} and said[3] == {"event": "lost"}
    assert said[4] == {"id": 4, "error": "OSError: gone"} and said[5] == {"id": 5, "ok": False}
    for line in [*map(json.loads, lines), *said]:
        jsonschema.validate(line, schema)
    for wrong in ({"id": 1, "ok": 1}, {"op": "acquire", "id": 1}, {"id": 1, "ready": True, "promises": ["fair"]}, {"event": "found"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
