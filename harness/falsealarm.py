#!/usr/bin/python3
"""Are safe schemes blamed? Each safe scheme under each fault, with a seed of its own, while burners of this script keep the
machine busy: what is slow, late or cut off must never be told as the scheme's fault.

    BUILD=build harness/falsealarm.py [--verdicts N | --seconds N] [--short] [--seed N] [--burners N] [--keep DIR]

A verdict is one scheme in one run: of `stress` (several profiles, leases, numbers of clients; half of the runs whose proxy is not
left out have 1 to 3 processes that hold its ends of connections), `run` (all scenarios that speak about it) and `explore --search
random` (no fault). With --short it is of `stress` alone, in runs of half a second. Blamed: violated, with a cause that is the scheme's
fault (causes.def), and that stands neither in ALLOWED nor in SLOW_CLOCK. 0 as long as nothing is; then the run folder is kept, and the command stands there."""

import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICKLOCK = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "picklock"

# What a run may strike with; a busy machine alone delays as `late` does.
PROFILES = {
    "none": ["--no-faults"],
    "pause": ["--no-faults", "--pause", "5%"],
    "late": ["--no-faults", "--delay", "30%", "--delay-time", "150ms"],
    "very-late": ["--no-faults", "--delay", "90%", "--delay-time", "190ms"],
    "lose-reply": ["--no-faults", "--lose-reply", "1%"],
    "lose-request": ["--no-faults", "--lose-request", "1%"],
    "crash": ["--no-faults", "--crash", "1%"],
    "silence": ["--no-faults", "--silence", "0.5%", "--silence-time", "100ms"],
    "refuse": ["--no-faults", "--refuse", "0.5%", "--refuse-time", "100ms"],
    "drift": ["--no-faults", "--drift", "50%"],
    "server-drift": ["--no-faults", "--server-drift", "50%", "--pause", "20%", "--pause-time", "120ms"],
    "after-grant": ["--no-faults", "--pause-after-grant", "20%", "--pause-time", "150ms"],
    "in-release": ["--no-faults", "--stall-in-release", "20%", "--pause-time", "150ms"],
    "past-lease": ["--no-faults", "--delay-past-lease", "2%"],
    "many-locks": ["--delay", "5%", "--pause", "3%", "--locks", "500", "--hold", "exponential:5ms", "--think", "1ms..20ms"],
    "healed": ["--crash", "1%", "--delay-past-lease", "1%"],
    "one-at-a-time": ["--real-time", "--delay", "5%", "--pause", "3%"],
    "unix-sockets": ["--unix-sockets", "--delay", "5%", "--pause", "3%", "--crash", "1%"],
    "direct": ["--direct", "--no-faults", "--pause", "3%", "--crash", "1%", "--pause-after-grant", "2%"],
    "default": [],
    "all": ["--pause", "3%", "--delay", "5%", "--lose-reply", "1%", "--lose-request", "1%", "--crash", "1%"],
}
# What strikes servers; a stall or a delay beside it is where a verdict is hardest.
SERVER_FAULTS = ["client-kill", "client-pause", "stopped-server", "restart-empty", "restart-aof", "restart-old", "failover", "evict",
                 "flush-all", "flush-scripts", "server-clock"]
PROFILES.update({fault: ["--no-faults", f"--{fault}", "1%", "--delay", "5%", "--pause", "3%"] for fault in SERVER_FAULTS})
WITHOUT_PROXY = {"direct"}
# A stall, or a client that dies in one, can come while its timer should ring.
STALLS = {"pause", "after-grant", "in-release", "many-locks", "healed", "one-at-a-time", "server-drift", "direct", "unix-sockets", "default", "all",
          *SERVER_FAULTS}
UNANSWERED = set(PROFILES)  # a busy machine is enough for an answer that comes too late to be waited for

NO_VALIDITY = "it looks at no clock when the answer comes: a grant that is told behind its own lease is believed"
OWN_LEFTOVER = "a request without an answer may have set the key: the next attempt is refused by the client's own key"
STALLED = "who stalls behind the end of its lease cannot be told in time"

