"""Histories of version 1 stay readable: committed ones, one at least for each cause, are judged as the program judged them that wrote
them (judged.json is its answer, sentences included). Under a head of version 2 the same lines say the same."""

import json

import pytest

from conftest import ROOT

FOLDER = ROOT / "sim" / "test" / "history1"
JUDGED = json.loads((FOLDER / "judged.json").read_text())


def judge(picklock, path):
    ran = picklock("check", path, "--json", "-")
    row = json.loads(ran.out)["results"][0]
    said = ("property", "verdict", "count", "cause", "event", "witness")
    return {"status": ran.status, "verdict": row["verdict"],
            "properties": [{name: found[name] for name in said} for found in row["properties"]]}


def test_all_are_judged():
    assert sorted(path.name for path in FOLDER.glob("*.jsonl")) == sorted(JUDGED)
    assert len({found["cause"] for row in JUDGED.values() for found in row["properties"]}) > 15


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_a_history_of_version_1_is_judged_as_it_was(picklock, name):
    assert json.loads((FOLDER / name).read_text().splitlines()[0])["history"] == "picklock.history/1"
    assert judge(picklock, FOLDER / name) == JUDGED[name]


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_the_same_lines_under_a_head_of_version_2(picklock, name, tmp_path):
    path = tmp_path / name
    path.write_text((FOLDER / name).read_text().replace("picklock.history/1", "picklock.history/2", 1))
    assert judge(picklock, path) == JUDGED[name]
