"""`picklock watch` has nothing to say of who uses locks rightly, whatever else he does: over Debian's redis-py, and npm's libraries."""

import json
import re

import pytest
from conftest import BUILD, run
from watching import MANY, RIGHT, is_clean, json_of, violated

NPM = BUILD / "workers" / "node_modules"
needs_npm = pytest.mark.skipif(not (NPM / "redlock").is_dir(), reason="npm's libraries are missing: harness/setup.sh workers")


def test_a_token_of_a_process_is_that_of_several_locks_at_a_time(tmp_path):
    """It gives one back, and keeps the other to the end: at each it is what it is alone."""
    result, results = json_of(tmp_path, """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and a.set("lock:2", A, nx=True, px=20000)
assert not b.set("lock:1", B, nx=True, px=20000) and not b.set("lock:2", B, nx=True, px=20000)
assert a.eval(CAD, 1, "lock:1", A) == 1 and b.set("lock:1", B, nx=True, px=20000)
assert not a.set("lock:1", A, nx=True, px=20000) and b.eval(CAD, 1, "lock:1", B) == 1
""")
    assert is_clean(result, results) and result.status == 0, result.out + result.err


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


def test_many_at_once_are_judged_in_the_order_of_execution(tmp_path):
    """SET NX and the usual script of a release need not stand in line; the server's log of reads tells who was first."""
    result, results = json_of(tmp_path, MANY % 40)
    assert is_clean(result, results), result.out + result.err
    order, = [note for note in results["notes"] if note.startswith("Order:")]
    assert "in which the server was seen to read" in order, order
    note, = [note for note in results["notes"] if note.startswith("Watched:")]
    grants, releases = (int(re.search(rf"(\d+) {word}", note)[1]) for word in ("grants", "releases"))
    assert grants == releases > 2 and f"Order: {640 + releases} of them" in order, results["notes"]


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


def test_all_that_a_program_does_beside_its_locks_is_silent(tmp_path):
    """Small pools, transactions, scripts, blocking pops, publishing, RESP3, three databases with locks of one name."""
    result, results = json_of(tmp_path, EVERYTHING)
    assert is_clean(result, results), result.out + result.err
    assert any("100 grants" in note and "100 releases" in note for note in results["notes"]), results["notes"]


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
    assert is_clean(result, results), result.out + result.err
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
    assert is_clean(result, results), result.out + result.err
    assert any("20 grants" in note and "20 releases" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("renew", [
    """own.eval(RENEW, 1, "lock:1", token, text) == 1""",
    """own.set("lock:1", text, xx=True, px=20000)""",
], ids=["a script that compares a part of it", "SET XX"])
def test_a_value_that_changes_while_it_is_held_is_its_holders_renewal(tmp_path, renew):
    """Nothing in the command is the value that stands there: the script looks into it. Nobody is blamed, and a note counts them. Each has a process
    of its own: in one that others share nobody could tell (test_watch_refused.py)."""
    result, results = json_of(tmp_path, """
import json
RENEW = "local v = redis.call('get', KEYS[1]) if v and cjson.decode(v).id == ARGV[1] then " \\
        "redis.call('set', KEYS[1], ARGV[2], 'PX', 20000) return 1 end return 0"
def work(number):
    own = client()
    for i in range(4):
        token = f"token-of-{number}-{i}"
        def value(beat): return json.dumps({"id": token, "beat": beat})
        while not own.set("lock:1", value(0), nx=True, px=20000): time.sleep(0.002)
        for beat in (1, 2):
            text = value(beat)
            assert %s
        assert own.eval(CAD, 1, "lock:1", value(2)) == 1
children = []
for n in range(3):
    if not (pid := os.fork()): work(n); os._exit(0)
    children.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 3
""" % renew)
    assert is_clean(result, results), result.out + result.err
    assert any("12 grants" in note and "12 releases" in note for note in results["notes"]), results["notes"]
    assert any(note.startswith("24 times a script, a transaction or SET XX gave a lock another value") for note in results["notes"])
