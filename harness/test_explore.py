"""The explorer on the command line: determinism, bounds, users' schemes; the matrix is in test_matrix.py."""

import json
import re

import pytest
from conftest import ROOT, flat, run
from matrix import MATRIX
from test_plugin import build, mine


def cells(ran):
    return {(row["scheme"], row["fault"], row["property"]): row for row in ran.rows}


def test_its_faults_are_listed():
    """By name, whom they strike, words, and the choices that they are in a schedule."""
    faults = {row["name"]: row for row in run("list", "faults", "--json").json["faults"]}
    choices = {row["name"]: row for row in run("list", "choices", "--json").json["choices"]}
    matrix = run("explore", "--scheme", "setnx-del", "--json", "-").rows
    assert [name for name, row in faults.items() if row["schemes"]] == list(dict.fromkeys(row["fault"] for row in matrix if row["fault"] != "none"))
    assert {row["strikes"] for row in faults.values()} == {"client", "server", "run"}
    assert all(row["summary"] for row in faults.values())
    assert faults["stall"]["choices"] == []
    assert faults["resend"]["choices"] == ["lose-reply", "resend"]
    assert all(choices[name]["fault"] for row in faults.values() for name in row["choices"])
    assert [name for name, row in faults.items() if not row["schemes"]] == ["half-open", "slow-dial"]
    refused = run("explore", "--scheme", "setnx-del", "--fault", "half-open+crash")
    assert refused.status == 64 and "half-open does not apply to a scheme: a scheme has no time-outs of its own" in refused.err, refused
    text = " ".join(run("list", "faults").out.split())
    assert all(name in text and row["summary"] in text for name, row in faults.items())
    assert "picklock list faults" in run("explore", "--help").out


def test_what_this_server_does_not_know_is_said(tmp_path):
    """Judged on a newer server, in the simulation. With the same token for all, DELEX removes another client's lock; what
    redis-server before 8.4 cannot confirm is left open, and what it can is confirmed."""
    text = (ROOT / "sim" / "schemes" / "set_ifeq_delex.c").read_text()
    text = text.replace("scheme_set_ifeq_delex", "scheme_my_lock").replace('"set-ifeq-delex"', '"my-lock"')
    made = build(tmp_path, text.replace("TOKEN_UNIQUE", "TOKEN_FIXED"))
    ran = run("explore", "--scheme", made, "--fault", "slow-work", "--confirm", "--out", tmp_path / "found",
              "--json", tmp_path / "results.json")
    found = {row["property"]: row for row in flat(json.loads((tmp_path / "results.json").read_text()))}
    assert ran.status == 1 and all(row["complete"] for row in found.values()), ran
    assert found["mutual-exclusion"]["confirmed"] is True
    broken = found["release-own"]
    assert (broken["verdict"], broken["cause"], broken["replayed"]) == ("violated", "unlock-bug", True)
    if broken["confirmed"] is None:
        assert broken["unconfirmed"] == "this server does not know DELEX"
        assert "confirmed in part: this server does not know DELEX" in ran.out
    schedule = next((tmp_path / "found").rglob("*release-own*.schedule"))
    assert "delex: yes" in schedule.read_text()


def test_a_plain_del_is_safe_until_something_is_slow():
    found = cells(run("explore", "--scheme", "set-nx-ex-del,set-nx-px-cad", "--json", "-"))
    for scheme in ("set-nx-ex-del", "set-nx-px-cad"):
        assert found[scheme, "none", "mutual-exclusion"]["verdict"] == "holds"
        assert found[scheme, "none", "release-own"]["verdict"] == "holds"
    slow = found["set-nx-ex-del", "stall", "release-own"]
    assert (slow["verdict"], slow["cause"]) == ("violated", "unlock-bug")
    assert found["set-nx-px-cad", "stall", "release-own"]["verdict"] == "holds"
    assert found["set-nx-px-cad", "slow-work", "mutual-exclusion"]["cause"] == "overrun"
    assert found["set-nx-px-cad", "slow-work", "lease-exclusion"]["verdict"] == "holds"


