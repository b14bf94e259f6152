"""Workers in more languages, and over libraries as they are: npm's, Debian's. A clean hand-over each, the verdicts of the scheme
that does the same, tokens that repeat with the seed. Python and Node.js are never left out in CI (`harness/setup.sh workers`)."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BUILD, LONG, ROOT, verdicts
from workers import EXAMPLES, PYTHON, example, needs_node, needs_redis_py, once

NPM = BUILD / "workers" / "node_modules"
NODE_PATH = {"NODE_PATH": str(NPM)}
needs_npm = pytest.mark.skipif(not shutil.which("node") or not NPM.exists(),
                               reason="the libraries of npm are not installed: harness/setup.sh workers")
needs_ruby = pytest.mark.skipif(not shutil.which("ruby") or subprocess.run(["ruby", "-e", "require 'redis'"], capture_output=True).returncode != 0,
                                reason="the Debian packages ruby and ruby-redis are not installed: harness/setup.sh workers")
needs_java = pytest.mark.skipif(not shutil.which("javac"), reason="the Debian package default-jdk-headless is not installed")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="the Debian package golang-go is not installed")
REDIGO = pathlib.Path("/usr/share/gocode/src/github.com/gomodule/redigo/redis")
needs_redigo = pytest.mark.skipif(not shutil.which("go") or not REDIGO.exists(),
                                  reason="the Debian packages golang-go and golang-github-gomodule-redigo-dev are not installed")


REDLOCK, WARLOCK = example("node", "redlock_npm.js"), example("node", "warlock_npm.js")
RUBY = example("ruby", "ruby_redis_lock.rb")


def assert_same_verdicts(picklock, tmp_path, worker, scheme, scenarios, env=None):
    """What the scheme is found to do in a scenario, the worker is found to do, with the same causes."""
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, "--scheme", scheme, "--fail-on", "never", "--json", out,
                   *(ROOT / "scenarios" / f"{name}.yaml" for name in scenarios), env=env)
    assert ran.status == 0, ran
    rows = {}
    for row in json.loads(out.read_text())["results"]:
        rows.setdefault(row["scenario"], []).append(row)
    assert sorted(rows) == sorted(scenarios)
    for name, (mine, theirs) in rows.items():
        assert mine["verdict"] != "not_applicable" and theirs["verdict"] != "not_applicable", name
        assert verdicts(mine) == verdicts(theirs), name
    return {name: theirs["verdict"] for name, (_, theirs) in rows.items()}


FATES = {"none": "safe", **({"lose-reply": "leftover only"} if LONG else {}), "late-request": "broken (late-grant, 6 steps)"}


def assert_decided(picklock, worker, env=None):
    """Timers that run behind an attempt, connections that it ends itself or minds the end of: all that is asked once, and each finding replayed."""
    rounds = "2" if LONG else "1"
    ran = picklock("explore", "--worker", worker, "--clients", "2", "--rounds", rounds, "--fault", ",".join(FATES), env=env)
    assert ran.status == 1, ran
    for fault, fate in FATES.items():
        (line,) = [line for line in ran.out.splitlines() if line.startswith(f"  {fault} ")]
        assert fate in line and (fate == "safe" or line.endswith("confirmed")), ran
    assert "0 unknown" in ran.out, ran


# --- as a newcomer copies them ---


@pytest.mark.parametrize("program, block", [pytest.param(PYTHON, "python", marks=needs_redis_py), pytest.param("node", "js", marks=needs_npm)])
def test_the_workers_of_the_documents_hand_over(picklock, tmp_path, program, block):
    [text] = re.findall(rf"^```{block}\n(.*?)```", (ROOT / "sim" / "docs" / "WORKERS.md").read_text(), re.M | re.S)
    path = tmp_path / "my_lock"
    path.write_text(text)
    ran = once(picklock, f"{program} {shlex.quote(str(path))}", env=NODE_PATH)
    assert ran.status == 0 and "A clean hand-over: as expected." in ran.out, ran


# --- npm ---


@needs_npm
@pytest.mark.long("npm redlock is decided in test_worker_asking.py")
def test_warlock_is_decided_by_asking(picklock):
    assert_decided(picklock, WARLOCK, NODE_PATH)


@needs_npm
def test_npm_redlock_hands_over(picklock):
    """It asks for its script by name, hears NOSCRIPT, sends the text; a loser cleans up behind itself."""
    ran = once(picklock, REDLOCK, env=NODE_PATH)
    assert ran.status == 0, ran
    for words in ("npm redlock 4.2.0: two workers", "they promise: expiry, extends, token, quorum",
                  "A  says INFO to server 1 (a handshake, not held)", "A's 1st EVALSHA to server 1 is executed: error: NOSCRIPT",
                  "A's 1st EVAL to server 1 is executed: 1", "B's 1st EVAL to server 1 is executed: 0", "A clean hand-over: as expected."):
        assert words in ran.out, ran


@needs_npm
def test_processes_of_npm_redlock_are_kept(picklock, tmp_path):
    """ioredis connects anew when its connection ends, and node wakes for timers that it took back: neither is met in the next run."""
    (tmp_path / "lock.js").write_text(f"require('fs').appendFileSync({str(tmp_path / 'starts')!r}, 'x');\n"
                                      f"require({str(EXAMPLES / 'redlock_npm.js')!r});\n")
    ran = picklock("explore", "--worker", f"node {shlex.quote(str(tmp_path / 'lock.js'))}", "--search", "random", "--runs", 6,
                   "--fault", "none", env=NODE_PATH)
    assert ran.status == 2 and len((tmp_path / "starts").read_text()) == 2, ran


@needs_npm
def test_npm_redlock_asks_a_quorum(picklock):
    ran = once(picklock, REDLOCK, "--servers", 3, env=NODE_PATH)
    assert ran.status == 0, ran
    assert "A's 1st EVAL to server 3 is executed: 1" in ran.out, ran


@needs_npm
def test_npm_warlock_hands_over(picklock):
    ran = once(picklock, WARLOCK, env=NODE_PATH)
    assert ran.status == 0, ran
    for words in ("npm node-redis-warlock 1.0.2: two workers", "A  sends to server 1: set lock:lock",
                  "A's 1st SCRIPT to server 1 is executed: 78d3bb55c589f1b2edf66f3527f5017f8dfcd6bb",
                  "B's 1st SET to server 1 is executed: nil", "A clean hand-over: as expected."):
        assert words in ran.out, ran


@needs_npm
@pytest.mark.parametrize("worker", [REDLOCK, pytest.param(WARLOCK, marks=pytest.mark.long("one of two"))])
def test_tokens_of_node_repeat_with_the_seed(picklock, worker):
    """crypto.randomBytes, UUIDs, and every read of a clock; another seed has other tokens."""
    first, second, other = (once(picklock, worker, "--seed", seed, env=NODE_PATH) for seed in (5, 5, 6))
    assert first.status == 0 and first.out == second.out, (first, second)
    assert first.out != other.out


@needs_npm
def test_npm_redlock_is_what_it_looks_like(picklock, tmp_path):
    """It asks three servers, and has the verdicts of `redlock`."""
    told = assert_same_verdicts(picklock, tmp_path, REDLOCK, "redlock",
                                ["late-grant", "restart-empty-quorum", *(["restart-empty", "expired-lease-double-delete"] if LONG else [])], env=NODE_PATH)
    assert {name for name, verdict in told.items() if verdict == "violated"} == {"restart-empty-quorum", "expired-lease-double-delete"} & set(told)
    assert {name for name, verdict in told.items() if verdict == "holds"} == {"late-grant", "restart-empty"} & set(told)


@needs_npm
@pytest.mark.long("so is npm redlock above")
def test_npm_warlock_is_what_it_looks_like(picklock, tmp_path):
    """It locks a key of another name, sends its commands in small letters, and has the verdicts of `set-nx-px-cad`."""
    told = assert_same_verdicts(picklock, tmp_path, WARLOCK, "set-nx-px-cad",
                                ["restart-empty", "script-flush", *(["expired-lease-double-delete", "duplicated-set"] if LONG else [])], env=NODE_PATH)
    assert told["restart-empty"] == "violated" and told["script-flush"] == "holds"


# --- Node.js ---

ESM_LOCK = """
import { createRequire } from 'node:module';
import net from 'node:net';
const { run } = createRequire(import.meta.url)('picklock-worker');
console.log('a greeting');                              // before anything is run
await new Promise((done) => setTimeout(done, 5));       // a library that begins slowly
let socket, settings;
const ask = (line) => new Promise((done) => { socket.once('data', (data) => done(String(data))); socket.write(line); });
run({
  async init(given) {
    settings = given;
    socket = net.connect(settings.address());
    console.log(`jitter ${Math.random()} ${crypto.randomUUID()}`);
  },
  acquire: async () => (await ask(`SET ${settings.key} x NX PX ${settings.ttl_ms}\\r\\n`)) === '+OK\\r\\n',
  release: async () => (await ask(`DEL ${settings.key}\\r\\n`)) === ':1\\r\\n',
});
"""


@pytest.fixture
def esm(tmp_path):
    path = tmp_path / "lock.mjs"
    path.write_text(ESM_LOCK)
    return shlex.quote(str(path))


@needs_node
def test_an_es_module_and_its_random_numbers(picklock, esm):
    first, second, other = (once(picklock, f"node {esm}", "--seed", seed) for seed in (1, 1, 2))
    assert first.status == 0 and "A  prints: jitter 0." in first.out and "A  prints: a greeting" in first.out, first
    told = [[line for line in ran.out.splitlines() if "a greeting" not in line] for ran in (first, second, other)]  # whose comes first is chance
    assert told[0] == told[1] and told[0] != told[2]
    assert "they are not steady" not in first.out


# On a thread of its own it would be compiled behind the first round of the event loop.
COMPILES = """
const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
await new Promise((done) => {
  setImmediate(() => done(console.log('the loop')));
  WebAssembly.compile(empty).then((it) => console.log(`compiled ${it instanceof WebAssembly.Module}`));
});
const { value } = Object.getOwnPropertyDescriptor(globalThis, 'WebAssembly');
console.log(`as it was ${value === WebAssembly}`);
"""


@needs_node
def test_web_assembly_is_compiled_at_once(picklock, tmp_path):
    path = tmp_path / "lock.mjs"
    path.write_text(ESM_LOCK.replace("let socket, settings;", COMPILES + "let socket, settings;"))
    ran = once(picklock, f"node {shlex.quote(str(path))}")
    told = [line.split("prints: ")[1] for line in ran.out.splitlines() if "A  prints: " in line]
    assert ran.status == 0 and told[1:4] == ["compiled true", "the loop", "as it was true"], ran


@needs_node
def test_a_node_that_is_not_named_itself_is_told(picklock, esm):
    ran = once(picklock, f"env node {esm}")
    assert ran.status == 0 and "they are not steady: node was not started directly" in ran.out, ran
    mended = once(picklock, f"env node --single-threaded-gc --no-concurrent-recompilation --no-memory-reducer --random-seed=3 {esm}")
    assert mended.status == 0 and "they are not steady" not in mended.out, mended


# --- Ruby ---


@needs_ruby
@pytest.mark.long("5 s of CPU: in Python and Node it is done in CI")
def test_a_lock_in_ruby_is_decided_by_asking(picklock):
    assert_decided(picklock, RUBY)


@needs_ruby
def test_ruby_hands_over_and_repeats_with_the_seed(picklock):
    first, second, other = (once(picklock, RUBY, "--seed", seed) for seed in (5, 5, 6))
    assert first.status == 0, first
    for words in ("ruby-redis", "they promise: expiry, extends, token", "B's 1st SET to server 1 is executed: nil",
                  "A's 2nd EVAL to server 1 is executed: 1", "A clean hand-over: as expected."):
        assert words in first.out, first
    assert first.out == second.out and first.out != other.out


@needs_ruby
def test_a_lock_in_ruby_is_what_it_looks_like(picklock, tmp_path):
    told = assert_same_verdicts(picklock, tmp_path, RUBY, "set-nx-px-cad",
                                ["late-grant", "duplicated-delete", *(["expired-lease-double-delete", "restart-empty"] if LONG else [])])
    assert told["late-grant"] == "violated" and told["duplicated-delete"] == "holds"


RUBY_WAITS = """
require "picklock_worker"
puts "a greeting" # before anything is run
require "socket"
require "timeout"

