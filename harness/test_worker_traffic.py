"""What workers say to a server, as far as it is unusual: large scripts, bytes that are no text, RESP3, transactions around scripts,
scripts that are forgotten, two locks in one worker."""

import json
import shlex

import pytest
from conftest import ROOT
from workers import PYTHON, needs_redis_py

# A client of its own that takes bytes, and reads RESP2 and RESP3.
CLIENT = r"""
import socket
import picklock_worker

class Client:
    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind in b"*>~%":
            return [self.reply() for _ in range(int(rest) * (2 if kind == b"%" else 1))] if int(rest) >= 0 else None
        if kind == b"_":
            return None
        return int(rest) if kind == b":" else Exception(rest.decode()) if kind == b"-" else rest

    def ask(self, *words):
        self.send(*words)
        return self.reply()

class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        self.token = settings.name.encode()
        self.key, self.ttl = settings.key, settings.ttl_ms
        self.client = Client(settings.address())

    def acquire(self, wait_ms):
        return self.client.ask("SET", self.key, self.token, "NX", "PX", self.ttl) == b"OK"

    def release(self):
        return self.client.ask("EVAL", RELEASE, 1, self.key, self.token) == 1

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
"""

LARGE = """
RELEASE += "\\n-- " + "x" * (1 << 20)
"""

BYTES = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        self.token += bytes(range(256))
"""

RESP3 = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        assert isinstance(self.client.ask("HELLO", 3), list)
"""

WHO_IT_IS = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        right, wrong = (settings.user, settings.password), (settings.user, settings.password + "x")
        for words in (("AUTH", *right), ("AUTH", right[1]), ("HELLO", 3, "SETNAME", "me", "AUTH", *right), ("HELLO", 2)):
            assert not isinstance(self.client.ask(*words), Exception), words
        for words in (("AUTH", *wrong), ("AUTH", wrong[1]), ("AUTH", "nobody", right[1]), ("HELLO", 3, "AUTH", *wrong), ("AUTH", "")):
            assert str(self.client.ask(*words)) == "WRONGPASS invalid username-password pair or user is disabled.", words
        self.client.socket.sendall(b"AUTH %b\\r\\nAUTH 'not this'\\r\\n" % right[1].encode())
        assert self.client.reply() == b"OK" and "WRONGPASS" in str(self.client.reply())
        assert "wrong number of arguments" in str(self.client.ask("AUTH"))
"""

# With pushes between the replies, each time that a key changes which it has read.
PUSHES = RESP3 + """
class Client(Client):
    def reply(self):
        while self.file.peek(1)[:1] == b">":
            super().reply()
            picklock_worker.sys.stderr.write("a push\\n")
        return super().reply()

class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        assert self.client.ask("CLIENT", "TRACKING", "ON") == b"OK"

    def acquire(self, wait_ms):
        self.client.ask("GET", self.key)
        return super().acquire(wait_ms)
"""

# What a library says to the server while it is made, beside who it is.
LOADED = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        self.sha = self.client.ask("SCRIPT", "LOAD", RELEASE)

    def release(self):
        return self.client.ask("EVALSHA", self.sha, 1, self.key, self.token) == 1
"""

TRANSACTION = """
class Worker(Worker):
    def release(self):
        for words in (("MULTI",), ("EVAL", RELEASE, 1, self.key, self.token), ("EXEC",)):
            last = self.client.ask(*words)
        return last == [1]
"""

FORGOTTEN = """
import hashlib
class Worker(Worker):
    def release(self):
        sha = hashlib.sha1(RELEASE.encode()).hexdigest()
        done = self.client.ask("EVALSHA", sha, 1, self.key, self.token)
        if isinstance(done, Exception) and "NOSCRIPT" in str(done):
            self.client.ask("SCRIPT", "FLUSH")
            self.client.ask("SCRIPT", "LOAD", RELEASE)
            done = self.client.ask("EVALSHA", sha, 1, self.key, self.token)
        return done == 1
"""

TWO_LOCKS = """
class Worker(Worker):
    def acquire(self, wait_ms):
        if not super().acquire(wait_ms):
            return False
        return self.client.ask("SET", self.key + ":second", self.token, "NX", "PX", self.ttl) == b"OK"

    def release(self):
        self.client.ask("DEL", self.key + ":second")
        return super().release()
"""


