"""The page of a report of runs: as text, and in a real headless browser."""

import base64
import hashlib
import html
import json
import re

import pytest
from conftest import run
from pages import assert_no_word_is_broken, assert_readable, css, needs_browser, on_paper, scenarios, window


# --- as text ---

def test_the_page_allows_its_own_script_and_nothing_else(sample):
    page = (sample / "index.html").read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    script = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy, \
        f"reports/page.js has changed: put sha256-{digest} into reports/page.html"
    assert page.count("<script") == 1


def test_the_page_names_no_other_place(sample):
    page = (sample / "index.html").read_text()
    assert not re.search(r"https?://|//[a-z]|@import|url\(", page)
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", page)


@needs_browser
def test_the_page_asks_for_nothing_and_complains_of_nothing(page, sample):
    asked = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = {message["params"]["request"]["url"] for message in asked
            if message["method"] == "Network.requestWillBeSent"}
    assert urls == {(sample / "index.html").as_uri()}
    assert page.get_log("browser") == []


@needs_browser
def test_hostile_texts_stay_texts(page):
    assert page.execute_script("return window.pwned") is None
    assert "<script>window.pwned=1</script>" in page.find_element("tag name", "main").text
    assert css(page, "main img, main b > script") == []
    assert 'odd "name" & <b>' in scenarios(page)


@needs_browser
def test_the_first_screen_has_the_verdict_and_the_table(page):
    assert page.find_element("tag name", "h1").text == \
        "1 of 2 naive schemes broke the lock by their own doing; setnx-del is not decided. 0 of 3 safe schemes did, but 1 of them " \
        "fails in other ways (late-grant). " \
        "python3 locks/redis_py.py --key 'a b' fails: unlock-bug."
    assert page.find_element("class name", "lead").text.startswith("3 of 9 verdicts are not as expected, 1 could not be judged.")
    height = page.execute_script("return innerHeight")
    assert page.find_element("id", "matrix").location["y"] < height
    sides = [side.text for side in css(page, "#matrix .sides th")]
    assert sides == ["Naive schemes", "Other schemes"]  # a worker is neither
    heads = [head.text for head in css(page, "#matrix thead tr:last-child th")]
    assert heads == ["Scenario", "setnx-del", "set-nx-ex-del", "set-nx-px-cad", "redlock", "set-ifeq-delex",
                     "own-scheme", "python3 locks/redis_py.py --key 'a b'"]
    naive = page.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").text
    assert "unlock-bug" in naive and "=" in naive
    assert "not expected" in page.find_element("css selector", "td.differs a").text


@needs_browser
def test_a_click_on_a_head_sorts(page):
    heads = css(page, "#matrix thead tr:last-child th button")
    before = scenarios(page)
    heads[0].click()
    assert scenarios(page) == sorted(before)
    heads[0].click()
    assert scenarios(page) == sorted(before, reverse=True)
    heads[4].click()  # redlock: the only row with a verdict comes first
    assert scenarios(page)[0] == "late-grant"
    marked = [head.get_attribute("aria-sort") for head in css(page, "#matrix thead tr:last-child th")]
    assert marked == [None, None, None, None, "descending", None, None, None]
    heads[4].click()
    assert scenarios(page)[0] == "late-grant"  # rows without a verdict stay behind


@needs_browser
def test_the_filter_keeps_what_matches(page):
    box = page.find_element("id", "query")
    box.send_keys("late-grant redlock")
    assert scenarios(page) == ["late-grant"]
    heads = [head.text for head in css(page, "#matrix thead tr:last-child th") if head.is_displayed()]
    assert heads == ["Scenario", "redlock"]
    assert page.find_element("id", "found").text == "1 result"
    shown = [part.get_attribute("id") for part in css(page, "article") if part.is_displayed()]
    assert shown == ["late-grant--redlock"]
    box.clear()
    box.send_keys("no such thing")
    assert scenarios(page) == [] and page.find_element("id", "found").text == "0 results"
    box.clear()
    box.send_keys(" ")
    assert len(scenarios(page)) == 5


