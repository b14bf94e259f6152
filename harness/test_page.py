"""The page of a report: as text, and in a real headless browser. Nothing here leaves the machine."""

import base64
import hashlib
import html
import json
import re
import shutil

import pytest
from conftest import ROOT, flat, has_browser, run


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


# --- in a browser ---

def make_browser(scripts=True):
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-dev-shm-usage", "--window-size=1400,900"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    if not scripts:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


LIBRARY = (ROOT / "reports" / "example" / "redis-py" / "index.html").as_uri()
needs_browser = pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver here")


@pytest.fixture(scope="module")
def browser():
    driver = make_browser()
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, sample):
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get((sample / "index.html").as_uri())
    return browser


def css(driver, selector):
    return driver.find_elements("css selector", selector)


def scenarios(driver):
    return [row.text for row in css(driver, "#matrix tbody th") if row.is_displayed()]


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
        "python3 locks/redis_py.py --key 'a b' broke the lock by its own doing (unlock-bug)."
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
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                         {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    page.execute_cdp_cmd("Emulation.setEmulatedMedia",
                         {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        assert page.execute_script(FAINT) == []
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# Texts whose contrast to what is behind them is below 4.5 : 1 (WCAG 2, AA).
FAINT = """
const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                     return .2126 * r + .7152 * g + .0722 * b; };
const behind = node => { for (; node; node = node.parentElement) {
                           const c = parse(getComputedStyle(node).backgroundColor); if (c[3] > .99) return c.slice(0, 3); }
                         return [255, 255, 255]; };
const faint = [];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || node.closest('svg, script, style, .unseen') || !node.checkVisibility()) continue;
  const front = light(parse(getComputedStyle(node).color).slice(0, 3)), back = light(behind(node));
  const ratio = (Math.max(front, back) + .05) / (Math.min(front, back) + .05);
  if (ratio < 4.5) faint.push([node.tagName, node.className, node.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
}
return faint;
"""


@needs_browser
def test_a_stress_run_is_drawn_over_its_time(page):
    """Six plots; three parts of time, of which faults struck in two: those are shaded."""
    plots = page.find_elements("css selector", ".plot svg")
    assert len(plots) == 6 and all(plot.is_displayed() and plot.size["height"] > 50 for plot in plots)
    shaded = [len(plot.find_elements("css selector", ".faults")) for plot in plots]
    assert shaded == [2, 2, 2, 2, 0, 0], shaded
    points = plots[0].find_element("css selector", ".curve-0").get_attribute("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights[2] < heights[0] < heights[1], heights  # the third part had most operations: it is on top
    figures = page.find_element("css selector", ".figures")
    lefts = {figure.rect["x"] for figure in css(figures, ".plot")}
    assert len(lefts) == 2  # two columns
    lengths = css(figures, ".plot")[4]
    assert re.search(r": half of them up to .* 99% up to .*, 99.9% up to .*, the longest ", lengths.text)
    ends = [(text.rect["x"], text.rect["x"] + text.rect["width"]) for text in css(lengths, "svg text")][2:]
    svg = css(lengths, "svg")[0].rect
    assert len(ends) > 1 and all(svg["x"] <= left and right <= svg["x"] + svg["width"] for left, right in ends)
    assert all(right < left for (_, right), (left, _) in zip(ends, ends[1:]))  # none stands over the next
    hint = "return getComputedStyle(arguments[0].querySelector('figcaption'), '::after').content"
    assert page.execute_script(hint, lengths) == "none"  # there is nothing to step through
    assert "step through" in page.execute_script(hint, css(page, "article:not(.holds) figure:not(.plot)")[0])


def test_it_reads_without_scripts(sample):
    driver = make_browser(scripts=False)
    try:
        driver.get((sample / "index.html").as_uri())
        assert not css(driver, "#matrix thead button")  # the script did not run
        assert not driver.find_element("id", "filter").is_displayed()  # and nothing dead is offered
        assert len(scenarios(driver)) == 5
        driver.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").click()
        assert driver.current_url.endswith("#expired-lease-double-delete--set-nx-ex-del")
        assert css(driver, "article:target svg.timeline")[0].is_displayed()
        assert css(driver, "article:target .witness li")[0].is_displayed()
        driver.get(LIBRARY)
        assert css(driver, ".conclusion svg.timeline")[0].is_displayed() and not css(driver, "#matrix thead button")
    finally:
        driver.quit()


@needs_browser
def test_it_prints(page):
    """Folded diagrams are open on paper, and folded again behind it; what only a screen can do is not there."""
    closed = "return document.querySelectorAll('article:not(.holds) > details:not([open])').length"
    before = page.execute_script(closed)
    assert before > 0
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(closed) == 0
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not any(button.is_displayed() for button in css(page, ".set-beside, #filter"))
    assert all(svg.is_displayed() for svg in css(page, "article:not(.holds) svg.timeline"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(closed) == before
    sheet = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    assert base64.b64decode(sheet["data"]).startswith(b"%PDF")


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    """The page of one lock with 4, 16 and 8 clients, and of another with 4 alone; the last of each told no CPU time."""
    out = tmp_path_factory.mktemp("growth")
    for clients, schemes in [(4, "set-nx-px-cad,redlock"), (16, "set-nx-px-cad"), (8, "set-nx-px-cad")]:
        ran = run("stress", "--scheme", schemes, "--clients", clients, "--duration", "150ms", "--out", out / str(clients))
        assert ran.status in (0, 2), ran
    folders = [out / str(clients) / "latest" for clients in (16, 4, 8)]
    assert run("report", *folders, "--html", out / "index.html").status in (0, 2)
    older = folders[2] / "results.json"
    assert '"cpu_us"' in older.read_text()
    older.write_text(re.sub(r'"cpu_us": \d+,', "", older.read_text()))
    assert run("report", *folders, "--html", out / "older.html").status in (0, 2)
    return out


def test_growth_with_clients_is_plotted(growth):
    """Points by the number of clients, whatever the order of the folders; CPU only where each run told it."""
    for name, plots in [("index.html", 3), ("older.html", 2)]:
        [section] = re.findall(r'<section class="growth">.*?</section>', (growth / name).read_text(), re.S)
        assert re.findall("<h3>(.*?)</h3>", section) == ["set-nx-px-cad"]  # the other one has one point
        svgs = re.findall("<svg.*?</svg>", section, re.S)
        assert len(svgs) == plots and all(svg.count("<circle") == 3 * svg.count("<polyline") for svg in svgs)
        for svg in svgs:
            assert re.findall(r'text-anchor="middle">(\d+)<', svg) == ["4", "8", "16"]
    assert "Growth" not in run("report", growth / "4" / "latest", "--html", "-").out


@needs_browser
@pytest.mark.parametrize("width", [500, 1400])
def test_growth_fits_the_window(browser, growth, width):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    try:
        browser.get((growth / "index.html").as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        plots = [plot.rect for plot in css(browser, ".growth .plot")]
        assert len({plot["x"] for plot in plots}) == (1 if width == 500 else 3) and min(plot["x"] for plot in plots) >= 20
        assert all(plot["width"] > 250 and plot["x"] + plot["width"] <= width - 20 for plot in plots)
        assert browser.execute_script(FAINT) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@needs_browser
@pytest.mark.parametrize("width, scheme", [(400, "dark"), (1400, "light")])
def test_the_page_of_a_test_begins_with_its_verdict(browser, width, scheme):
    """That of the committed example: why, what to do, the shortest counterexample with the library's own commands, how to replay it."""
    browser.get_log("browser")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
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
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(FAINT) == []
        sides = css(browser, ".sides")
        assert sides == []  # one lock: neither naive nor safe
        css(block, ".reasons a")[0].click()
        assert css(browser, "article:target svg.timeline")[0].is_displayed()
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert diagram.is_displayed() and browser.execute_script(FAINT) == []
        assert browser.get_log("browser") == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def cell_texts(driver):
    """{(faults, scheme): texts, one for each set of bounds} of the explorer's matrix, as far as it is shown."""
    found = {}
    for row in css(driver, "table.explored tbody tr"):
        for cell in row.find_elements("css selector", "td:not(.none)") if row.is_displayed() else ():
            if cell.is_displayed():
                key = row.find_element("css selector", "th").text, cell.get_attribute("data-scheme")
                found.setdefault(key, []).append(cell.text.replace("\n", " "))
    return found


@needs_browser
def test_the_explorers_matrix_says_what_was_found(browser, explored):
    results = flat(json.loads((explored / "results.json").read_text()))
    browser.get_log("browser")
    browser.get((explored / "index.html").resolve().as_uri())
    texts = cell_texts(browser)
    assert set(texts) == {(row["fault"], row["scheme"]) for row in results}
    for row in results:
        said = texts[row["fault"], row["scheme"]]
        short = re.sub(r"^broken \(([a-z-]+), (\d+ steps)\)$|^(stuck) \((\d+ steps)\)$", r"\1\3 \2\4", row["words"])
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
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.find_element("id", "beside").is_displayed()  # on paper it would lie over every sheet
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.find_element("css selector", "dialog .close").click()
    assert not css(page, "dialog[open]")


@needs_browser
def test_every_scheme_is_on_the_screen(browser, tmp_path):
    """All 23 of them, at 1400 pixels: naive and safe side by side."""
    assert run("run", "--on", "sim", "--out", tmp_path).status == 0
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    try:
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
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
def test_the_explorers_page_reads_without_scripts(explored):
    driver = make_browser(scripts=False)
    try:
        driver.get((explored / "index.html").resolve().as_uri())
        assert not css(driver, "table.explored thead button")
        assert len(cell_texts(driver)) == 16
        driver.find_element("css selector", "td.bug[data-scheme='set-nx-ex-del'] a").click()
        assert css(driver, "article:target svg.timeline")[0].is_displayed()
    finally:
        driver.quit()


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_the_explorers_page_fits_the_window_and_can_be_read(browser, explored, width):
    browser.get((explored / "index.html").resolve().as_uri())
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    try:
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(FAINT) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
def test_a_real_run_reads_the_same_way(browser, real):
    browser.get_log("browser")
    browser.get((real / "index.html").resolve().as_uri())
    assert browser.find_element("tag name", "h1").text == \
        "5 of 7 naive schemes broke the lock by their own doing. 0 of 4 safe schemes did."
    assert browser.find_element("class name", "lead").text.startswith("All ")
    assert scenarios(browser) == ["expired-lease-double-delete"]
    assert css(browser, "article.bug svg.timeline")
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
    assert ["my_lock, slow-work", "release-own", "holds", "violated (unlock-bug, 10 steps)"] in rows
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
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    try:
        assert before.rect["y"] < now.rect["y"] and browser.execute_script("return document.documentElement.scrollWidth") <= 400
        assert browser.execute_script(FAINT) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
