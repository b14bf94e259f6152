"""remembering_worker.py NAME [NUMBER] - locks that remember of an attempt who had the lock then, or when that was: for tests of what asking makes of
it. Standard library only."""

import sys
import time

import picklock_worker
from scheme_worker import SetNxPxCad


class Nothing(SetNxPxCad):
    """By whom it was refused, how often in a row, and since when: all of that to no effect."""

    holder, times, since = None, 0, 0.0

    def take(self):
        if super().take():
            return True
        holder, now = self.redis("GET", self.key), time.monotonic()
        if holder != self.holder:
            self.holder, self.times, self.since = holder, 0, now
        self.times += 1
        return bool(holder) and self.takes_over(now) and self.redis("SET", self.key, self.token, "PX", self.ms) == "OK"

    def takes_over(self, now):
        return False


class Times(Nothing):
    """From who has refused it so often in a row it takes the lock."""

    def takes_over(self, now):
        return self.times >= int(sys.argv[2])


class Leases(Nothing):
    """From who has refused it for so many leases."""

    def takes_over(self, now):
        return now - self.since > float(sys.argv[2]) * self.ms / 1000


class Blind(Nothing):
    """A lock that it has behind so many refusals by one holder it releases without a look."""

    def release(self):
        if self.times == int(sys.argv[2]):
            return self.redis("DEL", self.key) == 1
        return super().release()


class Ago(SetNxPxCad):
    """So many leases behind its last grant it breaks the lock."""

    granted = None

    def take(self):
        if self.granted and time.monotonic() - self.granted > float(sys.argv[2]) * self.ms / 1000:
            self.redis("DEL", self.key)
        taken = super().take()
        self.granted = time.monotonic() if taken else self.granted
        return taken


if __name__ == "__main__":
    picklock_worker.run(globals()[sys.argv[1].title()])
