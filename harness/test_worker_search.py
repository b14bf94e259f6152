"""Search by running: schedules of unmodified lock programs, in processes that are kept and reset."""

import json
import os
import shlex
import signal
import subprocess

import jsonschema
import pytest
from conftest import LONG, PICKLOCK, ROOT, run
from workers import NAIVE, PYTHON, REDIS_PY, changed_naive, needs_redis_py

# The same lock as NAIVE over a socket of its own: its processes begin in a third of the CPU, and each finding takes twenty.
PLAIN = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} set-nx-ex-del"
SCHEMA = json.loads((ROOT / "reports" / "results.schema.json").read_text())

pytestmark = needs_redis_py

def search(picklock, tmp_path, worker, *more, how="random"):
    """(what ran, its results)"""
    out = tmp_path / "results.json"
    ran = picklock("explore", "--worker", worker, "--search", how, "--json", out, *more)
    results = json.loads(out.read_text()) if out.exists() else None
    if results:
        jsonschema.validate(results, SCHEMA)
    return ran, results


def found(results):
    """{(fault, property): cause} of what is violated."""
    return {(row["fault"], one["property"]): one["cause"] for row in results["results"] for one in row["properties"]
            if one["verdict"] == "violated"}


# The seed shows soon that the holder outlives its lease, and its DEL removes the next one's lock.
PLAIN_RANDOM = (PLAIN, "--runs", 10, "--rounds", 1, "--fault", "slow-work", "--seed", 3)
looks_at_it = pytest.mark.xdist_group("plain, random")


@pytest.fixture(scope="module")
def plain_random(tmp_path_factory):
    """That search, once for those who look at it: (what ran, its results, its run folder)"""
    folder = tmp_path_factory.mktemp("plain")
    return *search(run, folder, *PLAIN_RANDOM, "--out", folder / "out"), folder / "out" / "latest"


@pytest.mark.parametrize("how, more", [pytest.param("random", None, marks=looks_at_it), ("pct", ("--runs", 12, "--seed", 12)), ("bounded", ("--runs", 100, "--seed", 0))])
def test_a_plain_delete_is_found(picklock, tmp_path, request, how, more):
    """Whatever the search."""
    if more:
        ran, results = search(picklock, tmp_path, PLAIN, *more, "--rounds", 1, "--fault", "slow-work", how=how)
    else:
        ran, results, _ = request.getfixturevalue("plain_random")
    assert ran.status == 1, ran
    [row] = results["results"]
    assert row["search"]["method"] == how and row["worker"] == PLAIN
    [own] = [one for one in row["properties"] if one["property"] == "release-own"]
    assert own["cause"] == "unlock-bug" and own["failed"] and own["faults"] == 1
    assert own["witness"][-1] == "In new processes it came again 10 of 10 times."
    # As short as it can be: one gets it, its section is slow (a step of no choice), two ticks, the other gets it, the first lets go.
    assert own["witness_steps"] == 10 and len(own["choices"]) == 9, own["choices"]
    assert own["choices"][-1] in ("A's DEL reaches server 1", "B's DEL reaches server 1")


@pytest.mark.parametrize("scheme, section, about", [
    ("fenced", "write", "fence-order"), pytest.param("fenced-late-incr", "write", "fence-order", marks=pytest.mark.long("16 s of CPU")),
    pytest.param("set-nx-px-cad", "counter", "no-lost-update", marks=pytest.mark.long("14 s of CPU")),
])
def test_what_sections_write_is_searched_as_a_schemes(picklock, tmp_path, scheme, section, about):
    """The same property is violated, with the same cause, as in every interleaving of the scheme's own steps; or it is not found."""
    options = ("--clients", 2, "--rounds", 1, "--fault", "stall", "--section", section)
    picklock("explore", "--scheme", scheme, *options, "--json", tmp_path / "scheme.json")
    worker = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {scheme}"
    ran, results = search(picklock, tmp_path, worker, *options, "--runs", 200, "--seed", 1)
    assert f"section: {section}" in ran.out, ran
    assert found(results) == found(json.loads((tmp_path / "scheme.json").read_text())), ran
    assert (("stall", about) in found(results)) == (scheme != "fenced")


