"""`picklock watch`: test runs of somebody's own, with Debian's redis-py, through the proxy."""

import json
import re
import shlex
import signal
import subprocess
import sys

import pytest
import redis
from conftest import BUILD, PATIENCE_S, PICKLOCK, run, server

NPM = BUILD / "workers" / "node_modules"
needs_npm = pytest.mark.skipif(not (NPM / "redlock").is_dir(), reason="npm's libraries are missing: harness/setup.sh workers")

PRELUDE = """
import os, redis, sys, threading, time
def client(**more): return redis.Redis.from_url(os.environ["REDIS_URL"], **more)
A, B, C = "token-of-client-A", "token-of-client-B", "token-of-client-C"
CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
"""


def watch(tmp_path, program, *options):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + program)
    return run("watch", "--key", "lock:*", "--out", tmp_path / "runs", *options, "--", sys.executable, script)


def json_of(tmp_path, program, *options):
    result = watch(tmp_path, program, "--json", tmp_path / "results.json", *options)
    return result, json.loads((tmp_path / "results.json").read_text())


def violated(results):
    row, = results["results"]
    return {found["property"]: found for found in row["properties"] if found["verdict"] == "violated"}


def check_same(tmp_path, results):
    """The history that was written comes to the same verdict."""
    checked = run("check", tmp_path / "runs" / "latest" / "histories" / "watch.jsonl", "--json", "-").json
    assert violated(checked).keys() == violated(results).keys()


RIGHT = """
shared = client()
def work(number):
    for i in range(4):
        with shared.lock(f"lock:{number % 2}", timeout=20, sleep=0.002) as lock:
            with shared.pipeline() as pipe:
                pipe.multi(); pipe.incr("sum"); pipe.get("lock:other"); pipe.execute()
            lock.extend(5)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
one = client()
with one.pipeline() as pipe:
    pipe.set("lock:pipe", A, nx=True, px=20000); pipe.eval(CAD, 1, "lock:pipe", A)
    assert pipe.execute() == [True, 1]
one.set("lock:data", "is no lock"); one.delete("lock:data")
assert one.set("lock:short", A, nx=True, px=30)
while one.exists("lock:short"): time.sleep(0.005)
assert one.set("lock:short", B, nx=True, px=20000) and one.eval(CAD, 1, "lock:short", B) == 1
assert one.set("lock:plain", "1", nx=True, px=20000) and one.delete("lock:plain") == 1
assert int(one.get("sum")) == 16
"""


def test_a_suite_that_uses_locks_rightly_is_silent(tmp_path):
    result, results = json_of(tmp_path, RIGHT)
    assert result.status == 0, result.out + result.err
    assert not violated(results)
    row, = results["results"]
    held = {found["property"]: found["verdict"] for found in row["properties"]}
    assert held["lease-exclusion"] == held["release-own"] == held["extend-own"] == held["always-expires"] == "holds"
    # 4 threads, 4 times each; two that follow each other, of which one expires; one that names no token. What one
    # transaction takes and gives back has never been there.
    assert any("19 grants" in note and "18 releases" in note for note in results["notes"]), results["notes"]
    check_same(tmp_path, results)


MANY = """
def work(number):
    own = client()
    for i in range(%d):
        token = f"token-of-{number}-{i}"
        with own.pipeline(transaction=False) as pipe:
            for lock in (1, 2): pipe.set(f"lock:{lock}", token, nx=True, px=20000)
            got = pipe.execute()
        for lock in (1, 2):
            if got[lock - 1]: assert own.eval(CAD, 1, f"lock:{lock}", token) == 1
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_many_at_once_are_judged_in_the_order_of_execution(tmp_path):
    """SET NX and the usual script of a release need not stand in line; the server's log of reads tells who was first."""
    result, results = json_of(tmp_path, MANY % 40)
    assert result.status == 0 and not violated(results), result.out + result.err
    order, = [note for note in results["notes"] if note.startswith("Order:")]
    assert "in which the server was seen to read" in order, order
    note, = [note for note in results["notes"] if note.startswith("Watched:")]
    grants, releases = (int(re.search(rf"(\d+) {word}", note)[1]) for word in ("grants", "releases"))
    assert grants == releases > 2 and f"Order: {640 + releases} of them" in order, results["notes"]
    check_same(tmp_path, results)


