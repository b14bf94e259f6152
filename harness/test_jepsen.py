"""Jepsen histories of lock tests, EDN and JSON: what they are judged to be, and where bad ones are refused."""

import json
import re
from collections import Counter
from random import Random

import pytest

from conftest import ROOT

SEEDS = ROOT / "sim" / "test" / "seeds" / "jepsen"
LEASE = ("--model", "lease-lock", "--lease", "300ms")


def judge(picklock, path, *options):
    ran = picklock("check", path, "--format", "jepsen-json" if str(path).endswith("json") else "jepsen-edn", *options, "--json", "-")
    assert ran.status in (0, 1, 2), ran
    return ran.status, {found["property"]: (found["verdict"], found["cause"]) for found in json.loads(ran.out)["results"][0]["properties"]}


def op(kind, f, process, time, value=None):
    return {"type": kind, "f": f, "process": process, "time": time * 1000000, "value": value}


def write(path, ops):
    path.write_text("\n".join(map(json.dumps, ops)) + "\n")
    return path


def test_two_at_once_are_a_bug_or_a_loss(picklock):
    for model in ("mutex", "owner-mutex"):
        status, found = judge(picklock, SEEDS / "two-at-once.edn", "--model", model)
        assert status == 1 and found["lease-exclusion"] == ("violated", "bug-or-loss")
    status, found = judge(picklock, SEEDS / "two-at-once.edn", "--model", "lease-lock", "--lease", "1ms")
    assert found["lease-exclusion"][0] != "violated", "the first lease may have ended"


def test_a_lock_that_was_lost_unseen_is_not_said_to_be_kept(picklock):
    out = picklock("check", SEEDS / "two-at-once.edn", "--format", "jepsen-edn").out
    assert "broke the lock, or its server did (bug-or-loss)." in out, out


def test_a_model_is_of_a_lock_that_its_holder_does_not_enter_again(picklock, tmp_path):
    ops = [op(kind, "acquire", 0, 2 * turn + (kind == "ok")) for turn in range(2) for kind in ("invoke", "ok")]
    for model, violated in (("mutex", "lease-exclusion"), ("owner-mutex", "truthful")):
        assert judge(picklock, write(tmp_path / "a.json", ops), "--model", model)[1][violated] == ("violated", "bug-or-loss")


def test_an_overrun_is_nobodys_fault(picklock):
    status, found = judge(picklock, SEEDS / "overrun.edn", *LEASE)
    assert status != 1 and found["lease-exclusion"] == ("holds", None) and found["truthful"][0] != "violated"
    status, found = judge(picklock, SEEDS / "overrun.edn", "--model", "lease-lock", "--lease", "600ms")
    assert status == 1 and found["lease-exclusion"] == ("violated", "bug-or-loss")


@pytest.mark.parametrize("keys, words", [
    ([1, 2, "x"], None), (["1", "2", "x"], None),
    ([1, "x", "1"], "3:76: the key 1 is a text here, where keys were numbers: they would be taken for one"),
    (["-7", 5], "2:76: the key 5 is a number here, where keys were texts of digits"),
    (["a\0b"], "the key of a lock is UTF-8, and has no NUL byte in it"),
    (["\ud83d"], "the key of a lock is UTF-8"),
], ids=["numbers", "texts", "a text that is a number", "a number", "a NUL byte", "half a pair"])
def test_two_keys_are_never_taken_for_one(picklock, tmp_path, keys, words):
    path = write(tmp_path / "a.json", [op("invoke", "acquire", process, process, [key, None]) for process, key in enumerate(keys)])
    ran = picklock("check", path, "--format", "jepsen-json", *LEASE)
    assert ran.status == (64 if words else 2) and (words or "") in ran.err, ran


NAMES_NONE = "':value' names no lock, and those before name theirs: [KEY VALUE], also where VALUE is nil"
NAMES_ONE = "':value' names the lock n1, and those before name none: [KEY VALUE] is a lock and its value; a fence that stands beside something"


