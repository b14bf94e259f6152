"""The page of a report of what was explored: the matrix, equal findings, what changed; the page of `picklock test`."""

import json
import re

import pytest
from conftest import ROOT, flat, run
from pages import assert_readable, cell_texts, css, needs_browser, on_paper, scenarios, window
from readme import causes_in

# Of an unmodified library.
LIBRARY = (ROOT / "reports" / "example" / "redis-py" / "index.html").as_uri()


@needs_browser
def test_the_explorers_matrix_says_what_was_found(browser, explored):
    results = flat(json.loads((explored / "results.json").read_text()))
    browser.get_log("browser")
    browser.get((explored / "index.html").resolve().as_uri())
    texts = cell_texts(browser)
    assert set(texts) == {(row["fault"], row["scheme"]) for row in results}
    for row in results:
        said = texts[row["fault"], row["scheme"]]
        (cause, steps), *more = causes_in(row["words"]) or [(row["words"], None)]
        short = f"{cause} {steps} steps" + (f" and {len(more)} more" if more else "") if steps else cause
        assert any(text.endswith(short) for text in said), (row, said)
    heads = [head.text for head in css(browser, "table.explored thead tr:last-child th")]
    assert heads[-2:] == ["redlock\n3 servers", "redlock\n5 servers"] and heads[1] == "set-nx-ex-del"
    efforts = [cell.text for cell in css(browser, "table.explored tfoot td")]
    for effort, bounds in zip([efforts[0], *efforts[-2:]], ["3 clients, 2 rounds, 1 server", "2 clients, 2 rounds, 3 servers", "2 clients, 2 rounds, 5 servers"]):
        servers = int(bounds.split()[-2])
        of_column = {row["fault"]: row["states"] for row in results  # a row a property
                     if row["scheme"] == ("set-nx-ex-del" if servers == 1 else "redlock") and row["servers"] == servers}
        assert effort.startswith(f"{bounds}, lease of 2 ticks; {sum(of_column.values())} states, ") and effort.endswith(" omitted"), effort
    ids = [part.get_attribute("id") for part in css(browser, "[id]")]
    assert len(ids) == len(set(ids))
    browser.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").click()
    article = browser.find_element("css selector", "article:target")
    svg = article.find_element("css selector", "svg.timeline")
    assert svg.is_displayed() and "hears OK" in svg.text
    table = [[cell.get_attribute("textContent") for cell in css(line, "th, td")] for line in css(article, ".properties tbody tr")]
    told = {name: (line[1], line[3]) for line in table for name in line[0].split(", ")}
    assert told == {row["property"]: (row["verdict"].replace("_", " ").replace("-", " "), str(row["witness_steps"] or "–")) for row in results
                    if (row["fault"], row["scheme"]) == (article.get_attribute("data-subject"), "set-nx-ex-del")}
    assert len(told) > len(table) > len([line for line in table if line[1] == "violated"]) > 0  # what holds is in one line
    sentences = article.find_element("css selector", "ol.witness")
    assert sentences.location["y"] > svg.location["y"]  # under the picture
    replay = article.find_element("css selector", ".again code").text
    assert replay.startswith("picklock replay ")
    again = run(*replay.split()[1:], "--on", "sim", "--out", explored / "again", "--json", "-")
    assert again.json["results"][0]["verdict"] == "violated", again
    assert browser.get_log("browser") == []


@needs_browser
def test_equal_findings_stand_together(browser, explored):
    """Each cause of a lock is told once, under how many faults; the fewest steps first, the others folded below."""
    cells = {(row["scheme"], row["servers"], row["fault"]): row for row in flat(json.loads((explored / "results.json").read_text()))}
    browser.get((explored / "index.html").resolve().as_uri())
    section = browser.find_element("css selector", "section[data-scenario='explore set-nx-ex-del']")
    told = [head.text for head in css(section, ".finding > h3")]
    broken = [row for row in cells.values() if row["scheme"] == "set-nx-ex-del" and "unlock-bug" in row["words"]]
    safe = [row for row in cells.values() if row["scheme"] == "set-nx-ex-del" and row["words"] == "safe"]
    assert len(broken) == 2 and len(safe) == 2
    assert told == ["unlock-bug under 2 of 4 faults", "safe under 2 of 4 faults"]
    first, others = css(section, ".finding")[0].find_elements("css selector", "article")
    steps = [int(re.search(r"(\d+) steps", part.find_element("css selector", ".badge").get_attribute("textContent"))[1]) for part in (first, others)]
    assert steps == sorted(steps) and first.is_displayed() and not others.is_displayed()
    folded = css(section, "details.same > summary")[0].text
    assert folded == f"1 more with the same cause, and the steps they take: {others.get_attribute('data-subject')} ({steps[1]})"
    browser.find_element("css selector", f"table.explored a[href='#{others.get_attribute('id')}']").click()
    assert others.is_displayed() and others.find_element("css selector", "svg.timeline").is_displayed()  # the link unfolds it


