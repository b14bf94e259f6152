"""Histories of both versions. Those of version 1 stay readable: committed ones, one at least for each cause, are judged as the program judged them that wrote
them (judged.json is its answer, sentences included; but `truthful` of calls and returns alone, which it said to hold, is unknown). Under a head of version 2 the same lines say the same."""

import json
import re
import subprocess

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


def test_the_page_of_examples_says_what_the_program_says(picklock):
    """sim/docs/EXAMPLES.md: every cause that there is, each with the words of a history that has it; and those that calls and returns alone can have.
    The sentences stand on the terminal; where others do, the command has --json."""
    page = (ROOT / "sim" / "docs" / "EXAMPLES.md").read_text()
    rows = re.findall(r"^## (Calls and returns alone: )?`([^`]+)`\n\n`picklock check ([^`]+)`: `([^`]+)` is violated\.\n\n```\n(.+?)\n```$", page, re.M | re.S)
    causes = set(re.findall(r'^CAUSE\(\w+, "([a-z-]+)"', (ROOT / "sim" / "checks" / "causes.def").read_text(), re.M)) - {"none"}
    assert len(rows) == page.count("\n## ") and {cause for alone, cause, *_ in rows if not alone} == causes and len(causes) > 20
    assert {cause for alone, cause, *_ in rows if alone} == {"bug-or-loss", "fence-disorder", "late-grant", "overrun", "untrue-answer"}
    for _, cause, words, property_name, witness in rows:
        is_json, (path, *options) = words.endswith(" --json -"), words.removesuffix(" --json -").split()
        found, = (found for found in json.loads(picklock("check", ROOT / path, *options, "--json", "-").out)["results"][0]["properties"]
                  if found["property"] == property_name)
        assert (found["cause"], found["verdict"], found["witness"]) == (cause, "violated", witness.split("\n")), words
        told = " ".join(picklock("check", ROOT / path, *options).out.split())
        shown = " ".join(f"{property_name} is violated ({cause}) {witness}".split())
        assert (shown in told) != is_json, f"{words}: {told}"


# --- version 2: a foreign lock whose release script deletes whatever is there; its holds were inferred from the wire ---

FOREIGN = ROOT / "sim" / "test" / "history2" / "script-deletes-anothers.jsonl"


def test_a_foreign_lock_is_judged_by_effects_and_promises(picklock):
    found = {row["property"]: row for row in judge(picklock, FOREIGN)["properties"]}
    assert found["lease-exclusion"]["cause"] == found["release-own"]["cause"] == "unlock-bug"
    words = " ".join(found["release-own"]["witness"])
    assert "A sent EVALSHA 9f86d081884c7d65 1 my-lock b6c2f0de91a74c6f8e5d3a2b1c0f9e8d" in words
    assert found["mutual-exclusion"]["verdict"] == "violated" and found["always-expires"]["verdict"] == "holds"
    for name in ("loss-notice", "fence-order", "truthful", "fresh-grant"):
        assert found[name]["verdict"] == "not_applicable", name


def test_it_is_a_row_of_its_program(picklock):
    row = picklock("check", FOREIGN, "--json", "-").json["results"][0]
    assert (row["scheme"], row["worker"], row["inferred"]) == ("somebody's lock", "somebody's lock", True)


def test_its_timeline_shows_names_and_effects(picklock):
    drawn = picklock("check", FOREIGN, "--timeline").out
    assert "A acquires: SET my-lock A1 NX PX 10000" in drawn
    assert "the server executes A's SET → OK (created)" in drawn
    assert "A releases: EVALSHA 9f86d081884c7d65 1 my-lock A1" in drawn
    assert "the server executes A's EVALSHA → 1 (deleted), removes B's key" in drawn
    assert "A's key expires" in drawn and "A runs in web 1; B and C run in web 2." in drawn


def test_without_promises_it_is_judged_by_what_it_does(picklock, tmp_path):
    path = tmp_path / "unstated.jsonl"
    path.write_text(FOREIGN.read_text().replace('"promises":["expiry","token"],', "", 1))
    found = {row["property"]: row["verdict"] for row in judge(picklock, path)["properties"]}
    assert found["lease-exclusion"] == "violated" and found["always-expires"] == "holds"


