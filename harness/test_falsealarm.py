"""What `make falsealarm` calls a blame: the tool's own rules, on results made by hand and on a scheme with a planted bug."""

import os
import subprocess
import sys
import time

import pytest
from conftest import BUILD, PATIENCE_S, ROOT, stat_of
from falsealarm import ALLOWED, PROFILES, WITHOUT_PROXY, blamed_on_schemes, blames, burners, runs, safe_schemes

CAUSES = blamed_on_schemes()


def document(scheme, cause, verdict="violated", expected=None):
    return {"results": [{"scheme": scheme, "scenario": "stress", "properties": [
        {"property": "progress", "verdict": verdict, "expected": expected, "cause": cause}]}]}


def test_every_safe_scheme_has_its_row():
    assert set(safe_schemes()) == set(ALLOWED)
    for allowed in ALLOWED.values():
        for cause, (profiles, why) in allowed.items():
            assert cause in CAUSES and profiles <= set(PROFILES) and why


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scheme", ALLOWED)
def test_a_bug_is_a_blame_whatever_strikes(scheme, profile):
    for cause in ("stuck", "unlock-bug", "acquire-bug", "foreign-extend", "split-grant", "unreleased", "no-expiry"):
        found, _, verdicts = blames(profile, document(scheme, cause), CAUSES)
        assert [each[3] for each in found] == [cause] and verdicts == 1


@pytest.mark.parametrize("made", [
    document("redlock", "overrun"), document("redlock", "leftover"), document("redlock", "lost-grant"),
    document("set-nx-px-cad", "late-grant"), document("redlock", None, "holds"),
    document("redlock", "stuck", expected="violated"), document("watchdog-guarded", "no-notice")])
def test_what_is_nobodys_or_rightly_told_is_none(made):
    assert blames("pause", made, CAUSES)[0] == []


def test_a_notice_that_nothing_held_up_is_owed():
    assert blames("none", document("watchdog-guarded", "no-notice"), CAUSES)[0]
    assert blames("none", document("redlock", "late-grant"), CAUSES)[0]


@pytest.mark.parametrize("scheme, cause", [("redlock", "late-grant"), ("watchdog-guarded", "late-grant"), ("watchdog-guarded", "no-notice")])
def test_a_slow_clock_is_rightly_told_where_it_is_seen(scheme, cause):
    slow = document(scheme, cause)
    slow["results"][0]["properties"][0]["witness"] = ["c1's clock loses 80.9 ms every second, and by it the lease ends later."]
    assert blames("drift", slow, CAUSES)[0] == []
    assert blames("drift", document(scheme, cause), CAUSES)[0] and blames("none", slow, CAUSES)[0]


def test_unknown_is_no_verdict():
    assert blames("none", document("redlock", None, "unknown"), CAUSES) == ([], [], 0)


def test_every_scheme_meets_every_profile():
    met, todo = set(), runs(safe_schemes(), 1)
    for _ in range(len(ALLOWED) * len(PROFILES)):
        profile, words = next(todo)
        met.add((profile, words[words.index("--scheme") + 1]))
    assert met == {(profile, scheme) for profile in PROFILES for scheme in ALLOWED}


@pytest.mark.parametrize("is_short", [False, True])
def test_the_proxys_ends_are_held_by_one_to_three_processes_in_half_of_the_runs(is_short):
    drawn, todo = {}, runs(safe_schemes(), 1, is_short)
    for _ in range(2 * len(ALLOWED) * len(PROFILES)):
        profile, words = next(todo)
        if words[0] != "stress" or "--direct" in words:
            assert "--proxy-processes" not in words
            continue
        processes = int(words[words.index("--proxy-processes") + 1]) if "--proxy-processes" in words else 0
        drawn.setdefault(processes, set()).add(profile)
    assert set(drawn) == {0, 1, 2, 3}
    assert set.union(*(drawn[n] for n in (1, 2, 3))) == set(PROFILES) - WITHOUT_PROXY


def test_the_short_form_is_stress_alone():
    todo = runs(safe_schemes(), 1, True)
    assert {next(todo)[1][0] for _ in range(2 * len(ALLOWED) * len(PROFILES) + 10)} == {"stress"}


def test_burners_end_with_the_script():
    code = "import falsealarm, os; print(falsealarm.burners(1)[0].pid, flush=True); os._exit(0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "harness", text=True, capture_output=True, check=True,
                          timeout=PATIENCE_S)
    pid, until = int(done.stdout), time.monotonic() + PATIENCE_S
    while (stat_of(pid) or "Z")[0] != "Z":  # the kernel ends it as soon as it comes to it
        assert time.monotonic() < until, "a burner outlives the script"
    assert burners(0) == []


def test_a_run_that_blames_fails_with_its_history_kept(tmp_path):
    """A naive scheme is told as safe, and every grant outlives its lease: its release takes another's."""
    words = ["--no-faults", "--pause-after-grant", "100%", "--pause-time", "1300ms", "--lease", "1s", "--clients", "5",
             "--duration", "6s", "--until-violation", "--history"]
    code = ("import falsealarm, json\n"
            "falsealarm.ALLOWED['set-nx-ex-del'] = {}\n"
            "falsealarm.safe_schemes = lambda: ['set-nx-ex-del']\n"
            f"falsealarm.stress_words = lambda scheme, profile, dice, is_short: ['stress', '--scheme', scheme, *{words}]\n"
            "raise SystemExit(falsealarm.main())")
    done = subprocess.run([sys.executable, "-c", code, "--verdicts", "1", "--burners", "0", "--jobs", "1", "--profile", "pause",
                           "--keep", tmp_path / "kept"], cwd=ROOT / "harness", text=True, capture_output=True,
                          timeout=PATIENCE_S, env={**os.environ, "BUILD": str(BUILD)})
    assert done.returncode == 1 and "BLAMED: set-nx-ex-del (stress, pause)" in done.stdout, done
    assert "picklock stress --scheme set-nx-ex-del" in done.stdout and "--seed" in done.stdout
    assert list((tmp_path / "kept").glob("1-set-nx-ex-del-*/histories/*.jsonl")), done
