"""The README says what the program says: its table, its commands, its links."""

import re

from conftest import ROOT, listed
from readme import matrix, table, with_tables

README = (ROOT / "README.md").read_text()


def test_the_tables_are_what_a_run_finds(picklock):
    ran = picklock("run", "--json", "-")
    assert ran.status == 0, ran
    assert table(ran.json) in README, "the table is stale: harness/readme.py writes it anew"
    assert matrix() in README, "the explorer's table is stale: harness/readme.py writes it anew"
    assert with_tables(README, ran.json) == README


def test_links_lead_somewhere():
    for path in re.findall(r"\]\(([^)#]+)\)", README):
        if not path.startswith("http"):
            assert (ROOT / path).exists(), path


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
    """scenarios/README.md lists every row of steps.def, with its words."""
    rows = re.findall(r'^STEP\(\w+,\s*"[^"]*",\s*"([^"]*)"\)',
                      (ROOT / "sim" / "scenario" / "steps.def").read_text(), re.M)
    text = (ROOT / "scenarios" / "README.md").read_text()
    assert len(rows) > 20
    for words in rows:
        assert words in text, words


def test_the_commands_that_are_printed_can_be_found():
    """picklock is on nobody's PATH."""
    assert "`picklock` stands for `build/picklock`" in README
