"""Reports against their schemas, and as their readers read them; the page has its own tests, in test_page*.py.

The sample is written by the C test of the reports and has every kind of row, hostile texts among them; a real run is
read the same way.
"""

import errno
import json
import os
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET

import pytest
from conftest import REPORT_WRITER, ROOT, flat, run

jsonschema = pytest.importorskip("jsonschema")

REPORTS = ROOT / "reports"


def schema(name):
    loaded = json.loads((REPORTS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def name_of(row):
    """Class and name of a result's case in JUnit, where there is one origin."""
    if row["kind"] != "cell":
        return row["scenario"], row["scheme"] or row["worker"]
    s, search = {count: "" if count == 1 else "s" for count in range(10)}, row["search"]
    bounds = ", ".join(f"{search[key]} {key[:-1]}{s[search[key]]}" for key in ("clients", "rounds", "servers"))
    return f"explore {row['scheme']}: {bounds}, lease of {search['lease_ticks']} ticks", row["fault"]


# --- data ---

@pytest.mark.parametrize("folder", ["sample", "real", "explored"])
def test_results_follow_their_schema(folder, request):
    results = json.loads((request.getfixturevalue(folder) / "results.json").read_text())
    schema("results.schema.json").validate(results)
    assert len(results["results"]) >= 2


@pytest.mark.parametrize("spoil", [
    lambda row: row.pop("verdict"),
    lambda row: row.update(verdict="broken"),
    lambda row: row.update(more=1),
    lambda row: row.update(as_expected="yes"),
    lambda row: row.update(stress={"clients": 3}),  # one figure of a stress run alone
    lambda row: row.update(scheme=None),  # and no worker
    lambda row: row.update(kind="cell"),
    lambda row: row["properties"][0].update(cause="bug"),
], ids=["missing", "verdict", "unknown key", "as_expected", "half a stress row", "no lock", "kind", "cause"])
def test_the_schema_refuses_what_is_wrong(sample, spoil):
    results = json.loads((sample / "results.json").read_text())
    spoil(results["results"][0])
    with pytest.raises(jsonschema.ValidationError):
        schema("results.schema.json").validate(results)


def test_the_explorers_results_are_whole(explored):
    """Every row says its bounds, and how far and how sure; every witness is there as a schedule and as a history."""
    results = json.loads((explored / "results.json").read_text())
    assert (results["command"], results["world"]) == ("explore", "sim")
    cells = {}
    for row in flat(results):
        assert all(isinstance(row[key], int) for key in
                   ("clients", "rounds", "servers", "lease_ticks", "faults_max", "states", "transitions")), row
        assert 0 < row["expected_omissions"] < 1
        assert row["faults_max"] == (row["fault"] != "none")
        cells.setdefault((row["scheme"], row["fault"]), []).append(row)
        if row["verdict"] != "violated":
            assert row["schedule"] is None and row["witness"] == [] == row["choices"]
            continue
        assert row["witness"] and row["witness_steps"] > 0 and row["choices"]
        assert (explored / row["schedule"]).exists() and (explored / row["history"]).exists()
        history = [json.loads(line) for line in (explored / row["history"]).read_text().splitlines()]
        assert history[0]["scheme"] == row["scheme"]
        assert row["event"] is None or history[row["event"] + 1]["i"] == row["event"]
    assert len(cells) == 16
    words = {rows[0]["words"].split(" (")[0] for rows in cells.values()}
    assert words == {"safe", "overrun only", "broken", "stuck", "unknown"}
    for rows in cells.values():
        assert sum(row["headline"] for row in rows) == (rows[0]["words"][:4] not in ("safe", "unkn"))


@pytest.mark.parametrize("spoil", [
    lambda row: row["search"].pop("lease_ticks"),
    lambda row: row.update(verdict="safe"),
    lambda row: row.update(more=1),
    lambda row: row["properties"][0].update(expected="holds"),
    lambda row: row["properties"][0].pop("choices"),
    lambda row: row.update(as_expected=True),
    lambda row: row.update(scenario="x"),
    lambda row: row["search"].update(expected_omissions=-1),
], ids=["missing", "verdict", "unknown key", "expected", "no choices", "as_expected", "half a run", "omissions"])
def test_the_schema_refuses_a_wrong_cell(explored, spoil):
    results = json.loads((explored / "results.json").read_text())
    spoil(results["results"][0])
    with pytest.raises(jsonschema.ValidationError):
        schema("results.schema.json").validate(results)


@pytest.mark.parametrize("folder", ["sample", "real", "explored"])
def test_histories_follow_their_schema(folder, request):
    checker = schema("history.schema.json")
    files = sorted((request.getfixturevalue(folder) / "histories").iterdir())
    assert files
    for file in files:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            checker.validate(line)
        assert "history" in lines[0] and lines[-1] == {"end": len(lines) - 2}


def executed(**more):
    return {"i": 0, "t": 0, "kind": "execute", "client": 0, "server": 0, "op": "acquire", "reply": "ok",
            "opaque": {"name": "EVALSHA", "text": "EVALSHA 3f 1 k", "digest": "0123456789abcdef", "keys": ["lock", "fence"]},
            "effects": [{"key": "lock", "did": "created", "new": "a-token", "ttl": 300000},
                        {"key": "fence", "did": "overwritten", "old": 3, "new": 4, "told": True}], **more}


def test_the_history_schema_takes_what_foreign_programs_need():
    checker = schema("history.schema.json")
    for line in (ROOT / "sim" / "test" / "history2" / "script-deletes-anothers.jsonl").read_text().splitlines():
        checker.validate(json.loads(line))
    for line in [executed(), executed(effects=[{"key": "lock", "did": "refused", "unlike": "mine", "wanted": "delete"}]),
                 {"i": 0, "t": 0, "kind": "return", "client": 0, "op": "acquire", "result": "granted", "token": "x", "inferred": True}]:
        checker.validate(line)


def test_the_history_schema_refuses_what_is_wrong():
    checker = schema("history.schema.json")
    for line in [{}, {"end": -1}, {"i": 0, "t": 0}, {"i": 0, "t": 0, "kind": "wish"},
                 {"i": 0, "t": 0, "kind": "call", "verb": 1, "more": 1}, executed(opaque={"name": "EVAL"}),
                 executed(effects=[{"key": "lock"}]), executed(effects=[{"key": "lock", "did": "made"}]),
                 executed(effects=[{"key": "lock", "did": "read", "told": True}]),
                 executed(effects=[{"key": "lock", "did": "refused", "old": "a", "unlike": "b"}]),
                 executed(effects=[{"key": "lock", "did": "created"}]), executed(effects=[{"key": "lock", "did": "lengthened"}]),
                 executed(t=-1), executed(t=10**15 + 1), executed(client=10000), executed(server=7), executed(attempt=2**31)]:
        assert not checker.is_valid(line), line
    assert checker.is_valid({"i": 0, "t": 0, "kind": "call", "more": 1}), "a field of somebody's own"


def test_the_schema_and_the_program_know_the_same_results(picklock, tmp_path):
    """Of each operation, and no others: what is read as an acquire refused must have been one."""
    checker, path, taken = schema("history.schema.json"), tmp_path / "a.jsonl", []
    for op in ("acquire", "release", "extend", "access"):
        for result in checker.schema["$defs"]["event"]["properties"]["result"]["enum"]:
            line = {"i": 1, "t": 1, "kind": "return", "client": 0, "attempt": 1, "op": op, "result": result}
            path.write_text("\n".join(map(json.dumps, [
                {"history": "picklock.history/2", "scheme": "", "scenario": "s", "world": "redis", "server_version": "", "clients": 1, "servers": 1, "locks": 1,
                 "lease_us": 0, "unit_us": 1, "clock_error_us": 0, "seed": "1", "names": ["A"]}, {**line, "i": 0, "kind": "call", "result": "none"}, line, {"end": 2}])) + "\n")
            ran = picklock("check", path)
            assert checker.is_valid(line) == (ran.status != 64), (line, ran)
            taken += [(op, result)] if ran.status != 64 else []
    assert len(taken) == 28 and ("extend", "not-mine") in taken and ("release", "refused") not in taken, taken


@pytest.mark.parametrize("folder", ["sample", "real", "explored"])
def test_junit_is_well_formed_and_counts(folder, request):
    folder = request.getfixturevalue(folder)
    results = json.loads((folder / "results.json").read_text())["results"]
    root = ET.parse(folder / "junit.xml").getroot()
    assert root.tag == "testsuites"
    cases = root.findall("./testsuite/testcase")
    assert len(cases) == int(root.get("tests")) == len(results)
    assert ({(case.get("classname"), case.get("name")) for case in cases}
            == {name_of(row) for row in results})
    failed = {name_of(row) for row in results if row["as_expected"] is False}
    assert {(case.get("classname"), case.get("name"))
            for case in cases if case.find("failure") is not None} == failed
    assert int(root.get("failures")) == len(failed)
    for suite in root:
        assert int(suite.get("tests")) == len(suite.findall("testcase"))


def test_junit_tells_what_a_violation_and_an_open_cell_are(explored):
    """A case a cell, in which every property that is violated stands with its sentences."""
    results = json.loads((explored / "results.json").read_text())["results"]
    cases = {(case.get("classname"), case.get("name")): case
             for case in ET.parse(explored / "junit.xml").getroot().iter("testcase")}
    assert len(cases) == len(results)
    for row in results:
        case = cases[name_of(row)]
        inside, text = {part.tag for part in case}, "".join(case.itertext()) + "".join(part.get("message", "") for part in case)
        violated = [found for found in row["properties"] if found["verdict"] == "violated"]
        if row["as_expected"] is False:
            assert inside == {"failure"}, row
        elif not row["search"]["complete"]:
            assert inside == ({"skipped"} if row["unsupported"] else {"error"}), row
        else:  # not a failure: an overrun is nobody's fault, and told
            assert inside == ({"system-out"} if violated else set()), row
        for found in violated:
            steps = ("" if found["shortest"] else "at most ") + f"{found['witness_steps']} step{'s'[:found['witness_steps'] != 1]}"
            assert f"{found['property']} is violated ({found['cause']}) in {steps}" in text
            assert "\n".join(found["witness"]) in text


@pytest.mark.parametrize("folder", ["sample", "real", "explored"])
def test_markdown_has_a_row_for_every_result(folder, request):
    folder = request.getfixturevalue(folder)
    text = (folder / "report.md").read_text()
    tables = [line for line in text.splitlines() if line.startswith("|")]
    for row in flat(json.loads((folder / "results.json").read_text())):
        if row["kind"] == "cell":
            assert any(row["words"].split(" (")[0] in line and f"| {row['fault']} |" in line
                       and f"| {row['states']} |" in line for line in tables), row
            continue
        lock = row["scheme"] or row["worker"]
        assert any(lock in line and row["verdict"][:4] in line or "unsupported" in line for line in tables), lock
    assert text.startswith("## picklock: ")
    assert "<script" not in text
    # every row of a table has as many cells as its head
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1, table


def test_what_ought_to_be_violated_and_holds_is_not_told_as_violated(tmp_path):
    """Beside the word stands what is violated, as expected or not; what holds and ought not to is told in a sentence."""
    text = (ROOT / "scenarios" / "expired-lease-double-delete.yaml").read_text()
    wrong = re.sub("(set-nx-px-cad: +).*", r"\1{ mutual-exclusion: violated, lease-exclusion: violated }", text)
    (tmp_path / "wrong.yaml").write_text(wrong.replace("name: expired-lease-double-delete", "name: wrong"))
    ran = run("run", "--on", "sim", "--scheme", "set-nx-px-cad", tmp_path / "wrong.yaml", "--out", tmp_path, "--markdown", tmp_path / "wrong.md")
    assert ran.status == 1 and re.search(r"set-nx-px-cad +violated +mutual-exclusion +overrun +NOT expected\n", ran.out), ran
    assert "lease-exclusion holds, expected violated" in ran.out and "lease-exclusion   " not in ran.out
    markdown = (tmp_path / "wrong.md").read_text()
    assert "| violated | mutual-exclusion | overrun |" in markdown.replace("✗ ", "") and "lease-exclusion holds, expected violated" in markdown
    page = (tmp_path / "latest" / "index.html").read_text()
    assert "<p>lease-exclusion holds, expected violated.</p>\n<p><b>mutual-exclusion</b>: " in page and "<b>lease-exclusion</b>" not in page
    drawn = run("report", tmp_path / "latest", "--timeline")
    assert "▶" in drawn.out and "both believed to hold it" in drawn.out, drawn


def test_a_run_folder_can_be_printed_again(real, tmp_path):
    again = tmp_path / "again.html"
    ran = run("report", real)
    assert ran.status == 0 and "expired-lease-double-delete" in ran.out, ran
    ran = run("report", real, "--html", again)
    assert ran.status == 0 and "verdicts are as expected" in again.read_text(), ran


# --- a full disk ---

def tiny_disk(folder, command):
    """Runs a shell command with a tmpfs of 48 KiB at folder, in a mount namespace of its own."""
    script = f"mount -t tmpfs -o size=48k none {shlex.quote(str(folder))} && {command}"
    return subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], cwd=ROOT,
                          text=True, capture_output=True)


