"""`--baseline`: violations that are known pass, new ones fail, fixed ones are told; and nothing else becomes green by it."""

import fcntl
import json
import os
import pathlib
import re
import subprocess
import time

import jsonschema
import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT
from workers import PLAIN, RUN

HEAD = "# picklock-baseline 1\n"
NAIVE = ["explore", "--scheme", "set-nx-ex-del", "--fault", "none,slow-work", "--fail-on", "scheme"]
SLOW = ["cell set-nx-ex-del slow-work lease-exclusion unlock-bug", "cell set-nx-ex-del slow-work release-own unlock-bug"]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a baseline"


def write(file, lines):
    file.write_text(HEAD + "".join(line + "\n" for line in lines))


def lines_of(file):
    return [line for line in file.read_text().splitlines() if not line.startswith("#")]


def test_what_is_known_passes_and_what_is_new_fails(picklock, file):
    """A plain DEL is broken by slow work alone, in two ways; both have to be accepted."""
    assert picklock(*NAIVE).status == 1
    write(file, SLOW)
    known = picklock(*NAIVE, "--baseline", file)
    assert known.status == 0 and "2 violations are known" in known.out and "New" not in known.out
    write(file, SLOW[1:])
    new = picklock(*NAIVE, "--baseline", file)
    assert new.status == 1 and f"New: {SLOW[0]}." in new.out.replace("\n", " ") and "1 violation is known" in new.out


def test_what_is_written_is_sorted_and_enough(picklock, file):
    written = picklock(*NAIVE, "--baseline", file, "--update-baseline")
    assert written.status == 0, written
    assert lines_of(file) == SLOW
    first = file.read_bytes()
    assert picklock(*NAIVE, "--baseline", file, "--update-baseline").status == 0
    assert file.read_bytes() == first


@pytest.mark.parametrize("words", [
    ["test", "/usr/bin/python3 {started}"], ["explore", "--worker", "/usr/bin/python3 {started}"], NAIVE,
    ["run", "--worker", "/usr/bin/python3 {started}", "scenarios/hand-over.yaml"], ["stress", "--scheme", "set-nx-px-cad", "--duration", "60s"],
    ["watch", "--key", "lock", "--", "/usr/bin/python3", "{started}"]], ids=lambda words: words[0])
def test_one_that_can_not_be_had_is_told_before_any_work(picklock, tmp_path, words):
    """No worker is started, no folder made: a file that is not there, one that is no baseline, one that could not be written."""
    (tmp_path / "started.py").write_text("import pathlib\npathlib.Path(__file__).with_name('begun').touch()\n")
    (tmp_path / "none").write_text("no baseline\n")
    words = [word.replace("{started}", f"{tmp_path}/started.py") for word in words]
    out = ["--out", tmp_path / "runs"]
    for more, said in [(["--baseline", tmp_path / "missing"], "missing: there is no such file; --update-baseline writes one"), (["--baseline", tmp_path / "none"], "none:1:1: wants"),
                       (["--baseline", tmp_path / "no folder/known", "--update-baseline"], "known: cannot be written: No such file")]:
        refused = picklock(words[0], *more, *out, *words[1:])
        assert refused.status == 64 and said in refused.err and refused.out == "", refused
    assert not (tmp_path / "begun").exists() and not (tmp_path / "runs").exists()


