"""A lock that gives back a plain DEL once its monotonic clock says that its lease is over is found by asking, in each language and by
each way to that clock; a right one that looks at it is decided. Node.js reads the clock for itself, too: what cannot be told apart."""

import os
import shlex
import shutil
import subprocess

import pytest
from conftest import BUILD, LONG, ROOT
from workers import PYTHON, needs_node, once, plain_worker

WORKERS = ROOT / "sim" / "worker"
COMPARE_AND_DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"

IN_PYTHON = """
import secrets, socket, time
import picklock_worker

class Late(picklock_worker.Worker):
    promises = ["expiry", "token"]

    def init(self, settings):
        self.settings = settings
        self.socket = socket.create_connection(settings.address())

    def ask(self, *words):
        parts = [f"${len(str(word))}\\r\\n{word}\\r\\n" for word in words]
        self.socket.sendall(f"*{len(words)}\\r\\n{''.join(parts)}".encode())
        return self.socket.recv(4096).strip()

    def acquire(self, wait_ms):
        self.token, self.began = secrets.token_hex(16), NOW
        return self.ask("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK"

    def release(self):
        if NOW - self.began > self.settings.ttl_ms / 1000:
            return self.ask("DEL", self.settings.key) == b":1"
        return self.ask("EVAL", LUA, 1, self.settings.key, self.token) == b":1"

    def close(self):
        self.socket.close()

picklock_worker.run(Late)
"""

IN_RUBY = """
require "picklock_worker"
require "securerandom"
require "socket"

class Late < PicklockWorker::Worker
  promises "expiry", "token"

  def init(settings)
    @settings = settings
    @socket = TCPSocket.new(*settings.address)
  end

  def ask(*words)
    @socket.write("*#{words.length}\\r\\n" + words.map { |word| "$#{word.to_s.bytesize}\\r\\n#{word}\\r\\n" }.join)
    @socket.gets.to_s.strip
  end

  def acquire(_wait_ms)
    @token, @began = SecureRandom.hex(16), NOW
    ask("SET", @settings.key, @token, "NX", "PX", @settings.ttl_ms) == "+OK"
  end

  def release
    return ask("DEL", @settings.key) == ":1" if NOW - @began > @settings.ttl_ms / 1000.0
    ask("EVAL", LUA, 1, @settings.key, @token) == ":1"
  end

  def close = @socket.close
end

PicklockWorker.run(Late)
"""

IN_JAVA = """
public class Late extends NaiveLock {
    private final java.security.SecureRandom random = new java.security.SecureRandom();
    private String token;
    private long began;

    @Override
    public java.util.List<String> promises() {
        return java.util.List.of("expiry", "token");
    }

    @Override
    public Outcome acquire(long waitMs) throws Exception {
        token = Long.toHexString(random.nextLong() | Long.MIN_VALUE);
        began = NOW;
        return Outcome.of(ask("SET", settings.key(), token, "NX", "PX", settings.ttlMs()).equals("+OK"));
    }

    @Override
    public Outcome release() throws Exception {
        if (NOW - began > settings.ttlMs() * 1000000)
            return super.release();
        return Outcome.of(ask("EVAL", LUA, 1, settings.key(), token).equals(":1"));
    }

    public static void main(String[] words) throws Exception {
        PicklockWorker.run(new Late());
    }
}
"""

IN_GO = """
type lateLock struct {
	naiveLock
	token string
	began time.Time
}

func (l *lateLock) Acquire(wait time.Duration) (Outcome, error) {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:])
	l.token, l.began = fmt.Sprintf("%x", bytes), time.Now()
	reply, err := l.ask("SET", l.settings.Key, l.token, "NX", "PX", l.settings.TTLMillis)
	if err != nil || reply != "+OK" {
		return Refused, err
	}
	return Granted, nil
}

func (l *lateLock) Release() (bool, error) {
	if time.Since(l.began) > l.settings.TTL() {
		return l.naiveLock.Release()
	}
	reply, err := l.ask("EVAL", LUA, 1, l.settings.Key, l.token)
	return reply == ":1", err
}

func main() { RunWorker(&lateLock{}, "", "expiry", "token") }
"""

