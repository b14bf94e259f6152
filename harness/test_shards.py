"""A campaign in shards: merged, it is the whole again, in every format; what is missing, twice or different is told."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT, run

CAMPAIGN = ROOT / "harness" / "campaign.sh"
EXPLORE = ["explore", "--scheme", "set-nx-ex-del,stamp-getset,setnx-del", "--fault", "none,stall,lose-reply,late-request,crash,restart-empty"]
RUN = ["run", "--on", "sim", "--repeat", "2", "--seed", "7", "scenarios/expired-lease-double-delete.yaml",
       "scenarios/lost-update.yaml", "scenarios/late-grant.yaml"]
FORMATS = ["json", "junit", "markdown", "html"]


def make(out, words, shard=None):
    """A run folder."""
    ran = run(*words, "--out", out, *(["--shard", shard] if shard else []))
    assert ran.status < 64, ran
    return (out / "latest").resolve()


def shards(out, words, count):
    """The run folders of all shards of a campaign."""
    return [make(out / str(k), words, f"{k}/{count}") for k in range(1, count + 1)]


def timeless(text, folders):
    """Without times, and without where the folders are."""
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    text = re.sub(r' *"(seconds|started)": .*\n', "", text)
    text = re.sub(r' (time|timestamp)="[^"]*"', "", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "", text)
    text = re.sub(r',?\n *"folder": .*', "", text)
    return re.sub(r"--out (\S*)", "--out X", text)


@pytest.fixture(scope="module", params=[EXPLORE, RUN, [*EXPLORE[:3], "--frontier", "--fault", "stall,crash"]],
                ids=["explore", "run", "frontier"])
def campaign(request, tmp_path_factory):
    """The folder of the whole, and those of its shards."""
    out = tmp_path_factory.mktemp("campaign")
    return make(out / "whole", request.param), shards(out, request.param, 3)


# --- merged, it is the whole ---

@pytest.mark.parametrize("kind", FORMATS)
def test_shards_merge_to_the_whole(campaign, tmp_path, kind):
    whole, parts = campaign
    texts, statuses = [], set()
    for folders in ([whole], parts, [parts[2], parts[0], parts[1]]):  # in any order
        file = tmp_path / f"report.{len(texts)}"
        ran = run("report", *folders, f"--{kind}", file)
        assert ran.status < 64, ran
        statuses.add(ran.status)
        texts.append(timeless(file.read_text(), folders))
    assert len(texts[0]) > 500 and len(statuses) == 1
    assert texts[1] == texts[0]
    assert texts[2] == texts[0]


def test_the_summary_and_the_status_are_those_of_the_whole(campaign):
    whole, parts = campaign
    one, many = run("report", whole), run("report", *parts)
    assert (one.status, one.out) == (many.status, many.out)


def test_shards_take_about_the_same(campaign):
    counts = [json.loads((folder / "results.json").read_text())["shard"] for folder in campaign[1]]
    assert [(shard["number"], shard["of"]) for shard in counts] == [(1, 3), (2, 3), (3, 3)]
    assert len({(shard["whole"], shard["campaign"]) for shard in counts}) == 1


def test_more_shards_than_there_is_to_do(tmp_path):
    words = ["explore", "--scheme", "setnx-del", "--fault", "none,stall"]
    parts = shards(tmp_path, words, 4)
    ran = run("report", *parts, "--json", "-")
    assert ran.status == 0 and len({row["fault"] for row in ran.rows}) == 2, ran
    assert "missing" not in ran.json


def test_stress_shares_out_its_schemes(tmp_path):
    words = ["stress", "--scheme", "set-nx-ex-del,set-nx-px-cad,setnx-del", "--duration", "100ms", "--clients", "4",
             "--no-faults"]
    parts = shards(tmp_path, words, 2)
    merged = run("report", *parts, "--json", "-").json
    assert [row["scheme"] for row in merged["results"]] == ["set-nx-ex-del", "set-nx-px-cad", "setnx-del"]


# --- what is not there ---

def test_a_missing_shard_is_told(campaign):
    _, parts = campaign
    ran = run("report", parts[0], parts[2])
    assert ran.status in (1, 2) and "MISSING: Shard 2/3 of" in ran.out, ran
    for kind, says in (("json", '"missing": ['), ("junit", "Shard 2/3"), ("markdown", "Missing:"), ("html", "Shard 2/3")):
        again = run("report", parts[0], parts[2], f"--{kind}", "-")
        assert says in again.out and again.status == ran.status, kind
    alone = run("report", parts[1])
    assert "Shards 1/3, 3/3 of" in alone.out and alone.status in (1, 2)


def test_failed_outranks_missing(tmp_path):
    words = ["explore", "--scheme", "set-nx-ex-del", "--fault", "none,stall"]
    parts = shards(tmp_path, [*words, "--fail-on", "bug"], 2)
    status = [run("report", part).status for part in parts]
    assert sorted(status) == [1, 2]  # one has the bug, the other lacks only its sister
    assert run("report", *parts).status == 1


def test_a_shard_that_ended_early_is_told(tmp_path):
    parts = shards(tmp_path, RUN, 2)
    file = parts[1] / "results.json"
    results = json.loads(file.read_text())
    results["results"].pop()
    file.write_text(json.dumps(results))
    ran = run("report", *parts)
    assert ran.status in (1, 2) and "Shard 2/2" in ran.out and "ended early" in ran.out, ran


@pytest.mark.parametrize("spoil, says", [
    (shutil.rmtree, "no such run folder"),
    (lambda folder: (folder / "results.json").unlink(), "did not end"),
    (lambda folder: (folder / "results.json").write_text("{"), "results.json:1:"),
], ids=["missing", "half", "cut"])
def test_a_folder_that_is_no_whole_run(tmp_path, spoil, says):
    good, bad = (make(tmp_path / name, EXPLORE[:3] + ["--fault", "none"]) for name in "ab")
    spoil(bad)
    ran = run("report", good, bad)
    assert ran.status == 64 and says in ran.err and str(bad) in ran.err and ran.out == "", ran


def test_a_history_that_is_gone_is_said_in_the_page(tmp_path):
    folder = make(tmp_path, ["explore", "--scheme", "set-nx-ex-del", "--fault", "stall"])
    shutil.rmtree(folder / "histories")
    ran = run("report", folder, "--html", "-")
    assert ran.status == 0 and "There is no timeline" in ran.out


# --- what is there twice, and what is different ---

def test_a_folder_and_a_link_to_it_are_one(tmp_path):
    folder = make(tmp_path, EXPLORE)
    assert run("report", folder, tmp_path / "latest").out == run("report", folder).out


def test_a_shard_twice_counts_once(tmp_path):
    parts = shards(tmp_path, EXPLORE, 2)
    twin = make(tmp_path / "again", EXPLORE, "2/2")
    once, twice = run("report", *parts, "--json", "-"), run("report", *parts, twin, "--json", "-")
    assert twice.status == once.status and len(twice.rows) == len(once.rows)
    assert "Shard 2/2 is there twice" in twice.json["notes"][0]


def test_a_cell_of_two_runs_counts_once(tmp_path):
    one = make(tmp_path / "one", ["explore", "--scheme", "set-nx-ex-del", "--fault", "none,stall"])
    other = make(tmp_path / "other", ["explore", "--scheme", "set-nx-ex-del", "--fault", "stall,crash"])
    merged = run("report", one, other, "--json", "-").json
    cells = [(row["fault"], row["origin"]) for row in merged["results"]]
    assert sorted(cells) == [("crash", 1), ("none", 0), ("stall", 0)]
    assert any("counted once" in note for note in merged["notes"])


def test_a_note_is_told_with_the_folder_that_it_is_of(tmp_path):
    """But for one that all of them have."""
    folders = [make(tmp_path / str(i), ["explore", "--scheme", "set-nx-ex-del", "--fault", fault]) for i, fault in enumerate(("none", "stall"))]
    for folder, own in zip(folders, ("of one", "of the other")):
        results = json.loads((folder / "results.json").read_text())
        (folder / "results.json").write_text(json.dumps({**results, "notes": ["of both", own]}))
    assert run("report", *folders, "--json", "-").json["notes"] == ["of both", f"{folders[0]}: of one", f"{folders[1]}: of the other"]
    assert run("report", folders[0], "--json", "-").json["notes"] == ["of both", "of one"]


def test_the_search_that_came_to_its_end_counts(tmp_path):
    words = ["explore", "--scheme", "redlock", "--fault", "none"]
    cut, whole = make(tmp_path / "cut", [*words, "--states", "100"]), make(tmp_path / "whole", words)
    for folders in ([cut, whole], [whole, cut]):
        ran = run("report", *folders, "--json", "-")
        assert ran.status == 0 and {row["words"] for row in ran.rows} == {"safe"}, ran


def tamper(folder, change):
    file = folder / "results.json"
    results = json.loads(file.read_text())
    change(results)
    file.write_text(json.dumps(results))


def test_two_that_should_be_the_same_and_differ_are_refused(tmp_path):
    parts = shards(tmp_path, EXPLORE, 2)
    twin = make(tmp_path / "again", EXPLORE, "2/2")
    tamper(twin, lambda results: [row["search"].update(states=row["search"]["states"] + 1) for row in results["results"]])
    ran = run("report", *parts, twin)
    assert ran.status == 64 and "differ in" in ran.err and str(twin) in ran.err and ran.out == "", ran


@pytest.mark.parametrize("change", [
    lambda results: results.update(seed=8),
    lambda results: results.update(picklock="0.0.9"),
], ids=["seed", "version"])
def test_what_was_made_differently_is_told_apart(tmp_path, change):
    """Shards of two seeds or versions are no campaign: both lack a shard, and no row loses where it comes from."""
    parts = shards(tmp_path, RUN, 2)
    tamper(parts[1], change)
    ran = run("report", *parts, "--json", "-")
    merged = ran.json
    assert ran.status in (1, 2) and len(merged["missing"]) == 2
    assert [origin["picklock"] for origin in merged["origins"]][0] != "0.0.9"
    assert {row["origin"] for row in merged["results"]} == {0, 1}
    text = run("report", *parts).out
    assert "[1] picklock run" in text and "[2] picklock run" in text


def test_other_bounds_are_other_cells(tmp_path):
    one = make(tmp_path / "one", ["explore", "--scheme", "set-nx-ex-del", "--fault", "stall"])
    other = make(tmp_path / "other", ["explore", "--scheme", "set-nx-ex-del", "--fault", "stall", "--clients", "2"])
    written = make(tmp_path / "written", ["explore", "--scheme", "set-nx-ex-del", "--fault", "stall", "--section", "write"])
    ran = run("report", one, other, written)
    assert ran.status == 0 and "(3 clients," in ran.out and "(2 clients," in ran.out, ran
    assert "section: write)" in ran.out and "counted once" not in ran.out, ran


def test_run_stress_and_explore_in_one_report(tmp_path):
    folders = [make(tmp_path / "run", RUN), make(tmp_path / "explore", EXPLORE),
               make(tmp_path / "stress", ["stress", "--scheme", "set-nx-px-cad", "--duration", "100ms", "--clients",
                                          "4", "--no-faults"])]
    merged = run("report", *folders, "--json", "-").json
    counts = [len(json.loads((folder / "results.json").read_text())["results"]) for folder in folders]
    assert len(merged["results"]) == sum(counts)
    assert merged["command"] == "report" and merged["world"] == "mixed"
    assert [origin["command"] for origin in merged["origins"]] == ["run", "explore", "stress"]
    for kind in FORMATS[1:]:
        text = run("report", *folders, f"--{kind}", "-").out
        assert "late-grant" in text and "stamp-getset" in text and "set-nx-px-cad" in text, kind
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "reports" / "results.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(merged)


# --- over several processes ---

def spread(folder, *words, **env):
    return subprocess.run([CAMPAIGN, "3", folder, *words], cwd=ROOT, text=True, capture_output=True, timeout=120,
                          env={**os.environ, "BUILD": str(BUILD), **env})


def check_campaign(tmp_path, **env):
    done = spread(tmp_path / "campaign", *EXPLORE, **env)
    whole = run("report", make(tmp_path / "whole", EXPLORE))
    assert (done.returncode, done.stdout) == (whole.status, whole.out), done
    assert (tmp_path / "campaign" / "index.html").exists()


@pytest.mark.long("6 s of CPU: the parts and the whole are compared above")
def test_a_campaign_in_a_plain_loop(tmp_path):
    check_campaign(tmp_path, PARALLEL="no")


def test_a_campaign_with_gnu_parallel(tmp_path):
    if not shutil.which("parallel") or "GNU" not in subprocess.run(["parallel", "--version"], text=True,
                                                                   capture_output=True).stdout:
        pytest.skip("no GNU parallel here; `harness/setup.sh campaign` installs it")
    check_campaign(tmp_path)


def test_a_campaign_wants_a_new_folder(tmp_path):
    done = spread(tmp_path, *EXPLORE)
    assert done.returncode == 64 and "new folder" in done.stderr, done
