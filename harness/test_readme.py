"""The README and its tables say what the program says."""

import html
import json
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, LONG, PATIENCE_S, PICKLOCK, ROOT, listed, run
from readme import EXAMPLES, README as README_PATH, pages, report
from workers import PYTHON, needs_redis_py

README = README_PATH.read_text()


def test_the_tables_are_what_a_run_finds(picklock):
    ran = picklock("run", "--json", "-")
    assert ran.status == 0, ran
    for path, text in pages(ran.json).items():
        assert path.read_text() == text, f"{path.name} is stale: harness/readme.py writes its tables anew"


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_what_the_program_prints(tmp_path, example):
    shutil.copytree(ROOT / example, tmp_path / example)
    report(example, tmp_path)
    for name in ("index.html", "report.md", "junit.xml"):
        assert (tmp_path / example / name).read_text() == (ROOT / example / name).read_text(), f"{name} is stale: harness/readme.py"


def has_redis_py():
    found = subprocess.run(["/usr/bin/python3", "-c", "import redis; print(redis.__version__)"], text=True, capture_output=True)
    return found.stdout.startswith("4.")


def told(row):
    """A row without what differs from run to run: times, and tokens in sentences; or with how the search went about it."""
    search = row.get("search") or {}
    return {"kind": row["kind"], "of": row.get("fault") or row["scenario"], "verdict": row["verdict"], "as_expected": row["as_expected"],
            "search": [search.get(key) for key in ("words", "end", "clients", "rounds", "servers", "lease_ticks", "faults_max")],
            "properties": [{key: prop.get(key) for key in ("property", "verdict", "cause", "faults", "witness_steps", "shortest", "confirmed")}
                           for prop in row["properties"]]}


@pytest.mark.skipif(not has_redis_py(), reason="no redis-py as in the example here")
def test_the_example_of_a_library_is_what_a_test_of_it_finds(picklock):
    """Some of its rows, made anew: the rest of them in `make check-long`."""
    committed = json.loads((ROOT / EXAMPLES[1] / "results.json").read_text())
    few = () if LONG else ("--fault", "duplicate")
    scenarios = sorted(row["path"] for row in committed["results"] if row["kind"] == "run")[:1 if few else None]
    ran = picklock("test", "/usr/bin/python3 sim/worker/examples/redis_py_lock.py", *scenarios, *few, "--json", "-")
    rows = [told(row) for row in committed["results"]]
    assert ran.status == 1 and len(ran.json["results"]) == (2 if few else len(rows)), ran
    assert [row for row in map(told, ran.json["results"]) if row not in rows] == []


def test_the_verdict_on_a_library_is_that_of_its_page():
    [(_, said)] = console("redis_py_lock.py' | sed")
    page = html.unescape(re.sub(r"<[^>]*>", " ", (ROOT / EXAMPLES[1] / "index.html").read_text()))
    page = " ".join(page.split())
    parts = re.split(r"(?:^| )(?:  (?=[a-z-]+: )|    (?=in |What )|(?=Found|Held|Verdict|[0-9]+ of ))", said.strip(), flags=re.M)
    assert len(parts) == 14  # nothing before the first, the verdict, what was played, three causes with three each, what held, what does not count
    for part in filter(None, parts):
        words = " ".join(part.split())
        assert re.sub(r"^([a-z]+-[a-z]+): ", r"\1 ", words.removeprefix("Verdict: ")) in page, words


def test_the_report_of_a_test_has_its_verdict(picklock):
    """Printed again, and in Markdown: what failed, what to do, the counterexample and its replay."""
    ran = picklock("report", EXAMPLES[1])
    comment = re.sub(r"\\(.)", r"\1", (ROOT / EXAMPLES[1] / "report.md").read_text())
    assert ran.status == 1 and "Verdict: redis_py_lock.py fails: " in ran.out and "replay it: picklock replay --worker" in ran.out, ran
    for words in map(str.split, (ran.out, comment)):
        for part in ("What to do: give each request a time-out", "Held: no release removed", "The shortest counterexample (late-grant):"):
            assert part in " ".join(words), (part, words)


def comparable(text):
    """A run's output without what differs from run to run: tokens are drawn, folders are named by the time."""
    return re.sub(r"reports/runs/\S+", "RUN", text).strip()


def console(mark):
    """[(command, its output)] of the README's console block that has the mark."""
    block, = [block for block in re.findall(r"```console\n(.*?)```", README, re.S) if mark in block]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", block, flags=re.M)[1:]]