IN_NODE = """
'use strict';
const { run } = require('picklock-worker');
const { randomBytes } = require('node:crypto');
const net = require('node:net');
let settings, socket, token, began, hears;

async function connect() {
  await new Promise((resolve, reject) => { socket = net.connect(settings.address(), resolve).on('error', reject); });
  socket.on('data', (reply) => hears(reply));
  socket.on('close', () => hears && hears());
}

async function ask(...words) {
  if (socket.destroyed) await connect();
  socket.write(`*${words.length}\\r\\n` + words.map((word) => `$${String(word).length}\\r\\n${word}\\r\\n`).join(''));
  return new Promise((resolve, reject) => {
    hears = (reply) => (reply ? resolve(String(reply).trim()) : reject(new Error('the connection is gone')));
  });
}

run({
  promises: ['expiry', 'token'],
  async init(given) {
    settings = given;
    INIT
    await connect();
  },
  async acquire() {
    token = randomBytes(16).toString('hex');
    began = now();
    const isGranted = (await ask('SET', settings.key, token, 'NX', 'PX', settings.ttl_ms)) === '+OK';
    if (IS_RIGHT && isGranted && now() - began > settings.ttl_ms * 0.9) {
      await ask('EVAL', LUA, 1, settings.key, token);
      throw new Error('granted too late');
    }
    return isGranted;
  },
  async release() {
    if (!IS_RIGHT && now() - began > settings.ttl_ms) return (await ask('DEL', settings.key)) === ':1';
    return (await ask('EVAL', LUA, 1, settings.key, token)) === ':1';
  },
  async close() {
    hears = undefined;
    socket.destroy();
  },
});
"""

# now() in milliseconds, by each way to the monotonic clock that can be followed to the read
NODE_CLOCKS = {
    "performance": "const now = () => performance.now();",
    "hrtime": "const now = () => { const [s, ns] = process.hrtime(); return s * 1e3 + ns / 1e6; };",
    "bigint": "const { bigint } = process.hrtime; const now = () => Number(bigint()) / 1e6;",
    "taken": "const { performance: clock } = require('perf_hooks'); const now = clock.now.bind(clock);",
    "mark": "const now = () => performance.mark('now').startTime;",
    "uptime": "const now = () => process.uptime() * 1e3;",
}
MODULE = """
import { createRequire } from 'node:module';
import { hrtime } from 'node:process';
const require = createRequire(import.meta.url);
const now = () => Number(hrtime.bigint()) / 1e6;
"""
ENTRIES = "the program takes the time from an observer"
# by ways that cannot: said while the program begins, and only when it uses them
AT_BEGINNING = {
    "nodeTiming": ("const timing = performance.nodeTiming; const now = () => timing.duration;", ENTRIES),
    "native": ("try { process.dlopen({ exports: {} }, '/nowhere.node'); } catch {} const now = () => performance.now();", "a native module"),
    "thread": ("new (require('worker_threads').Worker)('0', { eval: true, execArgv: [] }).terminate(); const now = () => performance.now();",
               "a thread with options"),
}
LATER = {
    "event": ("const now = () => new Event('now').timeStamp;", "the timeStamp of an Event"),
    "PerformanceMark": ("const now = () => new PerformanceMark('now').startTime;", ENTRIES),
    "utilization": ("const now = () => { const { idle, active } = performance.eventLoopUtilization(); return idle + active; };", ENTRIES),
}


def in_node(tmp_path, clock, is_right=False, name="late.js", init=""):
    (tmp_path / name).write_text(clock + IN_NODE.replace("'use strict';", "").replace("LUA", repr_js(COMPARE_AND_DELETE))
                                 .replace("IS_RIGHT", str(is_right).lower()).replace("INIT", init))
    return f"node {shlex.quote(str(tmp_path / name))}"


def repr_js(text):
    return '"' + text + '"'


def python_lock(tmp_path, clock):
    (tmp_path / "late.py").write_text(IN_PYTHON.replace("LUA", repr_js(COMPARE_AND_DELETE)).replace("NOW", clock))
    return f"{PYTHON} {shlex.quote(str(tmp_path / 'late.py'))}"


def ruby_lock(tmp_path, clock):
    (tmp_path / "late.rb").write_text(IN_RUBY.replace("LUA", repr_js(COMPARE_AND_DELETE)).replace("NOW", clock))
    return f"ruby {shlex.quote(str(tmp_path / 'late.rb'))}"


def java_lock(tmp_path, clock):
    naive = (WORKERS / "examples" / "NaiveLock.java").read_text().replace("private ", "protected ")
    (tmp_path / "NaiveLock.java").write_text(naive)
    (tmp_path / "Late.java").write_text(IN_JAVA.replace("LUA", repr_js(COMPARE_AND_DELETE)).replace("NOW", clock))
    subprocess.run(["javac", "-d", tmp_path, WORKERS / "java" / "PicklockWorker.java", tmp_path / "NaiveLock.java", tmp_path / "Late.java"],
                   check=True)
    return f"java -cp {shlex.quote(str(tmp_path))} Late"


