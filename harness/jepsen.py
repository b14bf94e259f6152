"""Jepsen histories for tests: written, drawn and judged."""

import json

from conftest import ROOT

SEEDS = ROOT / "sim" / "test" / "seeds" / "jepsen"
LEASE = ("--model", "lease-lock", "--lease", "300ms")


def judge(picklock, path, *options):
    ran = picklock("check", path, "--format", "jepsen-json" if str(path).endswith("json") else "jepsen-edn", *options, "--json", "-")
    assert ran.status in (0, 1, 2), ran
    return ran.status, {found["property"]: (found["verdict"], found["cause"]) for found in json.loads(ran.out)["results"][0]["properties"]}


def op(kind, f, process, time, value=None):
    return {"type": kind, "f": f, "process": process, "time": time * 1000000, "value": value}


def write(path, ops):
    path.write_text("\n".join(map(json.dumps, ops)) + "\n")
    return path


def drawn(random, model="owner-mutex", strangers=0.0, concurrency=None):
    """Operations of two or three processes on one lock, and often one answer that is not so; strangers: how often who holds nothing releases;
    concurrency: so many processes, each followed by the one that Jepsen's thread goes on as (else: by one that follows nobody)."""
    ops, under_way, owner, granted, time = [], {}, None, set(), 0
    processes = list(range(concurrency or random.randint(2, 3)))
    begun = random.randint(4, 7)
    while begun or under_way:
        process, time = random.choice(processes), time + 1
        f, said = under_way.get(process, (None, None))
        if f is None and begun:
            begun -= 1
            under_way[process] = ("release" if random.random() < (0.75 if process in granted else strangers) else "acquire", None)
            ops.append(op("invoke", under_way[process][0], process, time))
        elif f and not said:
            works = owner is None if f == "acquire" else owner is not None if model == "mutex" else owner == process
            owner = (process if f == "acquire" else None) if works else owner
            under_way[process] = (f, random.choices(["ok" if works else "fail", "info"], [9, 1])[0])
        elif f:
            del under_way[process]
            ops.append(op(said, f, process, time))
            if said == "ok":
                (granted.add if f == "acquire" else granted.discard)(process)
            elif said == "info":
                processes[processes.index(process)] = process + concurrency if concurrency else 1000 + time  # nobody takes it for the one before
    untrue = random.choice([one for one in ops if one["type"] != "invoke"])
    if untrue["type"] != "info" and random.random() < 0.6:
        untrue["type"] = "ok" if untrue["type"] == "fail" else "fail"
    return ops


def story(*steps):
    """(PROCESS, F, ANSWER): called and answered one after the other, a millisecond each."""
    return [op(kind, f, process, 2 * at + (kind != "invoke")) for at, (process, f, answer) in enumerate(steps) for kind in ("invoke", answer)]
