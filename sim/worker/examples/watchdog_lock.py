"""A lock over redis-py with a watchdog: a timer renews the lease while the lock is held, and whoever holds it is told when it is lost."""

import threading
import time
import uuid

import picklock_worker
import redis

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class Worker(picklock_worker.Worker):
    promises = ["expiry", "renews", "notice", "token"]

    def init(self, settings):
        host, port = settings.address()
        self.redis = redis.Redis(host=host, port=port)
        self.renewing = redis.Redis(host=host, port=port)  # a renewal waits for no other command
        self.key, self.ttl_ms = settings.key, settings.ttl_ms
        self.timers = []

    def acquire(self, wait_ms):
        self.token = uuid.uuid4().hex.encode()
        asked = time.monotonic()
        if not self.redis.set(self.key, self.token, nx=True, px=self.ttl_ms):
            return False
        if time.monotonic() - asked > self.ttl_ms / 1000 * 0.9:  # too late
            self.release()
            raise TimeoutError("the lock came when most of its lease was over")
        self.watch(self.token, asked)
        return True

    def watch(self, token, asked):
        """The lease counts from `asked`: renewed at a third of it, and lost at its end."""
        self.stop()
        self.timers = [threading.Timer(asked + self.ttl_ms / 1000 * part - time.monotonic(), rings, [token])
                       for part, rings in ((1 / 3, self.renew), (1, self.lose))]
        for timer in self.timers:
            timer.daemon = True
            timer.start()

    def renew(self, token):
        asked = time.monotonic()
        try:
            is_mine = self.renewing.eval(RENEW, 1, self.key, token, self.ttl_ms) == 1
        except redis.RedisError:
            return  # nobody knows; the lease that is certain still ends by the other timer
        if token != self.token:
            return  # released meanwhile
        if is_mine:
            self.watch(token, asked)
        else:
            self.lose(token)

    def lose(self, token):
        if token == self.token:
            self.stop()
            self.lost()

    def stop(self):
        for timer in self.timers:
            timer.cancel()

    def release(self):
        token, self.token = self.token, None  # a renewal that is under way finds nobody there
        self.stop()
        return self.redis.eval(RELEASE, 1, self.key, token) == 1

    def close(self):
        self.stop()
        self.redis.close()
        self.renewing.close()


picklock_worker.run(Worker)
