"""The command line: what it prints, what it refuses, and the exit status of each."""

import json
import re
from xml.etree import ElementTree

import pytest
from conftest import ROOT, ask, run, server, until

GOOD = (ROOT / "scenarios" / "expired-lease-double-delete.yaml").read_text()


def test_without_arguments_it_says_how_to_use_it():
    ran = run()
    assert ran.status == 64 and "usage: picklock" in ran.err and ran.out == ""


COLUMNS = 100


def test_every_command_has_help_that_fits():
    """Every line of it in a window of 100 columns."""
    summary = run("--help").out
    commands = re.findall(r"^  ([a-z]+)  +\S", summary, re.M)
    assert {"run", "stress", "explore", "test", "list"} <= set(commands)
    for command in commands:
        ran = run(command, "--help")
        assert ran.status == 0 and f"usage: picklock {command}" in ran.out and ran.err == ""
        summary += ran.out
    assert not [line for line in summary.splitlines() if len(line) > COLUMNS]


def test_version():
    assert run("--version").out == "picklock 0.1.0\n"


@pytest.mark.parametrize("words, status, says", [
    (["stres"], 64, "did you mean 'stress'?"),
    (["run", "--shceme", "x"], 64, "did you mean '--scheme'?"),
    (["stress", "--update-baselin"], 64, "did you mean '--update-baseline'?"),  # the last one of the longest table
    (["run", "--fault", "stall"], 64, "unknown option '--fault' here; it is an option of explore, test"),
    (["list", "--seed=1"], 64, "unknown option '--seed=1' here; it is an option of run, stress, explore, "),
    (["run", "--fauxx"], 64, "unknown option '--fauxx'; --help lists them"),  # nearer to --wait by nothing but dashes
    (["run", "--scheme", "set-nx-px-cda"], 64, "did you mean 'set-nx-px-cad'?"),
    (["run", "--scheme"], 64, "--scheme wants a value"),
    (["run", "--scheme", "fenced", "--scheme=setnx-del"], 64, "--scheme is given twice: 'fenced' and 'setnx-del'"),
    (["run", "--on", "mars"], 64, "--on wants redis or sim"),
    (["run", "--seed", "x"], 64, "--seed wants a whole number"),
    (["run", "--repeat", "0"], 64, "--repeat wants 1 to"),
    (["run", "--fail-on", "luck"], 64, "--fail-on wants scheme, deployment, bug (either of them), any or never"),
    (["run", "--on", "sim", "--real-time"], 64, "need --on redis"),
    (["run", "no-such.yaml"], 64, "no-such.yaml"),
    (["run", "scenarios"], 64, "directory"),
    (["stress", "--clients", "0"], 64, "--clients wants 1 to 10000"),
    (["stress", "--clients", "10001"], 64, "--clients wants 1 to 10000"),
    (["stress", "--duration", "10"], 64, "no unit"),
    (["stress", "--duration", "10 parsecs"], 64, "unknown unit"),
    (["stress", "--pause", "150%"], 64, "rate from 0% to 100%"),
    (["stress", "--pause", "0.00001%"], 64, "rate from 0% to 100%"),
    (["stress", "--pause", "0x1p2%"], 64, "rate from 0% to 100%"),
    (["stress", "--clients", " 5"], 64, "wants a whole number"),
    (["stress", "--clients", "5x"], 64, "wants a whole number"),
    (["stress", "operand"], 64, "takes no operand"),
    (["stress", "--duration", "25h"], 64, "--duration wants 1ms to 24h, or 0 for no end"),
    (["stress", "--duration", "0"], 64, "--duration 0 wants one --scheme, not 2"),
    (["stress", "--think", "5"], 64, "--think: '5' has no unit"),
    (["stress", "--hold", "8ms..2ms"], 64, "ends before it begins"),
    (["stress", "--worker", "x", "--hold", "8ms"], 64, "--hold does not go with --worker"),
    (["stress", "--locks", "10001"], 64, "--locks wants 1 to 10000"),
    (["stress", "--server-drift", "50%", "--redis", "redis://127.0.0.1:1"], 64, "not ours to bend"),
    (["stress", "--flush-all", "1%", "--redis", "redis://127.0.0.1:1"], 64, "would touch more of the server behind the URL"),
    (["stress", "--client-pause", "1%", "--redis", "redis://127.0.0.1:1"], 64, "--client-pause: \"client-pause\" would touch more"),
    (["explore", "--fault", "slot-begin"], 64, "'slot-begin' is told in histories, and may be a step of a scenario"),
    (["stress", "--worker", "x", "--client-pause", "1%"], 64, "--client-pause does not go with --worker"),
    (["stress", "--worker", "x", "--flush-all", "1%"], 64, "--flush-all does not go with --worker"),
    (["stress", "--client-kill", "1%", "--redis", "redis://127.0.0.1:1"], 64, "would touch more of the server behind the URL"),
    (["stress", "--worker", "x", "--client-kill", "1%"], 64, "--client-kill does not go with --worker"),
    (["check"], 64, "wants one history file"),
    (["check", "no-such.jsonl"], 64, "no-such.jsonl"),
    (["report"], 64, "wants one run folder"),
    (["report", "no-such-folder"], 64, "no-such-folder"),
    (["replay", "no-such.schedule"], 64, "no-such.schedule"),
    (["list", "shemes"], 64, "did you mean 'schemes'?"),
    (["list", "schemes", "faults"], 64, "list takes one kind of thing, not 2"),
    (["list", "scenarios", "--dir", "sim"], 64, "no scenario matches sim/*.yaml"),
    (["run", "late-gant"], 64, "no scenario of that name; did you mean 'late-grant'?"),
    (["test", "python3 x.py", "nothing-like"], 64, "nothing-like: there is no such file, and no scenario of that name"),
    (["run", "elsewhere/late-grant.yaml"], 64, "No such file or directory; picklock has a scenario of that name: late-grant"),
    (["test", "/usr/bin/python3", str(ROOT / "harness" / "conftest.py")], 64, f"quote that as one word: '.. {ROOT}/harness/conftest.py'"),
    (["test", "--once", "python3", "x.py"], 64, "if it belongs to the command, quote that as one word: 'python3 x.py'"),
    (["run", "--scheme", str(ROOT / "harness" / "conftest.py")], 64, "a lock program in any language goes with --worker 'COMMAND'"),
    (["help", "rn"], 64, "did you mean 'run'?"),
])
def test_bad_usage(words, status, says):
    ran = run(*words)
    assert (ran.status, ran.out) == (status, "") and says in ran.err, ran
    assert ran.err.startswith("picklock: ")