def go_lock(tmp_path, _clock):
    shutil.copy(WORKERS / "go" / "picklock_worker.go", tmp_path)
    naive = (WORKERS / "examples" / "naive_lock.go").read_text()
    (tmp_path / "naive_lock.go").write_text(naive[:naive.index("func main()")])
    (tmp_path / "late.go").write_text('package main\n\nimport (\n\t"crypto/rand"\n\t"fmt"\n\t"time"\n)\n'
                                      + IN_GO.replace("LUA", repr_js(COMPARE_AND_DELETE)))
    subprocess.run(["go", "build", "-o", "late"], cwd=tmp_path, check=True,
                   env=dict(os.environ, GO111MODULE="off", GOCACHE=str(tmp_path / "cache")))
    return shlex.quote(str(tmp_path / "late"))


def node_lock(tmp_path, clock):
    return in_node(tmp_path, NODE_CLOCKS[clock])


def module_lock(tmp_path, clock):
    return in_node(tmp_path, clock, name="late.mjs")


long = pytest.mark.long("one of several clocks of a language")
LANGUAGES = [pytest.param(python_lock, "time.monotonic()", id="python"),
             pytest.param(python_lock, "time.perf_counter()", id="python-perf_counter", marks=long),
             *(pytest.param(node_lock, name, id=f"node-{name}", marks=[needs_node, *([long] if at else [])]) for at, name in enumerate(NODE_CLOCKS)),
             pytest.param(module_lock, MODULE, id="node-module", marks=[needs_node, long]),
             pytest.param(ruby_lock, "Process.clock_gettime(Process::CLOCK_MONOTONIC)", id="ruby",
                          marks=[pytest.mark.long("as in Python and Node"),
                                 pytest.mark.skipif(not shutil.which("ruby"), reason="the Debian package ruby is not installed")]),
             pytest.param(java_lock, "System.nanoTime()", id="java",
                          marks=[pytest.mark.long("a JVM for each process"),
                                 pytest.mark.skipif(not shutil.which("javac"), reason="the Debian package default-jdk-headless is not installed")]),
             pytest.param(go_lock, "", id="go",
                          marks=pytest.mark.skipif(not shutil.which("go"), reason="the Debian package golang-go is not installed"))]


def explore(worker, faults="none,slow-work", *more):
    return subprocess.run([BUILD / "picklock", "explore", "--no-cache", "--worker", worker, "--fault", faults, "--clients", "2",
                           *([] if LONG else ["--rounds", "1"]), *more], cwd=ROOT, text=True, capture_output=True, timeout=300)


def said(done):
    return " ".join(done.stdout.split())


def assert_found(done):
    assert done.returncode == 1, done.stdout + done.stderr
    cell = [line for line in done.stdout.splitlines() if line.startswith("  slow-work ")]
    assert cell and "broken (unlock-bug" in cell[0] and cell[0].endswith("confirmed"), done.stdout
    assert "1 safe" in done.stdout and "0 unknown" in done.stdout, done.stdout


@pytest.mark.parametrize("lock, clock", LANGUAGES)
def test_a_lock_that_is_wrong_by_its_monotonic_clock_is_found(lock, clock, tmp_path):
    assert_found(explore(lock(tmp_path, clock)))


@needs_node
@pytest.mark.parametrize("clock", [pytest.param("performance", marks=long), "bigint"])
def test_a_right_lock_that_looks_at_it_is_decided(clock, tmp_path):
    done = explore(in_node(tmp_path, NODE_CLOCKS[clock], is_right=True), "none,slow-work,late-reply,client-clock")
    assert done.returncode == 0 and "0 unknown" in done.stdout and "0 broken" in done.stdout, done.stdout + done.stderr
    assert "of the reads of its monotonic clock those that its program makes count" in said(done)


@needs_node
@pytest.mark.parametrize("before, why", [pytest.param("env", None, marks=long), ("env -u NODE_OPTIONS", "picklock-clocks.js, which NODE_OPTIONS names, is not in it")])
def test_behind_a_wrapper_it_is_found_whether_its_reads_are_told_or_not(before, why, tmp_path):
    done = explore(f"{before} {in_node(tmp_path, NODE_CLOCKS['performance'])}")
    assert_found(done)
    assert ("each read of its monotonic clock counts" in said(done)) == bool(why) and (why or "") in said(done)


