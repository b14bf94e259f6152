"""Bugs that are planted in schemes (sim/test/mutants/): found, and confirmed on real Redis; in the same code without them, not.

sim/test/test_mutants.c asks more of the explorer, in the simulated world only."""

import re
import subprocess

import pytest
from conftest import ROOT, run, verdicts

MUTANTS = ROOT / "sim" / "test" / "mutants"
TEXT = "\\s*\"([^\"]*)\""
PLANT = re.compile(rf"^PLANT\((\w+), (\w+),{TEXT},{TEXT},{TEXT}, (\d+),{TEXT}\)$", re.MULTILINE)
ROWS = PLANT.findall((MUTANTS / "mutants.def").read_text())
STORY = re.compile(rf"^STORY\((\w+), (\w+),{TEXT},{TEXT},{TEXT}\)$", re.MULTILINE)
STORIES = STORY.findall((MUTANTS / "mutants.def").read_text())

assert len(ROWS) == (MUTANTS / "mutants.def").read_text().count("\nPLANT("), "a row is not understood"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """All of them in one shared object, with a name for each."""
    folder = tmp_path_factory.mktemp("mutants")
    made = folder / "mutants.so"
    subprocess.run(["cc", "-std=c17", "-Isim", "-shared", "-fPIC", "-o", made, *MUTANTS.glob("*.c")],
                   cwd=ROOT, check=True)

    def named(name):
        link = folder / f"{name}.so"
        if not link.exists():
            link.symlink_to(made)
        return link

    return named


def explored(plugin, names, faults, *words):
    """{scheme: {property: row}}"""
    ran = run("explore", "--scheme", ",".join(str(plugin(name)) for name in names), "--fault", faults,
              "--fail-on", "never", "--json", "-", *words)
    # 2: found, but there is no end of states (a fence that grows with every refusal)
    assert ran.status in (0, 2), ran
    found = {}
    for row in ran.rows:
        # of a quorum the row with three servers, which comes before that with five
        found.setdefault(row["scheme"], {}).setdefault(row["property"], row)
    return found


def violated(rows):
    return {name for name, row in rows.items() if row["verdict"] == "violated"}


def worse(rows, twin):
    """What is violated in rows and not in those of the twin; or an untruth of the scheme's own, where the twin is refused by
    what a lost message has left behind."""
    more = violated(rows) - violated(twin)
    if "truthful" in violated(rows) and twin["truthful"]["cause"] == "leftover" != rows["truthful"]["cause"]:
        more.add("truthful")
    return more


# The searches of these take several seconds each.
LATE = ("unlocked_not_released", "quorum_validity_unchecked")


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0], marks=[pytest.mark.long("4 to 9 s of CPU")] if row[0] in LATE else []) for row in ROWS])
def test_a_mutant_is_found_on_real_redis_and_its_twin_is_not(plugin, row):
    mutant, twin, faults, broken, cause, events, _ = row
    found = explored(plugin, [mutant, twin], faults, "--confirm")
    properties = broken.split()
    assert worse(found[mutant], found[twin]) == set(properties)
    assert all(found[twin][name]["verdict"] == "holds" or found[twin][name]["cause"] == "leftover" for name in properties)
    for name in violated(found[mutant]):
        assert found[mutant][name]["confirmed"] is True, name
    first = found[mutant][properties[0]]
    assert (first["cause"], first["witness_steps"]) == (cause, int(events))


def told(plugin, picklock, world, scenario, *names):
    """{scheme: row} of a scenario beside the mutants."""
    ran = picklock("run", "--on", world, "--scheme", ",".join(str(plugin(name)) for name in names),
                   MUTANTS / scenario, "--json", "-")
    return {row["scheme"]: row for row in ran.rows}


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_an_early_fencing_token_is_found_and_its_twin_is_not(plugin, picklock, world):
    [(mutant, twin, name, cause, _)] = STORIES
    rows = told(plugin, picklock, world, "early-fence-token.yaml", mutant, twin)
    assert verdicts(rows[mutant])[name] == ("violated", cause)
    assert verdicts(rows[twin])[name] == ("holds", None)
    assert all(row["as_expected"] for row in rows.values())


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_release_that_does_not_compare_loses_an_update_and_its_twin_lets_nobody_in(plugin, picklock, world):
    rows = told(plugin, picklock, world, "lost-update-by-release.yaml", "release_by_del", "lease_lock")
    assert verdicts(rows["release_by_del"])["no-lost-update"] == ("violated", "unlock-bug")
    assert rows["release_by_del"]["as_expected"]
    assert "C does not hold the lock (its last operation: refused)" in rows["lease_lock"]["not_applicable"]


def test_a_scenario_that_ends_half_way_says_so(plugin, picklock, tmp_path):
    """What failed up to the step that could not be played counts, and names it; what held up to there is unknown."""
    steps = ["A acquires", "lease expires", "B acquires", "A releases", "B writes", "A writes"]
    def played(count):
        (tmp_path / "short.yaml").write_text("name: short\nsource: a test\nlease: 300ms\nclients: [A, B]\nsteps:\n"
                                             + "".join(f"  - {step}\n" for step in steps[:count]) + "expect:\n  set-nx-px-cad: { release-own: holds }\n")
        ran = picklock("run", "--on", "sim", "--scheme", f"{plugin('release_by_del')},{plugin('lease_lock')}", tmp_path / "short.yaml", "--json", "-")
        return ran, {row["scheme"]: row for row in ran.rows}
    ran, rows = played(6)
    said = f"Not all of it could be judged: {tmp_path}/short.yaml:11:5: A writes: A does not hold the lock (its last operation: "
    for found in rows["release_by_del"]["properties"]:
        assert found["verdict"] in ("violated", "unknown", "not_applicable") and (
            found["verdict"] == "not_applicable" or found["witness"][-1].startswith(said)), found
    assert ran.status == 1 and rows["release_by_del"]["verdict"] == "violated"
    assert "A does not hold the lock" in rows["lease_lock"]["not_applicable"]
    ran, rows = played(5)
    assert ran.status == 1 and all("Not all of it" not in line for row in ran.rows for found in row["properties"] for line in found["witness"])
    assert "holds" in {found["verdict"] for found in rows["release_by_del"]["properties"]}


@pytest.mark.parametrize("section, mutant, twin, name, cause", [
    pytest.param("write", "fence_minted_first", "fence_lock", "fence-order", "fence-disorder", marks=pytest.mark.long("one of two")),
    ("counter", "quorum_off_by_one", "quorum_lock", "no-lost-update", "split-grant"),
])
def test_a_section_shows_it_on_real_redis_and_not_of_its_twin(plugin, section, mutant, twin, name, cause):
    found = explored(plugin, [mutant], "none", "--section", section, "--states", "1000000", "--confirm")[mutant][name]
    assert (found["verdict"], found["cause"], found["confirmed"]) == ("violated", cause, True)
    assert explored(plugin, [twin], "none", "--section", section)[twin][name]["verdict"] == "holds"