@needs_browser
def test_the_explorers_matrix_sorts_and_filters(browser, explored):
    browser.get((explored / "index.html").resolve().as_uri())
    box = browser.find_element("id", "query")
    box.send_keys("stall redlock")
    assert set(cell_texts(browser)) == {("stall", "redlock")}
    shown = [part.get_attribute("id") for part in css(browser, "article") if part.is_displayed()]
    assert shown[0] == "explore--redlock--stall" and len(shown) == 2 and shown[1].startswith(shown[0])
    box.clear()
    box.send_keys(" ")
    assert len(cell_texts(browser)) == 16
    css(browser, "table.explored thead button")[0].click()
    names = [row.text for row in css(browser, "table.explored tbody th")]
    assert names == sorted(names)


@needs_browser
def test_it_reads_without_scripts(without_scripts, explored):
    without_scripts.get((explored / "index.html").resolve().as_uri())
    assert not css(without_scripts, "table.explored thead button")
    assert len(cell_texts(without_scripts)) == 16
    without_scripts.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").click()
    assert css(without_scripts, "article:target svg.timeline")[0].is_displayed()
    without_scripts.get(LIBRARY)
    assert css(without_scripts, ".conclusion svg.timeline")[0].is_displayed() and not css(without_scripts, "#matrix thead button")


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_the_window_and_can_be_read(browser, explored, width):
    browser.get((explored / "index.html").resolve().as_uri())
    with window(browser, width):
        assert_readable(browser, width)


@needs_browser
@pytest.mark.parametrize("width, scheme", [(400, "dark"), (1400, "light")])
def test_the_page_of_a_test_begins_with_its_verdict(browser, width, scheme):
    """That of the committed example: why, what to do, the shortest counterexample with the library's own commands, how to replay it."""
    browser.get_log("browser")
    with window(browser, width, scheme):
        browser.get(LIBRARY)
        assert browser.find_element("tag name", "h1").text == "redis_py_lock.py fails: late-grant, endless-wait, untrue-answer."
        block = browser.find_element("css selector", ".conclusion")
        assert block.rect["y"] < browser.execute_script("return innerHeight") and block.rect["x"] + block.rect["width"] <= width
        reasons = [reason.text for reason in css(block, ".reasons li")]
        assert [reason.split()[0] for reason in reasons] == ["late-grant", "endless-wait", "untrue-answer"] and all("What to do:" in reason for reason in reasons)
        diagram = css(block, "svg.timeline")[0]
        assert diagram.is_displayed() and "A acquires: SET lock A1 PX 2000 NX" in diagram.text
        assert css(block, ".again code")[0].text.startswith("picklock replay --worker")
        cut, shades = browser.execute_script("const box = arguments[0].closest('.scroll'), look = getComputedStyle(box); "
                                             "return [box.scrollWidth > box.clientWidth, look.backgroundAttachment]", diagram)
        assert cut == (width == 400) and shades == "local, local, scroll, scroll"  # where there is more, a shade says so
        assert_readable(browser, width)
        sides = css(browser, ".sides")
        assert sides == []  # one lock: neither naive nor safe
        css(block, ".reasons a")[0].click()
        assert css(browser, "article:target svg.timeline")[0].is_displayed()
        with on_paper(browser):
            assert diagram.is_displayed()
            assert_readable(browser)
        assert browser.get_log("browser") == []


def scenarios_of_the_library():
    """{"holds", "not_applicable", "violated": ids of their parts of the page}."""
    rows = json.loads((ROOT / "reports" / "example" / "redis-py" / "results.json").read_text())["results"]
    found = {}
    for row in rows:
        if row["kind"] == "run":
            found.setdefault(row["verdict"], []).append(f"{row['scenario']}--redis_py_lock.py")
    return found


