"""Answers of a worker that are kept from run to run (sim/ask/cache.c): taken while nothing has changed, never believed when something has."""

import json
import os
import shlex
import subprocess

import pytest
from conftest import BUILD, LONG
from workers import PLAIN, PYTHON, RUN

# What it writes stands in a file that is no program.
WORKER = PLAIN.replace('"PX", self.settings.ttl_ms)', '"PX", self.settings.ttl_ms - int(open(sys.argv[1] + "/by").read()))') + RUN

USUAL = {"--fault": "none", "--clients": "2", "--rounds": "1"}


@pytest.fixture
def explore(tmp_path):
    (tmp_path / "my_lock.py").write_text(WORKER)
    (tmp_path / "shorter").mkdir()
    (tmp_path / "shorter" / "by").write_text("0")
    command = f"{PYTHON} -B {shlex.quote(str(tmp_path / 'my_lock.py'))} {shlex.quote(str(tmp_path / 'shorter'))}"

    def run(*options, cache=tmp_path / "cache", env=None):
        """The notes, and its cells but for the time that they took."""
        out = tmp_path / "results.json"
        usual = [word for name, value in USUAL.items() if name not in options for word in (name, value)]
        done = subprocess.run([BUILD / "picklock", "explore", "--worker", command, *usual, "--json", out, *options], text=True,
                              env=os.environ | {"PICKLOCK_CACHE": str(cache)} | (env or {}), capture_output=True, timeout=120)
        assert done.returncode in (0, 1, 2), done.stderr
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
    assert "were kept" not in explore(*depends)[0]
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


def test_what_the_worker_reads_is_found_by_itself(explore, tmp_path):
    """Wherever it lies, and whoever of its processes reads it."""
    explore()
    assert "were kept from an earlier run" in explore()[0]
    (tmp_path / "shorter" / "by").write_text("7")  # of the same size
    notes, _ = explore()
    assert f"{tmp_path / 'shorter' / 'by'} has changed, which the worker reads: all was asked anew" in notes and "were kept" not in notes
    assert "were kept from an earlier run" in explore()[0]


@pytest.mark.long("5 s of CPU")
def test_a_pipeline_that_checks_all_out_anew_takes_them(explore, tmp_path):
    """Other times, and what each of its runs is called; a large file is compared by its time alone."""
    large = tmp_path / "shorter" / "large"
    large.write_bytes(b"x" * (2 << 20))
    (tmp_path / "my_lock.py").write_text(WORKER.replace("class Worker", "open(sys.argv[1] + '/large').read()\n\nclass Worker"))
    explore(env={"GITHUB_RUN_ID": "1"})
    for path in (tmp_path / "my_lock.py", tmp_path / "shorter" / "by"):
        os.utime(path, (1, 1))
    assert "were kept from an earlier run" in explore(env={"GITHUB_RUN_ID": "2", "CI_JOB_ID": "3"})[0]
    os.utime(large, (1, 1))
    assert f"{large} has changed, which the worker reads" in explore()[0]


def test_a_folder_may_be_named_with_all_that_is_below_it(explore, tmp_path):
    (tmp_path / "config" / "deep").mkdir(parents=True)
    depends = ("--depends", str(tmp_path / "config"))
    explore(*depends)
    assert "were kept from an earlier run" in explore(*depends)[0]
    (tmp_path / "config" / "deep" / "new.toml").write_text("")
    assert "were kept" not in explore(*depends)[0]


def test_what_it_reads_and_changes_keeps_no_answers(explore, tmp_path):
    (tmp_path / "my_lock.py").write_text(WORKER.replace("class Worker", "open(sys.argv[1] + '/log', 'a+').write('x')\n\nclass Worker"))
    for _ in range(2):
        notes, _ = explore()
        assert f"none are kept: {tmp_path / 'shorter' / 'log'}, which the worker reads, changed meanwhile" in notes


@pytest.mark.parametrize("mended", [pytest.param(True, marks=pytest.mark.long("one of two")), False], ids=["mended", "broken"])
def test_a_lock_that_lies_elsewhere_gets_its_verdict_in_the_run_behind_the_change(tmp_path, mended):
    """src/ beside tests/: the worker's file stays as it is."""
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir()
    good = PLAIN.replace('return self.ask("DEL", self.settings.key) == b":1\\r\\n"',
                         "return self.ask('EVAL', \"if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) else return 0 "
                         "end\", 1, self.settings.key, self.settings.name) == b':1\\r\\n'")
    assert good != PLAIN
    (tmp_path / "tests" / "worker.py").write_text("import sys\nsys.path.insert(0, 'src')\nfrom lock import Worker\nimport picklock_worker\n" + RUN)
    statuses = []
    for text in (PLAIN, good) if mended else (good, PLAIN):
        (tmp_path / "src" / "lock.py").write_text(text)
        done = subprocess.run([BUILD / "picklock", "explore", "--worker", f"{PYTHON} tests/worker.py", "--fault", "slow-work", "--clients", "2", "--rounds", "1"],
                              cwd=tmp_path, env=os.environ | {"PICKLOCK_CACHE": str(tmp_path / "cache")}, text=True, capture_output=True,
                              timeout=120)
        statuses.append(done.returncode)
    assert statuses == ([1, 0] if mended else [0, 1]), done.stdout + done.stderr
    assert "src/lock.py has changed, which the worker reads" in " ".join(done.stdout.split()).replace("- ", ""), done.stdout


# What it goes by is no file, and is not looked at: the terminal.
BY_TERMINAL = "os.environ['TERM'] == 'other'"


def test_a_stale_answer_shows(explore, tmp_path):
    (tmp_path / "my_lock.py").write_text(WORKER.replace('"PX", ', f'"PX", 7 * ({BY_TERMINAL}) + '))
    explore(env={"TERM": "one"})
    notes, _ = explore(env={"TERM": "other"})
    assert "a kept answer that was asked for again is another one now: all were dropped, and asked anew" in notes
    assert "were kept" not in notes


# Its release goes wrong in the attempt behind a refusal alone.
RARE = PLAIN.replace("    def acquire(self, wait_ms):\n        return ", "    refused = False\n\n    def acquire(self, wait_ms):\n        granted = ").replace(
    '    def release(self):\n        return self.ask("DEL", self.settings.key)', f'''        self.refused = self.refused or not granted
        return granted

    def release(self):
        script = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) else return 0 end"
        if self.ask("EVAL", script, 1, self.settings.key, self.settings.name) == b":1\\r\\n":
            return True
        return self.refused and {BY_TERMINAL} and self.ask("DEL", self.settings.key)''') + RUN


@pytest.mark.long("18 s of CPU")
def test_answers_that_contradict_what_it_does_now_are_dropped_and_asked_anew(explore, tmp_path):
    """Those that are asked for again at the beginning say nothing of it."""
    (tmp_path / "my_lock.py").write_text(RARE)
    options = ("--fault", "slow-work", "--rounds", "3")
    _, cells = explore(*options, env={"TERM": "other"})
    notes, mended = explore(*options, env={"TERM": "one"})
    assert "they do not fit what the worker does now: all were dropped, and asked anew" in notes and "were kept" not in notes, notes
    assert mended != cells and mended == explore(*options, "--no-cache", env={"TERM": "one"})[1]


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
    for how, words, is_replaced in (("a byte", "is damaged, or of something else", True), *((("half", "is damaged", True),
                                    ("empty", "is damaged", True)) if LONG else ()), ("of others", "can be written by others", False),
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
