"""Runs of a search are made by a child of picklock's beside it: all is as without it, also where it comes to nothing; and it ends with picklock, and
all that it runs."""

import os
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, children_of, name_and_stat_of, until
from test_replays_ahead import NAME, WORKER, descendants, has_ended, seen

RUNS_AHEAD = "runs-ahead"

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one processor there is no such child")


def worker_of(tmp_path, scheme):
    """What the child starts of it waits for ever, where that is wanted, and says who started it."""
    path = tmp_path / "lock.py"
    path.write_text(WORKER.replace(NAME, RUNS_AHEAD).replace("set-nx-ex-del", scheme))
    return path


def start(lock, folder, *more, hangs="", **how):
    return subprocess.Popen([PICKLOCK, "explore", "--worker", f"/usr/bin/python3 {lock}", "--search", "random", "--fail-on", "never", "--out", folder,
                             *more], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "HANGS": str(hangs)}, **how)


def start_hanging(tmp_path, *more):
    """And who makes runs in it."""
    hangs = tmp_path / "hangs"
    process = start(worker_of(tmp_path, "set-nx-px-cad"), tmp_path / "runs", "--fault", "none", *more, hangs=hangs)
    until(hangs.exists, "it begins beside the search")
    child = int(hangs.read_text())
    assert child in children_of(process.pid) and name_and_stat_of(child)[0] == RUNS_AHEAD
    return process, child


def alone():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@pytest.mark.parametrize("scheme, options, has_found", [
    ("set-nx-px-cad", ("--fault", "none", "--runs", "230", "--seed", "5"), False),
    pytest.param("set-nx-ex-del", ("--fault", "slow-work,stall", "--rounds", "1", "--runs", "110", "--seed", "1"), True,
                 marks=pytest.mark.long("each finding takes twenty processes")),
])
def test_what_is_run_beside_a_search_is_as_without(tmp_path, scheme, options, has_found):
    lock = worker_of(tmp_path, scheme)
    with_it = seen(start(lock, tmp_path / "with", *options), tmp_path / "with", 2)
    assert with_it == seen(start(lock, tmp_path / "without", *options, preexec_fn=alone), tmp_path / "without", 2)
    assert any(one["cause"] == "unlock-bug" for row in with_it[3] for one in row["properties"]) == has_found


def test_what_does_not_begin_is_not_waited_for(tmp_path):
    """Nor by the end of the search; the time is kept."""
    process, child = start_hanging(tmp_path, "--runs", "100000", "--budget", "3s")
    started = [child, *descendants(child)]
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2 and "not found in" in out and "not found in 100000" not in out, (out, err)
    until(lambda: all(map(has_ended, started)), "all that it ran has ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_picklock(number, tmp_path):
    process, child = start_hanging(tmp_path, "--runs", "100000")
    started = [child, *descendants(process.pid)]
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    until(lambda: all(map(has_ended, started)), "all that ran has ended")
    assert process.returncode == (-number if number == signal.SIGKILL else 2), err
