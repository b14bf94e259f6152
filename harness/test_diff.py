"""`picklock report --diff OLD NEW`: what is new, gone, or not decided any more, in words and in every format; and its status."""

import json
import re
import shutil

import pytest
from conftest import PICKLOCK, ROOT, in_a_terminal, run


def test_what_is_new_fails(mended):
    told = run("report", "--diff", mended["safe"], mended["naive"])
    assert told.status == 1
    title, words = told.out.split("\n\n")[1].split("\n", 1)
    assert title == "New violations"
    assert "  my_lock, slow-work (cell): release-own: violated (unlock-bug, 10 steps), was holds\n" in words + "\n"


def test_a_failure_that_had_no_counterpart_fails(tmp_path):
    """Another fault, so another cell: it was not there before, and fails. One that holds is told, and no failure."""
    def explored(faults, out):
        run("explore", "--scheme", "set-nx-ex-del", "--clients", "2", "--rounds", "1", "--fault", faults, "--out", tmp_path / out, "--fail-on", "bug")
        return tmp_path / out / "latest"
    old = explored("none", "old")
    told = run("report", "--diff", old, explored("none,slow-work", "worse"))
    assert told.status == 1 and "Not there before\n  set-nx-ex-del, slow-work (cell)" in told.out, told
    told = run("report", "--diff", old, explored("none,crash", "more"))
    assert told.status == 0 and "Not there before\n  set-nx-ex-del, crash (cell)" in told.out, told


def test_what_is_gone_does_not(mended):
    told = run("report", "--diff", mended["naive"], mended["safe"])
    assert told.status == 0 and "New violations" not in told.out
    assert "\nGone\n" in told.out and "release-own: holds, was violated (unlock-bug, 10 steps)" in told.out


def test_what_is_not_decided_any_more_is_no_success(mended):
    told = run("report", "--diff", mended["safe"], mended["cut"])
    assert told.status == 2 and "\nNot decided any more\n" in told.out and "the verdict as a whole" in told.out
    back = run("report", "--diff", mended["cut"], mended["safe"])
    assert back.status == 0 and "\nDecided now\n" in back.out


def test_the_same_is_the_same(mended):
    told = run("report", "--diff", mended["naive"], mended["naive"])
    assert told.status == 0 and told.out.split() == f"Compared with {mended['naive']}: 3 runs or cells, all the same".split()


def test_every_format_tells_it(mended, tmp_path):
    files = {name: tmp_path / name for name in ("json", "markdown", "html")}
    words = [word for name, path in files.items() for word in (f"--{name}", path)]
    assert run("report", "--diff", mended["safe"], mended["naive"], *words).status == 1
    for name, path in files.items():
        text = path.read_text()
        assert ("New violations" if name == "html" else "New violations: ") in text and "unlock-bug, 10 steps" in text, path
    page = files["html"].read_text()
    assert "New violations: " not in page  # a table there; nothing is said twice
    assert '<td>release-own</td><td class="holds">holds</td><td class="bug">violated (unlock-bug, 10 steps)</td>' in page


