"""waiting_worker.py NAME [SECONDS] - locks that wait within an operation, for tests of what the grid of time makes of that. Standard library only."""

import sys
import time

import picklock_worker
from scheme_worker import COMPARE_DELETE, SetNxPxCad

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.01


class LooksAgain(SetNxPxCad):
    """Right: behind its SET it waits twice, looks whether the lock is its own still, and gives up where its lease is nearly over."""

    def acquire(self, wait_ms):
        began = time.monotonic()
        if not super().acquire(wait_ms):
            return False
        for _ in range(2):
            time.sleep(SECONDS)
            if self.redis("GET", self.key) != self.token:
                return False
        if time.monotonic() - began > 0.9 * float(self.ms) / 1000:
            self.release()
            raise TimeoutError("its lease is nearly over")
        return True


class WaitsAndDeletes(SetNxPxCad):
    """It looks whose lock that is, waits twice, and deletes it whosever it is by then."""

    def release(self):
        if self.redis("GET", self.key) != self.token:
            return False
        for _ in range(2):
            time.sleep(SECONDS)
        return self.redis("DEL", self.key) == 1


class LooksBetween(SetNxPxCad):
    """It waits twice before it looks whose lock that is, and once more before it deletes it."""

    def wait(self):
        time.sleep(SECONDS)

    def release(self):
        self.wait()
        self.wait()
        if self.redis("GET", self.key) != self.token:
            return False
        self.wait()
        return self.redis("DEL", self.key) == 1


class LooksBetweenLong(LooksBetween):
    """Each time for 0.3 of its lease."""

    def wait(self):
        time.sleep(0.3 * float(self.ms) / 1000)


class WaitsOnBothSides(SetNxPxCad):
    """For 0.4 of its lease behind its SET, and as long between its look and its DEL."""

    def wait(self):
        time.sleep(0.4 * float(self.ms) / 1000)

    def acquire(self, wait_ms):
        is_granted = super().acquire(wait_ms)
        self.wait()
        return is_granted

    def release(self):
        if self.redis("GET", self.key) != self.token:
            return False
        self.wait()
        return self.redis("DEL", self.key) == 1


class GrantsLate(SetNxPxCad):
    """Right: behind its SET it waits for less than a lease."""

    def acquire(self, wait_ms):
        is_granted = super().acquire(wait_ms)
        time.sleep(SECONDS)
        return is_granted


class ExtendsLate(SetNxPxCad):
    """Right: it waits before it extends, for less than a lease."""

    promises = [*SetNxPxCad.promises, "extends"]

    def extend(self):
        time.sleep(SECONDS)
        return self.redis("EVAL", COMPARE_DELETE.replace("redis.call('del',KEYS[1])", "redis.call('pexpire',KEYS[1],ARGV[2])"),
                          1, self.key, self.token, self.ms) == 1


class TriesAgain(SetNxPxCad):
    """Right: until its wait is over."""

    breaks_at = None  # try

    def acquire(self, wait_ms):
        ends, tries = time.monotonic() + wait_ms / 1000, 1
        while not super().acquire(0):
            if time.monotonic() >= ends:
                return False
            time.sleep(SECONDS)
            tries += 1
            if tries == self.breaks_at:
                self.redis("DEL", self.key)
        return True


class BreaksAtLast(TriesAgain):
    """Its fifth try of one acquire breaks the lock."""

    breaks_at = 5


class TriesByItself(BreaksAtLast):
    """The same, unasked."""

    def acquire(self, wait_ms):
        return super().acquire(round(5 * SECONDS * 1000))


class MindsLateness(SetNxPxCad):
    """Behind so many seconds it deletes a lock whosever it is."""

    late = 5.2
    minds = "AB"  # clients

    def init(self, settings):
        super().init(settings)
        self.name = settings.name

    def acquire(self, wait_ms):
        self.began = time.monotonic()
        return super().acquire(wait_ms)

    def release(self):
        if time.monotonic() - self.began >= self.late and self.name in self.minds:
            return self.redis("DEL", self.key) == 1
        return super().release()


class OneMindsLateness(MindsLateness):
    """Client B does so behind a lease."""

    late, minds = 2, "B"


class DeletesByWall(SetNxPxCad):
    """It deletes a lock whosever it is, within its lease by its wall clock; behind that it lets go of nothing."""

    def acquire(self, wait_ms):
        self.began = time.time()
        return super().acquire(wait_ms)

    def release(self):
        return time.time() - self.began < float(self.ms) / 1000 and self.redis("DEL", self.key) == 1


class NobodyMinds(MindsLateness):
    minds = ""


if __name__ == "__main__":
    picklock_worker.run(globals()["".join(part.title() for part in sys.argv[1].split("-"))])
