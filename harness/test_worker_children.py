"""Processes that a worker starts, or is started by: waited for, named, and gone when it has ended, or picklock."""

import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, stat_of, until
from workers import PYTHON, once, plain_worker, scenario, verdict_of

worker = pytest.fixture(plain_worker)


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []


def test_a_worker_that_forks(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        if os.fork() == 0:
            time.sleep(0.2)
            os._exit(0)
        os.wait()
        return super().acquire(wait_ms)
"""))
    assert ran.status == 0 and "time passes" not in ran.out, ran


def test_a_process_that_keeps_it_busy_is_named(picklock, worker):
    ran = picklock("test", "--once", "--patience", "1s", worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        if os.fork() == 0:
            while True:
                pass
        while os.waitpid(-1, os.WNOHANG)[0] == 0:
            pass
"""))
    assert ran.status == 2 and "is busy" in ran.err and "it has started another process (python3), whose time is not steered" in ran.err, ran


def test_a_program_behind_a_shell_is_named_as_what_keeps_it_busy(picklock, worker):
    command = worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        while True:
            pass
""")
    ran = picklock("test", "--once", "--patience", "1s", f"sh -c {shlex.quote(command + '; true')}")
    assert ran.status == 2 and "another process (python3)" in ran.err and "name it first in the command" in ran.err, ran


def test_a_process_that_it_waits_for_is_named(picklock, worker):
    ran = picklock("test", "--once", "--patience", "1s", worker("""
import subprocess
class Worker(Worker):
    def acquire(self, wait_ms):
        subprocess.run(["sleep", "1000"], stdout=subprocess.PIPE)
