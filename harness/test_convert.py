"""Histories in the formats of other tools: what each line says, that what was converted can be read, and that nothing is left on failure."""

import json
import re

import pytest

from conftest import ROOT

HISTORY = ROOT / "sim" / "test" / "history2" / "script-deletes-anothers.jsonl"
SEEDS = ROOT / "sim" / "test" / "seeds" / "jepsen"
SCHEMA = ROOT / "reports" / "porcupine.schema.json"
LEASE = ("--format", "jepsen-edn", "--model", "lease-lock", "--lease", "300ms")


def test_what_is_converted_for_knossos_is_a_jepsen_history(picklock, tmp_path):
    """There and back: the same operations, and the same verdict."""
    once, twice = tmp_path / "once.edn", tmp_path / "twice.edn"
    assert picklock("convert", SEEDS / "overrun.edn", *LEASE, "--to", "knossos", "--out", once).status == 0
    assert picklock("convert", once, *LEASE, "--to", "knossos", "--out", twice).status == 0
    assert once.read_text() == twice.read_text()
    lines = once.read_text().splitlines()
    assert lines[0] == "{:index 0, :time 0, :process 0, :type :invoke, :f :acquire, :value nil}" and len(lines) == 8
    assert picklock("check", once, *LEASE).out == picklock("check", SEEDS / "overrun.edn", *LEASE).out


def test_a_process_without_an_answer_is_retired(picklock, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("\n".join(json.dumps({"type": kind, "f": "lock", "process": process, "time": time * 1000})
                              for time, (kind, process) in enumerate([("invoke", 0), ("info", 0), ("invoke", 7), ("ok", 7)])))
    out = picklock("convert", path, "--format", "jepsen-json", "--to", "knossos").out
    assert re.findall(r":process (\d+), :type :(\w+)", out) == [("0", "invoke"), ("0", "info"), ("1", "invoke"), ("1", "ok")]


def lock_of(lease):
    """The lock that reports/README.md writes down for Porcupine, in Python: the state after that operation, or None."""
    def step(state, op):
        owner, renewals = state
        mine = owner == op["attempt"]
        if op["op"] == "expire":
            return (None, 0) if mine and renewals == op["renewal"] else state
        if op["op"] == "acquire":
            if owner is None:
                return None if op["result"] == "refused" else (op["attempt"], 0)
            return None if op["result"] == "granted" else state
        if not mine:
            return None if op["result"] in ("released", "done") else state
        if op["result"] == "not-mine":
            return None
        return (None, 0) if op["op"] == "release" else (owner, renewals + 1)
    return step


def linearizable(document):
    """By trying every order, as Porcupine does."""
    step, operations = lock_of(document["lease"]), document["operations"]
    ends = [float("inf") if op["return"] is None else op["return"] for op in operations]
    seen, stack = set(), [(frozenset(range(len(operations))), (None, 0))]
    while stack:
        left, state = stack.pop()
        if all(ends[i] == float("inf") for i in left):
            return True
        for i in left:
            if operations[i]["call"] <= min(ends[k] for k in left):
                new = step(state, operations[i])
                if new is not None and (left - {i}, new) not in seen:
                    seen.add((left - {i}, new))
                    stack.append((left - {i}, new))
    return False


@pytest.mark.parametrize("lease, is_one", [("300ms", True), ("600ms", False)])
def test_porcupine_comes_to_the_same(picklock, lease, is_one):
    options = ("--format", "jepsen-edn", "--model", "lease-lock", "--lease", lease)
    document = json.loads(picklock("convert", SEEDS / "overrun.edn", *options, "--to", "porcupine").out)
    assert linearizable(document) == is_one
    expiries = [op for op in document["operations"] if op["op"] == "expire"]
    assert len(expiries) == 2 and all(op["return"] is None for op in expiries)


@pytest.mark.parametrize("source, options", [(HISTORY, ()), (SEEDS / "overrun.edn", LEASE), (SEEDS / "fences.json", ("--format", "jepsen-json"))])
def test_porcupines_schema_holds(picklock, source, options):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(picklock("convert", source, *options, "--to", "porcupine").out), json.loads(SCHEMA.read_text()))


def test_a_trace_has_operations_holds_and_names(picklock):
    trace = json.loads(picklock("convert", HISTORY, "--to", "perfetto").out)
    events = trace["traceEvents"]
    assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} == {"A", "B", "C"}
    names = [event["name"] for event in events if event["ph"] == "X"]
    assert "acquire: granted" in names and "holds" in names and any(name.startswith("release") for name in names)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in events if event["ph"] == "X")
    for client in {event["tid"] for event in events if event["ph"] == "X"}:  # no two of one client overlap
        slices = sorted((event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X" and event["tid"] == client)
        assert all(one[1] <= other[0] for one, other in zip(slices, slices[1:]))


def test_what_can_not_be_converted(picklock, tmp_path):
    out = tmp_path / "out"
    for words in (["--to", "knosos"], [], ["--to", "knossos", "--model", "mutex"]):
        ran = picklock("convert", HISTORY, *words, "--out", out)
        assert ran.status == 64 and not out.exists(), ran
    bad = tmp_path / "bad.jsonl"
    bad.write_text(HISTORY.read_text()[:-30])
    ran = picklock("convert", bad, "--to", "perfetto", "--out", out)
    assert ran.status == 64 and not out.exists(), ran
    before = bad.read_text()
    assert picklock("convert", bad, "--to", "perfetto", "--out", bad).status == 64 and bad.read_text() == before
