"""Input that is no file, or too much of one: nothing hangs, nothing is read without end, and it is said what is wrong. And what
is left behind by a program, or a script, that is killed."""

import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, run, servers

ONE = "scenarios/expired-lease-double-delete.yaml"
HISTORY = ROOT / "reports" / "example" / "histories" / "expired-lease-double-delete-set-nx-px-cad.jsonl"

READERS = {
    "check": lambda path, tmp: ["check", path],
    "check --timeline": lambda path, tmp: ["check", path, "--timeline"],
    "run": lambda path, tmp: ["run", "--on", "sim", path, "--out", tmp],
    "replay": lambda path, tmp: ["replay", "--on", "sim", path, "--out", tmp],
    "report": lambda path, tmp: ["report", path.parent],
    "proxy": lambda path, tmp: ["proxy", "--rules", path],
    "explore": lambda path, tmp: ["explore", "--scheme", path, "--fault", "none"],
}


def place(name, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder / {"report": "results.json", "explore": "mine.so"}.get(name, "input")


@pytest.mark.parametrize("name", READERS)
def test_a_named_pipe_is_not_waited_for(name, tmp_path):
    path = place(name, tmp_path)
    os.mkfifo(path)
    ran = run(*READERS[name](path, tmp_path))
    assert ran.status == 64 and "pipe" in ran.err and str(path) in ran.err, ran


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_file(name, device, tmp_path):
    path = place(name, tmp_path)
    path.symlink_to(device)
    ran = run(*READERS[name](path, tmp_path))
    assert ran.status == 64 and "is not a regular file but a device" in ran.err, ran


@pytest.mark.parametrize("name", READERS)
def test_a_folder_is_no_file(name, tmp_path):
    path = place(name, tmp_path)
    path.mkdir()
    ran = run(*READERS[name](path, tmp_path))
    assert ran.status == 64 and "is a directory" in ran.err, ran


def shell(line, *words):
    return subprocess.run(["bash", "-c", line, "bash", PICKLOCK, *words], cwd=ROOT, text=True, capture_output=True,
                          timeout=PATIENCE_S)


@pytest.mark.parametrize("line", ['"$1" check <(cat "$2")', 'cat "$2" | "$1" check /dev/stdin', '"$1" check /dev/stdin <"$2"'])
def test_a_pipe_that_somebody_writes_is_read(line):
    done = shell(line, HISTORY)
    assert done.returncode == 0 and "overrun" in done.stdout, done


def test_a_pipe_is_read_once():
    done = shell('"$1" check --timeline <(cat "$2")', HISTORY)
    assert done.returncode == 64 and "twice" in done.stderr and not done.stdout, done


def test_rules_may_come_from_a_pipe():
    """And wrong ones are told as such: so they were read."""
    done = shell('"$1" proxy --rules <(echo "nonsense")')
    assert done.returncode == 64 and ":1" in done.stderr and "regular" not in done.stderr, done


@pytest.mark.parametrize("option", ["--json", "--junit", "--markdown", "--html"])
def test_an_output_that_nobody_reads_is_not_waited_for(option, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ran = run("run", "--on", "sim", ONE, "--out", tmp_path / "runs", option, tmp_path / "pipe")
    assert ran.status == 64 and "nobody reads it" in ran.err, ran


def test_a_log_that_nobody_reads_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ran = run("proxy", "--log", tmp_path / "pipe")
    assert ran.status == 64 and "nobody reads it" in ran.err, ran


def test_a_results_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    """300 MB in one string would take twice that; so little memory is enough to say no."""
    with (tmp_path / "results.json").open("w") as file:
        file.write('{"schema": "')
        file.truncate(300_000_000)
    limit = 200_000_000
    ran = run("report", tmp_path, preexec_fn=None if sanitized() else
              lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert ran.status == 64 and "has 300000000 bytes; a file of this kind has at most" in ran.err, ran


def sanitized():
    return b"__asan_init" in PICKLOCK.read_bytes() or b"__tsan_init" in PICKLOCK.read_bytes()


# --- what is left behind ---

def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def has_nameless(folder):
    """Not every file system has files without a name."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def test_killed_without_warning_it_leaves_no_part_of_a_file(tmp_path):
    if not has_nameless(tmp_path):
        pytest.skip("no files without a name on this file system")
    before = servers()
    process = subprocess.Popen([PICKLOCK, "stress", "--scheme", "set-nx-px-cad", "--clients", "5", "--duration", "60s",
                                "--history", "--out", tmp_path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # the rates
    process.stderr.readline()  # it runs, and writes a history
    process.kill()
    process.communicate()
    until(lambda: not servers() - before, "the server is gone")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("script", ["demo", "campaign"])
def test_who_kills_a_script_kills_what_it_started(script, number, tmp_path):
    if subprocess.run(["setpriv", "--pdeathsig", "TERM", "true"], capture_output=True).returncode:
        pytest.skip("no setpriv --pdeathsig here")
    words = {"demo": [ROOT / "harness" / "demo.sh", PICKLOCK],
             "campaign": [ROOT / "harness" / "campaign.sh", "2", tmp_path / "campaign", "run", ROOT / ONE, "--repeat",
                          "1000000", "--on", "sim"]}[script]
    process = subprocess.Popen(["sh", *map(str, words)], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "PARALLEL": "no", "BUILD": str(PICKLOCK.parent)})
    started = lambda: [pid for pid in children(process.pid)
                       if PICKLOCK.name in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
    if script == "demo":
        (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    until(lambda: any(tmp_path.rglob("histories")), "runs are under way")
    found = started()
    assert len(found) == (1 if script == "demo" else 2)
    process.send_signal(number)
    process.wait(timeout=PATIENCE_S)
    until(lambda: not any(map(is_alive, found)), "they have ended")
    assert process.returncode != 0
