"""A small lock over redis-py that `picklock test` finds nothing against: what each line is for stands beside it."""

import time
import uuid

import picklock_worker
import redis

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class Worker(picklock_worker.Worker):
    promises = ["expiry", "token"]

    def init(self, settings):
        host, port = settings.address()
        # A connection that has fallen silent is given up: who waits on it for ever hears of nothing.
        self.redis = redis.Redis(host=host, port=port, socket_timeout=2 * settings.ttl_ms / 1000)
        self.key, self.ttl_ms = settings.key, settings.ttl_ms

    def acquire(self, wait_ms):
        self.token = uuid.uuid4().hex.encode()  # of this attempt alone: what an earlier one sent is not taken for its own
        asked = time.monotonic()  # the lease counts from here, and no operator sets this clock
        if not self.redis.set(self.key, self.token, nx=True, px=self.ttl_ms):
            if self.redis.get(self.key) != self.token:  # it may be ours: what lies between may have sent it twice
                return False
        if time.monotonic() - asked > self.ttl_ms / 1000 * 0.9:  # too late, with something for a clock that runs slow
            self.release()
            raise TimeoutError("the lock came when most of its lease was over")
        return True

    def release(self):
        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1  # compares and deletes in one step

    def close(self):
        self.redis.close()


picklock_worker.run(Worker)
