"""Histories that are no good, each kind in each format: refused with line and column, or read by a rule of sim/docs/HISTORIES.md."""

import json
import os
import resource

import pytest

from conftest import PICKLOCK, ROOT, run

HEAD = json.dumps({"history": "picklock.history/2", "scheme": "", "scenario": "x", "world": "redis", "server_version": "", "clients": 2, "servers": 1, "locks": 1,
                   "lease_us": 300000, "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": ["A", "B"]}) + "\n"


def event(i, t, kind, **more):
    return json.dumps({"i": i, "t": t, "kind": kind, "client": 0, "attempt": 1, "op": "acquire", **more}) + "\n"


CALL, RETURN, END = event(0, 1, "call"), event(1, 2, "return", result="granted"), '{"end": 2}\n'
EDN_CALL, EDN_OK = "{:type :invoke :f :acquire :process 0 :time 5000}\n", "{:type :ok :f :acquire :process 0 :time 6000}\n"
JSON_CALL, JSON_OK = ('{"type": "%s", "f": "acquire", "process": 0, "time": %d}\n' % each for each in (("invoke", 5000), ("ok", 6000)))

# place and words of the refusal, or None: it is read, and nothing is concluded from it.
CASES = {
    "picklock": {
        "whole": (HEAD + CALL + RETURN + END, None),
        "truncated": (HEAD + CALL + RETURN[:30], ("3:31", "cut off")),
        "interleaved": (HEAD + CALL + HEAD + RETURN + END, ("3:", "no field 'clients'")),
        "out of order": (HEAD + RETURN + CALL + END, ("2:2", "event 1 where 0 should follow")),
        "duplicate ids": (HEAD + CALL + RETURN.replace('"i": 1', '"i": 0') + END, ("3:2", "event 0 where 1 should follow")),
        "returns without calls": (HEAD + RETURN.replace('"i": 1', '"i": 0') + '{"end": 1}\n', None),
        "negative times": (HEAD + event(0, -1, "call") + END, ("2:10", "'t' is -1")),
        "time going back": (HEAD + CALL + event(1, 0, "return", result="granted") + END, ("3:10", "time runs forwards")),
        "unknown fields": (HEAD + event(0, 1, "call", note="mine") + RETURN + END, None),
        "a key twice": (HEAD + CALL.replace('"t": 1', '"t": 1, "t": 1') + RETURN + END, ("2:", "duplicate")),
        "no UTF-8": ((HEAD + CALL + RETURN + END).encode().replace(b'"granted"', b'"gr\xffnted"'), ("3:", "0xff")),
        "tags": (HEAD + "#inst " + CALL + RETURN + END, ("2:", "not JSON")),
        "deep nesting": (HEAD + CALL[:-2] + ', "x": ' + "[" * 100000 + "\n", ("2:65537", "longer than")),
    },
    "jepsen-json": {
        "whole": (JSON_CALL + JSON_OK, None),
        "truncated": (JSON_CALL + JSON_OK[:20], ("2:21", "cut off")),
        "interleaved": (JSON_CALL[:20] + JSON_OK + JSON_CALL[20:], ("1:", "")),
        "out of order": (JSON_OK + JSON_CALL, ("1:1", "has not begun")),
        "duplicate ids": (JSON_CALL + JSON_CALL, ("2:1", "within another one")),
        "returns without calls": (JSON_OK, ("1:1", "has not begun")),
        "negative times": (JSON_CALL.replace("5000", "-5"), ("1:58", "':time' is -5 ns")),
        "time going back": (JSON_CALL + JSON_OK.replace("6000", "1000"), ("2:54", "time runs forwards")),
        "unknown fields": (JSON_CALL.replace("}", ', "note": "mine"}') + JSON_OK, None),
        "a key twice": (JSON_CALL.replace("}", ', "f": "release"}') + JSON_OK, ("1:64", "'f' twice")),
        "no UTF-8": (JSON_CALL.encode().replace(b"acquire", b"acq\xffire"), ("1:25", "no ':f'")),
        "tags": ("#inst " + JSON_CALL + JSON_OK, ("1:1", "no JSON")),
        "deep nesting": (JSON_CALL.replace("}", ', "x": ' + "[" * 100000), ("1:100", "nested deeper")),
    },
    "jepsen-edn": {
        "whole": (EDN_CALL + EDN_OK, None),
        "truncated": (EDN_CALL + EDN_OK[:20], ("2:21", "cut off")),
        "interleaved": (EDN_CALL[:20] + EDN_OK + EDN_CALL[20:], ("1:1", "no ':f'")),
        "out of order": (EDN_OK + EDN_CALL, ("1:1", "has not begun")),
        "duplicate ids": (EDN_CALL + EDN_CALL, ("2:1", "within another one")),
        "returns without calls": (EDN_OK, ("1:1", "has not begun")),
        "negative times": (EDN_CALL.replace("5000", "-5"), ("1:45", "':time' is -5 ns")),
        "time going back": (EDN_CALL + EDN_OK.replace("6000", "1000"), ("2:41", "time runs forwards")),
        "unknown fields": (EDN_CALL.replace("}", " :note #{1 2} :c \\newline}") + EDN_OK, None),
        "a key twice": (EDN_CALL.replace("}", " :f :release}") + EDN_OK, ("1:50", "'f' twice")),
        "no UTF-8": (EDN_CALL.encode().replace(b"acquire", b"acq\xffire"), ("1:19", "no ':f'")),
        "tags": ("#jepsen.history.Op" + EDN_CALL.replace("}", ' :at #inst "2026"}') + "#jepsen.history.Op " + EDN_OK, None),
        "deep nesting": (EDN_CALL.replace("}", " :x " + "[" * 100000), ("1:84", "nested deeper")),
    },
}


