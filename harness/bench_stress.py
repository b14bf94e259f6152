#!/usr/bin/python3
"""What a stress run costs beside redis-benchmark, which checks nothing: directly, through HAProxy and through `picklock proxy`,
with as many connections and the same commands in the same shares (SET NX PX, GET, SET, RPUSH, EVAL). All in one run, in turns.

    BUILD=build harness/bench_stress.py [--clients 10,50,100,1000,10000] [--seconds N] [--rounds N]

`CPU-s a million` is of everybody together, client, relay and server, for a million commands: the steadier figure. `waiting` is the part
of its clients' time for which faults kept them waiting: stalled, dead, or with a command that was held back. Nobody can get that through
in it, so a run with few clients and the usual faults is bounded by it, not by the machine. Therefore it stands beside HAProxy twice: with as many
connections as it has clients, and with as many as it had clients that did not wait, on average. The same faults as often with a short lease
(stalls, delays and deaths are as long as leases) show what faults cost where hardly anybody waits; and the run without faults stands below. What a run costs in which nobody
asks (servers are started and tick, clients are connected, a report is written) is measured in each round, told, and taken off: it
counts for the more, the fewer commands a busy machine gets through, and redis-benchmark's servers stand before it begins. The ratios are to HAProxy in the
same round (to redis-benchmark, where HAProxy is missing or cannot have so many connections); `--direct` is compared with
redis-benchmark without a relay. A relay of more clients than it may have open files for is several processes, each with a redis-benchmark
of its own and an equal part of the connections; so is stress's proxy (its carriers). A row is the median of its rounds. What cannot be
connected says why, and is no failure."""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench import PICKLOCK

LEASE_MS, SHORT_LEASE_MS = 500, 10
RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
START_S, UNAVAILABLE, SPARE_FILES, COMMANDS_EACH, RELAYS_MAX = 10, 69, 200, 20, 8
DIRECTLY = ["redis-benchmark", "stress --direct"]  # without a relay
USUAL = {"--think": "1us", "--lease": f"{LEASE_MS}ms", "--timeout": "10s"}
NOBODY_ASKS = {**USUAL, "--no-faults": None, "--think": "3600s"}
STRESS = {"usual faults": USUAL, "usual faults, short": {**USUAL, "--lease": f"{SHORT_LEASE_MS}ms"},
          "short, unix sockets": {**USUAL, "--lease": f"{SHORT_LEASE_MS}ms", "--unix-sockets": None},
          "without faults": {**USUAL, "--no-faults": None}, "stress --direct": {**USUAL, "--direct": None, "--no-faults": None}}
CLOCK_HZ = os.sysconf("SC_CLK_TCK")
HAPROXY = """global
    nbthread 1
    maxconn {connections}
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend in
    bind 127.0.0.1:{port}
    default_backend out
backend out
    server redis 127.0.0.1:{upstream}
"""


class Unfit(Exception):
    """So many connections cannot be had on this machine."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def haproxy_program():
    return shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")


def cpu_s(process):
    """Seconds of CPU of a process that lives."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_HZ


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as one:
            one.sendall(b"PING\r\n")
            return one.recv(16).startswith(b"+PONG")
    except OSError:
        return False


