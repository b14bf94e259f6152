"""A wait takes whole ticks in a search by asking: nothing is said of a lock that hangs on that alone, and what a wait in earnest does is found
(sim/ask/, sim/explore/result/retime.c)."""

import json
import re

import pytest
from conftest import ROOT
from workers import PYTHON


def asked(picklock, tmp_path, worker, faults, *options):
    """The words of each cell, the schedules of the run, and what it printed."""
    ran = picklock("explore", "--worker", f"{PYTHON} sim/test/waiting_worker.py {worker}", "--clients", 2, "--rounds", 1, "--fault", faults,
                   "--out", tmp_path, *options, cwd=ROOT)
    assert ran.status in (0, 1), ran
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]
    cells = json.loads((folder / "results.json").read_text())["results"]
    schedules = (folder / "schedules").iterdir() if (folder / "schedules").is_dir() else ()
    return {cell["fault"]: cell["search"]["words"] for cell in cells}, "".join(path.read_text() for path in schedules), " ".join(ran.out.split())


def test_two_short_waits_are_no_lease(picklock, tmp_path):
    """But where a section lasts until just before its end, it ends within one; the schedule has these times, and each timer rings when it is due."""
    found, schedules, out = asked(picklock, tmp_path, "waits-and-deletes", "none,slow-work")
    assert found["none"] == "safe" and "waits that add up to whole ticks" in out, out
    assert "unlock-bug" in found["slow-work"], out
    assert re.search(r"time passes 1\.98\d*s\nA releases\n", schedules), schedules


def test_two_waits_of_half_a_lease_and_more_are_one(picklock, tmp_path):
    found, _, out = asked(picklock, tmp_path, "waits-and-deletes 1.1", "none")
    assert "unlock-bug" in found["none"] and "waits that add up" not in out, out


@pytest.mark.long("as what waits twice above, 6 s of CPU")
def test_who_waits_before_its_look_may_look_in_time(picklock, tmp_path):
    """Each wait a tick, its look would always come behind its lease, and nothing would be found."""
    found, _, out = asked(picklock, tmp_path, "looks-between", "none,slow-work")
    assert found["none"] == "safe" and "unlock-bug" in found["slow-work"], out


@pytest.mark.parametrize("worker", [
    pytest.param("looks-between-long", marks=pytest.mark.long("one of two")),
    "waits-on-both-sides",
])
def test_waits_that_each_end_within_another_tick_are_asked_with_finer_ones(picklock, tmp_path, worker):
    """Together they are less than a lease, so it takes a section that lasts."""
    found, _, out = asked(picklock, tmp_path, worker, "none,slow-work")
    assert found["none"] == "safe" and "unlock-bug" in found["slow-work"] and "with a lease of 3 ticks" in out, out


def test_a_wait_of_less_than_a_lease_overruns_none(picklock, tmp_path):
    """Nor does a way whose timer is due and does not ring."""
    found, _, out = asked(picklock, tmp_path, "extends-late 1.2", "none")
    assert found == {"none": "safe"} and "1 cell was decided so" in out, out


@pytest.mark.long("6 s of CPU: above another wait of less than a lease")
def test_a_grant_that_waits_for_less_than_a_lease_is_not_late(picklock, tmp_path):
    """Slow work is done by who has the lock: nobody's timer rings late of it before."""
    found, _, out = asked(picklock, tmp_path, "grants-late 1.2", "slow-work")
    assert found == {"slow-work": "overrun only"}, out


@pytest.mark.long("as who waits for the lock and tries as often")
def test_who_tries_again_unasked_tries_as_often_as_it_does(picklock, tmp_path):
    found, _, out = asked(picklock, tmp_path, "tries-by-itself 0.2", "slow-work")
    assert "acquire-bug" in found["slow-work"], out


@pytest.mark.long("8 s of CPU: below another one that is right")
def test_who_looks_behind_each_wait_is_right(picklock, tmp_path):
    found, _, out = asked(picklock, tmp_path, "looks-again", "none,slow-work")
    assert found == {"none": "safe", "slow-work": "overrun only"} and "did not answer alike" not in out, out


def test_who_waits_for_the_lock_and_tries_again_is_right(picklock, tmp_path):
    found, _, out = asked(picklock, tmp_path, "tries-again 0.05", "slow-work", "--wait", "1s")
    assert "overrun only" in found["slow-work"], out


def test_who_waits_for_the_lock_tries_as_often_as_it_does(picklock, tmp_path, monkeypatch):
    """A second is two ticks at most, and twenty tries, at the last of which it breaks; from kept answers, too."""
    monkeypatch.setenv("PICKLOCK_CACHE", str(tmp_path / "cache"))
    for kept in False, True:
        found, _, out = asked(picklock, tmp_path / f"kept-{kept}", "breaks-at-last 0.05", "slow-work", "--wait", "1s")
        assert "acquire-bug" in found["slow-work"] and ("kept from an earlier run" in out) == kept, out


@pytest.mark.parametrize("worker, why", [
    ("minds-lateness", "in a search no more than a lease and 3 ticks pass, and the worker minds more"),  # from 2.6 leases on
    ("one-minds-lateness", "or its clients are not alike"),  # of two
    ("nobody-minds", None),
])
def test_what_a_worker_does_behind_more_time_than_is_tried_is_told(picklock, worker, why):
    """Such a cell is run instead, but for --frontier."""
    ran = picklock("explore", "--worker", f"{PYTHON} sim/test/waiting_worker.py {worker}", "--clients", 2, "--rounds", 1, "--fault", "slow-work",
                   "--frontier", "--no-cache", cwd=ROOT)
    out = " ".join(ran.out.split())
    assert (ran.status, "release-own: unknown" in out) == ((2, True) if why else (0, False)), ran
    assert why is None or why in out, out