def test_help_says_what_counts_as_a_failure():
    """Of a worker something else where a command judges others, too."""
    own = "(default {}; for a worker or a scheme from a file: scheme)"
    says = {"run": own.format("bug"), "stress": own.format("bug"), "explore": own.format("never"), "test": "(default scheme)", "watch": "(default bug)"}
    for command, words in says.items():
        assert f"never {words} --" in " ".join(run(command, "--help").out.split()), command


def test_the_help_of_stress_says_what_goes_with_a_worker():
    """Each rate, and whatever else it names there."""
    text = run("stress", "--help").out
    about = text[text.index("  --worker COMMAND"):text.index("  --clients N")]
    taken, refused = (set(re.findall(r"--[a-z-]+", part)) for part in about.split("only these go with it")[1].split("none of"))
    words = {"--scheme": "redlock", "--shard": "1/2", "--redis": "redis://127.0.0.1:1", "--proxy-processes": "1"}
    values = {"RATE": "1%", "TIME": "1s", "LENGTHS": "5ms"}
    assert len(taken) == 7 and len(refused) == 9
    for option, value in re.findall(r"^  (--[a-z-]+) +(RATE|TIME|LENGTHS|[A-Z][A-Z]*/?,?[A-Z]*|)", text, re.M):
        if value != "RATE" and option not in refused:
            continue
        given = [words.get(option, values.get(value, ""))] if value else []
        ran = run("stress", "--worker", "/nowhere/lock", option, *given)
        says = f"{option} does not go with --worker"
        assert (says in ran.err) == (option not in taken), (option, ran)


