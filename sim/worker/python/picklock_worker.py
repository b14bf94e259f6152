"""picklock_worker - what a lock program in Python needs to be tested by picklock. Standard library only.

    import picklock_worker
    from my_library import Lock

    class Worker(picklock_worker.Worker):
        promises = ["expiry", "extends"]

        def init(self, settings):                       # once, and at each reset
            self.lock = Lock(settings.key, settings.ttl_ms, settings.address())

        def acquire(self, wait_ms):                     # True, False, or a fence (a number)
            return self.lock.acquire(wait_ms)

        def release(self):                              # True, or False: it was not mine
            return self.lock.release()

    picklock_worker.run(Worker)

Methods may be `async def`: then all of them run in one event loop, and picklock may cancel the task of an acquire (`cancels = False`
in the class: it may not). One that blocks, and promises "cancels", has a method `cancel`, called from another thread while it acquires.
What a method raises is an error: nobody knows whether it has happened. Refused is `return False`, and nothing else.

Standard output is picklock's alone: from the import of this module on, what anybody prints goes to standard error. See docs/WORKERS.md of picklock.
"""

import io
import faulthandler
import json
import os
import signal
import sys
import threading
import time

__all__ = ["Settings", "Worker", "run"]


class Settings:
    """What `init` said: key, ttl_ms, work_ms, client (0, 1, ..), name ("A"), servers (["127.0.0.1:6379", ..]); user, password: those
    that a connection may give."""

    def __init__(self, request):
        self.key = request["key"]
        self.ttl_ms = request["ttl_ms"]
        self.work_ms = request["work_ms"]
        self.client = request["client"]
        self.name = request["name"]
        self.servers = request["servers"]
        self.user = request.get("user")
        self.password = request.get("password")

    def address(self, server=0):
        """(host, port) of a server."""
        host, port = self.servers[server].rsplit(":", 1)
        return host, int(port)

    def url(self, server=0):
        return f"redis://{self.servers[server]}"


class Worker:
    """A client. Override init, acquire, release; extend, reset where there is something to do."""

    promises = ["expiry"]
    library = ""
    cancels = True  # an acquire that is a task

    def init(self, settings):
        raise NotImplementedError("init(settings)")

    def acquire(self, wait_ms):
        raise NotImplementedError("acquire(wait_ms)")

    def extend(self):
        raise NotImplementedError("extend()")

    def release(self):
        raise NotImplementedError("release()")

    def cancel(self):
        """The acquire that goes on is to end soon (promise it with "cancels"). True: it will. In a thread of its own."""
        return False

    def close(self):
        """Before a reset: lets go of connections, threads, timers. Nothing of the attempt before may go on."""

    def lost(self):
        """The library knows that the lock is gone (promise it with "notice")."""
        _say({"event": "lost"})


_CO_COROUTINE = 0x80  # inspect's; its import costs more than all others here
_writing = threading.Lock()


def _say(answer):
    line = (json.dumps(answer) + "\n").encode()
    with _writing:
        while line:
            line = line[os.write(_out, line):]


def _take_output():
    """The protocol's own descriptor; whoever else writes to standard output writes to standard error: while a library is imported, too."""
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    return out


_out = _take_output()


def _take_input():
    """The protocol's own; whoever else reads standard input reads nothing."""
    incoming = os.fdopen(os.dup(0), "rb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return incoming


def _error(error):
    """What bytes a library puts into its message is its own affair: what is no text is escaped."""
    return {"error": f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()}


def _is_async(function):
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_COROUTINE)


def _outcome(result):
    if isinstance(result, int) and not isinstance(result, bool):
        return {"ok": True, "fence": result}
    return {"ok": bool(result)}


class _Runner:
    """Requests by name. A method's result is awaited where it can be."""

    def __init__(self, kind):
        self.kind = kind
        self.worker = None
        self.settings = None

    def promises(self):
        if isinstance(self.kind.promises, str):
            raise TypeError(f"promises is a text: make it a list, [{self.kind.promises!r}]")
        for method in ("init", "acquire", "release"):
            if getattr(getattr(self.worker, method), "__func__", None) is getattr(Worker, method):
                raise TypeError(f"the worker has no method {method}")
        by_task = _is_async(self.kind.acquire) and self.kind.cancels and "cancels" not in self.kind.promises
        return [*self.kind.promises, *(["cancels"] if by_task else [])]

    async def call(self, function, *values):
        result = function(*values)
        return await result if hasattr(result, "__await__") else result

    async def make(self):
        if self.worker:
            await self.call(self.worker.close)
        self.worker = self.kind()
        await self.call(self.worker.init, self.settings)
        return {"ready": True, "promises": self.promises(), "library": self.kind.library}

    async def do(self, request):
        op = request["op"]
        if op == "init":
            self.settings = Settings(request)
        if op in ("init", "reset"):
            return await self.make()
        if op == "time":
            return {"monotonic_us": time.monotonic_ns() // 1000, "wall_us": time.time_ns() // 1000}
        if op == "acquire":
            return _outcome(await self.call(self.worker.acquire, request["wait_ms"]))
        if op in ("extend", "release", "cancel"):
            return _outcome(await self.call(getattr(self.worker, op)))
        raise ValueError(f"unknown op {op!r}")

    async def answer(self, request):
        try:
            answer = await self.do(request)
        except Exception as error:  # whatever a library raises is its error, and no end of the worker
            if request["op"] in ("init", "reset"):
                raise
            answer = _error(error)
        _say({"id": request["id"], **answer})


def _perform(runner, request):
    step = runner.answer(request)
    try:
        while True:
            step.send(None)
    except StopIteration:
        pass


def _read_ahead(runner, incoming):
    """Requests, read by a thread of their own, which performs those that cancel what goes on."""
    import queue  # only who can be cancelled waits for it

    waiting = queue.SimpleQueue()

    def read():
        for line in incoming:
            request = json.loads(line)
            if request["op"] == "cancel":
                _perform(runner, request)
            else:
                waiting.put(request)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    return iter(waiting.get, None)


def _run_sync(runner, incoming):
    """A library that blocks: one request after the other, in the main thread, where signals and most libraries want to be."""
    lines = io.BufferedReader(incoming)
    for request in _read_ahead(runner, lines) if "cancels" in runner.kind.promises else map(json.loads, lines):
        _perform(runner, request)


async def _answer_or_cancel(asyncio, runner, request):
    try:
        await runner.answer(request)
    except asyncio.CancelledError:
        _say({"id": request["id"], "error": "cancelled"})


async def _run_async(asyncio, runner, incoming):
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), incoming)
    tasks = {}
    while line := await reader.readline():
        request = json.loads(line)
        if request["op"] == "cancel":
            task = tasks.get(request["of"])
            _say({"id": request["id"], "ok": bool(task and task.cancel())})
            continue
        task = loop.create_task(_answer_or_cancel(asyncio, runner, request))
        tasks[request["id"]] = task
        task.add_done_callback(lambda _, number=request["id"]: tasks.pop(number, None))
        if request["op"] in ("init", "reset"):
            await task


def run(kind):
    """Serves until picklock closes standard input."""
    incoming = _take_input()
    faulthandler.register(signal.SIGUSR1)  # where it is, when it does not come to rest
    runner = _Runner(kind)
    methods = (kind.init, kind.acquire, kind.extend, kind.release, kind.close)
    if any(map(_is_async, methods)):
        import asyncio  # takes longer to load than all the rest: only who needs it waits for it

        asyncio.run(_run_async(asyncio, runner, incoming))
    else:
        _run_sync(runner, incoming)
