"""pytest plug-in: scenario and schedule files are tests, and a steered server is a fixture.

Collected are *.schedule files, and *.yaml files that are scenarios (they have steps:), one test for each scheme that a scenario states
something of. With `picklock_lock = my_lock.py` in pytest.ini (or --picklock-lock), it is one test a file: that lock plays it.
"""

import pathlib
import re

import pytest

import picklock


def pytest_addoption(parser):
    group = parser.getgroup("picklock")
    group.addoption("--picklock-lock", metavar="LOCK", help="the lock that plays scenarios: my_lock.py, ./my_lock.so, 'node my_lock.js'")
    group.addoption("--picklock-on", metavar="WORLD", choices=["redis", "sim"], help="where schemes run: redis (default) or sim")
    parser.addini("picklock_lock", "the lock that plays scenarios")
    parser.addini("picklock_options", "more options of `picklock run` and `picklock replay`", type="args", default=[])


def _lock(config):
    return config.getoption("--picklock-lock") or config.getini("picklock_lock") or None


def _words(config):
    """As `picklock.run(...)` takes them."""
    words, options = list(config.getini("picklock_options")), {}
    while words:
        name, _, value = words.pop(0).partition("=")
        options[name.removeprefix("--")] = value or (words.pop(0) if words and not words[0].startswith("--") else True)
    if config.getoption("--picklock-on"):
        options["on"] = config.getoption("--picklock-on")
    return options


_FIELDS = ("name", "source", "lease", "clients", "steps", "expect")


def _fields(path):
    """Which fields of a scenario begin a line in it, be it with or without their colon; None: it cannot be read, or is empty."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return None
    if not text.strip():
        return None
    return {name for name in _FIELDS if re.search(rf"^{name}\b", text, re.M)}


def _looks_like_one(fields):
    return bool(fields) and len(fields) >= (2 if "lease" in fields else 4)


def _is_scenario(path, is_named):
    """A damaged one, too: it is a test that fails, not one that is gone. An empty file, or one that was cut off behind its source, is one where it
    was named, or stands among some."""
    fields = _fields(path)
    if fields is not None and fields != {"name", "source"}:
        return _looks_like_one(fields)
    return is_named or any(_looks_like_one(_fields(one)) for one in path.parent.glob("*" + path.suffix) if one != path)


def _is_of_a_run(path):
    """What a command has put down into its run folder is nobody's test; one that is to stay is copied from there."""
    return any((folder / "results.json").exists() for folder in list(path.parents)[:2])


def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".schedule" and not _is_of_a_run(file_path):
        return ScheduleFile.from_parent(parent, path=file_path)
    if file_path.suffix in (".yaml", ".yml") and _is_scenario(file_path, parent.session.isinitpath(file_path)):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class _Test(pytest.Item):
    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (AssertionError, picklock.PicklockError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, f"{self.path.name}: {self.name}"


class ScenarioFile(pytest.File):
    def collect(self):
        if _lock(self.config):
            yield ScenarioTest.from_parent(self, name=pathlib.Path(_lock(self.config)).name, lock=_lock(self.config))
            return
        for scheme in self._schemes():
            yield ScenarioTest.from_parent(self, name=scheme or "scenario", lock=scheme)

    def _schemes(self):
        """Those below expect:, as they stand there: `picklock run` reads the file, and says what is wrong with it."""
        expect = re.search(r"^expect:[^\n]*\n((?:[ \t]+[^\n]*\n|\n|#[^\n]*\n)*)", self.path.read_text(errors="replace") + "\n", re.M)
        named = re.findall(r"^[ ]+([a-z0-9][\w-]*):", expect.group(1), re.M) if expect else []
        known = picklock.schemes()
        return [name for name in named if name in known] or [None]


class ScenarioTest(_Test):
    def __init__(self, *, lock, **more):
        super().__init__(**more)
        self.lock = lock

    def runtest(self):
        report = picklock.run(self.path, lock=self.lock, **_words(self.config))
        why = [row.get("not_applicable") or (row["unsupported"] and row["as_expected"] and row["trouble"]) for row in report.rows]
        if why and all(why):  # no row was judged
            pytest.skip(why[0])
        report.assert_as_expected()


class ScheduleFile(pytest.File):
    def collect(self):
        yield ScheduleTest.from_parent(self, name="replay")


class ScheduleTest(_Test):
    """A schedule is a counterexample that somebody keeps: it passes once it is none any more."""

    def runtest(self):
        named = re.search(r"^worker: (.*)$", self.path.read_text(errors="replace").partition("\n---")[0], re.M)
        if named and not _lock(self.config) and not {"worker", "scheme"} & set(_words(self.config)):
            raise picklock.PicklockError(f"{self.path.name}: a worker plays it, and none is named. Set picklock_lock in pytest.ini, or say "
                                         f"--picklock-lock: the schedule was found with '{named.group(1)}'")
        picklock.replay(self.path, lock=_lock(self.config), **_words(self.config)).assert_as_expected()


@pytest.fixture(scope="session")
def _picklock_server():
    with picklock.Server() as server:
        yield server


@pytest.fixture
def picklock_redis(_picklock_server):
    """A private redis-server without a key, and its clock in your hand: picklock_redis.url, .advance("10s")."""
    _picklock_server.reset()
    return _picklock_server


@pytest.fixture(scope="session")
def _picklock_proxy(_picklock_server):
    with picklock.Proxy(_picklock_server.url) as proxy:
        yield proxy


@pytest.fixture
def picklock_proxy(_picklock_proxy, picklock_redis):
    """The fault proxy in front of picklock_redis, without a fault: picklock_proxy.url, .add("latency", latency=300). It is healed at the
    end of the test, whatever the test has done."""
    _picklock_proxy.heal()
    yield _picklock_proxy
    _picklock_proxy.heal()