# A connection of its own for something else, in another database, or in the same one.
DATABASES = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        assert self.client.ask("SELECT", 2) == b"OK"
        self.other = Client(settings.address())
        assert self.other.ask("SELECT", OTHER) == b"OK"

    def release(self):
        self.other.ask("INCR", "released")
        return super().release()
"""


@pytest.mark.parametrize("other, status, words", [
    (2, 0, "A clean hand-over: as expected."),
    (3, 64, "worker A: it selects database 3 where database 2 was selected before: a worker's lock lives in one database"),
], ids=["one", "two"])
def test_the_lock_lives_in_one_database(picklock, tmp_path, other, status, words):
    path = tmp_path / "lock.py"
    path.write_text(CLIENT + f"OTHER = {other}\n" + DATABASES + "\npicklock_worker.run(Worker)\n")
    ran = picklock("test", "--once", f"{PYTHON} {shlex.quote(str(path))}")
    assert ran.status == status and words in ran.out + ran.err, ran


# It knows its password, and forgets it where it connects anew.
FORGETS_WHO = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        self.address = settings.address()
        self.client.ask("AUTH", settings.password)

    def release(self):
        self.client = Client(self.address)
        done = self.client.ask("EVAL", RELEASE, 1, self.key, self.token)
        if isinstance(done, Exception):
            raise done
        return done == 1
"""


def test_who_says_a_password_says_it_on_each_connection(picklock, tmp_path):
    path = tmp_path / "lock.py"
    path.write_text(CLIENT + FORGETS_WHO + "\npicklock_worker.run(Worker)\n")
    ran = picklock("test", "--once", f"{PYTHON} {shlex.quote(str(path))}")
    assert ran.status == 1 and "says EVAL to server 1 (refused: it has not said who it is on this connection)" in ran.out, ran
    assert "answered with an error: Exception: NOAUTH Authentication required." in ran.err, ran


@pytest.mark.parametrize("more, words", [
    (LARGE, "B's 1st EVAL to server 1 is executed: 1"),
    (BYTES, "SET lock \"A\\x00\\x01\\x02"),
    (RESP3, "A  says HELLO to server 1 (a handshake, not held)"),
    (WHO_IT_IS, "A  says AUTH to server 1 (wrong: not who init said)"),
    (PUSHES, "A  prints: a push"),
    (LOADED, "A's 1st SCRIPT to server 1 is executed: "),
    (TRANSACTION, "A's 1st EXEC to server 1 is executed: [1]"),
    (FORGOTTEN, "A's 1st EVALSHA to server 1 is executed: error: NOSCRIPT"),
    (TWO_LOCKS, "A  sends to server 1: SET lock:second"),
], ids=["large script", "bytes", "RESP3", "who it is", "pushes", "loaded script", "transaction", "forgotten script", "two locks"])
def test_a_hand_over(picklock, tmp_path, more, words):
    path = tmp_path / "lock.py"
    path.write_text(CLIENT + more + "\npicklock_worker.run(Worker)\n")
    ran = picklock("test", "--once", f"{PYTHON} {shlex.quote(str(path))}")
    assert ran.status == 0 and words in ran.out and "A clean hand-over: as expected." in ran.out, ran
    if more is RESP3:
        assert "B's 1st SET to server 1 is executed: nil" in ran.out, ran