def scenario(tmp_path, text, name="expired-lease-double-delete.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("change, line, says", [
    (("lease: 300ms", "lease: 300 parsecs"), "lease", "duration"),
    (("lease: 300ms", "laese: 300ms"), "laese", "did you mean 'lease'?"),
    (("[A, B, C]", "[A, B, A]"), "clients", "A"),
    (("- B acquires", "- B aquires"), "aquires", "did you mean"),
    (("- B acquires", "- D acquires"), "D acquires", "D"),
    (("release-own: violated", "release-won: violated"), "release-won", "did you mean 'release-own'?"),
    (("release-own: violated", "release-own: broken"), "broken", "violated"),
    (("set-nx-ex-del:", "set-nx-ex-dle:"), "set-nx-ex-dle", "did you mean 'set-nx-ex-del'?"),
    (("steps:", "steps: ["), "steps", ""),
])
def test_a_bad_scenario_names_the_place(tmp_path, change, line, says):
    assert change[0] in GOOD, "the test changes what is there"
    text = GOOD.replace(change[0], change[1], 1)
    path = scenario(tmp_path, text)
    ran = run("run", path)
    assert ran.status == 64 and ran.out == "" and says in ran.err, ran
    # file:line:column, and a caret below the line
    place = ran.err.split(str(path), 1)[1].split(":")
    assert place[1].isdigit() and place[2].strip().isdigit(), ran.err
    assert line in text.splitlines()[int(place[1]) - 1] or change[0] == "steps:", ran.err
    assert "^" in ran.err


@pytest.mark.parametrize("content, says", [
    (b"", "empty"),
    (bytes(range(256)) * 8, ""),
    (b"#" * (10 * 1024 * 1024), "at most 262144"),
    (b"- just\n- a list\n", ""),
], ids=["empty", "binary", "10 MB", "a list"])
def test_a_file_that_is_no_scenario(tmp_path, content, says):
    path = scenario(tmp_path, content)
    ran = run("run", path)
    assert ran.status == 64 and str(path) in ran.err and says in ran.err, ran
    assert ran.out == "" and len(ran.err) < 2500


def test_all_bad_scenarios_are_named_at_once(tmp_path):
    one = scenario(tmp_path, b"", "one.yaml")
    two = scenario(tmp_path, b"nmae: two\n", "two.yaml")
    ran = run("run", one, two)
    assert ran.status == 64 and str(one) in ran.err and str(two) in ran.err, ran


def test_an_expectation_that_fails_is_exit_1(tmp_path, picklock):
    text = GOOD.replace("release-own: violated", "release-own: holds", 1)
    ran = picklock("run", scenario(tmp_path, text), "--scheme", "set-nx-ex-del", "--json", "-")
    assert ran.status == 1, ran
    assert ran.json["results"][0]["as_expected"] is False


def test_a_violation_that_nobody_expected_is_exit_1(tmp_path, picklock):
    """What is not listed may not be violated: a regression cannot hide behind a short list."""
    text = GOOD[:GOOD.index("expect:")] + "expect:\n  set-nx-ex-del: {no-crash: holds}\n"
    ran = picklock("run", scenario(tmp_path, text), "--json", "-")
    assert ran.status == 1 and ran.json["results"][0]["as_expected"] is False, ran


def test_each_difference_from_what_a_scenario_lists_is_told(tmp_path, picklock):
    """What is listed and is otherwise, and what is violated and is not listed: in each format, with what was expected."""
    text = GOOD[:GOOD.index("expect:")] + "expect:\n  set-nx-px-cad: { lease-exclusion: violated, release-own: violated }\n"
    path, unlisted = scenario(tmp_path, text), "mutual-exclusion is violated (overrun), expected holds, since the scenario does not list it"
    others = "lease-exclusion holds, expected violated; release-own holds, expected violated"
    ran = picklock("run", "--on", "sim", path, "--junit", tmp_path / "junit.xml", "--markdown", tmp_path / "report.md")
    assert ran.status == 1 and f"  {unlisted}\n    A got the lock" in ran.out, ran
    assert f" Other than expected, too: {others} 1 run: " in " ".join(ran.out.split()), ran
    junit, markdown = (tmp_path / "junit.xml").read_text(), (tmp_path / "report.md").read_text().replace("\\", "")
    assert f'message="{unlisted}"' in junit and others in junit, junit
    assert unlisted in markdown and others in markdown, markdown
    listed = text.replace("lease-exclusion: violated, release-own: violated", "mutual-exclusion: violated, lease-exclusion: violated")
    ran = picklock("run", "--on", "sim", scenario(tmp_path, listed))
    assert "\n  lease-exclusion holds, expected violated\n\n" in ran.out and "does not list" not in ran.out + ran.err, ran


