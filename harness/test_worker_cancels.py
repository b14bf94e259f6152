"""Workers whose acquire is cancelled while it goes on: who forgets what the server has granted meanwhile leaves a key that nobody has."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest
from conftest import LONG, ROOT
from workers import EXAMPLES, PYTHON, needs_node, needs_redis_py

# As the scheme set-nx-px-cad; it waits by trying again, and is told by an event that nobody wants the lock any more.
WAITING = """
import sys
import threading
import time
import picklock_worker

sys.path.insert(0, {tests!r})
from scheme_worker import SetNxPxCad


class Worker(SetNxPxCad):
    promises = ["expiry", "token", "cancels"]

    def init(self, settings):
        super().init(settings)
        self.cancelled = threading.Event()

    def acquire(self, wait_ms):
        self.cancelled.clear()
        self.draw()
        ends = time.monotonic() + wait_ms / 1000
        while not self.cancelled.is_set():
            if self.take():
                return not self.cancelled.is_set() or self.came_too_late()
            if time.monotonic() >= ends:
                break
            self.cancelled.wait(0.05)
        return False

    def cancel(self):
        self.cancelled.set()
        return True

    def came_too_late(self):
        {late}


{more}
picklock_worker.run(Worker)
"""
LATE = {"gives it back": "self.release(); return False", "forgets it": "return False", "throws": "raise InterruptedError", "keeps it": "return True"}
LEAKS = {"forgets it", "throws"}
SEARCHED = ("gives it back", "forgets it", "keeps it")
# As an event loop has it: the task of the acquire is cancelled, wherever it is.
TASK = """
import asyncio
import picklock_worker
import redis.asyncio
from redis.exceptions import LockError


class Worker(picklock_worker.Worker):
    promises = ["expiry", "token"]
    {more}

    async def init(self, settings):
        host, port = settings.address()
        self.redis = redis.asyncio.Redis(host=host, port=port)
        self.settings, self.lock = settings, self.redis.lock(settings.key, timeout=settings.ttl_ms / 1000)

    async def acquire(self, wait_ms):
        return await {taken}

    async def take(self, wait_ms):
        return await self.lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000)

    async def take_to_the_end(self, wait_ms):
        taking = asyncio.ensure_future(self.take(wait_ms))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            if await taking:
                await self.lock.release()
            return False

    async def release(self):
        try:
            await self.lock.release()
            return True
        except LockError:
            return False

    async def close(self):
        await self.redis.close()
        await self.redis.connection_pool.disconnect()


