"""What the tests of `picklock watch` share: a program of somebody's own, played under it."""

import json
import sys

from conftest import run

PRELUDE = """
import os, redis, sys, threading, time
def client(**more): return redis.Redis.from_url(os.environ["REDIS_URL"], **more)
A, B, C = "token-of-client-A", "token-of-client-B", "token-of-client-C"
CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
"""


def watch(tmp_path, program, *options, **more):
    script = tmp_path / "suite.py"
    script.write_text(PRELUDE + program)
    return run("watch", "--key", "lock:*", "--out", tmp_path / "runs", *options, "--", sys.executable, script, **more)


def json_of(tmp_path, program, *options):
    result = watch(tmp_path, program, "--json", tmp_path / "results.json", *options)
    assert (tmp_path / "results.json").exists(), result
    results = json.loads((tmp_path / "results.json").read_text())
    check_same(tmp_path, result, results)
    return result, results


def told(result):
    """All that it said, whichever way it was wrapped."""
    return " ".join((result.out + result.err).split())


def violated(results):
    row, = results["results"]
    return {found["property"]: found for found in row["properties"] if found["verdict"] == "violated"}


def is_clean(result, results):
    """Nothing is wrong with it, and all of it was seen. Where nobody contended it is unknown all the same, and the status 2."""
    row, = results["results"]
    return not violated(results) and not row["trouble"] and result.status == (2 if row["verdict"] == "unknown" else 0)


def check_same(tmp_path, result, results):
    """The history that was written comes to the same: every verdict with its reason, and the status, unless watch's is the program's own."""
    checked = run("check", tmp_path / "runs" / "latest" / "histories" / "watch.jsonl", "--json", "-")
    judged, = checked.json["results"]
    watched, = results["results"]
    differ = {name: (what, judged[name]) for name, what in watched.items() if name != "history" and judged[name] != what}
    assert not differ, differ
    if not violated(results):
        assert checked.status == (2 if judged["verdict"] == "unknown" else 0), judged
    assert result.status == checked.status or checked.status != 1 and result.status not in (0, 1, 2), result.out + result.err


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
assert one.set("lock:short", A, nx=True, px=200)
while one.exists("lock:short"): time.sleep(0.005)
assert one.set("lock:short", B, nx=True, px=20000) and one.eval(CAD, 1, "lock:short", B) == 1
assert one.set("lock:plain", "1", nx=True, px=20000) and one.delete("lock:plain") == 1
assert int(one.get("sum")) == 16
"""


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
