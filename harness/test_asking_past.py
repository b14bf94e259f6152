"""In a search by asking, and in a run: who goes past the proxy is unknown, whatever it does there, and whatever becomes of the servers; nothing
of it is kept."""

import os
import re
from pathlib import Path

import pytest
from workers import PLAIN, PYTHON, RUN

# Released by compare-and-delete; what goes past the proxy is said by past(), to the server itself.
LOCK = PLAIN + """
import ctypes, struct, subprocess, uuid

FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"

class Worker(Worker):
    def acquire(self, wait_ms):
        self.token = uuid.uuid4().hex
        return self.ask("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def port(self):
        return int(self.ask("INFO", "server").split(b"tcp_port:")[1].split()[0])

    def release(self):
        goes = %s
        is_mine = self.ask("EVAL", FREE, 1, self.settings.key, self.token) == b":1\\r\\n"
        if goes and %s:
            past(self.port(), %r)
        return is_mine
"""

# A child without our environment lets anybody connect; so does the kernel.
CHILD = """
def past(port, words):
    says = f"import socket; s = socket.create_connection(('127.0.0.1', {port})); s.sendall({words!r}); s.recv(100)"
    subprocess.run([sys.executable, "-c", says], env={}, check=True)
"""
CALLS = """
def past(port, words):
    libc, plain = ctypes.CDLL(None), socket.socket()
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton("127.0.0.1") + bytes(8)
    assert libc.syscall(42, plain.fileno(), address, len(address)) == 0
    libc.syscall(1, plain.fileno(), words, len(words))
    libc.syscall(0, plain.fileno(), ctypes.create_string_buffer(100), 100)
"""
needs_numbers = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls")
one_of = pytest.mark.long("one of several")