def test_a_section_that_writes_or_counts():
    """What a critical section does is what can be judged of it."""
    def found(section, property):
        ran = run("explore", "--scheme", "set-nx-px-cad,fenced,fenced-late-incr", "--fault", "none,slow-work,stall",
                  "--section", section, "--confirm", "--json", "-")
        assert ran.status == 0, ran.err
        assert all(row["confirmed"] for row in ran.rows if row["verdict"] == "violated")
        return {key[:2]: (row["verdict"], row["cause"]) for key, row in cells(ran).items() if key[2] == property}

    fences = found("write", "fence-order")
    assert fences["fenced", "stall"] == fences["set-nx-px-cad", "none"] == ("holds", None)
    assert fences["fenced-late-incr", "slow-work"] == ("holds", None)
    assert fences["fenced-late-incr", "stall"] == ("violated", "fence-disorder")
    assert fences["set-nx-px-cad", "slow-work"] == ("violated", "stale-write")
    counted = found("counter", "no-lost-update")
    assert counted["set-nx-px-cad", "none"] == counted["fenced", "none"] == ("holds", None)
    assert counted["set-nx-px-cad", "slow-work"] == counted["fenced", "slow-work"] == ("violated", "overrun")
    unasked = found("none", "fence-order")
    assert unasked["fenced", "stall"] == ("unknown", None), "promised, and not looked for"
    assert unasked["set-nx-px-cad", "stall"] == ("not_applicable", None)


def test_a_quorum_is_asked_of_three_servers_and_of_five():
    bounds = {(row["clients"], row["rounds"], row["servers"]) for row in
              run("explore", "--scheme", "redlock", "--fault", "none", "--json", "-").rows}
    assert bounds == {(2, 2, 3), (2, 2, 5)}
    chosen = run("explore", "--scheme", "redlock", "--fault", "none", "--servers", "4", "--json", "-")
    assert {(row["rounds"], row["servers"]) for row in chosen.rows} == {(2, 4)}


def test_the_matrix_answers_what_needs_a_section():
    found = cells(run("explore", "--scheme", "set-nx-px-cad,fenced", "--fault", "none,slow-work", "--json", "-"))
    for scheme in ("set-nx-px-cad", "fenced"):
        assert found[scheme, "none", "no-lost-update"]["verdict"] == "holds"
        lost = found[scheme, "slow-work", "no-lost-update"]
        assert (lost["verdict"], lost["cause"], lost["words"]) == ("violated", "overrun", "overrun only")
    assert found["fenced", "slow-work", "fence-order"]["verdict"] == "holds"
    # Who has no fences promises none.
    assert found["set-nx-px-cad", "slow-work", "fence-order"]["verdict"] == "not_applicable"
    assert found["set-nx-px-cad", "slow-work", "fence-order"]["why"] == "the scheme makes no such promise"
    assert all(row["complete"] for row in found.values())


@pytest.mark.parametrize("words", [["--jobs", "1"], ["--full-states"], *(
    pytest.param(words, marks=pytest.mark.long("two of four")) for words in (["--jobs", "3"], ["--seed", "99"]))])
def test_the_result_does_not_depend_on(words):
    """Not on the number of jobs, not on the fingerprints."""
    def without_time(ran):
        return [{k: v for k, v in row.items() if k not in ("seconds", "expected_omissions")}
                for row in ran.rows]
    some = ["explore", "--scheme", "set-nx-ex-del,stamp-getset,redlock", "--fault", "none,stall,crash",
            "--json", "-"]
    assert without_time(run(*some)) == without_time(run(*some, *words))