"""))
    assert ran.status == 2 and "a process that it has started is still there (sleep)" in ran.err, ran


def test_workers_die_with_picklock(worker, tmp_path):
    mark = tmp_path / "mark"
    command = worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        open({str(mark)!r} + self.settings.name, "w").write(str(os.getpid()))
        while True:
            pass
""")
    process = subprocess.Popen([PICKLOCK, "test", "--once", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = tmp_path / "markA"
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    pid = int(path.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    while (stat_of(pid) or "Z")[0] != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    assert (stat_of(pid) or "Z")[0] == "Z"


OFFSPRING = """
import subprocess
class Worker(Worker):
    def acquire(self, wait_ms):
        if self.settings.name == "A":
            one = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            two = subprocess.run(["sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 & echo $!"], capture_output=True, text=True)
            with open(%r, "w") as file:
                file.write(f"{one.pid} {two.stdout}.")
        while %s:
            pass
        return super().acquire(wait_ms)
"""


def gone(pid, end):
    """It may be reaped between two looks."""
    while (stat := stat_of(pid)) and stat[0] != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    return not stat or stat[0] == "Z"


def test_what_a_worker_has_started_ends_with_it(picklock, worker, tmp_path):
    """In sessions of its own, and orphans: at the end of a run, and when picklock is killed."""
    pids, end = tmp_path / "pids", time.monotonic() + 60
    ran = once(picklock, worker(OFFSPRING % (str(pids), "False")))
    assert ran.status == 2 and "worker A has started a process that is still there at the end (sleep)" in ran.err, ran
    first = [int(word) for word in pids.read_text().strip(".").split()]
    assert len(first) == 2 and all(gone(pid, end) for pid in first)
    pids.unlink()
    process = subprocess.Popen([PICKLOCK, "test", "--once", worker(OFFSPRING % (str(pids), "True"))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (pids.exists() and pids.read_text().endswith(".")) and time.monotonic() < end:
        time.sleep(0.01)
    second = [int(word) for word in pids.read_text().strip(".").split()]
    assert len(second) == 2 and all(stat_of(pid) is not None for pid in second)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(gone(pid, end) for pid in second)


@pytest.mark.parametrize("wrapper", [
    'python=$(sleep 0.4; echo %(python)s | cat)\nexec "$python" "$@"\n',
    'exec sh -c \'x=`sleep 0.2 | cat`; y=$(echo "$x" | sed s/a/b/); exec %(python)s "$@"\' sh "$@"\n',
])
def test_a_wrapper_that_asks_its_children(picklock, worker, tmp_path, wrapper):
    """As pyenv's python3 does: it waits for a pipe, and what it starts lives by the real time."""
    path = tmp_path / "wrapper"
    path.write_text("#!/usr/bin/env bash\n" + wrapper % {"python": PYTHON})
    path.chmod(0o755)
    ran = once(picklock, f"{shlex.quote(str(path))} {worker().split(maxsplit=1)[1]}")
    assert ran.status == 0, ran


LEFT = """
import subprocess
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        {begins}

    def release(self):
        done = super().release()
        {releases}
        return done
"""


@pytest.mark.parametrize("begins, releases, is_told", [
    ("pass", "subprocess.Popen(['sleep', '1000'], env={}, start_new_session=True)", True),
    ("pass", "subprocess.run(['true'])", False),
    ("pass", "os.waitid(os.P_PID, subprocess.Popen(['true']).pid, os.WEXITED | os.WNOWAIT)", False),  # a zombie
    ("subprocess.Popen(['sleep', '1000'])", "pass", False),
], ids=["left", "waited for", "ended", "helper"])
def test_a_process_that_is_left_behind_gives_no_verdict(picklock, worker, tmp_path, begins, releases, is_told):
    """It may go on with the release. A helper is there before anything is asked."""
    row, _ = verdict_of(picklock, tmp_path, worker(LEFT.format(begins=begins, releases=releases)), scenario("expired-lease-double-delete"))
    told = "has started a process that is still there at the end (sleep)" in (row["trouble"] or "")
    assert told == is_told == (row["verdict"] == "unknown"), row


# io_uring_setup(4, zeros): by the C library, and by instructions of its own.
RING = """
import ctypes, mmap
class Worker(Worker):
    def release(self):
        done = super().release()
        zeros = ctypes.create_string_buffer(4096)
        {call}
        return done
"""
BY_LIBRARY = "assert ctypes.CDLL(None, use_errno=True).syscall(425, 4, zeros) == -1 and ctypes.get_errno() == errno.ENOSYS"
BY_ITSELF = (r"code = mmap.mmap(-1, 4096, prot=7); code.write(b'\xb8\xa9\x01\x00\x00\x0f\x05\xc3'); "  # mov eax, 425; syscall; ret
             "at = ctypes.addressof(ctypes.c_char.from_buffer(code)); self.kept = code; "
             "open(%r, 'a').write(str(ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_uint, ctypes.c_char_p)(at)(4, zeros)) + ' ')")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls")
def test_a_ring_of_the_kernels_gives_no_verdict(picklock, worker, tmp_path):
    """What it does in there takes real time. Who asks by the C library has none, as with many kernels, and goes on without."""
    row, _ = verdict_of(picklock, tmp_path, worker("import errno" + RING.format(call=BY_LIBRARY)), scenario("expired-lease-double-delete"))
    assert row["verdict"] != "unknown" and not row["trouble"], row
    made = tmp_path / "made"
    row, _ = verdict_of(picklock, tmp_path, worker(RING.format(call=BY_ITSELF % str(made))), scenario("expired-lease-double-delete"))
    if int(made.read_text().split()[0]) < 0:
        pytest.skip("this kernel makes no rings")
    assert row["verdict"] == "unknown" and "has a ring of io_uring" in row["trouble"], row


def test_a_worker_that_asks_another_program(picklock, worker):
    """It waits for its output, and nothing else would make it go on."""
    ran = once(picklock, worker("""
import subprocess
class Worker(Worker):
    def acquire(self, wait_ms):
        word = subprocess.run(["sh", "-c", "sleep 0.3; echo token"], stdout=subprocess.PIPE, text=True).stdout.strip()
        return word == "token" and super().acquire(wait_ms)
"""))
    assert ran.status == 0 and "time passes" not in ran.out, ran


@pytest.mark.parametrize("words, ends", [(["run", "--repeat", "100000", "scenarios/expired-lease-double-delete.yaml"], signal.SIGTERM),
                                         (["stress", "--clients", "2", "--duration", "1h"], signal.SIGTERM),
                                         (["stress", "--clients", "2", "--duration", "1h"], signal.SIGKILL)])  # starts no more than two
def test_processes_that_somebody_has_stopped_are_not_waited_for(worker, tmp_path, words, ends):
    """Neither the workers nor what looks after them; nothing is left of either, though picklock be killed."""
    process = subprocess.Popen([PICKLOCK, words[0], "--worker", worker(), *words[1:], "--out", tmp_path], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    below = []

    def two_levels():
        below[:] = [child for child in children(process.pid) for child in [child, *children(child)]]
        return sum(bool(children(child)) for child in below) >= 2

    until(two_levels, "two workers run")
    process.send_signal(signal.SIGSTOP)  # so that it starts no more of them meanwhile
    two_levels()
    for pid in below:
        os.kill(pid, signal.SIGSTOP)
    process.send_signal(ends)
    process.send_signal(signal.SIGCONT)
    process.wait(PATIENCE_S)
    assert process.returncode in (2, 69, -signal.SIGKILL), process.returncode  # a redis-server that is stopped, too, does not answer
    until(lambda: all(gone(pid, 0) for pid in below), "they are gone")
