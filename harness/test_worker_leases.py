"""Workers in scenarios: leases that are asked for anew, and what a worker promises of a loss, by itself and with a watchdog."""

import json
import shlex

import pytest
from conftest import ROOT, verdicts
from workers import (NAIVE, PYTHON, SETS, WATCHDOG, WATCHDOG_GUARDED,
                     changed_naive, needs_redis_py, own_scenario, rows_of, scenario, verdict_of)

pytestmark = needs_redis_py


# --- leases that are asked for anew ---

def scheme_worker(name):
    return f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {name}"


def played(picklock, tmp_path, worker, *steps):
    """{property: (verdict, cause)} of what is not so, and what each operation came to; `check` says the same of the history."""
    results, out = tmp_path / "results.json", tmp_path / "out"
    ran = picklock("run", "--worker", worker, own_scenario(tmp_path, *steps), "--fail-on", "never", "--json", results, "--out", out)
    [row] = json.loads(results.read_text())["results"]
    [history] = (out / "latest" / "histories").iterdir()
    checked = tmp_path / "checked.json"
    picklock("check", history, "--json", checked)
    told = {name: verdict for name, verdict in verdicts(row).items() if verdict[0] != "holds"}
    again = verdicts(json.loads(checked.read_text())["results"][0])
    assert {name: verdict for name, verdict in again.items() if verdict[0] not in ("holds", "not_applicable")} == told, ran
    events = [json.loads(line) for line in history.read_text().splitlines()[1:-1]]
    return told, [("ABC"[event["client"]], event["op"], event["result"]) for event in events if event["kind"] == "return"]


def test_a_lease_that_is_had_anew_lasts_longer(picklock, tmp_path):
    """Nobody gets the lock while the second lease lasts, and who works within it does not outlive it."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "time passes 200ms", "A extends", "time passes 200ms",
                        "B acquires", "A releases")
    assert not told and ends == [("A", "acquire", "granted"), ("A", "extend", "done"), ("B", "acquire", "refused"), ("A", "release", "released")]


def test_a_lease_counts_anew_from_the_request(picklock, tmp_path):
    """Its answer is late: when it is told, the second lease has ended, too."""
    told, _ = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "A extends, stalls after the expire", "lease expires", "B acquires",
                     "A goes on")
    assert told == {"mutual-exclusion": ("violated", "overrun")}


def test_a_lease_that_was_not_told_does_not_count(picklock, tmp_path):
    """The reply is lost: nobody knows, so the first lease is all that its holder may count on; and that is no untrue answer."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "time passes 200ms", "A extends, stalls after the expire",
                        "A loses the reply", "A gives up", "time passes 200ms", "B acquires", "A releases")
    assert not told and ends[1] == ("A", "extend", "failed"), (told, ends)


def test_who_is_told_that_it_is_not_his_holds_it_no_more(picklock, tmp_path):
    """He had outlived his lease until then; behind it he does nothing more."""
    told, ends = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "lease expires", "A extends", "B acquires")
    assert not told and ends[1] == ("A", "extend", "not-mine")
    told, _ = played(picklock, tmp_path, scheme_worker("extending"), "A acquires", "lease expires", "B acquires", "A extends", "C acquires")
    assert told == {"mutual-exclusion": ("violated", "overrun")}


def test_extending_anybodys_lock_is_found(picklock, tmp_path):
    told, _ = played(picklock, tmp_path, scheme_worker("extending-anybodys"), "A acquires", "lease expires", "B acquires", "A extends")
    assert told == {"extend-own": ("violated", "foreign-extend"), "truthful": ("violated", "untrue-answer"),
                    "mutual-exclusion": ("violated", "overrun")}
    told, _ = played(picklock, tmp_path, scheme_worker("extending-anybodys"), "A acquires", "A extends", "A releases", "B acquires")
    assert not told


def test_an_extend_that_did_nothing_is_found(picklock, tmp_path):
    told, _ = played(picklock, tmp_path, scheme_worker("extending-in-words"), "A acquires", "A extends", "A releases", "B acquires")
    assert told == {"truthful": ("violated", "untrue-answer")}


def test_who_does_not_extend_is_not_asked_to(picklock, tmp_path):
    path = own_scenario(tmp_path, "A acquires", "A extends")
    ran = picklock("run", "--worker", NAIVE, path)
    assert ran.status == 2 and "A extends: the worker does not promise that it extends" in " ".join(ran.out.split()), ran
    ran = picklock("run", "--scheme", "set-nx-px-cad", path)
    assert "nobody asks a scheme to extend" in " ".join(ran.out.split()), ran