EDN_VALUES = ["1/2", "-3/4", "7N", "12345678901234567890123", "1.5M", "1e400", "##NaN", "##-Inf", "\\newline", "\\(", "\\u00e9", "a.b/c", ":a/b", "#inst \"2026\"",
              "#{1/2 :x}", "[1/2 (3 {4/5 nil})]"]


@pytest.mark.parametrize("value", EDN_VALUES)
def test_whatever_edn_writes_may_stand_where_nobody_reads_it(picklock, tmp_path, value):
    path = tmp_path / "a.edn"
    path.write_text(EDN_CALL.replace("}", f" :mine {value}}}") + EDN_OK.replace("}", f" :value {{:mine {value}}}}}"))
    ran = picklock("check", path, "--format", "jepsen-edn")
    assert ran.status == 2 and "violated" not in ran.out and not ran.err, ran


LINES = {"picklock": (HEAD, event(0, 1, "call", note="@"), RETURN + END), "jepsen-json": ("", JSON_CALL.replace("}", ', "note": "@"}'), JSON_OK),
         "jepsen-edn": ("", EDN_CALL.replace("}", ' :note "@"}'), EDN_OK)}


@pytest.mark.parametrize("form", LINES)
def test_a_line_of_64_kib_is_the_longest(picklock, tmp_path, form):
    before, line, behind = LINES[form]
    path = tmp_path / "a"
    for size, status in ((65536, 2), (65537, 64)):
        path.write_text(before + line.replace("@", "x" * (size - len(line) + 2)) + behind)
        assert max(map(len, path.read_text().splitlines())) == size
        ran = picklock("check", path, "--format", form)
        assert ran.status == status and ("longer than 65536 bytes" in ran.err) == (status == 64), ran


def test_every_format_has_every_kind():
    kinds = [list(of) for of in CASES.values()]
    assert kinds[0] == kinds[1] == kinds[2]
    assert set(CASES) == {row.split('"')[1] for row in (ROOT / "sim" / "history" / "sources.def").read_text().splitlines() if row.startswith("SOURCE(")}


@pytest.mark.parametrize("form, kind", [(form, kind) for form, of in CASES.items() for kind in of])
def test_what_is_no_history(picklock, tmp_path, form, kind):
    text, refusal = CASES[form][kind]
    path = tmp_path / "history"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = picklock("check", path, "--format", form)
    if refusal is None:
        assert ran.status == 2 and "violated" not in ran.out, ran
    else:
        place, words = refusal
        assert ran.status == 64 and f"{path}:{place}" in ran.err and words in ran.err and not ran.out, ran


@pytest.mark.parametrize("form, text", [("picklock", HEAD + '{"i": "'), ("picklock", '{"history": "'), ("jepsen-json", '{"type": "'), ("jepsen-edn", '{:type "'),
                                        ("jepsen-edn", "{:type :x"), ("jepsen-edn", "[")])