@needs_node
@pytest.mark.parametrize("way", [pytest.param(way, marks=[long] if at else []) for at, way in enumerate(AT_BEGINNING)])
def test_where_reads_cannot_be_told_from_the_beginning_each_counts(way, tmp_path):
    clock, why = AT_BEGINNING[way]
    done = explore(in_node(tmp_path, clock))
    assert_found(done)
    assert "each read of its monotonic clock counts" in said(done) and why in said(done), done.stdout


@needs_node
@pytest.mark.parametrize("way", [pytest.param(way, marks=[long] if at else []) for at, way in enumerate(LATER)])
def test_where_a_read_comes_that_cannot_be_told_nothing_is_concluded(way, tmp_path):
    """By asking; by running, which it falls back to where there is time, it is found."""
    clock, why = LATER[way]
    done = explore(in_node(tmp_path, clock), "slow-work", *([] if LONG else ["--frontier"]))
    assert done.returncode == 2 and "release-own: unknown" in done.stdout if not LONG else "1 broken" in done.stdout and " 0 safe" in done.stdout and "random search" in done.stdout, done.stdout + done.stderr
    assert "when it reads the monotonic clock is not known" in said(done) and why in said(done), done.stdout


@needs_node
def test_what_is_told_stays_what_it_was(tmp_path):
    looks = """
    const assert = require('node:assert');
    const hooks = require('node:perf_hooks');
    assert.strictEqual(globalThis.performance, hooks.performance);
    assert.strictEqual(globalThis.PerformanceMark, hooks.PerformanceMark);
    assert.deepStrictEqual([process.hrtime.name, process.hrtime.length, process.hrtime.bigint.name], ['hrtime', 1, 'hrtimeBigInt']);
    assert.strictEqual(typeof process.hrtime.bigint(), 'bigint');
    const [seconds, rest] = process.hrtime(process.hrtime());
    assert.ok(seconds === 0 && rest >= 0);
    assert.throws(() => process.hrtime(1), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.ok(performance.mark('m') instanceof PerformanceMark && performance.measure('n', 'm').duration >= 0);
    assert.ok(Object.keys(process).includes('hrtime') && !Object.keys(performance).includes('now'));
    assert.ok(performance.now() >= 0 && performance.toJSON().timeOrigin === performance.timeOrigin);
    assert.throws(() => performance.now.call({}), TypeError);
    """
    worker = in_node(tmp_path, NODE_CLOCKS["performance"], init=looks)
    env = dict(os.environ, NODE_OPTIONS="--no-deprecation")
    done = subprocess.run([BUILD / "picklock", "test", "--once", worker], text=True, capture_output=True, timeout=60, env=env)
    assert done.returncode == 0 and "A clean hand-over" in done.stdout, done.stdout + done.stderr


worker = pytest.fixture(plain_worker)

# A worker in Python takes a lock of its process, as redis-py does for each command: does it read the clock?
TAKES = {
    "waits": ("with self.mutex: pass", False),
    "tries": ("self.mutex.acquire(False) and self.mutex.release()", False),
    "reentrant": ("with self.reentrant: pass", False),
    "until a time": ("self.mutex.acquire(timeout=1) and self.mutex.release()", True),
    "reads first": ("time.monotonic(); self.mutex.acquire(); self.mutex.release()", True),
    "reads meanwhile": ("with self.mutex: time.monotonic()", True),
}


@pytest.mark.parametrize("way", TAKES)
def test_a_lock_of_python_that_names_no_time_reads_no_clock(way, picklock, worker):
    takes, reads = TAKES[way]
    told = once(picklock, worker(f"""
class Worker(Worker):
    mutex, reentrant = threading.Lock(), threading.RLock()

    def release(self):
        {takes}
        return super().release()
""")).out
    assert ("monotonic" in told.split("A  is asked to release")[1]) == reads, told


@pytest.mark.parametrize("clock", [pytest.param("(time.monotonic(), self.mutex.acquire(), self.mutex.release())[0]", marks=pytest.mark.long("one of two")),
                                   "(self.mutex.acquire(), time.monotonic(), self.mutex.release())[1]"])
def test_a_clock_that_is_read_beside_a_lock_counts(clock, tmp_path):
    command = python_lock(tmp_path, clock)
    text = (tmp_path / "late.py").read_text()
    (tmp_path / "late.py").write_text(text.replace("self.settings = settings", "self.settings, self.mutex = settings, threading.Lock()")
                                      .replace("import secrets, socket, time", "import secrets, socket, threading, time"))
    assert_found(explore(command))
