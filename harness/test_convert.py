"""Histories in the formats of other tools: what each line says, that what was converted can be read, and that nothing is left on failure."""

import json
import os
import re
import shutil
import subprocess
from itertools import permutations
from random import Random

import pytest

from conftest import ROOT
from jepsen import SEEDS, drawn, write
from jepsen import op as operation
from test_bad_places import event, head

HISTORY = ROOT / "sim" / "test" / "history2" / "script-deletes-anothers.jsonl"
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


def test_random_histories_are_judged_the_same_there_and_back(picklock, tmp_path):
    """Whole findings, with their sentences: each process is the one that it was, and goes on for whom it went on for."""
    random, seen = Random(20261126), set()
    for turn in range(int(os.environ.get("PICKLOCK_RUNS", "24"))):
        model, concurrency = ("mutex", "owner-mutex", "lease-lock", "fenced-lock")[turn % 4], random.randint(2, 3)
        options = ("--model", model, "--concurrency", concurrency, *(("--lease", "6ms") if model == "lease-lock" else ()), *(("--refusals",) if turn % 3 else ()))
        path = write(tmp_path / "a.json", drawn(random, model, 0.5, concurrency))
        assert picklock("convert", path, "--format", "jepsen-json", *options, "--to", "knossos", "--out", tmp_path / "b.edn").status == 0
        one, other = (json.loads(picklock("check", each, "--format", form, *options, "--json", "-").out)["results"][0]
                      for each, form in ((path, "jepsen-json"), (tmp_path / "b.edn", "jepsen-edn")))
        assert one == other, (path.read_text(), options)
        seen.add((one["verdict"], "may go on for process" in (one["trouble"] or "")))
    assert seen == {("violated", False), ("unknown", False), ("unknown", True)}, seen


