"""What is ended early says so, in every format, and is never green: signals, a server that dies, a shard that was cut short."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree

import jsonschema
import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, ask, flat, ours, run, server, servers

ONE = "scenarios/getset-race.yaml"
SCHEMA = json.loads((ROOT / "reports" / "results.schema.json").read_text())
LONG = ["--repeat", "1000000"]  # never done before the signal comes


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)


def start(*words, **more):
    return subprocess.Popen([PICKLOCK, *map(str, words)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **more)


def end(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def has_history(folder):
    return lambda: any(folder.glob("*/histories/*.jsonl"))


def has_worked(process, seconds=0.3):
    """So much time of a processor: an explorer says nothing before it ends."""
    def worked():
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) / os.sysconf("SC_CLK_TCK") > seconds
    return worked


def interrupted_run(folder, *more, number=signal.SIGINT):
    process = start("run", "--on", "sim", ONE, *LONG, "--out", folder, *more)
    until(has_history(folder), "the first run is done")
    process.send_signal(number)
    return end(process)


def validate(results):
    """Hundreds of rows would take half a minute: the first and the last."""
    rows = results["results"]
    jsonschema.validate({**results, "results": rows[:10] + rows[10:][-10:]}, SCHEMA)


def results_of(folder):
    results = json.loads((folder / "latest" / "results.json").read_text())
    validate(results)
    return results


def says_so_everywhere(folder, words):
    """The folder's files, and `report` on it in every format."""
    path = folder / "latest"
    for name in ("report.md", "junit.xml", "index.html"):
        text = (path / name).read_text().replace("\\(", "(").replace("\\)", ")")
        assert "nterrupted" in text and words in text, (name, words)
    junit = xml.etree.ElementTree.parse(path / "junit.xml").getroot()
    assert int(junit.get("errors")) > 0
    assert len(junit.findall(".//testsuite[@name='interrupted']/testcase/error")) == 1
    again = run("report", path)
    assert again.status == 2 and f"INTERRUPTED: {words}" in again.out, again
    again = run("report", path, "--json", "-")
    validate(again.json)
    assert again.status == 2 and again.json["interrupted"] == results_of(folder)["interrupted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_says_how_far_it_came(tmp_path, number):
    status, out, err = interrupted_run(tmp_path, number=number)
    results = results_of(tmp_path)
    done, name = len(results["results"]), signal.Signals(number).name
    assert 0 < done < results["interrupted"]["of"] and results["interrupted"]["of"] % 1_000_000 == 0
    assert results["interrupted"] == {"why": name, "done": done, "of": results["interrupted"]["of"], "unit": "run"}
    words = f"{done} of {results['interrupted']['of']} runs ({name})"
    assert status == 2 and f"INTERRUPTED: {words}" in out, (status, out, err)
    assert all(row["as_expected"] for row in results["results"])
    says_so_everywhere(tmp_path, words)


def test_a_run_that_comes_to_its_end_says_nothing(tmp_path):
    ran = run("run", "--on", "sim", ONE, "--out", tmp_path)
    assert ran.status == 0 and "INTERRUPTED" not in ran.out, ran
    assert "interrupted" not in results_of(tmp_path)
    assert "nterrupted" not in (tmp_path / "latest" / "report.md").read_text()
    assert "interrupted" not in (tmp_path / "latest" / "junit.xml").read_text()


def test_a_signal_that_comes_twice_at_once_is_one(tmp_path):
    """As timeout(1) sends it: to the process, and to its group."""
    process = start("run", "--on", "sim", ONE, *LONG, "--out", tmp_path)
    until(has_history(tmp_path), "the first run is done")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 2


def test_a_second_signal_ends_it_at_once():
    """A server that never answers is waited for; who cannot wait says so again. Nothing is left that looks like a result."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        process = start("run", ONE, "--redis", f"redis://127.0.0.1:{mute.getsockname()[1]}")
        mute.settimeout(PATIENCE_S)
        held = mute.accept()[0]
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        status, out, _ = end(process)
        held.close()
    assert status in (128 + signal.SIGINT, 69) and not out, (status, out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_in_real_time_does_not_wait_for_its_end(tmp_path, number):
    """Its row says so, in `run` and in `replay`."""
    story = tmp_path / "long.yaml"
    story.write_text("name: long\nsource: of this test\nlease: 1s\nclients: [A, B]\nsteps:\n  - A acquires\n  - A releases\n  - time passes 1h\n"
                     "  - B acquires\nexpect:\n  set-nx-px-cad: { mutual-exclusion: holds }\n")
    assert run("run", story, "--scheme", "set-nx-px-cad", "--on", "sim", "--out", tmp_path / "sim").status == 0
    (schedule,) = (tmp_path / "sim" / "latest" / "schedules").iterdir()
    for words in (["run", story, "--scheme", "set-nx-px-cad"], ["replay", schedule]):
        out = tmp_path / words[0]
        before = servers()
        process = start(*words, "--real-time", "--out", out)
        until(lambda: servers() - before and any(out.iterdir()) if out.exists() else False, "the run has begun")
        process.send_signal(number)
        status, told, err = end(process)
        (row,) = results_of(out)["results"]
        assert status == 2 and row["verdict"] == "unknown" and row["trouble"].endswith(": it was interrupted"), (status, told, err)
        assert row["seconds"] < 60
    assert results_of(tmp_path / "run")["interrupted"] == {"why": signal.Signals(number).name, "done": 0, "of": 1, "unit": "run"}


def test_nohup_stays_nohup(tmp_path):
    process = start("run", "--on", "sim", ONE, *LONG, "--out", tmp_path,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until(has_history(tmp_path), "the first run is done")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 2
    assert results_of(tmp_path)["interrupted"]["why"] == "SIGINT"


def test_not_as_expected_outranks_interrupted(tmp_path):
    wrong = tmp_path / "getset-race.yaml"
    text = (ROOT / ONE).read_text()
    wrong.write_text(text[:text.index("expect:")] + "expect:\n  stamp-getset: { extend-own: holds }\n")
    process = start("run", "--on", "sim", wrong, *LONG, "--out", tmp_path)
    until(has_history(tmp_path), "the first run is done")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    assert status == 1 and "INTERRUPTED" in out, (status, out, err)


def test_a_server_that_dies_in_the_middle_of_a_run(tmp_path):
    """What was done until then is kept, and the row that was under way is none."""
    before = servers()
    process = start("run", "scenarios/expired-lease-double-delete.yaml", *LONG, "--out", tmp_path)
    until(has_history(tmp_path), "the first run is done")
    for pid in servers() - before:
        os.kill(pid, signal.SIGKILL)
    status, out, err = end(process)
    assert status == 69 and "server" in err, (status, out, err)
    results = results_of(tmp_path)
    assert results["interrupted"]["done"] == len(results["results"]) > 0
    assert results["interrupted"]["why"] in err
    assert all(row["properties"] or row["unsupported"] for row in results["results"])  # Debian's server has no DELEX
    assert run("report", tmp_path / "latest").status == 2


# --- stress ---

def stressing(folder, *more, **options):
    usual = {"--clients": "5", "--duration": "60s"}
    process = start("stress", *(word for name, value in usual.items() if name not in more for word in (name, value)), "--out", folder, *more, **options)
    process.stderr.readline()  # the rates
    process.stderr.readline()  # the first second: clients work
    return process


def test_stress_says_for_how_long_it_ran(tmp_path):
    """What holds so far may not hold to the end."""
    process = stressing(tmp_path, "--scheme", "set-nx-px-cad,fenced", "--no-faults", "--lease", "10s", "--timeout", "9s")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    (row,) = results_of(tmp_path)["results"]
    assert row["verdict"] == "unknown" and row["stress"]["operations"] > 0, row
    assert "interrupted after" in row["trouble"] and row["trouble"].endswith("of 60s"), row["trouble"]
    assert {p["verdict"] for p in row["properties"]} == {"unknown"}
    assert status == 2 and "holds" not in out.split("verdict")[1], out
    ended = results_of(tmp_path)["interrupted"]
    assert (ended["done"], ended["of"]) == (0, 2) and ended["why"].startswith("SIGINT, set-nx-px-cad after ")
    says_so_everywhere(tmp_path, f"0 of 2 runs ({ended['why']})")


def test_who_is_not_told_in_time_while_the_run_is_stopped_is_not_blamed(tmp_path):
    """Ctrl-Z and fg: whose work and whose lease ended meanwhile hears of the lease first, as its timer was due."""
    process = stressing(tmp_path, "--scheme", "watchdog-guarded", "--clients", "20", "--locks", "20", "--hold", "50ms..150ms", "--lease", "300ms",
                        "--no-faults", "--duration", "0", start_new_session=True)  # who is stopped in our group may cost all of it a SIGHUP
    for _ in range(2):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)  # more than a lease
        process.send_signal(signal.SIGCONT)
        process.stderr.readline()  # another second has gone by
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    (row,) = results_of(tmp_path)["results"]
    assert row["stress"]["grants"] > 20 and status != 1, (out, err)
    assert not [found for found in row["properties"] if found["property"] == "loss-notice" and found["verdict"] == "violated"], row


def stopped_for_a_while(folder, of_whom, *more):
    """Clients of set-nx-px-cad, which takes late grants, wait for longer than a lease, until who is stopped goes on."""
    process = stressing(folder, "--scheme", "set-nx-px-cad", "--clients", "50", "--locks", "50", "--think", "0us..100us", "--lease", "200ms",
                        "--timeout", "5s", "--no-faults", "--duration", "0", "--history", *more)
    (pid,) = of_whom(process)
    for _ in range(3):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)  # more than two leases
        os.kill(pid, signal.SIGCONT)
        process.stderr.readline()  # another second has gone by
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    (row,) = results_of(folder)["results"]
    return {found["property"]: found for found in row["properties"]}["fresh-grant"], status, (out, err)


@pytest.mark.parametrize("of_whom, more", [
    (lambda process: {process.pid}, ()),
    (lambda process: ours("picklock-proxy"), ("--proxy-processes", "1")),
], ids=["picklock", "proxy"])
def test_a_grant_that_we_held_up_is_no_late_grant(tmp_path, of_whom, more):
    fresh, status, said = stopped_for_a_while(tmp_path, of_whom, *more)
    assert fresh["verdict"] == "unknown" and status != 1, said
    assert "picklock itself, or its proxy, was held up for" in " ".join(fresh["witness"]), fresh


@pytest.mark.parametrize("of_whom, more", [
    (lambda process: servers(), ()),
    (lambda process: servers(), ("--proxy-processes", "1")),
    (lambda process: {process.pid}, ("--delay-past-lease", "2%")),
], ids=["server", "server-behind-a-process", "delay"])
def test_a_grant_that_a_server_or_a_fault_held_up_is_late(tmp_path, of_whom, more):
    """Whether we were stopped, too, or not."""
    fresh, status, said = stopped_for_a_while(tmp_path, of_whom, *more)
    assert fresh["verdict"] == "violated" and status == 1, said


def test_what_came_while_the_run_was_stopped_is_heard(tmp_path):
    """Its time-out was due meanwhile; who asked, and was answered, does not give up."""
    process = stressing(tmp_path, "--scheme", "set-nx-px-cad", "--clients", "100", "--think", "0us..50us", "--lease", "2s", "--timeout", "300ms",
                        "--no-faults", "--duration", "0", "--history")
    for _ in range(2):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)  # more than a time-out
        process.send_signal(signal.SIGCONT)
        process.stderr.readline()  # another second has gone by
    process.send_signal(signal.SIGINT)
    said = end(process)
    asked, gave_up = {}, 0
    for line in next(tmp_path.glob("*/histories/*.jsonl")).read_text().splitlines():
        event = json.loads(line)
        if event.get("kind") in ("send", "execute"):
            asked[event.get("client", 0)] = event["kind"]
        gave_up += event.get("fault") == "give-up" and asked[event.get("client", 0)] == "execute"
    assert asked and gave_up == 0, said


@pytest.mark.parametrize("number, status, verdict", [(signal.SIGINT, 0, "holds"), (signal.SIGHUP, 2, "unknown")])
def test_a_stress_run_without_an_end_is_whole_when_it_is_told_to_end(tmp_path, number, status, verdict):
    """By SIGINT or SIGTERM; a terminal that hangs up tells nothing, and interrupts it."""
    process = stressing(tmp_path, "--scheme", "set-nx-px-cad", "--no-faults", "--lease", "10s", "--timeout", "9s", "--duration", "0")
    process.send_signal(number)
    ended, out, err = end(process)
    (row,) = results_of(tmp_path)["results"]
    assert (ended, row["verdict"]) == (status, verdict) and row["stress"]["operations"] > 0, (out, err)
    assert ("interrupted" in results_of(tmp_path)) == (status == 2), out
    assert ("had no time of its own: it was stopped after" in out) == (status == 0), out
    assert ("it was interrupted after" in (row["trouble"] or "")) == (status == 2), row


def test_a_stress_run_that_is_stopped_before_it_began_shows_nothing(tmp_path):
    """Nobody asked for the lock: that is no verdict, whatever was asked for."""
    process = start("stress", "--scheme", "set-nx-px-cad", "--no-faults", "--duration", "0", "--think", "1h", "--out", tmp_path)
    process.stderr.readline()
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    status, out, err = end(process)
    assert status == 2 and "nobody tried to acquire the lock" in out, (out, err)


def test_stress_ends_behind_the_first_violation_that_counts(tmp_path):
    """An overrun is nobody's fault: the run goes on, until a client deletes what is another's."""
    ran = run("stress", "--scheme", "lua-setnx-expire-del", "--clients", "10", "--duration", "60s", "--until-violation",
              "--no-faults", "--pause-after-grant", "50%", "--out", tmp_path)
    (row,) = results_of(tmp_path)["results"]
    assert ran.status == 1 and row["verdict"] == "violated", ran
    assert "release-own" in [p["property"] for p in row["properties"] if p["verdict"] == "violated"]
    assert row["seconds"] < 60 and "ended behind its first violation" in ran.out, ran


def test_what_stress_has_seen_stays_seen(tmp_path):
    """Losers extend what is not theirs: that needs no fault, and no luck."""
    process = stressing(tmp_path, "--scheme", "multi-setnx-expire-del", "--locks", "1", "--no-faults")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    (row,) = results_of(tmp_path)["results"]
    assert row["verdict"] == "violated" and row["as_expected"] is False and status == 1, (out, err)
    assert "INTERRUPTED: 0 of 1 run (SIGINT, multi-setnx-expire-del after " in out


def test_a_stress_run_whose_server_dies_keeps_what_it_found(tmp_path):
    """Until its servers were last seen to keep our time; the next scheme has a server of its own. Its history says the same."""
    before = servers()
    process = start("stress", "--scheme", "multi-setnx-expire-del,set-nx-px-cad", "--locks", "1", "--no-faults", "--clients", "5",
                    "--think", "1ms", "--duration", "60s", "--history", "--progress", "json", "--out", tmp_path)
    lines = map(json.loads, process.stderr)
    next(line for line in lines if line["progress"] == "multi-setnx-expire-del" and line["violations"])
    for pid in servers() - before:
        os.kill(pid, signal.SIGKILL)
    next(line for line in lines if line["progress"] == "set-nx-px-cad")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    results = results_of(tmp_path)
    by_scheme = {row["scheme"]: row for row in results["results"]}
    died, next_one = by_scheme["multi-setnx-expire-del"], by_scheme["set-nx-px-cad"]
    assert status == 1 and (died["verdict"], died["as_expected"]) == ("violated", False), (out, err)
    assert "interrupted after" in next_one["trouble"] and next_one["stress"]["grants"] > 0, next_one
    ended = results["interrupted"]
    assert (ended["done"], ended["of"]) == (0, 2) and ended["why"].startswith("multi-setnx-expire-del: it ended after "), ended
    assert "server 1: redis-server was killed by signal 9" in ended["why"], ended
    history = tmp_path / "latest" / died["history"]
    said = json.loads(history.read_text().splitlines()[-1])
    assert ended["why"].endswith(said["incomplete"]) and 0 < said["proved"] <= said["end"], said
    again = run("check", history, "--json", "-")
    found = [{p["property"] for p in row["properties"] if p["verdict"] == "violated"} for row in (died, again.json["results"][0])]
    assert again.status == 1 and found[0] == found[1], (found, again)
    assert not [p for p in again.json["results"][0]["properties"] if p["verdict"] == "holds"]


@pytest.mark.parametrize("lock", [["--scheme", "set-nx-px-cad"], ["--worker", f"{sys.executable} sim/test/scheme_worker.py set-nx-px-cad"]])
def test_a_signal_ends_the_wait_for_a_server_that_is_stopped(tmp_path, lock):
    """It neither ends nor answers. Its history has an end, and says why."""
    before = servers()
    process = stressing(tmp_path, *lock, "--no-faults", "--history")
    stopped = servers() - before
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    (row,) = results_of(tmp_path)["results"]
    assert stopped and status == 2 and row["trouble"].endswith(" was not answered before the run was told to end"), (out, err)
    said = json.loads((tmp_path / "latest" / row["history"]).read_text().splitlines()[-1])
    assert said["incomplete"] == row["trouble"], said
    until(lambda: not stopped & servers(), "nothing is left")


def test_what_was_found_stays_where_somebody_elses_server_dies(tmp_path):
    """The runs behind it cannot begin: each is unknown, and says why. Alone, one that cannot is refused."""
    with server() as port:
        url = ["--redis", f"redis://127.0.0.1:{port}", "--no-faults", "--clients", "5", "--think", "1ms"]
        process = start("stress", "--scheme", "multi-setnx-expire-del,set-nx-px-cad,redlock,setnx-del", *url, "--locks", "1", "--duration", "60s", "--progress",
                        "json", "--out", tmp_path)
        next(line for line in map(json.loads, process.stderr) if line["violations"])
        ask(port, "SHUTDOWN", "NOSAVE")
        status, out, err = end(process)
    rows = {row["scheme"]: row for row in results_of(tmp_path)["results"]}
    assert status == 1 and rows.pop("multi-setnx-expire-del")["verdict"] == "violated" and rows.pop("redlock")["verdict"] == "not_applicable", (out, err)
    for row in rows.values():
        assert row["verdict"] == "unknown" and "it could not begin: no connection to the server" in row["trouble"], row
    assert "INTERRUPTED: 1 of 4 runs (multi-setnx-expire-del: it ended after" in out, out
    refused = run("stress", "--scheme", "redlock,set-nx-px-cad", *url)
    assert refused.status == 69 and "no connection to the server" in refused.err, refused


# --- explore ---

TOO_LARGE = ["--scheme", "set-nx-px-cad,redlock", "--fault", "none,slow-work+stall", "--clients", "3", "--rounds", "4",
             "--jobs", "1"]


@pytest.mark.parametrize("more", [[], ["--search", "random", "--runs", "100000000"], pytest.param(["--frontier"], marks=pytest.mark.long("one of four")), pytest.param(["--confirm"], marks=pytest.mark.long("one of four"))])
def test_explore_keeps_what_it_has(tmp_path, more):
    words = [word for word in TOO_LARGE if "--frontier" not in more or "+" not in word]
    if "--frontier" in more:
        words[words.index("--fault"):words.index("--fault") + 1] = []
    process = start("explore", *words, *more, "--out", tmp_path)
    until(has_worked(process), "it searches")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    results = results_of(tmp_path)
    ended = results["interrupted"]
    assert status == 2 and "INTERRUPTED: " in out and ended["unit"] == "cell", (status, out, err)
    assert ended["why"] == "SIGINT" and ended["done"] < ended["of"]
    cells = {(row["scheme"], row["servers"], row["fault"]) for row in flat(results)}
    assert len(cells) == ended["of"], "every cell is there, those that were not searched as unknown"
    cut = [row for row in flat(results) if row["end"] == "it was interrupted"]
    assert any(row["verdict"] == "unknown" for row in cut)
    assert not [row for row in cut if row["words"] == "safe"]
    says_so_everywhere(tmp_path, f"{ended['done']} of {ended['of']} cells (SIGINT)")


def test_a_confirmation_that_is_interrupted(tmp_path):
    """Found in the simulation, not replayed on Redis: neither confirmed nor not."""
    before = servers()
    process = start("explore", "--scheme", "setnx-del,setnx-expire-del,set-nx-ex-del,stamp-getset", "--fault", "none,stall,lose-reply,resend", "--states", "3000", "--confirm",
                    "--out", tmp_path)
    until(lambda: servers() - before, "it confirms")
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    results = results_of(tmp_path)
    ended = results["interrupted"]
    open_ones = [row for row in flat(results) if row["verdict"] == "violated" and row["confirmed"] is None]
    assert status == 2 and ended["unit"] == "replay" and ended["done"] < ended["of"], (status, ended, err)
    assert len(open_ones) >= ended["of"] - ended["done"]
    says_so_everywhere(tmp_path, f"{ended['done']} of {ended['of']} replays (SIGINT)")


def test_witnesses_are_shown_even_without_a_server_to_confirm_them_on(tmp_path):
    ran = run("explore", "--scheme", "setnx-del", "--fault", "resend", "--confirm", "--redis-server", "/nowhere/redis-server",
              "--out", tmp_path)
    assert ran.status == 69 and "/nowhere" in ran.err and "broken (unlock-bug" in ran.out, ran
    assert results_of(tmp_path)["interrupted"]["unit"] == "replay"


def test_a_budget_that_is_used_up_leaves_the_rest_open(tmp_path):
    ran = run("explore", *TOO_LARGE, "--budget", "200ms", "--out", tmp_path)
    assert ran.status == 2 and "the time was up" in ran.out, ran
    assert run("report", tmp_path / "latest").status == 2


# --- shards ---

def test_an_interrupted_shard_is_told_of_the_whole(tmp_path):
    more = ["--scheme", "stamp-getset,stamp-getset-inverted"]
    for number in (1, 2):
        interrupted_run(tmp_path / str(number), *more, "--shard", f"{number}/2")
    merged = run("report", tmp_path / "1" / "latest", tmp_path / "2" / "latest", "--json", "-")
    validate(merged.json)
    assert merged.status == 2, merged
    told = [text for text in merged.json["missing"] if "was interrupted: " in text]
    assert len(told) == len(merged.json["missing"]) == 2, merged.json["missing"]
    assert str(tmp_path / "1") in told[0] and "of 1000000 runs (SIGINT)" in told[0], told


def test_an_interrupted_run_beside_another_is_told(tmp_path):
    interrupted_run(tmp_path / "cut")
    whole = run("explore", "--scheme", "setnx-del", "--fault", "none", "--out", tmp_path / "whole")
    assert whole.status == 0, whole
    merged = run("report", tmp_path / "cut" / "latest", tmp_path / "whole" / "latest")
    assert merged.status == 2 and "was interrupted: " in " ".join(merged.out.split()), merged


@pytest.mark.parametrize("words", [["run", ONE], ["stress", "--scheme", "set-nx-px-cad", "--duration", "1s"], ["server"],
                                   ["watch", "--key", "lock:*", "--", "true"]], ids=lambda words: words[0])
def test_a_server_that_does_not_start_is_not_waited_for_behind_a_signal(tmp_path, words):
    """It would be for 20 s, and the next one too; watch began its command all the same."""
    hangs = tmp_path / "hangs"
    hangs.write_text(f"#!/bin/sh\necho > '{tmp_path}/begun'\nexec sleep 300\n")
    hangs.chmod(0o755)
    at = words.index("--") if "--" in words else len(words)
    out = [] if words[0] == "server" else ["--out", tmp_path / "runs"]
    process = start(*words[:at], "--redis-server", hangs, *out, *words[at:], stdin=subprocess.PIPE)
    until((tmp_path / "begun").exists, "the server is begun")
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    status, out, err = end(process)
    assert time.monotonic() - began < 15 and status not in (0, 1), (status, out, err)
    assert "was told to end" in err, (status, out, err)
