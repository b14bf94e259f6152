"""Search by running: schedules a second of two workers, their server included; what a start costs is taken off.

On a busy machine only the CPU of a schedule can be compared."""

import os
import shlex
import shutil
import sys
import time

from bench import PICKLOCK, ROOT, measured, row

EXAMPLES = ROOT / "sim" / "worker" / "examples"
MODULES = PICKLOCK.parent / "workers" / "node_modules"  # harness/setup.sh workers
FEW = 20
# what, runtime, goal a second (0: none), the file, how many more schedules
ROWS = [("two naive workers in Python", "/usr/bin/python3", 300, "naive_lock.py", 300),
        ("two of redis-py's Lock", "/usr/bin/python3", 300, "redis_py_lock.py", 300),
        ("two naive workers in Node", "node", 150, "naive_lock.js", 300),
        ("two of npm redlock", "node", 150, "redlock_npm.js", 300)]


def used(worker, runs):
    began = time.monotonic()
    _, cpu_s, _ = measured("explore", "--worker", worker, "--search", "random", "--fault", "none", "--runs", runs, good=(2,))
    return cpu_s, time.monotonic() - began


def main():
    os.environ.setdefault("NODE_PATH", str(MODULES))
    print("search by running, no fault:")
    for what, runtime, goal, name, more in ROWS:
        if not shutil.which(runtime) or ("npm" in name and not MODULES.is_dir()):
            print(f"{what}: not measured, it is not installed here", file=sys.stderr)
            continue
        worker = f"{runtime} {shlex.quote(str(EXAMPLES / name))}"
        (few_cpu, few_s), (many_cpu, many_s) = used(worker, FEW), used(worker, FEW + more)
        row(what, "schedules a second", goal, more / (many_s - few_s),
            f"{more} in {many_s - few_s:.2f} s, {(many_cpu - few_cpu) / more * 1000:.2f} ms of CPU each")


if __name__ == "__main__":
    main()
