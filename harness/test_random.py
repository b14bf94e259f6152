"""The explorer's random search on the command line: what it says, what it must not say, and that a seed is a result."""

import pytest
from conftest import run
from test_explore import cells

CELLS = ["--scheme", "set-nx-ex-del,setnx-del", "--fault", "none,stall,crash"]
RUNS = ["explore", "--runs", "600", "--seed", "5"]
SOME = [*RUNS, *CELLS, "--search", "random"]
STALLS = [*RUNS, *CELLS[:2], "--search", "random", "--fault", "stall"]


def test_what_it_finds_is_what_the_exhaustive_search_finds():
    found, known = cells(run(*SOME, "--json", "-")), cells(run("explore", *CELLS, "--json", "-"))
    assert found.keys() == known.keys()
    for key, row in found.items():
        assert (row["method"], row["seed"]) == ("random", 5)
        assert 0 < row["runs"] <= 2 * 600  # twice: once more with critical sections that count
        if row["verdict"] in ("unknown", "not_applicable"):
            assert row["why"] and row["shortest"] is None, key
            continue
        assert row["verdict"] == "violated" and row["replayed"] and row["shortest"] is True, key
        assert (row["faults"], row["witness_steps"]) == (known[key]["faults"], known[key]["witness_steps"]), key
        assert row["found_in_run"] <= row["runs"]
    assert found["set-nx-ex-del", "stall", "release-own"]["verdict"] == "violated"
    assert found["set-nx-ex-del", "none", "release-own"]["why"] == "not found in 600 runs, seed 5"


def test_progress_is_unknown_and_says_why():
    row = cells(run(*SOME, "--json", "-"))["setnx-del", "crash", "progress"]
    assert row["verdict"] == "unknown" and "a random search cannot judge it" in row["why"]


def test_it_never_says_that_something_holds():
    ran = run(*SOME)
    assert ran.status == 2 and "unknown" in ran.err
    assert "unknown (not found in 600 runs, seed 5)" in ran.out
    assert "random search, seed 5)" in ran.out
    assert " safe" not in ran.out.replace("0 safe", "") and "A random search never proves" in ran.out
    assert max(map(len, ran.out.split("A random search never proves")[1].splitlines())) <= 100, ran


@pytest.mark.parametrize("search", ["random", "pct"])
def test_a_seed_is_a_result_whatever_the_jobs(search):
    def searched(jobs):
        ran = run(*RUNS, *CELLS, "--search", search, "--jobs", jobs, "--json", "-")
        return [{k: v for k, v in row.items() if k != "seconds"} for row in ran.rows]
    once = searched("1")
    assert once == searched("3")
    assert {row["method"] for row in once} == {search}


def test_a_search_that_the_time_stops_says_so():
    ran = run("explore", "--search", "random", "--scheme", "set-nx-px-cad", "--fault", "none", "--budget", "1ms",
              "--runs", "1000000000")
    assert ran.status == 2 and "then the time was up" in ran.out, ran


def test_a_witness_is_confirmed_on_real_redis_and_replays(tmp_path, picklock):
    ran = run(*STALLS, "--confirm", "--out", tmp_path / "found", "--json", "-")
    violated = [row for row in ran.rows if row["verdict"] == "violated"]
    schedules = sorted((tmp_path / "found" / "latest" / "schedules").glob("*.schedule"))
    assert violated and all(row["confirmed"] for row in violated)
    assert len(schedules) == len(violated)
    for schedule in schedules:
        assert picklock("replay", schedule, "--on", "sim", "--fail-on", "any").status == 1, schedule


def test_a_witness_says_whether_it_is_the_shortest():
    out = run(*STALLS, "--witness").out
    assert "in 10 steps, the shortest\n" in out
    assert "\n    9  " in out and "and 1 step without a line: the fault itself, that somebody is slow\n" in out


@pytest.mark.parametrize("words, says", [
    (["--search", "randm"], "did you mean 'random'?"),
    (["--runs", "5"], "--runs goes with --search random or pct"),
    (["--search", "pct", "--frontier"], "needs --search exhaustive"),
    (["--search", "random", "--runs", "0"], "--runs wants 1 to"),
])
def test_bad_usage(words, says):
    ran = run("explore", *words)
    assert ran.status == 64 and says in ran.err and ran.out == "", ran
