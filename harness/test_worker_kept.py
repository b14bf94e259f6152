"""Answers of a worker that are kept from run to run (sim/ask/cache.c): taken while nothing has changed, never believed when something has."""

import json
import os
import shlex
import subprocess

import pytest
from conftest import BUILD
from workers import PLAIN, PYTHON, RUN

# What it writes stands in a file that is no program.
WORKER = PLAIN.replace('"PX", self.settings.ttl_ms)', '"PX", self.settings.ttl_ms - int(open(sys.argv[1] + "/by").read()))') + RUN


@pytest.fixture
def explore(tmp_path):
    (tmp_path / "my_lock.py").write_text(WORKER)
    (tmp_path / "shorter").mkdir()
    (tmp_path / "shorter" / "by").write_text("0")
    command = f"{PYTHON} -B {shlex.quote(str(tmp_path / 'my_lock.py'))} {shlex.quote(str(tmp_path / 'shorter'))}"

    def run(*options, cache=tmp_path / "cache", env=None):
        """The notes, and its cells but for the time that they took."""
        out = tmp_path / "results.json"
        done = subprocess.run([BUILD / "picklock", "explore", "--worker", command, "--fault", "none", "--clients", "2", "--rounds", "1",
                               "--json", out, *options], text=True, env=os.environ | {"PICKLOCK_CACHE": str(cache)} | (env or {}),
                              capture_output=True, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        results = json.loads(out.read_text())
        return " ".join(results["notes"]), [row | {"seconds": 0} for row in results["results"]]

    return run


def kept_file(tmp_path):
    (path,) = (tmp_path / "cache").iterdir()
    return path


def test_the_second_run_takes_the_answers_of_the_first_while_nothing_has_changed(explore, tmp_path):
    depends = ("--depends", str(tmp_path / "shorter" / "by"))
    first, cells = explore(*depends)
    assert "kept" not in first
    assert kept_file(tmp_path).stat().st_mode & 0o777 == 0o600
    second, same = explore(*depends)
    assert "of these answers were kept from an earlier run" in second and same == cells
    assert " 0 answers were asked for again" not in second
    assert "kept" not in explore(*depends, "--no-cache")[0]
    (tmp_path / "shorter" / "by").write_text("0 ")
    assert "kept" not in explore(*depends)[0]
    (tmp_path / "my_lock.py").write_text(WORKER + "\n")
    assert "kept" not in explore(*depends)[0]
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "imported.py").write_text("")
    assert "kept" not in explore(*depends)[0]


def test_a_worker_may_go_by_its_environment(explore, tmp_path):
    """What no terminal and no shell changes by itself; and no value of it stands in the file."""
    explore(env={"LOCK_MODE": "a secret word"})
    assert "kept from an earlier run" in explore(env={"LOCK_MODE": "a secret word", "COLUMNS": "77", "SHLVL": "9"})[0]
    assert "kept" not in explore(env={"LOCK_MODE": "another"})[0]
    assert all(b"a secret word" not in path.read_bytes() for path in (tmp_path / "cache").iterdir())


def test_a_stale_answer_shows(explore, tmp_path):
    """What it reads is not named, and says something else now."""
    explore()
    (tmp_path / "shorter" / "by").write_text("500")
    notes, _ = explore()
    assert "a kept answer that was asked for again is another one now: all were dropped, and asked anew" in notes
    assert "were kept" not in notes


def damaged(path, how):
    whole = path.read_bytes()
    if how == "a byte":
        path.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    elif how == "half":
        path.write_bytes(whole[:len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "of others":
        path.chmod(0o666)
    else:
        path.rename(path.with_suffix(".moved"))
        path.symlink_to(path.with_suffix(".moved"))


def test_a_file_that_cannot_be_trusted_is_not_believed(explore, tmp_path):
    explore()
    path = kept_file(tmp_path)
    whole = path.read_bytes()
    for how, words, is_replaced in (("a byte", "is damaged, or of something else", True), ("half", "is damaged", True),
                                    ("empty", "is damaged", True), ("of others", "can be written by others", False),
                                    ("a link", "is no plain file", False)):
        path.write_bytes(whole)
        damaged(path, how)
        bad = path.read_bytes()
        notes, _ = explore()
        assert words in notes and "it was not believed" in notes and "were kept" not in notes, how
        assert (path.read_bytes() != bad) == is_replaced, how
        path.chmod(0o600)


def test_where_nothing_can_be_written_it_is_said(explore, tmp_path):
    (tmp_path / "file").write_text("")
    notes, _ = explore(cache=tmp_path / "file" / "cache")
    assert "answers could not be kept: " in notes


def test_the_options_are_for_a_worker_that_is_asked(picklock, tmp_path):
    done = picklock("explore", "--no-cache", "--scheme", "setnx-del")
    assert done.status == 64 and "--no-cache goes with --worker" in done.err
    done = picklock("explore", "--worker", "true", "--depends", str(tmp_path / "nowhere"))
    assert done.status == 64 and "nowhere" in done.err
    done = picklock("explore", "--worker", "true", "--search", "random", "--no-cache")
    assert done.status == 64 and "--no-cache does not go with --worker" in done.err
