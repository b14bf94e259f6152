"""What steers a run proves that it steers: clocks that follow, faults that strike. Else there is no verdict."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from conftest import BUILD, PATIENCE_S, PICKLOCK, ROOT, ask, server

NAIVE = ["run", "--scheme", "set-nx-ex-del", "scenarios/expired-lease-double-delete.yaml"]


def wrapper(tmp_path, text):
    """A redis-server of its own kind: what a distribution, a container or a snap may put on the PATH."""
    path = tmp_path / "redis-server-wrapped"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def refuses(ran, words):
    assert ran.status == 69 and words in ran.err, ran
    assert "holds" not in ran.out + ran.err


def test_a_wrapper_that_drops_the_preloaded_library(picklock, tmp_path):
    path = wrapper(tmp_path, 'unset LD_PRELOAD\nexec redis-server "$@"\n')
    ran = picklock(*NAIVE, "--redis-server", path)
    refuses(ran, "its clock cannot be steered")
    assert str(path) in ran.err and "--real-time" in ran.err
    assert picklock(*NAIVE, "--redis-server", path, "--real-time").status == 0


def test_a_wrapper_that_keeps_it(picklock, tmp_path):
    ran = picklock(*NAIVE, "--redis-server", wrapper(tmp_path, 'exec redis-server "$@"\n'))
    assert ran.status == 0 and "unlock-bug" in ran.out, ran


def test_a_binary_that_the_loader_does_not_trust(picklock, tmp_path):
    """Set-group-id, as with file capabilities: LD_PRELOAD is ignored, and nothing said."""
    path = tmp_path / "redis-server"
    shutil.copy(shutil.which("redis-server"), path)
    try:
        os.chown(path, -1, 65534 if os.geteuid() == 0 else next(g for g in os.getgroups() if g != os.getegid()))
    except (OSError, StopIteration):
        pytest.skip("no other group to give it to")
    path.chmod(0o2755)
    refuses(picklock(*NAIVE, "--redis-server", path), "its clock cannot be steered")


@pytest.mark.parametrize("drops", [1, 2])
def test_a_server_that_is_steered_at_first(picklock, tmp_path, drops):
    """Each start is looked at: the replica's, that of a server which restarts."""
    count = tmp_path / "count"
    path = wrapper(tmp_path, f'echo x >> {count}\n'
                             f'[ "$(wc -l < {count})" -gt {drops} ] && unset LD_PRELOAD\nexec redis-server "$@"\n')
    scenarios = ["scenarios/restart-empty.yaml"] if drops == 1 else \
        ["scenarios/failover-loses-lock.yaml", "scenarios/restart-empty.yaml"]
    ran = picklock("run", "--scheme", "set-nx-px-cad", "--redis-server", path, *scenarios)
    refuses(ran, "its clock cannot be steered")


