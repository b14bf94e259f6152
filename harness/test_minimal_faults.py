"""Minimal fault sets (`--frontier`) on the command line: what is printed, its rows, its limits, determinism."""

import json

import pytest
from conftest import run
from workers import REDIS_PY, needs_redis_py

SOME = ["explore", "--frontier", "--scheme", "set-nx-ex-del,set-nx-px-cad", "--fault",
        "stall,lose-reply,crash,resend,evict"]


def rows(ran):
    return [{k: v for k, v in row.items() if k not in ("seconds", "expected_omissions")}
            for row in ran.rows]


def members(row):
    return [] if row["fault"] == "none" else sorted(row["fault"].split("+"))


def is_part(part, whole):
    return len(part) < len(whole) and all(part.count(fault) <= whole.count(fault) for fault in part)


def test_it_is_read_as_sentences():
    ran = run(*SOME)
    assert ran.status == 0, ran
    plain, token = ran.out.split("\n\n")
    assert plain.startswith("set-nx-ex-del: clients 3, rounds 2, servers 1; ")
    broken = next(line for line in plain.splitlines() if line.startswith("  release-own: "))
    assert "stall (unlock-bug, 10 steps); " in broken and "crash" not in broken
    assert "  release-own: holds against any two of: stall, lose-reply, resend, crash, evict" in token


def test_a_row_is_there_only_when_no_part_of_it_breaks_the_property():
    results = rows(run(*SOME, "--json", "-"))
    assert {len(members(row)) for row in results} == {0, 1, 2}
    by_property = {}
    for row in results:
        by_property.setdefault((row["scheme"], row["property"]), []).append(row)
    for found in by_property.values():
        broken = [members(row) for row in found if row["verdict"] == "violated"]
        assert not any(is_part(part, members(row)) for row in found for part in broken)
    assert all(row["replayed"] for row in results if row["verdict"] == "violated")
    assert any(row["fault"] == "stall+stall" for row in results)


def test_two_faults_where_one_is_not_enough():
    results = rows(run("explore", "--frontier", "--scheme", "stamp-getset", "--fault", "stall,crash",
                       "--states", 3000000, "--json", "-"))
    found = {row["fault"]: row["verdict"] for row in results if row["property"] == "lease-exclusion"}
    assert (found["none"], found["stall"], found["crash"]) == ("holds",) * 3
    assert found["stall+crash"] == "violated" and "unknown" not in found.values()


@pytest.mark.parametrize("words", [["--jobs", "1"], pytest.param(["--jobs", "3"], marks=pytest.mark.long("one of three")), pytest.param(["--seed", "99"], marks=pytest.mark.long("one of three"))])
def test_the_result_does_not_depend_on(words):
    assert run(*SOME).out == run(*SOME, *words).out
    assert rows(run(*SOME, "--json", "-")) == rows(run(*SOME, *words, "--json", "-"))


def test_out_of_limits_is_unknown_not_safe():
    ran = run("explore", "--frontier", "--scheme", "redlock", "--fault", "failover", "--states", "1000")
    assert ran.status == 2 and "not every cell" in ran.err, ran
    assert "unknown: " in ran.out and "the limit of states was reached" in ran.out
    assert "holds" not in ran.out


def test_the_witnesses_of_pairs_are_confirmed_on_real_redis(tmp_path):
    ran = run("explore", "--frontier", "--scheme", "stamp-getset", "--fault", "stall,crash",
              "--states", 3000000, "--confirm", "--out", tmp_path / "found", "--json", "-")
    assert ran.status == 0, ran
    violated = [row for row in rows(ran) if row["verdict"] == "violated"]
    assert any(len(members(row)) == 2 for row in violated)
    assert all(row["confirmed"] is True for row in violated)
    assert len(list((tmp_path / "found").rglob("*.schedule"))) == len(violated)


@pytest.mark.parametrize("words, says", [
    (["--fault", "stall+crash"], "--frontier makes the pairs itself"),
    (["--fault", "stal"], "did you mean 'stall'?"),
    (["--scheme", "nope"], "unknown scheme"),
    (["--fault", ""], "has an empty item"),
])
def test_bad_usage(words, says):
    ran = run("explore", "--frontier", *words)
    assert ran.status == 64 and says in ran.err and ran.out == "", ran


def test_without_faults_it_says_so():
    ran = run("explore", "--frontier", "--scheme", "setnx-del", "--fault", "none", "--rounds", "1")
    assert "mutual-exclusion: holds without faults\n" in ran.out and "any two of" not in ran.out, ran

# --- of a worker, by asking it once ---


def frontier(tmp_path, *more):
    """({property: the smallest sets that violate it}, the rows)"""
    out = tmp_path / "frontier.json"
    ran = run("explore", "--worker", REDIS_PY, "--clients", 2, "--rounds", 1, "--frontier", "--json", out, *more)
    rows = json.loads(out.read_text())["results"]
    broken = {}
    for row in rows:
        for one in row["properties"]:
            if one["verdict"] == "violated":
                broken.setdefault(one["property"], set()).add(frozenset(row["fault"].split("+")))
    return ran, broken, rows


@needs_redis_py
@pytest.mark.long("6 s of CPU: as of a scheme, above")
def test_two_faults_where_one_is_not_enough_of_a_worker(tmp_path):
    """A slow section alone outlives its lease, a fast server alone ends it no sooner than the section: only both give one lock to two within
    their leases. What one fault violates is not asked of two."""
    ran, broken, rows = frontier(tmp_path, "--fault", "slow-work,server-drift,lose-reply")
    assert ran.status == 0 and len(rows) == 10, ran
    assert broken["lease-exclusion"] == {frozenset(("slow-work", "server-drift"))}, ran
    assert broken["mutual-exclusion"] == {frozenset(("slow-work",))}, ran
    assert "release-own: holds against any two of: slow-work, lose-reply, server-drift" in ran.out, ran
    assert "note: Decided by asking once: " in ran.out and not any(one["verdict"] == "unknown" for row in rows for one in row["properties"])


@needs_redis_py
@pytest.mark.long("a minute")
def test_every_two_faults_of_a_worker(tmp_path):
    """redis-py's lock releases only its own, never stands still for ever, and always expires, whatever two faults strike."""
    ran, broken, rows = frontier(tmp_path)
    assert ran.status == 1 and len(rows) == 1 + 22 + 22 * 23 // 2, ran
    assert not {"release-own", "always-expires", "progress", "extend-own", "no-crash"} & set(broken), ran
    assert all(one["verdict"] != "unknown" for row in rows for one in row["properties"]), ran
    causes = {one["cause"] for row in rows for one in row["properties"] if one["verdict"] == "violated"}
    assert causes <= {"overrun", "late-grant", "early-expiry", "lost-grant", "leftover", "untrue-answer"}, ran