def test_many_at_once_and_one_that_is_wrong(tmp_path):
    result, results = json_of(tmp_path, MANY % 10 + """
assert client().set("lock:1", A, nx=True, px=20000)
client().delete("lock:1")
assert client().eval(CAD, 1, "lock:1", A) == 0
""")
    assert result.status == 1 and "unknown who sent DEL lock:1" in "\n".join(violated(results)["release-own"]["witness"])


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
    assert result.status == 0 and not violated(results), result.out + result.err


def test_leases_that_end_all_the_time_are_no_false_alarm(tmp_path):
    """A millisecond counts here: the lease begins when the server reads the request, not when its answer comes."""
    result, results = json_of(tmp_path, """
import random
def work(number):
    chance, own = random.Random(number), client()
    for i in range(60):
        lock, token = f"lock:{chance.randrange(3)}", f"token-of-{number}-{i}"
        if own.set(lock, token, nx=True, px=chance.choice([1, 2, 5, 20])):
            if chance.random() < 0.3: time.sleep(chance.random() / 100)
            if chance.random() < 0.2: own.connection_pool.disconnect()
            own.eval(CAD, 1, lock, token)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert result.status != 1, result.out + result.err
    # Whoever sleeps past its lease overruns it; nobody did anything wrong.
    assert {found["cause"] for found in violated(results).values()} <= {"overrun"}, result.out
    assert any(re.search(r"\b[1-9]\d+ grants", note) for note in results["notes"]), results["notes"]


def test_reports_say_how_to_have_it_again(tmp_path):
    json_of(tmp_path, "assert client().setnx('lock:1', A)")
    folder = tmp_path / "runs" / "latest"
    assert "picklock watch --key 'lock:*'" in (folder / "report.md").read_text()
    for name in ("index.html", "junit.xml"):
        assert "no time to live" in (folder / name).read_text()


def test_the_status_is_that_of_the_command(tmp_path):
    assert watch(tmp_path, RIGHT + "sys.exit(7)").status == 7


@pytest.mark.parametrize(("found", "words", "program"), [
    ("release-own", "unknown who sent DEL lock:1", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.delete("lock:1")
"""),
    ("release-own", "A sent EVAL", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.eval("return redis.call('del', KEYS[1])", 1, "lock:1", A)
"""),
    ("release-own", "unknown who sent DEL lock:1", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000)
b.delete("lock:1")
assert a.eval(CAD, 1, "lock:1", A) == 0
"""),
    ("extend-own", "A sent EVAL", """
a, b = client(), client()
assert b.set("lock:1", B, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert a.set("lock:1", A, nx=True, px=20000)
b.eval("return redis.call('pexpire', KEYS[1], 50000)", 1, "lock:1", B)
"""),
    ("extend-own", "overwrote A's lock", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000)
b.set("lock:1", B, px=20000)
"""),
    ("always-expires", "no time to live", """
assert client().setnx("lock:1", A)
"""),
    ("lease-exclusion", "removed B's lock", """
a, b, c = client(), client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.eval("return redis.call('del', KEYS[1])", 1, "lock:1", A)
assert c.set("lock:1", C, nx=True, px=20000)
assert b.eval(CAD, 1, "lock:1", B) == 0
"""),
])
def test_what_is_wrong_is_named(tmp_path, found, words, program):
    result, results = json_of(tmp_path, program)
    assert result.status == 1, result.out + result.err
    witness = violated(results)[found]["witness"]
    assert words in "\n".join(witness), witness
    check_same(tmp_path, results)


def test_a_flush_is_blamed_on_nobody_unless_it_took_a_lock_that_was_used_on(tmp_path):
    tidy = """
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
a.flushall()
"""
    assert watch(tmp_path, tidy).status == 0
    result, results = json_of(tmp_path, tidy + "assert a.eval(CAD, 1, 'lock:1', A) == 0")
    assert result.status == 1 and "FLUSHALL" in "\n".join(violated(results)["release-own"]["witness"])


def test_a_lock_that_ends_as_it_is_looked_at_was_not_taken_away(tmp_path):
    """Whoever polls gets it at the very instant at which it expires, again and again."""
    result, results = json_of(tmp_path, """
def poll(name):
    own = client()
    for i in range(7):
        while not own.set("lock:1", f"token-of-{name}-{i}", nx=True, px=60): pass
