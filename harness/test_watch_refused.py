"""`picklock watch`: who was refused a lock, and releases it, or changes its lease, all the same."""

import re

import pytest
from watching import is_clean, json_of, told, violated

# Processes that do what they are told, in the order in which they are told it.
PROCESSES = """
import subprocess
SERVES = '''
import os, redis, sys
own = redis.Redis.from_url(os.environ["REDIS_URL"])
for line in sys.stdin: print(eval(line), flush=True)
'''
class Process:
    def __init__(self):
        self.at = subprocess.Popen([sys.executable, "-c", SERVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def does(self, words):
        self.at.stdin.write(words + "\\n"); self.at.stdin.flush()
        return self.at.stdout.readline().strip()
def takes(process, token, ms=20000): return process.does(f"own.set('lock:1', '{token}', nx=True, px={ms})") == "True"
def gives_back(process, token): return process.does(f"own.eval({CAD!r}, 1, 'lock:1', '{token}')") == "1"
one, other = Process(), Process()
"""
REFUSED = PROCESSES + "assert takes(one, A) and not takes(other, B)\n"


def verdicts(results):
    row, = results["results"]
    return {found["property"]: found["verdict"] for found in row["properties"]}


@pytest.mark.parametrize(("found", "words", "program"), [
    ("extend-own", "B sent PEXPIRE lock:1 90000", REFUSED + "other.does(\"own.pexpire('lock:1', 90000)\"); assert gives_back(one, A)"),
    ("extend-own", "for 2000", REFUSED + "other.does(\"own.pexpire('lock:1', 9000)\"); assert gives_back(one, A)"),
    ("release-own", "B sent DEL lock:1", REFUSED + "other.does(\"own.delete('lock:1')\"); one.does(\"own.delete('lock:1')\")"),
    ("release-own", "sent UNLINK lock:1", PROCESSES + """
assert takes(one, "1")
for _ in range(40): assert not takes(one, "1")
assert not takes(other, "1")
other.does("own.unlink('lock:1')")
"""),
], ids=["longer", "shorter", "deleted", "no token, refused when many had been"])
def test_a_process_that_was_refused_is_not_the_owner(tmp_path, found, words, program):
    result, results = json_of(tmp_path, program)
    assert result.status == 1, result.out + result.err
    witness = "\n".join(violated(results)[found]["witness"])
    assert words in witness, witness


@pytest.mark.parametrize("program", [
    REFUSED + "one.does(\"own.pexpire('lock:1', 90000)\"); one.does(\"own.delete('lock:1')\")",
    REFUSED + "assert gives_back(one, A) and takes(other, B); other.does(\"own.pexpire('lock:1', 9)\")",
], ids=["the owner", "the owner, who was refused the lock before"])
def test_whoever_may_be_the_owner_is_not_blamed(tmp_path, program):
    result, results = json_of(tmp_path, program)
    assert is_clean(result, results), result.out + result.err
    assert verdicts(results)["release-own"] != "unknown", result.out


def test_a_child_may_have_been_handed_the_lock(tmp_path):
    """It was refused the lock, too: nothing is proved, and nothing claimed."""
    result, results = json_of(tmp_path, PROCESSES + """
assert client().set("lock:1", A, nx=True, px=20000) and not takes(one, B)
one.does("own.delete('lock:1')")
""")
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "whether A released its own lock by it, or another one that had been refused it in the same process" in told(result), result.err


@pytest.mark.parametrize(("program", "unknown"), [
    # Its neighbour takes the lock that it has deleted: two hold it.
    ("assert takes(one, A) and Process().does(\"own.delete('lock:1')\") == '1' and takes(other, B)\none.does(\"own.delete('lock:1')\")",
     "DEL lock:1 .*whether A released its own lock"),
    ("assert takes(one, A) and Process().does(\"own.pexpire('lock:1', 90000)\") == 'True' and gives_back(one, A)",
     "PEXPIRE lock:1 90000 .*whether A extended its own lock"),
    ("assert takes(one, A) and Process().does(f\"own.eval({CAD!r}, 1, 'lock:1', '{A}')\") == '1'", None),
], ids=["deleted", "longer", "with its token: handed over"])
def test_a_process_that_never_asked_is_not_shown_to_be_the_owner(tmp_path, program, unknown):
    result, results = json_of(tmp_path, PROCESSES + program)
    assert (result.status == 2 and not violated(results)) if unknown else is_clean(result, results), result.out + result.err
    assert verdicts(results)["release-own"] == ("unknown" if unknown else "holds"), result.out
    plain = [note for note in results["notes"] if "plain DEL" in note]
    assert all(("is not known" in note) == bool(unknown) for note in plain), plain
    why = f"unknown: .*{unknown}.* over a connection not seen to be of the process that has it"
    assert unknown is None or re.search(why, told(result)), result.out


