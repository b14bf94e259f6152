"""`picklock check`: a history is judged as its run was, and one that lacks what the servers did says less, and nothing else."""

import json
import re

import pytest
from conftest import ROOT, run, server
from test_bad_places import event, head


def test_check_judges_a_history_like_the_run_did(tmp_path):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    folder = (tmp_path / "first" / "latest").resolve()
    history = next((folder / "histories").iterdir())
    first = json.loads((folder / "results.json").read_text())["results"][0]
    again = run("check", history, "--json", "-")
    found = [{p["property"]: (p["verdict"], p["cause"], p["count"]) for p in r["properties"]
              if p["verdict"] == "violated"} for r in (first, again.json["results"][0])]
    assert found[0] == found[1] and again.status == 1


def verdicts(result):
    return {p["property"]: (p["verdict"], p["cause"], p["count"]) for p in result["properties"]}


STALLS = ["--no-faults", "--stall-in-release", "100%", "--pause-time", "1ms"]


@pytest.mark.parametrize("scheme, faults", [("set-nx-px-cad", ["--delay", "5%"]), ("setnx-expire-del", ["--delay", "5%"]),
                                            ("redlock", ["--delay", "5%"]), ("set-nx-ex-get-del", STALLS), ("set-nx-px-cad", STALLS),
                                            ("set-ifeq-delex", ["--no-faults"])])
def test_check_judges_a_history_of_stress_like_stress_did(tmp_path, scheme, faults):
    """What the counters say in the end is in it, too: read by nobody. So it does where no fault struck inside a hold, but in a release (of one
    command there is no stall: that is unknown), and where the server does not know a command."""
    ran = run("stress", "--scheme", scheme, "--clients", "20", "--duration", "500ms", "--seed", "3", *faults,
              "--history", "--out", tmp_path / "out", "--json", "-")
    history = next((tmp_path / "out" / "latest" / "histories").resolve().iterdir())
    read = json.loads(history.read_text().splitlines()[-2])
    assert (read["verb"], read["key"]) == ("GET", "counter") and "client" not in read
    again = run("check", history, "--json", "-", "--fail-on", "bug")
    first, second = ran.json["results"][0], again.json["results"][0]
    assert verdicts(second) == verdicts(first)
    assert (second["verdict"], second["unsupported"]) == (first["verdict"], first["unsupported"])
    assert again.status == ran.status, (ran, again)


def test_the_head_of_a_history_of_stress_says_whose_servers_they_are(tmp_path):
    """Of the first run, too, which version they are. Nobody else writes to its own: so what they cannot have answered proves nothing."""
    heads = {}
    with server() as port:
        for name, more in (("own", []), ("another's", ["--redis", f"redis://127.0.0.1:{port}"])):
            run("stress", "--clients", "5", "--duration", "200ms", "--no-faults", "--history", *more, "--out", tmp_path / name)
            histories = list((tmp_path / name / "latest" / "histories").resolve().iterdir())
            heads[name] = [json.loads(path.read_text().splitlines()[0]) for path in histories]
    said = [head["server_version"] for each in heads.values() for head in each]
    assert len(said) == 4 and len(set(said)) == 1 and re.fullmatch(r"[0-9.]+", said[0]), heads
    assert [head.get("closed", False) for head in heads["own"] + heads["another's"]] == [True, True, False, False], heads


