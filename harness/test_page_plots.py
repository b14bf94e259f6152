"""The page of a report: what it plots of stress, over time and with the number of clients."""

import re

import pytest
from conftest import run
from pages import assert_readable, css, needs_browser, window


@needs_browser
def test_a_stress_run_is_drawn_over_its_time(page):
    """Seven plots; three parts of time, of which faults struck in two: those are shaded."""
    plots = page.find_elements("css selector", ".plot svg")
    assert len(plots) == 7 and all(plot.is_displayed() and plot.size["height"] > 50 for plot in plots)
    shaded = [len(plot.find_elements("css selector", ".faults")) for plot in plots]
    assert shaded == [2, 2, 2, 2, 2, 0, 0], shaded
    points = plots[0].find_element("css selector", ".curve-0").get_attribute("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights[2] < heights[0] < heights[1], heights  # the third part had most operations: it is on top
    holds = plots[2]  # of the clients that hold: 12 at most, 12 on average then, 5 in the end
    assert "hold a lock: at most 12" in holds.find_element("css selector", "title").get_attribute("textContent")
    average, most = ([float(point.split(",")[1]) for point in holds.find_element("css selector", f".curve-{i}").get_attribute("points").split()]
                     for i in (0, 1))
    assert average[0] > most[0] and average[1] == most[1] == min(most) and max(average) == average[2] > most[2]
    figures = page.find_element("css selector", ".figures")
    lefts = {figure.rect["x"] for figure in css(figures, ".plot")}
    assert len(lefts) == 2  # two columns
    lengths = css(figures, ".plot")[5]
    assert re.search(r": half of them up to .* 99% up to .*, 99.9% up to .*, the longest ", lengths.text)
    ends = [(text.rect["x"], text.rect["x"] + text.rect["width"]) for text in css(lengths, "svg text")][2:]
    svg = css(lengths, "svg")[0].rect
    assert len(ends) > 1 and all(svg["x"] <= left and right <= svg["x"] + svg["width"] for left, right in ends)
    assert all(right < left for (_, right), (left, _) in zip(ends, ends[1:]))  # none stands over the next
    hint = "return getComputedStyle(arguments[0].querySelector('figcaption'), '::after').content"
    assert page.execute_script(hint, lengths) == "none"  # there is nothing to step through
    assert "step through" in page.execute_script(hint, css(page, "article:not(.holds) figure:not(.plot)")[0])


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
    with window(browser, width):
        browser.get((growth / "index.html").as_uri())
        plots = [plot.rect for plot in css(browser, ".growth .plot")]
        assert len({plot["x"] for plot in plots}) == (1 if width == 500 else 3) and min(plot["x"] for plot in plots) >= 20
        assert all(plot["width"] > 250 and plot["x"] + plot["width"] <= width - 20 for plot in plots)
        assert_readable(browser, width)
