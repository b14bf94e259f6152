"""A worker decided by asking once: executions, time and CPU; and how many fewer executions that is than running schedules takes.

The faults are those that the program takes by itself, so the figures are those that a user gets. An execution is one run of a worker from
a reset. On one server a limit on executions is a goal that must hold on any machine: a row that misses it, or a cell that is not decided,
fails. On three servers how many cells are decided within a budget is the figure, and the others are named: all are, given time. Seconds are for
an idle machine."""

import itertools
import json
import os
import re
import shlex
import shutil
import sys
import time

from bench import PICKLOCK, ROOT, measured, row

EXAMPLES = ROOT / "sim" / "worker" / "examples"
PYTHON = f"/usr/bin/python3 {shlex.quote(str(EXAMPLES / 'redis_py_lock.py'))}"
NODE = f"node {shlex.quote(str(EXAMPLES / 'redlock_npm.js'))}"
MODULES = PICKLOCK.parent / "workers" / "node_modules"  # harness/setup.sh workers
PLAIN = ("--no-extend",)  # who is asked to extend, too, has stories of its own
ONCE = ("--clients", "2", "--rounds", "1")
TWICE, THREE = ("--clients", "2", "--rounds", "2"), ("--clients", "3", "--rounds", "1")
SCHEDULES, FEWER = 10000, 20


def missed(words):
    sys.exit(f"the benchmark's goal is missed: {words}")


def searched(worker, *words, good=(0,)):
    """(cells, executions, seconds, CPU seconds) of a search."""
    began = time.monotonic()
    out, cpu_s, _ = measured("explore", "--worker", worker, *words, "--no-cache", "--fail-on", "never", "--json", "-",
                             good=good)
    seconds, made = time.monotonic() - began, json.loads(out)
    told = re.search(r"(\d+) executions of the worker", " ".join(made["notes"]))
    return made["results"], int(told.group(1)), seconds, cpu_s


def asked(worker, *words):
    """The same of one that must decide all of its cells."""
    cells, executions, seconds, cpu_s = searched(worker, *words)
    for cell in cells:
        if not cell["search"]["complete"]:
            missed(f"{worker}, {cell['fault']}: not complete: {cell['search']['end']}")
    return cells, executions, seconds, cpu_s


def decided(what, worker, goal_s, executions_max, *words):
    """The names of its cells."""
    cells, executions, seconds, cpu_s = asked(worker, *words)
    row(what, "s", goal_s, seconds, f"{cpu_s:.1f} s of CPU, {len(cells)} cells, {executions} executions" +
        (f" of at most {executions_max}" if executions_max else ""))
    if executions_max and executions > executions_max:
        missed(f"{what}: {executions} executions")
    return [cell["fault"] for cell in cells]


def decided_within(what, worker, budget_s, *words):
    cells, executions, seconds, cpu_s = searched(worker, *words, "--budget", f"{budget_s}s", good=(0, 2))
    still_open = [cell["fault"] for cell in cells if not cell["search"]["complete"]]
    row(what, f"cells, within {budget_s} s", len(cells), len(cells) - len(still_open),
        f"{seconds:.0f} s, {cpu_s:.0f} s of CPU, {executions} executions; not decided: {', '.join(still_open) or 'none'}")


def compared(what, worker, fault):
    """The same by running: all runs with few faults and preemptions, in order, as long as it has runs left."""
    _, executions, _, _ = asked(worker, *TWICE, *PLAIN, "--fault", fault)
    out, cpu_s, _ = measured("explore", "--worker", worker, *TWICE, *PLAIN, "--fault", fault, "--search", "bounded", "--runs", SCHEDULES,
                             "--fail-on", "never", "--json", "-", good=(0, 2))
    search = json.loads(out)["results"][0]["search"]
    fewer = search["runs"] / executions
    row(what, "times fewer executions", FEWER, fewer,
        f"{executions} by asking; by running {search['runs']} {'' if search['complete'] else 'are not enough'}, {cpu_s:.0f} s of CPU")
    if search["runs"] >= SCHEDULES and fewer < FEWER:
        missed(f"{what}: {fewer:.1f} times fewer")


def main():
    os.environ.setdefault("NODE_PATH", str(MODULES))
    print("decided by asking once, complete in each cell, nothing kept from before:")
    single = decided("redis-py, 2 clients, 2 attempts, each fault", PYTHON, 5, 1000, *TWICE)
    decided("redis-py, 2, 2, each fault, no extends", PYTHON, 5, 1000, *TWICE, *PLAIN)
    decided("redis-py, 3 clients, 1 attempt, each fault", PYTHON, 10, 0, *THREE)
    pairs = itertools.combinations([fault for fault in single if fault != "none"], 2)
    every = ",".join([*single, *("+".join(pair) for pair in pairs)])
    decided("redis-py, 2, 2, every two faults", PYTHON, 30, 0, *TWICE, *PLAIN, "--fault", every)
    compared("redis-py's Lock, a stall", PYTHON, "stall")
    if not shutil.which("node") or not MODULES.is_dir():
        print("npm redlock: not measured, it is not installed here", file=sys.stderr)
        return
    decided("npm redlock, 2, 2, each fault", NODE, 15, 2000, *TWICE, *PLAIN)
    decided("npm redlock, 2, 2, each fault, extending", NODE, 15, 2000, *TWICE)
    compared("npm redlock, a stall", NODE, "stall")
    decided_within("npm redlock, 3 servers, 2, 1, learned", NODE, 300, *ONCE, *PLAIN, "--servers", "3", "--learn")


if __name__ == "__main__":
    main()