def test_a_process_without_an_answer_is_retired(picklock, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("\n".join(json.dumps({"type": kind, "f": "lock", "process": process, "time": time * 1000})
                              for time, (kind, process) in enumerate([("invoke", 0), ("info", 0), ("invoke", 7), ("ok", 7)])))
    out = picklock("convert", path, "--format", "jepsen-json", "--to", "knossos").out
    assert re.findall(r":process (\d+), :type :(\w+)", out) == [("0", "invoke"), ("0", "info"), ("7", "invoke"), ("7", "ok")]


def test_a_client_of_ours_goes_on_as_jepsens_thread_does(picklock, tmp_path):
    """What had no answer ends in :info, also where the client was not told so; then comes its number plus the number of clients."""
    calls = [(0, "call", 1, None), (1, "call", 1, None), (1, "return", 1, "failed"), (0, "call", 2, None), (0, "return", 2, "refused"), (1, "call", 2, None)]
    path = tmp_path / "a.jsonl"
    path.write_text(head(names=["A", "B"]) + "".join(event(number, number, kind, client=client, attempt=attempt, **({"result": result} if result else {}))
                                                     for number, (client, kind, attempt, result) in enumerate(calls)) + '{"end": 6}\n')
    out = picklock("convert", path, "--to", "knossos", "--out", tmp_path / "a.edn")
    assert out.status == 0, out
    edn = [read_edn(line) for line in (tmp_path / "a.edn").read_text().splitlines()]
    assert [(one["process"], one["type"]) for one in edn] == [(0, "invoke"), (1, "invoke"), (1, "info"), (0, "info"), (2, "invoke"), (2, "fail"), (3, "invoke"),
                                                              (3, "info")]
    assert [one["index"] for one in edn] == list(range(8)) and edn[3]["time"] == 3000
    for concurrency, status in (("2", 2), ("1", 64)):
        assert picklock("check", tmp_path / "a.edn", "--format", "jepsen-edn", "--refusals", "--concurrency", concurrency).status == status


def lock_of(lease):
    """The lock that reports/README.md writes down for Porcupine, in Python: the state after that operation, or None."""
    def step(state, op):
        owner, renewal = state
        mine = owner is not None and op["attempt"] in (owner, None)
        if op["op"] == "expire":
            return (None, 0) if mine and renewal == op["renewal"] else state
        if op["op"] == "acquire":
            if owner is None:
                return None if op["result"] == "refused" else (op["attempt"], 0)
            return None if op["result"] == "granted" else state
        if not mine:
            return None if op["result"] in ("released", "done") else state
        if op["result"] == "not-mine":
            return None
        return (None, 0) if op["op"] == "release" else (owner, max(renewal, op["renewal"]))
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


def test_the_order_of_options_says_nothing(picklock):
    """The lease is the same, in front of the other numbers and behind them; without one there is none."""
    pairs = [("--lease", "300ms"), ("--concurrency", "2"), ("--model", "lease-lock")]
    outs = {picklock("convert", SEEDS / "overrun.edn", "--format", "jepsen-edn", *sum(order, ()), "--to", "porcupine").out for order in permutations(pairs)}
    assert len(outs) == 1 and '"lease": 300000000' in (out := outs.pop()) and '"op": "expire"' in out
    out = picklock("convert", SEEDS / "overrun.edn", "--format", "jepsen-edn", "--concurrency", "2", "--to", "porcupine").out
    assert '"lease": 0' in out and '"op": "expire"' not in out


@pytest.mark.parametrize("lease, is_one", [("300ms", True), ("600ms", False)])
def test_porcupine_comes_to_the_same(picklock, lease, is_one):
    options = ("--format", "jepsen-edn", "--model", "lease-lock", "--lease", lease)
    document = json.loads(picklock("convert", SEEDS / "overrun.edn", *options, "--to", "porcupine").out)
    assert linearizable(document) == is_one
    expiries = [op for op in document["operations"] if op["op"] == "expire"]
    assert len(expiries) == 2 and all(op["return"] is None for op in expiries)


@pytest.mark.parametrize("answer, is_one", [("done", False), ("failed", True)])
def test_a_renewal_without_an_answer_is_not_the_next_one(picklock, tmp_path, answer, is_one):
    """The lease that the second one gave anew does not end with that of the first."""
    told = [(0, 0, "acquire", "granted"), (0, 2, "extend", "failed"), (0, 5000, "extend", answer), (1, 12500, "acquire", "granted")]
    lines = [event(0, time + at, kind, client=client, op=op, **({"result": result} if at else {}))
             for client, time, op, result in told for at, kind in enumerate(("call", "return"))]
    path = tmp_path / "a.jsonl"
    path.write_text(head(names=["A", "B"], lease_us=10000) + "".join(re.sub('"i": ?0', f'"i": {number}', line) for number, line in enumerate(lines))
                    + f'{{"end": {len(lines)}}}\n')
    document = json.loads(picklock("convert", path, "--to", "porcupine").out)
    assert linearizable(document) == is_one, document
    assert picklock("check", path).status == (2 if is_one else 1)


@pytest.mark.parametrize("answer", ["granted", "refused"])
def test_a_client_may_ask_for_two_locks_at_once(picklock, tmp_path, answer):
    """What it is told at the one is not lost when it asks at the other: that nobody had the lock contradicts "refused"."""
    told = [(1, 1, "call", None), (0, 2, "call", None), (0, 2, "return", "granted"), (1, 1, "return", answer), (1, 1, "call", None)]
    lines = [event(number, number, kind, client=0, lock=lock, attempt=attempt, op="acquire" if number < 4 else "release", **({"result": result} if result else {}))
             for number, (lock, attempt, kind, result) in enumerate(told)]
    path, edn = tmp_path / "a.jsonl", tmp_path / "a.edn"
    path.write_text(head(names=["A", "B"], locks=2) + "".join(lines) + '{"end": 5}\n')
    document = json.loads(picklock("convert", path, "--to", "porcupine").out)
    assert [(one["lock"], one["op"], one["result"]) for one in document["operations"] if one["op"] != "expire"] == [
        (0, "acquire", "granted"), (1, "acquire", answer), (1, "release", None)]
    for lock in 0, 1:
        alone = {**document, "operations": [one for one in document["operations"] if one["lock"] == lock]}
        assert linearizable(alone) == (lock == 0 or answer == "granted")
    assert picklock("convert", path, "--to", "knossos", "--out", edn).status == 0
    assert [(one["process"], one["type"]) for one in map(read_edn, edn.read_text().splitlines())] == [
        (2, "invoke"), (0, "invoke"), (0, "ok"), (2, "ok" if answer == "granted" else "fail"), (2, "invoke"), (2, "info")]
    for words in ((path,), (edn, "--format", "jepsen-edn", "--model", "owner-mutex", "--refusals", "--concurrency", "4")):
        assert picklock("check", *words).status == (2 if answer == "granted" else 1)
    names = [each["name"] for each in json.loads(picklock("convert", path, "--to", "perfetto").out)["traceEvents"]]
    assert names.count("holds") == (2 if answer == "granted" else 1) and "release: no answer" in names


def in_us(time):
    """Below a microsecond there is only the order of the lines."""
    return time // 1000 * 1000


def explained_in_time(document):
    """The same, where a lease counts from the moment of the grant or renewal, not from its call: each operation as early as it can be."""
    operations, lease = document["operations"], document["lease"]
    step = lock_of(lease)
    ends = [float("inf") if op["return"] is None else op["return"] for op in operations]
    seen, stack = set(), [(frozenset(range(len(operations))), (None, 0), 0, 0)]
    while stack:
        left, state, now, over = stack.pop()
        if all(ends[i] == float("inf") for i in left):
            return True
        for i in left:
            op, new = operations[i], step(state, operations[i])
            time = max(now, op["call"], over if op["op"] == "expire" and state[0] == op["attempt"] else 0)
            if new is None or time > min(ends[k] for k in left):
                continue
            begins = new[0] is not None and new != state
            known = (left - {i}, new, time, in_us(time) + lease if begins else over)
            if known not in seen:
                seen.add(known)
                stack.append(known)
    return False


def has_late_answer(document):
    """A grant or a renewal told a lease or more after its call counts as one without an answer, and such a "released" is doubted (CHECKS.md)."""
    asked = {op["attempt"]: op["call"] for op in document["operations"] if op["op"] == "acquire"}
    begun = {"acquire": lambda op: op["call"], "extend": lambda op: op["call"], "release": lambda op: asked.get(op["attempt"], op["call"])}
    return any(op["return"] is not None and in_us(op["return"]) - in_us(begun[op["op"]](op)) >= document["lease"] for op in document["operations"] if op["op"] in begun)


def read_edn(line):
    """A map of keywords, as the format of Clojure has it, to keywords, whole numbers, nil, or a vector of these."""
    tokens = re.findall(r"[{}\[\]]|:[a-z-]+|-?\d+|nil", line)
    assert re.sub(r"[\s,]", "", line) == "".join(tokens), line
    stack = [[]]
    for token in tokens:
        if token in "{[":
            stack.append([])
        elif token in "}]":
            made = stack.pop()
            stack[-1].append(dict(zip(made[::2], made[1::2], strict=True)) if token == "}" else made)
        else:
            stack[-1].append(None if token == "nil" else int(token) if token[0] not in ":" else token[1:])
    (made,), = stack
    return made


def test_random_histories_come_to_the_same_in_each_format(picklock, tmp_path):
    """Judged from the JSON for Porcupine by trying every order, and by picklock; for Knossos there stand the operations that there were."""
    random, seen = Random(20261123), {}
    for turn in range(int(os.environ.get("PICKLOCK_RUNS", "24"))):
        ops, lease = drawn(random), random.randint(2, 20)
        path = write(tmp_path / "a.json", ops)
        options = ("--format", "jepsen-json", *(("--model", "lease-lock", "--lease", f"{lease}ms") if turn % 3 else ("--model", "owner-mutex")),
                   *(("--refusals",) if turn % 2 else ()))
        document = json.loads(picklock("convert", path, *options, "--to", "porcupine").out)
        found = json.loads(picklock("check", path, *options, "--json", "-").out)["results"][0]["properties"]
        broken = any(each["verdict"] == "violated" and each["cause"] in ("bug-or-loss", "untrue-answer") for each in found)
        explained = explained_in_time(document)
        assert not explained or linearizable(document), "a lease that counts from its call can end no later"
        assert not (broken and explained), (path.read_text(), options)
        assert broken or explained or (turn % 3 and has_late_answer(document)), (path.read_text(), options)
        seen[broken, bool(turn % 3)] = seen.get((broken, bool(turn % 3)), 0) + 1
        if turn % 3 == 0:
            edn = [read_edn(line) for line in picklock("convert", path, *options, "--to", "knossos").out.splitlines()]
            assert [(one["f"], one["time"], one["type"]) for one in edn if one["type"] in ("invoke", "ok")] == [
                (one["f"], one["time"], one["type"]) for one in ops if one["type"] in ("invoke", "ok")]
            assert [one["index"] for one in edn] == list(range(len(edn)))
    assert len(seen) == 4, seen  # right ones and wrong ones of either model


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


def test_an_acquire_that_did_not_happen_ends_nothing(picklock, tmp_path):
    """The release behind it is that of the attempt that was granted, and the hold goes on until then."""
    path = write(tmp_path / "a.json", [operation(kind, f, 0, at) for at, (kind, f) in enumerate(
        [("invoke", "lock"), ("ok", "lock"), ("invoke", "lock"), ("fail", "lock"), ("invoke", "unlock"), ("ok", "unlock")])])
    document = json.loads(picklock("convert", path, "--format", "jepsen-json", "--model", "owner-mutex", "--to", "porcupine").out)
    [acquire, release] = document["operations"]
    assert (acquire["op"], release["op"]) == ("acquire", "release") and acquire["attempt"] == release["attempt"] and linearizable(document)
    trace = json.loads(picklock("convert", path, "--format", "jepsen-json", "--to", "perfetto").out)
    assert [(each["ts"], each["dur"]) for each in trace["traceEvents"] if each["name"] == "holds"] == [(1000, 3000)]


MUTEX = ("--format", "jepsen-json", "--model", "mutex", "--refusals")


@pytest.mark.parametrize("words, is_one", [
    ("0 invoke lock, 0 ok lock, 1 invoke unlock, 1 fail unlock", True),  # it is not the own one, and whose it is says nobody
    ("0 invoke lock, 0 ok lock, 0 invoke unlock, 0 fail unlock", False),
    ("0 invoke lock, 0 ok lock, 1 invoke unlock, 1 ok unlock, 2 invoke lock, 2 ok lock", True),
    ("0 invoke lock, 0 ok lock, 1 invoke unlock, 1 ok unlock, 1 invoke unlock, 1 ok unlock", False),
    ("0 invoke lock, 0 ok lock, 1 invoke unlock, 1 ok unlock, 2 invoke lock, 2 ok lock, 0 invoke unlock, 0 fail unlock", True),
    ("0 invoke lock, 1 invoke unlock, 0 ok lock, 1 ok unlock, 2 invoke lock, 2 ok lock", True),
    ("0 invoke lock, 0 ok lock, 0 invoke lock, 1 invoke unlock, 1 fail unlock, 0 ok lock", False)])  # granted twice
def test_who_releases_what_anybody_may_release(picklock, tmp_path, words, is_one):
    """Each operation is told of the process that did it, and of a lock that has no owner."""
    ops = [operation(kind, f, int(process), at) for at, (process, kind, f) in enumerate(each.split() for each in words.split(", "))]
    path, edn = write(tmp_path / "a.json", ops), tmp_path / "a.edn"
    assert picklock("convert", path, *MUTEX, "--to", "knossos", "--out", edn).status == 0
    names = {"lock": "acquire", "unlock": "release"}
    assert [(one["process"], one["type"], one["f"]) for one in map(read_edn, edn.read_text().splitlines())] == [
        (one["process"], one["type"], names[one["f"]]) for one in ops]
    for source, words in ((path, MUTEX), (edn, ("--format", "jepsen-edn", *MUTEX[2:]))):
        assert picklock("check", source, *words).status == (2 if is_one else 1)
    assert linearizable(json.loads(picklock("convert", path, *MUTEX, "--to", "porcupine").out)) == is_one


@pytest.mark.parametrize("answer", ["ok", "fail"])
def test_the_lines_of_one_microsecond_keep_their_order(picklock, tmp_path, answer):
    """But of a refusal: what ends in the microsecond in which it was asked for may have come first."""
    first = [(0, "invoke", "lock"), (0, "ok", "lock")]
    released, asked = [(0, "invoke", "unlock"), (0, "ok", "unlock")], [(1, "invoke", "lock"), (1, answer, "lock")]
    options = ("--format", "jepsen-json", "--model", "owner-mutex", "--refusals")
    for words, is_one in ((first + released + asked, True), (first + asked + released, answer == "fail")):
        path = write(tmp_path / "a.json", [operation(kind, f, process, 5) for process, kind, f in words])
        assert picklock("check", path, *options).status == (2 if is_one else 1)
        assert linearizable(json.loads(picklock("convert", path, *options, "--to", "porcupine").out)) == is_one


def test_who_is_released_by_another_holds_no_more(picklock, tmp_path):
    path = write(tmp_path / "a.json", [operation(kind, f, process, at) for at, (process, kind, f) in enumerate(
        [(0, "invoke", "lock"), (0, "ok", "lock"), (1, "invoke", "unlock"), (1, "ok", "unlock"), (0, "invoke", "unlock"), (0, "fail", "unlock")])])
    trace = json.loads(picklock("convert", path, *MUTEX, "--to", "perfetto").out)
    assert [(each["tid"], each["ts"], each["dur"]) for each in trace["traceEvents"] if each["name"] == "holds"] == [(1, 1000, 1000)]


@pytest.mark.parametrize("released, is_right", [(1, True), (2, False)])
def test_a_release_is_of_the_attempt_that_the_history_names(picklock, tmp_path, released, is_right):
    """Not of the one that was begun last, and was refused."""
    head = {"history": "picklock.history/2", "scheme": "", "program": "a lock", "promises": ["token"], "scenario": "by hand", "world": "redis",
            "server_version": "", "clients": 1, "servers": 1, "locks": 1, "lease_us": 0, "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": ["A"]}
    said = [(1, "acquire", "granted"), (2, "acquire", "refused"), (released, "release", "released")]
    events = [{"kind": kind, "client": 0, "attempt": attempt, "op": op, **({"result": result} if kind == "return" else {})}
              for attempt, op, result in said for kind in ("call", "return")]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, [head, *({"i": at, "t": 10 * at, **event} for at, event in enumerate(events)), {"end": len(events)}])) + "\n")
    document = json.loads(picklock("convert", path, "--to", "porcupine").out)
    assert [each["attempt"] for each in document["operations"]] == [1, 2, released] and linearizable(document) == is_right