def test_each_kind_of_change_is_a_part_of_the_table(tmp_path):
    for name, scheme in [("old", "set-nx-ex-del"), ("new", "set-nx-px-cad")]:
        run("run", "--on", "sim", "--scheme", scheme, ROOT / "scenarios/hand-over.yaml", "--out", tmp_path / name)
    run("report", "--diff", tmp_path / "old/latest", tmp_path / "new/latest", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    table = page[page.index('<table class="changes">'):].split("</table>")[0]
    assert re.findall(r"</?tbody>", table) == 2 * ["<tbody>", "</tbody>"] and "&lt;" not in table


def headline(page):
    return re.search(r'<h1 class="(\w*)">(.*?)</h1>\n<p class="lead">(.*?)</p>', page, re.S).groups()


def test_the_page_begins_with_what_has_changed(mended, tmp_path):
    """What the newer run says of itself follows; a run that fails as before is no news."""
    def told(old, new):
        run("report", "--diff", mended[old], mended[new], "--html", tmp_path / "page.html")
        return headline((tmp_path / "page.html").read_text())
    mood, title, lead = told("safe", "naive")
    assert (mood, title) == ("bad", f"2 new violations, 0 gone since {mended['safe']}.")
    run("report", mended["naive"], "--html", tmp_path / "alone.html")
    assert lead.startswith(headline((tmp_path / "alone.html").read_text())[1])
    mood, title, _ = told("naive", "safe")
    assert mood == "good" and title.startswith("0 new violations, 2 gone")
    assert told("naive", "naive")[:2] == ("good", f"Nothing has changed since {mended['naive']}.")
    assert told("safe", "cut")[0] == "open"


def test_a_scenario_is_told_from_a_cell(tmp_path):
    """Both may have the same name."""
    for scheme in ("set-nx-ex-del", "set-nx-px-cad"):
        run("run", "--on", "sim", "--scheme", scheme, ROOT / "scenarios/client-drift.yaml", "--out", tmp_path / scheme / "run")
        run("explore", "--scheme", scheme, "--clients", "2", "--rounds", "1", "--fault", "client-drift", "--out", tmp_path / scheme / "explore")
    old, new = ("set-nx-ex-del", "set-nx-px-cad")
    told = run("report", "--diff", tmp_path / old / "run/latest", tmp_path / new / "explore/latest", "--html", tmp_path / "page.html")
    assert told.status == 2 and f"  {old}, client-drift (scenario)\n" in told.out and f"  {new}, client-drift (cell)\n" in told.out
    assert headline((tmp_path / "page.html").read_text())[1] == \
        f"Nothing is both here and in {tmp_path / old / 'run/latest'}, so what is new is not known."


def test_the_page_without_a_comparison_has_no_word_of_it(mended, tmp_path):
    assert run("report", mended["naive"], "--html", tmp_path / "page.html").status == 1
    page = (tmp_path / "page.html").read_text()
    assert 'id="diff"' not in page and "Compared with" not in page


def test_the_page_of_the_same_says_so(mended, tmp_path):
    assert run("report", "--diff", mended["safe"], mended["safe"], "--html", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "3 runs or cells in both, all the same." in page and "beside each other" not in page


def test_nothing_in_common_is_unknown(mended, tmp_path):
    other = run("explore", "--scheme", "set-nx-px-cad", "--fault", "none", "--out", tmp_path)
    assert other.status == 0
    told = run("report", "--diff", tmp_path / "latest", mended["safe"])
    assert told.status == 2 and ": 0 runs or cells: they share none, so nothing new or gone is known" in " ".join(told.out.split())
    assert "\nNot there any more\n  set-nx-px-cad, none (cell)\n" in told.out and "\nNot there before\n  my_lock, crash (cell)\n" in told.out
    told = run("report", "--diff", tmp_path / "latest", mended["naive"])  # what fails there may have failed before
    assert told.status == 2 and "they share none" in told.out


def test_bounds_that_differ_are_named(mended, tmp_path):
    """Cells of other bounds are other cells; which bounds those are is said of each, in words and on the page."""
    def explored(out, *words):
        run("explore", "--scheme", "set-nx-px-cad", "--fault", "none", *words, "--out", tmp_path / out)
        return tmp_path / out / "latest"
    old = explored("old", "--clients", "2", "--rounds", "1")
    for out, words, said in [
        ("clients", ["--clients", "3", "--rounds", "1"], "3 clients now, 2 clients before"),
        ("ticks", ["--clients", "2", "--rounds", "2", "--lease-ticks", "3"], "2 rounds now, 1 round before; lease of 3 ticks now, lease of 2 ticks before"),
        ("section", ["--clients", "2", "--rounds", "1", "--section", "write"], "section: write now, section: what each property needs before"),
        ("search", ["--clients", "2", "--rounds", "1", "--search", "random", "--runs", "10"], "random search, seed 0 now, every interleaving before"),
    ]:
        told = run("report", "--diff", old, explored(out, *words), "--html", tmp_path / "page.html", "--json", tmp_path / "new.json")
        page = (tmp_path / "page.html").read_text()
        for kind in ("Not there before", "Not there any more"):
            assert f"\n{kind}\n  set-nx-px-cad, none (cell): {said}\n" in told.out.replace("\n    ", " "), told
        assert page.count(f"<td>the verdict as a whole<br><small>{said}</small></td>") == 2
        assert sum(note.endswith(f": set-nx-px-cad, none (cell): {said}.") for note in json.loads((tmp_path / "new.json").read_text())["notes"]) == 2
    told = run("report", "--diff", old, mended["safe"], "--html", tmp_path / "page.html")  # another lock
    assert " now, " not in told.out and "the verdict as a whole<br>" not in (tmp_path / "page.html").read_text()


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A stress run, and what it would be with these verdicts of release-own and these figures, whatever it has come to."""
    here = tmp_path_factory.mktemp("sampled")
    run("stress", "--scheme", "set-nx-px-cad", "--clients", "2", "--duration", "100ms", "--no-faults", "--out", here / "run")
    results = json.loads((here / "run/latest/results.json").read_text())
    row = results["results"][0]
    for found in row["properties"]:
        found.update(verdict="holds", cause=None, count=0, witness=[], event=None)
        found.pop("causes", None)
    row.update(as_expected=None, trouble=None)
    row["stress"].update(overruns=0, foreign_releases=0, lost_updates=0)

    def variant(name, verdict, seconds=0.1, **figures):
        made = json.loads(json.dumps(results))
        row = made["results"][0]
        found = next(p for p in row["properties"] if p["property"] == "release-own")
        found.update({"violated": {"verdict": "violated", "cause": "unlock-bug", "count": 1, "witness": ["c1 released c2's."]},
                      "unknown": {"verdict": "unknown"}, "holds": {}}[verdict])
        row.update(seconds=seconds, verdict=verdict)
        row["stress"].update(figures)
        (here / name).mkdir()
        (here / name / "results.json").write_text(json.dumps(made))
        return here / name
    return {"clean": variant("clean", "holds"), "broken": variant("broken", "violated"), "open": variant("open", "unknown"),
            "late": variant("late", "violated", seconds=0.108),
            "larger": variant("larger", "violated", seconds=0.4, clients=100, faults=7, struck={"pause": 6, "crash": 1}),
            "smaller": variant("smaller", "holds", faults=2, struck={"crash": 2})}


def test_what_a_sample_does_not_find_again_is_not_gone(sampled, tmp_path):
    """Neither is it decided: what a stress run does not see proves nothing."""
    for old, was in [("broken", "violated (unlock-bug)"), ("open", "unknown"), ("late", "violated (unlock-bug)")]:
        told = run("report", "--diff", sampled[old], sampled["clean"], "--html", tmp_path / "page.html", "--json", tmp_path / "new.json")
        said = f"set-nx-px-cad, stress: release-own: not seen violated, was {was}"
        title = "Not seen this time, which proves nothing of a sample"
        assert told.status == 0 and told.out.endswith(f"\n\n{title}\n  {said}\n") and "Gone" not in told.out and "Decided" not in told.out, told
        assert json.loads((tmp_path / "new.json").read_text())["notes"][-1] == f"{title}: {said}."
        page = (tmp_path / "page.html").read_text()
        assert headline(page)[1] == f"0 new violations, 0 gone, 1 not seen this time since {sampled[old]}."
        assert f'{title} <small>1</small>' in page and '<td>release-own</td>' in page and ">not seen violated</td></tr>" in page
    told = run("report", "--diff", sampled["clean"], sampled["broken"])
    assert "New violations\n  set-nx-px-cad, stress: release-own: violated (unlock-bug), was not seen violated\n" in told.out, told


def test_samples_that_differ_say_in_what(sampled, tmp_path):
    """Clients, time, faults, and those that struck in one alone; of samples alike nothing is said, as above."""
    told = run("report", "--diff", sampled["larger"], sampled["smaller"], "--html", tmp_path / "page.html", "--json", tmp_path / "new.json")
    said = "2 clients now, 100 clients before; 100 ms now, 400 ms before; 2 faults now, 7 faults before; pause struck before only"
    words = f"release-own: not seen violated, was violated (unlock-bug); {said}"
    assert told.status == 0 and words in " ".join(told.out.split()), told
    assert json.loads((tmp_path / "new.json").read_text())["notes"][-1].endswith(f"{words}.")
    assert f"<td>release-own<br><small>{said}</small></td>" in (tmp_path / "page.html").read_text()
    back = " ".join(run("report", "--diff", sampled["smaller"], sampled["larger"]).out.split())
    assert "was not seen violated; 100 clients now, 2 clients before; 400 ms now, 100 ms before; 7 faults now, 2 faults before; pause struck now only" in back


def test_it_is_as_wide_as_its_terminal(mended, sampled):
    """A row goes on further in than it begins; the words are the same at each width."""
    def told(columns, here, old, new):
        return in_a_terminal([PICKLOCK, "report", new, "--diff", old], columns, cwd=here)[1]
    for here, old, new in [(mended["safe"].parent.parent, "safe/latest", "naive/latest"), (sampled["larger"].parent, "larger", "smaller")]:
        wide = told(200, here, old, new)
        for columns in (60, 77, 100):
            text = told(columns, here, old, new)
            assert max(map(len, text.splitlines())) <= columns and text.split() == wide.split(), text
        narrow = told(60, here, old, new)
        assert re.search(r"^  \S.*\n    \S", narrow, re.M) and not re.search(r"^ {3}\S| $", narrow, re.M), narrow


def test_a_folder_that_is_none_is_refused(mended, tmp_path):
    assert run("report", "--diff", tmp_path, mended["safe"]).status == 64


@pytest.mark.long("ten seconds of searches")
def test_of_many_changes_the_first_fifty_are_drawn(tmp_path):
    """Every violation is new, where the older run is made one that had none; a table tells all of them."""
    assert run("run", "--out", tmp_path / "new").status == 0
    shutil.copytree(tmp_path / "new" / "latest", tmp_path / "old")
    results = json.loads((tmp_path / "old" / "results.json").read_text())
    changed = properties = 0
    for row in results["results"]:
        found = [p for p in row["properties"] if p["verdict"] == "violated"]
        if not found or any(p["verdict"] == "unknown" for p in row["properties"]):
            continue
        for p in found:
            p.update(verdict="holds", cause=None, count=0, witness=[], event=None)
            p.pop("causes", None)
        stated = [p["expected"] for p in row["properties"] if p["expected"]]
        row.update(verdict="holds", as_expected=all(words != "violated" for words in stated))
        changed, properties = changed + 1, properties + len(found)
    assert changed > 50
    (tmp_path / "old" / "results.json").write_text(json.dumps(results))
    run("report", "--diff", tmp_path / "old", tmp_path / "new" / "latest", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    table = page[page.index('<table class="changes">'):].split("</table>")[0]
    assert page.count('<details class="change"') == 50 and f"These are the first 50 of {changed};" in page
    assert table.count('<tr><th scope="row">') == properties and f"New violations <small>{properties}</small>" in table