class Worker < PicklockWorker::Worker
  def init(settings)
    @settings = settings
    @socket = TCPSocket.new(*settings.address)
  end

  def ask(line)
    @socket.write(line + "\\r\\n")
    @socket.gets
  end

  def acquire(_wait_ms)
    begin
      Timeout.timeout(0.3) { sleep }
    rescue Timeout::Error
      puts "timed out"
    end
    Thread.new { sleep 0.2 }.join
    ask("SET #{@settings.key} x NX PX #{@settings.ttl_ms}") == "+OK\\r\\n"
  end

  def release
    ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.05
    sleep 0.05
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ending
    raise IOError, "the last words" if @settings.name == "B"

    ask("DEL #{@settings.key}") == ":1\\r\\n"
  end
end

PicklockWorker.run(Worker)
"""


@needs_ruby
def test_ruby_waits_in_virtual_time(picklock, tmp_path):
    """Its sleep ends when the clock is beyond the end, and spins at the very instant: the clock creeps. An exception is an error."""
    path = tmp_path / "waits.rb"
    path.write_text(RUBY_WAITS)
    ran = once(picklock, f"ruby {shlex.quote(str(path))}")
    assert ran.status == 1 and "worker B was asked to release, and answered with an error: IOError: the last words" in ran.err, ran
    for words in ("  A  prints: a greeting", "  300.0  A  prints: timed out", "  500.0     A's 1st SET to server 1 is executed: OK",
                  " 1050.0     A's 1st DEL to server 1 is executed: 1"):
        assert words in ran.out, ran


# --- Java ---


def compiled(folder, name):
    """The command of an example, compiled with the module."""
    sources = [ROOT / "sim" / "worker" / "java" / "PicklockWorker.java", EXAMPLES / f"{name}.java"]
    done = subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder / "classes", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return f"java -cp {shlex.quote(str(folder / 'classes'))} {name}"


@pytest.fixture
def java(tmp_path):
    return compiled(tmp_path, "SmallLock")


@pytest.fixture
def naive_java(tmp_path):
    return compiled(tmp_path, "NaiveLock")


@needs_java
def test_java_hands_over_and_repeats_with_the_seed(picklock, java):
    """/dev/urandom is the seed's, and the flags that keep the JVM from ticking are set."""
    first, second, other = (once(picklock, java, "--seed", seed) for seed in (5, 5, 6))
    assert first.status == 0, first
    for words in ("a small lock in Java: two workers", "they promise: expiry, extends, token", "B's 1st SET to server 1 is executed: nil",
                  "A's 2nd EVAL to server 1 is executed: 1", "A clean hand-over: as expected."):
        assert words in first.out, first
    assert "time passes" not in first.out and "they are not steady" not in first.out
    tokens = [[line for line in ran.out.splitlines() if "sends to server" in line] for ran in (first, second, other)]
    assert tokens[0] == tokens[1] and tokens[0] != tokens[2]
    wrapped = once(picklock, f"env {java}")
    assert "they are not steady: java was not started directly" in wrapped.out, wrapped


