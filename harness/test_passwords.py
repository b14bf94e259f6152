"""The login of a server, on the command line or in the environment: it is used, and shown to nobody."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ask, free_port, run, server

ONE = "scenarios/expired-lease-double-delete.yaml"
SECRET = "hunter2-is-no-password"


def test_a_password_is_used_and_never_shown(picklock, tmp_path):
    with server("--requirepass", SECRET) as port:
        ran = picklock("run", "--scheme", "set-nx-px-cad", ONE, "--redis",
                       f"redis://:{SECRET}@127.0.0.1:{port}")
        assert ran.status == 0, ran
        assert SECRET not in ran.out + ran.err
        for path in (tmp_path / "runs").rglob("*"):
            if path.is_file():
                assert SECRET.encode() not in path.read_bytes(), path


def secret_url(port, scheme="redis", login=f":{SECRET}"):
    return f"{scheme}://{login}@127.0.0.1:{port}"


def holds_secret(folder):
    return [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("words", [
    ["run", ONE, "--redis=REDIS://{login}@127.0.0.1:{port}/0"],
    ["run", ONE, "--redis", "Redis://{login}@127.0.0.1:{port}"],
    ["run", ONE, "--redis", "Unix://{login}@{socket}"],
    ["run", ONE, "--redis", "uNiX://{login}@{socket}?db=0"],
    ["stress", "--clients", "2", "--duration", "50ms", "--redis", "REDIS://{login}@127.0.0.1:{port}"],
])
def test_a_password_is_hidden_whatever_the_case(picklock, tmp_path, words):
    path = tmp_path / "sock"
    with server("--requirepass", SECRET, "--unixsocket", str(path)) as port:
        words = [word.format(login=f"default:{SECRET}", port=port, socket=path) for word in words]
        ran = picklock(*words, "--scheme", "set-nx-px-cad")
    assert ran.status in (0, 1, 2) and (tmp_path / "runs" / "latest" / "results.json").exists(), ran
    assert SECRET not in ran.out + ran.err
    assert not holds_secret(tmp_path / "runs")


@pytest.mark.parametrize("words", [
    ["run", ONE, "--redis", f"rediss://u:{SECRET}@h"],
    ["run", ONE, "--redis", f"redis://h?password={SECRET}"],
    ["run", ONE, "--redis", f"default:{SECRET}@h"],
    ["run", ONE, "--redis", f"unix://u:x/{SECRET}@/nowhere"],
    ["run", ONE, "--redis", f"redis://u:x/{SECRET}@h"],
    ["run", f"REDIS://u:{SECRET}@h"],
    ["run", ONE, f"--redis-url=redis://u:{SECRET}@h"],
    ["check", f"redis://u:{SECRET}@h"],
    ["proxy", "--upstream", f"redis://u:{SECRET}@h"],
    ["report", "--out", f"x://u:{SECRET}@h"],
    [f"redis://u:{SECRET}@h"],
])
def test_a_password_in_a_wrong_place_is_not_told(words):
    ran = run(*words)
    assert ran.status in (2, 64, 69) and ran.err, ran
    assert SECRET not in ran.out + ran.err


def test_a_server_that_repeats_what_it_does_not_know(picklock):
    """Without AUTH a server answers a login with an error that quotes the password."""
    with server("--rename-command", "AUTH", "") as port:
        ran = picklock("run", ONE, "--redis", secret_url(port))
    assert ran.status == 69 and "refused the login (ERR)" in ran.err, ran
    assert SECRET not in ran.out + ran.err


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_url_may_stand_in_the_environment(tmp_path):
    """It is used, and shown neither by the program nor by its children."""
    with server("--requirepass", SECRET) as port:
        process = subprocess.Popen(
            [PICKLOCK, "stress", "--clients", "2", "--duration", "60s", "--scheme", "set-nx-px-cad", "--out", tmp_path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PICKLOCK_REDIS_URL": secret_url(port, "REDIS")})
        try:
            process.stderr.readline()  # the rates
            process.stderr.readline()  # the first progress line: it runs
            assert "picklock:" in ask(port, "-a", SECRET, "KEYS", "*")
            for pid in [process.pid, *children(process.pid)]:
                for name in ("environ", "cmdline"):
                    assert SECRET not in pathlib.Path(f"/proc/{pid}/{name}").read_text(), (pid, name)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
    invocation = json.loads((tmp_path / "latest" / "results.json").read_text())["invocation"]
    assert re.search(rf"--redis 'REDIS://\*+@127.0.0.1:{port}'$", invocation), invocation
    assert not holds_secret(tmp_path)


def test_the_command_line_goes_before_the_environment(picklock):
    wrong = {"PICKLOCK_REDIS_URL": f"redis://:{SECRET}@127.0.0.1:{free_port()}"}
    assert picklock("run", ONE, "--on", "sim", "--scheme", "set-nx-px-cad", env=wrong).status == 0
    assert picklock("run", ONE, "--redis-server", "redis-server", "--scheme", "set-nx-px-cad", env=wrong).status == 0
    with server() as port:
        ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}", "--scheme", "set-nx-px-cad", env=wrong)
        assert ran.status == 0, ran
    ran = picklock("run", ONE, env=wrong)
    assert ran.status == 69 and "refused" in ran.err and SECRET not in ran.err, ran


def test_a_private_server_does_not_inherit_the_url(tmp_path):
    """What a child is started with, seen by a wrapper around redis-server."""
    seen = tmp_path / "seen"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\nenv > {seen}\nexec redis-server \"$@\"\n")
    wrapper.chmod(0o755)
    ran = run("run", ONE, "--redis-server", wrapper, "--scheme", "set-nx-px-cad", "--out", tmp_path / "runs",
              env={"PICKLOCK_REDIS_URL": secret_url(1)})
    assert ran.status == 0, ran
    assert "PATH=" in seen.read_text() and SECRET not in seen.read_text()


def test_a_password_is_not_in_the_process_title(tmp_path):
    with server("--requirepass", SECRET) as port:
        process = subprocess.Popen(
            [PICKLOCK, "stress", "--redis", f"redis://:{SECRET}@127.0.0.1:{port}", "--clients", "2",
             "--duration", "60s", "--scheme", "set-nx-px-cad", "--out", tmp_path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            process.stderr.readline()  # the rates
            process.stderr.readline()  # the first progress line: it runs
            title = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
            assert "stress" in title and SECRET not in title
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("user, says", [("", "password"), (":wrong-one@", "password")])
def test_a_missing_or_wrong_password(picklock, user, says):
    with server("--requirepass", SECRET) as port:
        ran = picklock("run", ONE, "--redis", f"redis://{user}127.0.0.1:{port}")
    assert ran.status == 69 and says in ran.err.lower() and "wrong-one" not in ran.err, ran