picklock_worker.run(Worker)
"""


@pytest.fixture
def written(tmp_path):
    def write(text, **words):
        path = tmp_path / "my_lock.py"
        for name, word in {"tests": str(ROOT / "sim" / "test"), "more": "", **words}.items():
            text = text.replace(f"{{{name}!r}}", repr(word)).replace(f"{{{name}}}", word)
        path.write_text(text)
        return f"{PYTHON} {shlex.quote(str(path))}"

    return write


@pytest.fixture
def searched(picklock, tmp_path):
    """(what ran, {(fault, property): cause} of what is violated)"""

    def search(worker, *more, wait="2s", fault="none"):
        path = tmp_path / "results.json"
        ran = picklock("explore", "--worker", worker, "--search", "random", "--clients", 2, "--rounds", 1, "--fault", fault, "--json", path,
                       "--out", tmp_path / "out", *(["--wait", wait] if wait else []), *more)
        rows = json.loads(path.read_text())["results"]
        assert all(row["trouble"] is None for row in rows), ran
        assert all(row["search"].get("cancels", 0) == ("cancelled at most once" in " ".join(ran.out.split())) for row in rows), ran
        return ran, {(row["fault"], one["property"]): one["cause"] for row in rows for one in row["properties"] if one["verdict"] == "violated"}

    return search


def played(picklock, tmp_path, worker, path="scenarios/forgotten-grant.yaml"):
    ran = picklock("run", "--worker", worker, path, "--json", tmp_path / "results.json")
    [row] = json.loads((tmp_path / "results.json").read_text())["results"]
    return ran, row, {one["property"]: one["cause"] for one in row["properties"] if one["verdict"] == "violated"}


@pytest.mark.parametrize("late", [pytest.param(late, marks=pytest.mark.long("in its scenario it is found below") if late in LEAKS else []) for late in (*SEARCHED, "throws")])
def test_what_is_granted_behind_the_cancelling_is_given_back(picklock, written, searched, tmp_path, late):
    """Or kept; a grant that is forgotten is found by running, and its schedule is replayed and followed."""
    worker = written(WAITING, late=LATE[late])
    ran, found = searched(worker, "--runs", 8)
    assert "each client cancelled at most once" in " ".join(ran.out.split())
    assert found == ({("none", "no-orphan"): "unreleased"} if late in LEAKS else {}), ran
    if late in LEAKS:
        [path] = (tmp_path / "out" / "latest" / "schedules").glob("*no-orphan*")
        assert "'s acquire is cancelled\n" in path.read_text()
        again = picklock("replay", path, "--worker", worker)
        assert again.status == 1 and "no-orphan is violated (unreleased)" in again.out, again
        mended = picklock("replay", path, "--worker", written(WAITING, late=LATE["gives it back"]))
        assert mended.status == 0 and "unreleased" not in mended.out, mended


@pytest.mark.parametrize("late", LATE)
def test_what_is_granted_behind_the_cancelling_in_its_scenario(picklock, written, tmp_path, late):
    """Or kept, and told."""
    worker = written(WAITING, late=LATE[late])
    ran, row, found = played(picklock, tmp_path, worker)
    found.pop("mutual-exclusion", None)  # who keeps it works for longer than its lease
    assert row["trouble"] is None and found == ({"no-orphan": "unreleased"} if late in LEAKS else {}), ran
    assert ("Its acquire had been cancelled at 0.2 ms" in ran.out) == (late in LEAKS)


@pytest.mark.parametrize("promises, unjudged", [(["expiry", "cancels"], "no-orphan (token), loss-notice (notice), fence-order (fence)"),
                                                (["token", "cancels"], "always-expires (expiry), loss-notice (notice), fence-order (fence)")])
def test_what_is_not_judged_without_a_promise_is_named(picklock, written, tmp_path, promises, unjudged):
    """A grant that is forgotten leaves a key; without the promise of a token that is not judged, and said so in every format."""
    worker = written(WAITING, late=LATE["forgets it"], more=f"Worker.promises = {promises}\n")
    ran, row, found = played(picklock, tmp_path, worker)
    assert ("no-orphan" in found) == ("token" in promises), ran
    note = f"Not judged, since the worker does not promise what is in brackets: {unjudged}."
    assert json.loads((tmp_path / "results.json").read_text())["notes"] == [note] and note in " ".join(ran.out.split()), ran


def test_a_lock_without_an_end_is_stuck(picklock, written, tmp_path):
    """Nobody gets it any more, not even behind a lease."""
    more = 'Worker.take = lambda self: self.redis("SET", self.key, self.token, "NX") == "OK"\nWorker.promises = ["token", "cancels"]\n'
    for late, wrong in (("forgets it", {"no-orphan": "unreleased", "progress": "stuck"}), ("gives it back", {})):
        ran, row, found = played(picklock, tmp_path, written(WAITING, late=LATE[late], more=more))
        assert row["trouble"] is None and found == wrong, ran


def test_nobody_is_cancelled_who_does_not_wait_or_promise_it(picklock, written, searched, tmp_path):
    ran, found = searched(written(WAITING, late=LATE["forgets it"]), "--runs", 10, wait=None)
    assert not found and "cancelled at" not in " ".join(ran.out.split()), ran
    unasked = written(WAITING, late=LATE["forgets it"], more='Worker.promises = ["expiry", "token"]\n')
    ran, found = searched(unasked, "--runs", 10)
    assert not found and "cancelled at" not in " ".join(ran.out.split()), ran
    ran, row, _ = played(picklock, tmp_path, unasked)
    assert row["verdict"] == "not_applicable" and "the worker does not promise that its acquire can be cancelled" in json.dumps(row), ran


@pytest.mark.long("18 s of CPU")
def test_a_test_of_who_may_be_cancelled_runs_that_and_says_so(picklock, written, tmp_path):
    ran = picklock("test", written(WAITING, late=LATE["forgets it"]), "scenarios/crash-without-expiry.yaml", "--fault", "none", "--clients", 2,
                   "--rounds", 1, "--wait", "100ms", "--no-cache", "--out", tmp_path / "out")
    words = " ".join(ran.out.split())
    assert ran.status == 1 and "fails: unreleased." in words and "each client cancelled at most once, random search" in words, ran
    assert "which can find, and never prove: no fault (broken (unreleased, " in words and " none safe " in words, ran


def test_by_asking_nobody_is_cancelled_which_is_told(picklock, written):
    ran = picklock("explore", "--worker", written(WAITING, late=LATE["forgets it"]), "--fault", "none", "--clients", 2, "--rounds", 1,
                   "--wait", "100ms", "--no-cache")
    assert "Its acquires are not cancelled: --search random does that." in " ".join(ran.out.split()), ran
    assert "unreleased" not in ran.out, ran
    # Two waits of 50 ms are its 100 ms, or a little more.
    assert "the worker did not answer alike then, or could not be asked on" in " ".join(ran.out.split()), ran


def test_who_holds_the_lock_cannot_be_cancelled(picklock, written, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("# A has the lock, or asks nobody.\nname: mine\nsource: mine\nlease: 300ms\nclients: [A, B]\nsteps:\n  - A acquires\n"
                    "  - A's acquire is cancelled\nexpect:\n  set-nx-px-cad: unsupported\n")
    ran, row, _ = played(picklock, tmp_path, written(WAITING, late=LATE["keeps it"]), path)
    assert row["verdict"] == "not_applicable" and "A is not acquiring" in json.dumps(row), ran


@pytest.mark.long("14 s of CPU")
def test_what_a_lost_message_has_left_is_nobodys_fault(written, searched):
    """The same lock, right: its reply is lost, or its release behind the cancelling."""
    ran, found = searched(written(WAITING, late=LATE["gives it back"]), "--runs", 40, fault="lose-reply,lose-request")
    assert set(found.values()) <= {"leftover", "overrun"}, (found, ran)


TAKEN = [("self.take(wait_ms)", True), ("self.take_to_the_end(wait_ms)", False)]


@needs_redis_py
@pytest.mark.parametrize("taken, leaks", TAKEN)
def test_redis_py_forgets_its_lock_where_its_task_is_cancelled(picklock, written, tmp_path, taken, leaks):
    """Its asyncio Lock; but whoever shields the acquire, and releases what it brings, keeps it."""
    ran, row, found = played(picklock, tmp_path, written(TASK, taken=taken))
    assert row["trouble"] is None and found == ({"no-orphan": "unreleased"} if leaks else {}), ran


@needs_redis_py
@pytest.mark.long("16 s of CPU")
@pytest.mark.parametrize("taken, leaks", TAKEN)
def test_and_by_running(written, searched, taken, leaks):
    worker = written(TASK, taken=taken)
    ran, found = searched(worker, "--runs", 10)
    assert found == ({("none", "no-orphan"): "unreleased"} if leaks else {}), ran


@needs_redis_py
def test_a_task_that_may_not_be_cancelled_is_not(searched, written):
    ran, found = searched(written(TASK, taken="self.take(wait_ms)", more="cancels = False"), "--runs", 10)
    assert not found and "cancelled at" not in " ".join(ran.out.split()), ran


# --- other languages: the examples, and the same without the line that gives the lock back ---

REDIGO = pathlib.Path("/usr/share/gocode/src/github.com/gomodule/redigo/redis")
# By language: an example, what makes it one that can be cancelled where it is none, the line that gives the lock back, and what forgets it.
LANGUAGES = {
    "node": ("small_lock.js", (), "      if (isGranted) await this.release();              // nobody wants it any more\n", "", needs_node),
    "ruby": ("ruby_redis_lock.rb",
             (('"token"', '"token", "cancels"'), ("    @token = ", "    @cancelled = false\n    @token = "), ("return false if ", "return false if @cancelled || "),
              ("    end\n    true\n  end\n", "    end\n    release if @cancelled\n    !@cancelled\n  end\n\n  def cancel = @cancelled = true\n")),
             "    release if @cancelled\n", "",
             pytest.mark.skipif(not shutil.which("ruby") or subprocess.run(["ruby", "-e", "require 'redis'"], capture_output=True).returncode != 0,
                                reason="the Debian packages ruby and ruby-redis are not installed")),
    "java": ("SmallLock.java", (), "        if (isCancelled)\n            release(); // nobody wants it any more\n", "",
             pytest.mark.skipif(not shutil.which("javac"), reason="the Debian package default-jdk-headless is not installed")),
    "go": ("redigo_lock.go", (), "_, err := release.Do(conn, l.settings.Key, l.token)", "var err error",
           [pytest.mark.xdist_group("go"),
            pytest.mark.skipif(not shutil.which("go") or not REDIGO.exists(),
                               reason="the Debian packages golang-go and golang-github-gomodule-redigo-dev are not installed")]),
}


SLOWLY_COMPILED = {"java", "go"}  # of them the wrong one alone, which nobody finds unless it is told


def command_of(folder, name, text):
    """Of an example's text, compiled where it must be."""
    folder.mkdir()
    path = folder / name
    path.write_text(text)
    if path.suffix == ".java":
        done = subprocess.run(["javac", "-d", folder, ROOT / "sim" / "worker" / "java" / "PicklockWorker.java", path], capture_output=True, text=True)
        words = ["java", "-cp", str(folder), path.stem]
    elif path.suffix == ".go":
        shutil.copy(ROOT / "sim" / "worker" / "go" / "picklock_worker.go", folder)
        done = subprocess.run(["go", "build", "-o", "lock"], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "GOCACHE": str(folder.parent / "cache"), "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": "0",
                                   "GOPATH": "/usr/share/gocode"})
        words = [str(folder / "lock")]
    else:
        return shlex.join(["ruby" if path.suffix == ".rb" else "node", str(path)])
    assert done.returncode == 0, done.stderr
    return shlex.join(words)


@pytest.mark.parametrize("language", [pytest.param(name, marks=row[-1] if name != "java" else [row[-1], pytest.mark.long("one of several languages")])
                                      for name, row in LANGUAGES.items()])
def test_in_other_languages(picklock, searched, tmp_path, language):
    """Their modules pass the request on while the acquire goes on."""
    name, changes, gives_back, forgets, _ = LANGUAGES[language]
    text = (EXAMPLES / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    assert gives_back in text
    if language not in SLOWLY_COMPILED or LONG:
        right = command_of(tmp_path / "right", name, text)
        ran, row, found = played(picklock, tmp_path, right)
        assert row["trouble"] is None and not found, ran
        ran, found = searched(right, "--runs", 6)
        assert not found and "each client cancelled at most once" in " ".join(ran.out.split()), ran
    ran, row, found = played(picklock, tmp_path, command_of(tmp_path / "wrong", name, text.replace(gives_back, forgets)))
    # Without a promised token nobody can say whose key it is.
    assert row["trouble"] is None and found == ({"no-orphan": "unreleased"} if language != "node" else {}), ran
