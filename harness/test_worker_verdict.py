"""`picklock test COMMAND`: a lock program from the check of its worker to the verdict, in one report. Small bounds, few faults: what the
parts find is tested where they are (test_worker_runs.py, test_worker_asking.py)."""

import html
import json
import re
import shlex
import signal
import subprocess

import jsonschema
import pytest
from conftest import PICKLOCK, ROOT, in_a_terminal
from workers import PYTHON, example

SCENARIO = ROOT / "scenarios" / "expired-lease-double-delete.yaml"
BLAMELESS = ROOT / "scenarios" / "crash-without-expiry.yaml"  # in which the naive lock holds
SMALL = ("--clients", "2", "--rounds", "1")
# A naive lock without a library; `starts` counts its processes.
NAIVE = """
import os, pathlib, socket
import picklock_worker

starts = pathlib.Path(__file__).parent / "starts"
with starts.open("a") as file:
    file.write("x")
started = len(starts.read_text())

class Worker(picklock_worker.Worker):
    promises = ["expiry"]

    def init(self, settings):
        self.settings, self.socket = settings, None

    def ask(self, *words):
        if not self.socket:
            self.socket = socket.create_connection(self.settings.address())
        parts = [f"${len(str(word))}\\r\\n{word}\\r\\n" for word in words]
        self.socket.sendall(f"*{len(words)}\\r\\n{''.join(parts)}".encode())
        answer = self.socket.recv(4096)
        if not answer:
            self.socket = None
            raise ConnectionError("it is gone")
        return answer

    def acquire(self, wait_ms):
        return self.ask("SET", self.settings.key, self.settings.name, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def release(self):
        return self.ask("DEL", self.settings.key) == b":1\\r\\n"
"""


@pytest.fixture
def worker(tmp_path):
    """The command of the naive worker, with what is added behind it; in a folder with blanks."""

    def write(added=""):
        folder = tmp_path / "a lock of mine"
        folder.mkdir()
        (folder / "my lock.py").write_text(NAIVE + added + "\npicklock_worker.run(Worker)\n")
        return f"{PYTHON} {shlex.quote(str(folder / 'my lock.py'))}"

    return write


# By the commands of redis-py's Lock, in a third of the time.
RIGHT = f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} set-nx-px-cad"


def flat(text):
    return " ".join(text.split())


def results_of(out):
    results = json.loads((out / "latest" / "results.json").read_text())
    jsonschema.validate(results, json.loads((ROOT / "reports" / "results.schema.json").read_text()))
    return results


def test_a_naive_lock_is_found_explained_and_replayed(picklock, worker, tmp_path):
    out, command = tmp_path / "out of it", worker()
    ran = picklock("test", command, SCENARIO, "--fault", "none,slow-work", *SMALL, "--out", out)
    assert ran.status == 1, ran  # on a slow machine how far it is stands on stderr
    words = flat(ran.out)
    assert "a clean hand-over, and the same again in new processes: 5 commands each" in words
    assert "Verdict: my lock.py fails: unlock-bug. unlock-bug: a release" in words  # its one scenario was played: no word of that
    assert "in 1 cell and 1 scenario, soonest in 10 steps under slow-work What to do: release with one script" in words
    assert "Found, and not counted: overrun (nobody's fault)." in words
    assert "The shortest counterexample (unlock-bug):" in words and "removes B's key" in words  # the diagram says so
    results = results_of(out)
    assert results["command"] == "test" and [row["kind"] for row in results["results"]] == ["run", "cell", "cell"]
    unpromised, asked = results["notes"]
    assert unpromised.startswith("Not judged, since the worker does not promise what is in brackets: no-orphan (token), "), unpromised
    assert asked.startswith("Decided by asking once:") and "Assumed: the worker is deterministic" in asked

    written = {path.name for path in (out / "latest" / "histories").iterdir()}
    assert written == {row["history"].split("/")[1] for row in results["results"] if row.get("history")} | {
        prop["history"].split("/")[1] for row in results["results"] for prop in row["properties"] if prop.get("history")}

    [line] = re.findall(r"^replay it: picklock (.*)$", ran.out, re.M)
    again = picklock(*shlex.split(line))
    assert again.status == 1 and "release-own" in again.out and "unlock-bug" in again.out, again

    page = html.unescape((out / "latest" / "index.html").read_text())
    verdict = page.split('<section class="conclusion">')[1].split("</section>")[0]
    assert '<h1 class="bad">my lock.py fails: unlock-bug.</h1>' in page and "What to do:" in verdict and "<svg" in verdict and line in verdict
    assert results["notes"][0] in page