threads = [threading.Thread(target=poll, args=(name,)) for name in (A, B)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert not violated(results), result.out
    assert any("14 grants" in note for note in results["notes"]), results["notes"]


def test_a_grant_that_is_answered_when_its_lease_is_over_is_told(tmp_path):
    """The server is busy with a script for longer than the lease; the request for the lock stands behind it."""
    program = """
busy = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end local b = now() " \
       "repeat until now() - b > tonumber(ARGV[1]) return 1"
with client().pipeline(transaction=False) as pipe:
    pipe.eval(busy, 0, %d); pipe.set("lock:1", A, nx=True, px=60)
    assert pipe.execute() == [1, True]
"""
    late = json_of(tmp_path, program % 100)[1]["notes"]
    assert any("1 grants were answered when their lease was over" in note for note in late), late
    assert any("A was told so when its own lease of 60.0 ms was over" in note for note in late), late
    assert not any("lease was over" in note for note in json_of(tmp_path, program.replace("px=60", "px=60000") % 100)[1]["notes"])


EVERYTHING = """
import socket
from urllib.parse import urlparse
there = urlparse(os.environ["REDIS_URL"])
main = client()
done = threading.Event()
def pops():
    own = client()
    for _ in range(20): assert own.blpop("queue", timeout=20)
def listens():
    sub = client().pubsub(); sub.subscribe("news"); sub.psubscribe("lock:*")
    seen = 0
    while seen < 20:
        m = sub.get_message(timeout=5)
        if m and m["type"] == "message": seen += 1
    sub.unsubscribe(); sub.close()
def locks(db):
    own = redis.Redis(connection_pool=redis.BlockingConnectionPool.from_url(os.environ["REDIS_URL"].replace("/0", f"/{db}"), max_connections=2))
    def work(n):
        for i in range(10):
            with own.lock("lock:1", timeout=20, sleep=0.001):
                own.rpush(f"list{n}", i)
    ts = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in ts: t.start()
    for t in ts: t.join()
def third():
    one = socket.create_connection((there.hostname, there.port)); f = one.makefile("rb")
    def say(*words):
        one.sendall(b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(w), w) for w in map(str.encode, words)))
        return f.readline()
    line = say("HELLO", "3")
    assert line[:1] == b"%", line
    one.sendall(b"PING\\r\\n")
    while f.readline() != b"+PONG\\r\\n": pass
    for i in range(10):
        tok = f"token-of-third-{i}"
        while True:
            r = say("SET", "lock:1", tok, "NX", "PX", "20000")
            if r == b"+OK\\r\\n": break
            assert r == b"_\\r\\n", r
        assert say("EVAL", CAD, "1", "lock:1", tok) == b":1\\r\\n"
    one.close()
def feeds():
    own = client()
    for i in range(20):
        own.rpush("queue", i)
        with own.pipeline() as p:
            p.watch("w"); p.multi(); p.incr("w"); p.publish("news", i); p.execute()
        own.eval("return redis.call('incr', 'by-script')", 0)
ls = threading.Thread(target=listens)
ls.start()
while not main.pubsub_numsub("news")[0][1]: pass
ts = [threading.Thread(target=f, args=a) for f, a in ((pops, ()), (third, ()), (feeds, ()), (locks, (0,)), (locks, (3,)), (locks,(7,)))]
for t in ts: t.start()
for t in ts + [ls]: t.join()
"""


SCRIPTS = """
one = client()
mine = "local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1"
near = CAD.replace("== ARGV[1]", "~= ARGV[1]")
digest = one.script_load(mine)
for script in (CAD, CAD.replace("'", '"').replace(" ", "  "), mine):
    assert one.set("lock:1", A, nx=True, px=20000)
    assert one.eval(script, 1, "lock:1", B) == 0 and one.eval(script, 1, "lock:1", A) == 1
assert one.set("lock:1", A, nx=True, px=20000) and one.evalsha(digest, 1, "lock:1", A) == 1
"""


def test_the_usual_scripts_of_a_release_are_known_and_their_like_are_not(tmp_path):
    """Two thirds of a right one may be a wrong one: it deletes what is another's, and is looked at."""
    result, results = json_of(tmp_path, SCRIPTS)
    assert result.status == 0 and not violated(results), result.out + result.err
    assert any("Order: 11 of them" in note for note in results["notes"]), results["notes"]  # 4 grants, 7 scripts
    assert any("4 grants" in note and "4 releases" in note for note in results["notes"]), results["notes"]
    result, results = json_of(tmp_path, SCRIPTS + """
assert one.set("lock:1", A, nx=True, px=40)
while one.exists("lock:1"): time.sleep(0.005)
assert one.set("lock:1", B, nx=True, px=20000)
assert one.eval(CAD, 1, "lock:1", A) == 0 and one.eval(near, 1, "lock:1", A) == 1
""")
    assert result.status == 1 and "A sent EVAL" in "\n".join(violated(results)["release-own"]["witness"]), result.out
    check_same(tmp_path, results)


def test_all_that_a_program_does_beside_its_locks_is_silent(tmp_path):
    """Small pools, transactions, scripts, blocking pops, publishing, RESP3, three databases with locks of one name."""
    result, results = json_of(tmp_path, EVERYTHING)
    assert result.status == 0 and not violated(results), result.out + result.err
    assert any("100 grants" in note and "100 releases" in note for note in results["notes"]), results["notes"]


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
    assert result.status == 2 and "a connection that waits" in result.err, result.out + result.err


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
    assert result.status == 2 and "unknown:" in result.err, result.out + result.err


def test_a_history_on_a_full_disk_is_no_verdict(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + MANY % 20)
    small = tmp_path / "small"
    small.mkdir()
    words = [str(PICKLOCK), "watch", "--key", "lock:*", "--out", str(small), "--", sys.executable, str(script)]
    done = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=64k none {small} && {shlex.join(words)}"],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system of our own here")
    assert done.returncode == 70 and ("No space left" in done.stderr or "history cannot be written" in done.stderr), done


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
started = one.time()
if os.fork() == 0:
    for stream in (0, 1, 2): os.close(stream)
    try:
        while True: one.ping()
    except redis.exceptions.ConnectionError: os._exit(0)
