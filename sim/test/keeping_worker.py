"""keeping_worker.py [SECONDS [OWN]] - a lock whose library looks after its connection by itself, and makes it anew by a timer, as those of Node.js do.
Standard library only."""

import asyncio
import os
import sys

import picklock_worker
from scheme_worker import COMPARE_DELETE, TOKEN

DELAY = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
OWN = float(sys.argv[2]) if len(sys.argv) > 2 else 0  # it sleeps for so long before it acquires without a connection


class Line(asyncio.Protocol):
    """A connection of Keeping."""

    def __init__(self, worker):
        self.worker = worker

    def connection_made(self, transport):
        self.worker.transport = transport
        self.worker.is_open.set()

    def data_received(self, data):
        self.worker.reply.set_result(data)

    def connection_lost(self, error):
        self.worker.broke()


class Keeping(picklock_worker.Worker):
    """SetNxPxCad over a connection that is made anew a while after it broke (50 ms): who wants to send waits for that."""

    promises = TOKEN
    reply = later = None
    is_over = False

    async def init(self, settings):
        self.settings, self.is_open = settings, asyncio.Event()
        await self.dial()

    async def dial(self):
        await asyncio.get_running_loop().create_connection(lambda: Line(self), *self.settings.address())

    def broke(self):
        self.is_open.clear()
        if self.reply and not self.reply.done():
            self.reply.set_exception(ConnectionError("the server has closed the connection"))
        if not self.is_over:
            self.later = asyncio.get_running_loop().call_later(DELAY, lambda: asyncio.create_task(self.dial()))

    def close(self):
        self.is_over = True
        self.transport.abort()
        if self.later:
            self.later.cancel()

    async def redis(self, *words):
        await self.is_open.wait()
        self.reply = asyncio.get_running_loop().create_future()
        self.transport.write(b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(str(word)), str(word).encode()) for word in words)]))
        return await self.reply

    async def acquire(self, wait_ms):
        if OWN and not self.is_open.is_set():
            await asyncio.sleep(OWN)
        self.token = os.urandom(16).hex()
        return await self.redis("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK\r\n"

    async def release(self):
        return await self.redis("EVAL", COMPARE_DELETE, 1, self.settings.key, self.token) == b":1\r\n"


picklock_worker.run(Keeping)