def test_reality_that_diverges_is_exit_2_and_says_where(tmp_path, picklock):
    text = GOOD.replace("- B acquires", "- B goes on", 1)
    path = scenario(tmp_path, text)
    ran = picklock("run", path, "--json", "-")
    assert ran.status == 2, ran
    row = ran.json["results"][0]
    assert row["verdict"] == "unknown" and f"{path}:" in row["trouble"] and "B goes on" in row["trouble"]


def test_a_scheme_that_a_scenario_does_not_speak_about_is_not_applicable(tmp_path, picklock):
    """Nobody expected anything of it, so that nothing can fail; and where nothing else is, nothing was concluded."""
    head, expect = GOOD.split("expect:")
    naive = next(line for line in expect.splitlines() if "set-nx-ex-del:" in line)
    path = scenario(tmp_path, f"{head}expect:\n{naive}\n")
    ran = picklock("run", "--on", "sim", "--scheme", "set-nx-ex-del,set-nx-px-cad", path, "--json", "-")
    naive, safe = ran.json["results"]
    assert (safe["verdict"], safe["as_expected"], safe["properties"], safe["history"]) == ("not_applicable", None, [], None)
    assert "does not speak about it" in safe["not_applicable"] and "not_applicable" not in naive
    alone = run("run", "--on", "sim", "--scheme", "set-nx-px-cad", path, "--out", tmp_path / "alone")
    assert alone.status == 2, alone
    assert "0 unknown, 1 not applicable\n" in alone.out and "unknown: nothing was concluded" in alone.out
    suites = ElementTree.parse(tmp_path / "alone" / "latest" / "junit.xml").getroot()
    assert (suites.get("skipped"), suites.get("errors")) == ("1", "1") and "nothing was concluded" in suites.find(".//error").get("message")
    # --fail-on says what is to be judged: it runs
    asked = picklock("run", "--on", "sim", "--scheme", "set-nx-px-cad", "--fail-on", "any", path, "--json", "-")
    assert asked.status == 1 and asked.json["results"][0]["verdict"] == "violated", asked


def test_the_documented_pair_of_schemes_over_all_scenarios(tmp_path, picklock):
    ran = picklock("run", "--on", "sim", "--scheme", "set-nx-ex-del,set-nx-px-cad", *sorted((ROOT / "scenarios").glob("*.yaml")),
                   "--out", tmp_path, "--json", tmp_path / "results.json")
    rows = json.loads((tmp_path / "results.json").read_text())["results"]
    assert ran.status == 0, ran
    assert all(row["as_expected"] or row["verdict"] == "not_applicable" for row in rows)
    skipped = [row for row in rows if row["verdict"] == "not_applicable"]
    assert f"{len(rows)} runs: {len(rows) - len(skipped)} as expected, 0 not, 0 unknown, {len(skipped)} not applicable" in ran.out
    again = run("report", tmp_path / "latest", "--junit", tmp_path / "again.xml")
    assert again.status == 0 and f'skipped="{len(skipped)}"' in (tmp_path / "again.xml").read_text(), again


def test_json_on_stdout_is_alone(picklock):
    ran = picklock("run", "--on", "sim", "scenarios/expired-lease-double-delete.yaml", "--json", "-")
    assert json.loads(ran.out)["schema"] == "picklock.results/2"


def test_the_same_seed_gives_the_same_bytes(picklock, tmp_path):
    """Steered runs are deterministic: two of them write the same histories and schedules."""
    kept = []
    for name in ("one", "two"):
        ran = run("run", "--seed", "7", "--out", tmp_path / name,
                  "scenarios/expired-lease-double-delete.yaml")
        assert ran.status == 0, ran
        folder = (tmp_path / name / "latest").resolve()
        kept.append({path.name: path.read_bytes() for path in sorted(folder.glob("*/*"))})
    assert kept[0] and kept[0] == kept[1]