def test_two_that_write_at_once_lose_nothing(file):
    """It has read the file, and waits for whoever writes it now."""
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        picklock = subprocess.Popen([PICKLOCK, *NAIVE, "--baseline", file, "--update-baseline"], cwd=ROOT, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(rf"-> FLOCK .* {picklock.pid} ", pathlib.Path("/proc/locks").read_text()):
            assert picklock.poll() is None and time.monotonic() < deadline, "it waits for nobody"
            time.sleep(0.01)
        other = "cell set-nx-px-cad stall release-own unlock-bug"
        write(file, [other])
    finally:
        os.close(folder)
    assert picklock.wait(PATIENCE_S) == 0
    assert lines_of(file) == [*SLOW, other]


def test_what_is_fixed_is_told_and_taken_out(picklock, file):
    """It was judged again to the end: the safe scheme releases its own lock only."""
    safe = ["explore", "--scheme", "set-nx-px-cad", "--fault", "none,slow-work", "--fail-on", "scheme"]
    gone = "cell set-nx-px-cad slow-work release-own unlock-bug"
    write(file, [*SLOW, gone])
    told = picklock(*safe, "--baseline", file)
    assert told.status == 0 and f"Fixed, and to be taken out with --update-baseline: {gone}." in told.out.replace("\n", " ")
    updated = picklock(*safe, "--baseline", file, "--update-baseline")
    assert updated.status == 0 and f"Fixed, and taken out: {gone}." in updated.out.replace("\n", " ")
    assert lines_of(file) == SLOW, "what was not judged in this run stays"
    assert "Fixed" not in picklock(*safe, "--baseline", file, "--update-baseline").out


def test_comments_stay_with_the_line_that_they_are_about(picklock, file):
    """The list is made for review: why a violation is accepted is written into it. What is taken out takes its comment along."""
    safe = ["explore", "--scheme", "set-nx-px-cad", "--fault", "none,slow-work", "--fail-on", "scheme"]
    gone = "cell set-nx-px-cad slow-work release-own unlock-bug"
    write(file, ["# until the new release is out", "# (asked in March)", f"{SLOW[1]}  # accepted", "# it was fixed", gone, SLOW[0], "", "# the end"])
    assert picklock(*safe, "--baseline", file, "--update-baseline").status == 0
    lines = file.read_text().splitlines()
    assert lines[2:] == [SLOW[0], "# until the new release is out", "# (asked in March)", f"{SLOW[1]}  # accepted", "# the end"]
    assert picklock(*safe, "--baseline", file, "--update-baseline").status == 0
    assert file.read_text().splitlines() == lines
    assert picklock(*NAIVE, "--baseline", file).status == 0


def test_with_a_baseline_explore_counts_bugs(picklock, file):
    """Without one, a search of the table's schemes only shows; with one, what is not in it is new. What was asked for goes first."""
    found = ["explore", "--scheme", "set-nx-ex-del", "--fault", "slow-work"]
    assert picklock(*found).status == 0
    write(file, [])
    new = picklock(*found, "--baseline", file)
    assert new.status == 1 and f"New: {SLOW[0]}; {SLOW[1]}." in new.out.replace("\n", " ")
    assert picklock(*found, "--baseline", file, "--update-baseline").status == 0
    assert lines_of(file) == SLOW
    never = picklock(*found, "--baseline", file, "--fail-on", "never")
    assert never.status == 0 and "Known, and still there, but no failure here" in never.out and "Fixed" not in never.out
    safe = ["explore", "--scheme", "set-nx-px-cad", "--fault", "slow-work", "--baseline", file]
    assert picklock(*safe).status == 0, "an overrun is no bug"


def test_what_a_scenario_states_is_not_fixed(picklock, file):
    """It is there, and no failure: neither told as fixed nor taken out; what is not there any more is."""
    states = ["run set-nx-ex-del expired-lease-double-delete lease-exclusion unlock-bug",
              "run set-nx-px-cad expired-lease-double-delete mutual-exclusion overrun"]
    gone = "run set-nx-px-cad expired-lease-double-delete release-own unlock-bug"
    write(file, [*states, gone])
    ran = picklock("run", "--on", "sim", "--scheme", "set-nx-ex-del,set-nx-px-cad", "expired-lease-double-delete", "--baseline", file,
                   "--update-baseline")
    assert ran.status == 0
    said = ran.out.replace("\n", " ")
    assert f"leaves it out: {states[0]}; {states[1]}." in said and f"Fixed, and taken out: {gone}." in said
    assert lines_of(file) == states


def test_a_sample_fixes_nothing(picklock, file):
    """A stress run and a random search that do not find a violation have not shown that it is gone."""
    known = ["cell set-nx-px-cad slow-work release-own unlock-bug", "stress set-nx-px-cad stress release-own unlock-bug"]
    write(file, known)
    searched = picklock("explore", "--scheme", "set-nx-px-cad", "--fault", "slow-work", "--search", "random", "--runs", "20",
                        "--baseline", file, "--update-baseline")
    assert "Fixed" not in searched.out
    ran = picklock("stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "200ms", "--no-faults", "--baseline", file,
                   "--update-baseline")
    assert ran.status == 0 and "Fixed" not in ran.out and "Known, and not seen this time, which proves nothing of a sample: stress" in ran.out.replace("\n", " ")
    assert lines_of(file) == known


def test_a_watched_run_is_a_sample_too(picklock, file, tmp_path):
    """The same command that does nothing wrong this time has not shown that it never will."""
    program = tmp_path / "tests.py"
    command = ["watch", "--key", "lock:*", "--out", tmp_path / "runs", "--baseline", file, "--update-baseline", "--", "/usr/bin/python3", program]
    take = "import os, redis\none, other = (redis.Redis.from_url(os.environ['REDIS_URL']) for _ in range(2))\n" \
           "assert one.set('lock:1', 'token-of-one', nx=True, px=20000)\n"
    program.write_text(take + "assert not other.set('lock:1', 'token-of-another', nx=True, px=20000) and other.set('lock:1', 'token-of-another', px=20000)\n")
    first = picklock(*command)
    known = lines_of(file)
    assert first.status == 0 and known and all(line.startswith("run ") for line in known), first
    program.write_text(take + "one.delete('lock:1')\n")
    assert "Fixed" not in picklock(*command).out
    assert lines_of(file) == known


def test_unknown_stays_unknown(picklock, file):
    """A search that was cut may hide what is new: its known violations do not make it green."""
    write(file, SLOW)
    cut = ["explore", "--scheme", "set-nx-ex-del", "--fault", "slow-work", "--fail-on", "scheme", "--states", "1300"]
    assert picklock(*cut).status == 1
    assert picklock(*cut, "--baseline", file).status == 2
    assert picklock(*NAIVE, "--baseline", file).status == 0, "the whole search is green by it"


def test_a_missed_expectation_is_not_accepted(picklock, file, tmp_path):
    """A scenario says that the scheme breaks, and it does not: there is no violation to accept."""
    scenario = (ROOT / "scenarios" / "hand-over.yaml").read_text()
    assert "set-nx-px-cad:" in scenario
    write(file, ["run set-nx-px-cad hand-over release-own unlock-bug"])
    head = scenario.partition("expect:")[0] + "expect:\n  "
    changed = tmp_path / "hand-over.yaml"
    changed.write_text(f"{head}set-nx-px-cad: {{ release-own: violated }}\n")
    ran = picklock("run", "--on", "sim", "--scheme", "set-nx-px-cad", changed, "--baseline", file)
    assert ran.status == 1, ran
    assert picklock("run", "--on", "sim", "--scheme", "set-nx-px-cad", changed, "--baseline", file, "--update-baseline").status == 1


def test_every_cause_of_a_run_counts(picklock, file):
    """A property may be violated for several causes: one that is not known is new, though another one is the graver."""
    command = ["run", "--on", "sim", "--scheme", "set-nx-ex-del", "--fail-on", "any",
               ROOT / "scenarios" / "inverted-expiry-release.yaml", "--baseline", file]
    assert picklock(*command, "--update-baseline").status == 0
    all_lines = lines_of(file)
    assert {line.split()[-1] for line in all_lines if "mutual-exclusion" in line} == {"overrun", "unlock-bug"}
    for left_out in all_lines:
        write(file, [line for line in all_lines if line != left_out])
        ran = picklock(*command)
        assert ran.status == 1 and f"New: {left_out}." in ran.out.replace("\n", " ")


def test_reports_say_it(picklock, file, tmp_path):
    write(file, SLOW)
    picklock(*NAIVE, "--baseline", file, "--out", tmp_path / "out", "--junit", tmp_path / "junit.xml")
    results = json.loads((tmp_path / "out/latest/results.json").read_text())
    jsonschema.validate(results, json.loads((ROOT / "reports/results.schema.json").read_text()))
    assert [row.get("known", False) for row in results["results"]] == [False, True]
    assert "<failure" not in (tmp_path / "junit.xml").read_text()
    again = picklock("report", tmp_path / "out/latest")
    assert again.status == 0 and "2 violations are known" in again.out


@pytest.mark.parametrize("text, said", [
    ("cell a b release-own\n", ":1:1: wants '# picklock-baseline 1'"),
    ("# picklock-baseline 10\n", ":1:1: wants '# picklock-baseline 1'"),
    (HEAD + "cell a b release-own\n", ":2:1: wants five words"),
    (HEAD + "cell a b release-own unlock-bug more\n", ":2:1: wants five words"),
    (HEAD + "cells a b release-own unlock-bug\n", ":2:1: wants run, stress or cell, not 'cells'"),
    (HEAD + "cell a b release-owl unlock-bug\n", ":2:10: wants a property"),
    (HEAD + "cell a b release-own unlock-bugs\n", ":2:22: wants a cause"),
    (HEAD + "run a\0\n", ":2:6: a zero byte: this is no text file"),
])
def test_what_is_no_baseline_is_refused(picklock, file, text, said):
    file.write_text(text)
    refused = picklock(*NAIVE, "--baseline", file)
    assert refused.status == 64 and said in refused.err, refused
    assert file.read_text() == text


def test_a_baseline_that_is_not_there(picklock, file):
    assert picklock(*NAIVE, "--baseline", file).status == 64
    alone = picklock(*NAIVE, "--update-baseline")
    assert alone.status == 64 and "--update-baseline goes with --baseline FILE" in alone.err
    assert picklock(*NAIVE, "--baseline", "/dev/full", "--update-baseline").status in (64, 70)


def test_a_worker_has_one_too(picklock, file, tmp_path):
    """Its name may have a blank; the verdict says what is known."""
    lock = tmp_path / "my lock.py"
    lock.write_text(PLAIN + RUN)
    command = ["test", f"/usr/bin/python3 '{lock}'", "--fault", "none,slow-work", "--clients", "2", "--rounds", "1", "--budget", "60s",
               ROOT / "scenarios/expired-lease-double-delete.yaml", "--out", tmp_path / "out", "--baseline", file]
    assert picklock(*command).status == 64
    assert picklock(*command, "--update-baseline").status == 0
    assert lines_of(file)[0].split()[1] == r"my\x20lock.py"
    known = picklock(*command)
    assert known.status == 0 and "passes: nothing new that counts" in known.out and "Known, accepted: unlock-bug (in 1 cell" in known.out, known


@pytest.mark.parametrize("command", [["run", "expired-lease-double-delete"], pytest.param(["explore", "--fault", "none,slow-work", "--clients", "2", "--rounds", "1"],
                                                  marks=pytest.mark.long("one of two"))], ids=["run", "explore"])
def test_what_is_accepted_is_no_failure_in_words_either(picklock, file, tmp_path, command):
    """Neither in the terminal, nor in Markdown, nor on the page, of a lock of one's own; without the list it is one."""
    lock = tmp_path / "naive_lock.py"
    lock.write_text(PLAIN + RUN)
    words = [*command, "--worker", f"/usr/bin/python3 {lock}", "--fail-on", "scheme", "--out", tmp_path / "out"]
    failed = picklock(*words)
    assert failed.status == 1 and "naive_lock.py fails: unlock-bug." in failed.out, failed
    said = "naive_lock.py passes: nothing new was found; stated by the scenario, or known: unlock-bug."
    for update in (["--update-baseline"], []):
        known = picklock(*words, "--baseline", file, *update, "--markdown", tmp_path / "it.md", "--html", tmp_path / "it.html")
        assert known.status == 0 and said in known.out and "fails" not in known.out, known
        assert said in (tmp_path / "it.md").read_text().splitlines()[0].replace("\\", "")
        assert f'<h1 class="good">{said}</h1>' in (tmp_path / "it.html").read_text()


def test_what_a_scenario_states_is_no_failure_in_words_either(picklock, tmp_path):
    stated = tmp_path / "stated.yaml"
    stated.write_text((ROOT / "scenarios/expired-lease-double-delete.yaml").read_text().replace("name: expired-lease-double-delete", "name: stated").split("expect:")[0] +
                      "expect:\n  mine: { lease-exclusion: violated, mutual-exclusion: violated, release-own: violated }\n")
    source = tmp_path / "mine.c"
    skeleton = (ROOT / "sim/schemes/skeleton.c").read_text().replace("skeleton", "mine")
    source.write_text(skeleton.replace("out_compare_and_delete(out, SERVER_ONE, lease)", "out_del(out, SERVER_ONE)"))
    subprocess.run(["cc", "-std=c17", f"-I{ROOT}/sim", "-shared", "-fPIC", "-o", tmp_path / "mine.so", source], check=True)
    ran = picklock("run", "--on", "sim", "--scheme", tmp_path / "mine.so", stated, "--out", tmp_path / "out")
    assert ran.status == 0 and "mine passes: nothing new was found; stated by the scenario, or known: unlock-bug." in ran.out, ran


EXTEND = '''
    def extend(self):
        return self.ask("PEXPIRE", self.settings.key, self.settings.ttl_ms) == b":1\\r\\n"

'''


def test_what_is_known_is_not_what_fails(picklock, file, tmp_path):
    """A lock that forgets the expiry too: its plain DEL is accepted, in the same cell. The verdict, its counterexample and the page are of
    what is new; the terminal of a results.json that is read again says so as well."""
    lock = tmp_path / "lock.py"
    text = PLAIN
    for old, new in [(', "PX", self.settings.ttl_ms', ""), ('["expiry"]', '["expiry", "extends"]')]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    lock.write_text(text + EXTEND + RUN)
    command = ["test", f"/usr/bin/python3 {lock}", "--fault", "none,slow-work", "--clients", "2", "--rounds", "1", "--budget", "60s",
               ROOT / "scenarios/expired-lease-double-delete.yaml", "--out", tmp_path / "out", "--baseline", file]
    assert picklock(*command, "--update-baseline").status == 0
    assert any(line.endswith(" unlock-bug") for line in lines_of(file)), lines_of(file)
    write(file, [line for line in lines_of(file) if line.endswith(" unlock-bug")])
    said = picklock(*command)
    verdict = re.search(r"Verdict: .*?\.\n(?!Verdict)", said.out, re.S).group(0)
    assert said.status == 1 and "fails: " in verdict and "unlock-bug" not in verdict, said
    assert "Known, accepted: unlock-bug (in " in said.out and "counterexample (unlock-bug)" not in said.out
    assert "counterexample (" in said.out
    page = (tmp_path / "out/latest/index.html").read_text()
    title = re.search(r"<title>(.*?)</title>", page, re.S).group(1)
    assert "<p>Known, accepted: unlock-bug (in " in page and "counterexample (unlock-bug)" not in page and "unlock-bug" not in title
    results = json.loads((tmp_path / "out/latest/results.json").read_text())
    jsonschema.validate(results, json.loads((ROOT / "reports/results.schema.json").read_text()))
    assert {cause for row in results["results"] for found in row["properties"] for cause in found.get("known", [])} == {"unlock-bug"}
    assert picklock("report", tmp_path / "out/latest").status == 1