@pytest.mark.parametrize("values, words", [
    ([["n1", None], ["n1", 1], None, None], "3:76: " + NAMES_NONE),
    ([["n1", None], None, None, None], "2:72: " + NAMES_NONE),
    ([None, ["n1", 7], None, None], "2:72: " + NAMES_ONE),
    ([None, {"key": "n1", "fence": 7}, None, None], "2:72: " + NAMES_ONE),
    ([["n1", None], ["n1", 1], {"key": "n1"}, ["n1", None]], None),
    ([None, {"fence": 7}, "n1", 3], None),
], ids=["not of the release", "not of the end", "an owner and a fence", "only of the end", "of all", "of none"])
def test_all_operations_name_their_lock_or_none_does(picklock, tmp_path, values, words):
    """Else what is done to one would be taken for what is done to another one, and a right lock would be blamed."""
    steps = [("invoke", "acquire"), ("ok", "acquire"), ("invoke", "release"), ("ok", "release")]
    path = write(tmp_path / "a.json", [op(*step, 0, time, value) for time, (step, value) in enumerate(zip(steps, values, strict=True))])
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "owner-mutex")
    assert ran.status == (64 if words else 2) and (words or "") in ran.err, ran


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "as it is"])
@pytest.mark.parametrize("keys, status", [("\u00fc\u00e9", 2), ("\u20ac\u20ad", 2), ("\U0001f512\U0001f513", 2), ("\u00fc\u00fc", 1)])
def test_a_key_may_have_any_letters(picklock, tmp_path, keys, status, escaped):
    """Two clients hold at once: of two keys that is nothing; of one it is a violation."""
    ops = [op(kind, "acquire", process, 10 * process + (kind == "ok"), [key, None]) for process, key in enumerate(keys) for kind in ("invoke", "ok")]
    path = tmp_path / "a.json"
    path.write_text("".join(json.dumps(one, ensure_ascii=escaped) + "\n" for one in ops))
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "mutex")
    assert ran.status == status, ran


def test_a_fence_must_grow(picklock, tmp_path):
    _, found = judge(picklock, SEEDS / "fences.json", "--model", "fenced-lock")
    assert found["fence-order"] == ("violated", "fence-disorder")
    good = tmp_path / "good.json"
    good.write_text((SEEDS / "fences.json").read_text().replace('"time": 5000, "value": ["x", 7]', '"time": 5000, "value": ["x", 8]'))
    assert judge(picklock, good, "--model", "fenced-lock")[1]["fence-order"][0] == "unknown"


def test_a_fail_is_a_refusal_where_that_is_said(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "acquire", 0, 0), op("fail", "acquire", 0, 1),
                                       op("invoke", "acquire", 1, 2), op("ok", "acquire", 1, 3)])
    assert judge(picklock, path, "--model", "owner-mutex")[1]["truthful"][0] != "violated"
    assert judge(picklock, path, "--model", "owner-mutex", "--refusals")[1]["truthful"][0] == "violated"


def test_a_mutex_may_be_released_by_anybody(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1), op("invoke", "unlock", 1, 2),
                                       op("ok", "unlock", 1, 3), op("invoke", "lock", 1, 4), op("ok", "lock", 1, 5)])
    assert judge(picklock, path, "--model", "mutex")[1]["lease-exclusion"] == ("holds", None)
    assert judge(picklock, path, "--model", "owner-mutex")[1]["lease-exclusion"][0] == "violated"


def test_what_was_never_answered_may_have_happened(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("info", "lock", 0, 1), op("invoke", "lock", 2, 2), op("fail", "lock", 2, 3)])
    assert judge(picklock, path, "--refusals")[1]["truthful"][0] == "unknown"


def test_locks_are_apart_and_edn_is_as_json(picklock, tmp_path):
    ops = [op("invoke", "lock", p, 2 * p, [f"k{p}", None]) | {"x": 1} for p in range(3)] + [op("ok", "lock", p, 10 + p, [f"k{p}", None]) for p in range(3)]
    path = write(tmp_path / "a.json", ops)
    status, found = judge(picklock, path)
    assert found["lease-exclusion"][0] == "holds"
    edn = tmp_path / "a.edn"
    edn.write_text("\n".join("{" + " ".join(f":{k} {':' + v if k in ('type', 'f') else json.dumps(v).replace('null', 'nil')}" for k, v in each.items()) + "}"
                             for each in ops))
    assert judge(picklock, edn) == (status, found)


def test_where_nothing_is_found_it_says_what_that_means(picklock, tmp_path):
    """No failure, and no proof either."""
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1), op("invoke", "unlock", 0, 2), op("ok", "unlock", 0, 3),
                                       op("invoke", "lock", 1, 4), op("ok", "lock", 1, 5)])
    ran = picklock("check", path, "--format", "jepsen-json")
    assert ran.status == 2 and "nothing that its clients were told contradicts such a lock" in " ".join(ran.out.split()), ran


INVOKE = '{:type :invoke :f :acquire :process 0 :time 5}'


