"""Workers: somebody's lock program as a process, one clean hand-over (`test --once`), and its protocol."""

import json
import re
import signal
import subprocess
import time

import jsonschema
import pytest
from conftest import PICKLOCK, ROOT, in_a_terminal
from workers import PYTHON, REDIS_PY, SMALL_NODE, needs_node, needs_redis_py, once, plain_worker

worker = pytest.fixture(plain_worker)

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
    ran = once(picklock, REDIS_PY)
    assert ran.status == 0, ran
    assert "redis-py" in ran.out and "A's 2nd EVALSHA to server 1 is executed: 1" in ran.out, ran
    assert "they promise: expiry, extends" in ran.out, ran


@needs_node
def test_a_lock_in_node(picklock):
    ran = once(picklock, SMALL_NODE)
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


@pytest.mark.parametrize("when", ["before its answer", "behind its answer"])
def test_a_notice_with_the_grant(picklock, worker, when):
    """Whoever says with each grant that it is lost would have nothing to release, and pass."""
    notice = "self.lost()" if when == "before its answer" else "threading.Timer(0, self.lost).start()"
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        is_granted = super().acquire(wait_ms)
        if is_granted:
            {notice}
        return is_granted
"""))
    assert ran.status == 1 and "worker A was granted the lock, and said that it is lost, though its lease had just begun" in ran.err, ran


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
    assert "worker B was asked to acquire, and got the lock behind the lease of A, which had ended at 10000.0 ms" in ran.err, ran


# --- how it is told ---


def lines_in_a_terminal(columns, *words):
    """The lines that picklock prints into one, when it has ended well."""
    ran, told = in_a_terminal([PICKLOCK, *words], columns, stderr=subprocess.PIPE)
    assert ran.returncode == 0, ran
    return told.splitlines()


def test_lines_as_wide_as_the_terminal(worker):
    lines = lines_in_a_terminal(50, "test", "--once", worker())
    assert max(map(len, lines)) <= 50
    assert "      0.0  A  sends to server 1: SET lock A NX PX" in lines and " " * 14 + "10000" in lines, lines


def test_sentences_as_wide_as_the_terminal(tmp_path):
    story = ROOT / "scenarios" / "expired-lease-double-delete.yaml"
    words = "run", story, "--scheme", "set-nx-ex-del", "--on", "sim", "--out", tmp_path
    sentences = {columns: [line for line in lines_in_a_terminal(columns, *words) if re.match(r" {4}\S", line)] for columns in (70, 200)}
    assert 60 < max(map(len, sentences[70])) <= 70 and 100 < max(map(len, sentences[200])) <= 200
    assert " ".join(sentences[70]).split() == " ".join(sentences[200]).split()


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
    """Also one whose words are no text."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        raise RuntimeError("no such lock \\udcff \\0")
"""))
    assert ran.status == 1 and "answered with an error: RuntimeError: no such lock \\udcff" in ran.err, ran


def test_a_worker_that_never_answers_is_stuck(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        threading.Event().wait()
"""))
    assert ran.status == 1, ran
    assert "worker A is stuck: it was asked to release, and waits for what will never come" in ran.err, ran


# --- the protocol's schema ---


def test_the_schema_has_what_the_helper_says_and_hears():
    schema = json.loads((ROOT / "sim" / "worker" / "worker.schema.json").read_text())
    lines = ['{"op":"init","id":1,"key":"k","client":0,"name":"A","ttl_ms":1000,"work_ms":10,"servers":["127.0.0.1:1"],"user":"default","password":"picklock"}',
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