@pytest.mark.parametrize("name, more", [
    pytest.param("extending", {}, marks=pytest.mark.long("10 s of CPU")),
    ("extending-anybodys", {("slow-work", "extend-own"): "foreign-extend", **({("slow-work", "truthful"): "untrue-answer"} if LONG else {})}),
])
def test_a_holder_that_extends_is_searched(picklock, tmp_path, name, more):
    """Once in each hold, before or behind whatever else it does. Who extends the next one's lock is told that it was extended, too."""
    worker = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {name}"
    ran, results = search(picklock, tmp_path, worker, "--clients", 2, "--rounds", 1, "--fault", "slow-work" if more else "none,slow-work",
                          *(("--runs", 300) if LONG else ("--runs", 60, "--seed", 2)))  # which shows two of the three
    assert found(results) == {("slow-work", "mutual-exclusion"): "overrun", **more}, ran


@pytest.mark.parametrize("rings, wrong", [
    ("os._exit(3)", {}),
    pytest.param("None", {("slow-work", "mutual-exclusion"): "overrun", ("slow-work", "loss-notice"): "no-notice",
                          ("slow-work", "release-own"): "unlock-bug"},
                 marks=pytest.mark.long("each finding takes twenty processes")),
])
def test_who_ends_with_its_lease_never_overruns_it(picklock, tmp_path, rings, wrong):
    """It promises exits_on_loss; its DEL is a plain one. A run behind one in which it ended has a new process; by asking once it is not decided."""
    sets = "return self.redis.set(self.settings.key, self.settings.name, nx=True, px=self.settings.ttl_ms)"
    deletes = "return self.redis.delete(self.settings.key) == 1"
    worker = changed_naive(tmp_path, ("import redis", "import os\nimport threading\nimport redis"), ('["expiry"]', '["expiry", "exits_on_loss"]'),
                     ("self.settings = settings", f"self.settings = settings\n        "
                      f"self.timer = threading.Timer(settings.ttl_ms / 1000, lambda: {rings})"),
                     (sets, f"is_mine = {sets[7:]}\n        if is_mine: self.timer.start()\n        return is_mine"),
                     (deletes, f"self.timer.cancel()\n        {deletes}"), ("self.redis.close()", "self.timer.cancel()\n        self.redis.close()"))
    ran, results = search(picklock, tmp_path, worker, "--clients", 2, "--rounds", 1, "--fault", "slow-work", "--runs", 15 if rings != "None" else 40)
    assert ran.status in (1, 2) and found(results) == wrong, ran
    assert all(row["trouble"] is None for row in results["results"]), results
    asked = picklock("explore", "--worker", worker, "--rounds", 1, "--fault", "none", "--frontier")
    assert asked.status == 2 and "a worker that ends when its lock is lost is not decided by asking yet" in " ".join(asked.out.split()), asked


def test_without_a_fault_nothing_is_found_and_nothing_is_safe(picklock, tmp_path):
    ran, results = search(picklock, tmp_path, NAIVE, "--runs", 40, "--fault", "none")
    assert ran.status == 2 and not found(results), ran
    assert " new states a run at the end" in ran.out and "1000 runs" not in ran.out, ran
    assert "not found in 40 runs, seed 0" in ran.out and " safe " not in ran.out.split("\n\n")[0], ran


@pytest.mark.long("12 s of CPU: by asking and in scenarios it is played in CI")
def test_redis_py_is_blamed_for_nothing_but_what_leases_are(picklock, tmp_path):
    """With every fault, and in every language: test_correct_locks_are_blamed_for_nothing_but_what_leases_are."""
    ran, results = search(picklock, tmp_path, REDIS_PY, "--runs", 8, "--rounds", 1, "--fault", "none,slow-work", "--seed", 3, how="pct")
    assert ran.status in (1, 2) and found(results) == {("slow-work", "mutual-exclusion"): "overrun"}, ran