@pytest.mark.parametrize("text, place, words", [
    ('{:type :ok :f :acquire :process 0 :time 5}', "1:1", "has not begun"),
    (f'{INVOKE}\n{INVOKE}', "2:1", "within another one"),
    (INVOKE + '\n {:type :ok :f :release :process 0 :time 6}', "2:2", "has not begun"),
    (INVOKE + '\n{:type :ok :f :acquire :process 0 :time -1}', "2:41", "':time' is -1 ns: it counts from 0"),
    ('{:type :invoke :f :acquire :process 0 :time 5000000}\n{:type :ok :f :acquire :process 0 :time 1000}', "2:41", "time runs forwards"),
    ('{:type :invok :f :acquire :process 0}', "1:8", "did you mean 'invoke'"),
    ('{:type :invoke :f :aquire :process 0}', "1:19", "did you mean 'acquire'"),
    ('{:type :invoke :f', "1:18", "cut off"),
    ('[' * 100, "1:34", "nested deeper"),
    ('[{:type :invoke]', "1:16", "closes nothing"),
    ('{:type :invoke :f}', "1:18", "no value"),
    ('{:type "' + "x" * 100000, "1:", "longer than"),
    ('[' + '{:a [' + "1 " * 100000 + ']}]', "1:65539", "longer than"),
    ('7', "1:1", "is a map"),
    ('{:type :invoke :f :acquire :process :x1}\n{:process -3}', "2:11", "process"),
    ('[] {}', "1:4", "behind the end"),
], ids=range(16))
def test_what_is_bad_is_refused_with_its_place(picklock, tmp_path, text, place, words):
    path = tmp_path / "a.edn"
    path.write_text(text)
    ran = picklock("check", path, "--format", "jepsen-edn")
    assert ran.status == 64 and f"{path}:{place}" in ran.err and words in ran.err, ran


@pytest.mark.parametrize("options, words", [
    (("--format", "jepsen-end"), "did you mean"), (("--model", "mutex"), "--format"),
    (("--format", "jepsen-edn", "--model", "mutx"), "did you mean 'mutex'"), (("--format", "jepsen-edn", "--model", "lease-lock"), "--lease"),
    (("--format", "jepsen-edn", "--model", "mutex", "--lease", "1s"), "no lease"), (("--format", "jepsen-edn", "--timeline"), "--timeline")])
def test_options_that_do_not_go_together(picklock, options, words):
    ran = picklock("check", SEEDS / "overrun.edn", *options)
    assert ran.status == 64 and words in ran.err, ran


def test_bytes_that_are_no_utf_8(picklock, tmp_path):
    path = tmp_path / "a.edn"
    path.write_bytes(INVOKE.encode()[:-1] + b' :error "\xff\x00\xfe"}\n')
    assert picklock("check", path, "--format", "jepsen-edn").status == 2


def test_more_clients_than_bits(picklock, tmp_path):
    """A client that nobody saw ask is a gap, whoever else asked: also one whose number is beyond those of an unsigned."""
    words = {"history": "picklock.history/2", "scheme": "set-nx-px-cad", "scenario": "x", "world": "redis", "server_version": "", "clients": 300, "servers": 1,
             "locks": 1, "lease_us": 300000, "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": [f"c{i}" for i in range(300)]}
    command = {"server": 0, "verb": "SET_NX_PX", "key": "lock", "value": 5, "ttl": 300000}
    of_one = [{"kind": "call", "op": "acquire"}, {"kind": "send"} | command, {"kind": "execute", "op": "acquire", "reply": "ok"} | command,
              {"kind": "hear", "reply": "ok"} | command, {"kind": "return", "op": "acquire", "result": "granted"}]
    unseen = [{"kind": "call", "op": "acquire"}, {"kind": "return", "op": "acquire", "result": "refused"}]
    for other in (33, 299):
        events = [each | {"client": client} for client, story in ((1, of_one), (other, unseen)) for each in story]
        lines = [words, *({"i": i, "t": i, "attempt": 1, "token": 5} | each for i, each in enumerate(events)), {"end": len(events)}]
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = json.loads(picklock("check", path, "--json", "-").out)["results"][0]["properties"]
        always = next(each for each in found if each["property"] == "always-expires")
        assert always["verdict"] == "unknown" and f"c{other}'s acquire was answered" in always["witness"][0], always


def test_an_acquire_that_did_not_happen_ends_no_lock(picklock, tmp_path):
    """Who holds the lock asks again in vain, then releases while the next one is granted it: nobody is to blame."""
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1), op("invoke", "lock", 0, 2), op("fail", "lock", 0, 3),
                                       op("invoke", "unlock", 0, 4), op("invoke", "lock", 1, 5), op("ok", "lock", 1, 6), op("ok", "unlock", 0, 7)])
    for model in ("mutex", "owner-mutex"):
        status, found = judge(picklock, path, "--model", model)
        assert status == 2 and "violated" not in [verdict for verdict, _ in found.values()], found


def test_whose_lock_somebody_else_released_is_not_guessed(picklock, tmp_path):
    """It may be the first holder's, or the second one's: a guess would accuse somebody. A grant more has no room for it."""
    path = write(tmp_path / "a.json", [op("invoke", "lock", 2, 0), op("invoke", "unlock", 1, 1), op("ok", "lock", 2, 2), op("ok", "unlock", 1, 3),
                                       op("invoke", "lock", 0, 4), op("ok", "lock", 0, 5)])
    assert judge(picklock, path, "--model", "mutex")[0] == 2
    with path.open("a") as more:
        more.write("".join(json.dumps(op(kind, "lock", 3, time)) + "\n" for kind, time in (("invoke", 6), ("ok", 7))))
    status, found = judge(picklock, path, "--model", "mutex")
    assert status == 1 and found["lease-exclusion"] == found["mutual-exclusion"] == ("violated", "bug-or-loss"), found