# scheme: {cause that is rightly its fault: (under which profiles, why)}. Whose fault a cause is says causes.def.
LEASE_LOCK = {"late-grant": (set(PROFILES), NO_VALIDITY), "untrue-answer": (UNANSWERED, OWN_LEFTOVER)}
ALLOWED = {
    "set-nx-px-cad": LEASE_LOCK,
    "set-nx-px-evalsha-eval": LEASE_LOCK,
    "set-nx-px-wait": LEASE_LOCK,
    "watch-multi-del": LEASE_LOCK,
    "fenced": LEASE_LOCK,
    "redlock": {"untrue-answer": (UNANSWERED, OWN_LEFTOVER)},
    "watchdog-guarded": {"untrue-answer": (UNANSWERED, OWN_LEFTOVER), "no-notice": (STALLS, STALLED)},
}
# Who judges its lease by a clock of its own is late by that clock, where that runs slow and something is delayed besides: so finds
# `explore --fault client-drift+late-reply`, too. Only where a witness of that cause says that it does.
SLOW_CLOCK = {"redlock": {"late-grant"}, "watchdog-guarded": {"late-grant", "no-notice"}}
SAYS_SLOW = "'s clock loses "
LEFT_OUT = {"set-ifeq-delex": "needs a server that knows DELEX"}
TOLD_EVERY = 1000  # verdicts: the long form takes hours


def blamed_on_schemes():
    """The causes that are the scheme's fault."""
    text = (ROOT / "sim" / "checks" / "causes.def").read_text()
    return set(re.findall(r'^CAUSE\(\w+,\s*"([^"]+)",\s*BLAME_SCHEME', text, re.M))


def safe_schemes():
    done = subprocess.run([PICKLOCK, "list", "schemes", "--json"], text=True, capture_output=True, check=True)
    safe = {row["name"] for row in json.loads(done.stdout)["schemes"] if not row["naive"]}
    if safe != {*ALLOWED, *LEFT_OUT}:
        sys.exit(f"falsealarm.py: what may these be blamed for? {sorted(safe ^ {*ALLOWED, *LEFT_OUT})}")
    return sorted(ALLOWED)


def burners(count):
    """Processes that do nothing but keep a core busy; the kernel ends them with this one."""
    def end_with_parent():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=end_with_parent) for _ in range(count)]


def stress_words(scheme, profile, dice, is_short=False):
    lease_ms = 200 if profile == "very-late" else dice.choice([100, 200, 500] if is_short else [200, 500, 2000])
    processes = 0 if profile in WITHOUT_PROXY else dice.choice([0, 0, 0, 1, 2, 3])
    return ["stress", "--scheme", scheme, *PROFILES[profile], "--clients", str(dice.choice([5, 40, 100])), "--lease", f"{lease_ms}ms",
            "--duration", dice.choice(["300ms", "500ms", "700ms"] if is_short else ["1s", "2s", "4s"]), "--history",
            *(["--heal", f"{4 * lease_ms}ms"] if profile == "healed" else []),
            *(["--proxy-processes", str(processes)] if processes else [])]


def runs(schemes, seed, is_short=False):
    """(profile, words) without an end: stress mostly, each scheme under each profile in turn; nothing else in the short form."""
    number = 0
    while True:
        dice = random.Random(seed + number)
        for profile in PROFILES:
            for scheme in schemes:
                number += 1
                yield profile, [*stress_words(scheme, profile, dice, is_short), "--seed", str(seed + number)]
        if is_short:
            continue
        number += 1
        yield "run", ["run", "--scheme", ",".join(schemes), "--seed", str(seed + number)]
        for clients in (2, 3, 4):
            number += 1
            yield "explore", ["explore", "--search", "random", "--runs", "300", "--fault", "none", "--scheme", ",".join(schemes),
                              "--clients", str(clients), "--seed", str(seed + number)]


def violations(profile, document):
    """[(scheme, scenario, property, cause)] that are violated and were not expected; and how many verdicts there are."""
    found, verdicts = [], set()
    for number, row in enumerate(document["results"]):
        if profile == "explore":
            verdicts.add((row["scheme"], row["fault"], row["search"]["servers"]))
            found += [(row["scheme"], row["fault"], one["property"], one["cause"])
                      for one in row["properties"] if one["verdict"] == "violated"]
            continue
        decided = [p for p in row["properties"] if p["verdict"] in ("holds", "violated")]
        if decided:
            verdicts.add(number)
        found += [(row["scheme"], row["scenario"], p["property"], p["cause"]) for p in decided
                  if p["verdict"] == "violated" and p["expected"] != "violated"]
    return found, len(verdicts)


