"""`picklock explore --confirm` of everything, once: the matrix, its witnesses on real Redis, whom a server's fault blames."""

import json

import pytest
from conftest import LONG, PATIENCE_S, drawn, flat, listed, run
from matrix import MATRIX, as_yaml, committed, rows
from readme import BLAME

# What `picklock explore --json` promises of every row.
FIELDS = {"scheme", "fault", "property", "verdict", "cause", "clients", "rounds", "faults", "states",
          "transitions", "seconds", "complete", "witness_steps", "confirmed"}

# On 5 servers these take longer than all other cells together: one of them each time, another one for other sources, but never the first,
# which takes as long as the others; all of them with PICKLOCK_LONG (`make check-long`). On 3 servers, all.
LONGEST = ("silent-server", "refusing-server", "client-pause", "client-kill", "restart-aof", "restart-old", "failover")
WIDE = "redlock, 5 servers"


# Of the other schemes these each time, and of the rest a third, another one for other sources; all with PICKLOCK_LONG.
EACH_TIME = ("none", "stall", "lose-reply", "late-request", "crash", "restart-empty")


def of_the_others(faults):
    return [fault for i, fault in enumerate(faults) if LONG or fault in EACH_TIME or i % 3 == drawn(3)]


def left_out():
    searched = 1 + drawn(len(LONGEST) - 1)
    return [] if LONG else [fault for i, fault in enumerate(LONGEST) if i != searched]


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """{scheme: {fault: cell}}, and the rows of results."""
    here, cells, found = tmp_path_factory.mktemp("explored"), {}, []
    schemes = [scheme["name"] for scheme in listed("schemes") if scheme["name"] != "redlock"]
    every = ["none"] + [fault["name"] for fault in listed("faults") if fault["schemes"]]
    faults = [fault for fault in every if fault not in left_out()]
    parts = [["--scheme", ",".join(schemes), "--fault", ",".join(of_the_others(every))], ["--scheme", "redlock", "--fault", ",".join(faults)],
             ["--scheme", "redlock", "--fault", ",".join(left_out()), "--servers", "3"]]
    for part in parts[:3 if left_out() else 2]:
        ran = run("explore", "--confirm", "--json", here / "results.json", *part, timeout=10 * PATIENCE_S)
        assert ran.status == 0, ran.err
        for scheme, row in rows(ran.out).items():
            cells.setdefault(scheme, {}).update(row)
        found += flat(json.loads((here / "results.json").read_text()))
    return cells, found


def test_the_matrix_is_the_committed_one(confirmed):
    known = committed()
    assert as_yaml(known) == MATRIX.read_text(), "harness/matrix.py writes it anew"
    for scheme, row in known.items():
        searched = of_the_others(row) if not scheme.startswith("redlock") else [fault for fault in row if scheme != WIDE or fault not in left_out()]
        known[scheme] = {fault: row[fault] for fault in searched}
    assert confirmed[0] == known, "harness/matrix.py writes it anew"


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