@pytest.mark.parametrize("steps, words", [
    (((0, "release", "ok"),), "it cannot have been locked at any time between."),
    (((0, "release", "ok"), (0, "acquire", "ok"), (1, "acquire", "ok")), "the lock cannot have been free at any time between."),
    (((0, "acquire", "ok"), (1, "release", "ok"), (0, "release", "ok")), 'process 0 called release at 4.0 ms, and was told "released"'),
    (((0, "acquire", "ok"), (1, "release", "info"), (2, "acquire", "ok"), (3, "acquire", "ok")), "the lock cannot have been free"),
    (((0, "acquire", "ok"), (1, "acquire", "fail"), (0, "release", "fail")), 'process 0 was told "not mine"'),
    (((0, "acquire", "ok"), (1, "release", "fail"), (0, "renew", "fail")), 'process 0 was told "not mine"'),
    (((0, "acquire", "ok"), (2, "release", "ok"), (1, "acquire", "fail")), 'process 1 called acquire at 4.0 ms, and was told "refused"'),
    (((0, "renew", "ok"),), 'process 0 called extend at 0.0 ms, and was told "done"'),
], ids=["free", "free, then twice", "twice", "one without an answer frees once", "not mine", "nor to renew", "refused", "renewed"])
def test_who_releases_what_nobody_has_is_found_out(picklock, tmp_path, steps, words):
    """Of a lock that anybody may release: such a release is not the end of what can be told."""
    path = write(tmp_path / "a.json", story(*steps))
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "mutex", "--refusals")
    assert ran.status == 1 and words in " ".join(ran.out.split()), ran


@pytest.mark.parametrize("steps", [
    ((0, "acquire", "ok"), (1, "release", "ok"), (2, "acquire", "ok"), (0, "release", "ok"), (3, "acquire", "ok")),
    ((0, "acquire", "ok"), (1, "release", "info"), (2, "acquire", "ok"), (2, "release", "ok")),
    ((0, "release", "fail"), (0, "acquire", "ok"), (0, "renew", "ok"), (1, "acquire", "fail"), (1, "release", "ok")),
], ids=["whoever", "without an answer", "all answers"])
def test_who_releases_what_another_one_has_is_not_accused(picklock, tmp_path, steps):
    assert judge(picklock, write(tmp_path / "a.json", story(*steps)), "--model", "mutex", "--refusals")[0] == 2


HELD = (0, "acquire", "ok")
ASKS_AGAIN = (HELD, (0, "acquire", "fail"))


@pytest.mark.parametrize("model", [("--model", "mutex"), ("--model", "owner-mutex"), LEASE, ("--model", "fenced-lock")], ids=lambda model: model[1])
@pytest.mark.parametrize("steps, is_violated", [
    ((*ASKS_AGAIN, (0, "release", "ok"), (1, "acquire", "ok")), False),
    ((*ASKS_AGAIN, (0, "renew", "ok"), (0, "acquire", "fail"), (0, "release", "ok")), False),
    ((*ASKS_AGAIN, (1, "acquire", "fail"), (0, "release", "ok"), (0, "acquire", "ok")), False),
    ((*ASKS_AGAIN, (0, "release", "fail")), True),
    ((*ASKS_AGAIN, (1, "acquire", "ok")), True),
    ((HELD, (0, "release", "ok"), (0, "acquire", "fail")), True),
], ids=["releases", "renews", "refuses others", "is told that it is not its own", "is granted to another one", "refused when it is free"])
def test_who_has_the_lock_is_refused_it_and_has_it_still(picklock, tmp_path, model, steps, is_violated):
    status, found = judge(picklock, write(tmp_path / "a.json", story(*steps)), *model, "--refusals")
    assert status == (1 if is_violated else 2), found
    if is_violated and steps[-1] == (1, "acquire", "ok"):
        assert found["lease-exclusion"] == ("violated", "bug-or-loss")


@pytest.mark.parametrize("steps", [[(0, "release", "ok")], [(0, "renew", "ok")]], ids=["released", "renewed"])
def test_who_never_asked_for_the_lock_can_not_have_had_it(picklock, tmp_path, steps):
    """Whether there is an acquire in the history or not."""
    path = write(tmp_path / "a.json", story(*steps))
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "owner-mutex")
    assert ran.status == 1 and "and had never asked for the lock." in " ".join(ran.out.split()), ran
    assert "disagree" not in ran.out


