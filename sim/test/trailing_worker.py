"""trailing_worker.py NAME - locks whose timers run on behind an attempt, and what they mind while they do; clients that are not alike: for tests of
what asking takes for the same. Standard library only."""

import os
import random
import sys
import threading
import time

import picklock_worker
from scheme_worker import COMPARE_DELETE, Connection, SetNxPxCad


class Trailing(SetNxPxCad):
    """Behind each attempt a timer runs, to no effect; `last` says how that attempt ended."""

    timer, runs, last = None, False, "nothing"

    def trail(self, last):
        def ring():
            self.runs = False

        self.close_timer()
        self.runs, self.last = True, last
        self.timer = threading.Timer(0.05, ring)
        self.timer.start()

    def close_timer(self):
        if self.timer:
            self.timer.cancel()

    def close(self):
        self.close_timer()
        super().close()

    def minds(self):
        """How the attempt before this one ended, while its timer runs."""
        return self.last if self.runs else "nothing"

    def acquire(self, wait_ms):
        self.minded = self.minds()
        granted, last = False, "lost"
        try:
            granted = super().acquire(wait_ms)
            last = "refused"
        finally:
            if not granted:
                self.trail(last)
        return granted

    def release(self):
        last = "lost"
        try:
            released = super().release()
            last = "released" if released else "gone"
            return released
        finally:
            self.trail(last)


class Grudging(Trailing):
    """Who was refused refuses to ask again as long as that timer runs."""

    def take(self):
        return self.minded != "refused" and super().take()


class Sly(Trailing):
    """An attempt that began while the timer of one that was refused ran does not know whether it has released what is gone."""

    def release(self):
        released = super().release()
        if not released and self.minded == "refused":
            raise TimeoutError("who knows")
        return released


class Growing(SetNxPxCad):
    """No scheme: it counts how often it was refused."""

    refusals = 0

    def take(self):
        taken = self.redis("SET", self.key, self.token, "NX", "PX", self.ms + self.refusals) == "OK"
        self.refusals += not taken
        return taken


class Moody(Trailing):
    """While the timer of an attempt runs it does what was drawn for how that attempt ended: moody SEED."""

    MOODS = ("as ever", "as ever", "looks behind", "refuses", "keeps it longer")

    def init(self, settings):
        super().init(settings)
        draw = random.Random(int(sys.argv[2]))
        self.moods = {last: draw.choice(self.MOODS) for last in ("refused", "released", "gone", "lost")}

    def take(self):
        mood = self.moods.get(self.minded, "as ever")
        if mood == "refuses":
            return False
        if mood == "keeps it longer":
            return self.redis("SET", self.key, self.token, "NX", "PX", 2 * self.ms) == "OK"
        return super().take() or (mood == "looks behind" and self.redis("GET", self.key) == self.token)


class Behind(SetNxPxCad):
    """It deletes the key first in an attempt behind others that ended so, `behind rge [slowly|of-b|timed]`: refused, granted, with an error. Slowly: as it
    releases, it waits for 0.3 of a lease, before and behind; of-b: client B alone; timed: a grant that was held for half a lease, and released, is an h."""

    ends, slowly, timed = "", "slowly" in sys.argv, "timed" in sys.argv

    def init(self, settings):
        super().init(settings)
        self.minds = settings.client == 1 or "of-b" not in sys.argv

    def take(self):
        if self.minds and self.ends.endswith(sys.argv[2]):
            self.redis("DEL", self.key)
        end = "e"
        try:
            taken = super().take()
            end = "g" if taken else "r"
            return taken
        finally:
            self.ends += end
            self.since = time.monotonic() if self.timed else None

    def release(self):
        is_late = self.timed and time.monotonic() - self.since > 0.4 * self.ms / 1000
        if self.slowly:
            time.sleep(0.3 * self.ms / 1000)
        released = super().release()
        if is_late and released:
            self.ends = self.ends[:-1] + "h"
        if self.slowly:
            time.sleep(0.3 * self.ms / 1000)
        return released


class Piping(SetNxPxCad):
    """As SetNxPxCad; behind the command that takes the key it sends one that looks at it, before it reads the replies of both."""

    def take(self):
        self.redis.connect()
        self.redis.send(("SET", self.key, self.token, "NX", "PX", self.ms))
        self.redis.send(("GET", self.key))
        taken = self.redis.reply() == "OK"
        self.redis.reply()
        return taken


class Apart(SetNxPxCad):
    """As SetNxPxCad; it releases over a connection of its own. `apart blindly`: it does not look whether one of the two has broken meanwhile."""

    def init(self, settings):
        super().init(settings)
        self.other = Connection(settings.address())
        self.redis.looks = self.other.looks = "blindly" not in sys.argv

    def close(self):
        self.other.close()
        super().close()

    def release(self):
        return self.other("EVAL", COMPARE_DELETE, 1, self.key, self.token) == 1


class Alternating(SetNxPxCad):
    """Seven tokens by turns."""

    attempts = 0

    def draw(self):
        if self.attempts == 0:
            self.tokens = [os.urandom(16).hex() for _ in range(7)]
        self.token = self.tokens[self.attempts % 7]
        self.attempts += 1


class Twice(SetNxPxCad):
    """As SetNxPxCad until that has happened to it twice since it was reset, `twice broken|jumped|late`: then it looks at the key first."""

    times, offset = 0, None

    def init(self, settings):
        super().init(settings)
        self.what, close = sys.argv[2], self.redis.close

        def count_and_close():
            self.times += self.what == "broken" and bool(self.redis.socket)
            close()
        self.redis.close = count_and_close

    def close(self):
        self.what = "nothing"
        super().close()

    def connected_behind(self, operation):
        """What it does; its connection is made anew at once."""
        try:
            return operation()
        except OSError:
            self.redis.connect()
            raise

    def look_at_clocks(self):
        before, self.offset = self.offset, time.time() - time.monotonic()
        self.times += before is not None and abs(self.offset - before) > 0.5

    def look_at_key(self):
        if self.what == "jumped":
            self.look_at_clocks()
        if self.times > 1:
            self.redis("GET", self.key)

    def acquire(self, wait_ms):
        self.look_at_key()
        granted = self.connected_behind(lambda: super(Twice, self).acquire(wait_ms))
        if self.what == "late":
            self.since = time.monotonic()
        return granted

    def release(self):
        self.times += self.what == "late" and time.monotonic() - self.since > self.ms / 1000
        self.look_at_key()
        return self.connected_behind(super().release)


class Fourth(SetNxPxCad):
    """As SetNxPxCad; of many clients the fourth, and those behind it, look at the key before they take it."""

    def init(self, settings):
        super().init(settings)
        self.looks = settings.client >= 3

    def take(self):
        return (not self.looks or self.redis("EXISTS", self.key) == 0) and super().take()


if __name__ == "__main__":
    picklock_worker.run(globals()[sys.argv[1].title()])