@needs_java
@pytest.mark.long("7 s of CPU: above Java hands over, and Ruby is what it looks like")
def test_a_lock_in_java_is_what_it_looks_like(picklock, java, tmp_path):
    told = assert_same_verdicts(picklock, tmp_path, java, "set-nx-px-cad",
                                ["late-grant", "duplicated-delete", *(["expired-lease-double-delete", "restart-empty"] if LONG else [])])
    assert told["late-grant"] == "violated" and told["duplicated-delete"] == "holds"


# --- Go ---


def in_go(test):
    """In one process of the suite: what is compiled for one test serves the others."""
    return pytest.mark.xdist_group("go")(needs_go(test))


# Sleeps of 30 s and of goroutines, a ticker and a time-out in one select, a mutex, a blocking read in a thread of its own that only the
# runtime's sysmon makes room beside; tokens, and the order of a map.
GO_WAITS = """
package main

import (
	"crypto/rand"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"syscall"
	"time"
)

type waits struct {
	naiveLock
	lock sync.Mutex
}

func (l *waits) Acquire(wait time.Duration) (Outcome, error) {
	begin, ticks, order := time.Now(), 0, ""
	time.Sleep(30 * time.Second)
	ticker, late := time.NewTicker(100*time.Millisecond), time.After(950*time.Millisecond)
	defer ticker.Stop()
	for waiting := true; waiting; {
		select {
		case <-ticker.C:
			ticks++
		case <-late:
			waiting = false
		}
	}
	var ends [2]int
	_ = syscall.Pipe(ends[:])
	l.lock.Lock()
	go func() {
		time.Sleep(50 * time.Millisecond)
		l.lock.Unlock()
		_, _ = syscall.Write(ends[1], []byte{1})
	}()
	_, _ = syscall.Read(ends[0], make([]byte, 1))
	l.lock.Lock()
	l.lock.Unlock()
	var token [4]byte
	_, _ = crypto.Read(token[:])
	for name := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4} {
		order += name
	}
	fmt.Println("waited", time.Since(begin), "ticks", ticks)
	fmt.Fprintf(os.Stdout, "token %x order %s dice %d\\n", token, order, rand.Intn(1000))
	return l.naiveLock.Acquire(wait)
}

func main() { RunWorker(&waits{}, "waits", "expiry") }
""".replace('"crypto/rand"', 'crypto "crypto/rand"')


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """Builds the module with the sources: the command of the program."""
    folder = tmp_path_factory.mktemp("go")

    def build(name, *sources, cgo="0"):
        inside = folder / name
        inside.mkdir()
        (inside / "picklock_worker.go").write_text((ROOT / "sim" / "worker" / "go" / "picklock_worker.go").read_text())
        for number, text in enumerate(sources):
            (inside / f"source{number}.go").write_text(text)
        done = subprocess.run(["go", "build", "-o", "lock"], cwd=inside, capture_output=True, text=True,
                              env={**os.environ, "GOCACHE": str(folder / "cache"), "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": cgo,
                                   "GOPATH": "/usr/share/gocode"})
        assert done.returncode == 0, done.stderr
        return shlex.quote(str(inside / "lock"))

    return build


