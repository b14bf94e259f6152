"""What the tests of workers share: examples as commands, what they need, and a plain worker that is made wrong in one way at a time."""

import json
import shlex
import shutil
import subprocess

import pytest
from conftest import ROOT

PYTHON = "/usr/bin/python3"
EXAMPLES = ROOT / "sim" / "worker" / "examples"


def example(program, name):
    return f"{program} {shlex.quote(str(EXAMPLES / name))}"


NAIVE, REDIS_PY = example(PYTHON, "naive_lock.py"), example(PYTHON, "redis_py_lock.py")
SMALL_NODE = example("node", "small_lock.js")

needs_redis_py = pytest.mark.skipif(subprocess.run([PYTHON, "-c", "import redis"], capture_output=True).returncode != 0,
                                    reason="python3-redis is not installed")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="the Debian package nodejs is not installed")

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

# A lock that a thread of its own renews at every third of its lease, as the scheme `watchdog` does.
WATCHDOG_CLASS = """
import picklock_worker
import threading
import time
import redis

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class Worker(picklock_worker.Worker):
    promises = ["expiry", "renews", "notice", "token"]

    def init(self, settings):
        host, port = settings.address()
        self.settings, self.timer, self.count = settings, None, 0
        self.redis, self.renewing = redis.Redis(host=host, port=port), redis.Redis(host=host, port=port)

    def renew_later(self):
        self.timer = threading.Timer(self.settings.ttl_ms / 3000, self.renew)
        self.timer.daemon = True
        self.timer.start()

    def renew(self):
        self.renewing.eval(RENEW, 1, self.settings.key, self.token, self.settings.ttl_ms)
        self.renew_later()

    def acquire(self, wait_ms):
        self.count += 1
        self.token = f"token-of-{self.settings.name}-{self.count:04}"
        if not self.redis.set(self.settings.key, self.token, nx=True, px=self.settings.ttl_ms):
            return False
        self.renew_later()
        return True

    def release(self):
        gone = self.redis.eval(FREE, 1, self.settings.key, self.token) == 1
        self.timer.cancel()
        return gone
"""
WATCHDOG = WATCHDOG_CLASS + RUN

# It knows when its lease ends, counted from the sending of what won, and says so; as `watchdog-guarded`.
WATCHDOG_GUARDED = WATCHDOG_CLASS + """

class Guarded(Worker):
    end = None

    def lease_from(self, asked):
        if self.end:
            self.end.cancel()
        self.end = threading.Timer(asked + self.settings.ttl_ms / 1000 - time.monotonic(), self.give_up)
        self.end.daemon = True
        self.end.start()

    def give_up(self):
        self.stop()
        self.lost()

    def stop(self):
        self.timer.cancel()
        self.end.cancel()

    def renew(self):
        asked = time.monotonic()
        if self.renewing.eval(RENEW, 1, self.settings.key, self.token, self.settings.ttl_ms) != 1:
            return self.give_up()
        self.lease_from(asked)
        self.renew_later()

    def acquire(self, wait_ms):
        asked = time.monotonic()
        has_it = super().acquire(wait_ms)
        if has_it:
            self.lease_from(asked)
        return has_it

    def release(self):
        self.stop()
        return super().release()

picklock_worker.run(Guarded)
"""


def plain_worker(tmp_path):
    """A fixture, `worker = pytest.fixture(plain_worker)`: writes the plain worker with what is added behind it, and has its command."""

    def write(added="", text=None):
        path = tmp_path / "my_lock.py"
        path.write_text(text if text is not None else PLAIN + added + RUN)
        return f"{PYTHON} {shlex.quote(str(path))}"

    return write


def once(picklock, command, *more, env=None):
    return picklock("test", "--once", command, *more, env=env)


def scenario(name):
    return ROOT / "scenarios" / f"{name}.yaml"


def rows_of(picklock, tmp_path, worker, scheme, *scenarios):
    """{scenario: (the scheme's row, the worker's row)}"""
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, "--scheme", scheme, "--fail-on", "never", "--json", out, *scenarios)
    assert ran.status in (0, 2), ran
    rows = {}
    for row in json.loads(out.read_text())["results"]:
        rows.setdefault(row["scenario"], []).append(row)
    return rows


def own_scenario(tmp_path, *steps):
    """Of a worker, where nothing is expected of any scheme."""
    path = tmp_path / "own.yaml"
    lines = "".join(f"  - {step}\n" for step in steps)
    path.write_text(f"# What is tried here.\nname: own\nsource: none\nlease: 300ms\nclients: [A, B, C]\nsteps:\n{lines}"
                    "expect:\n  set-nx-px-cad: { progress: holds }\n")
    return path


# Of the naive lock, where it sets its key.
SETS = "return self.redis.set(self.settings.key, self.settings.name, nx=True, px=self.settings.ttl_ms)"


def changed_naive(tmp_path, *changes):
    """The naive lock with some of its lines replaced."""
    text = (EXAMPLES / "naive_lock.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "lock.py"
    path.write_text(text)
    return f"{PYTHON} {shlex.quote(str(path))}"


def verdict_of(picklock, tmp_path, worker, path):
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, path, "--json", out, "--fail-on", "never")
    assert ran.status in (0, 2), ran
    [row] = json.loads(out.read_text())["results"]
    return row, {name: (found["verdict"], found["cause"]) for found in row["properties"] for name in [found["property"]]}
