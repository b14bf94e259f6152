"""Progress, judged from histories that are written here and from runs of stress: a dead lock is found whatever else goes
wrong, and a key that is younger than its lease is not one."""

import json

import pytest

from conftest import run

LEASE_US = 500_000


class History:
    """The events of one server and one lock, written as a file that `picklock check` reads."""

    def __init__(self, scheme, clients):
        self.head = {"history": "picklock.history/1", "scheme": scheme, "scenario": "by hand", "world": "sim",
                     "server_version": "", "clients": clients, "servers": 1, "locks": 1, "lease_us": LEASE_US,
                     "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": [f"c{i}" for i in range(clients)]}
        self.events = []

    def happens(self, time_us, kind, client, **more):
        self.events.append({"i": len(self.events), "t": time_us, "kind": kind, "client": client, **more})

    def asks(self, time_us, client, attempt, **command):
        self.happens(time_us, "call", client, attempt=attempt, op="acquire", token=command["value"])
        self.happens(time_us, "send", client, server=0, attempt=attempt, key="lock", **command)

    def executes(self, time_us, client, attempt, reply, says=0, **command):
        told = {"says": says} if says else {}
        self.happens(time_us, "execute", client, server=0, attempt=attempt, op="acquire", key="lock", **command,
                     reply=reply, **told)

    def returns(self, time_us, client, attempt, result):
        self.happens(time_us, "return", client, attempt=attempt, op="acquire", result=result)

    def judged(self, folder):
        path = folder / "history.jsonl"
        lines = [self.head, *self.events, {"end": len(self.events)}]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        ran = run("check", path, "--json", "-")
        return ran.status, progress_of(ran.json)


def progress_of(results):
    found = results["results"][0]["properties"]
    return next((p["verdict"], p["cause"]) for p in found if p["property"] == "progress")


@pytest.mark.parametrize("dies", ["nobody", "unsent", "sent", "refused"])
def test_a_dead_lock_stays_dead_when_others_crash(tmp_path, dies):
    """c0's SETNX was executed, and its answer lost. From then on c1 is refused, and each time before that another one
    dies that had nothing."""
    history, setnx = History("setnx-del", 12), {"verb": "SETNX", "value": 1}
    history.asks(0, 0, 1, **setnx)
    history.executes(100, 0, 1, "integer", 1, **setnx)
    history.happens(200, "fault", 0, server=0, fault="lose-reply")
    history.returns(300, 0, 1, "failed")
    for n in range(10):
        now_us = (n + 1) * 400_000
        if dies == "unsent":
            history.happens(now_us - 50_000, "call", 2 + n, attempt=1, op="acquire", token=1)
        elif dies != "nobody":
            history.asks(now_us - 50_000, 2 + n, 1, **setnx)
        if dies == "refused":
            history.executes(now_us - 49_500, 2 + n, 1, "integer", **setnx)
        if dies != "nobody":
            history.happens(now_us - 49_000, "fault", 2 + n, fault="crash")
        history.asks(now_us, 1, n + 1, **setnx)
        history.executes(now_us + 100, 1, n + 1, "integer", **setnx)
        history.returns(now_us + 200, 1, n + 1, "refused")
    assert history.judged(tmp_path) == (1, ("violated", "stuck"))


@pytest.mark.parametrize("ttl_us, expected", [(LEASE_US, (0, ("holds", None))),
                                              (1000 * LEASE_US, (1, ("violated", "stuck")))])
