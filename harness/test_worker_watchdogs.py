"""Workers with a watchdog, a timer that renews the lease: a right one is blamed for nothing but what a pause does to any; wrong ones are found by running."""

import json
import shlex

import pytest
from conftest import LONG
from workers import EXAMPLES, PYTHON, needs_redis_py

pytestmark = needs_redis_py
RIGHT = (EXAMPLES / "watchdog_lock.py").read_text()
RENEWS = "self.renewing.eval(RENEW, 1, self.key, token, self.ttl_ms) == 1"
RELEASES = """        token, self.token = self.token, None  # a renewal that is under way finds nobody there
        self.stop()
        return self.redis.eval(RELEASE, 1, self.key, token) == 1"""
BLIND, GOES_ON = "self.renewing.pexpire(self.key, self.ttl_ms) == 1", "        return self.redis.eval(RELEASE, 1, self.key, self.token) == 1"
WRONG = {
    "without comparing the token": [(RENEWS, BLIND)],
    "whoever has it": [(RENEWS, "self.renewing.eval(RENEW, 1, self.key, self.renewing.get(self.key) or b'', self.ttl_ms) == 1")],
    "after the release": [(RELEASES, GOES_ON), (RENEWS, BLIND), ("            self.lose(token)\n\n    def lose", "            self.watch(token, asked)\n\n    def lose")],
    "its own, after the release": [(RELEASES, GOES_ON)],
}


@pytest.fixture
def written(tmp_path):
    def write(changes=()):
        text = RIGHT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "lock.py").write_text(text)
        return f"{PYTHON} {shlex.quote(str(tmp_path / 'lock.py'))}"

    return write


@pytest.fixture
def judged(picklock, tmp_path):
    """(what ran, {(fault or scenario, property): cause} of what is violated)"""

    def judge(*words):
        path = tmp_path / "results.json"
        ran = picklock(*words, "--json", path)
        rows = json.loads(path.read_text())["results"]
        assert all(row["trouble"] is None for row in rows), ran
        return ran, {(row.get("fault") or row["scenario"], one["property"]): one["cause"] for row in rows for one in row["properties"]
                     if one["verdict"] == "violated"}

    return judge


def searched(judged, worker, faults, *more):
    return judged("explore", "--worker", worker, "--search", "random", "--clients", 2, "--rounds", 1, "--fault", faults, *more)


def test_a_right_watchdog_is_blamed_for_what_a_pause_does(written, judged):
    """While its process stands still nobody can be told, and the lease ends; a lost message has its price. As the scheme watchdog-guarded."""
    ran, found = searched(judged, written(), "none,slow-work,lose-request,stall" if LONG else "none,stall", *(("--runs", 60) if LONG else ("--runs", 24, "--seed", 1)))
    assert {(fault, cause) for (fault, _), cause in found.items()} <= {("stall", "no-notice"), ("stall", "overrun"), ("lose-request", "leftover")}, ran
    assert ("stall", "loss-notice") in found


@pytest.mark.parametrize("how, fault, more", [
    pytest.param("without comparing the token", "stall", (), marks=pytest.mark.long("in its scenario it is found below")), pytest.param("whoever has it", "stall", ("--runs", 300, "--seed", 3),
                                                                 marks=pytest.mark.long("one of several")),
    pytest.param("after the release", "none", (), marks=pytest.mark.long("one of several, 80 s of CPU")),
])
def test_who_renews_another_ones_lock_is_found(written, judged, how, fault, more):
    ran, found = searched(judged, written(WRONG[how]), fault, *(more or ("--runs", 100)))
    assert found[fault, "extend-own"] == "foreign-extend", ran


def test_who_renews_what_is_not_its_own_any_more_is_found_in_its_story(written, judged):
    """Behind a release that was lost: it compares, so it does no harm to anybody else; but a lock that nobody holds is kept for ever. The right one lets it expire."""
    story = "scenarios/watchdog-outlives-release.yaml"
    ran, found = judged("run", "--worker", written(WRONG["its own, after the release"]), story)
    assert found["watchdog-outlives-release", "progress"] == "stuck", ran
    ran, found = judged("run", "--worker", written(), story, "scenarios/watchdog-hangs.yaml")
    assert found == {("watchdog-outlives-release", "no-orphan"): "leftover"}, ran
    ran, found = judged("run", "--worker", written(WRONG["without comparing the token"]), "scenarios/watchdog-hangs.yaml")
    assert found["watchdog-hangs", "extend-own"] == "foreign-extend", ran


def test_by_asking_a_watchdog_is_unknown_and_told_what_runs_it(picklock, written):
    """Whether it promises that it renews, or is found to."""
    for changes, told in (((), "a lock that renews by itself is not decided by asking yet: --search random runs it"),
                          ([('"renews", ', "")], "it sends commands while nothing is asked of it: that is not decided by asking yet; --search random runs it")):
        ran = picklock("explore", "--worker", written(changes), "--clients", 2, "--rounds", 1, "--fault", "slow-work", "--frontier", "--no-cache")
        assert ran.status == 2 and told in " ".join(ran.out.split()), ran
