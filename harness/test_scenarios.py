"""Every scenario, one test each, on a real redis-server and in the simulated world."""

import json

import jsonschema
import pytest
from conftest import ROOT, listed

SCENARIOS = listed("scenarios")
# test_worker_extends.py, test_worker_cancels.py and test_worker_connections.py play them
FOR_WORKERS = {"extend-in-time": "nobody asks a scheme to extend", "extend-too-late": "nobody asks a scheme to extend",
               "forgotten-grant": "nobody cancels a scheme's acquire", "half-open": "a scheme has no connections",
               "slow-dial": "a scheme makes no connections"}
SCHEMA = json.loads((ROOT / "reports" / "results.schema.json").read_text())


def every_row_as_expected(ran, scenario):
    rows = ran.json["results"]
    if scenario["name"] in FOR_WORKERS:
        [row] = rows
        assert ran.status == 2 and row["verdict"] == "not_applicable" and FOR_WORKERS[scenario["name"]] in json.dumps(row), ran
        return
    assert {row["scheme"] for row in rows} == set(scenario["schemes"])
    wrong = [row for row in rows if not (row["as_expected"] or row.get("unsupported"))]
    assert not wrong, json.dumps(wrong, indent=1)
    assert ran.status == 0, ran


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[s["name"] for s in SCENARIOS])
def test_on_redis(picklock, scenario):
    ran = picklock("run", scenario["path"], "--json", "-")
    jsonschema.validate(ran.json, SCHEMA)
    assert ran.json["world"] == "redis" and ran.json["server"]
    every_row_as_expected(ran, scenario)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[s["name"] for s in SCENARIOS])
def test_in_the_simulated_world(picklock, scenario):
    ran = picklock("run", scenario["path"], "--on", "sim", "--json", "-")
    jsonschema.validate(ran.json, SCHEMA)
    every_row_as_expected(ran, scenario)


def test_every_scheme_is_spoken_about():
    spoken = {scheme for scenario in SCENARIOS for scheme in scenario["schemes"]}
    assert spoken == {scheme["name"] for scheme in listed("schemes")}


def test_the_table_of_what_faults_of_servers_break(picklock):
    """Each scenario there has a scheme that breaks the property, and one that keeps it."""
    text = (ROOT / "scenarios" / "README.md").read_text().split("## Faults of servers")[1].split("\n## ")[0]
    rows = [[cell.strip().strip("`") for cell in line.split("|")[2:6]] for line in text.splitlines() if line.count("`") == 8]
    paths = {scenario["name"]: scenario["path"] for scenario in SCENARIOS}
    ran = picklock("run", "--on", "sim", *(paths[row[0]] for row in rows), "--json", "-")
    verdicts = {(row["scenario"], row["scheme"], p["property"]): p["verdict"] for row in ran.json["results"] for p in row["properties"]}
    assert len(rows) == 19
    for scenario, name, breaks, keeps in rows:
        assert [verdicts[scenario, scheme, name] for scheme in (breaks, keeps)] == ["violated", "holds"], (scenario, name)


def test_naive_and_safe_stand_side_by_side(picklock):
    """The scenario that the project is for: the naive release deletes another's lock, the safe one does not."""
    ran = picklock("run", "--scheme", "set-nx-ex-del,set-nx-px-cad",
                   "scenarios/expired-lease-double-delete.yaml", "--json", "-")
    naive, safe = ran.json["results"]
    of = {row["scheme"]: {p["property"]: p for p in row["properties"]} for row in (naive, safe)}
    assert naive["verdict"] == "violated" and naive["as_expected"] and safe["as_expected"]
    assert of["set-nx-ex-del"]["release-own"]["verdict"] == "violated"
    assert of["set-nx-ex-del"]["release-own"]["cause"] == "unlock-bug"
    assert of["set-nx-px-cad"]["release-own"]["verdict"] == "holds"
    assert of["set-nx-px-cad"]["lease-exclusion"]["verdict"] == "holds"
    # The lease overrun itself is inherent, and must be told apart from the bug.
    assert of["set-nx-px-cad"]["mutual-exclusion"]["cause"] == "overrun"
    assert ran.status == 0


def test_in_real_time(picklock):
    ran = picklock("run", "--real-time", "--scheme", "set-nx-ex-del,set-nx-px-cad",
                   "scenarios/expired-lease-double-delete.yaml", "scenarios/late-grant.yaml",
                   "--json", "-")
    assert ran.status == 0, ran
    assert all(row["as_expected"] for row in ran.json["results"])
