"""What a search of a worker has found is replayed by a child of picklock's beside the next searches: all is as without it, also where it is killed;
and it ends with picklock, and all that it runs."""

import json
import os
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, children_of, name_and_stat_of, until

FAULTS = "slow-work,stall,late-request"
NAME = "replays-ahead"

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one processor there is no such child")

# One that the child has started (its supervisor is between them) waits for ever, where that is wanted, and says who started it.
WORKER = f"""
import os, pathlib, runpy, signal, sys

def parent_of(pid):
    return int(pathlib.Path(f"/proc/{{pid}}/stat").read_text().rsplit(")", 1)[1].split()[1])

hangs, child = os.environ.get("HANGS"), parent_of(os.getppid())
if hangs and pathlib.Path(f"/proc/{{child}}/comm").read_text() == "{NAME}\\n":
    pathlib.Path(hangs + ".part").write_text(str(child))
    os.rename(hangs + ".part", hangs)
    signal.pause()
sys.argv[1:] = ["set-nx-ex-del"]
runpy.run_path("{ROOT}/sim/test/scheme_worker.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def lock(tmp_path_factory):
    path = tmp_path_factory.mktemp("lock") / "lock.py"
    path.write_text(WORKER)
    return path


def start(lock, folder, hangs="", **more):
    return subprocess.Popen([PICKLOCK, "explore", "--worker", f"/usr/bin/python3 {lock}", "--clients", "2", "--rounds", "1", "--fault", FAULTS,
                             "--no-cache", "--fail-on", "never", "--out", folder], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "HANGS": str(hangs)}, **more)


def start_hanging(lock, tmp_path):
    """And who replays in it."""
    hangs = tmp_path / "hangs"
    process = start(lock, tmp_path / "runs", hangs)
    until(hangs.exists, "it replays beside the search")
    return process, int(hangs.read_text())


def seen(process, folder, status=0):
    """All that a run has said and written, but for where, when, and how long it took."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == status, err
    (run,) = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    files = {str(path.relative_to(run)): path.read_text().replace(str(run), "RUN") for path in run.rglob("*") if path.is_file()}
    results = json.loads(files["results.json"])["results"]
    for row in results:
        row.pop("seconds")
    kept = {name: text for name, text in files.items() if name.startswith(("histories/", "schedules/"))}
    return out.replace(str(run), "RUN"), sorted(files), kept, results


@pytest.fixture(scope="module")
def without(lock, tmp_path_factory):
    folder = tmp_path_factory.mktemp("without")
    one = min(os.sched_getaffinity(0))
    ran = seen(start(lock, folder, preexec_fn=lambda: os.sched_setaffinity(0, {one})), folder)
    assert any(name.startswith("histories/") for name in ran[1]) and not any(".replay" in name for name in ran[1])
    return ran


def descendants(pid):
    found = children_of(pid)
    for child in found:
        found += children_of(child)
    return found


def has_ended(pid):
    stat = name_and_stat_of(pid)[1]
    return not stat or stat[0] == "Z"


def test_what_is_replayed_beside_searches_is_as_without(lock, without, tmp_path):
    assert seen(start(lock, tmp_path), tmp_path) == without


@pytest.mark.long("11 s of CPU")
def test_what_it_was_killed_in_is_replayed_again(lock, without, tmp_path):
    process, child = start_hanging(lock, tmp_path)
    assert child in children_of(process.pid) and name_and_stat_of(child)[0] == NAME
    started = descendants(child)
    os.kill(child, signal.SIGKILL)
    assert seen(process, tmp_path / "runs") == without
    until(lambda: all(map(has_ended, started)), "all that it ran has ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_picklock(number, lock, tmp_path):
    process, child = start_hanging(lock, tmp_path)
    started = [child, *descendants(process.pid)]
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    until(lambda: all(map(has_ended, started)), "all that ran has ended")
    assert process.returncode == (-number if number == signal.SIGKILL else 2), err