@needs_browser
def test_links_lead_to_what_is_there(page):
    ids = [part.get_attribute("id") for part in css(page, "[id]")]
    assert len(ids) == len(set(ids))
    targets = [link.get_dom_attribute("href") for link in css(page, "a")]
    inside = [target[1:] for target in targets if target.startswith("#")]
    assert len(inside) > 20 and set(inside) <= set(ids)
    assert all(target.startswith("./") for target in targets if not target.startswith("#"))
    page.find_element("css selector", "td.holds[data-scheme='set-nx-px-cad'] a").click()
    article = page.find_element("id", "expired-lease-double-delete--set-nx-px-cad")
    assert article.find_element("css selector", "svg.timeline").is_displayed()  # opened by the link


@needs_browser
def test_the_timeline_shows_the_violation(page):
    article = page.find_element("id", "expired-lease-double-delete--set-nx-ex-del")
    svg = article.find_element("css selector", "svg.timeline")
    assert svg.is_displayed()
    assert "removes B's key" in svg.find_element("css selector", ".alert").text
    assert svg.find_elements("css selector", "rect.overlap") and svg.find_elements("css selector", "rect.hit")
    heads = [head.text for head in svg.find_elements("css selector", ".head")]
    assert heads == ["A", "B", "C", "server"]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_the_window_and_can_be_read(page, width, scheme):
    with window(page, width, scheme):
        assert_readable(page, width)


@needs_browser
def test_it_reads_without_scripts(without_scripts, sample):
    without_scripts.get((sample / "index.html").as_uri())
    assert not css(without_scripts, "#matrix thead button")  # the script did not run
    assert not without_scripts.find_element("id", "filter").is_displayed()  # and nothing dead is offered
    assert len(scenarios(without_scripts)) == 5
    without_scripts.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").click()
    assert without_scripts.current_url.endswith("#expired-lease-double-delete--set-nx-ex-del")
    assert css(without_scripts, "article:target svg.timeline")[0].is_displayed()
    assert css(without_scripts, "article:target .witness li")[0].is_displayed()


@needs_browser
def test_it_prints(page):
    """Folded diagrams are open on paper, and folded again behind it; what only a screen can do is not there."""
    closed = "return document.querySelectorAll('article:not(.holds) > details:not([open])').length"
    before = page.execute_script(closed)
    assert before > 0
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(closed) == 0
    with on_paper(page):
        assert not any(button.is_displayed() for button in css(page, ".set-beside, #filter"))
        assert all(svg.is_displayed() for svg in css(page, "article:not(.holds) svg.timeline"))
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(closed) == before
    sheet = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    assert base64.b64decode(sheet["data"]).startswith(b"%PDF")


@needs_browser
def test_a_diagram_is_stepped_through_by_keyboard(page):
    """What comes later is veiled, and the step is said; Escape shows all again."""
    from selenium.webdriver.common.keys import Keys
    article = page.find_element("id", "expired-lease-double-delete--set-nx-ex-del")
    region = article.find_element("css selector", "figure .scroll")
    steps = css(region, ".step")
    words = [" ms: ".join(text.get_attribute("textContent") for text in css(step, "text")) for step in steps]
    assert len(steps) > 5 and not css(region, ".veil") and not css(region, ".step.at")

    def at():
        assert page.execute_script("return document.querySelector('output.unseen').textContent") == words[steps.index(css(region, ".at")[0])]
        veil, = css(region, ".veil")
        hidden = [step for step in steps if step.location["y"] >= veil.location["y"]]
        assert hidden == steps[steps.index(css(region, ".at")[0]) + 1:]
        return steps.index(css(region, ".at")[0])
    for key, place in [(Keys.ARROW_DOWN, 0), (Keys.ARROW_DOWN, 1), (Keys.ARROW_UP, 0), (Keys.ARROW_UP, 0), (Keys.END, len(steps) - 1),
                       (Keys.ARROW_DOWN, len(steps) - 1), (Keys.HOME, 0)]:
        region.send_keys(key)
        assert at() == place, (key, place)
    region.send_keys(Keys.ESCAPE)
    assert not css(region, ".veil") and not css(region, ".step.at")
    css(steps[3], "text")[1].click()
    assert at() == 3