@needs_browser
def test_equal_scenarios_of_one_lock_stand_together(browser):
    """What holds is a line each, what does not apply one closed list with its reasons: a link, the filter and the keyboard reach into both."""
    from selenium.webdriver.common.keys import Keys
    ids = scenarios_of_the_library()
    browser.get_log("browser")
    browser.get("about:blank")
    browser.get(LIBRARY)
    assert browser.execute_script("return document.documentElement.scrollHeight") < 20000
    holds, = [fold for fold in css(browser, "div.fold") if fold.find_element("css selector", "h2, h3").text == f"Holds in {len(ids['holds'])} scenarios"]
    assert len([line for line in css(holds, "details.one") if line.is_displayed()]) == len(ids["holds"])
    others, = css(browser, "details.fold")
    assert others.text == f"{len(ids['not_applicable'])} scenarios do not apply, and why"
    others.find_element("css selector", "summary").click()
    reasons = [line.text.partition(": ") for line in css(others, "details.one > summary")]
    assert len(reasons) == len(ids["not_applicable"]) and all(reason for _, _, reason in reasons)
    for at in (ids["holds"][-1], ids["not_applicable"][-1]):
        browser.get("about:blank")
        browser.get(f"{LIBRARY}#{at}")
        assert browser.execute_script("return document.getElementById(arguments[0]).checkVisibility()", at), at
    browser.get("about:blank")
    browser.get(LIBRARY)
    link = browser.find_element("css selector", f"#matrix td a[href='#{ids['holds'][-1]}']")
    link.click()
    region = browser.find_element("id", ids["holds"][-1]).find_element("css selector", "figure .scroll")
    region.send_keys(Keys.ARROW_DOWN)
    assert len(css(region, ".step.at")) == 1
    name = ids["not_applicable"][0].partition("--")[0]
    browser.find_element("id", "query").send_keys(name)
    shown = browser.execute_script("return [...document.querySelectorAll('details.one > summary')].filter(line => line.checkVisibility())"
                                   ".map(line => line.querySelector('b').textContent)")
    assert name in shown and all(name in line for line in shown)
    found = [part.get_attribute("id") for part in css(browser, "article[id]") if "explore--" not in part.get_attribute("id")]
    assert sorted(found) == sorted(at for some in ids.values() for at in some) and browser.get_log("browser") == []


@needs_browser
def test_a_link_opens_what_is_folded_without_scripts(without_scripts):
    at = scenarios_of_the_library()["not_applicable"][-1]
    without_scripts.get("about:blank")
    without_scripts.get(LIBRARY)
    is_open = "return document.getElementById(arguments[0]).checkVisibility()"
    assert not without_scripts.execute_script(is_open, at)
    without_scripts.find_element("css selector", f"#matrix td a[href='#{at}']").click()
    assert without_scripts.execute_script(is_open, at)


@needs_browser
def test_beside_a_run_stands_one_with_a_verdict(browser):
    """With one lock there is no other in the same scenario."""
    browser.get("about:blank")
    browser.get(LIBRARY)
    article = browser.find_element("css selector", "article.bug:not([id^=explore])")
    browser.execute_script("arguments[0].querySelector('.set-beside').click()", article)
    badge = css(browser, "dialog[open] .pane")[1].find_element("css selector", ".badge")
    assert "unknown" not in badge.get_attribute("class").split()


@needs_browser
def test_a_report_of_several_folders_reads_the_same_way(browser, real, explored, tmp_path):
    page = tmp_path / "merged.html"
    assert run("report", real, explored, "--html", page).status == 1
    browser.get_log("browser")
    browser.get(page.as_uri())
    assert scenarios(browser)[0] == "expired-lease-double-delete [1]"
    assert len(cell_texts(browser)) == 16
    assert len(css(browser, "footer .origins li")) == 2
    ids = [part.get_attribute("id") for part in css(browser, "[id]")]
    inside = [link.get_dom_attribute("href")[1:] for link in css(browser, "a")]
    assert len(ids) == len(set(ids)) and set(inside) <= set(ids)
    for link in ("#matrix td.bug a", "table.explored td.bug a"):
        browser.find_element("css selector", link).click()
        assert browser.find_element("css selector", "article:target svg.timeline").is_displayed()
    assert browser.get_log("browser") == []


@needs_browser
def test_old_and_new_stand_beside_each_other(browser, mended, tmp_path):
    """What an unlock bug has done to a lock: two diagrams in one line, each with the sentences of its own side."""
    path = tmp_path / "compared.html"
    assert run("report", "--diff", mended["safe"], mended["naive"], "--html", path).status == 1
    browser.get_log("browser")
    browser.get(path.as_uri())
    rows = [[cell.text for cell in css(row, "th, td")] for row in css(browser, "#diff .changes tbody tr")]
    assert rows[0] == ["New violations 2"]
    assert ["my_lock, slow-work (cell)", "release-own", "holds", "violated (unlock-bug, 10 steps)"] in rows
    pairs = css(browser, "#diff .change")
    assert [pair.get_dom_attribute("open") for pair in pairs] == ["true"]  # the same cell: one pair
    before, now = css(pairs[0], ".pane")
    assert before.rect["y"] == now.rect["y"] and before.rect["x"] + before.rect["width"] < now.rect["x"]
    drawn = [css(pane, "svg.timeline")[0].text for pane in (before, now)]
    assert "removes" in drawn[1] and "removes" not in drawn[0]
    assert "overrun" in before.find_element("css selector", ".badge").text
    assert "Unlock bug in A" in now.find_element("css selector", ".witness").text
    css(browser, "#diff .changes a")[0].click()
    assert css(browser, "article:target svg.timeline")[0].is_displayed()
    ids = [part.get_attribute("id") for part in css(browser, "[id]")]
    assert len(ids) == len(set(ids)) and browser.get_log("browser") == []
    with window(browser, 400):
        assert before.rect["y"] < now.rect["y"]
        assert_readable(browser, 400)