@pytest.mark.parametrize("scheme", ["set-nx-ex-del", "watch-multi-del", *(pytest.param(scheme, marks=pytest.mark.long("C tests compare all")) for scheme in ("stamp-getset", "redlock"))])
def test_reductions_change_no_verdict(scheme):
    some = ["explore", "--scheme", scheme, "--fault", "none,stall,crash,lose-reply", "--json", "-"]
    some += ["--servers", "3"] if scheme == "redlock" else []  # five are too many without reductions
    reduced, whole = (cells(run(*some, *more)) for more in ([], ["--no-reductions"]))
    assert reduced.keys() == whole.keys()
    for key, row in reduced.items():
        assert (row["verdict"], row["witness_steps"]) == (whole[key]["verdict"], whole[key]["witness_steps"]), key
        assert row["states"] <= whole[key]["states"]


@pytest.mark.parametrize("world", ["sim", "redis"])
def test_a_witness_is_a_schedule_that_replays(tmp_path, picklock, world):
    ran = run("explore", "--scheme", "set-nx-ex-del", "--fault", "stall", "--out", tmp_path / "found")
    schedules = sorted((tmp_path / "found").rglob("*.schedule"))
    assert ran.status == 0 and schedules, ran
    for schedule in schedules:
        again = picklock("replay", schedule, "--on", world, "--fail-on", "any", "--json", "-")
        assert again.status == 1 and again.rows[0]["trouble"] is None, (schedule, again)


def test_shards_are_the_whole_in_parts():
    some = ["explore", "--scheme", "set-nx-ex-del,stamp-getset", "--json", "-"]
    whole, found = cells(run(*some)), {}
    for number in (1, 2, 3):
        part = run(*some, "--shard", f"{number}/3")
        assert part.json["shard"]["number"] == number and part.json["shard"]["of"] == 3
        assert part.json["shard"]["whole"] == len({key[:2] for key in whole})
        assert not found.keys() & cells(part).keys()
        found.update(cells(part))
    assert {key: row["words"] for key, row in found.items()} == {key: row["words"] for key, row in whole.items()}


# An overrun is nobody's fault, a server that forgets the deployment's, a plain DEL the scheme's.
@pytest.mark.parametrize("scheme, fault, failing", [
    ("set-nx-px-cad", "slow-work", {"any"}),
    ("set-nx-px-cad", "restart-empty", {"deployment", "bug", "any"}),
    ("set-nx-ex-del", "slow-work", {"scheme", "bug", "any"}),
])
def test_nothing_fails_unless_somebody_says_whose_fault(scheme, fault, failing):
    for fail_on in (None, "never", "scheme", "deployment", "bug", "any"):
        more = ["--fail-on", fail_on] if fail_on else []
        ran = run("explore", "--scheme", scheme, "--fault", fault, "--json", "-", *more)
        assert ran.status == (fail_on in failing), (fail_on, ran)
        rows = ran.rows
        assert any(row["as_expected"] is False for row in rows) == (fail_on in failing)
        assert {row["fail_on"] for row in rows} == {fail_on or "never"}


def test_of_a_users_scheme_its_own_faults_fail(tmp_path):
    good = build(tmp_path, mine())
    bad = build(tmp_path, mine("bad").replace("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);"), "bad")
    for scheme, fault, status in [(good, "slow-work,restart-empty", 0), (bad, "slow-work", 1)]:
        ran = run("explore", "--scheme", scheme, "--fault", fault)
        assert ran.status == status and "Where nothing was expected, --fail-on scheme said what counts as a failure." in ran.out, ran
    assert run("explore", "--scheme", good, "--fault", "restart-empty", "--fail-on", "bug").status == 1
    assert run("explore", "--scheme", bad, "--fault", "slow-work", "--fail-on", "never").status == 0


def test_a_users_scheme_is_explored_like_one_of_the_table(tmp_path):
    good = run("explore", "--scheme", build(tmp_path, mine()), "--confirm", "--json", "-")
    known = run("explore", "--scheme", "set-nx-px-cad", "--json", "-")
    ours, theirs = ({key[1:]: (row["verdict"], row["cause"], row["witness_steps"])
                     for key, row in cells(ran).items()} for ran in (good, known))
    assert ours == theirs
    assert all(row["confirmed"] for row in good.rows if row["verdict"] == "violated")


