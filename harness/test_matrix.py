"""`picklock explore --confirm` of everything, once: the matrix, its witnesses on real Redis, whom a server's fault blames."""

import json

import pytest
from conftest import PATIENCE_S, flat, run
from matrix import MATRIX, as_yaml, rows
from readme import BLAME

# What `picklock explore --json` promises of every row.
FIELDS = {"scheme", "fault", "property", "verdict", "cause", "clients", "rounds", "faults", "states",
          "transitions", "seconds", "complete", "witness_steps", "confirmed"}


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """What it printed, and its rows."""
    results = tmp_path_factory.mktemp("explored") / "results.json"
    ran = run("explore", "--confirm", "--json", results, timeout=10 * PATIENCE_S)
    assert ran.status == 0, ran.err
    return ran.out, flat(json.loads(results.read_text()))


def test_the_matrix_is_the_committed_one(confirmed):
    assert as_yaml(rows(confirmed[0])) == MATRIX.read_text(), "harness/matrix.py writes it anew"


def test_every_witness_is_confirmed_on_real_redis(confirmed):
    """A witness that does not reproduce would be a defect of picklock; one that needs a newer server is neither."""
    found = confirmed[1]
    violated = [row for row in found if row["verdict"] == "violated"]
    assert len(violated) > 100
    open_rows = [row for row in violated if row["confirmed"] is not True]
    assert all(row["confirmed"] is None and row["unconfirmed"] == "this server does not know DELEX"
               and row["scheme"] == "set-ifeq-delex" and row["replayed"] for row in open_rows), open_rows
    assert all(FIELDS <= row.keys() for row in found)


KEEP_KEYS = ("silent-server", "refusing-server", "client-pause", "client-kill", "restart-aof")


def test_who_overlaps_because_of_a_server_blames_the_deployment(confirmed):
    """As `run` does of the same faults: the scheme only where it overlaps in that way without a fault, too. A server that is out
    of reach takes no key with it; while it is, sections last, and a scheme may well be to blame for what follows. So may it where
    connections break and all keys stay."""
    servers = {row["name"] for row in run("list", "faults", "--json").json["faults"]
               if row["strikes"] == "server" and row["name"] not in KEEP_KEYS}
    overlaps = {(row["fault"], row["scheme"], row["servers"], row["property"], row["cause"]) for row in confirmed[1]
                if row["verdict"] == "violated" and row["fault"] in servers | {"none"}
                and row["property"] in ("mutual-exclusion", "lease-exclusion", "no-lost-update")}
    own = {overlap[1:] for overlap in overlaps if overlap[0] == "none"}
    blamed = {overlap for overlap in overlaps if overlap[1:] not in own and BLAME[overlap[4]] not in ("deployment", "nobody")}
    assert not blamed
    assert {("restart-empty", "redlock", 3, "lease-exclusion", "lost-grant"),
            ("server-clock", "redlock", 5, "lease-exclusion", "early-expiry")} <= overlaps
