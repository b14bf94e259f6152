"""`picklock watch`: what takes a lock away, or grants it, in another way than by SET NX, DEL and the usual scripts."""

import pytest
from conftest import run
from test_watch_refused import PROCESSES, REFUSED, verdicts
from watching import is_clean, json_of, told, violated

TAKES = "if redis.call('exists', KEYS[1]) == 0 then redis.call('rpush', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], 20000) return 1 end return 0"
GIVES = "if redis.call('lindex', KEYS[1], 0) == ARGV[1] then redis.call('lpop', KEYS[1]) return 1 end return 0"
LISTS = f"a, b = client(), client()\ndef takes(at, token): return at.eval({TAKES!r}, 1, 'lock:1', token)\n" \
        f"def gives(at, token): return at.eval({GIVES!r}, 1, 'lock:1', token)\nassert takes(a, A) and not takes(b, B)\n"


def unseen(words):
    """A script that does not name what it changes."""
    return f"one.does({f'own.eval({words!r}, 0)'!r})\n"


@pytest.mark.parametrize(("found", "words", "program"), [
    ("release-own", "B sent DEL lock:1", PROCESSES + """
asks = "own.set('lock:1', '%s', nx=True, get=True, px=20000)"
assert one.does(asks % A) == "None" and A in other.does(asks % B)
other.does("own.delete('lock:1')")
"""),
    ("release-own", "B sent FLUSHDB", REFUSED + "other.does(\"own.flushdb()\")"),
    ("extend-own", "B sent PERSIST lock:1", REFUSED + "other.does(\"own.persist('lock:1')\"); assert gives_back(one, A)"),
    ("lease-exclusion", "removed A's lock", REFUSED + "other.does(\"own.delete('lock:1')\"); assert takes(other, B)"),
], ids=["asked for with GET", "flushed", "without an expiry", "taken from one that is not heard of again"])
def test_whoever_was_refused_has_taken_it(tmp_path, found, words, program):
    result, results = json_of(tmp_path, program)
    assert result.status == 1, result.out + result.err
    witness = "\n".join(violated(results)[found]["witness"])
    assert words in witness, witness