def test_both_worlds_make_the_same_schedule(tmp_path):
    kept = []
    for world in ("redis", "sim"):
        ran = run("run", "--on", world, "--out", tmp_path / world,
                  "scenarios/expired-lease-double-delete.yaml")
        assert ran.status == 0, ran
        folder = (tmp_path / world / "latest" / "schedules").resolve()
        kept.append({path.name: path.read_text() for path in sorted(folder.iterdir())})
    assert kept[0] and kept[0] == kept[1]


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_schedule_replays_to_the_same_verdict(tmp_path, picklock, world):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    folder = (tmp_path / "first" / "latest").resolve()
    schedule = next((folder / "schedules").iterdir())
    again = picklock("replay", schedule, "--on", world, "--json", "-", "--markdown", tmp_path / "again.md")
    first = json.loads((folder / "results.json").read_text())["results"][0]
    row = again.json["results"][0]
    found = [{p["property"]: (p["verdict"], p["cause"], p["count"]) for p in r["properties"]}
             for r in (first, row)]
    assert found[0] == found[1]
    assert again.status == 1, "nothing is expected of a replay: an unlock bug fails it"
    told = (tmp_path / "again.md").read_text()  # what shows it again is a replay: there is no such scenario
    assert f"picklock replay {schedule}" in " ".join(told.replace("\\\n", "").split()) and "replay.yaml" not in told, told


