"""The pages name what there is: nothing is forgotten, and nothing made up. Links lead somewhere, and lines can be read."""

import functools
import re
import subprocess

import mutations_guards
from conftest import BUILD, ROOT, listed, run

DOCS = ROOT / "sim" / "docs"
LINE_MAX = 160


def in_backticks(page):
    return set(re.findall(r"`([a-z][a-z0-9-]+)`", (DOCS / page).read_text()))


def test_every_scenario_is_the_answer_to_a_hazard():
    scenarios = {scenario["name"] for scenario in listed("scenarios")}
    hand_over = {"hand-over"}  # the one in which nothing goes wrong
    assert scenarios - in_backticks("HAZARDS.md") == hand_over


def test_what_the_hazards_name_exists():
    known = {row["name"] for what in ("scenarios", "schemes", "faults", "properties") for row in listed(what)}
    assert in_backticks("HAZARDS.md") - known == set()


def test_every_hazard_is_shown_or_says_why_not():
    items = re.findall(r"^\d+\. \*\*(.+?)\*\* (.+?)(?=\n\d+\. |\n\n|\Z)", (DOCS / "HAZARDS.md").read_text(), re.M | re.S)
    shown = {row["name"] for what in ("scenarios", "faults") for row in listed(what)}
    assert len(items) > 50
    for name, text in items:
        told, why = re.search(r"\*Shown\s+by:\*(.+)", text, re.S), re.search(r"\*No\s+scenario:\*\s+\S+", text)
        assert bool(told) != bool(why), name
        assert why or set(re.findall(r"`([\w-]+)`", told[1])) & shown, name


def sources():
    """The names of the sources in ARTICLES.md, as schemes and scenarios write them."""
    part = (DOCS / "ARTICLES.md").read_text().split("## Sources")[1].split("\n## ")[0]
    return re.findall(r"^- \*\*(.+?)\*\*: ", part, re.M)


def test_every_source_can_be_looked_up():
    """`picklock list` prints it, and each of its parts begins with one of ARTICLES.md, each of which is used."""
    known, used = sources(), set()
    assert len(known) > 15
    for row in listed("schemes") + listed("scenarios"):
        for part in row["source"].split("; "):
            found = [name for name in known if part == name or part.startswith(f"{name}, ")]
            assert found, f"{row['name']}: {part}"
            used |= set(found)
    assert set(known) == used


def test_a_person_sees_the_source_of_a_scheme():
    assert "from: Kleppmann 2016, How to do distributed locking; Burrows 2006, The Chubby lock service " in \
        " ".join(run("list", "schemes").out.split())


def test_claims_name_scenarios_that_exist():
    scenarios = {scenario["name"] for scenario in listed("scenarios")}
    claims = (DOCS / "ARTICLES.md").read_text().split("## What is often claimed")[1]
    shown = {name for row in claims.splitlines() if row.startswith("|")
             for name in re.findall(r"`([a-z][a-z0-9-]+)`", row.split("|")[-2])}
    assert shown and shown <= scenarios


def rows(page, heading):
    """{first cell: the other cells} of the table below that heading; the first cells are in backticks."""
    part = (DOCS / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| `")]
    assert len(cells) == len({name for name, *_ in cells}), "a row stands there twice"
    return {name.strip("`"): more for name, *more in cells}


def test_every_property_is_explained():
    assert set(rows("CHECKS.md", "Properties")) == {row["name"] for row in listed("properties")}


def test_every_cause_is_explained_and_says_whose_fault_it_is():
    table = re.findall(r'^CAUSE\(\w+,\s*"([\w-]+)",\s*BLAME_(\w+)', (ROOT / "sim" / "checks" / "causes.def").read_text(), re.M)
    blames = {name: blame.lower() for name, blame in table if name != "none"}
    assert len(blames) > 15
    told = [(name, blame) for name, (blame, _) in rows("CHECKS.md", "Causes").items()]
    assert told == list(blames.items())  # in that order, the gravest first


def test_the_walk_through_the_explorer_names_files_that_exist():
    sim = ROOT / "sim"
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:[ch]|py|def))`", (sim / "explore" / "README.md").read_text()))
    roots = (sim, sim / "explore", sim / "explore" / "reduce", ROOT)
    assert len(named) > 30
    assert not [name for name in named if not any((root / name).exists() for root in roots)]


def test_every_folder_of_the_explorer_is_in_the_walk():
    text = (ROOT / "sim" / "explore" / "README.md").read_text()
    folders = [path.name for path in (ROOT / "sim" / "explore").iterdir() if path.is_dir()]
    assert folders and not [name for name in folders if f"{name}/" not in text]


def test_the_pages_name_files_that_exist():
    """Paths; NAME and my_ stand for a reader's own, ARTICLES names files of others."""
    pages = {ROOT / "README.md": [ROOT], ROOT / "sim" / "README.md": [ROOT, ROOT / "sim"],
             **{page: [ROOT, ROOT / "sim", ROOT / "sim" / "explore"] for page in DOCS.glob("*.md") if page.name != "ARTICLES.md"}}
    for page, roots in pages.items():
        named = set(re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:[ch]|py|def|sh|md|yaml|json))`", page.read_text()))
        for name in named:
            assert "NAME" in name or "/my_" in name or any((root / name).exists() for root in roots), f"{page.relative_to(ROOT)}: {name}"