def test_the_verdict_says_how_many_scenarios_were_played(picklock, worker, tmp_path):
    out = tmp_path / "out"
    ran = picklock("test", worker(), SCENARIO, "scenarios/getset-race.yaml", "--fault", "none", *SMALL, "--out", out)
    said = "1 of 2 scenarios was played; 1 does not apply: it needs what this lock does not do, what a program cannot be told to " \
           "do, or a fault that --fault leaves out."
    assert ran.status == 1 and f"Verdict: my lock.py fails: unlock-bug. {said} The report says which." in flat(ran.out), ran
    page = html.unescape((out / "latest" / "index.html").read_text())
    assert said in page and "no read came to stall after" in page


@pytest.mark.parametrize("faults, played", [pytest.param("none,stall", {"hand-over", "expired", "gap"}, marks=pytest.mark.long("26 s of CPU")),
                                            ("failover+crash", {"hand-over", "expired", "promoted"})])
def test_scenarios_strike_by_no_fault_that_is_not_named(picklock, tmp_path, faults, played):
    """A pause counts where time passes meanwhile. A scenario that is named is played, whatever it strikes by."""
    steps = {"hand-over": "", "expired": "\n  - lease expires", "gap": ", stalls before the set\n  - time passes 10ms\n  - A goes on",
             "promoted": "\n  - server 1's replica is cut off\n  - server 1 fails over", "kill": "\n  - server 1 ends all connections"}
    for name, more in steps.items():
        replica = "\nservers: 1\nreplica: yes" if name == "promoted" else ""
        text = f"name: {name}\nsource: ours\nlease: 10s\nclients: [A, B]{replica}\nsteps:\n  - A acquires{more}\n  - B acquires\nexpect:\n"
        (tmp_path / "scenarios").mkdir(exist_ok=True)
        (tmp_path / "scenarios" / f"{name}.yaml").write_text(f"{text}  fenced: {{ mutual-exclusion: holds }}\n")
    command, path = RIGHT, tmp_path / "results.json"
    for more, expected in (([], played), (["scenarios/kill.yaml"], {"kill"})):
        ran = picklock("test", command, *more, "--fault", faults, *SMALL, "--budget", "1ms", "--json", path, "--out", tmp_path / "out", cwd=tmp_path)
        runs = [row for row in json.loads(path.read_text())["results"] if row["kind"] == "run"]
        assert {row["scenario"] for row in runs if row["verdict"] != "not_applicable"} == expected, ran
        others = {row["scenario"]: row["not_applicable"] for row in runs if row["verdict"] == "not_applicable"}
        assert all(reason.startswith("it strikes by ") and reason.endswith(", which --fault does not name") for reason in others.values()), ran


def test_a_folder_that_can_not_be_made_is_told_before_its_worker_is_begun(picklock, worker, tmp_path):
    blocked, command = tmp_path / "file", worker()
    blocked.write_text("")
    ran = picklock("test", command, "--out", blocked / "below")
    assert ran.status == 64 and f"{blocked / 'below'}: no run folder can be made there: Not a directory" in ran.err, ran
    assert ran.out == "" and not (tmp_path / "a lock of mine" / "starts").exists()


def test_what_a_scenario_alone_shows_is_not_called_the_shortest(picklock, worker, tmp_path):
    ran = picklock("test", worker(), SCENARIO, "--fault", "none", *SMALL, "--out", tmp_path / "out")
    assert ran.status == 1 and "in 1 scenario, such as expired-lease-double-delete" in ran.out, ran
    assert "A counterexample (unlock-bug):" in ran.out and "removes B's key" in ran.out and "shortest" not in ran.out, ran
    [line] = re.findall(r"^replay it: picklock (.*)$", ran.out, re.M)
    assert shlex.split(line)[:2] == ["run", "--worker"]
    assert "A counterexample (unlock-bug), in expired-lease-double-delete" in (tmp_path / "out" / "latest" / "index.html").read_text()