def test_a_stale_schedule_names_the_line(tmp_path, picklock):
    ran = run("run", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    schedule = next((tmp_path / "first" / "latest" / "schedules").resolve().iterdir())
    lines = schedule.read_text().splitlines()
    at = lines.index("---") + 2
    edited = tmp_path / "edited.schedule"
    edited.write_text("\n".join(lines[:at] + lines[at + 1:]) + "\n")
    again = picklock("replay", edited, "--on", "sim", "--json", "-")
    assert again.status == 2, again
    assert f"{edited}:{at + 1}" in again.json["results"][0]["trouble"], again


def test_report_prints_a_run_folder_again(tmp_path):
    ran = run("run", "--on", "sim", "--out", tmp_path / "first",
              "scenarios/expired-lease-double-delete.yaml")
    folder = (tmp_path / "first" / "latest").resolve()
    again = tmp_path / "again.md"
    assert run("report", folder, "--markdown", again).status == 0
    assert again.read_text() == (folder / "report.md").read_text()


def test_an_unwritable_out_is_said_before_anything_runs(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    ran = run("run", "--on", "sim", "--out", blocked / "below",
              "scenarios/expired-lease-double-delete.yaml")
    assert ran.status in (64, 70) and str(blocked) in ran.err and ran.out == "", ran


@pytest.mark.parametrize("scheme, has_two", [("watch-multi-del", True), ("set-nx-px-cad", False)])
def test_a_stall_within_a_release_needs_a_release_of_two_commands(scheme, has_two, tmp_path):
    """It strikes behind the hold; where it can strike, the run may hold, and where it cannot, it says so."""
    ran = run("stress", "--scheme", scheme, "--no-faults", "--stall-in-release", "100%", "--pause-time", "1ms", "--clients", "5",
              "--locks", "1", "--lease", "20s", "--duration", "500ms", "--json", "-", "--out", tmp_path)
    (row,) = json.loads(ran.out)["results"]
    assert (ran.status, row["verdict"]) == ((0, "holds") if has_two else (2, "unknown")), ran
    assert ("no client stalled between two commands of a release" in ran.out) == (not has_two), ran


@pytest.mark.parametrize("command", [["run", "--on", "sim", "scenarios/hand-over.yaml"], ["stress"], ["explore"],
                                     ["replay", "x.schedule"], ["report", "x"]], ids=lambda words: words[0])
@pytest.mark.parametrize("one, other", [("-", "-"), ("it", "it"), ("new", "./new"), ("it", "link"), ("-", "/dev/stdout")])
def test_two_reports_never_share_a_place(tmp_path, command, one, other):
    (tmp_path / "it").write_text("old\n")
    (tmp_path / "link").symlink_to("it")
    words = [ROOT / word if word.endswith(".yaml") else word for word in command]
    ran = run(*words, "--json", one, "--junit", other, cwd=tmp_path)
    assert ran.status == 64 and "--json and --junit both go to" in ran.err and ran.out == "", ran
    assert (tmp_path / "it").read_text() == "old\n" and not (tmp_path / "new").exists()


def test_reports_in_places_of_their_own_are_written(tmp_path):
    """And /dev/null takes any number."""
    ran = run("run", "--on", "sim", ROOT / "scenarios" / "hand-over.yaml", "--json", "one", "--junit", "other",
              "--html", "/dev/null", "--markdown", "/dev/null", cwd=tmp_path)
    assert ran.status == 0 and (tmp_path / "one").read_text()[0] == "{" and (tmp_path / "other").read_text()[0] == "<", ran


def test_xml_on_stdout_is_alone(picklock):
    ran = picklock("run", "--on", "sim", "scenarios/hand-over.yaml", "--junit", "-")
    assert ran.status == 0 and ElementTree.fromstring(ran.out).tag == "testsuites"


def test_nothing_ran_is_unknown_everywhere(tmp_path):
    """A list that came to nothing, as of a glob that matched the explorer's matrix alone."""
    ran = run("run", "--on", "sim", "scenarios/matrix.yaml", "--out", tmp_path)
    assert ran.status == 2 and "unknown: nothing was run" in ran.out, ran
    folder = tmp_path / "latest"
    suites = ElementTree.parse(folder / "junit.xml").getroot()
    assert suites.get("errors") == "1" and "nothing was run" in suites.find(".//error").get("message")
    assert "Nothing ran." in (folder / "index.html").read_text()
    again = run("report", folder)
    assert again.status == 2 and "unknown: nothing was run" in again.out, again


def test_what_the_server_does_not_support_is_no_verdict(tmp_path):
    """Though the scenario says so: alone it leaves the run unknown; beside others it is counted apart, by every format alike."""
    results = {"properties": [], "verdict": "unknown", "as_expected": True, "unsupported": True, "trouble": "not supported by this server"}
    judged = run("run", "--on", "sim", "hand-over", "--scheme", "set-nx-px-cad,set-nx-ex-del", "--out", tmp_path / "made")
    made = json.loads((tmp_path / "made" / "latest" / "results.json").read_text())
    assert judged.status == 0 and "not supported" not in judged.out, judged
    for rows, status, errors in ([0, 1], 0, "0"), ([1], 2, "1"):
        made["results"][1].update(results)
        folder = tmp_path / f"of {status}"
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps({**made, "results": [made["results"][i] for i in rows]}))
        ran = run("report", folder)
        assert ran.status == status == run("report", folder, "--html", folder / "page", "--junit", folder / "junit").status, ran
        suites, page = ElementTree.parse(folder / "junit").getroot(), (folder / "page").read_text()
        assert f"{len(rows) - 1} as expected, 0 not, 0 unknown, 1 not supported\n" in ran.out, ran
        assert "<b>1</b> not supported</li>" in page and "1 run is not supported by this server." in page and "All 2" not in page
        assert (suites.get("skipped"), suites.get("errors")) == ("1", errors)
        assert ("unknown: nothing was run: what was to be run is not supported here" in ran.out) == (status == 2), ran


def test_a_shard_without_a_run_is_done(tmp_path):
    """One run, two shards: the one that has nothing to do has done it."""
    words = ["run", "--on", "sim", "--scheme", "set-nx-px-cad", "scenarios/hand-over.yaml"]
    for shard in ("1/2", "2/2"):
        ran = run(*words, "--shard", shard, "--out", tmp_path / shard[0])
        assert ran.status == 0 and "nothing was run" not in ran.out, ran
        said = f"note: Nothing falls to shard {shard[0]} of 2, which so judges nothing: the verdict is that of all shards"
        assert (said in ran.out.replace("\n", " ")) == ("0 runs" in ran.out), ran
        suites = ElementTree.parse(tmp_path / shard[0] / "latest" / "junit.xml").getroot()
        assert suites.get("errors") == "0"


# --- one of a thing, and what is left out ---


def test_one_is_not_many(tmp_path):
    """In stress's first line and its summary, and on the explorer's page."""
    ran = run("stress", "--scheme", "set-nx-px-cad", "--clients", "1", "--locks", "1", "--duration", "200ms", "--seed", "1",
              "--out", tmp_path / "stress")
    assert "set-nx-px-cad: 1 client, 1 lock, lease" in ran.err and "set-nx-px-cad: 1 connected client, " in ran.out, ran
    run("explore", "--scheme", "set-nx-px-cad", "--fault", "none", "--out", tmp_path / "one")
    run("explore", "--scheme", "set-nx-px-cad", "--fault", "none,crash", "--out", tmp_path / "two")
    assert "<b>1</b> cell: " in (tmp_path / "one" / "latest" / "index.html").read_text()
    assert "<b>2</b> cells: " in (tmp_path / "two" / "latest" / "index.html").read_text()


PROCESS_FAULTS = {"stopped-server": "no server was stopped", "restart-empty": "no server came back empty",
                  "restart-aof": "no server came back with its keys", "restart-old": "no server came back with a snapshot",
                  "failover": "no server failed over", "evict": "no server evicted a key of a lock",
                  "sentinel-failover": "no sentinel promoted a replica",
                  "flush-scripts": "no server forgot its scripts", "server-clock": "no server's clock jumped"}


@pytest.mark.parametrize("fault", PROCESS_FAULTS)
@pytest.mark.parametrize("words", ["--redis redis://127.0.0.1:1", "--worker true"])
def test_what_strikes_the_process_wants_a_server_of_ours(fault, words):
    ran = run("stress", f"--{fault}", "1%", *words.split())
    assert ran.status == 64 and f"--{fault}" in ran.err, ran


@pytest.mark.parametrize("rate, verdict", [("--refuse 0.0001%", "unknown"), ("--silence 0.0001%", "unknown"), ("--refuse 20%", ""),
                                           ("--server-drift 0.0001%", "unknown"), ("--server-drift 100%", ""),
                                           ("--flush-all 0.0001%", "unknown"), ("--flush-all 5%", ""),
                                           ("--client-kill 0.0001%", "unknown"), ("--client-pause 0.0001%", "unknown"),
                                           ("--client-pause 5%", ""), *((f"--{fault} 0.0001%", "unknown") for fault in PROCESS_FAULTS),
                                           ("--evict 5%", ""), ("--restart-empty 1% --hold 200ms --locks 1", "")])
def test_an_outage_that_never_came_proves_nothing(tmp_path, rate, verdict):
    ran = run("stress", "--scheme", "set-nx-px-cad", "--no-faults", *rate.split(), "--clients", "5", "--duration",
              "500ms" if verdict else "2s", "--seed", "1", "--out", tmp_path)
    [row] = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
    words = {"--refuse": "no server refused connections", "--silence": "no server fell silent",
             "--server-drift": "no server's clock drifted", "--flush-all": "no server lost its keys",
             "--client-kill": "no server ended its connections", "--client-pause": "no server held writes",
             **{f"--{fault}": words for fault, words in PROCESS_FAULTS.items()}}[rate.split()[0]]
    assert (row["verdict"] == "unknown") == (words in ran.out) == bool(verdict), ran
    assert (row["stress"]["faults"] == 0) == bool(verdict), row


@pytest.mark.parametrize("outages, status", [(["--restart-empty", "0.0001%"], 2), ([], 0)], ids=["asked for", "not asked for"])
def test_an_outage_that_never_came_is_not_hidden_by_an_overrun(tmp_path, outages, status):
    """Stalls behind the end of a lease are nobody's fault, and no proof of what was asked for. The history is judged so, too."""
    ran = run("stress", "--scheme", "set-nx-px-cad", "--no-faults", "--pause-after-grant", "50%", "--lease", "200ms", *outages, "--clients",
              "5", "--locks", "1", "--duration", "3s", "--seed", "1", "--history", "--out", tmp_path)
    [row] = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
    assert {p["property"]: p["cause"] for p in row["properties"]}["mutual-exclusion"] == "overrun", ran
    assert ran.status == status and ("no server came back empty" in ran.out) == bool(status), ran
    checked = run("check", *(tmp_path / "latest" / "histories").iterdir())
    assert checked.status == status, checked


def test_a_scheme_that_asks_with_wait_needs_a_replica(tmp_path):
    """Servers of ours have one; the server behind a URL must, else the run is refused."""
    words = ["stress", "--scheme", "set-nx-px-wait", "--no-faults", "--clients", "2", "--think", "20ms", "--seed", "1", "--out", tmp_path]
    ran = run(*words, "--duration", "3s")
    [row] = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
    assert row["stress"]["grants"] > 0 and "no acquire was granted" not in ran.out, ran
    with server("--repl-diskless-sync-delay", "0") as port:
        ran = run(*words, "--duration", "3s", "--redis", f"redis://127.0.0.1:{port}")
        assert ran.status == 64 and "not applicable: the scheme asks with WAIT for a replica" in ran.err, ran
        with server("--replicaof", f"127.0.0.1 {port}"):
            until(lambda: "state=online" in ask(port, "INFO", "replication"), "the replica follows")
            ran = run(*words, "--duration", "3s", "--redis", f"redis://127.0.0.1:{port}")
            [row] = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
            assert row["stress"]["grants"] > 0, ran


def test_a_folder_of_scenarios_may_have_any_name(tmp_path):
    folder = tmp_path / "a [b] * ?"
    folder.mkdir()
    for name in ("hand-over.yaml", "matrix.yaml"):  # of which one is a scenario
        (folder / name).write_bytes((ROOT / "scenarios" / name).read_bytes())
    [row] = run("list", "scenarios", "--dir", folder, "--json").json["scenarios"]
    assert row["name"] == "hand-over" and row["path"] == f"{folder}/hand-over.yaml"


def test_a_story_that_is_cut_says_so(tmp_path):
    """Where its first line ends a sentence, or is all of it, nothing is cut."""
    text = (ROOT / "scenarios" / "stale-write.yaml").read_text()
    steps = text[text.index("name: "):].replace("stale-write", "NAME")
    stories = {"cut": "# A waits for\n# B.\n", "ended": "# A waits.\n# B too.\n", "whole": "# A waits\n", "none": "",
               "long": f"# {'a' * 249}{'é' * 9}\n"}
    for name, story in stories.items():
        (tmp_path / f"{name}.yaml").write_text(story + steps.replace("NAME", name, 1))
    rows = run("list", "scenarios", "--dir", tmp_path, "--json").json["scenarios"]
    assert {row["name"]: row["summary"] for row in rows} == {
        "cut": "A waits for ...", "ended": "A waits.", "whole": "A waits", "none": "", "long": "a" * 249 + " ..."}


def test_list_names_every_section_in_its_help():
    usage = run("list", "--help").out.splitlines()[0]
    assert all(f"{name}" in usage for name in run("list", "--json").json), usage


def test_list_prints_names_alone():
    for section, rows in run("list", "--json").json.items():
        assert run("list", section, "--names").out.splitlines() == [row["name"] for row in rows]


def test_a_scenario_goes_by_its_name_from_any_folder(tmp_path):
    named = run("run", "late-grant", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path, cwd=tmp_path)
    filed = run("run", ROOT / "scenarios" / "late-grant.yaml", "--on", "sim", "--scheme", "set-nx-ex-del", "--out", tmp_path, cwd=tmp_path)
    assert named.status == filed.status == 0 and named.out.splitlines()[:-1] == filed.out.splitlines()[:-1] != [], named


def test_help_and_version_are_commands_too():
    assert run("help", "run").out == run("run", "--help").out != "" and run("help").out == run("--help").out
    assert run("version").out == run("--version").out != ""
    for words in (("version", "x"), ("--version", "x"), ("help", "run", "x")):
        assert run(*words).status == 64, words
    assert "did you mean 'version'" in run("verion").err


def test_minutes_have_two_names():
    for word in ("1min", "1m"):
        ran = run("explore", "--scheme", "setnx-del", "--fault", "none", "--clients", "2", "--budget", word)
        assert ran.status == 0, ran


def test_a_cause_is_listed_with_whose_fault_it_is():
    rows, printed = run("list", "causes", "--json").json["causes"], " ".join(run("list", "causes").out.split())
    assert rows and all(f" {row['name']} {row['blame']}: " in printed for row in rows), printed