@pytest.fixture(scope="module")
def naive_go(go):
    return go("naive", (EXAMPLES / "naive_lock.go").read_text())


@in_go
def test_go_waits_in_virtual_time_and_repeats_with_the_seed(picklock, go):
    naive = (EXAMPLES / "naive_lock.go").read_text()
    waits = go("waits", GO_WAITS, naive[:naive.index("func main()")])
    first, second, other = (once(picklock, waits, "--lease", "100s", "--seed", seed) for seed in (5, 5, 6))
    assert first.status == 0, first
    for words in ("waits: two workers", "A  prints: waited 31s ticks 9", "A  prints: token ",
                  "31000.0     A's 1st SET to server 1 is executed: OK", "62000.0     B's 1st SET to server 1 is executed: nil",
                  "A clean hand-over: as expected."):
        assert words in first.out, first
    assert first.out == second.out and first.out != other.out


@in_go
def test_a_naive_lock_in_go_is_what_it_looks_like(picklock, naive_go, tmp_path):
    told = assert_same_verdicts(picklock, tmp_path, naive_go, "set-nx-ex-del",
                                ["expired-lease-double-delete", "restart-empty", "duplicated-delete"])
    assert told["expired-lease-double-delete"] == told["restart-empty"] == "violated"


@pytest.fixture(scope="module")
def redigo(go):
    return go("redigo", (EXAMPLES / "redigo_lock.go").read_text())