@pytest.mark.parametrize("marks", [
    ["build/picklock run --scheme set-nx-ex-del,set-nx-px-cad", "report reports/runs/latest --timeline"],
    ["my_lock.c"],
    pytest.param(["cp sim/worker/examples/naive_lock.py"], marks=pytest.mark.skipif(not has_redis_py(), reason="no redis-py 4 for /usr/bin/python3")),
    ["--fault slow-work,stall,resend"],
])
def test_the_commands_print_what_the_readme_says(tmp_path, marks):
    """Each command is run as it stands there, in a folder that looks like the tree."""
    for name in ("sim", "scenarios"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").symlink_to(BUILD)
    for command, output in [step for mark in marks for step in console(mark)]:
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, text=True, capture_output=True, timeout=PATIENCE_S)
        assert comparable(done.stdout) == comparable(output), f"$ {command}\n{done.stdout}{done.stderr}"


def form(text):
    """What a stress run prints without what luck decides: figures, what struck, the counterexample, and the cause of who was not caught."""
    text = re.sub(r"\d+ connected clients, \d+ faults?(?: \([\w\s,-]+\))?, \d+ inside a hold; faults kept clients waiting "
                  r"for [\d.]+ m?s of their [\d.]+ s; \d+ contended attempts?".replace(" ", r"\s+"), "FAULTS", text)
    text = re.sub(r"(^NOT expected: [^\n]*\n).*?\n\n", r"\1\n", text, flags=re.M | re.S)
    text = re.sub(r"(The safe set-nx-px-cad did\s+not)[^.]*", r"\1", text)
    text = re.sub(r"^(set-nx-px-cad +\d.*) +\S+$", r"\1 CAUSE", text, flags=re.M)
    return re.sub(r" +", " ", re.sub(r"[\d.]+(us|ms|s)?\b", "N", comparable(text)))


def test_the_stress_run_is_whole(tmp_path):
    """For a part of its time, with more that strikes."""
    [(command, output)] = console("picklock stress --scheme")
    shorter = command.replace("--duration 10s", "--duration 3s --pause 20%")
    done = subprocess.run(["bash", "-c", shorter.replace("build/picklock", str(PICKLOCK))], cwd=tmp_path, text=True, capture_output=True, timeout=PATIENCE_S)
    assert shorter != command and done.returncode == 1, done
    assert form(done.stdout) == form(output), done.stdout


def test_every_command_has_its_row():
    """In the words of the program's own help."""
    commands = dict(re.findall(r"^  ([a-z]+) +(.+)$", run("help").err or run("--help").out, re.M))
    rows = dict(re.findall(r"^\| `picklock (\w+)(?: .*)?` \| (.+) \|$", README, re.M))
    assert len(commands) > 8 and rows == commands


def test_every_scenario_has_its_line():
    text = (ROOT / "scenarios" / "README.md").read_text()
    for scenario in listed("scenarios"):
        assert scenario["name"] in text, scenario["name"]


def test_every_fault_of_the_explorer_can_be_said_in_steps():
    """scenarios/README.md has a line for each fault that the explorer injects: a row FAULT of history/faults.def."""
    explorer = (ROOT / "sim" / "history" / "faults.def").read_text()
    faults = re.findall(r'^FAULT\([^"]*"([^"]+)"', explorer, re.M)
    text = (ROOT / "scenarios" / "README.md").read_text()
    assert len(faults) > 10
    for fault in faults:
        assert f"| `{fault}` |" in text, fault


def test_the_sentences_are_all_in_the_table():
    """scenarios/README.md lists every row of steps.def, and every choice that is a step, with its words."""
    tables = "".join((ROOT / "sim" / "scenario" / name).read_text() for name in ("steps.def", "choices.def"))
    rows = re.findall(r'^STEP(?:_CHOICE)?\((?:\w+|"[^"]*"|[ ,])*,\s*"([^"]*)"\)$', tables, re.M)
    text = (ROOT / "scenarios" / "README.md").read_text()
    assert len(rows) > 30
    for words in rows:
        assert words in text, words


def test_the_commands_that_are_printed_can_be_found():
    """picklock is on nobody's PATH."""
    assert "`picklock` stands for `build/picklock`" in README


@needs_redis_py
def test_the_readmes_own_test_run_is_watched_as_it_says(tmp_path):
    """Times, and so the digests' tails, differ; its first token and what is said of whom do not."""
    program, shown = re.search(r"```python\n(import os, time, redis  # test_orders\.py\n.*?)```.*?\(unlock-bug\)\n(.*?)\n```", README, re.S).groups()
    (tmp_path / "test_orders.py").write_text(program)
    ran = subprocess.run([PICKLOCK, "watch", "--key", "lock:*", "--out", tmp_path / "out", "--", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                          "test_orders.py"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    told = re.search(r"lease-exclusion is violated \(unlock-bug\)\n(.*?)\n\n", ran.stdout, re.S)
    assert ran.returncode == 1 and told, ran

    def timeless(text):
        return re.sub(r"[0-9]+\.[0-9]+ ms|#[0-9a-f]{16}", "..", " ".join(text.split()))
    assert timeless(told[1]) == timeless(shown)