def test_a_lock_of_nobody_on_servers_of_its_own_leaves_a_history_of_stress_unknown(tmp_path):
    """Its end is followed by one more attempt, refused though all was given back: on another's server somebody unknown has the lock."""
    run("stress", "--scheme", "set-nx-px-cad", "--clients", "3", "--duration", "200ms", "--no-faults", "--history", "--out", tmp_path)
    history = next((tmp_path / "latest" / "histories").resolve().iterdir())
    top, *lines, _ = map(json.loads, history.read_text().splitlines())
    last = lines[-1]["t"]
    common = {"t": last, "client": 0, "op": "acquire", "attempt": 1 + max(line["attempt"] for line in lines if line.get("client") == 0)}
    command = {"server": 0, "verb": "SET_NX_PX", "key": "lock", "value": 7, "ttl": top["lease_us"]}
    more = [{"kind": "call"}, {"kind": "send", **command}, {"kind": "execute", "from": last, "reply": "nil", **command},
            {"kind": "hear", "reply": "nil", **command}, {"kind": "return", "result": "refused"}]
    for own, added, verdict in ((True, [], "holds"), (False, more, "holds"), (True, more, "unknown")):
        told = [*lines, *({**common, **each, "token": 7} for each in added)]
        judged = tmp_path / "judged.jsonl"
        judged.write_text("".join(json.dumps(each) + "\n" for each in (
            {**top, "closed": own}, *({**each, "i": number} for number, each in enumerate(told)), {"end": len(told)})))
        [row] = run("check", judged, "--json", "-").json["results"]
        (exclusion,) = (p for p in row["properties"] if p["property"] == "lease-exclusion")
        assert exclusion["verdict"] == verdict and (verdict == "holds") == ("no such key was there" not in str(exclusion["witness"])), row


def test_what_a_stress_run_could_not_decide_its_history_does_not_either(tmp_path):
    """A fault that was asked for, and by this seed never comes: the run says so, and the history's end says it to `check`."""
    ran = run("stress", "--scheme", "set-nx-px-cad", "--clients", "3", "--duration", "200ms", "--no-faults", "--drift", "0.0001%",
              "--history", "--out", tmp_path / "out", "--json", "-")
    again = run("check", next((tmp_path / "out" / "latest" / "histories").resolve().iterdir()), "--json", "-")
    assert ran.status == again.status == 2 and verdicts(ran.json["results"][0]) == verdicts(again.json["results"][0]), (ran, again)
    for row in (ran.json["results"][0], again.json["results"][0]):
        (exclusion,) = (p for p in row["properties"] if p["property"] == "lease-exclusion")
        assert exclusion["verdict"] == "unknown" and "no client's clock drifted" in exclusion["witness"][0], exclusion