THREADS = "a, b = client(), client()\nassert a.set('lock:1', A, nx=True, px=20000) and not b.set('lock:1', B, nx=True, px=20000)\n"


@pytest.mark.parametrize(("program", "unknown"), [
    ("b.delete('lock:1')", "DEL lock:1"),
    ("b.pexpire('lock:1', 90000); a.eval(CAD, 1, 'lock:1', A)", "PEXPIRE lock:1 90000"),
    ("b.pexpire('lock:1', 9000); a.eval(CAD, 1, 'lock:1', A)", "PEXPIRE lock:1 9000"),
    ("a.delete('lock:1')", "DEL lock:1"),
    ("a.set('lock:1', 'another value', xx=True, px=20000)", "SET lock:1 #"),
    ("a.eval(CAD, 1, 'lock:1', A)", None),
    ("""assert not a.set('lock:1', C, nx=True, px=20000)
with a.pipeline() as pipe:
    pipe.watch("lock:1")
    if pipe.get("lock:1") == A.encode(): pipe.multi(); pipe.delete("lock:1"); pipe.execute()""", None),
], ids=["deleted", "longer", "shorter", "over the owner's connection", "rewritten", "with its token", "compared under WATCH"])
def test_who_it_was_in_one_process_is_not_known(tmp_path, program, unknown):
    """Pools hand any connection to anybody. What would hold is unknown then, and nobody is blamed."""
    result, results = json_of(tmp_path, THREADS + program)
    assert (result.status == 2 and not violated(results)) if unknown else is_clean(result, results), result.out + result.err
    assert ("holds" in verdicts(results).values()) == (not unknown), result.out
    plain = [note for note in results["notes"] if "plain DEL" in note]
    assert all("is not known" in note for note in plain), plain
    why = f"unknown: .*{unknown}.* names no token, so unknown who sent it"
    assert unknown is None or re.search(why, told(result)), result.out


def test_a_short_value_is_said_to_be_no_token(tmp_path):
    """Whoever releases with it has named all that there is to be named."""
    result, _ = json_of(tmp_path, "a, b = client(), client()\nassert a.set('lock:1', '1', nx=True, px=20000) and not b.set('lock:1', '2', nx=True)\n"
                        "assert b.eval(CAD, 1, 'lock:1', '1') == 1")
    assert result.status == 2 and "names a lock whose value is shorter than 8 bytes, and so no token, so unknown who" in told(result), result.out


ASKS = """
a, b, c = client(), client(), client()
script = "local r = redis.call('setnx', KEYS[1], ARGV[1]) if %s then redis.call('pexpire', KEYS[1], ARGV[2]) end return r"
def by_script(at, token, ms): return at.eval(script, 1, "lock:1", token, ms) == 1
def by_transaction(at, token, ms):
    with at.pipeline() as pipe:
        if %s: pipe.setnx("lock:1", token); pipe.pexpire("lock:1", ms)
        else: pipe.set("lock:1", token, px=ms, nx=True); pipe.get("lock:1")
        return bool(pipe.execute()[0])
asks = %s
assert asks(a, A, 20000)
assert not asks(b, B, %s)
"""