def test_a_lock_that_is_asked_for_with_get_is_one_like_others(tmp_path):
    """Nothing is answered where it was granted, and what is there where it was refused."""
    result, results = json_of(tmp_path, """
a, b = client(), client()
def asks(at, token): return at.set("lock:1", token, nx=True, get=True, px=20000)
assert asks(a, A) is None and asks(b, B) == A.encode() and a.eval(CAD, 1, "lock:1", A) == 1
assert asks(b, B) is None and b.eval(CAD, 1, "lock:1", B) == 1
""")
    assert is_clean(result, results) and verdicts(results)["lease-exclusion"] == "holds", result.out + result.err
    assert any("2 grants, 1 refusal, 2 releases" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("look", ["own.get('lock:1')", "own.delete('lock:1')", "own.pexpire('lock:1', 9000)"])
def test_what_takes_a_lock_unseen_is_found_by_the_next_look(tmp_path, look):
    result, results = json_of(tmp_path, REFUSED + unseen("return redis.call('del', 'lock' .. ':1')") + f"other.does({look!r})")
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "'lock:1' was found gone before its time" in told(result), result.err


@pytest.mark.parametrize(("program", "words"), [
    ("assert b.blpop('lock:1', 1)\nassert takes(b, B)", "'lock:1' was found gone before its time"),
    ("a.rpush('jobs', 'one'); assert b.blpop('jobs', 1)\nassert gives(a, A) and takes(b, B) and gives(b, B)", None),
], ids=["the lock", "something else"])
def test_what_waits_for_something_to_take_is_no_blame(tmp_path, program, words):
    result, results = json_of(tmp_path, LISTS + program)
    assert not violated(results), result.out + result.err
    assert (result.status == 2 and words in told(result)) if words else is_clean(result, results), result.out + result.err


def test_a_list_has_a_token_too(tmp_path):
    """Its owner releases it: the LPOP was another's."""
    result, results = json_of(tmp_path, LISTS + "b.lpop('lock:1')\n"
                              "assert not a.eval(\"return redis.call('del', KEYS[1])\", 1, 'lock:1', A) and takes(b, B)")
    assert result.status == 1 and "unknown who sent LPOP" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err
    assert any("2 grants, 1 refusal" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("program", ["""
script = "if redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1], 'px', 20000) return redis.call('incr', KEYS[2]) end return 0"
for token in (A, B): assert one.eval(script, 2, "lock:1", "lock:1:fence", token) and one.eval(CAD, 1, "lock:1", token) == 1
""", """
script = "if redis.call('zcard', KEYS[1]) < 2 then redis.call('zadd', KEYS[1], 1, ARGV[1]) redis.call('pexpire', KEYS[1], 20000) return 1 end return 0"
assert one.eval(script, 1, "lock:1", A) and one.eval(script, 1, "lock:1", B) and one.zrem("lock:1", A) and one.zrem("lock:1", B)
""", """
script = "redis.call('hset', KEYS[1], 'mode', 'read') redis.call('hincrby', KEYS[1], ARGV[1], 1) return redis.call('pexpire', KEYS[1], 20000)"
assert one.eval(script, 1, "lock:1", A) and one.eval(script, 1, "lock:1", B) and one.hdel("lock:1", A) and one.hdel("lock:1", B) and one.delete("lock:1")
""", """
asks = "if not redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 20000) then redis.call('rpush', KEYS[2], ARGV[1]) return 0 end return 1"
assert one.eval(asks, 2, "lock:1", "lock:1:queue", A) and not one.eval(asks, 2, "lock:1", "lock:1:queue", B) and one.eval(CAD, 1, "lock:1", A)
asks = "redis.call('lpop', KEYS[2]) if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 20000) then return 1 end return 0"
assert one.eval(asks, 2, "lock:1", "lock:1:queue", B) and one.eval(CAD, 1, "lock:1", B)
"""], ids=["a counter beside it", "a semaphore", "a lock of readers", "a queue beside it"])
def test_what_several_may_have_at_a_time_is_no_lock(tmp_path, program):
    result, results = json_of(tmp_path, "one = client()\n" + program)
    assert not violated(results), result.out + result.err


@pytest.mark.parametrize(("words", "status"), [("return redis.call('set', 'data' .. ':fence', 3)", 2), ("return redis.call('get', 'data' .. ':fence')", 0)])
def test_a_fence_that_was_made_smaller_unseen_is_found(tmp_path, words, status):
    result, _ = json_of(tmp_path, REFUSED + "assert gives_back(one, A)\none.does(\"own.set('data:fence', 66)\")\n" + unseen(words) +
                        "one.does(\"own.get('data:fence')\")", "--fence-key", "data:fence")
    assert result.status == status, result.out + result.err
    assert status == 0 or "data:fence was found with the fence 3, and had been left with 66" in told(result), result.err


# One holds the lock, and a DEL takes it away; then its token is named again.
HOLDS = """
EXTEND = CAD.replace("'del', KEYS[1]", "'pexpire', KEYS[1], ARGV[2]")
a, b, c = client(), client(), client()
assert a.set("lock:1", A, nx=True, px=%d)
"""
GONE = "while a.exists('lock:1'): time.sleep(0.005)\nassert b.set('lock:1', B, nx=True, px=20000)\n"
ASKED = "assert not b.set('lock:1', B, nx=True, px=20000)\n"
LOOKS = "assert a.eval(EXTEND, 1, 'lock:1', A, 20000) == 0\n"
RELEASES = "assert a.eval(CAD, 1, 'lock:1', A) == 0\n"


@pytest.mark.parametrize("program", [
    "a.delete('lock:1')\n" + LOOKS,
    "a.delete('lock:1')\n" + RELEASES,
    "c.delete('lock:1')\n" + RELEASES,
    "a.flushall()\n" + RELEASES,
    ASKED + "a.delete('lock:1')\n" + RELEASES,
    ASKED + "b.delete('lock:1')\n" + LOOKS,
    ASKED + "c.eval(EXTEND, 1, 'lock:1', A, 20000)\nb.delete('lock:1')\n" + RELEASES,
    ASKED + "assert not a.set('lock:1', C, nx=True)\nb.delete('lock:1')\n" + RELEASES,
    "b.delete('lock:1')\n" + LOOKS + "assert b.set('lock:1', B, nx=True, px=20000)\n",
], ids=["a watchdog looks once more", "released twice", "over three connections", "flushed, and released", "another one was refused",
        "over a connection of a pool, perhaps", "over those of a pool", "refused over the holder's", "the next one has it"])
def test_who_looks_once_more_behind_its_own_release_is_no_proof_of_a_theft(tmp_path, program):
    """It hears 0, and ends. The DEL may have been another's, too: nobody can tell."""
    result, results = json_of(tmp_path, HOLDS % 20000 + program)
    assert result.status == 2 and not violated(results) and "nobody can tell" in told(result), result.out + result.err
    assert verdicts(results)["release-own"] == "unknown", result.out
    assert all("is not known" in note for note in results["notes"] if "plain DEL" in note), results["notes"]


@pytest.mark.parametrize(("program", "lease_ms"), [
    (ASKED + "b.delete('lock:1')\n" + RELEASES, 20000),
    (ASKED + "b.delete('lock:1')\n" + LOOKS + RELEASES, 20000),
    (GONE + "a.delete('lock:1')\nassert b.eval(CAD, 1, 'lock:1', B) == 0\n", 40),
], ids=["refused", "refused, and the holder looks before", "granted before"])
def test_a_release_behind_a_delete_over_the_connection_of_another_is_one(tmp_path, program, lease_ms):
    """Each token is seen on one connection, and that of the DEL is another's: no pool hands it about."""
    result, results = json_of(tmp_path, HOLDS % lease_ms + program)
    assert result.status == 1 and "unknown who sent DEL" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err
    assert "nobody can tell" not in told(result), result.err


def test_who_of_a_pool_took_an_expiry_away_is_not_known(tmp_path):
    """One connection for both; the holder gives its lock back."""
    result, results = json_of(tmp_path, """
pool = client()
assert pool.set("lock:1", A, nx=True, px=20000) and not pool.set("lock:1", B, nx=True, px=20000)
assert pool.persist("lock:1") and pool.eval(CAD, 1, "lock:1", A) == 1
""")
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "PERSIST lock:1" in told(result) and "nobody can tell" in told(result), result.err


@pytest.mark.parametrize(("program", "is_late"), [
    ("one.pexpire('lock:1', 20000)", False),
    ("one.eval(\"return redis.call('pexpire', KEYS[1], 20000)\", 1, 'lock:1', A)", False),
    ("pass", True),
    ("while time.monotonic() < began + 1.1: other.get('lock:1')\none.pexpire('lock:1', 20000)", True),
], ids=["by the next command", "by a script", "never", "late"])
def test_a_lock_may_be_given_its_expiry_by_the_command_behind(tmp_path, program, is_late):
    result, results = json_of(tmp_path, """
one, other = client(), client()
assert one.setnx("lock:1", A)
began = time.monotonic()
%s
assert not other.set("lock:1", B, nx=True, px=20000) and one.eval(CAD, 1, "lock:1", A) == 1
""" % program)
    assert not is_late or "before the key had a time to live" in "\n".join(violated(results)["always-expires"]["witness"]), result.out
    assert result.status == 1 if is_late else is_clean(result, results) and verdicts(results)["always-expires"] == "holds", result.out + result.err


BESIDE = "whether A released its own lock by it, or another one over another connection of its process, nobody can tell"
BETWEEN = "whose lock a command without a token had deleted: whether A had released it so, or another one had deleted it"
SECOND = "one, other = client(), client()\nassert one.setnx('lock:1', A) and other.delete('lock:1')\n"


@pytest.mark.parametrize(("program", "words"), [
    ("one = client()\nassert one.setnx('lock:1', A) and one.delete('lock:1') and not one.pexpire('lock:1', 20000)", BETWEEN),
    (SECOND + "assert not one.pexpire('lock:1', 20000)", BESIDE),
    (SECOND + "one.eval(CAD.replace(\"'del', KEYS[1]\", \"'pexpire', KEYS[1], 20000\"), 1, 'lock:1', A)", BESIDE),
    (SECOND + "assert not one.set('lock:1', A, xx=True, px=20000)", BESIDE),
    (SECOND + "p = one.pipeline(); p.expire('lock:1', 20); assert p.execute() == [False]", BESIDE),
    (SECOND + "assert other.set('lock:1', B, nx=True, px=20000) and one.pexpire('lock:1', 30000) and other.eval(CAD, 1, 'lock:1', B)", BESIDE),
    (PROCESSES + """one.does(f"own.setnx('lock:1', '{A}')"); other.does("own.delete('lock:1')")
assert one.does("own.pexpire('lock:1', 20000)") == "False" and takes(other, B)""", "whether A released its own lock by it, or another one"),
], ids=["over its own connection", "the next command", "a script", "SET XX", "a transaction", "of another's lock", "another process"])
def test_who_deleted_a_lock_before_its_expiry_came_is_not_known(tmp_path, program, words):
    """It is given in a second command: who goes on to send it is not shown to have released the lock without one."""
    result, results = json_of(tmp_path, program)
    assert result.status == 2 and not violated(results), result.out + result.err
    row, = results["results"]
    assert words in row["trouble"], row["trouble"]


@pytest.mark.parametrize("program", [
    "assert one.setnx('lock:1', A) and one.delete('lock:1')",
    SECOND,
    SECOND + "assert not one.eval(CAD, 1, 'lock:1', A)",
    "assert one.setnx('lock:1', A) and one.delete('lock:1') and one.setnx('lock:1', B) and one.pexpire('lock:1', 20000) and one.delete('lock:1')",
    SECOND + "assert other.set('lock:1', B, nx=True, px=20000) and other.pexpire('lock:1', 9000) and other.eval(CAD, 1, 'lock:1', B)",
], ids=["itself", "another one", "it looks once more", "an expiry for the next lock", "an expiry from another one"])
def test_a_lock_that_was_deleted_and_never_given_an_expiry_had_none(tmp_path, program):
    result, results = json_of(tmp_path, "one = client()\n" + program)
    assert result.status == 1 and list(violated(results)) == ["always-expires"], result.out + result.err
    assert "before the key had a time to live" in "\n".join(violated(results)["always-expires"]["witness"]), result.out


def test_whoever_took_a_lock_before_its_expiry_came_is_found_out_all_the_same(tmp_path):
    """The owner sends that, and then releases its lock by its token: the DEL was another one's, over a connection that was refused."""
    result, results = json_of(tmp_path, """
one, other = client(), client()
assert one.setnx("lock:1", A) and not other.set("lock:1", B, nx=True, px=20000) and other.delete("lock:1")
assert not one.pexpire("lock:1", 20000) and not one.eval(CAD, 1, "lock:1", A)
""")
    assert result.status == 1 and list(violated(results)) == ["release-own"], result.out + result.err
    assert "unknown who sent DEL" in "\n".join(violated(results)["release-own"]["witness"]), result.out


BOTH, NOT_BOTH = "two hold at once, both within their leases", "two hold at once, not both within their leases"
STOLEN = "assert not other.set('lock:1', B, nx=True, px=20000); other.delete('lock:1')\n"
OVER = "while one.exists('lock:1'): pass\n"


@pytest.mark.parametrize(("taken", "lost", "ends", "said"), [
    ("one.setnx('lock:1', A); one.pexpire('lock:1', 20000)", STOLEN, 0, BOTH),
    ("one.setnx('lock:1', A); one.pexpire('lock:1', 150)", OVER, 1, NOT_BOTH),
    ("one.set('lock:1', A, nx=True, px=20000)", STOLEN, 0, BOTH),
    ("one.set('lock:1', A, nx=True, px=150)", OVER, 1, NOT_BOTH),
    ("one.set('lock:1', A, nx=True, px=9000); one.pexpire('lock:1', 20000)", STOLEN, 0, BOTH),
    ("one.set('lock:1', A, nx=True, px=9000); one.persist('lock:1')", STOLEN, 0, BOTH),
    ("p = one.pipeline(); p.setnx('lock:1', A); p.pexpire('lock:1', 20000); p.execute()", STOLEN, 0, BOTH),
    ("one.set('lock:1', A, nx=True, px=9000); p = one.pipeline(); p.pexpire('lock:1', 20000); p.execute()", STOLEN, 0, BOTH),
])
def test_the_diagram_says_until_when_a_lease_lasts(tmp_path, taken, lost, ends, said):
    """As long as the key was given to live by the last command that its holder heard of."""
    json_of(tmp_path, f"""
one, other = client(), client()
{taken}
{lost}
assert other.set("lock:1", B, nx=True, px=20000)
time.sleep(0.2)
assert one.eval(CAD, 1, "lock:1", A) == 0 and other.eval(CAD, 1, "lock:1", B) == 1
""")
    drawn = run("check", tmp_path / "runs" / "latest" / "histories" / "watch.jsonl", "--timeline").out
    assert drawn.count("A's own lease ends") == ends and said in drawn, drawn


# Some of the server's time, behind which the key is looked at.
BUSY = "local t = redis.call('TIME') local e = t[1] * 1000 + t[2] / 1000 + 300 repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e return 1"
SETS = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 else return 0 end"
TWO = "if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 else return 0 end"
WRITTEN_IN = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 100) then return 1 else return 0 end"


@pytest.mark.parametrize("ask", [
    f"p.eval({SETS!r}, 1, 'lock:1', A, LEASE)", f"p.eval({TWO!r}, 1, 'lock:1', A, LEASE)", f"p.eval({WRITTEN_IN!r}.replace('100', str(LEASE)), 1, 'lock:1', A)",
    "p.multi(); p.setnx('lock:1', A); p.pexpire('lock:1', LEASE)", "p.multi(); p.set('lock:1', A, nx=True, px=LEASE)"],
    ids=["script", "script of two commands", "lease in the script", "transaction of two commands", "transaction"])
@pytest.mark.parametrize("lease_ms", [100, 20000])
def test_a_grant_that_is_over_when_it_is_heard_of_is_not_passed_over(tmp_path, ask, lease_ms):
    """A lock that was gone before anybody could look stands in no history: what came of it was not seen."""
    result, results = json_of(tmp_path, f"""
LEASE = {lease_ms}
one, other = client(), client()
with one.pipeline(transaction=False) as p:
    {ask}; p.eval({BUSY!r}, 0)
    p.execute()
other.set("lock:1", B, nx=True, px=20000)
""")
    if lease_ms > 1000:
        assert is_clean(result, results) and any("1 grant, 1 refusal" in note for note in results["notes"]), result.out + result.err
    else:
        assert result.status == 2 and not violated(results), result.out + result.err
        assert "a lock that it may have made was gone before it could be looked at" in told(result), result.err


@pytest.mark.parametrize("is_long", [False, True])
def test_a_script_is_the_same_by_its_digest(tmp_path, is_long):
    """Of one that is too long to be kept, too."""
    script = SETS + " -- and more" * (100 if is_long else 0)
    result, results = json_of(tmp_path, f"""
a, b = client(), client()
assert a.eval({script!r}, 1, "lock:1", A, 20000) == 1 and b.evalsha(b.script_load({script!r}).upper(), 1, "lock:1", B, 20000) == 0
assert a.eval(CAD, 1, "lock:1", A) == 1
""")
    assert is_clean(result, results) and verdicts(results)["lease-exclusion"] == "holds", result.out + result.err
    assert any("1 grant, 1 refusal, 1 release" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize(("over", "lease_ms", "is_known"), [("b", 9000, False), ("a", 9000, True), ("b", 30000, True)], ids=["shorter", "over its own", "longer"])
def test_who_made_a_lease_shorter_over_another_connection_is_not_known(tmp_path, over, lease_ms, is_known):
    """Pools renew over any connection; the time that its holder counts on they do not take away."""
    result, results = json_of(tmp_path, f"""
a, b, c = client(), client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and {over}.pexpire("lock:1", {lease_ms})
assert not c.set("lock:1", C, nx=True, px=20000) and a.eval(CAD, 1, "lock:1", A) == 1
""")
    assert is_clean(result, results) if is_known else result.status == 2 and not violated(results), result.out + result.err
    assert ("over another connection of its process, nobody can tell" in told(result)) != is_known, result.err
