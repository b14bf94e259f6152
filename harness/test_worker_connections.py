"""Connections of workers: that fall silent, that are refused, that end with commands on their way. Who breaks by it, and who lives with it."""

import json
import os
import shlex
import shutil
import subprocess

import pytest
from conftest import BUILD, LONG, PATIENCE_S, ROOT
from workers import EXAMPLES, PYTHON, needs_node, needs_redis_py

# A scheme of the table as a worker, over a socket of its own; a connection that failed is closed, and the next command dials anew.
OWN = """
import sys
import picklock_worker

sys.path.insert(0, {tests!r})
import scheme_worker
from scheme_worker import Connection, Set{lock}

Connection.timeout = {timeout}


class Worker(Set{lock}):
    {more}


picklock_worker.run(Worker)
"""
CAREFUL, PLAIN_DELETE = "NxPxCad", "NxExDel"

@pytest.fixture
def own(tmp_path):
    def write(lock=CAREFUL, timeout=None, more="pass"):
        path = tmp_path / "my_lock.py"
        path.write_text(OWN.format(tests=str(ROOT / "sim" / "test"), lock=lock, timeout=timeout, more=more))
        return f"{PYTHON} {shlex.quote(str(path))}"

    return write


def violated(row):
    return {one["property"]: one["cause"] for one in row["properties"] if one["verdict"] == "violated"}


@pytest.fixture
def searched(picklock, tmp_path):
    """(what ran, {fault: {property: cause}} of what is violated)"""

    def search(worker, faults, *more):
        path = tmp_path / "results.json"
        ran = picklock("explore", "--worker", worker, "--search", "random", "--clients", 2, "--rounds", 1, "--fault", faults, "--json", path,
                       "--out", tmp_path / "out", *more)
        rows = json.loads(path.read_text())["results"]
        assert all(row["trouble"] is None for row in rows), ran
        return ran, {row["fault"]: violated(row) for row in rows}

    return search


def played(picklock, tmp_path, worker, name):
    ran = picklock("run", "--worker", worker, f"scenarios/{name}.yaml", "--json", tmp_path / "results.json")
    [row] = json.loads((tmp_path / "results.json").read_text())["results"]
    assert row["trouble"] is None, ran
    return ran, row, violated(row)


# --- half-open ---

def test_who_waits_without_a_time_out_waits_for_ever_where_a_connection_falls_silent(picklock, own, searched, tmp_path):
    """And its schedule is replayed and followed."""
    ran, found = searched(own(), "none,half-open", "--runs", 12)
    assert found["none"] == {} and found["half-open"].pop("progress") == "endless-wait", ran
    assert set(found["half-open"].values()) <= {"leftover"}, ran
    assert "connections to server 1 fall silent" in ran.out or ran.status == 1, ran
    [path] = (tmp_path / "out" / "latest" / "schedules").glob("*progress*")
    assert "'s connections to server 1 fall silent\n" in path.read_text()
    again = picklock("replay", path, "--worker", own())
    assert again.status == 1 and "progress is violated (endless-wait)" in again.out, again
    mended = picklock("replay", path, "--worker", own(timeout=1))
    assert mended.status == 0 and "held: progress is not violated" in " ".join(mended.out.split()), mended


def test_who_has_a_time_out_gives_up_and_dials_anew(own, searched, tmp_path):
    """What was executed and never answered leaves a key, as a lost reply does; what was sent into silence is never executed."""
    ran, found = searched(own(timeout=1), "half-open", "--runs", 60, "--seed", 2)
    assert found["half-open"].pop("no-orphan") == "leftover" and set(found["half-open"].values()) <= {"leftover"}, ran
    [path] = (tmp_path / "out" / "latest" / "histories").glob("*no-orphan*")
    told = [json.loads(line) for line in path.read_text().splitlines()[1:-1]]
    faults = [(line["fault"], line["client"]) for line in told if line["kind"] == "fault"]
    assert [name for name, _ in faults] == ["half-open", "give-up"] and len({who for _, who in faults}) == 1, told


