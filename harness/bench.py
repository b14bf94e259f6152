"""What the benchmarks in Python share: a command that fails fails the benchmark, and shows what it printed."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICKLOCK = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "picklock"


def measured(*words, good=(0,)):
    """stdout, CPU seconds and peak MB of one run, which must end with a status in good."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([PICKLOCK, *map(str, words)], stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = out.read()
        if process.returncode not in good:
            sys.exit(f"the benchmark's command ended with status {process.returncode}: picklock {' '.join(map(str, words))}\n"
                     f"{text[-2000:]}{err.read()[-2000:]}")
        return text, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def row(what, unit, goal, reached, more):
    """A figure, the goal beside it."""
    print(f"{what:<44} {unit:<24} goal {goal:>7,}  reached {reached:>9,.1f}  {more}", flush=True)