@pytest.mark.parametrize("name", ["script-deletes-anothers", "late-fence-token-fenced-late-incr", "server-clock-jump-set-nx-ex-del"])
def test_a_trace_keeps_the_rules_of_its_format(picklock, name):
    """Chrome's: each event has its phase, process and thread; slices of a thread lie within each other or apart."""
    path = next((ROOT / "sim" / "test").glob(f"history?/{name}.jsonl"))
    rows = {}
    for event in json.loads(picklock("convert", path, "--to", "perfetto").out)["traceEvents"]:
        assert event["ph"] in ("M", "X", "i") and type(event["pid"]) is type(event["tid"]) is int and event["name"], event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            continue
        assert type(event["ts"]) is int and event["ts"] >= 0, event
        if event["ph"] == "i":
            assert event["s"] in ("g", "p", "t"), event
        else:
            assert type(event["dur"]) is int and event["dur"] >= 0, event
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert rows
    for slices in rows.values():
        for one in slices:
            assert all(other[1] <= one[0] or one[1] <= other[0] or one[0] <= other[0] <= other[1] <= one[1] or other[0] <= one[0] <= one[1] <= other[1]
                       for other in slices), slices


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


def test_what_was_not_supported_is_no_refusal(picklock, tmp_path):
    """A release that the server does not know is a failure, and says nothing of who has the lock: also where failures are answers."""
    picklock("run", "--on", "sim", "--scheme", "set-ifeq-delex", ROOT / "scenarios" / "hand-over.yaml", "--out", tmp_path / "out")
    [history] = (tmp_path / "out" / "latest" / "histories").iterdir()
    text = picklock("convert", history, "--to", "knossos").out
    assert ":f :release, :value nil, :error :unsupported}" in text, text
    (tmp_path / "a.edn").write_text(text)
    (tmp_path / "b.edn").write_text(text.replace(", :error :unsupported", ""))
    judged = [picklock("check", tmp_path / name, "--format", "jepsen-edn", "--model", "lease-lock", "--lease", "300ms", "--refusals").status
              for name in ("a.edn", "b.edn")]
    assert judged == [2, 1], "without the word it is an answer that cannot be so"


