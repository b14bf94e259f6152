#!/usr/bin/python3
"""What `picklock watch` costs beside `picklock proxy`, which looks at nothing: CPU of that process alone, for the same commands of
redis-benchmark through either, in turns.

    BUILD=build harness/bench_watch.py [--rounds N] [--share 0.1] [--only WORDS]

A row is the median of its rounds, the ratio that of the same round. `watch` has a private server, the proxy one like it, which the kernel
treats alike."""

import argparse
import contextlib
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench import PICKLOCK
from bench_stress import die_with_parent, free_port, serving

CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
REFUSED = ["SET", "lock:1", "token-of-a-client", "NX", "PX", "30000"]
WORKLOADS = {  # name: connections, pipeline, commands of a round, the command
    "other keys": (50, 1, 200_000, ["SET", "data:__rand_int__", "x"]),
    "other keys, -P 16": (50, 16, 1_000_000, ["SET", "data:__rand_int__", "x"]),
    "one contended lock, all refused": (50, 1, 200_000, REFUSED),
    "one contended lock, -P 16": (50, 16, 500_000, REFUSED),
    "200 locks, refused": (50, 1, 200_000, ["SET", "lock:__rand_int__", "token-of-a-client", "NX", "PX", "30000"]),
    "200 locks, -P 16": (50, 16, 500_000, ["SET", "lock:__rand_int__", "token-of-a-client", "NX", "PX", "30000"]),
    "200 locks, granted and expired": (50, 1, 100_000, ["SET", "lock:__rand_int__", "token-__rand_int__", "NX", "PX", "5"]),
    "a script on one lock": (50, 1, 50_000, ["EVAL", CAD, "1", "lock:1", "token-of-another"]),
}


@contextlib.contextmanager
def watch(folder):
    """The process, and the port that it listens on."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([PICKLOCK, "watch", "--key", "lock:*", "--out", folder], stdout=subprocess.PIPE, stderr=said,
                                   text=True, preexec_fn=die_with_parent)
        try:
            address = process.stdout.readline()
            found = re.search(r":(\d+)", address)
            if not found:
                said.seek(0)
                process.wait()
                sys.exit(f"picklock watch ended with status {process.returncode}:\n{address}{said.read()[-2000:]}")
            yield process, int(found[1])
        finally:
            process.terminate()
            process.stdout.read()
            process.wait()


def cpu_s(process):
    """Seconds of CPU of a process that lives: to the nanosecond, for a round may take no more than a few ticks of the clock."""
    return sum(int(one.read_text().split()[0]) for one in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")) / 1e9


def load(port, process, clients, pipeline, commands, words):
    """CPU-s of the process for a million of these commands."""
    before = cpu_s(process)
    done = subprocess.run(["redis-benchmark", "-p", str(port), "-c", str(clients), "-P", str(pipeline), "-n", str(commands),
                           "-r", "200", "-q", *words], capture_output=True, text=True)
    if done.returncode or "requests per second" not in done.stdout:
        sys.exit(f"redis-benchmark failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return (cpu_s(process) - before) * 1e6 / commands, float(re.findall(r"([\d.]+) requests per second", done.stdout)[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the commands of a round")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for tool in ("redis-server", "redis-benchmark"):
        if not shutil.which(tool):
            print(f"no {tool} here: nothing is measured")
            sys.exit(69)
    print(f"{'CPU-s of the process, a million commands':<42}{'proxy':>8}{'watch':>8}{'ratio':>8}{'proxy/s':>10}{'watch/s':>10}")
    for name, (clients, pipeline, commands, words) in WORKLOADS.items():
        if options.only not in name:
            continue
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            watched, watched_port = stack.enter_context(watch(folder / "runs"))
            server_port, port = free_port(), free_port()
            # In a session of its own, as the private one of `watch`: the kernel shares processors out to sessions first (sched(7),
            # autogroup), so a server that has one answers sooner, and whoever relays to it works in smaller parts.
            stack.enter_context(serving(server_port, "setsid", "redis-server", "--port", server_port, "--bind", "127.0.0.1", "--save", "",
                                        "--dir", folder))
            proxy = stack.enter_context(serving(port, PICKLOCK, "proxy", "--listen", f"127.0.0.1:{port}", "--upstream",
                                                f"127.0.0.1:{server_port}"))
            rounds = []
            for _ in range(options.rounds):
                count = max(1000, int(commands * options.share))
                rounds.append((load(port, proxy, clients, pipeline, count, words),
                               load(watched_port, watched, clients, pipeline, count, words)))
        plain, watching = ([one[i] for one in rounds] for i in (0, 1))
        ratio = statistics.median(b[0] / a[0] if a[0] else float("nan") for a, b in rounds)
        print(f"{name:<42}{statistics.median(a[0] for a in plain):>8.2f}{statistics.median(b[0] for b in watching):>8.2f}{ratio:>8.2f}"
              f"{statistics.median(a[1] for a in plain):>10.0f}{statistics.median(b[1] for b in watching):>10.0f}", flush=True)


if __name__ == "__main__":
    main()