def is_allowed(profile, scheme, cause, document):
    if profile == "drift" and cause in SLOW_CLOCK.get(scheme, ()):
        said = [line for row in document["results"] for p in row["properties"] if p["cause"] == cause for line in p.get("witness", ())]
        return any(SAYS_SLOW in line for line in said)
    return profile in ALLOWED[scheme].get(cause, ((), ""))[0]


def blames(profile, document, causes):
    """Of the violations those that safe schemes are wrongly blamed for."""
    found, verdicts = violations(profile, document)
    wrong = [each for each in found if each[3] in causes and not is_allowed(profile, each[0], each[3], document)]
    return wrong, [each[3] for each in found if each not in wrong], verdicts


def judged(parent, words):
    """One run: what it came to, and the folder that holds it, which the caller removes."""
    made = pathlib.Path(tempfile.mkdtemp(dir=parent))
    done = subprocess.run([PICKLOCK, *words, "--out", made, "--json", "-"], cwd=ROOT, text=True, capture_output=True)
    return made, done.returncode, done.stdout, done.stderr


def some_at_once(todo, jobs, is_enough):
    """((profile, words), what judged() says) of as many as are wanted, in their order."""
    with tempfile.TemporaryDirectory(prefix="falsealarm-") as parent, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = collections.deque()
        while waiting or not is_enough():
            while len(waiting) < jobs and not is_enough():
                one = next(todo)
                waiting.append((one, pool.submit(judged, parent, one[1])))
            if waiting:
                one, future = waiting.popleft()
                yield one, future.result()


def main():
    parser = argparse.ArgumentParser(description="Are safe schemes blamed, on a busy machine?")
    parser.add_argument("--verdicts", type=int, default=0, help="as many at least (default 2000 without --seconds)")
    parser.add_argument("--seconds", type=float, default=0, help="for so long")
    parser.add_argument("--short", action="store_true", help="stress alone, half a second a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4, help="runs at a time")
    parser.add_argument("--profile", choices=sorted(PROFILES), help="stress with this one only")
    parser.add_argument("--burners", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "reports" / "runs" / "falsealarm")
    asked = parser.parse_args()
    wanted = asked.verdicts or (0 if asked.seconds else 2000)
    schemes, causes, began = safe_schemes(), blamed_on_schemes(), time.monotonic()
    verdicts = runs_made = unknown = 0
    wrong, rightly = [], collections.Counter()
    todo = ((profile, words) for profile, words in runs(schemes, asked.seed, asked.short) if asked.profile in (None, profile))
    busy = burners(asked.burners)
    try:
        for (profile, words), (made, status, out, err) in some_at_once(
                todo, asked.jobs, lambda: verdicts >= wanted if wanted else time.monotonic() - began >= asked.seconds):
            command = shlex.join(["picklock", *words])
            if status not in (0, 1, 2):
                sys.exit(f"falsealarm.py: {command} ended with status {status}:\n{err[-2000:]}")
            found, told, count = blames(profile, json.loads(out), causes)
            runs_made += 1
            verdicts += count
            unknown += not count
            rightly.update(told)
            for scheme, where, name, cause in found:
                wrong.append(cause)
                kept = asked.keep / f"{len(wrong)}-{scheme}-{cause}"
                shutil.copytree(made / "latest", kept, dirs_exist_ok=True)
                print(f"BLAMED: {scheme} ({where}, {profile}): {name} is violated ({cause})\n    {command}\n    kept: {kept}",
                      flush=True)
            if verdicts // TOLD_EVERY > (verdicts - count) // TOLD_EVERY:
                print(f"{len(wrong)} blamed in {verdicts} verdicts so far, {time.monotonic() - began:.0f} s, seeds from {asked.seed}",
                      file=sys.stderr, flush=True)
            shutil.rmtree(made)
    finally:
        for burner in busy:
            burner.kill()
            burner.wait()
    words = ", ".join(f"{count} {cause}" for cause, count in sorted(rightly.items())) or "nothing"
    print(f"falsealarm: {len(wrong)} blamed in {verdicts} verdicts of {runs_made} runs, {time.monotonic() - began:.0f} s, seeds "
          f"from {asked.seed}, {asked.burners} burners; {unknown} runs without a verdict; "
          f"rightly told: {words}")
    if not verdicts:
        sys.exit("falsealarm.py: no verdict at all: nothing could have been found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
