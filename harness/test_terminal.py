"""What is printed is as wide as its terminal, from 60 to 200 columns, in a real one; a pipe has 100, wherever it stands."""

import json
import os
import re
import shutil
import subprocess

import jsonschema
import pytest
from conftest import PICKLOCK, ROOT, in_a_terminal, run

CHECKED = ["test", f"/usr/bin/python3 {ROOT}/sim/worker/examples/naive_lock.py", "--fault", "none,slow-work", "--clients", "2", "--rounds", "1", "--no-cache",
           ROOT / "scenarios/hand-over.yaml"]
SCENARIOS = [ROOT / "scenarios" / f"{name}.yaml" for name in ("late-grant", "stale-write", "expired-lease-double-delete")]
COMMANDS = {
    "run": ["run", "--on", "sim", *SCENARIOS],
    "explore": ["explore", "--scheme", "set-nx-ex-del,redlock", "--clients", "2", "--rounds", "1", "--fault", "none,slow-work,lose-reply", "--witness"],
    "stress": ["stress", "--duration", "200ms", "--clients", "6", "--locks", "1"],
    "frontier": ["explore", "--frontier", "--scheme", "set-nx-ex-del,set-nx-px-cad", "--fault", "stall,lose-reply,crash,resend,evict"],
    "random": ["explore", "--scheme", "set-nx-ex-del,setnx-del", "--search", "random", "--fault", "none,stall,crash,resend", "--runs", "100"],
    "list": ["list"],
    "worker": ["run", "--worker", f"/usr/bin/python3 {ROOT}/sim/worker/examples/naive_lock.py", *SCENARIOS],  # with rows of which nothing is expected
}


def printed(columns, words, cwd):
    """Standard output as a terminal of so many columns takes it; what the other streams say is not part of it."""
    return in_a_terminal([PICKLOCK, *words], columns, stderr=subprocess.DEVNULL, cwd=cwd,
                         env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})[1]


@pytest.mark.parametrize("command, columns", [
    pytest.param(command, columns, marks=pytest.mark.long("two widths of it in CI") if command == "worker" and columns in (77, 100) else [])
    for command in COMMANDS for columns in (60, 77, 100, 200)])
def test_no_line_is_wider_than_the_terminal(tmp_path, command, columns):
    """But for words that cannot be broken: paths and commands to be copied. Nor does a line end with blanks."""
    text = printed(columns, COMMANDS[command] + (["--out", tmp_path] if command in ("run", "stress", "worker") else []), ROOT)
    assert len(text.splitlines()) > 10 and not re.findall(" $", text, re.M), text
    wide = [line for line in text.splitlines() if len(line) > columns and "report: " not in line]
    assert not wide, text


def test_what_stands_below_is_what_stood_beside():
    """The words are the same at 60 columns and at 200: only where they stand differs."""
    narrow, wide = (printed(columns, COMMANDS["explore"][:-1], ROOT) for columns in (60, 200))
    assert narrow.split() == wide.split() and len(narrow.splitlines()) > len(wide.splitlines())


@pytest.mark.parametrize("words, stream", [(["doctor"], "stdout"), (["stress", "--scheme", "set-nx-px-cad-empty-token", "--duration", "1200ms",
                                                                     "--clients", "6", "--fail-on", "never"], "stderr"),
                                           (CHECKED, "stdout"), (CHECKED, "stderr"), (["selftest", "--histories", "2000"], "stdout")])
def test_what_is_said_meanwhile_fits_too(tmp_path, words, stream):
    """Also the line that is written over: one that is too long would stay. Paths and commands cannot be broken."""
    other = "stdout" if stream == "stderr" else "stderr"
    done, said = in_a_terminal([PICKLOCK, *words], 60, stream, cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}, **{other: subprocess.DEVNULL})
    lines = re.split("\n|\r\x1b\\[K", said)
    assert done.returncode in (0, 1, 2) and len(lines) > 2, said
    assert stream == "stdout" or words is CHECKED and "executions" in said or "s, " in said and "operations" in said, said
    wide = [line for line in lines if len(line) > 60 and all(len(word) <= 25 for word in line.split())]
    assert not wide, said


@pytest.mark.parametrize("term", ["xterm", "dumb", ""])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_terminal_that_takes_no_sequences_gets_none(tmp_path, stream, term):
    """Neither colours nor a line that is drawn over; another one gets both."""
    other = "stdout" if stream == "stderr" else "stderr"
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    said = in_a_terminal([PICKLOCK, *COMMANDS["run"]], 100, stream, term, env, cwd=tmp_path, **{other: subprocess.DEVNULL})[1]
    assert ("\x1b" in said) == (term == "xterm"), said


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_help_is_as_wide_as_its_terminal(columns):
    """Of each command, and of all together: the same words in lines that fit; in a pipe as on a wide terminal."""
    overview = run("--help").out
    names = re.findall(r"^  ([a-z]+) +[a-z]", overview.split("Exit status")[0], re.M)
    assert len(names) > 12 and printed(columns, ["--help"], ROOT).split() == overview.split()
    for name in names:
        text = printed(columns, [name, "--help"], ROOT)
        assert all(len(line) <= columns for line in text.splitlines()), text
        assert text.split() == run(name, "--help").out.split()