def test_a_page_without_a_run_folder_has_its_diagrams(tmp_path):
    """A diagram for each cell that is not safe, as in a run folder, and no path to what is not there; nothing is left behind."""
    words = ["explore", "--scheme", "set-nx-ex-del", "--fault", "none,slow-work,stall"]
    room = tmp_path / "room"
    room.mkdir()
    ran = run(*words, "--html", tmp_path / "page.html", "--json", tmp_path / "results.json", env={"TMPDIR": str(room)})
    page, whole = (tmp_path / "page.html").read_text(), run(*words, "--out", tmp_path / "runs", "--html", tmp_path / "whole.html")
    drawn = re.findall("<svg class=\"timeline.*?</svg>", page, re.S)
    assert ran.status == whole.status == 0 and len(drawn) >= 2 and drawn == re.findall("<svg class=\"timeline.*?</svg>", (tmp_path / "whole.html").read_text(), re.S)
    assert "histories/" not in page and "schedules/" not in page and "histories/" not in (tmp_path / "results.json").read_text()
    assert list(room.iterdir()) == []


def test_a_page_whose_diagrams_cannot_be_drawn_is_there_all_the_same(tmp_path):
    """The folder for temporary files is not there: the page has all but its diagrams, and the status says that something went wrong."""
    page = tmp_path / "page.html"
    ran = run("explore", "--scheme", "set-nx-ex-del", "--fault", "slow-work", "--html", page, env={"TMPDIR": str(tmp_path / "nowhere")})
    assert ran.status == 70 and "no folder for the diagrams" in ran.err
    assert "unlock-bug" in page.read_text() and "<svg class=\"timeline" not in page.read_text() and "histories/" not in page.read_text()


CUT = ["explore", "--scheme", "set-nx-ex-del", "--clients", "5", "--rounds", "3", "--fault", "stall", "--states", "20000"]


