"""What the tests of workers share: examples as commands, what they need, and a plain worker that is made wrong in one way at a time."""

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


def plain_worker(tmp_path):
    """A fixture, `worker = pytest.fixture(plain_worker)`: writes the plain worker with what is added behind it, and has its command."""

    def write(added="", text=None):
        path = tmp_path / "my_lock.py"
        path.write_text(text if text is not None else PLAIN + added + RUN)
        return f"{PYTHON} {shlex.quote(str(path))}"

    return write


def once(picklock, command, *more, env=None):
    return picklock("test", "--once", command, *more, env=env)
