"""The action for GitHub: what its step runs, says and leaves; and that the pages around it name what is there."""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import LONG, PATIENCE_S, PICKLOCK, ROOT, run
from workers import PLAIN, RUN

ACTION = ROOT / "harness" / "action"
QUICK = "--fault none,slow-work --clients 2 --rounds 1"
LOCK = PLAIN + RUN


@pytest.fixture
def step(tmp_path):
    """The step as a runner calls it; its outputs and summary beside what it printed."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/picklock").symlink_to(PICKLOCK)
    (tmp_path / "my lock.py").write_text(LOCK)
    for name in ("sim", "scenarios"):
        (tmp_path / name).symlink_to(ROOT / name)

    def call(action=ACTION, **given):
        env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output"), "RUNNER_TEMP": str(tmp_path / "temp"),
               "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "PYTHON": "/usr/bin/python3", **{f"PICKLOCK_{name.upper()}": text for name, text in given.items()}}
        done = subprocess.run([action / "run.sh"], cwd=tmp_path, text=True, capture_output=True, timeout=10 * PATIENCE_S, env={**os.environ, **env})
        done.outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines()) if (tmp_path / "output").exists() else {}
        return done

    return call


def test_a_worker_is_annotated_at_its_line(step, tmp_path):
    done = step(worker="/usr/bin/python3 'my lock.py'", options=f"{QUICK} scenarios/expired-lease-double-delete.yaml")
    assert done.returncode == 1 and done.outputs["status"] == "1", done.stdout + done.stderr
    line = next(number for number, text in enumerate(LOCK.splitlines(), 1) if "def release" in text)
    errors = [text for text in done.stdout.splitlines() if text.startswith("::error ")]
    assert len(errors) == 1 and errors[0].startswith(f"::error file=my lock.py,line={line},title=unlock-bug%3A release-own under slow-work::")
    assert "it removed B's lock" in errors[0]
    assert any(text.startswith("::notice file=my lock.py,line=") and "overrun" in text for text in done.stdout.splitlines())
    assert "## picklock" in (tmp_path / "summary").read_text()
    assert os.path.exists(f"{done.outputs['folder']}/index.html")
    if LONG:  # elsewhere below, a scheme is built and tested by an installed one
        installed = tmp_path / "share" / "picklock" / "action"  # as `make install` has it, without the tree around
        shutil.copytree(ACTION, installed)
        again = step(installed, worker="/usr/bin/python3 'my lock.py'", options=f"{QUICK} scenarios/expired-lease-double-delete.yaml")
        assert again.returncode == 1 and [text for text in again.stdout.splitlines() if text.startswith("::error ")] == errors, again.stdout + again.stderr


def test_what_is_known_is_a_notice(step, tmp_path):
    known = run("test", "/usr/bin/python3 'my lock.py'", *QUICK.split(), "scenarios/expired-lease-double-delete.yaml", "--out", tmp_path / "runs",
                "--baseline", tmp_path / "known", "--update-baseline", cwd=tmp_path)
    assert known.status == 0, known
    done = step(worker="/usr/bin/python3 'my lock.py'", options=f"{QUICK} scenarios/expired-lease-double-delete.yaml", baseline=str(tmp_path / "known"))
    assert done.returncode == 0 and "::error" not in done.stdout and "::notice file=my lock.py" in done.stdout and "title=unlock-bug" in done.stdout, done.stdout + done.stderr


def test_a_scheme_in_c_is_built(step, tmp_path):
    skeleton = (ROOT / "sim/schemes/skeleton.c").read_text().replace("skeleton", "my_lock")
    (tmp_path / "my_lock.c").write_text(skeleton.replace("out_compare_and_delete(out, SERVER_ONE, lease)", "out_del(out, SERVER_ONE)"))
    done = step(scheme="my_lock.c", options="--fault slow-work")
    at = 1 + skeleton.splitlines().index("    out_compare_and_delete(out, SERVER_ONE, lease);")  # not what a comment says of a release
    assert done.returncode == 1 and f"::error file=my_lock.c,line={at},title=unlock-bug" in done.stdout, done.stdout + done.stderr
    (tmp_path / "my_lock.c").write_text("no C\n")
    assert step(scheme="my_lock.c").returncode == 64


def test_a_scheme_is_built_against_the_program_that_runs_it(step, tmp_path):
    """Installed under a prefix that nobody searches, with the action beside it, and no pkg-config."""
    prefix = tmp_path / "odd prefix"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(PICKLOCK, prefix / "bin")
    shutil.copytree(ROOT / "sim", prefix / "include/picklock", ignore=lambda _, names: [name for name in names if name.endswith((".c", ".md"))])
    shutil.copytree(ACTION, prefix / "share/picklock/action")
    for path in [tmp_path / "bin/picklock", tmp_path / "sim"]:
        path.unlink()
    (tmp_path / "bin/picklock").symlink_to(prefix / "bin/picklock")
    (tmp_path / "bin/pkg-config").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/pkg-config").chmod(0o755)
    (tmp_path / "my_lock.c").write_text((ROOT / "sim/schemes/skeleton.c").read_text().replace("skeleton", "my_lock"))
    done = step(prefix / "share/picklock/action", scheme="my_lock.c", options="--fault none")
    assert done.returncode == 0 and "1 safe" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("lock, cause, marked", [
    ("schemes/redlock.c", "overrun", "self->asked_us = in->now_us;"),
    ("schemes/redlock.c", "unlock-bug", "redlock_delete_on_all(lease, out);"),
    ("schemes/setnx_del.c", "unlock-bug", "out_del(out, SERVER_ONE);"),
    ("schemes/stamp_getset.c", "extend-own", "self->stamp = stamp_of(lease, in->now_us);"),  # it overwrites where it acquires
    ("worker/examples/ruby_redis_lock.rb", "unlock-bug", "def release"),  # not the script above it
    ("worker/examples/redigo_lock.go", "extend-own", "func (l *redigoLock) Extend()"),
    ("worker/examples/small_lock.js", "overrun", "async acquire(wait_ms) {"),
])
def test_what_is_annotated_is_code(tmp_path, lock, cause, marked):
    """The line of the operation that a cause, or a property, is about: never a comment, a docstring or an import."""
    found = {"verdict": "violated", "property": cause, "cause": cause, "expected": "holds", "witness": ["a sentence"]}
    row = {"as_expected": False, "scenario": "a", "properties": [found]}
    (tmp_path / "results.json").write_text(json.dumps({"results": [row]}))
    done = subprocess.run([ACTION / "annotate.py", tmp_path, f"a {ROOT}/sim/{lock}"], text=True, capture_output=True, timeout=PATIENCE_S)
    line = int(re.match(r"::error file=[^,]+,line=(\d+),", done.stdout)[1])
    assert marked in (ROOT / "sim" / lock).read_text().splitlines()[line - 1], done


def test_wrong_inputs_are_refused(step, tmp_path):
    for given in ({}, {"worker": "a", "scheme": "b"}):
        done = step(**given)
        assert done.returncode == 64 and "::error title=picklock::wants worker or scheme" in done.stdout
        assert done.outputs == {"status": "64", "folder": ""}
    assert step(scheme="set-nx-px-cad", options="--fualt none").returncode == 64


def test_a_step_that_made_nothing_annotates_nothing(step):
    """Neither what an earlier step of the job has found, nor as if it had passed."""
    before = step(scheme="set-nx-ex-del", options="--fault slow-work --fail-on bug")
    assert before.returncode == 1 and before.stdout.count("::error title=unlock-bug%3A") == 1 and before.outputs["folder"], before
    for options, status, why in [("--fault slow-work --fualt none", 64, "it ended with 64 and has left no results"),
                                 ("--fault 'slow-work", 64, "options: a quote is not closed"),
                                 ("--help", 2, "it ended with 0 and has left no results")]:
        done = step(scheme="set-nx-ex-del", options=options)
        told = [line for line in done.stdout.splitlines() if line.startswith("::")]
        assert done.returncode == status and len(told) == 1 and told[0].startswith(f"::error title=picklock::{why}"), done
        assert done.outputs["folder"] == ""
    again = step(scheme="set-nx-ex-del", options="--fault slow-work --fail-on bug")
    assert again.returncode == 1 and again.outputs["folder"] != before.outputs["folder"]


def test_no_input_is_run_as_a_command(step, tmp_path):
    step(scheme="set-nx-px-cad", options="--fault none '$(touch ran)' `touch ran` ; touch ran")
    step(scheme="$(touch ran)")
    assert not (tmp_path / "ran").exists()


def test_without_a_picklock_it_says_what_to_do(tmp_path):
    """The folder alone, copied as its page says, and no package, or two of them. With one: bare_root.sh."""
    action = tmp_path / ".github" / "picklock"
    shutil.copytree(ACTION, action)
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "id"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))

    def installed():
        return subprocess.run([action / "install.sh"], cwd=tmp_path, text=True, capture_output=True, timeout=PATIENCE_S,
                              env={"PATH": str(tmp_path / "bin")})

    missing = installed()
    assert missing.returncode == 69 and f"put its package (picklock_*.deb) into {tmp_path}" in missing.stdout, missing
    for name in ("picklock_0.1.0_amd64.deb", "picklock_0.0.9_amd64.deb"):
        (tmp_path / name).touch()
    two = installed()
    assert two.returncode == 64 and "2 packages in" in two.stdout and "picklock_0.0.9_amd64.deb" in two.stdout, two


def test_the_action_and_its_pages_are_whole():
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    used = set(re.findall(r"inputs\.([a-z]+)", (ACTION / "action.yml").read_text()))
    assert used == set(action["inputs"])
    for name in re.findall(r"\$GITHUB_ACTION_PATH/([\w.]+)", (ACTION / "action.yml").read_text()):
        assert os.access(ACTION / name, os.X_OK)
    page = (ACTION / "README.md").read_text()
    workflow, gitlab = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.S))
    given = workflow["jobs"]["lock"]["steps"][-1]
    assert ROOT / given["uses"].removeprefix("./picklock/") == ACTION and set(given["with"]) <= set(action["inputs"])
    for command in re.findall(r"picklock test '.*?'((?: --[a-z]+ \S+)+)", page):
        help_text = run("test", "--help").out
        for option in re.findall(r"--[a-z-]+", command):
            assert f"  {option} " in help_text
    assert gitlab["lock"]["artifacts"]["reports"]["junit"] == "junit.xml"