def test_a_wide_terminal_is_used():
    """The diagram's sentences are not broken where there is room."""
    explained = ["explore", "--scheme", "set-nx-ex-del", "--fault", "slow-work", "--witness"]
    at = {columns: printed(columns, explained, ROOT) for columns in (100, 160)}
    assert max(map(len, at[160].splitlines())) > 100 >= max(map(len, at[100].splitlines()))


def test_a_pipe_has_its_own_width():
    env = {"COLUMNS": "60"}
    assert run(*COMMANDS["explore"], env=env).out == run(*COMMANDS["explore"]).out
    assert re.search(r"^.{90,}$", run(*COMMANDS["explore"]).out, re.M)


# --- how far a command is ---

LONG = ["explore", "--scheme", "redlock", "--clients", "3", "--fault", "lose-reply,crash", "--jobs", "1", "--budget", "3s"]


def test_progress_for_machines():
    """Lines of JSON on standard error, and nothing of it on standard output; a search says how many states, how fast and how deep."""
    ran = run(*LONG, "--progress", "json")
    *told, last = [json.loads(line) for line in ran.err.splitlines()]
    assert list(last) == ["message"] and ran.status == 2  # the budget is spent
    assert len(told) >= 2 and all(line["of"] == 4 and line["progress"].startswith("redlock, ") for line in told)
    assert any(line["states"] > 1000 and line["states_per_second"] > 0 and line["depth"] > 1 and line["seconds_left"] <= 3 for line in told)
    assert [line["seconds"] for line in told] == sorted(line["seconds"] for line in told)
    assert all(line["left_is"] == "at most" for line in told if "seconds_left" in line)
    assert any(line["search_seconds_left"] >= 0 and line["search_left_is"] in ("at least", "about") for line in told if "search_seconds_left" in line)
    assert "{" not in ran.out


def test_seconds_go_on_from_part_to_part_and_a_guess_waits():
    """A search and the writing of its witnesses count from one moment; how long it will take nobody guesses by its first, small cells."""
    ran = run("explore", "--scheme", "set-nx-ex-del", "--fault", "none,slow-work,stall,crash", "--witness", "--progress", "json")
    told = [json.loads(line) for line in ran.err.splitlines()]
    assert "writes its witnesses" in told[-1]["progress"] and len(told) >= 2
    assert [line["seconds"] for line in told] == sorted(line["seconds"] for line in told)
    assert not any("seconds_left" in line for line in told if 4 * line.get("done", 0) < 3 * line.get("of", 4))


