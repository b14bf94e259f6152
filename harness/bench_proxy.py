#!/usr/bin/python3
"""What `picklock proxy` costs beside HAProxy (tcp, one thread), which knows no commands. All in one run, in turns.

    BUILD=build harness/bench_proxy.py [--rounds N] [--requests N] [--idle N] [--value-mb N]

Load: redis-benchmark (SET and GET, 50 connections) directly and through each relay; CPU-s are those of the relay alone, for a million
requests, the steadier figure. A row is the median of its rounds, a ratio the median of those within a round. 100 rules about other
commands are found by no request; 100 about other keys of the same commands are passed over by the key. Memory: with idle connections
that have all been answered once, and while a value goes there and back."""

import argparse
import contextlib
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

from bench import PICKLOCK
from bench_stress import HAPROXY, cpu_s, free_port, haproxy_program, serving

RULES = {"100 rules, other commands": "rule-{n}: command=NOSUCH{n} -> drop-request\n",
         "100 rules, other keys": "rule-{n}: command=SET,GET key=nosuch:{n}:* -> drop-request\n"}
CLIENTS, PIPELINE, MORE_IN_PIPELINES = 50, 16, 5
GOAL_MB, SPARE_FILES, BATCH, MB = 64, 150, 500, 1 << 20


def connections_that_fit(wanted):
    """Through a relay, which needs two open files for each."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, (most - SPARE_FILES) // 2)


def relays(stack, folder, server_port, connections):
    """Each way to the server: its port, and the relay's process (None: direct)."""
    ways = {"direct": (server_port, None)}
    for name, rules in {"picklock proxy": None, **RULES}.items():
        port, more = free_port(), []
        if rules:
            path = folder / f"{len(ways)}.rules"
            path.write_text("".join(rules.format(n=n) for n in range(100)))
            more = ["--rules", path]
        words = [PICKLOCK, "proxy", "--listen", f"127.0.0.1:{port}", "--upstream", f"127.0.0.1:{server_port}", *more]
        ways[name] = (port, stack.enter_context(serving(port, *words)))
    if haproxy_program():
        port, config = free_port(), folder / "haproxy.cfg"
        config.write_text(HAPROXY.format(connections=connections, port=port, upstream=server_port))
        ways["haproxy"] = (port, stack.enter_context(serving(port, haproxy_program(), "-q", "-db", "-f", config)))
    return ways


