"""The model of a server against a real redis-server: the same commands, the same times, the same answers."""

import re
import subprocess

import pytest
from conftest import BUILD, LONG, PATIENCE_S, ROOT, make

PROGRAM = BUILD / "test" / "differential"
ALL = 100_000
COMMANDS = ALL if LONG else 15_000

# What a run of all must have met to mean anything, and another one its share of it: command, answer, and at least how often.
MET = [
    ("SET_NX_PX", "OK", 100),
    ("SET_NX_PX", "nil", 100),
    ("SET_NX_PX", "expire-time", 100),
    ("GETSET", "value", 100),
    ("GETSET", "WRONGTYPE", 20),
    ("DEL", "READONLY", 20),
    ("INCR", "ERR", 20),
    ("MULTI_DEL", "nil", 100),
    ("MULTI_DEL", "OOM", 20),
    ("MULTI_SETNX_EXPIRE", "transaction", 100),
    ("COMPARE_DELETE", "READONLY", 1),
    ("SET_MINT", "integer", 100),
    ("SET_MINT", "WRONGTYPE", 1),
    ("SET_MINT", "MISCONF", 20),
    ("FENCED_SET", "OOM", 20),
    ("WATCH", "NOAUTH", 20),
    ("DELEX", "unsupported", 100),
    ("COMPARE_DELETE_SHA", "NOSCRIPT", 100),
    ("COMPARE_DELETE_SHA", "integer", 100),
    ("COMPARE_DELETE_SHA", "READONLY", 1),
    ("SCRIPT_LOAD", "OK", 100),
]


@pytest.fixture(scope="module")
def differential():
    make(PROGRAM.relative_to(BUILD), "picklock-clock.so")

    def call(*words):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=ROOT, text=True,
                              capture_output=True, timeout=PATIENCE_S)

    return call


def share(least):
    return max(1, least * COMMANDS // ALL)


def test_model_and_server_agree(differential):
    done = differential("--seed", 1, "--commands", COMMANDS, "--answers")
    assert done.returncode == 0, done.stdout + done.stderr
    summary, *lines = done.stdout.splitlines()
    assert int(re.search(r"agree: (\d+) commands", summary)[1]) >= COMMANDS
    assert {line.split(":")[0] for line in lines} >= {"restarts", "evictions"}
    for fault, least in (("restarts", 30), ("evictions", 500)):
        assert int(next(line for line in lines if line.startswith(fault)).split(": ")[1]) >= share(least)
    for command, answer, least in MET:
        line = next(line for line in lines if line.startswith(f"{command}:"))
        seen = re.search(rf" {re.escape(answer)}=(\d+)", line)
        assert seen and int(seen[1]) >= share(least), f"{command} was hardly answered {answer}: {line}"


def test_another_seed_is_another_run(differential):
    one, same, other = (differential("--seed", seed, "--commands", 2000, "--answers").stdout
                        for seed in (7, 7, 8))
    assert one.splitlines()[1:] == same.splitlines()[1:] != other.splitlines()[1:]


# Each planted bug of the model: what the shortest sequence must contain, and how long it may be.
PLANTED = [
    ("expires-early", ["time passes"], 5),
    ("getset-keeps-ttl", ["GETSET", "PTTL"], 5),
    ("watch-misses-expiry", ["WATCH", "time passes", "multi-"], 8),
    ("script-rolls-back", ["set-and-mint"], 4),
    ("full-refuses-delete", ["the server refuses: OOM", "DEL"], 4),
    ("past-expire-ignored", ["PEXPIRE"], 4),
    ("restart-keeps-scripts", ["the server restarts empty", "compare-and-delete-by-sha"], 4),
    ("eviction-is-not-watched", ["WATCH", "the server evicts every key", "multi-"], 5),
    ("eviction-takes-all", ["the server evicts every key that expires"], 4),
    ("eval-is-not-cached", ["compare-and-delete lock", "compare-and-delete-by-sha"], 4),
]


@pytest.mark.parametrize("plant, words, most", PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_bug_is_found_and_shrunk(differential, plant, words, most):
    done = differential("--plant", plant)
    assert done.returncode == 1, done.stdout + done.stderr
    for word in words:
        assert word in done.stdout
    assert int(re.search(r"(\d+) steps:", done.stdout)[1]) <= most, done.stdout


def test_wrong_use_and_a_missing_server_are_said(differential):
    assert differential("--plant", "no-such-bug").returncode == 64
    assert differential("--commands", "many").returncode == 64
    missing = differential("--server", "/no/such/redis-server")
    assert missing.returncode == 69
    assert "redis-server" in missing.stderr