def test_the_schema_of_progress_names_each_field_that_is_told(tmp_path):
    """Every line is of it, and every field of it is told by one of these commands."""
    schema, told = json.loads((ROOT / "reports/progress.schema.json").read_text()), set()
    for words in (LONG, ["stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "1500ms", "--out", tmp_path],
                  ["run", "--real-time", "--scheme", "set-nx-px-cad", "scenarios/hand-over.yaml", "--out", tmp_path],
                  ["explore", "--worker", "/usr/bin/python3 sim/worker/examples/naive_lock.py", "--clients", "5", "--rounds", "4", "--fault", "stall", "--no-cache"],
                  ["explore", "--worker", "/usr/bin/python3 sim/worker/examples/naive_lock.py", "--search", "random", "--runs", "5", "--fault", "none"]):
        lines = [json.loads(line) for line in run(*words, "--progress", "json").err.splitlines()]
        assert lines, words
        for line in lines:
            jsonschema.validate(line, schema)
            told.update(line)
    assert told == set(schema["properties"])


def test_a_search_by_runs_tells_how_far_it_is():
    """Which run it is, of how many, and the time that is left; one for which there was no time was not run, and is not one that nothing struck."""
    told = [json.loads(line) for line in run("explore", "--worker", "/usr/bin/python3 sim/worker/examples/naive_lock.py", "--search", "random",
                                             "--runs", "40", "--fault", "none", "--budget", "60s", "--progress", "json").err.splitlines()]
    told = [line for line in told if "runs" in line]  # behind them its witnesses are written
    assert told and all(line["of"] == 1 and line["runs_max"] == 40 and line["seconds_left"] <= 60 for line in told), told
    runs = [line["runs"] for line in told]
    assert runs == sorted(runs), told
    ran = run("explore", "--worker", "/usr/bin/python3 sim/worker/examples/naive_lock.py", "--search", "random", "--fault", "none,slow-work", "--budget", "1ms")
    assert "unknown (not run: the time was up before, and a larger --budget helps)" in ran.out and "strike" not in ran.out, ran


@pytest.mark.parametrize("words", [["explore", "--progress", "json", "--bogus"], ["run", "--progress=json", "no-such-scenario"],
                                   ["explore", "--fault", "none", "--scheme", "no such", "--progress", "json"],
                                   ["stress", "--redis", "redis://127.0.0.1:1", "--progress", "json"]])
def test_why_a_command_failed_is_json_too(tmp_path, words):
    """Also of a command line that is refused: who reads standard error needs no other way to read it."""
    ran = run(*words, cwd=tmp_path)
    [line] = ran.err.splitlines()
    assert ran.status in (64, 69) and len(json.loads(line)["message"]) > 10, ran
    jsonschema.validate(json.loads(line), json.loads((ROOT / "reports/progress.schema.json").read_text()))
    assert "picklock: " in run(*[word.replace("json", "words") for word in words], cwd=tmp_path).err


@pytest.mark.parametrize("how", ["words", "none"])
def test_a_short_command_says_nothing_of_itself(how):
    assert run(*COMMANDS["run"], "--progress", how).err == ""


def test_a_stress_run_tells_how_far_it_is_in_json():
    """Each line by itself, and nothing else on stderr; none says nothing. (Who lost extends what is not his: that needs no luck.)"""
    stress = ("stress", "--scheme", "multi-setnx-expire-del", "--clients", "4", "--locks", "1", "--no-faults", "--duration", "1500ms", "--seed", "1")
    told = [json.loads(line) for line in run(*stress, "--progress", "json").err.splitlines()]
    assert told, "one line a second"
    for line in told:
        assert line["progress"] == "multi-setnx-expire-del" and line["operations"] >= line["grants"] > 0 and line["p99_us"] > 0
        assert 0 <= line["holders"] <= 4 and line["faults"] == 0
        assert re.fullmatch(r"([a-z-]+ \d+(, |$))*", line["violations"]) and 0 < line["seconds"] < 60
    assert "foreign-extend " in told[-1]["violations"], told[-1]
    assert run(*stress[:-4], "--duration", "300ms", "--progress", "none").err == ""


def test_what_is_violated_is_seen_in_narrow_terminals():
    """Causes stand before what matters less, and of that whole parts are left out: not "violated:" with nothing behind."""
    line = [PICKLOCK, "stress", "--scheme", "multi-setnx-expire-del", "--clients", "4", "--locks", "1", "--no-faults", "--duration", "1200ms"]
    parts = [r"multi-setnx-expire-del: \d+ s", r"violated: foreign-[a-z]+ \d+", *[r"[a-z-]+ \d+|p99 \S+ \S+|\d+ (operation|hold|grant|fault)s?"] * 20]
    for columns, least in (40, 1), (60, 2), (80, 2):
        shown = in_a_terminal(line, columns, "stderr", stdout=subprocess.DEVNULL)[1]
        drawn = [words.split(", ") for words in re.findall(r"\r\x1b\[K([^\r]*-del: \d+ s[^\r]*)", shown)]
        assert drawn and all(len(told) >= least and len(", ".join(told)) < columns for told in drawn), shown
        assert all(re.fullmatch(part, word) for told in drawn for part, word in zip(parts, told)), drawn


def test_another_progress_is_refused():
    refused = run(*LONG, "--progress", "jsn")
    assert refused.status == 64 and "--progress wants words, json or none, not 'jsn'; did you mean 'json'?" in refused.err


def test_a_manual_page_is_shown_on_a_terminal_and_written_elsewhere(tmp_path):
    """Where there is no man(1), or one that reads no page from a pipe, it is written as it is."""
    page = run("man", "run").out
    assert page.startswith(".TH picklock-run 1")
    shown = in_a_terminal([PICKLOCK, "man", "run"], 80, stderr=subprocess.DEVNULL, env={**os.environ, "MANPAGER": "cat", "PAGER": "cat"})[1]
    without = in_a_terminal([PICKLOCK, "man", "run"], 80, stderr=subprocess.DEVNULL, env={**os.environ, "PATH": "/nowhere"})[1]
    assert without == page
    (tmp_path / "man").write_text("#!/bin/sh\necho 'man: unknown option -l' >&2\nexit 1\n")
    (tmp_path / "man").chmod(0o755)
    other = in_a_terminal([PICKLOCK, "man", "run"], 80, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})[1]
    assert other == page
    if shutil.which("man"):
        assert ".TH" not in shown and "SYNOPSIS" in re.sub(".\b|\x1b\\[[0-9;]*m", "", shown), shown
