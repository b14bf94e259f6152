"""Histories of ours in the formats of other tools: what these cannot say is left open there, and invents nothing; what is violated and can be said stays so."""

import json

import pytest
from test_convert import linearizable

OPS = {"a": "acquire", "r": "release", "e": "extend"}


def history(path, words, lease_us):
    """Of "TIME CLIENT WHAT" each: a1> calls the acquire of attempt 1, a1=granted ends it; r, e are its release and extend; else a kind of event."""
    lines = [{"history": "picklock.history/2", "scheme": "", "program": "a lock", "promises": ["token", "expiry"][:2 if lease_us else 1], "scenario": "by hand",
              "world": "redis", "server_version": "", "clients": 2, "servers": 1, "locks": 1, "lease_us": lease_us, "unit_us": 1000, "clock_error_us": 0,
              "seed": "1", "names": ["A", "B"]}]
    for index, (time, client, what) in enumerate(each.split() for each in words.split(", ")):
        event = {"i": index, "t": int(time), "client": int(client)}
        if what[1:2].isdigit():
            result = what[3:] if what[2] == "=" else None
            event |= {"kind": "return" if result else "call", "attempt": int(what[1]), "op": OPS[what[0]], **({"result": result} if result else {})}
        else:
            event |= {"kind": "fault", "fault": what} if what == "crash" else {"kind": what}
        lines.append(event)
    path.write_text("\n".join(map(json.dumps, [*lines, {"end": len(lines) - 1}])) + "\n")
    return path


def is_contradicted(checked):
    return any(found["verdict"] == "violated" for found in checked.json["results"][0]["properties"])


HELD = "0 0 a1>, 1 0 a1=granted, "
NEXT = "20000 1 a1>, 20001 1 a1=granted"
ASKED = HELD + "10 0 a2>, 12 0 a2=refused, "
UNHEARD = "10 1 a1>, 12 1 a1=refused, 20 0 r1>, 21 0 r1=failed, "
AGAIN = HELD + "10 0 a2>, 12 0 a2=granted, "
REFUSED = "0 0 a1>, 1 1 a1>, 2 1 a1=refused, 3 0 a1={}, 5 1 a2>, 6 1 a2=granted"


@pytest.mark.parametrize("words, lease_us, is_violated", [
    (ASKED + "13 0 r2>, 14 0 r2=not-mine, 20 0 r1>, 21 0 r1=released", 0, False),  # the release of a refused attempt, while an earlier one has the lock
    (ASKED + "13 0 e2>, 14 0 e2=not-mine, 20 0 e1>, 21 0 e1=done, 30 0 r1>, 31 0 r1=released", 0, False),
    (ASKED + "13 0 r2>, 14 0 r2=not-mine, 20 1 a1>, 21 1 a1=granted", 0, False),
    (ASKED + "20 1 a1>, 21 1 a1=granted", 0, True),  # he has it still
    (ASKED + "20 0 r1>, 21 0 r1=released, 23 0 r2>, 24 0 r2=not-mine, " + NEXT, 0, False),
    (HELD + "9 0 e1>, 10 0 e1=failed, 15000 0 r1>, 15001 0 r1=not-mine, " + NEXT, 10000, False),  # he goes on as another process
    (HELD + "9 0 a2>, 10 0 a2=failed, 15000 0 e1>, 15001 0 e1=not-mine, " + NEXT, 10000, False),
    (AGAIN + "20 0 r2>, 21 0 r2=released, " + NEXT, 0, False),  # it was entered again: one release ends it, or two
    (AGAIN + "20 0 r2>, 21 0 r2=released, 22 0 r1>, 23 0 r1=released, " + NEXT, 10000, False),
    (AGAIN + "20 0 r2>, 21 0 r2=released, 22 0 r1>, 23 0 r1=not-mine, " + NEXT, 0, False),
    (AGAIN + NEXT, 0, True),
    # his release had no answer: he may have it still, and enter it again, until somebody else is granted it
    (HELD + UNHEARD + "40 0 a2>, 41 0 a2=granted, 50 0 r2>, 51 0 r2=released, 60 1 a2>, 61 1 a2=refused", 10000, False),
    (HELD + UNHEARD + "30 1 a2>, 31 1 a2=granted, 32 1 r2>, 33 1 r2=released, 40 0 a2>, 41 0 a2=granted, 50 0 r2>, 51 0 r2=released, 60 1 a3>, "
     "61 1 a3=refused", 10000, True),
    (HELD + "50 0 exit, " + NEXT, 10000, False),
    (HELD + "50 0 crash, " + NEXT, 10000, False),
    (HELD + "50 0 e1>, 60 0 crash, " + NEXT, 10000, False),
    (HELD + NEXT, 10000, True),
    (REFUSED.format("cancelled"), 0, False),  # it gave the lock back
    (REFUSED.format("failed"), 0, False),  # and so may this one
    (REFUSED.format("refused"), 0, True),
    ("0 0 a1>, 9 0 a1=failed, 10 0 a2>, 11 0 a2=granted, 12 0 r2>, 13 0 r2=not-mine", 10000, False),  # of the first attempt's
    ("0 0 a1>, 9 0 a1=refused, 10 0 a2>, 11 0 a2=granted, 12 0 r2>, 13 0 r2=not-mine", 10000, True)])