def test_a_key_younger_than_its_lease_is_not_stuck(tmp_path, ttl_us, expected):
    """c0, c1, c2 give up on a SET each, ask again, and are refused by the late one: with a time to live of one lease
    the lock is free as soon as it may be, with another unit it never is."""
    history = History("set-nx-px-cad", 4)

    def command(value):
        return {"verb": "SET_NX_PX", "value": value, "ttl": ttl_us}

    for client, start_us in enumerate([0, 510_000, 1_020_000]):
        is_first = client == 0 or ttl_us == LEASE_US
        late, second = command(100 + client), command(200 + client)
        history.asks(start_us, client, 1, **late)
        history.happens(start_us + 1000, "fault", client, server=0, fault="give-up")
        history.returns(start_us + 1000, client, 1, "failed")
        history.asks(start_us + 2000, client, 2, **second)
        history.executes(start_us + 3000, client, 1, "ok" if is_first else "nil", **late)
        history.executes(start_us + 4000, client, 2, "nil", **second)
        history.returns(start_us + 5000, client, 2, "refused")
    history.asks(1_100_000, 3, 1, **command(9))
    history.executes(1_100_100, 3, 1, "nil", **command(9))
    history.returns(1_100_200, 3, 1, "refused")
    if ttl_us == LEASE_US:
        history.asks(1_600_000, 3, 2, **command(10))
        history.executes(1_600_100, 3, 2, "ok", **command(10))
        history.returns(1_600_200, 3, 2, "granted")
    assert history.judged(tmp_path) == expected


# --- stress ---

STRESS_LEASE_US = 1_000_000  # of a scheme whose unit is a second
MARGIN_US = 100_000


def dead_locks(events):
    """Locks whose key stands for good, and somebody was refused later than a lease after it was last had."""
    had_us, stands, believes, dead, asked_us = {}, {}, {}, set(), {}
    for event in events:
        client, lock, now_us = event.get("client", -1), event.get("lock", 0), event["t"]
        kind, op, is_lock = event["kind"], event.get("op"), event.get("key", "lock") == "lock"
        ends = kind == "fault" and event["fault"] == "crash" or kind == "call" and op == "release"
        if kind == "call" and op == "acquire" or ends:
            if client in believes:
                had_us[believes.pop(client)] = now_us
        if kind == "execute" and client >= 0 and is_lock and op != "access":
            if event["verb"] == "SETNX":
                asked_us[client] = event.get("from", now_us)
            if event.get("says"):
                stands[lock], had_us[lock] = event["verb"] == "SETNX", now_us
        if kind == "return" and op == "acquire" and event["result"] == "granted":
            believes[client] = lock
        if (kind == "return" and op == "acquire" and event["result"] == "refused" and stands.get(lock)
                and lock not in believes.values()
                and asked_us[client] > had_us[lock] + STRESS_LEASE_US + MARGIN_US):
            dead.add(lock)
    return dead


@pytest.mark.parametrize("seed", [4, 5])
def test_stress_finds_the_locks_that_died(tmp_path, seed):
    """The history is read here without what the checks know; there are crashes all the time."""
    ran = run("stress", "--scheme", "setnx-del", "--clients", 40, "--locks", 2, "--duration", "4s", "--seed", seed,
              "--crash", "3%", "--lose-reply", "3%", "--history", "--out", tmp_path)
    folder = (tmp_path / "latest").resolve()
    lines = (folder / "histories" / "stress-setnx-del.jsonl").read_text().splitlines()
    dead = dead_locks([json.loads(line) for line in lines[1:-1]])
    found = progress_of(json.loads((folder / "results.json").read_text()))
    assert dead, "with so many answers lost, no lock lives for seconds"
    assert found == ("violated", "stuck"), ran


@pytest.mark.parametrize("scheme", ["set-nx-px-cad", "watchdog-guarded"])
def test_stress_calls_no_lock_stuck_whose_keys_expire(tmp_path, scheme):
    """Commands are late, and most of these attempts are over when theirs is executed."""
    run("stress", "--scheme", scheme, "--clients", 40, "--lease", "100ms", "--delay", "20%", "--delay-time", "120ms",
        "--duration", "2s", "--out", tmp_path)
    results = json.loads((tmp_path / "latest" / "results.json").read_text())
    assert progress_of(results) == ("holds", None)
