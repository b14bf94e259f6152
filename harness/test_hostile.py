"""Input that is no file, or too much of one: nothing hangs, nothing is read without end, and it is said what is wrong. And what
is left behind by a program, or a script, that is killed."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
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


@pytest.mark.parametrize("line", ['"$1" check <(cat "$2")', 'cat "$2" | "$1" check /dev/stdin', '"$1" check /dev/stdin <"$2"',
                                  'cat "$2" | "$1" check -', 'sleep 0.2 & tail -n +1 -f --pid=$! "$2" | "$1" check -', '"$1" check - <"$2"'])
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


# --- words that would steer a terminal ---

# Clear the screen, set its title, a C1 control as text and as a byte, text from right to left, invisible tags.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\u061c\U000e0041\r"


def is_clean(text):
    return not [c for c in text if c != "\n" and (not c.isprintable() and c != "\t")]


def says_cleanly(*words, status=(64,), **more):
    done = subprocess.run([PICKLOCK, *map(str, words)], cwd=ROOT, capture_output=True, timeout=PATIENCE_S, **more)
    text = (done.stdout + done.stderr).decode()
    assert done.returncode in status and text and is_clean(text), (done.returncode, text)
    return text


def test_the_sample_is_hostile():
    assert not is_clean(EVIL) and all(not is_clean(c) for c in "\x1b\x07\x9b\u202e\u2066\u061c\U000e0041\r")


@pytest.mark.parametrize("words", [
    [EVIL], ["run", "--" + EVIL], ["run", "--seed", EVIL], ["run", "--scheme", EVIL], ["run", "--scheme", EVIL + ".so"],
    ["run", EVIL], ["replay", EVIL], ["check", EVIL], ["report", EVIL], ["explore", "--fault", EVIL], ["list", EVIL],
    ["proxy", "--listen", EVIL], ["proxy", "--rules", EVIL], ["run", "--redis", EVIL], ["run", "--shard", EVIL],
])
def test_the_command_line(words):
    says_cleanly(*words)


@pytest.mark.parametrize("name", ["check", "run", "replay", "report", "proxy", "explore"])
def test_the_name_and_the_words_of_a_file(name, tmp_path):
    folder = tmp_path / EVIL
    folder.mkdir()
    path = folder / {"report": "results.json", "explore": "mine.so"}.get(name, EVIL)
    for content in (EVIL, "{\"" + EVIL + "\": 1}", '{"schema": "\\u001b[31m", "\\u001b[2J": 1}', EVIL + ": command=" + EVIL,
                    "name: " + EVIL + "\n", "picklock schedule 1\nscheme: " + EVIL + "\n"):
        path.write_text(content)
        says_cleanly(*READERS[name](path, tmp_path))


def hostile_history(tmp_path):
    """JSON may hold any character, and a history's names are anybody's."""
    lines = HISTORY.read_text().splitlines(keepends=True)
    evil = "\\u001b[2J\\u009b31m\\u202e"
    assert '"A"' in lines[0]
    lines[0] = lines[0].replace('"A"', f'"{evil}A"').replace('"scenario":"', f'"scenario":"{evil}')
    path = tmp_path / "history.jsonl"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("more", [[], ["--timeline"]])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_the_names_in_a_history(more, locale, tmp_path):
    text = says_cleanly("check", hostile_history(tmp_path), *more, status=(0,), env={**os.environ, "LC_ALL": locale})
    assert "overrun" in text


def test_a_run_folder_with_such_a_name(tmp_path):
    out = tmp_path / EVIL
    says_cleanly("run", "--on", "sim", ONE, "--out", out, status=(0,))
    says_cleanly("explore", "--scheme", "setnx-del", "--fault", "resend", "--witness", "--out", out, status=(0,))


@contextlib.contextmanager
def hostile_server(answer):
    """Answers everything with that one line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve(link):
            with contextlib.suppress(OSError):
                while link.recv(1 << 16):
                    link.sendall(answer)

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=listen, daemon=True).start()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("answer", [f"-ERR {EVIL.strip()}\r\n", f"-{EVIL.strip()} no\r\n", f"+{EVIL.strip()}\r\n",
                                    f"${len(EVIL.encode())}\r\n{EVIL}\r\n", EVIL * 40, "*2147483647\r\n"])
@pytest.mark.parametrize("command", ["run", "stress", "clean"])
def test_the_answers_of_a_server(answer, command, tmp_path):
    words = {"run": ["run", ONE, "--out", tmp_path], "clean": ["clean"],
             "stress": ["stress", "--clients", "2", "--duration", "100ms", "--out", tmp_path]}[command]
    with hostile_server(answer.encode()) as port:
        text = says_cleanly(*words, "--redis", f"redis://127.0.0.1:{port}", status=(2, 69))
    assert command == "clean" or "PING" in text, text  # at the first word, not when it has been waited for


LARGE, SLOW = (b"x" * 65536, "answered with more than 64 MB"), (b"x", "its answer had begun, and did not end")


@pytest.mark.parametrize("command, piece, words", [("run", *LARGE), ("stress", *LARGE), ("clean", *LARGE), ("watch", *LARGE), ("run", *SLOW)])
def test_an_answer_that_never_ends(tmp_path, command, piece, words):
    """Neither one that is large nor one that is slow is waited for, nor kept: hiredis would do both."""
    told = {"run": ["run", ONE, "--out", tmp_path], "stress": ["stress", "--duration", "100ms", "--out", tmp_path],
            "clean": ["clean"], "watch": ["watch", "--key", "lock:*", "--out", tmp_path]}[command]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with contextlib.suppress(OSError):
                link = listener.accept()[0]
                link.recv(1 << 16)
                link.sendall(b"$999999999999\r\n")
                while True:
                    link.sendall(piece)
                    time.sleep(0 if len(piece) > 1 else 0.2)
        threading.Thread(target=serve, daemon=True).start()
        text = says_cleanly(*told, "--redis", f"redis://127.0.0.1:{listener.getsockname()[1]}", status=(2, 69))
    assert words in " ".join(text.split()), text


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


def test_killed_without_warning_it_leaves_its_history_and_no_other_part_of_a_file(tmp_path):
    """What was written by then is there, and says by itself that it is not whole."""
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
    history, = [path for path in tmp_path.rglob("*") if path.is_file()]
    cut = run("check", history)
    assert history.name == "stress-set-nx-px-cad.jsonl" and cut.status == 2 and "the history has no end: its writer was killed" in cut.out, cut


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
