"""Clients, and the processes that hold connections for them, where open files are few: refused beforehand with the number that fits."""

import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, run, server, until


def limit_files(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def stress_clients(picklock, clients, *more, **limit):
    return picklock("stress", "--clients", clients, "--duration", "300ms", "--scheme", "set-nx-px-cad", "--no-faults",
                    "--json", "-", *more, **limit)


def test_clients_that_cannot_all_be_connected_are_refused(picklock):
    """Who finds no connection would be counted and do nothing. What is said to fit does fit, and one more does not."""
    ran = stress_clients(picklock, 500, preexec_fn=limit_files(400, 400))
    assert ran.status == 69 and "open files" in ran.err and "ulimit -n" in ran.err, ran
    fits = int(re.search(r"--clients (\d+) fits", ran.err)[1])
    ran = stress_clients(picklock, fits, preexec_fn=limit_files(400, 400))
    assert ran.status in (0, 1, 2) and ran.rows[0]["clients"] == fits, ran
    ran = stress_clients(picklock, fits + 1, preexec_fn=limit_files(400, 400))
    assert ran.status == 69 and f"--clients {fits} fits" in ran.err, ran
    ran = stress_clients(picklock, 500, preexec_fn=limit_files(200, 200))
    assert ran.status == 69 and "not one fits" in ran.err, ran


def test_a_start_that_finds_too_few_leaves_nothing_behind(picklock, tmp_path):
    """However far it comes; with as many as those it would have begun."""
    servers = tmp_path / "servers"
    servers.mkdir()
    for files in range(6, 20):
        ran = picklock("run", "expired-lease-double-delete", preexec_fn=limit_files(files, files), env={"TMPDIR": str(servers)})
        assert ran.status in (0, 69, 127) and not list(servers.iterdir()), (files, ran)


@pytest.mark.parametrize("fault", ["--client-kill", "--restart-empty"])
def test_clients_that_fit_do_so_when_all_connections_end_at_once(picklock, fault):
    """They dial anew as there is room for it. Carriers hold the proxy's ends, but not of what is just dialled."""
    limit = {"preexec_fn": limit_files(634, 634)}
    fits = int(re.search(r"--clients (\d+) fits", stress_clients(picklock, 1000, **limit).err)[1])
    ran = stress_clients(picklock, fits, fault, "5%", **limit)
    assert fits == 300, "more than there is room for without carriers"
    assert ran.status in (0, 1, 2) and ran.rows[0]["clients"] == fits, ran
    assert "it ended" not in (ran.json["results"][0]["trouble"] or "") and ran.rows[0]["struck"][fault[2:]] > 0, ran


def holders_of(process):
    """Processes that hold the proxy's ends of connections, by their name."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
            state, parent = rest.split()[:2]
            if name == "picklock-proxy" and state != "Z" and (process is None or int(parent) == process.pid):
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("victim, number, says", [
    ("one of them", signal.SIGKILL, r"held connections of the proxy has ended .process \d+: killed by signal 9"),
    ("one of them", signal.SIGSTOP, r"held connections of the proxy did not answer for 5s .process \d+: was it stopped\?"),
    ("picklock", signal.SIGKILL, None)])
def test_processes_that_hold_connections_end_with_the_run_and_it_with_them(tmp_path, victim, number, says):
    """What they held is gone: unknown, and so says the history, in as many files as it has. Nobody holds it for a program that is gone."""
    words = ["stress", "--scheme", "set-nx-px-cad", "--clients", "20", "--proxy-processes", "2", "--duration", "0", "--no-faults",
             "--lease", "30s", "--timeout", "20s", "--history", "--history-rotate", "1", "--out", tmp_path]
    process = subprocess.Popen([PICKLOCK, *map(str, words)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    next(line for line in process.stderr if " operations, " in line)
    holders = holders_of(process)
    assert len(holders) == 2
    os.kill(holders[0] if victim != "picklock" else process.pid, number)
    out, err = process.communicate(timeout=PATIENCE_S)
    if victim != "picklock":
        assert process.returncode == 2, (out, err)
        (row,) = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
        checked = run("check", tmp_path / "latest" / row["history"], "--json", "-")
        for unknown in (row, checked.json["results"][0]):
            assert unknown["verdict"] == "unknown" and re.search(says, unknown["trouble"]), unknown
        ran, read = ({p["property"]: p["verdict"] for p in one["properties"]} for one in (row, checked.json["results"][0]))
        assert read and set(read) <= set(ran) and set(ran.values()) == {"unknown"}, (ran, read)
    until(lambda: not set(holders) & set(holders_of(None)), "they end")


def test_a_refusal_for_want_of_open_files_says_what_fits_without_the_proxy(picklock):
    """What is said to fit with --direct does, one more does not, and it is said where --direct is possible, and not given."""
    def offered(ran):
        found = re.search(r"--direct --clients (\d+) fits", " ".join(ran.err.split()))
        return int(found[1]) if found else None

    limit = {"preexec_fn": limit_files(400, 400)}
    ran = stress_clients(picklock, 500, **limit)
    assert ran.status == 69 and offered(ran) == 180, ran  # 200 for itself; 180 clients, and a tenth of all connections as a reserve
    ran = stress_clients(picklock, 180, "--direct", **limit)
    assert ran.status in (0, 1, 2) and ran.rows[0]["clients"] == 180, ran
    ran = stress_clients(picklock, 181, "--direct", **limit)
    assert ran.status == 69 and "--clients 180 fits" in " ".join(ran.err.split()) and offered(ran) is None, ran
    ran = stress_clients(picklock, 500, "--real-time", **limit)
    assert ran.status == 69 and "open files" in ran.err and offered(ran) is None, ran


def test_the_limit_of_open_files_is_raised_as_far_as_allowed(picklock):
    ran = stress_clients(picklock, 100, preexec_fn=limit_files(250, 2000))
    assert ran.status in (0, 1, 2) and ran.rows[0]["clients"] == 100, ran


def test_a_server_that_takes_fewer_clients(picklock):
    """Those that it turns away are not counted as if they had been there."""
    with server("--maxclients", "20") as port:
        ran = stress_clients(picklock, 40, "--redis", f"redis://127.0.0.1:{port}")
    assert ran.status == 69 and "not all of 40 clients could be connected" in ran.err, ran


@pytest.mark.parametrize("files", [pytest.param(40, marks=pytest.mark.long("one of two")), 60])
def test_a_directed_run_without_descriptors_has_no_verdict(picklock, files):
    for words in (["run", "scenarios/restart-empty-quorum.yaml"],
                  ["explore", "--scheme", "redlock", "--servers", "5", "--fault", "resend", "--confirm"]):
        ran = picklock(*words, preexec_fn=limit_files(files, files))
        assert ran.status == 69 and "open files" in ran.err, ran