os._exit(0)
""")
    assert result.status == 0 and any("outlived the command" in note for note in results["notes"]), results["notes"]


FENCES = """
one = client()
for token in (A, B):
    assert one.set("lock:1", token, nx=True, px=20000) and one.eval(CAD, 1, "lock:1", token) == 1
"""


@pytest.mark.parametrize(("program", "words"), [
    ("one.set('data:fence', 33); one.set('data:fence', 34); one.set('data:fence', 33)", "carries the fence 33, and the resource, which had accepted 34"),
    ("for n in (33, 34, 33): one.hset('data:fence', mapping={'fence': n, 'what': 'is written'})", "had accepted 34"),
    ("one.incr('data:fence'); one.incr('data:fence'); one.decr('data:fence')", "had accepted 2"),
    ("one.eval('redis.call(\"SET\", KEYS[1], ARGV[1])', 1, 'data:fence', 9); one.pipeline().set('data:fence', 8).execute()",
     "had accepted 9"),
])
def test_a_stale_fenced_write_is_told(tmp_path, program, words):
    result, results = json_of(tmp_path, FENCES + program, "--fence-key", "data:fence")
    assert result.status == 1, result.out + result.err
    witness = "\n".join(violated(results)["fence-order"]["witness"])
    assert words in witness and "unknown who sent" in witness, witness
    check_same(tmp_path, results)


def test_fences_that_grow_are_silent_and_one_that_begins_anew_is_noted(tmp_path):
    """The same again, and with what is no number, is no step back."""
    grows = FENCES + "for n in (1, 2, 2, 10, 9223372036854775807): one.set('data:fence', n)\n"
    result, results = json_of(tmp_path, grows, "--fence-key", "data:fence")
    assert result.status == 0 and not violated(results), result.out + result.err
    assert any("4 writes changed a fence in a key like data:fence; 0 began" in note for note in results["notes"]), results["notes"]
    gone = FENCES + "one.set('data:fence', 7); one.delete('data:fence'); one.set('data:fence', 3)"
    notes = json_of(tmp_path, gone, "--fence-key", "data:*")[1]["notes"]
    assert any("began the fence in data:fence anew with 3: it had been 7" in note for note in notes), notes


def test_tokens_are_nowhere_in_clear(tmp_path):
    """Neither in reports nor in the history; and the same token has another digest in another run."""
    program = f"""
{FENCES}
assert one.set("lock:1", A, nx=True, px=20000)
one.delete("lock:1")
assert one.eval(CAD, 1, "lock:1", A) == 0
"""
    seen = []
    for number in "12":
        result, results = json_of(tmp_path, program)
        folder = tmp_path / "runs" / "latest"
        assert result.status == 1 and violated(results)["release-own"]
        history = (folder / "histories" / "watch.jsonl").read_text()
        seen.append(set(re.findall(r'"#[0-9a-f]{16}"', history)))
        written = result.out + result.err + "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
        assert "token-of-client" not in written
    assert seen[0] and not seen[0] & seen[1], seen


@needs_npm
def test_npm_redlock_over_ioredis_is_silent(tmp_path):
    script = tmp_path / "suite.js"
    script.write_text("""