def load(port, relay, depth, requests):
    """Requests a second, and CPU-s of the relay for a million."""
    before = cpu_s(relay) if relay else 0
    done = subprocess.run(list(map(str, ["redis-benchmark", "-p", port, "-t", "set,get", "-c", CLIENTS, "-P", depth, "-n", requests, "--csv"])),
                          capture_output=True, text=True)
    rates = [float(rate) for rate in re.findall(r'^"(?:SET|GET)","([0-9.]+)"', done.stdout, re.M)]
    if done.returncode or len(rates) != 2 or min(rates) <= 0:  # it also ends well when it gave up half-way
        sys.exit(f"redis-benchmark failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    cpu = cpu_s(relay) - before if relay else 0
    return 2 / sum(1 / rate for rate in rates), cpu / (2 * requests) * 1e6


def ratio(mine, base, field):
    """The median of those within a round; nothing to divide by: a dash."""
    pairs = [one[field] / other[field] for one, other in zip(mine, base) if other[field]]
    return f"{statistics.median(pairs):.2f}" if pairs else "-"


def loads(ways, rounds, requests):
    print(f"{'path':<27}{'-P':>3}{'requests/s':>12}{'direct':>8}{'CPU-s a million':>17}{'haproxy':>9}{'no rules':>10}")
    for depth in (1, PIPELINE):
        count = requests * (MORE_IN_PIPELINES if depth > 1 else 1)
        figures = {way: [] for way in ways}
        for _ in range(rounds):
            for way, (port, relay) in ways.items():
                figures[way].append(load(port, relay, depth, count))
        for way, mine in figures.items():
            rate, cpu = (statistics.median(one[field] for one in mine) for field in (0, 1))
            costs = ["-"] * 3
            if way != "direct":
                costs = [f"{cpu:.2f}", ratio(mine, figures.get("haproxy", []), 1), ratio(mine, figures["picklock proxy"], 1)]
            print(f"{way:<27}{depth:>3}{rate:>12.0f}{ratio(mine, figures['direct'], 0):>8}{costs[0]:>17}{costs[1]:>9}{costs[2]:>10}",
                  flush=True)


def memory_mb(process, field):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB", text, re.M)[1]) / 1024


def read_line(one):
    line = b""
    while not line.endswith(b"\r\n"):
        got = one.recv(4096)
        if not got:
            sys.exit(f"the connection ended in the middle of an answer: {line!r}")
        line += got
    return line


def idle(ways, connections):
    """Each connection is answered once, so it leads to the server; then all are idle."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for way in ("picklock proxy", "haproxy"):
        if way not in ways:
            continue
        port, relay = ways[way]
        before = memory_mb(relay, "VmRSS")
        with contextlib.ExitStack() as stack:
            opened = []
            for i in range(connections):
                opened.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)))
                if len(opened) == BATCH or i + 1 == connections:
                    for one in opened:
                        one.sendall(b"PING\r\n")
                    if any(read_line(one) != b"+PONG\r\n" for one in opened):
                        sys.exit(f"{way}: a connection of {connections} was not answered with PONG")
                    opened = []
            there = memory_mb(relay, "VmRSS")
        goal = f"  goal {GOAL_MB}" if way == "picklock proxy" else ""
        print(f"{way}, {connections} idle connections: {there:.1f} MB, {there - before:.1f} more than without{goal}", flush=True)


def value(ways, megabytes):
    """SET and GET of a value: what the relay needed at most, above what it had."""
    size = megabytes * MB
    piece = b"x" * MB
    for way in ("picklock proxy", "100 rules, other keys", "haproxy"):
        if way not in ways:
            continue
        port, relay = ways[way]
        before = memory_mb(relay, "VmRSS")
        pathlib.Path(f"/proc/{relay.pid}/clear_refs").write_text("5")  # the peak begins anew
        with socket.create_connection(("127.0.0.1", port), 120) as one:
            one.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nvalue\r\n$%d\r\n" % size)
            for _ in range(megabytes):
                one.sendall(piece)
            one.sendall(b"\r\n")
            if read_line(one) != b"+OK\r\n":
                sys.exit(f"{way}: the value was not taken")
            one.sendall(b"*2\r\n$3\r\nGET\r\n$5\r\nvalue\r\n")
            left = len(b"$%d\r\n\r\n" % size) + size
            while left:
                got = one.recv(min(left, MB))
                if not got:
                    sys.exit(f"{way}: the value ended early")
                left -= len(got)
        print(f"{way}, SET and GET of {megabytes} MB: at most {memory_mb(relay, 'VmHWM') - before:.1f} MB more", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--idle", type=int, default=9900)
    parser.add_argument("--value-mb", type=int, default=512)
    options = parser.parse_args()
    for tool in ("redis-server", "redis-benchmark"):
        if not shutil.which(tool):
            print(f"no {tool} here: nothing is measured")
            sys.exit(69)
    if not haproxy_program():
        print("no haproxy here (harness/setup.sh bench): compared with direct only")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        stack.enter_context(serving(port, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                    "--dir", folder, "--maxclients", options.idle + CLIENTS + 50))
        connections = connections_that_fit(options.idle)
        ways = relays(stack, folder, port, max(connections, CLIENTS))
        loads(ways, options.rounds, options.requests)
        idle(ways, connections)
        value(ways, options.value_mb)


if __name__ == "__main__":
    main()