def test_a_line_of_a_gigabyte_takes_no_memory(tmp_path, form, text):
    """Refused where it becomes too long, not when it has been read."""
    path = tmp_path / "history"
    path.write_text(text)
    os.truncate(path, 1 << 30)
    is_sanitised = b"__asan_init" in PICKLOCK.read_bytes() or b"__tsan_init" in PICKLOCK.read_bytes()
    ran = run("check", path, "--format", form, preexec_fn=None if is_sanitised else lambda: resource.setrlimit(resource.RLIMIT_AS, (100_000_000, 100_000_000)))
    assert ran.status == 64 and f"{path}:{len(text.splitlines())}:" in ran.err, ran


@pytest.mark.parametrize("value, words", [('["%s", null]' % ("k" * 64), "at most 63 bytes"), ("[[1, 2], null]", "a text or a whole number"),
                                          ('{"key": 1.5}', "a text or a whole number"), ('["%s", null]' % ("k" * 63), None), ("[7, null]", None), ("[null, 3]", None)])
def test_two_keys_are_never_taken_for_one(picklock, tmp_path, value, words):
    path = tmp_path / "a.json"
    path.write_text(JSON_CALL.replace("}", f', "value": {value}}}') + JSON_OK.replace("}", f', "value": {value}}}'))
    ran = picklock("check", path, "--format", "jepsen-json")
    assert (ran.status, words is None or words in ran.err) == (64 if words else 2, True), ran


# --- a file for another command ---

READERS = {"run": ["run", "--on", "sim"], "replay": ["replay", "--on", "sim"], "check": ["check"], "convert": ["convert", "--to", "perfetto"]}
# of each kind of file: who reads it, and what all others say
KINDS = {"schedule": (["replay"], "this is a recorded schedule; `picklock replay FILE` plays it"),
         "scenario": (["run"], "this is a scenario; `picklock run FILE` plays it"),
         "history": (["check", "convert"], "this is a history; `picklock check FILE` judges it"),
         "results": ([], "this is what `picklock report RUN-DIR` reads: the results in a run folder")}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A file of each kind, as picklock writes them."""
    out = tmp_path_factory.mktemp("kinds")
    scenario = ROOT / "scenarios" / "expired-lease-double-delete.yaml"
    run("run", "--on", "sim", "--scheme", "set-nx-ex-del", scenario, "--out", out)
    [schedule], [history] = ((out / "latest" / folder).glob("*") for folder in ("schedules", "histories"))
    return {"scenario": scenario, "schedule": schedule, "history": history, "results": out / "latest" / "results.json"}


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_who_gives_a_file_to_the_wrong_command_is_told_what_it_is(picklock, kinds, kind, command):
    readers, words = KINDS[kind]
    ran = picklock(*READERS[command], kinds[kind])
    if command in readers:
        assert ran.status in (0, 1) and "this is" not in ran.err, ran
    else:
        assert ran.status == 64 and ran.err.endswith(f"\n{words}\n"), ran


def test_every_scenario_is_known_for_one(picklock):
    for path in set((ROOT / "scenarios").glob("*.yaml")) - {ROOT / "scenarios" / "matrix.yaml"}:
        assert KINDS["scenario"][1] in picklock("check", path).err, path


@pytest.mark.parametrize("command", READERS)
def test_what_a_file_is_is_said_only_where_it_is_sure(picklock, tmp_path, kinds, command):
    """Prose, a text about a file, other JSON and YAML, half a scenario; nor of a file for the right command that is bad."""
    scenario, schedule = kinds["scenario"].read_text(), kinds["schedule"].read_text()
    texts = ["", "no such thing\n", "# A scenario\n\nAs this:\n" + scenario, " " + schedule, "of a run:\n" + schedule, '{"schema": "other/1"}\n',
             '{"of": "picklock.history/2", "schema": "picklock.results/2"}\n', "name: x\non: push\njobs: {}\n", "name: x\nsteps: []\n", "on: push\n" + scenario]
    bad = {"run": scenario + "more: x\n", "replay": schedule + "more\n", "check": HEAD + "x", "convert": "{}"}[command]
    for text in [*texts, bad]:
        path = tmp_path / "file"
        path.write_text(text)
        ran = picklock(*READERS[command], path)
        assert ran.status == 64 and ran.err and "this is" not in ran.err, (text, ran)
    gone = picklock(*READERS[command], tmp_path / "gone" / "file")
    assert gone.status == 64 and "this is" not in gone.err, gone


# --- a history of ours that is not whole ---

def overrun_and_more(tmp_path):
    """The lines of a history in which a holder outlives its lease, and then deletes another's lock."""
    out = tmp_path / "out"
    run("run", "--on", "sim", "--scheme", "set-nx-ex-del", ROOT / "scenarios" / "expired-lease-double-delete.yaml", "--out", out)
    [history] = (out / "latest" / "histories").glob("*set-nx-ex-del*")
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    return lines[0], lines[1:-1]