def test_what_nobody_saw_is_unknown(picklock, tmp_path):
    path = tmp_path / "unseen.jsonl"
    lines = [json.loads(line) for line in FOREIGN.read_text().splitlines()]
    for line in lines:
        line.pop("effects", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = picklock("check", path)
    assert ran.status == 2 and "nobody saw what it did to the lock key" in ran.out


def blocks():
    """The commands of each example of the page, and what stands below them."""
    page = (ROOT / "sim" / "docs" / "HISTORIES.md").read_text()
    for block in re.findall(r"^```console\n(.*?)^```", page, re.M | re.S):
        here, check, said = re.fullmatch(r"\$ (cat >\w+\.jsonl <<END\n.*?\nEND)\n\$ picklock check (\w+\.jsonl)\n(.*)", block, re.S).groups()
        yield here, check, said.rstrip()


def test_the_histories_of_the_page_are_whole_and_say_what_stands_below_them(picklock, tmp_path):
    """And what is said of them without the lines that tell what the server did."""
    statuses = []
    for here, name, said in blocks():
        subprocess.run(["bash", "-c", here], cwd=tmp_path, check=True)
        ran = picklock("check", tmp_path / name)
        assert "\n".join(line.rstrip() for line in ran.out.rstrip().splitlines()) == said, ran
        head, *events, _ = map(json.loads, (tmp_path / name).read_text().splitlines())
        told = [event | {"i": i} for i, event in enumerate(event for event in events if event["kind"] != "execute")]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in [head, *told, {"end": len(told)}]))
        statuses.append((ran.status, picklock("check", tmp_path / name).status))
    assert statuses == [(0, 2), (1, 1)]


TWO_LOCKS = {"history": "picklock.history/2", "scheme": "", "program": "my lock", "promises": ["expiry", "token"], "scenario": "by hand", "world": "redis",
             "server_version": "", "clients": 3, "servers": 1, "locks": 2, "lease_us": 300000, "unit_us": 1000, "clock_error_us": 0, "seed": "1",
             "names": ["A", "B", "C"]}


def judged(picklock, path, *steps):
    """(CLIENT, ATTEMPT, OPERATION, LOCK, RESULT): called and answered, a millisecond each."""
    events = [{"kind": kind, "client": client, "attempt": attempt, "op": op, "lock": lock} | ({"result": result} if kind == "return" else {})
              for client, attempt, op, lock, result in steps for kind in ("call", "return")]
    lines = [TWO_LOCKS, *({"i": i, "t": 1000 * i} | event for i, event in enumerate(events)), {"end": len(events)}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return picklock("check", path)


def test_a_client_may_have_two_locks_at_once(picklock, tmp_path):
    """Each is judged by itself: A's second lock is none of the first, and B gets neither while A has it. Where the lock is left out of a return, its
    attempt says which it was."""
    both = ((0, 1, "acquire", 0, "granted"), (0, 2, "acquire", 1, "granted"))
    ran = judged(picklock, tmp_path / "a.jsonl", *both, (1, 1, "acquire", 0, "refused"), (0, 1, "release", 0, "released"), (1, 2, "acquire", 0, "granted"),
                 (0, 2, "release", 1, "released"), (0, 3, "acquire", 1, "granted"))
    assert ran.status == 2 and "two clients here" not in ran.out and "is not in the history" not in ran.out, ran
    for attempt, lock in ((1, 0), (2, 1)):
        released = both + ((0, attempt, "release", lock, "released"),)
        ran = judged(picklock, tmp_path / "a.jsonl", *released, (1, 1, "acquire", lock, "granted"))
        assert ran.status == 2, ran
        ran = judged(picklock, tmp_path / "a.jsonl", *released, (1, 1, "acquire", 1 - lock, "granted"))
        assert ran.status == 1 and "lease-exclusion is violated (bug-or-loss)" in ran.out, ran
        text = (tmp_path / "a.jsonl").read_text()
        (tmp_path / "b.jsonl").write_text("".join(re.sub(r', "lock": 1(, "result")', r"\1", line) for line in text.splitlines(True)))
        assert (tmp_path / "b.jsonl").read_text() != text and picklock("check", tmp_path / "b.jsonl").out == ran.out


def test_who_asks_again_holds_what_he_held(picklock, tmp_path):
    """And may go back to it, or release it by the attempt that was refused."""
    asked = ((0, 1, "acquire", 0, "granted"), (0, 2, "acquire", 0, "refused"))
    granted = (1, 1, "acquire", 0, "granted")
    for attempt in (1, 2):
        ran = judged(picklock, tmp_path / "a.jsonl", *asked, (0, attempt, "release", 0, "released"), granted)
        assert ran.status == 2 and "is not in the history" not in ran.out and "went back" not in ran.out, ran
    ran = judged(picklock, tmp_path / "a.jsonl", *asked, granted)
    assert ran.status == 1 and "lease-exclusion is violated (bug-or-loss)" in ran.out, ran


def test_two_clients_may_have_two_locks(picklock, tmp_path):
    """The same, told as it must be."""
    ran = judged(picklock, tmp_path / "a.jsonl", (0, 1, "acquire", 0, "granted"), (1, 1, "acquire", 1, "granted"), (0, 1, "release", 0, "released"),
                 (2, 1, "acquire", 1, "granted"))
    assert ran.status == 1 and "lease-exclusion is violated (bug-or-loss)" in ran.out, ran