@needs_browser
def test_a_sentence_and_its_events_point_at_each_other(page):
    article = page.find_element("id", "expired-lease-double-delete--set-nx-ex-del")
    over = "arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    drawn = {step.get_attribute("data-ms") for step in css(article, ".step")}
    sentence = next(line for line in css(article, ":scope > ol.witness > li") if drawn & set(re.findall(r"(\d+\.\d+) ms", line.text)))
    times = set(re.findall(r"(\d+\.\d+) ms", sentence.text))
    page.execute_script(over, sentence)
    marked = [step.get_attribute("data-ms") for step in css(article, ".step.paired")]
    assert marked and set(marked) == times & drawn
    assert css(article, "li.paired") == [sentence]
    page.execute_script(over, css(article, ".step.paired")[0])
    assert sentence in css(article, "li.paired") and len(css(article, ".step.paired")) == 1
    page.execute_script(over, page.find_element("tag name", "h1"))
    assert css(page, ".paired") == []


@needs_browser
def test_two_runs_stand_side_by_side(page):
    """The naive scheme beside a safe one in the same scenario, until somebody chooses another."""
    article = page.find_element("id", "expired-lease-double-delete--set-nx-ex-del")
    article.find_element("class name", "set-beside").click()
    panes = css(page, "dialog[open] .pane")
    assert len(panes) == 2 and abs(panes[0].location["y"] - panes[1].location["y"]) < 2 and panes[0].location["x"] < panes[1].location["x"]

    def chosen(pane):
        return page.execute_script("return arguments[0].querySelector('select').selectedOptions[0].textContent", pane)
    assert chosen(panes[0]) == "expired-lease-double-delete, set-nx-ex-del"
    assert chosen(panes[1]) == "expired-lease-double-delete, set-nx-px-cad"
    for pane in panes:
        assert pane.find_element("css selector", "svg.timeline").is_displayed()
    assert "unlock-bug" in panes[0].find_element("class name", "badge").text and "holds" in panes[1].find_element("class name", "badge").text
    other = css(panes[1], "option")[0]
    other.click()
    assert chosen(panes[1]) == other.text and len(css(panes[1], "svg.timeline")) == 1
    with on_paper(page):
        assert not page.find_element("id", "beside").is_displayed()  # it would lie over every sheet
    page.find_element("css selector", "dialog .close").click()
    assert not css(page, "dialog[open]")


@needs_browser
def test_every_scheme_is_on_the_screen(browser, tmp_path):
    """All 23 of them, at 1400 pixels: naive and safe side by side."""
    assert run("run", "--on", "sim", "--out", tmp_path).status == 0
    with window(browser, 1400):
        browser.get((tmp_path / "latest" / "index.html").resolve().as_uri())
        heads = css(browser, "#matrix thead tr:last-child th")
        room = browser.execute_script("const box = document.querySelector('#matrix').closest('.scroll'); "
                                      "return box.getBoundingClientRect().x + box.clientLeft + box.clientWidth")  # beside its scroll bar
        assert len(heads) == 24 and heads[-1].rect["x"] + heads[-1].rect["width"] <= room + .5 < 1400
        browser.execute_script("document.querySelector('#matrix').style.setProperty('--columns', 24)")  # as the explorer's, with two quorums
        assert css(browser, "#matrix")[0].rect["width"] <= room
        split = browser.execute_script("return [...document.querySelectorAll('#matrix thead tr:last-child th')].filter(head => head.scrollWidth > "
                                       "head.clientWidth).map(head => head.textContent)")
        assert split == []
        safe = css(browser, "#matrix td.holds a[data-side='safe']")[0]
        assert safe.rect["y"] + safe.rect["height"] < 900  # without scrolling
        spilled = browser.execute_script("return [...document.querySelectorAll('#matrix td a')].filter(a => a.scrollWidth > a.clientWidth + 1)"
                                         ".map(a => a.textContent)")
        assert spilled == []
    for width in (1400, 900, 390):
        with window(browser, width):
            assert_no_word_is_broken(browser)
    for width in (1047, 703):  # an A4 sheet between its margins, on its side and upright
        with window(browser, width), on_paper(browser):
            assert_no_word_is_broken(browser)


