"""Search by running: CPU of a schedule, two workers and their server included; what a start costs is taken off."""

import shlex

from bench import ROOT, measured

WORKER = f"/usr/bin/python3 {shlex.quote(str(ROOT / 'sim' / 'worker' / 'examples' / 'naive_lock.py'))}"


def cpu(runs):
    _, seconds, _ = measured("explore", "--worker", WORKER, "--search", "random", "--fault", "none", "--runs", runs, good=(2,))
    return seconds


few, many = 20, 320
each = (cpu(many) - cpu(few)) / (many - few)
print(f"search by running, two Python workers: {each * 1000:.1f} ms of CPU a schedule")