@pytest.mark.parametrize("name", ["sp ace", "co:lon", "dol$LIBlar", "plain"])
def test_the_program_in_an_odd_folder(tmp_path, name):
    """LD_PRELOAD splits at blanks and colons: the shim is not loaded from where the program lies."""
    odd = tmp_path / name
    odd.mkdir()
    for part in ("picklock", "picklock-clock.so"):
        shutil.copy(BUILD / part, odd / part)
    done = subprocess.run([odd / "picklock", *NAIVE, "--json", "-", "--out", tmp_path / "runs"], cwd=ROOT, text=True,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done
    [row] = json.loads(done.stdout)["results"]
    assert row["verdict"] == "violated" and row["as_expected"] is True


def test_the_shim_is_missing(tmp_path):
    shutil.copy(PICKLOCK, tmp_path / "picklock")
    done = subprocess.run([tmp_path / "picklock", *NAIVE, "--out", tmp_path / "runs"], cwd=ROOT, text=True,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 69 and "picklock-clock.so" in done.stderr, done


def test_a_wrapper_that_starts_a_server_beside_itself(picklock, tmp_path):
    """What would be killed is the wrapper, and the server would live on. (That none is left, every test checks.)"""
    ran = picklock(*NAIVE, "--redis-server", wrapper(tmp_path, 'redis-server "$@"\n:\n'))
    refuses(ran, "exec redis-server")


def test_a_restart_that_keeps_the_keys(picklock, tmp_path):
    """A server that writes what it is told: "restarts empty" did not strike, so nothing is concluded."""
    (tmp_path / "kept").mkdir()
    path = wrapper(tmp_path, f'exec redis-server "$@" --dir "{tmp_path}/kept" --appendonly yes --appendfsync always\n')
    ran = picklock("run", "--scheme", "set-nx-px-cad", "scenarios/restart-empty.yaml", "--redis-server", path,
                   "--json", "-")
    [row] = ran.json["results"]
    assert ran.status == 2 and row["verdict"] == "unknown", ran
    assert "came back with 1 key," in row["trouble"], row


def test_a_stopped_server_dies_with_the_program(tmp_path):
    """The death signal of the system ends a process that stands still, too."""
    story = tmp_path / "stands-still.yaml"
    story.write_text("name: stands-still\nsource: none\nlease: 1m\nclients: [A]\nsteps:\n  - server is stopped\n"
                     "  - time passes 10m\nexpect:\n  set-nx-px-cad: { lease-exclusion: holds }\n")
    process = subprocess.Popen([PICKLOCK, "run", "--real-time", story], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               cwd=tmp_path)

    def state(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None

    def until(condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)

    def stopped():
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [pid for pid in children if state(pid) == "T"]

    until(stopped)
    server = stopped()[0]
    process.kill()
    process.wait()
    until(lambda: state(server) in (None, "Z"))


def test_scripts_that_stay(picklock, tmp_path):
    """A server that has no SCRIPT FLUSH that flushes: told as such, by whatever it answers."""
    path = wrapper(tmp_path, 'exec redis-server "$@" --rename-command SCRIPT ""\n')
    ran = picklock("run", "--scheme", "set-nx-px-evalsha", "scenarios/script-flush.yaml", "--redis-server", path)
    refuses(ran, "SCRIPT")


def carry(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def balancer(*ports):
    """Connections go to one server after the other, as behind a name with several addresses."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with contextlib.suppress(OSError):
                for number in range(1 << 30):
                    client = listener.accept()[0]
                    upstream = socket.create_connection(("127.0.0.1", ports[number % len(ports)]))
                    for ends in ((client, upstream), (upstream, client)):
                        threading.Thread(target=carry, args=ends, daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("words", [NAIVE, ["stress", "--clients", "2", "--duration", "100ms", "--scheme", "set-nx-px-cad"]])
def test_an_address_of_several_servers(picklock, words):
    """What our own connection does, and what clients do, must be about one server."""
    with server() as one, server() as other:
        with balancer(one, other) as port:
            ran = picklock(*words, "--redis", f"redis://127.0.0.1:{port}")
        assert ran.status == 69 and "end at two servers" in ran.err, ran
        with balancer(one) as port:
            ran = picklock(*words, "--redis", f"redis://127.0.0.1:{port}")
        assert ran.status in (0, 1, 2), ran
        assert not ask(one, "KEYS", "*") and not ask(other, "KEYS", "*")


# --- clocks that nobody steers ---

@contextlib.contextmanager
def clock(tmp_path, speed, ahead_s=0):
    """The page of a clock that runs at that speed: struct clock_page (sim/live/clock.h), which the preloaded library reads."""
    path = tmp_path / "page"
    gains_us = round((speed - 1) * 1e6)
    path.write_bytes(struct.pack("=i4xqqqq", 0, int(ahead_s * 1e6), 0, gains_us, time.time_ns() // 1000))
    yield path


def at_speed(tmp_path, page):
    library = tmp_path / "clock.so"  # LD_PRELOAD takes no blank and no colon, which BUILD may have
    library.symlink_to(BUILD / "picklock-clock.so")
    return wrapper(tmp_path, f"LD_PRELOAD='{library}' PICKLOCK_CLOCK='{page}' exec redis-server \"$@\"\n")


LATE = ["run", "--scheme", "set-nx-px-cad", "scenarios/late-grant.yaml"]


STRESS = ["stress", "--scheme", "set-nx-ex-del", "--clients", "5", "--duration", "1s"]


@pytest.mark.parametrize("words", [NAIVE, LATE, STRESS])
@pytest.mark.parametrize("speed", [0.5, 0.8, 1.5])
def test_a_clock_of_another_speed(picklock, tmp_path, words, speed):
    """Leases end by the server's clock, and are judged by ours: nothing is concluded."""
    with clock(tmp_path, speed) as page:
        ran = picklock(*words, "--real-time", "--redis-server", at_speed(tmp_path, page), "--json", "-")
    [row] = ran.json["results"]
    assert ran.status == 2 and row["verdict"] == "unknown" and row["as_expected"] is None, ran
    ran_at = float(row["trouble"].split("the server's clock ran at ")[1].split(" of ours")[0])
    assert abs(ran_at - speed) < 0.1, row


def test_stress_steers_its_own_servers(picklock, tmp_path):
    """So that they tell in which order they read: one that drops our library is refused."""
    with clock(tmp_path, 1) as page:
        ran = picklock(*STRESS, "--redis-server", at_speed(tmp_path, page))
        assert ran.status == 69 and "its clock cannot be steered" in ran.err and "--real-time" in ran.err, ran


@pytest.mark.parametrize("words", [LATE, STRESS])
def test_a_clock_of_another_speed_on_somebody_elses_server(picklock, tmp_path, words):
    with clock(tmp_path, 0.5) as page, server(program=at_speed(tmp_path, page)) as port:
        ran = picklock(*words, "--redis", f"redis://127.0.0.1:{port}")
        assert ran.status == 2 and "the server's clock ran at 0." in ran.out and "of ours" in ran.out, ran


def test_a_clock_that_is_wrong_and_keeps_pace(picklock, tmp_path):
    """An hour ahead harms no lease."""
    with clock(tmp_path, 1, ahead_s=3600) as page:
        path = at_speed(tmp_path, page)
        for words in (NAIVE, LATE):
            ran = picklock(*words, "--real-time", "--redis-server", path, "--json", "-")
            [row] = ran.json["results"]
            assert ran.status == 0 and row["verdict"] in ("violated", "holds") and row["as_expected"] is True, ran


def refuse_clock_calls():
    """From here on the kernel refuses clock_gettime as a system call: a filter of seccomp(2), which a child keeps."""
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    load, jump_if_equal, answer, refused, allowed = 0x20, 0x15, 0x06, 0x00050000 | 38, 0x7FFF0000
    number = {"x86_64": 228, "aarch64": 113}[os.uname().machine]
    rows = [(load, 0, 0, 0), (jump_if_equal, 0, 1, number), (answer, 0, 0, refused), (answer, 0, 0, allowed)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(rows), ctypes.addressof(program)))
    library = ctypes.CDLL(None)
    if library.prctl(no_new_privileges, 1, 0, 0, 0) or library.prctl(set_seccomp, filter_mode, whole, 0, 0):
        raise OSError("no filter can be set here")


def clocks_without_calls(**environment):
    words = "import time; print(int(time.clock_gettime(time.CLOCK_REALTIME)), time.clock_gettime(time.CLOCK_MONOTONIC) > 0)"
    return subprocess.run([sys.executable, "-c", words], env={**os.environ, **environment}, preexec_fn=refuse_clock_calls,
                          text=True, capture_output=True, timeout=PATIENCE_S)


def test_the_real_time_takes_no_system_call():
    """A server asks for it several times a command."""
    try:
        bare = clocks_without_calls()
    except (subprocess.SubprocessError, KeyError):
        pytest.skip("no system call can be refused here")
    if bare.returncode:
        pytest.skip("the C library itself asks the kernel for the time here")
    steered = clocks_without_calls(LD_PRELOAD=str(BUILD / "picklock-clock.so"))
    assert steered.returncode == 0, steered
    seconds, runs = steered.stdout.split()
    assert abs(int(seconds) - time.time()) < PATIENCE_S and runs == "True"


def jump(page, us):
    with open(page, "r+b") as file:
        file.seek(8)
        file.write(struct.pack("=q", us))


def test_what_stress_has_proved_stays_when_a_clock_goes_astray(tmp_path):
    """Losers extend what is not theirs: that was seen while the server's clock kept ours. What came behind is unknown."""
    with clock(tmp_path, 1) as page:
        words = ["stress", "--scheme", "multi-setnx-expire-del", "--clients", "5", "--locks", "1", "--no-faults", "--duration", "0",
                 "--real-time", "--redis-server", at_speed(tmp_path, page), "--out", tmp_path / "out", "--progress", "json"]
        process = subprocess.Popen([PICKLOCK, *map(str, words)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        next(line for line in process.stderr if "foreign-extend" in line)  # one a second, behind the look at the clocks
        jump(page, 3600 * 10**6)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
    [row] = json.loads(next((tmp_path / "out").glob("*-stress/results.json")).read_text())["results"]
    verdicts = {p["property"]: p["verdict"] for p in row["properties"]}
    assert process.returncode == 1 and row["verdict"] == "violated" and row["as_expected"] is False, (out, err)
    assert verdicts["extend-own"] == "violated" and "unknown" in verdicts.values() and "holds" not in verdicts.values(), verdicts
    assert "before it came into doubt: the server's clock" in " ".join(out.split()), out