@pytest.mark.parametrize("timeout, wrong", [(None, {"progress": "endless-wait"}), (1, {})])
def test_a_release_that_is_sent_into_silence(picklock, own, tmp_path, timeout, wrong):
    ran, row, found = played(picklock, tmp_path, own(timeout=timeout), "half-open")
    assert found == wrong, ran
    assert {one["property"]: one["verdict"] for one in row["properties"]}["mutual-exclusion"] == "holds", ran


@needs_redis_py
@pytest.mark.parametrize("options, waits", [("", True), (", socket_timeout=1", False)])
def test_redis_py_has_no_time_out_where_nobody_gives_it_one(picklock, tmp_path, options, waits):
    path, text = tmp_path / "my_lock.py", (EXAMPLES / "redis_py_lock.py").read_text()
    assert text.count("port=port)") == 1
    path.write_text(text.replace("port=port)", f"port=port{options})"))
    ran, _, found = played(picklock, tmp_path, f"{PYTHON} {shlex.quote(str(path))}", "half-open")
    assert found == ({"progress": "endless-wait"} if waits else {}), ran


def test_a_handshake_is_not_answered_either(own, searched):
    """Such commands are not held, and are no messages; silent is silent."""
    more = 'release = lambda self: self.redis("CLIENT", "ID") and super().release()'
    ran, found = searched(own(more=more), "half-open", "--runs", 16)
    assert found["half-open"]["progress"] == "endless-wait", ran


@pytest.mark.long("16 s of CPU")
def test_the_end_of_a_server_is_not_heard_on_a_silent_connection(own, searched, tmp_path):
    """It restarts, or ends all connections, and who waits for an answer of it still waits."""
    ran, found = searched(own(), "half-open+client-kill,half-open+restart-aof", "--runs", 8)
    assert [one["progress"] for one in found.values()] == ["endless-wait"] * 2, ran
    assert "busy" not in ran.out and "unknown (" not in ran.out.split("cells:")[0], ran


def test_by_asking_it_is_refused_by_name(picklock, own):
    ran = picklock("explore", "--worker", own(), "--fault", "half-open")
    assert ran.status == 64 and "half-open does not apply to a worker: connections that fall silent are not decided by asking" in ran.err, ran


# --- dials that take long ---

EACH = """
    def init(self, settings):
        super().init(settings)

        class Each(Connection):
            def __call__(self, *words):
                try:
                    return super().__call__(*words)
                finally:
                    self.close()

        self.redis = Each(settings.address())
"""

def test_who_keeps_no_connection_has_none_that_falls_silent(picklock, tmp_path, own):
    ran = picklock("run", "--worker", own(more=EACH), "scenarios/half-open.yaml", "--out", tmp_path / "out")
    words = " ".join(ran.out.split())
    assert "A keeps no connection to server 1 that could fall silent" in words and "0 unknown, 1 not applicable" in words, ran


@pytest.mark.long("14 s of CPU")
def test_a_release_that_waits_for_its_connection_deletes_what_is_not_its_own(own, searched, tmp_path):
    ran, found = searched(own(PLAIN_DELETE, more=EACH), "slow-dial", "--runs", 300)
    assert found["slow-dial"]["release-own"] == "unlock-bug", ran
    [path] = (tmp_path / "out" / "latest" / "schedules").glob("*release-own*")
    lines = path.read_text().split("---\n")[1].splitlines()
    ends = [at for at, line in enumerate(lines) if " connect to server 1" in line]
    assert [lines[at][1:] for at in ends] == [" cannot connect to server 1", " can connect to server 1"], lines
    assert any(line.startswith("time passes") for line in lines[ends[0]:ends[1]]), lines
    ran, found = searched(own(PLAIN_DELETE, more=EACH), "none", "--runs", 10)
    assert found["none"] == {}, ran


def test_a_release_that_compares_lives_with_a_slow_connection(own, searched):
    ran, found = searched(own(more=EACH), "slow-dial", "--runs", 40)
    assert set(found["slow-dial"].values()) <= {"leftover", "overrun"} and "release-own" not in found["slow-dial"], ran
    assert "no fault struck" not in ran.out, ran