def test_who_was_refused_is_not_told_that_he_released(picklock, tmp_path):
    """However late it is: only of who may have had the lock a late "released" proves nothing."""
    def told(answer):
        return [op("invoke", "lock", 2, 0), op("ok", "lock", 2, 1), op("invoke", "lock", 0, 3), op(answer, "lock", 0, 4), op("invoke", "unlock", 0, 5),
                op("ok", "unlock", 0, 9)]
    lease = ("--model", "lease-lock", "--lease", "6ms", "--refusals")
    assert judge(picklock, write(tmp_path / "a.json", told("fail")), *lease)[0] == 1
    assert judge(picklock, write(tmp_path / "a.json", [one for one in told("ok") if one["process"] == 0]), *lease)[0] == 2


@pytest.mark.parametrize("fences, is_violated", [((0, 0), True), ((5, 0), True), ((0, 1), False), ((-2, -1), False), ((None, 0), False)])
def test_a_fence_may_be_any_number(picklock, tmp_path, fences, is_violated):
    """Also 0, and a grant at the beginning of time is one."""
    ops = [op(kind, f, process, time, fence) for process, fence in enumerate(fences)
           for kind, f, time in (("invoke", "lock", 3 * process), ("ok", "lock", 3 * process), ("invoke", "unlock", 3 * process + 1), ("ok", "unlock", 3 * process + 2))]
    _, found = judge(picklock, write(tmp_path / "a.json", ops), "--model", "fenced-lock")
    assert found["fence-order"][0] == ("violated" if is_violated else "unknown")


@pytest.mark.parametrize("fence", ["9", 9.5, [1, 2, 3], {"fence": True}])
def test_a_fence_that_is_no_number_is_refused(picklock, tmp_path, fence):
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1, fence)])
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "fenced-lock")
    column = path.read_text().splitlines()[1].index(json.dumps(fence)) + 1
    assert ran.status == 64 and f"{path}:2:{column}: a fencing token is a whole number" in ran.err, ran
    assert picklock("check", path, "--format", "jepsen-json", "--model", "mutex").status == 2


def drawn(random, model="owner-mutex", strangers=0.0, concurrency=None):
    """Operations of two or three processes on one lock, and often one answer that is not so; strangers: how often who holds nothing releases;
    concurrency: so many processes, each followed by the one that Jepsen's thread goes on as (else: by one that follows nobody)."""
    ops, under_way, owner, granted, time = [], {}, None, set(), 0
    processes = list(range(concurrency or random.randint(2, 3)))
    begun = random.randint(4, 7)
    while begun or under_way:
        process, time = random.choice(processes), time + 1
        f, said = under_way.get(process, (None, None))
        if f is None and begun:
            begun -= 1
            under_way[process] = ("release" if random.random() < (0.75 if process in granted else strangers) else "acquire", None)
            ops.append(op("invoke", under_way[process][0], process, time))
        elif f and not said:
            works = owner is None if f == "acquire" else owner is not None if model == "mutex" else owner == process
            owner = (process if f == "acquire" else None) if works else owner
            under_way[process] = (f, random.choices(["ok" if works else "fail", "info"], [9, 1])[0])
        elif f:
            del under_way[process]
            ops.append(op(said, f, process, time))
            if said == "ok":
                (granted.add if f == "acquire" else granted.discard)(process)
            elif said == "info":
                processes[processes.index(process)] = process + concurrency if concurrency else 1000 + time  # nobody takes it for the one before
    untrue = random.choice([one for one in ops if one["type"] != "invoke"])
    if untrue["type"] != "info" and random.random() < 0.6:
        untrue["type"] = "ok" if untrue["type"] == "fail" else "fail"
    return ops


def is_explained(ops, model, refusals):
    """Is there an order of the operations that such a lock could have executed, each between its call and its answer? Every one is tried."""
    spans, open_ops, told, granted = [], {}, {}, set()  # granted: calls of who was told last that he has it
    for at, one in enumerate(ops):
        if one["type"] == "invoke" and told.get(one["process"]) == "acquire":
            granted.add(at)
        if one["type"] == "ok":
            told[one["process"]] = one["f"]
        if one["type"] == "invoke":
            open_ops[one["process"]] = (one["process"], one["f"], at)
        elif one["type"] != "fail" or refusals:
            spans.append((*open_ops.pop(one["process"]), len(ops) if one["type"] == "info" else at, one["type"]))

    def goes_on(left, owner):
        if all(spans[i][4] == "info" for i in left):
            return True
        end = min(spans[i][3] for i in left)
        for i in left:
            process, f, begin, _, said = spans[i]
            works = owner is None if f == "acquire" else owner is not None if model == "mutex" else owner == process
            after = (process if f == "acquire" else None) if works and said != "fail" else owner
            is_so = said == "info" or works == (said == "ok") or (said == "fail" and model == "mutex" and f == "release" and begin not in granted)
            if begin < end and is_so and goes_on(left - {i}, after):
                return True
        return False

    return goes_on(frozenset(range(len(spans))), None)