def test_a_full_disk_leaves_no_half_file(tmp_path):
    if tiny_disk(tmp_path, "true").returncode:
        pytest.skip("this machine allows no mount namespace (unshare --mount --map-root-user)")
    done = tiny_disk(tmp_path, f"{shlex.quote(str(REPORT_WRITER))} --sample {tmp_path}; echo status $?; ls -A {tmp_path}")
    assert "status 70" in done.stdout, done
    assert os.strerror(errno.ENOSPC) in done.stderr and "index.html" in done.stderr
    left = done.stdout.split("\n")[1:]
    assert "index.html" not in left and not [name for name in left if name.endswith(".part")]
    assert "results.json" in left  # what had room is whole


@pytest.mark.parametrize("bytes_, place", [(b"", ":1:1: "), (b'{"schema": "x"', ":1:14: "), (b"[1]", ":1:1: wants an object"), (b'{"schema": 1}', ":1:2: schema: ")])
def test_what_is_no_report_is_refused_with_its_place(tmp_path, sample, bytes_, place):
    """Alone, and as the old or the new one of two."""
    (tmp_path / "results.json").write_bytes(bytes_)
    for words in ([tmp_path], ["--diff", tmp_path, sample], ["--diff", sample, tmp_path]):
        refused = run("report", *words)
        assert refused.status == 64 and f"{tmp_path}/results.json{place}" in refused.err and ": :" not in refused.err, refused


def test_trouble_where_nothing_was_found_is_refused(tmp_path, explored):
    """Of what holds nothing could be replayed: it ended with 70, and without a word."""
    results = json.loads((explored / "results.json").read_text())
    row = next(p for row in results["results"] for p in row["properties"] if p["verdict"] == "holds")
    row["trouble"] = "made up"
    (tmp_path / "results.json").write_text(json.dumps(results))
    refused = run("report", tmp_path)
    assert refused.status == 64 and ".trouble: wants null where nothing was found" in refused.err, refused
