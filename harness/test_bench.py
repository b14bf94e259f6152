"""A benchmark whose command fails must fail, and show what it printed: a failing command is quickly timed."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, PATIENCE_S, ROOT, make

SAYS = "this is what it said"
PARTS = {
    "proxy": [sys.executable, "harness/bench_proxy.py", "--rounds", "1", "--requests", "100", "--idle", "20", "--value-mb", "2"],
    "explore": ["sim/test/bench_explore.sh", "1"],
    "scale": [sys.executable, "harness/bench_scale.py"],
    "stress": [sys.executable, "harness/bench_stress.py", "--clients", "1", "--seconds", "1", "--rounds", "1"],
    "watch": [sys.executable, "harness/bench_watch.py", "--rounds", "1", "--share", "0.01"],
    "random": [sys.executable, "harness/bench_random.py"],
    "confirm": [sys.executable, "harness/bench_confirm.py"],
    "worker search": [sys.executable, "harness/bench_worker_search.py"],
    "asking": [sys.executable, "harness/bench_asking.py"],
}


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def bench(part, build, tools=None):
    if part == "explore" and not shutil.which("spin"):
        pytest.skip("no spin here")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}" if tools else os.environ["PATH"]
    return subprocess.run(PARTS[part], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S,
                          env={**os.environ, "BUILD": str(build), "PATH": path})


# Before the explorer is asked, SPIN is compiled for seconds: one status of it.
@pytest.mark.parametrize("part, status", [(part, status) for part in PARTS for status in ([64] if part == "explore" else [1, 64, 70])])
def test_a_failing_program_fails_the_benchmark(tmp_path, part, status):
    fails = f"echo '{SAYS}' >&2; exit {status}"
    for name in ("picklock", "test/opinion"):
        script(tmp_path / "build" / name, fails)
    script(tmp_path / "tools" / "make", "exit 0")  # nothing is built anew
    done = bench(part, tmp_path / "build", tmp_path / "tools")
    assert done.returncode not in (0, 69) and SAYS in done.stderr, done


def test_all_ways_of_stress_that_are_measured_run(tmp_path):
    """As short as can be."""
    code = ("import bench_stress as bench, sys\nfor way in (bench.NOBODY_ASKS, *bench.STRESS.values()):\n"
            "    counts, rate, done, cpu_s, waiting = bench.stress(2, 0.1, sys.argv[1], way)\n"
            "    assert cpu_s > 0 and 0 <= waiting <= 1 and (waiting == 0 or '--no-faults' not in way), (way, waiting)")
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT / "harness", text=True, capture_output=True, timeout=PATIENCE_S,
                          env={**os.environ, "BUILD": str(BUILD)})
    assert done.returncode == 0, done


def test_what_stress_cannot_connect_says_why_once_and_is_compared_without_the_proxy(tmp_path):
    """So many that they fit without the proxy only."""
    code = ("import argparse, bench_stress as bench, resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (230, 230))\nbench.RELAYS_MAX = 1\n"
            "figures, unfit = bench.rounds_of(20, argparse.Namespace(seconds=0.1, rounds=1), sys.argv[1])\nbench.table(20, figures, unfit)")
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT / "harness", text=True, capture_output=True, timeout=PATIENCE_S,
                          env={**os.environ, "BUILD": str(BUILD)})
    assert done.returncode == 0, done
    rows = [line.split(None, 1)[1] for line in done.stdout.splitlines()]
    assert [row.split("  ")[0] for row in rows[:2]] == ["redis-benchmark", "stress --direct"], done
    assert rows[2].startswith("not through haproxy, through picklock proxy: 1 relay of 20 clients need 240 open files each"), done
    assert rows[3].startswith("not usual faults, usual faults, short, short, unix sockets, without faults: 20 clients of "), done
    assert "--direct --clients 20 fits" in rows[3] and float(rows[4].split()[-2]) > 0 and len(rows) == 5, done


def test_a_failing_check_fails_the_benchmark(tmp_path):
    """As it was: stress goes well, and what it wrote is refused."""
    script(tmp_path / "picklock", f'[ "$1" != check ] || {{ echo "{SAYS}" >&2; exit 64; }}\nexec "{BUILD / "picklock"}" "$@"')
    code = "import bench_scale, sys; bench_scale.check(1000, sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "made"], cwd=ROOT / "harness", text=True,
                          capture_output=True, timeout=PATIENCE_S, env={**os.environ, "BUILD": str(tmp_path)})
    assert done.returncode == 1 and SAYS in done.stderr and "status 64" in done.stderr, done


def test_witnesses_are_counted_as_they_are_confirmed(tmp_path):
    """Of what is violated only what real Redis has shown counts."""
    rows = [{"seconds": 1.5, "properties": [{"confirmed": True}, {"confirmed": None}, {}]},
            {"seconds": 0.5, "properties": [{"confirmed": True}, {"confirmed": False}]}]
    (tmp_path / "results.json").write_text(json.dumps({"seconds": 2.5, "results": rows}))
    script(tmp_path / "picklock", f'cat "{tmp_path}/results.json"')
    done = bench("confirm", tmp_path)
    assert done.returncode == 0 and re.search(r"goal +300 +reached +4\.0 +2 in 0\.50 s", done.stdout), done


@pytest.mark.parametrize("executions, complete, says", [(1001, "true", "1001 executions"), (10, "false", "not complete: a limit")])
def test_a_goal_of_asking_that_is_missed_fails_the_benchmark(tmp_path, executions, complete, says):
    (tmp_path / "results.json").write_text(
        f'{{"notes": ["{executions} executions of the worker"], "results": [{{"fault": "none", "search": '
        f'{{"complete": {complete}, "end": "a limit", "runs": 10000}}}}]}}')
    script(tmp_path / "picklock", f'cat "{tmp_path}/results.json"')
    done = bench("asking", tmp_path)
    assert done.returncode == 1 and says in done.stderr, done


def test_what_is_well_is_measured(tmp_path):
    code = "import bench_scale, sys; bench_scale.check(1000, sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT / "harness", text=True,
                          capture_output=True, timeout=PATIENCE_S, env={**os.environ, "BUILD": str(BUILD)})
    assert done.returncode == 0 and float(done.stdout.split()[1]) >= 0, done


@pytest.mark.parametrize("tool, part", [("redis-benchmark", "proxy"), ("cc", "explore")])
def test_a_failing_tool_fails_the_benchmark(tmp_path, tool, part):
    script(tmp_path / "tools" / tool, f"echo '{SAYS}' >&2; exit 1")
    if part == "explore":
        script(tmp_path / "tools" / "make", "exit 0")
    done = bench(part, BUILD, tmp_path / "tools")
    assert done.returncode not in (0, 69) and SAYS in done.stderr, done


@pytest.mark.parametrize("part", ["proxy", pytest.param("stress", marks=pytest.mark.long("one of two"))])
def test_a_benchmark_that_answers_nothing_fails(tmp_path, part):
    """redis-benchmark that ends well without a figure."""
    script(tmp_path / "tools" / "redis-benchmark", f"echo '{SAYS}'")
    done = bench(part, BUILD, tmp_path / "tools")
    assert done.returncode not in (0, 69) and SAYS in done.stderr, done


def test_the_benchmark_of_the_checks_fails_when_its_log_does(tmp_path):
    make("test/bench_checks")
    done = subprocess.run([BUILD / "test" / "bench_checks", tmp_path / "nowhere"], text=True, capture_output=True,
                          timeout=PATIENCE_S)
    assert done.returncode == 1 and "nowhere" in done.stderr, done