def test_random_histories_are_judged_as_by_trying_every_order(picklock, tmp_path):
    """A violation exactly where no order explains the answers; never "holds", since nobody saw the servers."""
    random, seen = Random(20261123), []
    for turn in range(180):
        model, refusals = ("mutex", "owner-mutex")[turn % 2], turn // 2 % 2 == 1
        ops = drawn(random, model, strangers=0.3 * (turn // 4 % 2))
        path = write(tmp_path / "a.json", ops)
        ran = picklock("check", path, "--format", "jepsen-json", "--model", model, *["--refusals"] * refusals, "--concurrency", "5000")
        explained = is_explained(ops, model, refusals)
        assert ran.status == (2 if explained else 1), f"{path.read_text()}{ran}"
        seen.append((model, refusals, explained))
    assert len(set(seen)) == 8 and all(seen.count(each) > 4 for each in seen), Counter(seen)


def test_the_schema_is_of_what_is_read(picklock, tmp_path):
    """What it allows is read, and what it does not is refused; the functions are those of the page."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "reports" / "jepsen.schema.json").read_text())
    jsonschema.validate(json.loads((SEEDS / "fences.json").read_text()), schema)
    good = op("invoke", "acquire", 0, 0)
    names = schema["$defs"]["operation"]["oneOf"][1]["properties"]["f"]["enum"]
    page = (ROOT / "sim" / "docs" / "HISTORIES.md").read_text()
    assert len(names) == 10 and all(f"`{name}`" in page for name in names)
    tried = [(good, True), (good | {"process": "nemesis", "f": "kill"}, True), (good | {"note": [1]}, True),
             *((good | {"f": name}, True) for name in names),
             (good | {"f": "steal"}, False), (good | {"type": "maybe"}, False), (good | {"process": -1}, False), (good | {"time": 1.5}, False),
             ({"type": "invoke", "f": "acquire"}, False)]
    for shown, is_good in tried:
        assert jsonschema.Draft202012Validator(schema).is_valid(shown) is is_good, shown
        path = write(tmp_path / "a.json", [good, shown | {"process": 1} if shown.get("process") == 0 else shown])
        ran = picklock("check", path, "--format", "jepsen-json")
        assert ran.status == (2 if is_good else 64), (shown, ran)


@pytest.mark.parametrize("added", ["#_ :a", "#_ #_ :a :b", "#_ #_ [1 #_ 2] {:f :c} ", "#_#inst \"x\" ", "#_ [#_ 1] ", "#_ #{1 #_ 2}"])
def test_what_is_discarded_is_as_if_it_were_not_there(picklock, tmp_path, added):
    """As EDN has it: of two marks in a row each takes a value, and one within a list ends with it."""
    lines = (SEEDS / "two-at-once.edn").read_text().splitlines()
    assert all(", :f" in line for line in lines if line.startswith("{"))
    other = tmp_path / "discards.edn"
    other.write_text("\n".join(f"#t {added} " + line.replace(", :f", f" {added} , #t {added} :f", 1) for line in lines))
    assert judge(picklock, other) == judge(picklock, SEEDS / "two-at-once.edn")


@pytest.mark.parametrize("text", ["", "; nothing\n", "[]", "{:process :nemesis, :type :info, :f :kill}"])
def test_a_file_without_an_operation_is_no_history(picklock, tmp_path, text):
    (tmp_path / "a.edn").write_text(text)
    ran = picklock("check", tmp_path / "a.edn", "--format", "jepsen-edn")
    assert ran.status == 64 and "there is no operation of a process in it" in ran.err, ran


def story(*steps):
    """(PROCESS, F, ANSWER): called and answered one after the other, a millisecond each."""
    return [op(kind, f, process, 2 * at + (kind != "invoke")) for at, (process, f, answer) in enumerate(steps) for kind in ("invoke", answer)]


ENDED = ((0, "acquire", "ok"), (0, "renew", "info"))


@pytest.mark.parametrize("steps, options, words", [
    ((*ENDED, (1, "release", "ok"), (2, "acquire", "info")), (), 'process 1 was told "released" at 5.0 ms, and had never asked for the lock.'),
    (((1, "acquire", "ok"), (1, "release", "ok"), *ENDED, (2, "release", "ok")), ("--concurrency", "3"),
     'process 2 was told "released" at 9.0 ms, and had never asked for the lock.'),
    ((*ENDED, (1, "acquire", "ok")), (), 'process 1 called acquire at 4.0 ms, and was told "granted" at 5.0 ms, too.'),
    (((0, "acquire", "ok"), (0, "release", "info"), (1, "acquire", "ok"), (2, "acquire", "ok")), (),
     'process 1 called acquire at 4.0 ms, and was told "granted" at 5.0 ms.'),
    (((0, "acquire", "info"), (1, "acquire", "info"), (2, "release", "ok")), ("--concurrency", "3"), "process 2 was told"),
], ids=["another one", "another one where the number is known", "acquires", "takes the place", "of two that ended"])
def test_who_ends_in_info_is_followed_by_nobody_else(picklock, tmp_path, steps, options, words):
    ran = picklock("check", write(tmp_path / "a.json", story(*steps)), "--format", "jepsen-json", *LEASE, *options)
    assert ran.status == 1 and words in " ".join(ran.out.split()) and "successor" not in ran.out, ran


@pytest.mark.parametrize("steps, options, status, words", [
    ((*ENDED, (1, "release", "ok")), (), 2, "process 1 releases a lock that it was not granted: it may go on for process 0"),
    ((*ENDED, (1, "renew", "ok")), (), 2, "process 1 renews a lock that it was not granted: it may go on for process 0, which ended in :info (1 = 0 + 1)"),
    (((1, "acquire", "fail"), *ENDED, (2, "release", "info"), (1, "acquire", "ok")), (), 2, "it may go on for process 0, which ended in :info (2 = 0 + 2)"),
    ((*ENDED, (5, "release", "ok")), ("--concurrency", "5"), 2, "(5 = 0 + 5), and have it from there, so nothing more is concluded"),
    ((*ENDED, (1, "release", "fail")), (), 2, ""),
    ((*ENDED, (5, "acquire", "ok")), ("--concurrency", "4"), 64, "5:1: process 5 follows process 1, where 4 run at once, and that one has not ended in :info"),
    ((*ENDED, (0, "release", "ok")), (), 64, "5:1: process 0 has ended in :info, and is not heard of again: whoever goes on has another number"),
], ids=["releases", "renews", "has no answer, either", "the number is known", "it failed", "nobody to follow", "the same"])
def test_who_may_go_on_for_another_one_is_not_accused(picklock, tmp_path, steps, options, status, words):
    ran = picklock("check", write(tmp_path / "a.json", story(*steps)), "--format", "jepsen-json", *LEASE, *options)
    assert ran.status == status and words in " ".join((ran.out + ran.err).split()) and bool(ran.err) is (status == 64), ran


def test_what_was_violated_before_stays_so(picklock, tmp_path):
    """Two held at once, before somebody releases what may have been another's."""
    path = write(tmp_path / "a.json", story((1, "acquire", "ok"), *ENDED, (2, "release", "ok")))
    ran = picklock("check", path, "--format", "jepsen-json", *LEASE)
    assert ran.status == 1 and "lease-exclusion is violated (bug-or-loss)" in ran.out, ran
    found = json.loads(picklock("check", path, "--format", "jepsen-json", *LEASE, "--json", "-").out)["results"][0]["properties"]
    assert "holds" not in [each["verdict"] for each in found], found


@pytest.mark.parametrize("said, status", [("fail", 1), ("ok", 2)])
def test_what_an_earlier_process_may_have_explains_nothing_of_another_one(picklock, tmp_path, said, status):
    """Process 0 is over, and may come to have the lock once it is free; process 1 has it, and is told that it has not."""
    path = write(tmp_path / "a.json", [op("invoke", "acquire", 0, 0), op("info", "acquire", 0, 1), op("invoke", "acquire", 1, 2), op("ok", "acquire", 1, 3),
                                       op("invoke", "release", 1, 4), op(said, "release", 1, 5)])
    found = judge(picklock, path, "--model", "owner-mutex", "--refusals", "--concurrency", "5")
    assert found[0] == status and (found[1]["truthful"][0] == "violated") == (status == 1), found


def test_a_place_that_is_taken_over_keeps_no_name(picklock, tmp_path):
    """200 processes end in turn, one after the other at the same lock: the last two are named, and the fence of one long gone is still his."""
    ops = [one for p in range(200) for one in (op("invoke", "acquire", p, 4 * p, None), op("ok", "acquire", p, 4 * p + 1, p + 1),
                                               op("invoke", "release", p, 4 * p + 2), op("info", "release", p, 4 * p + 3))]
    ops += [op("invoke", "acquire", 200, 900), op("ok", "acquire", 200, 901, 7)]
    ran = picklock("check", write(tmp_path / "a.json", ops), "--format", "jepsen-json", "--model", "fenced-lock")
    out = " ".join(ran.out.split())
    assert ran.status == 1 and "process 199 was granted the lock with fencing token 200, told at 797.0 ms." in out and "process 200 was granted it later, with 7" in out, ran
    trace = picklock("convert", tmp_path / "a.json", "--format", "jepsen-json", "--model", "mutex", "--to", "perfetto").out
    assert all(f'"name": "process {p}"' in trace for p in range(201)), trace[:500]


SLIPS = '{:process 0, :type :invoke, :f :acquire, :time 1000000}\n{:process 0, :type :ok, :f :acquire, %s}\n'


@pytest.mark.parametrize("field, place, words", [
    (":tme 2000000", "2:38", "an operation has no field ':tme'; did you mean ':time'?"),
    (":time 2000000, :eror :unsupported", "2:53", "an operation has no field ':eror'; did you mean ':error'?"),
    (":time 2000000, :valeu 3", "2:53", "an operation has no field ':valeu'; did you mean ':value'?"),
    (":time 2000000, :value {:fnce 3}", "2:60", "a ':value' has no field ':fnce'; did you mean ':fence'?"),
    (":index 2", "2:1", "an operation wants ':time', as those before have it"),
])
@pytest.mark.parametrize("language", ["edn", "json"])
def test_a_field_that_is_one_letter_off_is_refused(picklock, tmp_path, field, place, words, language):
    """As in a history of ours; fields of one's own are left alone. The time counts, be it that nothing has a lease."""
    path, text = tmp_path / f"a.{language}", SLIPS % field
    if language == "json":
        text = re.sub(r":([a-z]\w*)", r'"\1"', re.sub(r":(\w+) ", r":\1: ", text))
        place = place.split(":")[0] + ":"
    path.write_text(text)
    ran = picklock("check", path, "--format", f"jepsen-{language}")
    assert ran.status == 64 and f"{path}:{place}" in ran.err and words in ran.err, ran
    path.write_text(text.replace("tme", "timestamp").replace("eror", "exception").replace("valeu", "val").replace("fnce", "fnord").replace("2000000", "0")
                    .replace(":time 1000000", "").replace('"time": 1000000', '"x": 1').replace(":time 0", "").replace('"time": 0', '"x": 1'))
    assert picklock("check", path, "--format", f"jepsen-{language}").status == 2, path.read_text()


@pytest.mark.parametrize("unit, status, words", [
    (None, 1, "note: Times are read as ns: all 4 lines last 2 us, less than the lease of 300ms. If they are ms: --time-unit ms; if not: --time-unit ns."),
    ("ns", 1, ""), ("us", 1, ""), ("ms", 2, ""), ("s", 1, ""), ("m", 64, "there is no time unit 'm'; there are ns, us, ms and s")])
def test_times_that_look_like_milliseconds_are_told(picklock, tmp_path, unit, status, words):
    """Two grants, two seconds from each other: a violation, if they are nanoseconds."""
    path = tmp_path / "a.edn"
    path.write_text("".join("{:process %d, :type :%s, :f :acquire, :time %d}\n" % one
                            for one in ((0, "invoke", 1), (0, "ok", 2), (1, "invoke", 2000), (1, "ok", 2001))))
    ran = picklock("check", path, "--format", "jepsen-edn", *LEASE, *(("--time-unit", unit) if unit else ()))
    assert ran.status == status and words in " ".join((ran.out + ran.err).split()) and ("note:" in ran.out) is (unit is None), ran


def test_times_that_can_be_nanoseconds_are_not_doubted(picklock, tmp_path):
    assert "note:" not in picklock("check", SEEDS / "overrun.edn", "--format", "jepsen-edn", *LEASE).out
    path = write(tmp_path / "a.json", story((0, "acquire", "ok"), (0, "release", "ok")))
    assert "note:" not in picklock("check", path, "--format", "jepsen-json").out


def test_a_time_beyond_what_is_judged_is_refused(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "acquire", 0, 0) | {"time": 10 ** 18}])
    ran = picklock("check", path, "--format", "jepsen-json", "--time-unit", "s")
    assert ran.status == 64 and "1:58: ':time' is 1000000000000000000 s; it goes to 1000000000000000 us" in ran.err, ran