@needs_redigo
@in_go
def test_redigo_hands_over_and_is_what_it_looks_like(picklock, redigo, tmp_path):
    first, second = (once(picklock, redigo, "--seed", 5) for _ in range(2))
    assert first.status == 0 and first.out == second.out, (first, second)
    assert "they promise: expiry, extends, token" in first.out and "A's 1st EVALSHA to server 1 is executed: error: NOSCRIPT" in first.out
    told = assert_same_verdicts(picklock, tmp_path, redigo, "set-nx-px-cad",
                                ["expired-lease-double-delete", "restart-empty", "late-grant", "duplicated-delete"])
    assert told["restart-empty"] == told["late-grant"] == "violated" and told["duplicated-delete"] == "holds"


# --- a naive lock in each language ---

# Python's is found so in test_worker_verdict.py, and a lock of Ruby is decided above.
other = pytest.mark.long("one of several languages")
NAIVE = {
    "python": (example("/usr/bin/python3", "naive_lock.py"), other),
    "node": (example("node", "naive_lock.js"), needs_node),
    "ruby": (example("ruby", "naive_lock.rb"), (needs_ruby, other)),
    "naive_java": (None, (needs_java, other)),
    "naive_go": (None, (needs_go, other, pytest.mark.xdist_group("go"))),
}
in_each_language = pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, (_, marks) in NAIVE.items()])