@looks_at_it
def test_the_same_seed_finds_the_same(picklock, tmp_path, plain_random):
    told = [plain_random[1]["results"]]
    for seed in (3, 6):
        told.append(search(picklock, tmp_path, *PLAIN_RANDOM[:-1], seed, "--out", tmp_path / "out")[1]["results"])
    told = [[{name: said for name, said in row.items() if name != "seconds"} for row in rows] for rows in told]
    assert told[0] == told[1] and "unlock-bug" in str(told[0])
    assert told[0][0]["search"]["states"] != told[2][0]["search"]["states"]


@looks_at_it
def test_a_schedule_replays_and_names_its_worker(picklock, tmp_path, plain_random):
    [path] = (plain_random[2] / "schedules").glob("*release-own*")
    assert f"\nworker: {PLAIN}\n" in path.read_text()
    again = picklock("replay", path, "--worker", PLAIN, "--out", tmp_path / "again")
    assert again.status == 1 and "release-own is violated (unlock-bug)" in again.out, again
    without = picklock("replay", path)
    assert without.status == 64 and f'it is a worker, named with --worker "{PLAIN}"' in " ".join(without.err.split()), without
    [history] = (plain_random[2] / "histories").glob("*release-own*")
    checked = picklock("check", history, "--fail-on", "scheme")
    assert checked.status == 1 and "release-own is violated (unlock-bug)" in checked.out, checked


REMEMBERS = ("class Worker(picklock_worker.Worker):", "asked = 0\n\n\nclass Worker(picklock_worker.Worker):")


def test_what_a_worker_remembers_across_a_reset_is_found_out(picklock, tmp_path):
    """Its third attempt, over all runs, is refused without a question: no reset would do that."""
    worker = changed_naive(tmp_path, REMEMBERS, ("        return self.redis.set(", """        global asked
        asked += 1
        if asked % 3 == 0:
            return False
        return self.redis.set("""))
    ran, results = search(picklock, tmp_path, worker, "--runs", 100, "--fault", "none")
    assert ran.status == 2, ran
    assert "the worker does not do the same twice: in run 1 first" in ran.out, ran
    assert {one["verdict"] for one in results["results"][0]["properties"]} <= {"unknown", "not_applicable"}


def test_what_is_sent_to_two_servers_at_once_is_in_no_order(picklock, tmp_path):
    """It leaves over connections that may just have been made; which of them is seen first is nobody's doing."""
    worker = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'quorum_worker.py'))} turning"
    ran, results = search(picklock, tmp_path, worker, "--servers", 2, "--runs", 22, "--fault", "none", "--seed", 2)
    assert "does not do the same twice" not in ran.out and results["results"][0]["search"]["runs"] == 22, ran


def test_what_comes_only_of_a_leftover_is_no_finding(picklock, tmp_path):
    """From its eighth attempt in one process on it says yes whatever the server said: no new process does so within a run."""
    worker = changed_naive(tmp_path, REMEMBERS, ("        return self.redis.set(", """        global asked
        asked += 1
        return asked > 7 or self.redis.set("""))
    ran, results = search(picklock, tmp_path, worker, "--runs", 25, "--fault", "none", "--seed", 1)
    assert ran.status == 2 and not found(results), ran
    why = {one["why"] for one in results["results"][0]["properties"] if one["property"] == "mutual-exclusion"}
    assert any("in new processes it came again 0 of 1 times" in words for words in why), why


def starts_of(tmp_path):
    return len((tmp_path / "starts").read_text())


def noting(tmp_path):
    return ("import redis\n", f"import redis\nopen({str(tmp_path / 'starts')!r}, 'a').write('x')\n")


