"""Is a worker's time ours? Whichever clock it reads; where it is not, there is no verdict."""

import pytest
from conftest import verdicts
from workers import once, plain_worker, scenario, verdict_of

worker = pytest.fixture(plain_worker)


@pytest.mark.parametrize("clock", [
    "os.times().elapsed",
    "(lambda row: libc.sysinfo(row) or row[0])((ctypes.c_long * 64)())",  # whole seconds
    "(lambda row: libc.syscall(228, 1, row) or row[0] + row[1] / 1e9)((ctypes.c_long * 2)())",  # clock_gettime, on x86-64
    "libc.syscall(201, None)",  # time, on x86-64
    "time.clock_gettime(9)",  # CLOCK_BOOTTIME_ALARM
    "time.clock_gettime(8)",  # CLOCK_REALTIME_ALARM
], ids=["times", "sysinfo", "syscall", "time by number", "boottime alarm", "realtime alarm"])
def test_clocks_that_few_read_are_ours(picklock, worker, clock):
    ran = once(picklock, worker(f"""
import ctypes
libc = ctypes.CDLL(None)
class Worker(Worker):
    def acquire(self, wait_ms):
        since = {clock}
        time.sleep(7)
        sys.stderr.write(f"it took {{{clock} - since:.0f}} s\\n")
        return super().acquire(wait_ms)
"""))
    assert ran.status == 0 and "A  prints: it took 7 s" in ran.out, ran


@pytest.mark.parametrize("what, words", [
    ("signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 60)", "setitimer()"),
    pytest.param("signal.signal(signal.SIGALRM, lambda *_: None); signal.alarm(60)", "alarm()", marks=pytest.mark.long("one of several")),
    ("open('/proc/uptime').read()", "/proc/uptime"),
    ("ctypes.CDLL(None).open(b'/proc/timer_list', os.O_RDONLY)", "/proc/timer_list"),  # root's alone, where there is one
])
def test_a_clock_that_is_not_steered_gives_no_verdict(picklock, worker, what, words):
    """What a worker does by such a one would look like what it does by ours. That it sets none is no matter."""
    ran = once(picklock, worker(f"""
import ctypes, signal
class Worker(Worker):
    def release(self):
        {what}
        return super().release()
"""))
    assert ran.status == 2 and f"worker A goes by {words}, a clock that is not steered" in ran.err, ran
    ran = once(picklock, worker("import signal; signal.alarm(0); signal.setitimer(signal.ITIMER_REAL, 0); open('/proc/loadavg').read()"))
    assert ran.status == 0, ran


# Grants are answered half a lease after their end, by its own clock alone.
SPINS = """
class Worker(Worker):
    def acquire(self, wait_ms):
        granted = super().acquire(wait_ms)
        end = {clock}() + 1.5 * self.settings.ttl_ms / 1000
        while {clock}() < end:
            pass
        return granted
"""


@pytest.mark.parametrize("clock", ["time.monotonic", "time.time"])
@pytest.mark.parametrize("more", [
    ("test", "--once"),
    ("test",),
    ("run", scenario("late-grant"), "--worker"),
    ("explore", "--clients", "2", "--rounds", "1", "--fault", "none", "--worker"),
], ids=["once", "test", "run", "explore"])
def test_time_that_a_worker_spins_away_gives_no_verdict(picklock, worker, more, clock):
    """It passes for nobody else: the lease would not be over when the grant is answered."""
    ran = picklock(*more, worker(SPINS.format(clock=clock)))
    assert ran.status == 2 and "spins on its clock" in " ".join((ran.out + ran.err).split()), ran


def test_a_clock_that_is_read_often_is_no_spinning(picklock, worker, tmp_path):
    """Nor is a wait for a microsecond, which a read comes to in the end."""
    plain, _ = verdict_of(picklock, tmp_path, worker(), scenario("late-grant"))
    often = worker("""
class Worker(Worker):
    def look(self):
        for _ in range(100):
            end = time.monotonic_ns() + 1000
        if self.settings.name == "A":
            while time.monotonic_ns() < end:
                pass

    def acquire(self, wait_ms):
        self.look()
        return super().acquire(wait_ms)

    def release(self):
        self.look()
        return super().release()
""")
    row, _ = verdict_of(picklock, tmp_path, often, scenario("late-grant"))
    assert row["trouble"] is None and verdicts(row) == verdicts(plain), row
    ran = once(picklock, often)
    assert ran.status == 0 and "A  answers ok: true" in ran.out, ran


def test_a_program_that_drops_our_time(picklock, worker):
    ran = once(picklock, f"env -u LD_PRELOAD {worker()}")
    assert ran.status == 69 and "does not follow our time" in ran.err, ran


def test_a_program_that_is_still_being_loaded(picklock, worker, tmp_path):
    """A script that starts itself anew 150 times in one process, then the worker: between a program's start and our library's is a while each time."""
    script = tmp_path / "again.sh"
    script.write_text('#!/bin/bash\nn=$1; shift\n[ "$n" -gt 0 ] && exec "$0" $((n - 1)) "$@"\nexec "$@"\n')
    script.chmod(0o755)
    ran = once(picklock, f"{script} 150 {worker()}")
    assert ran.status == 0 and "A clean hand-over" in ran.out, ran


# What the worker says when it is asked for the time, in us: by these two.
TELLS_TIME = """
import types
{before}
picklock_worker.time = types.SimpleNamespace(monotonic_ns=lambda: 1000 * ({monotonic}), time_ns=lambda: 1000 * ({wall}))
"""


@pytest.mark.parametrize("monotonic, wall", [
    ("int(time.monotonic() * 1e6)", "int(time.time() * 1e6)"),  # a fraction, cut: 1 us off
    ("int(time.monotonic() * 1000) * 1000", "int(time.time() * 1000) * 1000"),
    ("1000 * round(time.monotonic(), 3) * 1000", "1000 * round(time.time(), 3) * 1000"),
], ids=["microseconds", "milliseconds", "rounded"])
def test_a_time_that_is_told_to_the_millisecond_is_fine_enough(picklock, worker, monotonic, wall):
    ran = once(picklock, worker(TELLS_TIME.format(before="", monotonic=f"int({monotonic})", wall=f"int({wall})")))
    assert ran.status == 0, ran


@pytest.mark.parametrize("wrong", ["monotonic", "wall"])
@pytest.mark.parametrize("readings, passed_ms, told_us", [
    ("0, 7400, 17900", 0, 10500),  # the machine's, which went on by 7 ms meanwhile
    ("0, 8001, 8001", 7, 8001),
    ("0, 0, 0", 7, 0),
], ids=["near", "beyond", "stands"])
def test_a_clock_that_is_not_ours_is_none_that_is_told_coarsely(picklock, worker, wrong, readings, passed_ms, told_us):
    told = {"monotonic": "time.monotonic_ns() // 1000", "wall": "time.time_ns() // 1000"}
    began = told[wrong]
    told[wrong] = "began + next(readings)"
    ran = once(picklock, worker(TELLS_TIME.format(before=f"readings = iter([{readings}])\nbegan = {began}", **told)))
    right_us = 1000 * passed_ms
    monotonic_us, wall_us = (told_us, right_us) if wrong == "monotonic" else (right_us, told_us)
    assert ran.status == 69 and (f"worker A does not live by our time: while {passed_ms} ms passed, its monotonic clock went on by {monotonic_us} us "
                                 f"and its wall clock by {wall_us} us") in ran.err, ran