def test_of_a_right_lock_only_what_is_known_is_blamed(picklock, tmp_path):
    out = tmp_path / "out"
    ran = picklock("test", RIGHT, SCENARIO, "--fault", "lose-reply,late-request", *SMALL, "--out", out)
    assert ran.status == 1 and "Verdict: scheme_worker.py fails: late-grant." in ran.out, ran
    assert "Found, and not counted: overrun (nobody's fault), leftover (nobody's fault)." in flat(ran.out), ran
    failed = {(row["kind"], prop["cause"]) for row in results_of(out)["results"] for prop in row["properties"] if prop.get("failed")}
    assert failed == {("cell", "late-grant")}


def test_a_lock_that_passes_up_to_its_bounds(picklock):
    ran = picklock("test", RIGHT, SCENARIO, "--fault", "crash", *SMALL, "--html", "-")
    assert ran.status == 0 and ran.out.startswith("<!DOCTYPE html>"), ran
    assert "scheme_worker.py passes: nothing that counts as its failure is there, in 1 cell up to its bounds and 1 run of" in flat(ran.out)


def test_what_asking_does_not_decide_is_run_and_told_apart(picklock, worker, tmp_path):
    out = tmp_path / "out"
    ran = picklock("test", worker("socket.setdefaulttimeout(1)"), BLAMELESS, "--fault", "none,half-open,slow-dial", *SMALL, "--out", out,
                   "--junit", tmp_path / "junit.xml")
    words, run_alone = flat(ran.out), "half-open (not found in 100 runs), slow-dial (not struck in 100 runs)."
    assert ran.status == 0 and "1 safe, 0 nobody's fault, 0 broken, 0 stuck, 2 not found, 0 unknown" in words, ran
    assert "in 1 cell up to its bounds and 1 run of scenarios, and 2 cells that can only be run." in words, ran
    assert f"By random runs alone (seed 1), which can find, and never prove: {run_alone}" in words, ran
    assert [row["search"].get("sampled") for row in results_of(out)["results"] if row["kind"] == "cell"] == [None, True, True]
    assert (tmp_path / "junit.xml").read_text().count("<skipped message=\"not ") == 2
    assert run_alone in html.unescape((out / "latest" / "index.html").read_text())


@pytest.mark.long("9 s of CPU")
def test_what_is_found_by_running_alone_fails_the_lock(picklock, worker, tmp_path):
    ran = picklock("test", worker(), BLAMELESS, "--fault", "half-open", *SMALL, "--out", tmp_path / "out")
    words = flat(ran.out)
    assert ran.status == 1 and "my lock.py fails: endless-wait." in words and "in 1 cell, soonest in 2 steps under half-open" in words, ran
    assert "which can find, and never prove: half-open (stuck (endless-wait, at most 2 steps))" in words and "A counterexample (endless-wait)" in words, ran
    [line] = re.findall(r"^replay it: picklock (.*)$", ran.out, re.M)
    assert picklock(*shlex.split(line)).status == 1


@pytest.mark.parametrize("added, status, words", [
    ("""
class Worker(Worker):
    def acquire(self, wait_ms):
        super().acquire(wait_ms)
        return True
""", 1, "worker B was asked to acquire, and answered ok: true, but A holds the lock"),
    ("os._exit(3)", 64, "its process ended with status 3"),
    ("""
class Worker(Worker):
    def acquire(self, wait_ms):
        self.settings.ttl_ms = 10000 + started
        return super().acquire(wait_ms)
""", 2, "the worker is not deterministic: the same hand-over was done twice, and its commands differ from the 1. on: first worker A sent "
        "SET lock A NX PX 1000[12] at 0.0 ms, then worker A sent SET lock A NX PX 1000[34] at 0.0 ms"),
], ids=["no lock", "no worker", "not the same twice"])
def test_a_worker_that_cannot_be_tested(picklock, worker, tmp_path, added, status, words):
    out, command = tmp_path / "out", worker(added)
    ran = picklock("test", command, "--out", out)
    assert ran.status == status and re.search(words, ran.err), ran
    [advised] = re.findall(r"nothing was tested. One hand-over, with every command: picklock test --once (.*)", ran.err)
    assert shlex.split(advised) == [command]
    assert "Verdict" not in ran.out and not out.exists()


