"""One run of a lock that breaks in several ways: every format names the same causes of each cell, in the same order and as many steps."""

import html
import json
import re
import xml.etree.ElementTree as xml

import pytest
from conftest import run
from readme import BLAME, causes_in, gravity
from test_plugin import build

# SETNX and EXPIRE, released by GET and DEL; where EXPIRE was not answered it counts on the lock all the same.
TWO_STEPS = """
#include "schemes/parts.h"
struct my_lock { int64_t at; };
static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct my_lock, fields);
enum step { START, ASKED, EXPIRES, HELD, READ, DELETED };
static void step(void *state, const struct lease *lease, const struct moment *in, struct outbox *out)
{
    struct my_lock *self = state;
    SCRIPT(self);
    out_setnx(out, SERVER_ONE, lease->token);
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        out_no_setnx(out, in);
        SCRIPT_RETURN(self);
    }
    out_expire(out, SERVER_ONE, lease->ttl_us);
    AWAIT(self, EXPIRES);
    out_granted(out);
    AWAIT(self, HELD);
    out_get(out, SERVER_ONE);
    AWAIT(self, READ);
    if (!moment_is_value(in, lease->token)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);
    SCRIPT_END(self);
}
const struct scheme scheme_my_lock = {
    .name = "my_lock", .summary = "SETNX, EXPIRE; GET, DEL", .source = "its own", .step = step, FIELDS_OF(fields),
    .token = TOKEN_UNIQUE, .unit_us = UNIT_SECOND_US, .promises_expiry = true, .promises_token = true,
};
"""
FAULTS = "crash,lose-reply,duplicate,restart-empty,restart-old"


@pytest.fixture(scope="module", params=["scheme", "never"])
def told(request, tmp_path_factory):
    """All formats of one run: of what counts, and where nothing does."""
    folder = tmp_path_factory.mktemp("told")
    places = {name: folder / name for name in ("json", "html", "markdown", "junit")}
    ran = run("explore", "--scheme", build(folder, TWO_STEPS), "--fault", FAULTS, "--fail-on", request.param, "--out", folder / "out",
              *(word for name, path in places.items() for word in (f"--{name}", path)))
    assert ran.status == (1 if request.param == "scheme" else 0), ran
    told = {name: path.read_text() for name, path in places.items()}
    return {**told, "terminal": ran.out, "report": run("report", folder / "out" / "latest").out, "policy": request.param,
            "cells": {row["fault"]: row for row in json.loads(told["json"])["results"]}}


def violated(cell):
    """[the shortest witness of each cause that is named], by the properties alone: what failed, or else all that is somebody's fault."""
    counted, found = {"scheme", "either"} if cell["as_expected"] is False else {"scheme", "either", "deployment"}, {}
    for one in sorted((one for one in cell["properties"] if one["verdict"] == "violated"), key=lambda one: (one["faults"], one["witness_steps"])):
        if BLAME[one["cause"]] in counted:
            found.setdefault(one["cause"], one)
    return [found[cause] for cause in sorted(found, key=gravity)]


def words_of(found):
    return f"{found['property']} is violated ({found['cause']}) in {found['witness_steps']} steps"


