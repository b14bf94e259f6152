"""A naive lock over redis-py: SET NX PX, released by a plain DEL, whoever's key that is by then."""

import picklock_worker
import redis


class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        host, port = settings.address()
        self.redis = redis.Redis(host=host, port=port)
        self.settings = settings

    def acquire(self, wait_ms):
        return self.redis.set(self.settings.key, self.settings.name, nx=True, px=self.settings.ttl_ms)

    def release(self):
        return self.redis.delete(self.settings.key) == 1

    def close(self):
        self.redis.close()


picklock_worker.run(Worker)
