"""Clocks of workers that are wrong: they jump, or run at another rate; by running, by asking, and replayed."""

import os

import pytest
from conftest import LONG
from workers import plain_worker

worker = pytest.fixture(plain_worker)

# It goes by a clock of its own: what it takes for over, it gives back no more, and says "not mine".
WATCHFUL = """
class Worker(Worker):
    promises = ["expiry", "token"]

    def acquire(self, wait_ms):
        self.until = time.{clock}() + self.settings.ttl_ms / 1000
        self.token = os.urandom(8).hex()
        return self.ask("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def release(self):
        script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
        if time.{clock}() >= self.until:
            return False
        return self.ask("EVAL", script, 1, self.settings.key, self.token) == b":1\\r\\n"
"""


def cells(ran):
    """By fault: what was said of it."""
    return {line.split()[0]: " ".join(line.split(" states")[0].split()[1:-1]) for line in ran.out.splitlines() if " states " in line}


@pytest.mark.parametrize("clock, jumps", [("time", "broken (untrue-answer, 5 steps)"), ("monotonic", "safe")])
def test_who_goes_by_a_clock_that_jumps_is_found_by_asking(picklock, worker, tmp_path, clock, jumps):
    """It acquires, the request arrives, its reply is heard, the clock jumps, and a release that 
    says what is not so: a monotonic clock does not jump. Both drift: while the work takes no longer than the lease, a clock at twice
    its speed says that it is over. Without a drift nobody says so."""
    ran = picklock("explore", "--worker", worker(WATCHFUL.format(clock=clock)), "--clients", 2, "--rounds", 1, "--no-cache",
                   "--fault", "none,client-clock,slow-work,slow-work+client-drift", "--out", tmp_path)
    found = cells(ran)
    assert found["none"] == "safe" and found["client-clock"] == jumps and found["slow-work"] == "overrun only", ran
    assert found["slow-work+client-drift"].startswith("broken (untrue-answer"), ran
    assert ran.out.count("confirmed") == (3 if clock == "time" else 2), ran


@pytest.mark.parametrize("fault, clock, status", [pytest.param("client-clock", "time", 1, marks=pytest.mark.long("by asking it is found above")), ("client-clock", "monotonic", 0),
                                                  pytest.param("slow-work+client-drift", "monotonic", 1, marks=pytest.mark.long("11 s of CPU"))])
def test_the_same_by_running(picklock, worker, tmp_path, fault, clock, status):
    ran = picklock("explore", "--worker", worker(WATCHFUL.format(clock=clock)), "--search", "random", "--clients", 2,
                   "--runs", 150 if LONG else 40, "--rounds", 1, "--fault", fault, "--out", tmp_path)
    assert ("untrue-answer" in ran.out) == (status == 1), ran


def test_a_clock_that_is_remembered_from_attempt_to_attempt_leaves_no_new_worker(picklock, worker, tmp_path):
    """It refuses to begin when its clock shows less than in the attempt before. Only where clocks jump does it matter."""
    lock = worker("""
class Worker(Worker):
    promises = ["expiry", "token"]
    last = 0

    def acquire(self, wait_ms):
        now = time.time()
        if now < self.last:
            raise RuntimeError("the clock has gone back")
        Worker.last = now
        self.token = os.urandom(8).hex()
        return self.ask("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def release(self):
        script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
        return self.ask("EVAL", script, 1, self.settings.key, self.token) == b":1\\r\\n"

    def close(self):
        Worker.last = 0
""")
    ran = picklock("explore", "--worker", lock, "--clients", 2, "--no-cache", "--fault", "none,client-clock", "--out", tmp_path)
    assert ran.status == 2 and cells(ran)["none"] == "safe", ran
    assert "does not close" in " ".join(ran.out.split()) and "goes on otherwise than a new one" in " ".join(ran.out.split()), ran