# --- what a worker promises of a loss ---

# A timer of its own rings as the lease ends, from a thread of its own.
KNOWS_ITS_LEASE = (SETS, f"""
        threading.Timer(self.settings.ttl_ms / 1000, {{rings}}).start()
        {SETS}""")
LEASE_ENDS = ("A acquires", "lease expires", "time passes 100ms", "B acquires")  # a twentieth of a lease is forgiven


def loss_notice_of(picklock, tmp_path, promises, rings, *steps):
    ring = (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings=rings))
    worker = changed_naive(tmp_path, ring, ("import redis", "import redis\nimport threading"), ('["expiry"]', promises))
    row, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *steps))
    assert row["trouble"] is None, row
    return found.get("loss-notice")  # a property that is not applicable is not in the row


def test_a_promised_notice_is_asked_for(picklock, tmp_path):
    """A's lease ends: who promises to say so, and does, keeps it; who does not, has broken it; who never promised is not asked."""
    promised, silent, says = '["expiry", "notice"]', "lambda: None", "self.lost"
    assert loss_notice_of(picklock, tmp_path, promised, says, *LEASE_ENDS) == ("holds", None)
    assert loss_notice_of(picklock, tmp_path, promised, silent, *LEASE_ENDS) == ("violated", "no-notice")
    assert loss_notice_of(picklock, tmp_path, '["expiry"]', silent, *LEASE_ENDS) is None


def test_a_promised_exit_is_asked_for(picklock, tmp_path):
    """Its process ends when its lease does: that is its notice, and it is out of the story then. Who stays has broken its promise."""
    promised, silent = '["expiry", "exits_on_loss"]', "lambda: None"
    exits = "lambda: __import__('os')._exit(3)"
    assert loss_notice_of(picklock, tmp_path, promised, exits, *LEASE_ENDS) == ("holds", None)
    assert loss_notice_of(picklock, tmp_path, promised, silent, *LEASE_ENDS) == ("violated", "no-notice")
    # Without that promise an end is no answer; and with it, none of who holds nothing.
    for promises, steps in ('["expiry"]', LEASE_ENDS), (promised, ("A acquires", "A releases", "lease expires", "time passes 100ms", "B acquires")):
        worker = changed_naive(tmp_path, (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings=exits)), ("import redis", "import redis\nimport threading"),
                               ('["expiry"]', promises))
        row, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *steps))
        assert row["verdict"] == "unknown" and "its process ended" in row["trouble"], row