const Redis = require('ioredis'), Redlock = require('redlock')
const redis = new Redis(process.env.REDIS_URL), redlock = new Redlock([redis], { retryCount: 500, retryDelay: 5 })
async function work(number) {
  for (let i = 0; i < 3; i++) {
    const lock = await redlock.lock('lock:' + number % 2, 20000)
    await redis.multi().incr('sum').get('sum').exec()
    await lock.extend(30000)
    await lock.unlock()
  }
}
Promise.all([0, 1, 2, 3].map(work)).then(() => redis.get('sum')).then(sum => process.exit(sum === '12' ? 0 : 3))
""")
    result = run("watch", "--key", "lock:*", "--out", tmp_path, "--json", tmp_path / "results.json", "--",
                 "env", f"NODE_PATH={NPM}", "node", script)
    results = json.loads((tmp_path / "results.json").read_text())
    assert result.status == 0 and not violated(results), result.out + result.err
    assert any("12 grants" in note and "12 releases" in note for note in results["notes"]), results["notes"]


@needs_npm
def test_npm_ioredis_and_all_that_it_does_is_silent(tmp_path):
    """Several connections, pipelines, transactions, its own scripts (EVALSHA first), a blocking pop, publishing, two databases."""
    script = tmp_path / "suite.js"
    script.write_text("""
const Redis = require('ioredis')
const url = process.env.REDIS_URL, assert = require('assert')
const CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
async function work(redis, number) {
  for (let i = 0; i < 4; i++) {
    const token = `token-of-${number}-${i}`
    while (await redis.set('lock:1', token, 'PX', 20000, 'NX') !== 'OK');
    await redis.pipeline().incr('sum').get('lock:1').exec()
    await redis.multi().incr('sum').publish('news', token).exec()
    assert.equal(await redis.unlock('lock:1', token), 1)
  }
}
async function main() {
  const first = new Redis(url), other = new Redis(url), third = new Redis(url.replace('/0', '/3')), pops = new Redis(url), hears = new Redis(url)
  for (const redis of [first, other, third]) redis.defineCommand('unlock', { numberOfKeys: 1, lua: CAD })
  let heard = 0
  hears.on('message', () => heard++)
  await hears.subscribe('news')
  const popped = pops.blpop('queue', 0)
  await Promise.all([work(first, 0), work(first, 1), work(other, 2), work(third, 3), work(third, 4)])
  await first.rpush('queue', 'x')
  assert.deepEqual(await popped, ['queue', 'x'])
  while (heard < 20) await first.ping()
  process.exit(await first.get('sum') === '24' ? 0 : 3)
}
main().catch(error => { console.error(error); process.exit(4) })
""")
    result = run("watch", "--key", "lock:*", "--out", tmp_path, "--json", tmp_path / "results.json", "--",
                 "env", f"NODE_PATH={NPM}", "node", script)
    results = json.loads((tmp_path / "results.json").read_text())
    assert result.status == 0 and not violated(results), result.out + result.err
    assert any("20 grants" in note and "20 releases" in note for note in results["notes"]), results["notes"]


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
        ours.close()
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 0 and "1 grants" in out, out + err
    assert not subprocess.run(["grep", "-rlE", "s(@|%40)cret", tmp_path], capture_output=True, text=True).stdout


def test_a_command_that_is_ended_by_a_signal(tmp_path):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + "client().set('lock:1', A, nx=True, px=20000); print('has it', flush=True); time.sleep(600)")
    watching = subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path, "--", sys.executable, script],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watching.stdout.readline() == "has it\n"
    watching.send_signal(signal.SIGTERM)
    out, err = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 128 + signal.SIGTERM and "ended by a signal" in out + err, out + err


def test_what_nobody_can_tell_is_unknown(tmp_path):
    """One connection, two that were granted the lock, and a DEL without a token."""
    result = watch(tmp_path, """
