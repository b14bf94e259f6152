"""Jepsen histories of lock tests, EDN and JSON: what they are judged to be."""

import json
from collections import Counter
from random import Random

import pytest
from conftest import LONG
from jepsen import LEASE, SEEDS, drawn, judge, op, story, write


def test_two_at_once_are_a_bug_or_a_loss(picklock):
    for model in ("mutex", "owner-mutex"):
        status, found = judge(picklock, SEEDS / "two-at-once.edn", "--model", model)
        assert status == 1 and found["lease-exclusion"] == ("violated", "bug-or-loss")
    status, found = judge(picklock, SEEDS / "two-at-once.edn", "--model", "lease-lock", "--lease", "1ms")
    assert found["lease-exclusion"][0] != "violated", "the first lease may have ended"


def test_a_lock_that_was_lost_unseen_is_not_said_to_be_kept(picklock):
    out = picklock("check", SEEDS / "two-at-once.edn", "--format", "jepsen-edn").out
    assert "broke the lock, or its server or network did (bug-or-loss)." in out, out


def test_a_model_is_of_a_lock_that_its_holder_does_not_enter_again(picklock, tmp_path):
    ops = [op(kind, "acquire", 0, 2 * turn + (kind == "ok")) for turn in range(2) for kind in ("invoke", "ok")]
    for model, violated in (("mutex", "lease-exclusion"), ("owner-mutex", "truthful")):
        assert judge(picklock, write(tmp_path / "a.json", ops), "--model", model)[1][violated] == ("violated", "bug-or-loss")


def test_an_overrun_is_nobodys_fault(picklock):
    status, found = judge(picklock, SEEDS / "overrun.edn", *LEASE)
    assert status != 1 and found["lease-exclusion"][0] == "unknown" and found["truthful"][0] != "violated"  # nobody was refused
    status, found = judge(picklock, SEEDS / "overrun.edn", "--model", "lease-lock", "--lease", "600ms")
    assert status == 1 and found["lease-exclusion"] == ("violated", "bug-or-loss")


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
    ops = [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1), op("invoke", "unlock", 1, 2),
           op("ok", "unlock", 1, 3), op("invoke", "lock", 1, 4), op("ok", "lock", 1, 5)]
    path = write(tmp_path / "a.json", ops)
    assert judge(picklock, path, "--model", "mutex")[1]["lease-exclusion"][0] == "unknown"  # nobody was refused
    contended = write(tmp_path / "b.json", ops + [op("invoke", "lock", 2, 6), op("fail", "lock", 2, 7)])
    assert judge(picklock, contended, "--model", "mutex", "--refusals")[1]["lease-exclusion"] == ("holds", None)
    assert judge(picklock, path, "--model", "owner-mutex")[1]["lease-exclusion"][0] == "violated"


def test_what_was_never_answered_may_have_happened(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("info", "lock", 0, 1), op("invoke", "lock", 2, 2), op("fail", "lock", 2, 3)])
    assert judge(picklock, path, "--refusals")[1]["truthful"][0] == "unknown"


def test_locks_are_apart_and_edn_is_as_json(picklock, tmp_path):
    """Each has a lock of its own: nobody contends, and at one lock it would be violated."""
    ops = [op("invoke", "lock", p, 2 * p, [f"k{p}", None]) | {"x": 1} for p in range(3)] + [op("ok", "lock", p, 10 + p, [f"k{p}", None]) for p in range(3)]
    path = write(tmp_path / "a.json", ops)
    status, found = judge(picklock, path)
    assert found["lease-exclusion"][0] == "unknown"
    one = write(tmp_path / "one.json", [each | {"value": ["k", None]} for each in ops])
    assert judge(picklock, one)[1]["lease-exclusion"][0] == "violated"
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
    for turn in range(180 if LONG else 90):
        model, refusals = ("mutex", "owner-mutex")[turn % 2], turn // 2 % 2 == 1
        ops = drawn(random, model, strangers=0.3 * (turn // 4 % 2))
        path = write(tmp_path / "a.json", ops)
        ran = picklock("check", path, "--format", "jepsen-json", "--model", model, *["--refusals"] * refusals, "--concurrency", "5000")
        explained = is_explained(ops, model, refusals)
        assert ran.status == (2 if explained else 1), f"{path.read_text()}{ran}"
        seen.append((model, refusals, explained))
    assert len(set(seen)) == 8 and all(seen.count(each) > 1 for each in seen), Counter(seen)


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


@pytest.mark.parametrize("is_right", [True, False])
def test_many_processes_at_many_locks(picklock, tmp_path, is_right):
    """More pairs than there are places: whoever has had his answers, and has no lock, needs none."""
    path, ops = tmp_path / "a.edn", []
    for lock in range(1001):
        for process in range(11):
            ops += [(process, kind, f, lock) for f in ("acquire", "release") for kind in ("invoke", "ok")]
    ops += [(process, kind, "acquire", 3) for process in (0, 1)[:1 if is_right else 2] for kind in ("invoke", "ok")]
    path.write_text("".join(f"{{:process {process} :type :{kind} :f :{f} :value [{lock} nil] :time {time}000}}\n"
                            for time, (process, kind, f, lock) in enumerate(ops)))
    status, found = judge(picklock, path, "--refusals", "--model", "owner-mutex")
    assert status == (2 if is_right else 1) and ("violated" in {verdict for verdict, _ in found.values()}) != is_right, found
    assert picklock("convert", path, "--format", "jepsen-edn", "--to", "knossos", "--out", tmp_path / "b.edn").status == 0