FOR_EVER = """
    def release(self):
        import time
        while True:
            try:
                return super().release()
            except OSError:
                time.sleep(0.5)
"""


@pytest.mark.parametrize("more, wrong", [(FOR_EVER, {}), ("pass", {"no-orphan": "leftover"})])
def test_who_dials_for_ever_is_let_in_when_the_server_is_there_again(picklock, own, tmp_path, more, wrong):
    """Its release is executed then, and leaves nothing; the story does not wait for that. Who gives up leaves its key for a lease."""
    ran, row, found = played(picklock, tmp_path, own(more=more), "refusing-server")
    assert found == wrong and "0 unknown" in ran.out, ran


def test_connections_are_held_without_any_right_over_the_network(own, tmp_path):
    """As an ordinary user, and as root of a container has it: without CAP_NET_ADMIN."""
    without = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"] if os.geteuid() == 0 else []
    ran = subprocess.run([*without, BUILD / "picklock", "run", "--worker", own(PLAIN_DELETE, more=EACH), "scenarios/slow-dial.yaml", "--out",
                          tmp_path / "out"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 1 and "unlock-bug" in ran.stdout and "0 unknown" in ran.stdout, ran


def test_who_gives_up_connecting_and_says_so_is_not_blamed(own, searched):
    """Behind its own time-out nothing comes: the key goes with its lease, which is nobody's fault."""
    ran, found = searched(own(PLAIN_DELETE, timeout=0.05, more=EACH), "slow-dial", "--runs", 40)
    assert set(found["slow-dial"].values()) <= {"leftover", "overrun"}, ran
    assert "no fault struck" not in ran.out, ran


def test_who_keeps_its_connection_is_never_struck_and_not_called_safe(own, searched):
    ran, found = searched(own(PLAIN_DELETE), "slow-dial", "--runs", 10)
    assert found["slow-dial"] == {} and "unknown (no fault struck in 10 runs" in ran.out and " 0 safe" in ran.out, ran


@pytest.mark.parametrize("lock, more, wrong", [(PLAIN_DELETE, EACH, {"release-own": "unlock-bug"}), (CAREFUL, EACH, {}), (PLAIN_DELETE, "pass", {})])
def test_a_release_whose_connection_takes_longer_than_the_lease(picklock, own, tmp_path, lock, more, wrong):
    ran, row, found = played(picklock, tmp_path, own(lock, more=more), "slow-dial")
    assert {name: cause for name, cause in found.items() if name == "release-own"} == wrong, ran
    assert wrong or row["verdict"] == "holds", ran


@pytest.mark.skipif(not shutil.which("strace"), reason="the Debian package strace is not installed")
def test_where_the_kernel_does_not_say_who_connects_it_is_unknown(own, tmp_path):
    command = [BUILD / "picklock", "run", "--worker", own(PLAIN_DELETE, more=EACH), "scenarios/slow-dial.yaml", "--out", tmp_path / "out"]
    strace = ["strace", "-o", "/dev/null", "-e", "trace=sendmsg", "-e", "inject=sendmsg:error=EPERM"]
    ran = subprocess.run(strace + command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "A cannot connect to server 1: who connects cannot be found: this kernel answers no sock_diag" in " ".join(ran.stdout.split()), ran
    assert "1 unknown" in ran.stdout, ran


def test_by_asking_slow_connections_are_refused_by_name(picklock, own):
    ran = picklock("explore", "--worker", own(), "--fault", "slow-dial")
    assert ran.status == 64 and "slow-dial does not apply to a worker: connections that are made slowly are not decided by asking" in ran.err, ran


# --- refused, and ended with commands on their way ---

RETRIES = """
    def release(self):
        try:
            return super().release()
        except OSError:
            return super().release()
"""


@pytest.mark.long("9 s of CPU")
def test_a_release_that_is_refused_is_no_release(own, searched):
    """Who says that it has released, whatever came of it, leaves a key without being told; who says that it failed is told."""
    lies = "def release(self):\n        try:\n            return super().release()\n        except OSError:\n            return True"
    ran, found = searched(own(more=lies), "none,refusing-server", "--runs", 60)
    assert found["none"] == {} and found["refusing-server"]["no-orphan"] == "untrue-answer", ran
    ran, found = searched(own(), "refusing-server", "--runs", 20)
    assert set(found["refusing-server"].values()) <= {"leftover", "overrun"}, ran


DIALS_AT_ONCE = """
const net = require('node:net');
const { run } = require('picklock-worker');

let settings, socket, waiting;

function dial() {
  socket = net.connect(settings.address());
  socket.on('data', (bytes) => waiting.resolve(bytes.toString()));
  socket.on('error', () => {});
  socket.on('close', () => {
    if (waiting) waiting.reject(new Error('connection lost'));
    setImmediate(dial);
  });
}

function ask(text) {
  return new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    socket.write(`${text}\\r\\n`);
  });
}

run({
  promises: ['expiry', 'token'],
  async init(given) { settings = given; dial(); },
  async acquire() { return (await ask(`SET ${settings.key} ${settings.name}${Math.random()} NX PX ${settings.ttl_ms}`)).startsWith('+'); },
  async release() { return (await ask(`DEL ${settings.key}`)).startsWith(':1'); },
});
"""


@needs_node
def test_who_dials_while_a_sentinel_looks_for_a_primary_meets_nobody(picklock, tmp_path):
    """As often as it likes; when there is a primary again it is let in, and gets the lock that the replica does not know."""
    path = tmp_path / "lock.js"
    path.write_text(DIALS_AT_ONCE)
    ran, row, found = played(picklock, tmp_path, f"node {shlex.quote(str(path))}", "sentinel-promotes")
    assert found == {"mutual-exclusion": "lost-grant", "lease-exclusion": "lost-grant"}, ran


def test_a_plain_delete_that_is_tried_again_where_its_connection_ended(own, searched):
    """The first was executed, its answer lost with its connection; the second one deletes another client's lock."""
    ran, found = searched(own(PLAIN_DELETE, more=RETRIES), "client-kill", "--runs", 30, "--seed", 0)
    assert found["client-kill"]["release-own"] == "unlock-bug", ran
    ran, found = searched(own(PLAIN_DELETE, more=RETRIES), "none", "--runs", 12, "--seed", 0)
    assert found["none"] == {}, ran
    ran, found = searched(own(more=RETRIES), "client-kill", "--runs", 12, "--seed", 0)
    assert set(found["client-kill"].values()) <= {"leftover", "untrue-answer"} and "release-own" not in found["client-kill"], ran


def test_whom_a_server_refused_in_one_replay_it_takes_in_the_next(own, searched, tmp_path):
    """The first witness ends with a server that refuses; the second one is written by the same servers."""
    ran, found = searched(own(more=RETRIES), "refusing-server", "--runs", 10, "--seed", 1)
    assert list(found["refusing-server"]) == ["no-orphan", "truthful"] and "is a request on its way" not in ran.err, ran
    ends = [path.read_text().splitlines() for path in sorted((tmp_path / "out" / "latest" / "schedules").iterdir())]
    assert "server 1 refuses connections" in ends[0] and "server 1 can be reached again" not in ends[0], ends


PIPELINE = """
    def take(self):
        try:
            self.redis.connect()
            self.redis.send(("SETNX", self.key, self.token))
            self.redis.send(("PEXPIRE", self.key, self.ms))
            return [self.redis.reply(), self.redis.reply()][0] == 1
        except OSError:
            self.redis.close()
            raise
"""


@pytest.mark.parametrize("fault", ["client-kill", pytest.param("half-open", marks=pytest.mark.long("one of two"))])
def test_a_reset_inside_a_pipeline(own, searched, tmp_path, fault):
    """The first command of two that were sent at once is executed, and the second never comes: a key that never goes. In one command it has an end."""
    ran, found = searched(own(PLAIN_DELETE, timeout=1, more=PIPELINE), f"none,{fault}", "--runs", 12 if fault == "client-kill" else 60)
    assert "always-expires" not in found["none"] and found[fault]["always-expires"] == "no-expiry", ran
    [path] = (tmp_path / "out" / "latest" / "schedules").glob("*always-expires*")
    lines = path.read_text().split("---\n")[1].splitlines()
    assert sum("reaches" in line for line in lines if "SETNX" in line) == 1 and not any("PEXPIRE reaches" in line for line in lines), lines
    ran, found = searched(own(PLAIN_DELETE, timeout=1), fault, "--runs", 12 if fault == "client-kill" else 60)
    assert "always-expires" not in found[fault], ran


# --- timers that have nothing to do with the lock ---

TICKS = """
    def init(self, settings):
        import threading
        import time
        super().init(settings)

        def beat():
            while True:
                time.sleep({every})
                {then}

        threading.Thread(target=beat, daemon=True).start()
"""


def ticks(every, then="pass"):
    return TICKS.format(every=every, then=then)


@pytest.mark.parametrize("every", [3, pytest.param(3600, marks=pytest.mark.long("14 s of CPU"))])
def test_a_timer_that_sends_nothing_hides_no_endless_wait(picklock, own, searched, tmp_path, every):
    worker = own(more=ticks(every))
    if LONG:
        ran, found = searched(worker, "none,half-open", "--runs", 6)
        assert found["none"] == {} and found["half-open"]["progress"] == "endless-wait" and ran.status == 1, ran
        [path] = (tmp_path / "out" / "latest" / "schedules").glob("*progress*")
        again = picklock("replay", path, "--worker", worker)
        assert again.status == 1 and "progress is violated (endless-wait)" in again.out, again
    ran, _, found = played(picklock, tmp_path, worker, "half-open")
    words = " ".join(ran.out.split())
    assert found == {"progress": "endless-wait"} and "no answer to it will come, and timers of its have rung" in words, ran


@pytest.mark.parametrize("timeout", [pytest.param(60, marks=pytest.mark.long("one of two")), 290])
def test_a_time_out_beside_such_a_timer_ends_the_wait(picklock, own, searched, tmp_path, timeout):
    worker = own(timeout=timeout, more=ticks(60))
    if LONG:
        ran, found = searched(worker, "half-open", "--runs", 10)
        assert set(found["half-open"].values()) <= {"leftover"}, ran
        assert "waits for what does not come" not in ran.out, ran
    assert played(picklock, tmp_path, worker, "half-open")[2] == {}


@pytest.mark.parametrize("every, then", [(0.3, "pass"), (60, 'scheme_worker.Connection(settings.address())("PING")')])
def test_a_wait_whose_end_is_not_seen_is_unknown(own, searched, every, then):
    """Its timer rings too often for a search to wait so long; or sends something, so that it is seen to do something."""
    ran, found = searched(own(more=ticks(every, then)), "half-open", "--runs", 6)
    words = " ".join(ran.out.split())
    assert found["half-open"] == {} and ran.status == 2 and "waits for what does not come" in words and "give its commands a time-out" in words, ran


@pytest.mark.long("its verdict stands in the test above")
def test_such_a_timer_makes_no_test_pass(picklock, own, tmp_path):
    ran = picklock("test", own(more=ticks(60)), "--fault", "half-open", "scenarios/hand-over.yaml", "--out", tmp_path / "out")
    assert ran.status == 1 and "endless-wait" in ran.out and "my_lock.py passes" not in ran.out, ran


@needs_node
@pytest.mark.long("11 s of CPU")
def test_so_it_is_with_a_timer_of_node(picklock, searched, tmp_path):
    path = tmp_path / "small_lock.js"
    path.write_text("setInterval(() => {}, 60000);\n" + (EXAMPLES / "small_lock.js").read_text())
    worker = f"node {shlex.quote(str(path))}"
    ran, found = searched(worker, "half-open", "--runs", 6)
    assert found["half-open"]["progress"] == "endless-wait", ran
    assert played(picklock, tmp_path, worker, "half-open")[2]["progress"] == "endless-wait"