def test_every_page_of_docs_has_its_row():
    rows = set(re.findall(r"^\| \[(\w+\.md)\]", (DOCS / "README.md").read_text(), re.M))
    assert rows == {page.name for page in DOCS.glob("*.md")} - {"README.md"}


def test_every_test_file_has_its_row():
    rows = set(re.findall(r"^\| `(test_\w+\.py)` \|", (ROOT / "harness" / "README.md").read_text(), re.M))
    assert rows == {path.name for path in (ROOT / "harness").glob("test_*.py")}


def test_the_slow_tests_exist():
    """One that has another name by now would run each time."""
    lines = (ROOT / "harness" / "slow_tests.txt").read_text().splitlines()
    assert lines and len(lines) == len(set(lines))
    for file, test in (line.split("::") for line in lines):
        name, _, case = test.removesuffix("]").partition("[")
        assert f"def {name}(" in (ROOT / "harness" / file).read_text(), f"{file}::{test}: write the list anew with harness/slow_tests.py"
        assert not case or (ROOT / "sim" / "test" / f"{case}.c").exists(), f"there is no C test {case}"


def test_every_folder_of_sim_has_its_row():
    rows = set(re.findall(r"^\| `(\w+)/` \|", (ROOT / "sim" / "README.md").read_text(), re.M))
    assert rows == {path.name for path in (ROOT / "sim").iterdir() if path.is_dir()}


def test_the_glossary_says_each_word_once():
    words = [word.strip() for row in re.findall(r"^\| ([^|]+) \|", (DOCS / "GLOSSARY.md").read_text(), re.M)
             for word in row.split(",") if not row.startswith(("word", "---"))]
    assert len(words) > 50 and len(words) == len(set(words))


def tracked_pages():
    found = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, text=True,
                           capture_output=True).stdout.split("\0")
    return [ROOT / name for name in found if name and (ROOT / name).is_file()] or [
        path for path in ROOT.rglob("*.md") if BUILD not in path.parents]


def test_links_lead_somewhere():
    for page in tracked_pages():
        for path in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if not path.startswith("http"):
                assert (page.parent / path).exists(), f"{page.relative_to(ROOT)}: {path}"


def test_no_line_is_too_long_to_read():
    long = [f"{page.relative_to(ROOT)}:{number}" for page in tracked_pages() if "reports/example" not in str(page)
            for number, line in enumerate(page.read_text().splitlines(), 1) if len(line) > LINE_MAX]
    assert not long


# --- sim/docs/SOUNDNESS.md ---

@functools.cache
def bodies_of(path):
    """{name: text} of a file's functions, from the name to the closing brace."""
    functions = re.finditer(r"^\w[^\n;(]*?\b(\w+)\([^;{}]*\)\n\{\n.*?^\}", path.read_text(), re.M | re.S)
    return {found[1]: found[0] for found in functions}


def body_of(path, function):
    return bodies_of(path).get(function)


def soundness_rows():
    text = (DOCS / "SOUNDNESS.md").read_text()
    return re.findall(r"^\| ([A-Z]\d+) \| `([\w/.]+)`: `(\w+)` \| `(\w+)`: `(\w+)` \|$", text, re.M)


def test_every_condition_of_soundness_is_removed_by_make_mutations():
    assert soundness_rows() and set(soundness_rows()) == {guard[:5] for guard in mutations_guards.GUARDS}
    said = re.findall(r"^- ([A-Z]\d+): \S", (DOCS / "SOUNDNESS.md").read_text(), re.M)
    assert said == [row[0] for row in soundness_rows()]


def test_what_soundness_names_exists():
    for condition, file, function, program, test in soundness_rows():
        assert body_of(mutations_guards.EXPLORE / file, function), f"{condition}: {file}: {function}"
        assert f"static void {test}(void **state)" in (ROOT / "sim" / "test" / f"{program}.c").read_text(), f"{condition}: {test}"
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", (DOCS / "SOUNDNESS.md").read_text()))
    words = {word for part in ("ask", "explore", "schemes", "test") for path in (ROOT / "sim" / part).rglob("*.[ch]")
             for word in re.findall(r"\w+", path.read_text())}
    programs = {path.stem for path in (ROOT / "sim" / "test").glob("*.c")}
    assert not [name for name in named if name not in programs | words]


def test_a_guard_is_in_the_function_that_is_named():
    for condition, file, function, _, _, piece, instead in mutations_guards.GUARDS:
        body = body_of(mutations_guards.EXPLORE / file, function)
        assert body and piece.split("\n}")[0].strip() in body and piece != instead, f"{condition}: {file}: {function}"