def test_only_what_is_proved_of_a_history_counts(tmp_path):
    """Its end says for how many events that is so, and why: what was violated by then is, and nothing holds."""
    run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path, "scenarios/expired-lease-double-delete.yaml")
    history = next((tmp_path / "latest" / "histories").resolve().iterdir())
    *lines, end = history.read_text().splitlines()
    events = json.loads(end)["end"]
    for more, status in (({}, 1), ({"incomplete": "why"}, 1), ({"incomplete": "why", "proved": events}, 1),
                         ({"incomplete": "why", "proved": events // 2}, 2), ({"incomplete": "why", "proved": 0}, 2)):
        history.write_text("\n".join([*lines, json.dumps({"end": events, **more})]) + "\n")
        ran = run("check", history, "--json", "-")
        (row,) = ran.json["results"]
        assert ran.status == status and (row["trouble"] == "why") == (status == 2), (more, ran)
        assert {p["verdict"] for p in row["properties"]} - {"unknown", "violated"} == (set() if more else {"holds"}), (more, row)


def test_a_lock_that_is_there_where_no_more_counts_is_no_orphan(tmp_path):
    """Its owner may yet give it back; at the end of a history it has not."""
    lock = {"server": 0, "verb": "SET_NX_PX", "key": "lock", "value": 7, "ttl": 300000}
    lines = head(scheme="set-nx-px-cad") + event(0, 1, "call", token=7) + event(1, 2, "send", **lock) + \
        event(2, 3, "execute", reply="ok", **lock) + event(3, 4, "return", result="failed")
    history = tmp_path / "x.jsonl"
    for more, causes in (({}, {"unreleased"}), ({"incomplete": "why"}, {"unreleased"}), ({"incomplete": "why", "proved": 4}, set())):
        history.write_text(lines + json.dumps({"end": 4, **more}) + "\n")
        (row,) = run("check", history, "--json", "-").json["results"]
        assert {p["cause"] for p in row["properties"] if p["verdict"] == "violated"} == causes, (more, row)


@pytest.mark.parametrize("spoil", [{"verb": "SET"}, {"verb": "INCR"}, {"key": "lock"}])
def test_only_a_read_of_what_the_lock_guards_may_be_nobodys(tmp_path, spoil):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    history = next((tmp_path / "first" / "latest" / "histories").resolve().iterdir())
    head, *events, end = history.read_text().splitlines()
    read = {"i": len(events), "t": json.loads(events[-1])["t"], "kind": "execute", "server": 0, "op": "access",
            "verb": "GET", "key": "counter", "reply": "nil"}
    for more, status in (({}, 1), (spoil, 64)):
        events.append(json.dumps({**read, **more}))
        history.write_text("\n".join([head, *events, json.dumps({"end": len(events)})]) + "\n")
        ran = run("check", history)
        assert ran.status == status, ran
        events.pop()
    assert "wants 'client'" in ran.err


@pytest.mark.parametrize("scheme, side, is_naive",
                         [("set-nx-ex-del", "naive", True), ("set-nx-px-cad", "safe", False), ("my-lock", "", None)])
def test_check_calls_no_scheme_safe_that_is_not(tmp_path, scheme, side, is_naive):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    history = next((tmp_path / "first" / "latest" / "histories").resolve().iterdir())
    history.write_text(history.read_text().replace("set-nx-ex-del", scheme))
    results = tmp_path / "judged" / "results.json"
    results.parent.mkdir()
    ran = run("check", history, "--json", results)
    assert re.match(rf"  {side} +{scheme} ", ran.out.splitlines()[1]), ran
    assert json.loads(results.read_text())["results"][0]["naive"] is is_naive
    page = tmp_path / "page.html"
    assert run("report", results.parent, "--html", page).err == ""
    ran = run("report", results.parent)
    assert re.match(rf"  {side} +{scheme} ", ran.out.splitlines()[1]), ran
    assert ("Safe schemes" in page.read_text()) == (side == "safe")


def stripped(history, path, keep):
    head, *events, _ = history.read_text().splitlines()
    kept = [event for event in map(json.loads, events) if keep(event)]
    lines = [json.dumps({**event, "i": i}) for i, event in enumerate(kept)]
    path.write_text("\n".join([head, *lines, json.dumps({"end": len(kept)})]) + "\n")
    return verdicts(run("check", path, "--json", "-").json["results"][0])


def at_the_client(event):
    return event["kind"] in ("call", "return", "notice") or event.get("fault") == "crash"


SERVERS_OWN = {"release-own", "extend-own", "always-expires", "no-orphan", "progress"}


@pytest.mark.parametrize("scheme", ["set-nx-px-cad", "set-nx-ex-del", "watchdog-guarded", "setnx-del"])
def test_calls_and_returns_alone_say_less_and_nothing_else(tmp_path, scheme):
    run("stress", "--scheme", scheme, "--clients", "25", "--duration", "600ms", "--lease", "60ms", "--pause", "20%",
        "--lose-reply", "2%", "--crash", "1%", "--seed", "2", "--history", "--out", tmp_path / "out")
    history = next((tmp_path / "out" / "latest" / "histories").resolve().iterdir())
    whole = verdicts(run("check", history, "--json", "-").json["results"][0])
    alone = stripped(history, tmp_path / "alone.jsonl", at_the_client)
    for name, (verdict, cause, _) in alone.items():
        if name in SERVERS_OWN:
            assert verdict in ("unknown", "not_applicable"), name
        if verdict == "holds":
            assert whole[name][0] in ("holds", "not_applicable"), name
        if verdict == "violated" and cause != "bug-or-loss":
            assert whole[name][:2] == (verdict, cause), name
        if cause == "bug-or-loss":
            assert any(c not in (None, "overrun", "leftover") for _, c, _ in whole.values()), whole


@pytest.mark.parametrize("fail_on, status", [("scheme", 1), ("deployment", 1), ("bug", 1), ("any", 1), ("never", 0)])
def test_a_bug_or_a_loss_fails_whoever_is_asked_for(tmp_path, fail_on, status):
    head = {"history": "picklock.history/1", "scheme": "set-nx-px-cad", "scenario": "x", "world": "redis",
            "server_version": "", "clients": 2, "servers": 1, "locks": 1, "lease_us": 300000, "unit_us": 1000,
            "clock_error_us": 0, "seed": "1", "names": ["A", "B"]}
    events = [{"i": i, "t": 1000 * i, "kind": kind, "client": client, "attempt": 1, "op": "acquire", **more}
              for i, (kind, client, more) in enumerate([("call", 0, {}), ("return", 0, {"result": "granted"}),
                                                        ("call", 1, {}), ("return", 1, {"result": "granted"})])]
    history = tmp_path / "two.jsonl"
    history.write_text("\n".join(map(json.dumps, [head, *events, {"end": len(events)}])) + "\n")
    ran = run("check", history, "--fail-on", fail_on)
    assert ran.status == status and "bug-or-loss" in ran.out, ran


def test_a_lost_line_is_no_verdict(tmp_path):
    """Each line that says what a server did to the lock, lost: no cause is told that the whole history does not have."""
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    history = next((tmp_path / "first" / "latest" / "histories").resolve().iterdir())
    whole = verdicts(run("check", history, "--json", "-").json["results"][0])
    events = [json.loads(line) for line in history.read_text().splitlines()[1:-1]]
    lost = [event["i"] for event in events if event["kind"] == "execute"]
    assert len(lost) >= 4 and whole["lease-exclusion"][1] == "unlock-bug"
    for index in lost:
        less = stripped(history, tmp_path / "less.jsonl", lambda event: event["i"] != index)
        assert less["lease-exclusion"][:2] == ("violated", "bug-or-loss"), index
        assert less["release-own"][0] == "unknown", index


def test_a_history_that_was_cut_off_is_refused(tmp_path):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    history = next((tmp_path / "first" / "latest" / "histories").resolve().iterdir())
    whole = history.read_text().splitlines(True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(whole[:-1]))
    ran = run("check", cut)
    assert ran.status == 64 and str(cut) in ran.err and "end" in ran.err, ran


def test_a_history_in_which_time_runs_backwards_is_refused(tmp_path):
    assert run("run", "--on", "sim", "--scheme", "set-nx-px-cad", "--out", tmp_path, "scenarios/hand-over.yaml").status == 0
    history = next((tmp_path / "latest" / "histories").iterdir())
    lines = history.read_text().splitlines()
    earlier = json.loads(lines[-3])["t"] - 1  # the last line is the end's
    event = {**json.loads(lines[-2]), "t": earlier}
    event.pop("from", None)
    lines[-2] = json.dumps(event)
    forged = tmp_path / "forged.jsonl"
    forged.write_text("\n".join(lines) + "\n")
    ran = run("check", forged)
    column = lines[-2].index('"t"') + 1
    assert ran.status == 64 and f"{forged}:{len(lines) - 1}:{column}: 't' is {earlier}, earlier than" in ran.err and ran.out == "", ran


def test_the_engines_are_compared(picklock):
    """The same seed, the same histories; the time that it took is all that differs."""
    one, same, other = (picklock("selftest", "--histories", "3000", "--seed", seed) for seed in ("3", "3", "4"))
    assert one.status == 0 and one.out.endswith("the engine and the placements agree\n"), one
    counts = [re.sub(r"in [\d.]+ s", "", ran.out) for ran in (one, same, other)]
    assert counts[0].startswith("3000 histories of seed 3") and counts[0] == counts[1] != counts[2]
    assert picklock("selftest", "--seed", "0").status == 64 and picklock("selftest", "more").status == 64


def test_what_the_page_of_the_checks_says_of_it_is_what_it_prints(picklock):
    command, told = re.search(r"^\$ picklock (selftest .*)\n(.*\n.*\n)```", (ROOT / "sim/docs/CHECKS.md").read_text(), re.M).groups()
    assert re.sub(r"in [\d.]+ s", "", picklock(*command.split()).out) == re.sub(r"in [\d.]+ s", "", told)


@pytest.mark.parametrize("promises, status, verdict", [(["expiry"], 1, ("violated", "bug-or-loss")), (["expiry", "leases"], 2, ("unknown", None))])
def test_a_lease_that_nobody_saw_is_taken_for_none(tmp_path, promises, status, verdict):
    """Granted to two, within the head's lease: no overrun where all have that one; where each grant has its own, the first may have been short."""
    steps = [(0, "acquire", "call", None), (0, "acquire", "return", "granted"), (1, "acquire", "call", None), (1, "acquire", "return", "granted"),
             (0, "release", "call", None), (0, "release", "return", "not-mine")]
    path = tmp_path / "a.jsonl"
    path.write_text(head(promises=promises) + "".join(
        event(number, 1000 * number, kind, client=client, op=op, **({"result": result} if result else {}))
        for number, (client, op, kind, result) in enumerate(steps)) + '{"end": 6}\n')
    ran = run("check", path, "--json", "-")
    found = {each["property"]: (each["verdict"], each["cause"]) for each in ran.json["results"][0]["properties"]}
    assert ran.status == status and found["lease-exclusion"] == found["mutual-exclusion"] == verdict, (ran, found)
    assert "violated" not in {each[0] for name, each in found.items() if not name.endswith("exclusion")}, found


def asks(client, attempt, us, reply, op="acquire", verb="SET_NX_PX", result=None, **more):
    """A call of a client that sends one command, and is told what comes of it."""
    token = 1000 * (client + 1) + attempt
    who = {"client": client, "attempt": attempt, "op": op, "token": token}
    sent = {**who, "server": 0, "verb": verb, "key": "lock", "value": token, **({"ttl": 300000} if verb == "SET_NX_PX" else {})}
    return [{"t": us, "kind": "call", **who}, {"t": us, "kind": "send", **sent}, {"t": us + 100, "kind": "execute", **sent, "reply": reply, **more},
            {"t": us + 200, "kind": "hear", **sent, "reply": reply, **more}, {"t": us + 200, "kind": "return", **who, "result": result}]


@pytest.mark.parametrize("is_refused", [True, False])
def test_an_overrun_does_not_hide_a_refusal_by_somebody_unknown(tmp_path, is_refused):
    """A works on when its lease of 300 ms is over, and B gets the lock: nobody's fault. C is refused long behind B's release, by no key that anybody
    has written: a verdict about the one is none about the other."""
    events = [*asks(0, 1, 0, "ok", result="granted"), *asks(1, 1, 400_000, "ok", result="granted"),
              *asks(0, 1, 450_000, "integer", "release", "COMPARE_DELETE", "not-mine"),
              *asks(1, 1, 500_000, "integer", "release", "COMPARE_DELETE", "released", says=1),
              *(asks(2, 1, 900_000, "nil", result="refused") if is_refused else asks(2, 1, 900_000, "ok", result="granted"))]
    head = {"history": "picklock.history/2", "scheme": "set-nx-px-cad", "scenario": "story", "world": "redis", "clients": 3,
            "server_version": "7.0.15", "servers": 1,
            "locks": 1, "lease_us": 300_000, "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": ["A", "B", "C"]}
    lines = [head, *({"i": i, **each} for i, each in enumerate(events)), {"end": len(events)}]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = run("check", tmp_path / "history.jsonl", "--json", "-")
    assert verdicts(ran.json["results"][0])["mutual-exclusion"][:2] == ("violated", "overrun"), ran
    assert ran.status == (2 if is_refused else 0), ran
    assert ("somebody whom the history does not know wrote a key" in re.sub(r"\s+", " ", ran.out)) == is_refused, ran