def test_processes_are_kept(picklock, tmp_path):
    worker = changed_naive(tmp_path, noting(tmp_path))
    ran, _ = search(picklock, tmp_path, worker, "--runs", 30, "--fault", "none")
    assert ran.status == 2 and starts_of(tmp_path) == 2, ran


@pytest.mark.parametrize("after, each", [
    ("threading.Timer(60, print).start()", 2),  # a timer
    ("self.other = redis.Redis(host=host, port=port); self.other.client_id()", 2),  # a connection
    ("threading.Event().wait()", 3),  # hangs: A is new, then B hangs, then both are new
])
def test_a_reset_that_does_not_forget_takes_a_new_process(picklock, tmp_path, after, each):
    """Each reset leaves something that no beginning has: the run is made with a new process, and is the same."""
    worker = changed_naive(tmp_path, noting(tmp_path), ("import redis\n", "import redis\nimport threading\nbegun = False\n"),
                     ("        self.settings = settings\n", f"""        self.settings = settings
        global begun
        if begun:
            {after}
        begun = True
"""))
    ran, results = search(picklock, tmp_path, worker, "--runs", 2, "--fault", "none")
    assert ran.status == 2 and "not found in 2 runs" in ran.out, ran
    assert starts_of(tmp_path) == 2 + each * 2, ran  # 2 runs and one again


def test_an_interruption_keeps_what_it_has(tmp_path):
    out = tmp_path / "results.json"
    command = [PICKLOCK, "explore", "--worker", changed_naive(tmp_path, noting(tmp_path)), "--search", "random", "--runs", "100000",
               "--fault", "none", "--json", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "starts").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert process.returncode == 2, text
    assert "of 100000 runs (SIGINT)" in text, text
    results = json.loads(out.read_text())
    assert results["interrupted"]["of"] == 100000


@pytest.mark.parametrize("options, words", [
    (("--search", "random", "--scheme", "redlock"), "--scheme does not go with --worker"),
    (("--search", "random", "--confirm"), "--confirm does not go with --worker"),
])
def test_options_that_do_not_go_together(picklock, options, words):
    ran = picklock("explore", "--worker", NAIVE, *options)
    assert ran.status == 64 and words in ran.err, ran


def test_bounded_is_for_workers(picklock):
    ran = picklock("explore", "--scheme", "redlock", "--search", "bounded")
    assert ran.status == 64 and "--search bounded goes with --worker" in ran.err, ran


# Two threads of it ring while it is stalled, the slower one first. One that is late must be at rest before the next one rings.
IN_TURN = """
import os
import threading
import picklock_worker
import redis

class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        host, port = settings.address()
        self.settings, self.redis, self.rang = settings, redis.Redis(host=host, port=port), []

    def ring(self, number):
        if number == 1:
            sum(i * i for i in range(300000))  # longer than it takes to wake another thread
        self.rang.append(number)
        if self.rang not in ([1], [1, 2]):
            os._exit(3)

    def acquire(self, wait_ms):
        if not self.redis.set(self.settings.key, self.settings.name, nx=True, px=self.settings.ttl_ms):
            return False
        self.rang, self.timers = [], []
        for number in (1, 2):
            timer = threading.Timer(self.settings.ttl_ms * number / 5000, self.ring, [number])
            timer.daemon = True
            timer.start()
            self.timers.append(timer)
        return True

    def release(self):
        for timer in self.timers:
            timer.cancel()
        return self.redis.delete(self.settings.key) == 1

picklock_worker.run(Worker)
"""


@pytest.mark.long("27 s of CPU")
def test_timers_that_are_late_ring_one_after_the_other(picklock, tmp_path):
    path = tmp_path / "in_turn.py"
    path.write_text(IN_TURN)
    ran = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(path))}", "--search", "random", "--clients", "2", "--rounds", "1",
                   "--fault", "stall", "--runs", "30", "--json", "-")
    cell, = json.loads(ran.out)["results"]
    assert cell["search"]["runs"] == 30, ran  # no process has ended, and nothing was done differently in a run that was made again