def plain(text):
    """Without tags, or without what Markdown escapes."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).replace("\\", "").split())


def test_the_words_are_those_of_the_shortest_witnesses(told):
    named = {fault: causes_in(cell["search"]["words"]) for fault, cell in told["cells"].items()}
    assert max(map(len, named.values())) >= 5 and {row["search"]["words"].split()[0] for row in told["cells"].values()} == {"broken", "stuck"}
    for fault, cell in told["cells"].items():
        found = violated(cell)
        assert named[fault] == [(one["cause"], str(one["witness_steps"])) for one in found], fault
        assert [one["property"] for one in cell["properties"] if one["headline"]] == [found[0]["property"]], fault
    assert ("lost-grant" in dict(named["restart-old"])) == (told["policy"] == "never")  # beside the lock's own
    assert list(dict(named["restart-empty"])) == ["lost-grant"]  # alone, and not counted


def test_terminal_and_report_say_them_and_count_them_so(told):
    for text in (told["terminal"], told["report"]):
        rows = dict(re.findall(r"^  (\S+)\s{2,}(.*?)\s+\d+ states ", text, re.M))
        assert rows == {fault: cell["search"]["words"] for fault, cell in told["cells"].items()}
        for word in ("broken", "stuck"):
            assert f" {sum(said.split()[0] == word for said in rows.values())} {word}" in text
        fails = re.search(r"^my_lock fails: (.*)\.$", text, re.M)[1].split(", ")
        own = {cause for said in rows.values() for cause, _ in causes_in(said) if BLAME[cause] == "scheme"}
        assert fails == sorted(own, key=gravity)


def test_markdown_says_them(told):
    page = plain(told["markdown"])
    for fault, cell in told["cells"].items():
        is_failure = cell["as_expected"] is False
        first, *_ = violated(cell)
        assert f"| {fault} | {'**' * is_failure}{cell['search']['words']}" in page
        if is_failure:
            assert f"### my_lock, {fault} {words_of(first)} 1. {first['witness'][0]}" in page, page


def test_junit_fails_for_the_first(told):
    cases = {case.get("name"): case[0] for case in xml.fromstring(told["junit"]).iter("testcase")}
    for fault, cell in told["cells"].items():
        first, *others = violated(cell)
        lines = cases[fault].text.split("\n")
        if cell["as_expected"] is False:
            assert (cases[fault].get("type"), cases[fault].get("message")) == (first["cause"], words_of(first))
        else:
            assert (cases[fault].tag, lines[0]) == ("system-out", words_of(first))
        assert first["witness"][0] in lines
        for one in others:
            at = lines.index(words_of(one))
            assert lines[at + 1:at + 1 + len(one["witness"])] == one["witness"], lines


def test_the_page_says_them(told):
    for fault, cell in told["cells"].items():
        first, *others = violated(cell)
        words = html.escape(cell["search"]["words"])
        link = re.search(rf'<a [^>]*href="#([^"]+)"[^>]*title="{re.escape(words)}"[^>]*>(.*?)</a>', told["html"])
        steps = f"{first['cause']} {first['witness_steps']} steps" + (f" and {len(others)} more" if others else "")
        assert plain(link[2]).removeprefix("broken: ").endswith(steps), link[2]
        article = re.search(rf'<article id="{link[1]}".*?</article>', told["html"], re.S)[0]
        assert re.search(rf'<b class="badge [a-z]+">\S+ {re.escape(words)}</b>', article)
        assert f"<p><b>{first['property']}</b>: " in article and first["witness"][0] in plain(article)
        assert all(words_of(other) in plain(article) for other in others)
        if cell["as_expected"] is False:  # the list of what failed
            assert re.search(rf'<li><a href="#{link[1]}">my_lock, {fault}</a>.*?{re.escape(words)}', told["html"])


def test_what_a_run_is_said_to_fail_for_has_its_sentences(tmp_path):
    """A scenario has one row, and may have several causes; the last sentence names them all."""
    scenario = "scenarios/lost-reply-then-resend.yaml"
    ran = run("run", "--on", "sim", "--scheme", build(tmp_path, TWO_STEPS), scenario, "--markdown", tmp_path / "md", "--json", tmp_path / "json",
              "--junit", tmp_path / "junit")
    fails = re.search(r"^my_lock fails: (.*)\.$", ran.out, re.M)[1].split(", ")
    assert fails == ["stuck", "no-expiry", "untrue-answer"], ran
    failure = next(xml.parse(tmp_path / "junit").getroot().iter("failure"))
    junit = failure.get("message") + "\n" + failure.text
    for text in (ran.out, plain((tmp_path / "md").read_text()), junit):
        assert [cause for cause in re.findall(r"is violated \(([a-z-]+)\)", text)] == fails
    violations = [one for one in json.loads((tmp_path / "json").read_text())["results"][0]["properties"] if one["verdict"] == "violated"]
    for text in (ran.out, junit):
        said = " ".join(text.split())
        shown = {one["cause"] for one in violations
                 if " ".join([f"{one['property']} is violated ({one['cause']})", *one["witness"]]) in said}
        assert shown == set(fails), text


@pytest.mark.parametrize("scheme, scenario, title", [
    ("set-nx-ex-del", "expired-lease-double-delete", "the first bug"), ("set-nx-px-cad", "restart-empty", "the deployment's fault"),
    ("set-nx-px-cad", "expired-lease-double-delete", "nobody's fault")])
def test_what_is_shown_is_called_a_bug_where_it_is_one(tmp_path, scheme, scenario, title):
    ran = run("run", "--on", "sim", "--scheme", scheme, f"scenarios/{scenario}.yaml", "--fail-on", "scheme", "--markdown", tmp_path / "md")
    assert ran.status == 0 and f"\n{title}: {scenario}, {scheme}\n" in ran.out, ran
    assert f"### {title.capitalize()}: {scenario}, {scheme} " in plain((tmp_path / "md").read_text())