def judged(picklock, tmp_path, head, events):
    for i, event in enumerate(events):
        event["i"] = i
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [head, *events, {"end": len(events)}]))
    return picklock("check", path)


def test_what_was_not_seen_is_not_made_good_by_what_is_nobodys_fault(picklock, tmp_path):
    """The DEL's execution is missing: what it did nobody saw. That the holder overran his lease is no answer to that."""
    head, events = overrun_and_more(tmp_path)
    last = max(i for i, event in enumerate(events) if event.get("client") == 0)
    events = events[:last + 1]  # nobody else gets the lock then, which would show
    assert judged(picklock, tmp_path, head, [dict(event) for event in events]).status == 1
    [gone] = [event for event in events if event["kind"] == "execute" and event["client"] == 0 and event.get("verb") == "DEL"]
    ran = judged(picklock, tmp_path, head, [event for event in events if event is not gone])
    assert ran.status == 2 and "overrun" in ran.out and "nobody saw the server execute" in ran.out, ran


@pytest.mark.parametrize("op", ["acquire", "release"])
def test_a_return_without_its_call_leaves_it_open(picklock, tmp_path, op):
    head, events = overrun_and_more(tmp_path)
    call = next(event for event in events if event["kind"] == "call" and event["op"] == op and event["client"] == 0)
    ran = judged(picklock, tmp_path, head, [event for event in events if event is not call])
    assert ran.status == 2 and "its call is not in the history" in " ".join(ran.out.split()), ran
    slipped = [dict(event, attempt=2) if event is call else event for event in events]
    ran = judged(picklock, tmp_path, head, slipped)
    assert ran.status != 0, ran


def test_a_lock_of_ours_has_a_lease(picklock, tmp_path):
    head, events = overrun_and_more(tmp_path)
    ran = judged(picklock, tmp_path, dict(head, lease_us=0), events)
    assert ran.status == 64 and ":1:1: 'lease_us' is 0, and every lock of 'set-nx-ex-del' has a lease" in ran.err, ran


@pytest.mark.parametrize("head, words", [({"world": "redis"}, "somebody took the key away past this history"), ({"world": "redis", "closed": True}, "no server can have answered so"),
                                         ({"world": "redis", "closed": False}, "somebody took"), ({}, "no server can have answered so")])
def test_a_reply_that_no_server_can_have_given(picklock, tmp_path, head, words):
    """The DEL of who holds the lock finds nothing. A stranger can have deleted it, or the answer is not so: nothing holds."""
    whole, events = overrun_and_more(tmp_path)
    last = next(i for i, event in enumerate(events) if event["kind"] == "return" and event["op"] == "release")
    events = [event for event in events[:last + 1] if event.get("client") == 0 or event["kind"] == "time"]
    early = [dict(event, t=min(event["t"], 1000)) for event in events if event["kind"] != "time"]
    early = [{key: value for key, value in event.items() if key != "says" or event.get("verb") != "DEL"} for event in early]
    taken = [event for event in early if event["t"] < 1000 and "fault" not in event]

    def contender(t, attempt, reply, result):
        answers = {"reply": reply, "result": result}
        return [dict(event, client=1, t=t, attempt=attempt) | {key: value for key, value in answers.items() if key in event} for event in taken]

    held = next(i for i, event in enumerate(early) if event["t"] == 1000)
    ran = judged(picklock, tmp_path, whole | head, early[:held] + contender(500, 1, "nil", "refused") + early[held:] + contender(2000, 2, "ok", "granted"))
    assert ran.status == 2 and words in " ".join(ran.out.split()), ran


def test_closed_is_true_or_false(picklock, tmp_path):
    head, events = overrun_and_more(tmp_path)
    ran = judged(picklock, tmp_path, dict(head, closed="yes"), events)
    assert ran.status == 64 and ":1:" in ran.err and "'closed' wants true or false" in ran.err, ran