def worst(results):
    """{property: (cause, steps)} of what is violated."""
    return {one["property"]: (one["cause"], one["witness_steps"]) for row in results["results"] for one in row["properties"]
            if one["verdict"] == "violated"}


@in_each_language
def test_a_naive_lock_is_found_by_asking_once(picklock, request, tmp_path, name):
    """One gets it, stands still for two ticks, the other gets it, the first deletes it: nine steps and the fault. Nothing without one."""
    worker, out = NAIVE[name][0] or request.getfixturevalue(name), tmp_path / "results.json"
    ran = picklock("explore", "--worker", worker, "--clients", 2, "--rounds", 1, "--fault", "none,slow-work", "--json", out)
    assert ran.status == 1 and "none       safe" in ran.out and "confirmed" in ran.out, ran
    assert worst(json.loads(out.read_text())) == {"mutual-exclusion": ("overrun", 9), "release-own": ("unlock-bug", 10)}, ran


# --- all of them, at length: `make check-long` ---

CORRECT = {
    "redis-py": (example("/usr/bin/python3", "redis_py_lock.py"), ()),
    "npm redlock": (REDLOCK, needs_npm),
    "npm warlock": (WARLOCK, needs_npm),
    "node": (example("node", "small_lock.js"), needs_node),
    "ruby": (RUBY, needs_ruby),
    "java": (None, needs_java),
    "redigo": (None, needs_redigo),
}
# A client that stands still may run out of its own patience, and leave what it asked for. One that waits for a late extend holds on.
MAY = {"none": set(), "crash": set(), "slow-work": {"overrun"}, "stall": {"overrun", "late-grant", "leftover"},
       "late-request": {"overrun", "late-grant", "leftover"}, "late-reply": {"overrun", "late-grant", "leftover"},
       "lose-request": {"leftover"}, "lose-reply": {"leftover"}}

# npm redlock 4: an extend that hears no answer releases the lock, on which its holder still counts.
ITS_OWN = {"npm redlock": {fault: {"short-ttl"} for fault in ("late-reply", "lose-reply", "late-request", "lose-request")}}


@pytest.mark.long("minutes a lock")
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, (_, marks) in CORRECT.items()])
def test_correct_locks_are_blamed_for_nothing_but_what_leases_are(request, tmp_path, name):
    """1000 schedules each: nothing but overrun, late grant, and a key left behind an error."""
    worker = CORRECT[name][0] or request.getfixturevalue(name)
    out = tmp_path / "results.json"
    done = subprocess.run([BUILD / "picklock", "explore", "--worker", worker, "--search", "random", "--runs", "125", "--fault", ",".join(MAY),
                           "--json", out], cwd=ROOT, text=True, capture_output=True, env={**os.environ, **NODE_PATH})
    assert done.returncode in (1, 2), done.stdout + done.stderr
    rows = {row["fault"]: row for row in json.loads(out.read_text())["results"]}
    assert set(rows) == set(MAY) and sum(row["search"]["runs"] for row in rows.values()) == 1000, done.stdout
    for fault, row in rows.items():
        causes = {one["cause"] for one in row["properties"] if one["verdict"] == "violated"}
        assert causes <= MAY[fault] | ITS_OWN.get(name, {}).get(fault, set()), (fault, done.stdout)
        assert not any("twice" in (one.get("why") or "") for one in row["properties"]), (fault, done.stdout)


@pytest.mark.long("minutes in all")
@in_each_language
def test_a_naive_lock_is_found_by_running_it(picklock, request, tmp_path, name):
    """As short as asking proves that it can be."""
    worker, out = NAIVE[name][0] or request.getfixturevalue(name), tmp_path / "results.json"
    ran = picklock("explore", "--worker", worker, "--search", "random", "--runs", 200, "--rounds", 1, "--fault", "slow-work", "--json", out)
    assert ran.status == 1 and worst(json.loads(out.read_text()))["release-own"] == ("unlock-bug", 10), ran
