"""redis-py's own Lock, as it is."""

import picklock_worker
import redis
from redis.exceptions import LockError, LockNotOwnedError
from redis.lock import Lock


class Worker(picklock_worker.Worker):
    promises = ["expiry", "extends", "token"]
    library = f"redis-py {redis.__version__} Lock"

    def init(self, settings):
        host, port = settings.address()
        self.redis = redis.Redis(host=host, port=port)
        self.lock = Lock(self.redis, settings.key, timeout=settings.ttl_ms / 1000)

    def acquire(self, wait_ms):
        return self.lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000)

    def extend(self):
        try:
            return self.lock.reacquire()
        except LockNotOwnedError:
            return False

    def release(self):
        try:
            self.lock.release()
            return True
        except LockError:  # not owned any more, or not locked
            return False

    def close(self):
        self.redis.close()


picklock_worker.run(Worker)
