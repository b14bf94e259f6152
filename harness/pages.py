"""The page of a report in a real headless browser: what its tests share (the browsers are fixtures of conftest.py).
Nothing here leaves the machine."""

import contextlib
import shutil

import pytest


# As long as for any program (conftest.PATIENCE_S): a busy machine lays a large page out for more than selenium's 30 s.
SCRIPT_S = 120


def has_browser():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


needs_browser = pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver here")


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
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(SCRIPT_S)
    driver.set_page_load_timeout(SCRIPT_S)
    return driver


def css(driver, selector):
    return driver.find_elements("css selector", selector)


def scenarios(driver):
    return [row.text for row in css(driver, "#matrix tbody th") if row.is_displayed()]


def cell_texts(driver):
    """{(faults, scheme): texts, one for each set of bounds} of the explorer's matrix, as far as it is shown."""
    found = {}
    for row in css(driver, "table.explored tbody tr"):
        for cell in row.find_elements("css selector", "td:not(.none)") if row.is_displayed() else ():
            if cell.is_displayed():
                key = row.find_element("css selector", "th").text, cell.get_attribute("data-scheme")
                found.setdefault(key, []).append(cell.text.replace("\n", " "))
    return found


@contextlib.contextmanager
def window(driver, width, colours=""):
    """The page in a window of that width, in a light or a dark one."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colours}]})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@contextlib.contextmanager
def on_paper(driver):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def assert_readable(driver, width=None):
    """It fits a window of that width, and its words stand out."""
    assert width is None or driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.execute_script(FAINT) == []


def assert_no_word_is_broken(driver):
    """In tables, heads and badges: a line may end between words and behind a hyphen only."""
    assert driver.execute_script(BROKEN) == []


# Words that stand in more than one line.
BROKEN = """
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const at = node.parentElement;
  if (!at.closest('table, h1, h2, h3, h4, .badge, .flag') || at.closest('code, svg, .unseen') || !at.checkVisibility()) continue;
  for (const word of node.data.matchAll(/[^\\s-]+-?/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].filter(part => part.width > 0).map(part => part.top));
    if (lines.size > 1) broken.push(word[0]);
  }
}
return broken;
"""

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