only = client()
assert only.set("lock:1", A, nx=True, px=40)
while only.exists("lock:1"): time.sleep(0.005)
assert only.set("lock:1", B, nx=True, px=20000)
only.delete("lock:1")
""")
    assert result.status == 2 and "nobody can tell" in result.err, result.out + result.err


def test_another_process_is_named(tmp_path):
    """Pools do not reach across processes: a DEL of another one is no release of the owner's."""
    result, results = json_of(tmp_path, """
import subprocess
late = subprocess.Popen([sys.executable, "-c", '''
import os, redis, sys
late = redis.Redis.from_url(os.environ["REDIS_URL"])
assert late.set("lock:1", "token-of-the-late-one", nx=True, px=40)
print("has it", flush=True); sys.stdin.readline()
late.delete("lock:1")
'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
late.stdout.readline()
b = client()
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
late.communicate("go on")
assert late.returncode == 0
""")
    assert result.status == 1, result.out + result.err
    assert "A sent DEL lock:1" in "\n".join(violated(results)["release-own"]["witness"])


def test_a_change_past_the_proxy_is_no_verdict(tmp_path):
    """A script that does not name the key that it deletes."""
    result = watch(tmp_path, """
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
a.eval("return redis.call('del', 'lock' .. ':1')", 0)
assert a.set("lock:1", B, nx=True, px=20000)
a.eval(CAD, 1, "lock:1", B)
""")
    assert result.status == 2, result.out + result.err


@pytest.mark.parametrize("last, status", [
    ("a.eval(\"return redis.call('del', 'lock' .. ':1')\", 0)", 2),  # names no key, and nobody comes behind it
    ("a.eval(\"return redis.call('set', 'lock' .. ':1', 'x')\", 0)", 2),
    ("a.eval(\"return redis.call('get', 'lock' .. ':1')\", 0)", 0),
    ("a.pexpire('lock:1', 30000)", 0),  # it ends later than it was taken for
    ("a.eval(CAD, 1, 'lock:1', A); a.eval(\"return redis.call('del', 'lock' .. ':1')\", 0)", 0),  # was given back
], ids=["deleted", "set", "read", "longer", "given back"])
def test_a_lock_is_looked_at_in_the_end(tmp_path, last, status):
    result = watch(tmp_path, f"""
b = client()
assert b.set("lock:2", B, nx=True, px=20000) and not client().set("lock:2", C, nx=True, px=20000)
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
{last}
assert b.eval(CAD, 1, "lock:2", B) == 1
""")
    assert result.status == status and ("in the end 'lock:1'" in result.err + result.out) == (status == 2), result.out + result.err


def test_a_script_too_long_to_be_seen_whole_is_no_verdict(tmp_path):
    """One that comes in one piece may be longer than 16 kB, and is seen: this one can not."""
    result = watch(tmp_path, """
assert client().set("lock:1", A, nx=True, px=20000)
client().eval("-- " + 300000 * "x" + "\\nreturn redis.call('del', KEYS[1])", 1, "lock:1")
""")
    assert result.status == 2 and "not all keys that it names were seen" in result.err, result.out + result.err


def test_no_lock_is_no_verdict(tmp_path):
    result = watch(tmp_path, 'client().set("other", 1)')
    assert result.status == 2 and "no watched key was granted" in result.err


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (["--", "true"], 64, "--key"),
    (["--key", "lock:*", "--redis", "redis://127.0.0.1:1", "--", "true"], 69, "127.0.0.1:1"),
    (["--key", "lock:*", "--", "/no/such/command"], 69, "/no/such/command"),
    (["--key", "lock:*", "--fence-key", "", "--", "true"], 64, "--fence-key"),
    (["--key", "lock:*", "--redis", "redis://x", "--redis-server", "y", "--", "true"], 64, "exclude"),
])
def test_bad_use(tmp_path, arguments, status, words):
    result = run("watch", "--out", tmp_path, *arguments)
    assert result.status == status and words in result.err, result.err