@needs_browser
def test_many_scenarios_of_several_locks_are_a_line_each(browser, without_scripts, tmp_path):
    """The line says how each side fared, and opens; on paper, and for who has no script, all of it is there."""
    assert run("run", "--on", "sim", "--out", tmp_path).status == 0
    rows = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
    url = (tmp_path / "latest" / "index.html").resolve().as_uri()
    visible = "return [...document.querySelectorAll('article[id]')].filter(part => part.checkVisibility({contentVisibilityProperty: true})).length"
    with window(browser, 1400):
        browser.get(url)
        assert browser.execute_script("return document.documentElement.scrollHeight") < 10000
        lines = {line.find_element("css selector", "b").text: line.text for line in css(browser, "details.one > summary") if line.is_displayed()}
        assert set(lines) == {row["scenario"] for row in rows}
        line = lines["expired-lease-double-delete"]
        assert "✗ unlock-bug, naive: set-nx-ex-del," in line and "△ overrun, safe: set-nx-px-cad," in line
        assert all(row["scheme"] in lines[row["scenario"]] for row in rows)
        assert css(browser, "details.one[open] article.bug svg.timeline")[0].is_displayed()  # the first bug
        browser.get(f"{url}#token-collision--set-nx-px-cad")
        assert css(browser, "article:target")[0].is_displayed()
        browser.find_element("id", "query").send_keys("token-collision")
        assert [line.find_element("css selector", "b").text for line in css(browser, "details.one > summary") if line.is_displayed()] == ["token-collision"]
        browser.find_element("id", "query").send_keys(len("token-collision") * "\b")
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        assert browser.execute_script(visible) == len(rows)
    without_scripts.get(url)
    assert 0 < without_scripts.execute_script(visible) < len(rows)
    with on_paper(without_scripts):
        assert without_scripts.execute_script(visible) == len(rows)


@needs_browser
def test_a_badge_is_one_piece(page):
    """On a telephone, too, where it does not fit behind the one before."""
    with window(page, 390):
        pieces = page.execute_script("return [...document.querySelectorAll('.badges .badge, .badges .flag')].map(badge => badge.getClientRects().length)")
        assert set(pieces) == {1} and len(css(page, ".badges .flag")) > 0


@needs_browser
def test_a_table_that_goes_on_at_the_right_says_so(page):
    """A shade at the edge, hidden by what moves with the table once its end is in view."""
    look = page.execute_script("const look = getComputedStyle(document.querySelector('#matrix').closest('.scroll')); "
                               "return [look.backgroundAttachment, look.backgroundImage.split('linear-gradient').length - 1]")
    assert look == ["local, local, scroll, scroll", 4]


@needs_browser
def test_a_real_run_reads_the_same_way(browser, real):
    browser.get_log("browser")
    browser.get((real / "index.html").resolve().as_uri())
    assert browser.find_element("tag name", "h1").text == \
        "5 of 7 naive schemes broke the lock by their own doing. 0 of 4 safe schemes did."
    assert browser.find_element("class name", "lead").text.startswith("All ")
    assert scenarios(browser) == ["expired-lease-double-delete"]
    assert css(browser, "article.bug svg.timeline")
    assert browser.get_log("browser") == []
