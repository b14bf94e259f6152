"""A Redis Cluster: what is played in one, what is not, and that a schedule of it is replayed."""

import json

import pytest
from conftest import ROOT


def rows(ran):
    return {row["scheme"]: row for row in ran.json["results"]}


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_quorum_and_wait_are_not_applicable(picklock, world):
    ran = picklock("run", "scenarios/slot-taken.yaml", "--scheme", "redlock,set-nx-px-wait", "--fail-on", "any", "--on", world, "--json", "-")
    assert {row["verdict"] for row in rows(ran).values()} == {"not_applicable"}, ran
    assert "it has no quorum" in json.dumps(rows(ran)["redlock"]) and "no replicas" in json.dumps(rows(ran)["set-nx-px-wait"]), ran


def test_a_worker_is_not_applicable(picklock):
    """Its own client would have to follow."""
    ran = picklock("run", "scenarios/slot-taken.yaml", "--worker", f"/usr/bin/python3 {ROOT}/sim/worker/examples/redis_py_lock.py", "--json", "-")
    [row] = ran.json["results"]
    assert row["verdict"] == "not_applicable" and "MOVED and ASK" in json.dumps(row), ran


def test_a_server_of_somebody_else_is_not_made_a_cluster(picklock):
    ran = picklock("run", "scenarios/slot-taken.yaml", "--redis", "redis://127.0.0.1:1", "--json", "-")
    [row] = ran.json["results"]
    assert row["verdict"] == "not_applicable", ran


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_schedule_is_replayed(picklock, tmp_path, world):
    ran = picklock("run", "scenarios/slot-taken.yaml", "--on", world, "--out", tmp_path)
    schedule = next(tmp_path.glob("*/**/*.schedule"))
    assert ran.status == 0 and "\ncluster: yes\n" in schedule.read_text(), ran
    again = picklock("replay", schedule, "--on", world, "--json", "-")
    [row] = again.json["results"]
    assert row["verdict"] == "violated", again


def test_a_move_that_did_not_strike_leaves_the_run_unknown(picklock, tmp_path):
    """No key is there to be left behind: no verdict about nothing."""
    text = (ROOT / "scenarios" / "slot-keys-left.yaml").read_text()
    story = tmp_path / "nothing-left.yaml"
    story.write_text(text.replace("name: slot-keys-left", "name: nothing-left").replace("  - A acquires\n", "", 1))
    for world in ("redis", "sim"):
        ran = picklock("run", story, "--on", world, "--json", "-")
        [row] = ran.json["results"]
        assert row["verdict"] == "unknown" and ran.status == 2, ran


def test_a_transaction_is_for_real_servers(picklock, tmp_path):
    scheme = "watch-multi-del"
    story = tmp_path / "watched.yaml"
    story.write_text("name: watched\nsource: Redis Cluster specification\nlease: 300ms\nclients: [A, B]\nservers: cluster\n"
                     f"steps:\n  - A acquires\n  - B acquires\n  - A releases\nexpect:\n  {scheme}: {{ lease-exclusion: holds }}\n")
    real, simulated = (picklock("run", story, "--on", world, "--json", "-") for world in ("redis", "sim"))
    assert rows(real)[scheme]["verdict"] == "holds" and rows(simulated)[scheme]["verdict"] == "unknown", (real, simulated)


@pytest.mark.parametrize("options, words", [
    (["--slot-move", "1%"], "--slot-move: there is no slot that could move: it wants --cluster"),
    (["--cluster", "--silence", "1%"], "--silence: of a cluster only the slot is struck"),
    (["--cluster", "--servers", "3"], "--servers does not go with --cluster"),
    (["--cluster", "--real-time"], "--real-time does not go with --cluster"),
    (["--cluster", "--server-drift", "1%"], "--server-drift does not go with --cluster"),
    (["--cluster", "--redis", "redis://127.0.0.1:1"], "--redis does not go with --cluster"),
    (["--cluster", "--worker", "true"], "--cluster does not go with --worker"),
])
def test_what_does_not_go_with_stress_on_a_cluster(picklock, options, words):
    ran = picklock("stress", "--duration", "1s", *options)
    assert ran.status == 64 and words in ran.err, ran


def test_stress_on_a_cluster_tells_moves_and_redirections(picklock):
    """A quorum is not applicable to one."""
    ran = picklock("stress", "--cluster", "--slot-move", "2%", "--slot-move-time", "5ms", "--duration", "500ms", "--clients", "10",
                   "--lease", "20s", "--timeout", "20s", "--scheme", "set-nx-px-cad,redlock", "--no-faults", "--json", "-")
    assert rows(ran)["redlock"]["verdict"] == "not_applicable", ran
    assert rows(ran)["set-nx-px-cad"]["verdict"] in ("holds", "unknown"), ran
    assert "set-nx-px-cad ran on the three masters of a Redis Cluster" in json.dumps(ran.json["notes"]), ran