READS_EDN = """
(require '[clojure.edn :as edn] '[clojure.java.io :as io])
(doseq [path *command-line-args*]
  (with-open [in (java.io.PushbackReader. (io/reader path))]
    (let [ops (doall (take-while some? (repeatedly #(edn/read {:eof nil} in))))]
      (println (pr-str (map (juxt :index :time :process :type :f :value :error) ops))))))
"""


@pytest.mark.long("starts a JVM")
def test_clojure_reads_what_is_written_for_knossos(picklock, tmp_path):
    """With the reader that Knossos and Jepsen read with; it finds in each line what our own reader finds."""
    assert shutil.which("clojure"), "harness/setup.sh edn installs it"
    paths, random = [], Random(7)
    for turn in range(20):
        path = write(tmp_path / f"{turn}.json", drawn(random, strangers=0.3))
        paths.append(tmp_path / f"{turn}.edn")
        assert picklock("convert", path, "--format", "jepsen-json", "--to", "knossos", "--out", paths[-1]).status == 0
    (tmp_path / "read.clj").write_text(READS_EDN)
    ran = subprocess.run(["clojure", tmp_path / "read.clj", *paths], capture_output=True, text=True)
    assert ran.returncode == 0, ran
    for path, line in zip(paths, ran.stdout.splitlines(), strict=True):
        ours = [read_edn(each) for each in path.read_text().splitlines()]
        wanted = [[f":{value}" if key in ("type", "f", "error") and value else "nil" if value is None else str(value)
                   for key in ("index", "time", "process", "type", "f", "value", "error") for value in [one.get(key)]] for one in ours]
        assert line == "(" + " ".join("[" + " ".join(one) + "]" for one in wanted) + ")" and len(ours) > 6