# In a world of four workers alone: a key is there, and six connections (ours are one that asks, and one that is told of writes).
BESIDE_OTHERS = "b'db0:' in self.ask('INFO', 'keyspace') and b'connected_clients:6\\r' in self.ask('INFO', 'clients')"


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv("PICKLOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def explored(picklock, tmp_path, lock, clients=2, rounds=1):
    path = tmp_path / "lock.py"
    path.write_text(lock + RUN)
    ran = picklock("explore", "--worker", f"{PYTHON} -B {path}", "--fault", "none,slow-work", "--clients", clients, "--rounds", rounds,
                   timeout=300)
    return ran, " ".join(ran.out.split())


@pytest.mark.parametrize("past, words", [
    pytest.param(CHILD, b"DEL lock\r\n", id="child-deletes", marks=one_of), pytest.param(CHILD, b"GET lock\r\n", id="child-reads"),
    pytest.param(CALLS, b"DEL lock\r\n", id="calls-deletes", marks=needs_numbers),
    pytest.param(CALLS, b"GET lock\r\n", id="calls-reads", marks=[needs_numbers, one_of])])
def test_who_goes_past_the_proxy_is_unknown(picklock, tmp_path, kept, past, words):
    """Where the lock is not its own; nothing of that is kept."""
    ran, said = explored(picklock, tmp_path, LOCK % ("True", "not is_mine", words) + past)
    assert ran.status == 2 and "2 cells: 0 safe, 0 nobody's fault, 0 broken, 0 stuck, 2 unknown" in said, ran
    assert re.search("no fault(, and 1 more cell)?: unknown, because somebody went past the proxy: server 1 has had", said), ran
    assert not (kept.exists() and list(kept.iterdir())), ran


# A correct release, past the proxy.
WHOLE = """
class Worker(Worker):
    def release(self):
        words = ["EVAL", FREE, "1", self.settings.key, self.token]
        said = "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in words)
        return past(self.port(), f"*{len(words)}\\r\\n{said}".encode()) == b":1\\r\\n"
"""
ANSWERED = """
def past(port, words):
    says = f"import socket, sys; s = socket.create_connection(('127.0.0.1', {port})); s.sendall({words!r}); sys.stdout.buffer.write(s.recv(100))"
    return subprocess.run([sys.executable, "-c", says], env={}, check=True, capture_output=True).stdout
"""


@pytest.mark.parametrize("clients", [1, pytest.param(2, marks=pytest.mark.long("one of two"))])
def test_who_releases_past_the_proxy_is_not_blamed(picklock, tmp_path, kept, clients):
    """What is replayed shows a lock that nobody released, and says that somebody did: so nothing of it counts."""
    ran, said = explored(picklock, tmp_path, LOCK % ("False", "True", b"") + ANSWERED + WHOLE, clients=clients, rounds=2)
    assert ran.status == 2 and "2 cells: 0 safe, 0 nobody's fault, 0 broken, 0 stuck, 2 unknown" in said, ran
    assert "unknown, because somebody went past the proxy: server 1 has had" in said and "untrue-answer" not in said, ran
    assert "confirmed" not in said and not (kept.exists() and list(kept.iterdir())), ran


def run_of(picklock, tmp_path, scenario, lock):
    path = tmp_path / "lock.py"
    path.write_text(lock + RUN)
    ran = picklock("run", scenario, "--worker", f"{PYTHON} -B {path}", cwd=tmp_path)
    return ran, " ".join(ran.out.split())


def played(name):
    return Path(__file__).parents[1] / f"scenarios/{name}.yaml"


# Of a server whose place another one has taken it hears when it asks next, and connects anew.
RECONNECTS = """
class Worker(Worker):
    def ask(self, *words):
        try:
            said = super().ask(*words)
        except OSError:
            said = b""
        if not said:
            self.socket = socket.create_connection(self.settings.address())
        return said or super().ask(*words)
"""
RIGHT = LOCK % ("False", "True", b"") + RECONNECTS + '    promises = ["expiry", "token"]\n'
STRUCK = ("restart-empty", "restart-aof", "restart-old", "restart-old-deleted", "failover-fence", "failover-forgets-scripts", "failover-lags",
          "failover-loses-lock", "sentinel-fence", "sentinel-promotes")


@pytest.mark.parametrize("scenario", ["duplicated-delete", "restart-aof", "failover-forgets-scripts"])
def test_a_run_that_releases_past_the_proxy_is_unknown(picklock, tmp_path, scenario):
    """Also at a server that has just taken the place of another one: what is seen would be the lock's fault."""
    ran, said = run_of(picklock, tmp_path, played(scenario), RIGHT + ANSWERED + WHOLE)
    assert ran.status == 2 and "somebody went past the proxy: server 1 has had 1 connection of which nobody here knows" in said, ran


@pytest.mark.parametrize("scenario", [pytest.param(name, marks=[] if name in ("restart-empty", "failover-lags", "sentinel-promotes") else one_of) for name in STRUCK])
def test_connections_of_ours_to_servers_that_are_struck_are_known(picklock, tmp_path, scenario):
    ran, said = run_of(picklock, tmp_path, played(scenario), RIGHT)
    assert ran.status == 0 and "0 unknown" in said and "past the proxy" not in said, ran


# Granted, one of them asks for the key at another port, and goes on as it was.
READS = """
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        self.first = self.port()

    def replica(self):
        return int(self.ask("INFO", "replication").split(b"slave0:")[1].split(b"port=")[1].split(b",")[0])

    def acquire(self, wait_ms):
        is_granted = super().acquire(wait_ms)
        if is_granted and self.settings.name == "%s":
            past(%s, b"GET lock\\r\\n")
        return is_granted
"""
ANOTHER = "a server whose place another one has taken"
WHERE = [
    ("restart-empty", "A", "self.first", ANOTHER), ("restart-aof", "A", "self.first", ANOTHER), ("sentinel-fence", "A", "self.first", ANOTHER),
    ("failover-fence", "A", "self.first", ANOTHER), ("failover-fence", "B", "self.first", ANOTHER), ("restart-empty", "B", "self.port()", "server 1"),
    ("restart-aof", "B", "self.port()", "server 1"), ("failover-fence", "B", "self.port()", "server 1"),
    ("failover-fence", "A", "self.replica()", "server 1"), ("sentinel-fence", "B", "self.port()", "server 1"),
    ("sentinel-fence", "A", "self.replica()", "server 1"), (None, "A", "self.replica()", "the replica of server 1"),
]


@pytest.mark.parametrize("scenario, who, port, words", [pytest.param(*row, marks=[] if at in (0, 4, 7, 8, 10, 11) else one_of) for at, row in enumerate(WHERE)])
def test_a_run_that_reads_past_the_proxy_is_unknown(picklock, tmp_path, scenario, who, port, words):
    """Whatever becomes of the server that it asks: it serves on, is a primary by then, in reserve, or killed."""
    story = tmp_path / "quiet.yaml"
    story.write_text("name: quiet\nsource: none\nlease: 300ms\nclients: [A, B]\nreplica: yes\nsteps:\n  - A acquires\n  - A releases\n"
                     "expect:\n  set-nx-px-cad: { lease-exclusion: holds }\n")
    ran, said = run_of(picklock, tmp_path, played(scenario) if scenario else story, RIGHT + CHILD + READS % (who, port))
    assert ran.status == 2 and f"somebody went past the proxy: {words} has had 1 connection of which nobody here knows" in said, ran


def test_who_does_so_beside_others_alone_is_unknown(picklock, tmp_path):
    """As a run notices it: by what becomes of the key."""
    ran, said = explored(picklock, tmp_path, LOCK % (BESIDE_OTHERS, "True", b"SET lock x PX 300\r\n") + CHILD, clients=4)
    assert ran.status == 2 and "no fault, and 1 more cell: unknown, because replayed beside the others" in said, ran
    assert "somebody changed the key 'lock' past the proxy" in said and "somebody went past" not in said, ran


@pytest.mark.parametrize("frees", [pytest.param('self.ask("EVAL", FREE, 1, self.settings.key, self.token)', id="right", marks=one_of),
                                   pytest.param('self.ask("DEL", self.settings.key)', id="wrong")])
def test_who_asks_past_it_beside_others_alone_is_unknown(picklock, tmp_path, kept, frees):
    """It changes nothing there: the connections of the replays are counted, and none of them confirms anything."""
    lock = LOCK.replace('self.ask("EVAL", FREE, 1, self.settings.key, self.token)', frees)
    ran, said = explored(picklock, tmp_path, lock % (BESIDE_OTHERS, "True", b"GET lock\r\n") + CHILD, clients=4)
    assert ran.status == 2 and "no fault, and 1 more cell: unknown, because somebody went past the proxy" in said, ran
    assert "confirmed" not in said and not (kept.exists() and list(kept.iterdir())), ran


def test_who_does_not_is_decided(picklock, tmp_path, kept):
    ran, said = explored(picklock, tmp_path, LOCK % ("False", "True", b"") + CHILD)
    assert ran.status == 0 and "1 safe, 1 nobody's fault, 0 broken, 0 stuck, 0 unknown" in said and "past the proxy" not in said, ran
    assert len(list(kept.iterdir())) == 1


def test_the_same_command_through_the_proxy_is_the_locks_own(picklock, tmp_path):
    ran, said = explored(picklock, tmp_path, LOCK % ("True", "not is_mine and self.ask('DEL', self.settings.key) == b''", b"") + CHILD)
    assert ran.status == 1 and "broken (unlock-bug" in said, ran