def without_times(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_behind_a_limit_smaller_bounds_and_random_runs_are_tried(tmp_path):
    ran = run(*CUT, "--confirm", "--json", tmp_path / "results.json", "--markdown", tmp_path / "comment.md",
              "--junit", tmp_path / "junit.xml", "--html", tmp_path / "page.html", "--witness")
    assert ran.status == 2 and "not every cell was searched to its end" in ran.err
    rows = flat(json.loads((tmp_path / "results.json").read_text()))
    by_name = {row["property"]: row for row in rows}
    broken, unknown, stuck = (by_name[name] for name in ("lease-exclusion", "always-expires", "progress"))
    # as short as the committed matrix says of three clients, which is not proved of five
    assert (broken["verdict"], broken["cause"], broken["witness_steps"]) == ("violated", "unlock-bug", 14)
    assert (broken["found_by"], broken["shortest"], broken["replayed"], broken["confirmed"]) == \
        ("3 clients with 1 round", False, True, True)
    tried = broken["tried"]
    assert "4 clients with 1 round" in tried and " random runs with seed 0" in tried
    assert unknown["verdict"] == "unknown" and unknown["found_by"] is None
    assert unknown["why"].startswith("the limit of states was reached; tried: ")
    # that nobody can get the lock in a smaller bound says nothing of a larger one
    assert (stuck["verdict"], stuck["why"]) == ("unknown", "the limit of states was reached")
    assert "broken (unlock-bug, at most 10 steps; late-grant, at most 6 steps)" in ran.out and "\n    then tried: " in ran.out
    assert "in 14 steps, not proved to be the shortest, found by 3 clients with 1 round\n" in ran.out
    for name in ("comment.md", "junit.xml", "page.html"):
        assert "random runs with seed 0" in (tmp_path / name).read_text(), name


def test_what_is_tried_behind_a_limit_is_the_same_again():
    first, again = (run(*CUT, "--json", "-").rows for _ in range(2))
    assert without_times(first) == without_times(again)


def test_a_search_that_comes_to_its_end_tries_nothing():
    ran = run("explore", "--scheme", "set-nx-ex-del", "--fault", "stall", "--json", "-")
    assert ran.status == 0
    assert all(row["tried"] is None and row["found_by"] is None for row in ran.rows)
    assert all(row["shortest"] for row in ran.rows if row["verdict"] == "violated")


def test_out_of_states_is_unknown_not_safe():
    ran = run("explore", "--scheme", "redlock", "--fault", "failover", "--states", "1000", "--json", "-")
    verdicts = {row["verdict"] for row in ran.rows}
    assert "holds" not in verdicts and "unknown" in verdicts
    assert not any(row["complete"] for row in ran.rows)
    assert ran.status == 2, ran


@pytest.mark.parametrize("words, says", [
    (["--scheme", "nope"], "unknown scheme"),
    (["--fault", "stal"], "did you mean 'stall'?"),
    (["--clients", "7"], "--clients wants 1 to 6"),
    (["--section", "reads"], "--section wants none, write or counter"),
    (["--budget", "1"], "no unit"),
    (["--shard", "5/4"], "there is no shard 5 of 4"),
    (["--shard", "four"], "--shard wants K/N"),
    (["--fail-on", "bugs"], "did you mean 'bug'?"),
    (["more"], "takes no operand"),
    (["--fault", ""], "--fault '' has an empty item"),
    (["--fault", "stall,,crash"], "has an empty item"),
    (["--fault", "stall+"], "has an empty item"),
    (["--scheme", ""], "--scheme '' has an empty item"),
    (["--scheme", "setnx-del,"], "has an empty item"),
])
def test_bad_usage(words, says):
    ran = run("explore", *words)
    assert ran.status == 64 and says in ran.err and ran.out == "", ran


def test_the_committed_matrix_is_no_scenario(picklock):
    """`picklock run scenarios/*.yaml` skips it, and says so."""
    ran = picklock("run", "--on", "sim", MATRIX, ROOT / "scenarios" / "hand-over.yaml", "--json", "-")
    assert ran.status == 0 and "matrix.yaml" in ran.err, ran
    assert {row["scenario"] for row in ran.rows} == {"hand-over"}


def test_one_client_alone_is_not_called_safe():
    """Two holds cannot overlap where there is one client; of what one client can break, the verdict stands."""
    ran = run("explore", "--clients", "1", "--rounds", "1", "--scheme", "set-nx-px-cad", "--fault", "none", "--fail-on",
              "any", "--json", "-")
    verdicts = {row["property"]: row["verdict"] for row in ran.rows}
    assert ran.status == 2 and "with two clients or more" in ran.err, ran
    for name in ("mutual-exclusion", "lease-exclusion", "release-own", "extend-own", "no-lost-update"):
        assert verdicts[name] == "unknown", verdicts
    assert verdicts["always-expires"] == verdicts["progress"] == "holds", verdicts
    told = run("explore", "--clients", "1", "--scheme", "set-nx-px-cad", "--fault", "none")
    assert told.status == 2 and "unknown (only one client)" in told.out, told
    two = run("explore", "--clients", "2", "--rounds", "1", "--scheme", "set-nx-px-cad", "--fault", "none")
    assert two.status == 0 and "safe" in two.out and "only one client" not in two.out, two


def test_what_a_drifting_clock_does_to_stamps():
    """Who runs fast finds a stamp past that lasts: on real Redis, too."""
    ran = run("explore", "--scheme", "stamp-del-setnx,set-nx-px-cad", "--fault", "none,client-drift", "--confirm")
    [stamps, plain] = ran.out.split("\n\n")[:2]
    assert "none          safe" in stamps and "client-drift  broken (unlock-bug, 18 steps; client-clock, 17 steps)" in stamps, ran
    assert "confirmed" in stamps and plain.count(" safe ") == 2, ran