@pytest.mark.parametrize("more", [LARGE, BYTES, RESP3, TRANSACTION], ids=["large script", "bytes", "RESP3", "transaction"])
def test_verdicts(picklock, tmp_path, more):
    """Such a worker is judged as any other: by what it did to the key. It outlives its lease, and removes nobody's lock."""
    path, out = tmp_path / "lock.py", tmp_path / "results.json"
    path.write_text(CLIENT + more + "\npicklock_worker.run(Worker)\n")
    ran = picklock("run", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--fail-on", "never", "--json", out,
                   ROOT / "scenarios" / "expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    [row] = json.loads(out.read_text())["results"]
    assert row["verdict"] == "violated" and {found["cause"] for found in row["properties"]} == {None, "overrun"}, ran


@pytest.mark.parametrize("more", [pytest.param(LARGE, marks=pytest.mark.long("one of two")), BYTES], ids=["large script", "bytes"])
def test_asked_once(picklock, tmp_path, more):
    """Decided as any, and as well from what was kept."""
    path, env = tmp_path / "lock.py", {"PICKLOCK_CACHE": str(tmp_path / "kept")}
    path.write_text(CLIENT + more + "\npicklock_worker.run(Worker)\n")
    for count in (1, 2):
        ran = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--rounds", 1, "--clients", 2, "--fault", "none", env=env)
        assert ran.status == 0 and " safe " in ran.out, (count, ran)


def test_two_locks_of_one_worker_are_not_asked(picklock, tmp_path):
    """The second one is none that is judged: so what is found of the first would be no verdict about the worker."""
    path = tmp_path / "lock.py"
    path.write_text(CLIENT + TWO_LOCKS + "\npicklock_worker.run(Worker)\n")
    ran = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--rounds", 1, "--clients", 2, "--fault", "none", "--no-cache")
    words = " ".join(ran.out.split())
    assert ran.status == 2 and " safe " not in ran.out and "it keeps a key 'lock:second' beside the lock's, which has a token in it" in words, ran


# The lock, and its expiry behind it in the same pipeline: a reset between the two leaves a lock for ever. Or both in one command.
PIPELINE = """
import picklock_worker, redis

EXPIRE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        host, port = settings.address()
        self.key, self.ttl, self.token = settings.key, settings.ttl_ms, settings.name
        self.redis = redis.Redis(host=host, port=port)

    def acquire(self, wait_ms):
        pipe = self.redis.pipeline(transaction=False)
        pipe.set(self.key, self.token, nx=True, px=self.ttl if IS_WHOLE else None)
        pipe.eval(EXPIRE, 1, self.key, self.token, self.ttl)
        return bool(pipe.execute()[0])

    def release(self):
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1
"""


@needs_redis_py
@pytest.mark.parametrize("is_whole, words", [(False, "lose-reply  stuck (3 steps; "), (True, "lose-reply  safe")], ids=["two commands", "one"])
def test_a_reset_inside_a_pipeline(picklock, tmp_path, is_whole, words):
    """The second command never comes to the server, and the worker hears neither reply."""
    path = tmp_path / "lock.py"
    path.write_text(PIPELINE + f"\nIS_WHOLE = {is_whole}\npicklock_worker.run(Worker)\n")
    ran = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--no-cache", "--rounds", 1, "--clients", 2, "--fault", "lose-reply")
    assert words in ran.out, ran


# A lock that sends two commands at once each time, with a token for each attempt. A release that failed is left, or a DEL follows it.
AT_ONCE = """
class Worker(Worker):
    promises = ["expiry", "token"]
    attempts = 0

    def init(self, settings):
        super().init(settings)
        self.name = settings.name

    def at_once(self, name, *words):
        pipe = self.redis.pipeline(transaction=False)
        getattr(pipe, name)(*words)
        pipe.get(self.key)
        return pipe.execute()[0]

    def acquire(self, wait_ms):
        self.attempts += 1
        self.token = f"token-of-{self.name}-{self.attempts:04}"
        return bool(self.at_once("execute_command", "SET", self.key, self.token, "NX", "PX", self.ttl))

    def release(self):
        try:
            return self.at_once("eval", RELEASE, 1, self.key, self.token) == 1
        except redis.ConnectionError:
            if IS_HASTY:
                return self.redis.delete(self.key) == 1
            raise
"""


@needs_redis_py
@pytest.mark.parametrize("is_hasty, how", [pytest.param(False, ["--no-cache"], marks=pytest.mark.long("6 s of CPU")), (True, ["--no-cache"]),
                                            pytest.param(False, ["--search", "random", "--runs", 15], marks=pytest.mark.long("20 s of CPU"))],
                         ids=["left", "sent again", "left, by running"])
def test_a_reply_that_is_lost_within_a_pipeline_loses_what_stands_behind_it(is_hasty, how, picklock, tmp_path):
    """By asking, where what is violated is replayed, and by running, where nothing waits for the rest of that pipeline to be answered."""
    path = tmp_path / "lock.py"
    path.write_text(PIPELINE + AT_ONCE + f"\nIS_HASTY = {is_hasty}\npicklock_worker.run(Worker)\n")
    ran = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--rounds", 1, "--clients", 2, "--fault", "lose-reply",
                   "--json", "-", *how)
    [row] = ran.json["results"]
    broken = {it["property"]: it["cause"] for it in row["properties"] if it["verdict"] == "violated"}
    assert row["trouble"] is None and (broken.get("release-own") == "unlock-bug") == is_hasty, ran
    assert is_hasty or set(broken.values()) <= {"leftover"}, ran