def test_knossos_is_told_no_contradiction_that_there_was_not(picklock, tmp_path, words, lease_us, is_violated):
    path, edn = history(tmp_path / "a.jsonl", words, lease_us), tmp_path / "a.edn"
    assert is_contradicted(picklock("check", path, "--json", "-")) == is_violated
    assert picklock("convert", path, "--to", "knossos", "--out", edn).status == 0
    model = ("--model", "lease-lock", "--lease", f"{lease_us}us") if lease_us else ("--model", "owner-mutex")
    read = picklock("check", edn, "--format", "jepsen-edn", "--refusals", "--concurrency", 2, *model, "--json", "-")
    assert is_contradicted(read) == is_violated, (edn.read_text(), read)


@pytest.mark.parametrize("words, lease_us, is_one", [
    (REFUSED.format("cancelled"), 0, True), (REFUSED.format("failed"), 0, True), (REFUSED.format("refused"), 0, False),
    ("0 0 a1>, 12 0 a1=refused", 10, True), ("0 0 a1>, 9 0 a1=refused", 10, False)])
def test_porcupine_is_told_that_an_acquire_may_have_given_the_lock_back(picklock, tmp_path, words, lease_us, is_one):
    path = history(tmp_path / "a.jsonl", words, lease_us)
    assert linearizable(json.loads(picklock("convert", path, "--to", "porcupine").out)) == is_one


@pytest.mark.parametrize("words, holds, ends", [
    (HELD + "50 0 exit, " + NEXT, [(0, 1, 50), (1, 20001, 20001)], [10000, 30000]),
    (HELD + "50 0 crash, " + NEXT, [(0, 1, 50), (1, 20001, 20001)], [10000, 30000]),
    (HELD + "50 0 notice, " + NEXT, [(0, 1, 50), (1, 20001, 20001)], [10000, 30000]),
    (HELD + "50 0 e1>, 60 0 e1=not-mine, " + NEXT, [(0, 1, 60), (1, 20001, 20001)], [10000, 30000]),
    (HELD + "50 0 e1>, 55 0 notice, 60 0 e1=failed", [(0, 1, 55)], [10000]),  # in the midst of an operation
    (HELD + "10 0 e1>, 12 0 e1=done, 90 0 r1>, 91 0 r1=released", [(0, 1, 90)], [10010]),  # renewed: it ends later
    (HELD + "10 0 e1>, 12 0 e1=failed, 90 0 r1>, 91 0 r1=released", [(0, 1, 90)], [10000]),
    (HELD + "12000 0 e1>, 12001 0 e1=done", [(0, 1, 12001)], [10000, 22000]),  # it had ended
    (ASKED + "50 0 r1>, 52 0 r1=released", [(0, 1, 50)], [10000]),  # holds what he held
    (HELD + "10 0 a2>, 12 0 a2=failed, 50 0 r1>, 52 0 r1=released", [(0, 1, 50)], [10000]),
    (HELD + "10 0 a2>, 12 0 a2=granted, 50 0 r2>, 52 0 r2=released", [(0, 1, 12), (0, 12, 50)], [10000, 10010]),
    (HELD + "90 1 crash", [(0, 1, 90)], [10000])])  # of whom nothing else is told
def test_a_hold_in_a_trace_lasts_as_long_as_the_client_believes(picklock, tmp_path, words, holds, ends):
    events = json.loads(picklock("convert", history(tmp_path / "a.jsonl", words, 10000), "--to", "perfetto").out)["traceEvents"]
    slices = sorted((each["tid"] - 1, each["ts"], each["ts"] + each["dur"], each["name"]) for each in events if each["ph"] == "X")
    assert [each[:3] for each in slices if each[3] == "holds"] == holds, slices
    assert sorted(each["ts"] for each in events if each["name"] == "own lease ends") == ends, events
    named = {(each["pid"], each["tid"]) for each in events if each["name"] == "thread_name"}
    assert {(each["pid"], each["tid"]) for each in events if each["ph"] != "M"} == named, events
    for kind in ("exit", "crash"):
        assert (kind in words) == any(each["name"] == kind and each["ph"] == "i" for each in events), events
    for client, begin, end, _ in slices:  # no two of a client cut each other
        assert not any(other == client and begin < first < end < last for other, first, last, _ in slices), slices