@pytest.mark.parametrize("asks", ["by_script", "by_transaction"])
def test_an_attempt_that_is_refused_and_changes_the_lease_is_a_violation(tmp_path, asks):
    """It carries its own token, so it is not the owner."""
    longer = ASKS % ("true", "True", asks, 90000) + "assert a.eval(CAD, 1, 'lock:1', A) == 1"
    result, results = json_of(tmp_path, longer)
    witness = "\n".join(violated(results)["extend-own"]["witness"])
    assert result.status == 1 and re.search(r"for (19|20)\d\d\d\.", witness) and "it changed the expiry of A's lock" in witness, witness
    shorter = ASKS % ("true", "True", asks, 30) + "while a.exists('lock:1'): time.sleep(0.005)\n" \
        "assert asks(c, C, 20000) and a.eval(CAD, 1, 'lock:1', A) == 0"
    result, results = json_of(tmp_path, shorter)
    assert result.status == 1 and violated(results)["lease-exclusion"]["cause"] == "foreign-extend", result.out


@pytest.mark.parametrize("asks", ["by_script", "by_transaction"])
def test_an_attempt_that_is_refused_and_changes_nothing_is_silent(tmp_path, asks):
    right = ASKS % ("r == 1", "False", asks, 90000)
    result, results = json_of(tmp_path, right + "a.eval(\"return redis.call('pexpire', KEYS[1], 30000)\", 1, 'lock:1', A)\nassert a.eval(CAD, 1, 'lock:1', A) == 1")
    assert is_clean(result, results), result.out + result.err
    assert verdicts(results)["extend-own"] == "holds", result.out
    assert any("1 grant, 1 refusal, 1 release" in note for note in results["notes"]), results["notes"]


WATCHES = """
a, b = client(), client()
def takes(lock): assert asks(a, lock, "psetex", 20000, A)
def gives(lock): assert a.eval(CAD, 1, lock, A) == 1
def asks(at, lock, write, *words, meanwhile=None, guarded=True):
    with at.pipeline() as pipe:
        if guarded: pipe.watch(lock)
        at.get(lock)
        if meanwhile: meanwhile(lock)
        pipe.multi(); getattr(pipe, write)(lock, *words)
        try: return bool(pipe.execute()[0])
        except redis.WatchError: return False
"""


def test_a_transaction_that_watch_stops_was_refused_the_lock_that_stands_there(tmp_path):
    """So the DEL of its process is not proved to be the owner's."""
    result, results = json_of(tmp_path, WATCHES + """
for lock, write in {"lock:1": ["set", B], "lock:2": ["setnx", B], "lock:3": ["psetex", 20000, B], "lock:4": ["hsetnx", B, 1]}.items():
    assert not asks(b, lock, *write, meanwhile=takes)
    gives(lock)
""")
    assert result.status == 0 and verdicts(results)["lease-exclusion"] == "holds", result.out + result.err  # they contended
    assert any("4 grants, 4 refusals, 4 releases" in note for note in results["notes"]), results["notes"]
    result, results = json_of(tmp_path, WATCHES + "assert not asks(b, 'lock:1', 'set', B, meanwhile=takes)\na.delete('lock:1')")
    assert result.status == 2 and "that had been refused it in the same process" in told(result), result.err


def test_a_transaction_that_watch_stops_was_refused_nothing_where_it_is_free_or_its_own(tmp_path):
    result, results = json_of(tmp_path, WATCHES + """
def renews(lock): assert a.pexpire(lock, 30000)
assert not asks(b, "lock:1", "set", B, meanwhile=lambda lock: (takes(lock), gives(lock)))
takes("lock:2"); assert not asks(a, "lock:2", "set", A, meanwhile=renews)
takes("lock:3"); assert not asks(a, "lock:3", "set", C, None, None, False, True, meanwhile=renews)
a.delete("lock:2"); a.delete("lock:3")
""")
    assert is_clean(result, results), result.out + result.err
    assert any("3 grants, 0 refusals, 3 releases" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("guarded", [False, True])
def test_a_transaction_that_nothing_guards_overwrites_whoevers_lock(tmp_path, guarded):
    """One that WATCH guards is taken for its owner's renewal."""
    refused = "" if guarded else "assert not b.set('lock:1', B, nx=True, px=20000); "
    result, results = json_of(tmp_path, WATCHES + f"takes('lock:1'); {refused}assert asks(b, 'lock:1', 'psetex', 20000, B, guarded={guarded})")
    assert is_clean(result, results) if guarded else result.status == 1 and violated(results), result.out + result.err
    assert guarded or "it overwrote A's lock" in "\n".join(violated(results)["extend-own"]["witness"]), result.out