def test_off_a_terminal_it_is_never_silent_for_long(picklock, worker):
    ran = picklock("test", worker('__import__("subprocess").run(["sleep", "60"])'), "--patience", "5500ms")
    assert ran.status == 2 and "is busy: it has not come to rest within 5.5 s of real time" in ran.err, ran
    assert ran.err.splitlines()[0] == "checks the worker: a hand-over, twice", ran


def test_a_worker_that_ends_in_the_middle_leaves_that_undecided(picklock, worker, tmp_path):
    ran = picklock("test", worker("""
class Worker(Worker):
    def release(self):
        released = super().release()
        return released or os._exit(3)  # the lock was not there any more
"""), ROOT / "scenarios" / "eviction.yaml", "--fault", "none,evict", *SMALL, "--fail-on", "never", "--out", tmp_path / "out")
    assert ran.status == 2 and "Not decided: evict (worker A: its process ended with status 3 (catch the exception, and answer \"error\")" in flat(ran.out), ran
    assert re.search(r"^  none +safe ", ran.out, re.M) and "1 safe" in ran.out, "it does not end there: decided"
    assert "is not decided" in flat(ran.out) and "passes" not in ran.out, ran


def test_an_interruption_leaves_what_was_not_decided_unknown(worker, tmp_path):
    out, command = tmp_path / "out", worker()
    starts = tmp_path / "a lock of mine" / "starts"
    with subprocess.Popen([PICKLOCK, "test", command, BLAMELESS, "--out", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        while not starts.exists() or len(starts.read_text()) < 5:  # four of them were checked
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=60)
    assert process.returncode == 2, text + errors
    assert "INTERRUPTED: " in text and "is not decided" in text and "it was interrupted" in flat(text) and "0 safe" in text, text
    assert results_of(out)["interrupted"]["why"] == "SIGINT"


def test_an_interruption_among_the_scenarios_has_one_count(tmp_path):
    """Played and not applicable are what was done of all; what was not come to has one reason, told once."""
    with subprocess.Popen([PICKLOCK, "test", example(PYTHON, "careful_lock.py"), "--progress", "json", "--out", tmp_path / "out"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        next(line for line in map(json.loads, process.stderr) if (line.get("done") or 0) >= 5)
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=60)
    text = flat(text)
    done, whole = map(int, re.search(r"INTERRUPTED: (\d+) of (\d+) runs \(SIGINT\)", text).groups())
    played, of, apart = map(int, re.search(r"(\d+) of (\d+) scenarios w(?:as|ere) played before it was interrupted; (\d+) do", text).groups())
    assert process.returncode == 2 and (played + apart, of) == (done, whole), text + errors
    told = re.search(r"Not decided: (.*?)\. report: ", text)[1]
    assert "refusing-server (it was interrupted)" in told and told.count("(") == 1 and "because it was interrupted" not in text, text


def test_what_the_budget_does_not_decide_is_unknown_and_a_lost_verdict_none(worker, tmp_path):
    """On a terminal it says how far it is. A token that differs from process to process is no reason to refuse a worker."""
    out = tmp_path / "out"
    command = worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        return self.ask("SET", self.settings.key, f"{started:032d}", "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"
""")
    with open("/dev/full", "w") as full:
        done, said = in_a_terminal([PICKLOCK, "test", command, SCENARIO, "--fault", "none", *SMALL, "--budget", "1ms", "--out", out],
                                   stream="stderr", stdout=full)
    assert done.returncode == 70 and "standard output: cannot be written" in said, said
    assert re.search(r"1/1 none: \d+ states? \(\d+ a second\), \d+ executions, \d+ steps deep, at most 0 s left", said), said
    cell = results_of(out)["results"][-1]
    assert cell["verdict"] == "unknown" and cell["search"]["end"] == "the time was up"


@pytest.mark.parametrize("options, why", [
    ((), "test wants one command"),
    (("python3 x.py", "--once", "--budget", "3s"), "--budget does not go with --once"),
    (("python3 x.py", "--servers", "3"), "--servers goes with --once"),
    (("python3 x.py", "--fault", "resend"), "resend does not apply to a worker"),
    (("python3 x.py", "--fault", "stall,"), "has an empty item"),
    (("python3 x.py", "no-such-scenario.yaml"), "no-such-scenario.yaml"),
])
def test_what_it_does_not_take(picklock, options, why):
    ran = picklock("test", *options)
    assert ran.status == 64 and why in ran.err and ran.out == "", ran