@pytest.mark.parametrize("name, given", [("two-at-once.edn", None), ("two-at-once.edn", "jepsen-json"), ("fences.json", None), ("fences.json", "jepsen-edn"),
                                         ("ours", "jepsen-edn"), ("ours", "jepsen-json")])
def test_who_names_another_format_is_told_which(picklock, name, given):
    path = ROOT / "sim/test/history1/foreign.jsonl" if name == "ours" else SEEDS / name
    right = "picklock" if name == "ours" else "jepsen-" + name.rpartition(".")[2]
    for command in (["check"], ["convert", "--to", "perfetto"]):
        ran = picklock(*command, path, *(["--format", given] if given else []))
        assert ran.status == 64 and ran.err.endswith(f"\nit looks like a history of another format: --format {right}\n"), ran
    assert "looks like" not in picklock("check", path, "--format", right).err


def test_what_is_bad_of_its_own_format_is_not_said_to_be_another(picklock, tmp_path):
    """Nor what is of none, nor what comes through a pipe and is gone."""
    for name, text, options in [("a.edn", "{:type :invoke :f :acquire :process x}", ["--format", "jepsen-edn"]), ("b", "no history", []), ("c", "{}", []),
                                ("d", '{"type": "invoke", "process": "x", "f": "acquire"}', ["--format", "jepsen-json"])]:
        (tmp_path / name).write_text(text)
        ran = picklock("check", tmp_path / name, *options)
        assert ran.status == 64 and "looks like" not in ran.err, ran
    piped = picklock("check", "-", input=(SEEDS / "two-at-once.edn").read_text())
    assert piped.status == 64 and "looks like" not in piped.err