@contextlib.contextmanager
def serving(port, *words):
    """A program that answers PING there, ended behind the block."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(list(map(str, words)), stdout=said, stderr=said, preexec_fn=die_with_parent)
        try:
            until = time.monotonic() + START_S
            while not answers(port):
                if process.poll() is not None or time.monotonic() > until:
                    said.seek(0)
                    sys.exit(f"{words[0]} does not serve port {port}:\n{said.read()[-2000:]}")
                time.sleep(0.02)
            yield process
        finally:
            process.terminate()
            process.wait()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def stress(clients, seconds, folder, options):
    """The run: how many commands of each kind it sent, how many a second, how many at all, the CPU-s of all of it, and the part of its
    clients' time for which faults kept them waiting. Its servers are its children, and are waited for."""
    words = [PICKLOCK, "stress", "--scheme", "set-nx-px-cad", "--clients", clients, "--locks", max(1, clients // 2),
             "--duration", f"{seconds}s", "--out", folder, "--json", "-",
             *(word for option in options.items() for word in option if word is not None)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(list(map(str, words)), stdout=out, stderr=err, preexec_fn=die_with_parent)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = err.read()
        if process.returncode == UNAVAILABLE:
            raise Unfit(said.strip().splitlines()[-1])
        if process.returncode not in (0, 1, 2):  # verdicts: what is timed is the run
            sys.exit(f"stress ended with status {process.returncode}:\n{said[-2000:]}")
        result = json.loads(out.read())["results"][0]
        row = result["stress"]
    if row["clients"] != clients:
        sys.exit(f"stress connected {row['clients']} of {clients} clients")
    refused = max(0, row["operations"] - 5 * row["grants"])
    counts = {"set-nx": refused + row["grants"], **dict.fromkeys(("get", "set", "rpush", "eval"), row["grants"])}
    waiting = row.get("injected_wait_us", 0) / 1e6 / (clients * result["seconds"])
    return counts, row["operations_per_second"], row["operations"], used.ru_utime + used.ru_stime, waiting


def nobody_asks(clients, seconds, folder):
    """CPU-s of a run in which nobody asks; without the proxy where so many fit only there, 0 where they fit nowhere: the ways say why."""
    for options in (NOBODY_ASKS, {**NOBODY_ASKS, "--direct": None}):
        with contextlib.suppress(Unfit):
            return stress(clients, seconds, folder, options)[3]
    return 0


def commands():
    key = "lock:__rand_int__"
    return {"set-nx": ["SET", key, "token", "NX", "PX", LEASE_MS], "get": ["GET", "counter:__rand_int__"],
            "set": ["SET", "counter:__rand_int__", "1"], "rpush": ["RPUSH", "list:__rand_int__", "1"],
            "eval": ["EVAL", RELEASE, "1", key, "token"]}


def ended(process, clients, out):
    """Commands a second that a redis-benchmark says, and its CPU seconds."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    out.seek(0)
    said = out.read()
    rate = re.findall(r'^"(?!test").*?","([0-9.]+)"', said, re.M)  # it also ends well when it gave up half-way
    if process.returncode or not rate or float(rate[-1]) <= 0:
        if "Could not connect" in said or "Too many open files" in said:
            raise Unfit(said.strip().splitlines()[0])
        sys.exit(f"redis-benchmark with {clients} connections failed:\n{said[-2000:]}")
    return float(rate[-1]), used.ru_utime + used.ru_stime


def parts_of(whole, parts):
    """As equal as can be; none of 0."""
    return [max(1, (whole + i) // parts) for i in range(parts)]


def benchmarks_at_once(ports, clients, locks, n, command):
    """One a port, each with its part of the clients and commands: what they say together."""
    with contextlib.ExitStack() as stack:
        running = []
        for port, mine, requests in zip(ports, parts_of(clients, len(ports)), parts_of(n, len(ports))):
            out = stack.enter_context(tempfile.TemporaryFile("w+"))
            words = ["redis-benchmark", "-p", port, "-c", mine, "-n", requests, "-r", locks, "--csv", *command]
            process = stack.enter_context(subprocess.Popen(list(map(str, words)), stdout=out, stderr=out, preexec_fn=die_with_parent))
            stack.callback(process.kill)  # another one has failed
            running.append((process, mine, out))
        return map(sum, zip(*[ended(*each) for each in running]))


def redis_benchmark(ports, clients, locks, counts, requests, helpers):
    """Commands a second, and CPU seconds a million, for the given shares; helpers are the processes that serve."""
    whole, done, wall_s = sum(counts.values()), 0, 0.0
    before = sum(map(cpu_s, helpers))
    own_s = 0.0
    for kind, command in commands().items():
        n = max(COMMANDS_EACH * clients, requests * counts[kind] // whole)  # or connecting is what is measured
        rate, used_s = benchmarks_at_once(ports, clients, locks, n, command)
        # Of the wall time only the shares count: a kind that is rare is measured with more than its share.
        wall_s += counts[kind] / whole * requests / rate
        own_s += used_s
        done += n
    return requests / wall_s, (own_s + sum(map(cpu_s, helpers)) - before) / done * 1e6, 0


def relays_needed(clients):
    """So many processes relay that many clients within the limit of open files."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files == resource.RLIM_INFINITY:
        return 1
    for relays in range(1, RELAYS_MAX + 1):
        if 2 * max(parts_of(clients, relays)) + SPARE_FILES <= files:
            return relays
    raise Unfit(f"{RELAYS_MAX} relay{'s' if RELAYS_MAX > 1 else ''} of {clients} clients need "
                f"{2 * max(parts_of(clients, RELAYS_MAX)) + SPARE_FILES} open files each, and may have {files} (ulimit -n)")


def relays_of(stack, clients, upstream, folder):
    """{way: (ports, processes)}"""
    relays = relays_needed(clients)
    ways = {"through haproxy": ([], []), "through picklock proxy": ([], [])}
    for i in range(relays):
        haproxy_port, proxy_port = free_port(), free_port()
        config = pathlib.Path(folder) / f"haproxy-{i}.cfg"
        config.write_text(HAPROXY.format(connections=max(parts_of(clients, relays)) + 50, port=haproxy_port, upstream=upstream))
        started = {"through picklock proxy": (proxy_port, [PICKLOCK, "proxy", "--listen", f"127.0.0.1:{proxy_port}", "--upstream",
                                                           f"127.0.0.1:{upstream}"])}
        if haproxy_program():
            started["through haproxy"] = (haproxy_port, [haproxy_program(), "-q", "-db", "-f", config])
        for way, (port, words) in started.items():
            ways[way][0].append(port)
            ways[way][1].append(stack.enter_context(serving(port, *words)))
    if relays > 1:
        print(f"{clients:>7}  a relay is {relays} processes, as one may not have so many open files, with a redis-benchmark each", flush=True)
    return {way: each for way, each in ways.items() if each[0]}


def rounds_of(clients, options, folder):
    """For each way, what each round measured: (commands a second, CPU-s a million, part of the time waited); and who could not be
    connected, and why."""
    figures, unfit = {}, {}
    server_port = free_port()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(server_port, "redis-server", "--port", server_port, "--bind", "127.0.0.1", "--save", "",
                                             "--appendonly", "no", "--maxclients", clients + 100))
        ways = {"redis-benchmark": ([server_port], [])}
        try:
            ways.update(relays_of(stack, clients, server_port, folder))
        except Unfit as why:
            unfit.update({"through haproxy": str(why), "through picklock proxy": str(why)})
        counts, locks = {"set-nx": 1, "get": 1, "set": 1, "rpush": 1, "eval": 1}, max(1, clients // 2)
        for _ in range(options.rounds):
            requests = clients
            idle_s = nobody_asks(clients, options.seconds, folder)
            figures.setdefault("nobody asks", []).append(idle_s)
            fewer = None
            for way, more in STRESS.items():
                try:
                    counts, rate, done, cpu, waiting = stress(clients, options.seconds, folder, more)
                    figures.setdefault(way, []).append((rate, max(0, cpu - idle_s) / max(done, 1) * 1e6, waiting))
                    requests = int(rate * options.seconds)
                    if way == "usual faults":
                        fewer = max(1, round(clients * (1 - waiting))), counts, requests
                except Unfit as why:
                    unfit[way] = str(why)
            for way, (ports, relays) in ways.items():
                try:
                    figures.setdefault(way, []).append(redis_benchmark(ports, clients, locks, counts, requests, [server, *relays]))
                except Unfit as why:
                    unfit[way] = str(why)
            if fewer and "through haproxy" in ways:
                ports, relays = ways["through haproxy"]
                awake, counts, requests = fewer
                rate, cpu, _ = redis_benchmark(ports, awake, locks, counts, requests, [server, *relays])
                mine = figures["usual faults"][-1]
                figures.setdefault("fewer", []).append((awake, mine[0] / rate, mine[1] / cpu))
    return figures, unfit


def table(clients, figures, unfit):
    relayed = figures.get("through haproxy") or figures.get("redis-benchmark")
    for way in dict.fromkeys([*DIRECTLY, "through haproxy", "through picklock proxy", *STRESS]):
        if way not in unfit and figures.get(way):
            base = figures.get("redis-benchmark") if way in DIRECTLY else relayed
            rate, cpu, waiting = (statistics.median(each[i] for each in figures[way]) for i in range(3))
            faster = statistics.median(mine[0] / its[0] for mine, its in zip(figures[way], base)) if base else 0
            dearer = statistics.median(mine[1] / its[1] for mine, its in zip(figures[way], base)) if base else 0
            print(f"{clients:>7}  {way:<23} {rate:>12,.0f} {faster:>8.2f} {cpu:>16.1f} {dearer:>8.2f} {waiting:>8.0%}", flush=True)
    for why in dict.fromkeys(unfit.values()):
        print(f"{clients:>7}  not {', '.join(way for way in unfit if unfit[way] == why)}: {why.removeprefix('picklock: ')}", flush=True)
    if figures.get("fewer"):
        awake, faster, dearer = (statistics.median(each[i] for each in figures["fewer"]) for i in range(3))
        print(f"{clients:>7}  usual faults beside haproxy with {awake:g} connections, the clients that did not wait: {faster:.2f}, "
              f"CPU {dearer:.2f}", flush=True)
    if figures.get("nobody asks"):
        print(f"{clients:>7}  taken off a stress run: {statistics.median(figures['nobody asks']):.2f} CPU-s", flush=True)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=numbers, default=[10, 50, 100, 1000, 10000])
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for tool in ("redis-server", "redis-benchmark"):
        if not shutil.which(tool):
            sys.exit(f"no {tool} here")
    if not haproxy_program():
        print("no haproxy here (harness/setup.sh bench): the ratios are to redis-benchmark")
    print("stress with all checks, beside redis-benchmark with as many connections and the same commands:")
    print("clients  way                       commands/s    ratio  CPU-s a million    ratio  waiting")
    with tempfile.TemporaryDirectory() as folder:
        for clients in options.clients:
            table(clients, *rounds_of(clients, options, folder))


if __name__ == "__main__":
    main()