@pytest.mark.parametrize("promises, rings, verdict", [
    ('["exits_on_loss", "expiry"]', "self.lost", ("violated", "no-notice")),
    pytest.param('["exits_on_loss", "expiry", "notice"]', "self.lost", ("violated", "no-notice"), marks=pytest.mark.long("one of several")),
    ('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('os')._exit(3))", ("holds", None)),
    # It tidies up first, which takes a hundredth of a lease; or a tenth.
    pytest.param('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('time').sleep(0.003), __import__('os')._exit(3))", ("holds", None), marks=pytest.mark.long("one of several")),
    ('["exits_on_loss", "expiry"]', "lambda: (self.lost(), __import__('time').sleep(0.03), __import__('os')._exit(3))", ("violated", "no-notice")),
    ('["expiry", "notice"]', "self.lost", ("holds", None)),
])
def test_who_promised_to_end_and_only_says_so_goes_on(picklock, tmp_path, promises, rings, verdict):
    """It knows of its loss: a notice is none of an end. Who ends keeps its promise, and has not crashed."""
    assert loss_notice_of(picklock, tmp_path, promises, rings, *LEASE_ENDS) == verdict


def test_who_loses_nothing_owes_no_notice(picklock, tmp_path):
    """The same silent worker, released in time."""
    assert loss_notice_of(picklock, tmp_path, '["expiry", "notice"]', "lambda: None", "A acquires", "A releases", "B acquires") == ("holds", None)


def exiting(tmp_path, promises, *changes):
    """Its process ends as its lease does."""
    ring = (KNOWS_ITS_LEASE[0], KNOWS_ITS_LEASE[1].format(rings="lambda: os._exit(3)"))
    return changed_naive(tmp_path, *changes, ring, ("import redis", "import os\nimport redis\nimport threading"), ('["expiry"]', promises))


@pytest.mark.parametrize("step, code", [
    ("A extends", "def extend(self): os._exit(3)\n\n    def close(self):"),
    pytest.param("A extends", "def extend(self): self.redis.get('lock'); os._exit(3)\n\n    def close(self):", marks=pytest.mark.long("one of several")),
    ("A releases", "def close(self):"),
])
def test_who_ends_in_an_operation_of_a_holder(picklock, tmp_path, step, code):
    """It may have found there that its lock is lost: it holds no more, and the next one is alone."""
    promises = ('["expiry"]', '["expiry", "extends", "exits_on_loss"]')
    worker = changed_naive(tmp_path, ("def close(self):", code), ("import redis", "import os\nimport redis"), promises,
                           ("return self.redis.delete(self.settings.key) == 1", "os._exit(3)"))
    ended, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", step, "lease expires", "B acquires", "time passes 100ms"))
    assert ended["trouble"] is None and found["loss-notice"] == found["mutual-exclusion"] == ("holds", None), ended


def test_who_ends_in_a_release_does_not_give_back_for_ever(picklock, tmp_path):
    """A key without expiry that it leaves behind is nobody's: B is stuck, as behind a crash; its release goes on no more."""
    worker = changed_naive(tmp_path, ("return self.redis.delete(self.settings.key) == 1", "os._exit(3)"), ("import redis", "import os\nimport redis"),
                           ('["expiry"]', '["exits_on_loss"]'), (", px=self.settings.ttl_ms", ""))
    for step in "A releases", "A crashes":
        ended, found = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", step, "time passes 500ms", "B acquires"))
        assert ended["trouble"] is None and found["progress"] == ("violated", "stuck"), (step, ended)


def test_who_has_ended_does_nothing_more(picklock, tmp_path):
    worker = exiting(tmp_path, '["expiry", "exits_on_loss"]')
    ended, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, *LEASE_ENDS, "A releases"))
    assert ended["verdict"] == "not_applicable" and "A has crashed" in json.dumps(ended), ended


def test_an_end_that_no_loss_explains_is_none_that_was_promised(picklock, tmp_path):
    """In the middle of an acquire there is nothing to lose."""
    worker = changed_naive(tmp_path, (SETS, f"import os; os._exit(3); {SETS}"), ('["expiry"]', '["expiry", "exits_on_loss"]'))
    ended, _ = verdict_of(picklock, tmp_path, worker, own_scenario(tmp_path, "A acquires", "B acquires"))
    assert ended["verdict"] == "unknown" and "its process ended with status 3" in ended["trouble"], ended


@pytest.mark.parametrize("scheme,text,notice,progress", [
    ("watchdog", WATCHDOG, ("violated", "no-notice"), ("violated", "stuck")),
    ("watchdog-guarded", WATCHDOG_GUARDED, ("holds", None), ("holds", None)),
], ids=["plain", "guarded"])
def test_a_watchdog_in_a_thread(picklock, tmp_path, scheme, text, notice, progress):
    """As the scheme: a renewal that hangs past the lease is no secret of the guarded one; only the other renews a lock whose release was lost."""
    worker = tmp_path / "watchdog.py"
    worker.write_text(text)
    names = ("watchdog-hangs", "watchdog-outlives-release")
    rows = rows_of(picklock, tmp_path, f"{PYTHON} {shlex.quote(str(worker))}", scheme, *map(scenario, names))
    told = {}
    for name in names:
        assert rows[name][1]["trouble"] is None, rows[name]
        told[name] = [{one["property"]: (one["verdict"], one["cause"]) for one in row["properties"]} for row in rows[name]]
        for rule in ("loss-notice", "mutual-exclusion", "lease-exclusion", "extend-own", "progress", "no-orphan"):
            assert told[name][0][rule] == told[name][1][rule], (name, rule, told)
    assert told["watchdog-hangs"][1]["loss-notice"] == notice, told
    assert told["watchdog-outlives-release"][1]["progress"] == progress, told


def test_a_watchdog_is_not_decided_by_asking(picklock, tmp_path):
    """It is unknown, and says what looks at it."""
    worker = tmp_path / "watchdog.py"
    worker.write_text(WATCHDOG)
    asked = picklock("explore", "--worker", f"{PYTHON} {shlex.quote(str(worker))}", "--rounds", 1, "--fault", "none")
    told = "a lock that renews by itself is not decided by asking yet: --search random runs it"
    assert asked.status == 2 and told in " ".join(asked.out.split()), asked
