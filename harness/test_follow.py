"""A history that is judged while it is written: `picklock check --follow`."""

import contextlib
import json
import os
import signal
import subprocess
import threading

import pytest

from conftest import PATIENCE_S, PICKLOCK, ROOT

HISTORY = ROOT / "sim" / "test" / "history1" / "foreign-calls-only.jsonl"
LINES = HISTORY.read_text().splitlines(keepends=True)
BROKEN = "so far: lease-exclusion is violated at event"


@contextlib.contextmanager
def following(path, *options, **more):
    process = subprocess.Popen([PICKLOCK, "check", "--follow", *map(str, options), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    impatient = threading.Timer(PATIENCE_S, process.kill)
    impatient.start()
    try:
        yield process
    finally:
        impatient.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def until_broken(process):
    """The line that tells of it; the program must not end before."""
    for line in process.stdout:
        if line.startswith(BROKEN):
            return line
    raise AssertionError((process.wait(), process.stderr.read()))


def test_what_is_violated_is_told_while_it_is_written(tmp_path):
    """A line that is not whole waits for its rest; the end line ends it, and then it is what it is without --follow."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(LINES[:3]) + LINES[3][:10])
    with following(path) as process:
        append(path, LINES[3][10:] + "".join(LINES[4:-1]))
        assert "bug-or-loss" in until_broken(process)
        append(path, LINES[-1][:4])
        append(path, LINES[-1][4:])
        out, err = process.communicate()
        whole = subprocess.run([PICKLOCK, "check", path], capture_output=True, text=True)
        assert (process.returncode, err) == (whole.returncode, whole.stderr) == (1, ""), (out, err)
        assert out.endswith(whole.stdout) and not out.removesuffix(whole.stdout).replace("so far: mutual-exclusion is violated", "").count("after all")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_broken", [False, True])
def test_ended_by_a_signal_it_is_unknown_unless_violated(number, is_broken, tmp_path):
    path = tmp_path / "a.jsonl"
    held = next(at for at, line in enumerate(LINES) if '"granted"' in line)
    path.write_text("".join(LINES[:-1] if is_broken else LINES[:held + 1]) + '{"i":')
    with following(path, "--json", tmp_path / "out.json") as process:
        if is_broken:
            until_broken(process)
        else:
            wait_for_reader(process, path)
        process.send_signal(number)
        out, err = process.communicate()
        assert process.returncode == (1 if is_broken else 2), (out, err)
        results = json.loads((tmp_path / "out.json").read_text())
        assert all(found["verdict"] != "holds" for found in results["results"][0]["properties"])
        assert results["notes"] == ["The history is not whole: it was ended by a signal before the history's end line."]


def wait_for_reader(process, path):
    """Until it has read all that is there: its position in the file says so."""
    size = str(path.stat().st_size)
    while process.poll() is None:
        for number in os.listdir(f"/proc/{process.pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{process.pid}/fd/{number}") == str(path):
                    with open(f"/proc/{process.pid}/fdinfo/{number}") as info:
                        if info.readline().split() == ["pos:", size]:
                            return
    raise AssertionError((process.wait(), process.stderr.read()))


@pytest.mark.parametrize("change, words", [
    (lambda path: os.truncate(path, 10), "the file was cut while it was read"),
    (lambda path: path.rename(path.with_suffix(".1")), "the file was removed"),
    (lambda path: (path.rename(path.with_suffix(".1")), path.write_text("")), ""),
    (lambda path: path.unlink(), "the file was removed"),
])
def test_a_file_that_is_cut_or_turned_over_is_told(change, words, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(LINES[:4]))
    with following(path) as process:
        wait_for_reader(process, path)
        change(path)
        out, err = process.communicate()
        assert process.returncode == 2 and (words in out if words else "the file was removed" in out or "another file took its name" in out), (out, err)


def test_a_pipe_is_followed_until_its_writer_ends():
    for lines, status in ((LINES, 1), (LINES[:-1], 1), (LINES[:4], 2), ([], 2)):
        with following("-", stdin=subprocess.PIPE) as process:
            out, err = process.communicate("".join(lines))
            assert process.returncode == status, (lines, out, err)
            assert (lines is not LINES) == ("its writer ended before the history's end line" in out + err), (out, err)


def test_a_bad_line_is_refused_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(LINES[:3]) + '{"i":2,"t":"x"}\n')
    with following(path) as process:
        out, err = process.communicate()
        assert process.returncode == 64 and f"{path}:4:" in err and "'t' wants a whole number" in err, (out, err)


def test_words_about_other_options():
    for options, words in ((["--timeline"], "exclude each other"), (["--format", "jepsen-edn"], "read twice")):
        done = subprocess.run([PICKLOCK, "check", "--follow", *options, HISTORY], capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 64 and words in done.stderr, done


@pytest.mark.parametrize("rest", ["garbage", "\n", LINES[0], LINES[-1]], ids=["garbage", "a blank line", "a head", "another end"])
@pytest.mark.parametrize("follows", [True, False])
def test_nothing_stands_behind_the_end_line(picklock, tmp_path, rest, follows):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(LINES) + rest)
    ran = picklock("check", path, *(("--follow",) if follows else ()))
    assert ran.status == 64 and f"{path}:{len(LINES) + 1}:1: something stands behind the end line, which is the last" in ran.err, ran
    read_end, write_end = os.pipe()
    os.write(write_end, ("".join(LINES) + rest).encode())  # at once, and less than a pipe holds
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        piped = subprocess.run([PICKLOCK, "check", "-", *(("--follow",) if follows else ())], stdin=pipe, capture_output=True, text=True)
    assert piped.returncode == 64 and f":{len(LINES) + 1}:1: something stands behind the end line" in piped.stderr, piped
    path.write_text("".join(LINES))
    assert picklock("check", path, *(("--follow",) if follows else ())).status == 1
