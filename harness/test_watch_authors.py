"""`picklock watch`: who sent a command that names no token: what proves that it was the owner, or another one, and what leaves it open."""

import pytest
from test_watch_refused import PROCESSES, REFUSED, verdicts
from watching import is_clean, json_of, told, violated

# Two connections of the owner's process; another process contends.
BOTH = PROCESSES + """
LONGER = CAD.replace("'del', KEYS[1]", "'pexpire', KEYS[1], 30000")
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and not takes(other, B)
"""
BESIDE = "names no token, so unknown who sent it: whether A %s its own lock by it, or another one over another connection of its process, nobody can tell"
OVER = "names no token, so unknown who sent it: whether A overwrote its own lock by it, or another one that is given the same connection, nobody can tell"


def open_question(result, results, words):
    """Nobody is blamed, nothing holds, and the reason says so."""
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "holds" not in verdicts(results).values() and words in told(result), result.out + result.err
    return True


@pytest.mark.parametrize("program", [
    "assert b.delete('lock:1')",
    "assert b.unlink('lock:1')",
    "assert b.getdel('lock:1')",
    "assert b.pipeline().delete('lock:1').execute() == [1]",
    "assert b.eval(\"return redis.call('del', KEYS[1])\", 1, 'lock:1')",
    "assert b.exists('lock:1') and b.delete('lock:1')",
    # The token of an earlier lock.
    "assert b.get('lock:1') and b.eval(CAD, 1, 'lock:1', A) and a.set('lock:1', C, nx=True, px=20000) and b.delete('lock:1')",
], ids=["DEL", "UNLINK", "GETDEL", "a transaction", "a script", "EXISTS before", "another lock's token before"])
def test_who_deleted_a_lock_over_another_connection_of_its_process_is_not_known(tmp_path, program):
    result, results = json_of(tmp_path, BOTH + program)
    assert open_question(result, results, BESIDE % "released")
    plain = [note for note in results["notes"] if "plain DEL" in note]
    assert all("whether one of them removed another's is not known" in note for note in plain), plain


def test_who_read_what_is_no_token_has_none(tmp_path):
    result, results = json_of(tmp_path, "a, b = client(), client()\nassert a.set('lock:1', '1', nx=True, px=20000) and b.get('lock:1') and b.delete('lock:1')")
    assert open_question(result, results, "names a lock whose value is shorter than 8 bytes, and so no token, so unknown who sent it: whether A released")


@pytest.mark.parametrize("program", [
    "assert a.delete('lock:1')",
    "assert b.get('lock:1') == A.encode() and b.delete('lock:1')",
    "assert b.mget('lock:none', 'lock:1')[1] == A.encode() and b.delete('lock:1')",
    "assert b.eval(\"return redis.call('get', KEYS[1])\", 1, 'lock:1') and b.delete('lock:1')",
    "assert b.eval(LONGER, 1, 'lock:1', A) and b.delete('lock:1')",
    "assert b.eval(LONGER, 1, 'lock:1', A) and b.pexpire('lock:1', 9000) and b.eval(CAD, 1, 'lock:1', A)",
    "assert b.eval(CAD, 1, 'lock:1', A)",
    """
with b.pipeline() as pipe:
    pipe.watch("lock:1")
    if pipe.get("lock:1") == A.encode(): pipe.multi(); pipe.delete("lock:1"); assert pipe.execute() == [1]""",
    "assert b.pexpire('lock:1', 90000) and a.eval(CAD, 1, 'lock:1', A)",
], ids=["over its own", "GET before", "MGET before", "a script that reads", "renewed before", "shorter, and renewed before", "with its token", "compared under WATCH",
        "longer"])
def test_a_connection_that_had_the_token_is_the_owners(tmp_path, program):
    result, results = json_of(tmp_path, BOTH + program)
    assert is_clean(result, results) and result.status == 0 and verdicts(results)["release-own"] == "holds", result.out + result.err


def test_threads_that_hand_their_connections_about_and_name_their_tokens_are_silent(tmp_path):
    """One releases what another one has taken."""
    result, results = json_of(tmp_path, """
pool = redis.Redis(connection_pool=redis.BlockingConnectionPool.from_url(os.environ["REDIS_URL"], max_connections=3))
def work(number):
    for i in range(6):
        lock = pool.lock("lock:1", timeout=20, sleep=0.002, thread_local=False)
        assert lock.acquire() and lock.extend(5) and lock.reacquire() and lock.owned()
        last = threading.Thread(target=lock.release)
        last.start(); last.join()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert is_clean(result, results) and result.status == 0, result.out + result.err
    assert any("24 grants" in note and "24 releases" in note for note in results["notes"]), results["notes"]


SENDS = """LONGER = CAD.replace("'del', KEYS[1]", "'pexpire', KEYS[1], 30000")\nassert other.does(f"own.eval({LONGER!r}, 1, 'lock:1', '{A}')") == '1'\n"""


@pytest.mark.parametrize(("program", "is_blamed"), [
    (SENDS + "other.does(\"own.delete('lock:1')\")", False),
    ("other.does(\"own.get('lock:1')\"); other.does(\"own.delete('lock:1')\")", True),
], ids=["it has sent it", "it was answered it"])
def test_a_process_that_was_refused_has_the_token_where_it_has_sent_it(tmp_path, program, is_blamed):
    """It may have been handed the lock then. Whoever was refused it can read it."""
    result, results = json_of(tmp_path, REFUSED + program)
    if is_blamed:
        assert result.status == 1 and "B sent DEL lock:1" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err
    else:
        assert open_question(result, results, "nobody can tell")


@pytest.mark.parametrize("program", [
    "assert a.set('lock:1', C, px=20000)",
    "assert a.psetex('lock:1', 20000, C)",
    "assert a.pipeline().set('lock:1', C, px=20000).execute()",
    "assert a.getset('lock:1', C) and a.pexpire('lock:1', 20000) and a.eval(CAD, 1, 'lock:1', C)",
    "assert a.set('lock:1', C, px=20000) and a.eval(CAD, 1, 'lock:1', A) == 0 and a.eval(CAD, 1, 'lock:1', C) == 1",
], ids=["SET", "PSETEX", "a transaction", "GETSET", "and both values are used"])
def test_who_overwrote_a_lock_over_the_connection_of_its_grant_is_not_known(tmp_path, program):
    assert open_question(*json_of(tmp_path, BOTH + program), OVER)


@pytest.mark.parametrize("write", ["a.getset('lock:1', C)", "a.set('lock:1', C)"])
def test_a_lock_that_was_overwritten_without_an_expiry_never_ends_whoever_it_was(tmp_path, write):
    result, results = json_of(tmp_path, BOTH + f"assert {write}")
    assert result.status == 1 and list(violated(results)) == ["always-expires"], result.out + result.err
    witness = "\n".join(violated(results)["always-expires"]["witness"])
    assert "No expiry in unknown who." in witness and "acquire" not in witness, witness


@pytest.mark.parametrize("program", [
    "assert a.set('lock:1', A, px=30000) and a.eval(CAD, 1, 'lock:1', A)",
    "assert a.delete('lock:1') and a.set('lock:1', 'is no lock') and a.delete('lock:1')",
], ids=["its own value", "released before"])
def test_who_writes_its_own_value_or_no_lock_overwrites_nothing(tmp_path, program):
    result, results = json_of(tmp_path, BOTH + program)
    assert is_clean(result, results) and result.status == 0, result.out + result.err


@pytest.mark.parametrize(("program", "is_blamed"), [
    # A watchdog of the owner's may renew so, the first time that its pool opens a second connection.
    ("assert b.psetex('lock:1', 20000, C)", False),
    ("assert b.get('lock:1') and b.set('lock:1', C, px=20000)", False),
    ("assert not b.set('lock:1', C, nx=True, px=20000) and b.set('lock:1', 'token-of-nobody', px=20000)", True),
    ("other.does(\"own.set('lock:1', 'token-of-nobody', px=20000)\")", True),
    ("other.does(\"own.getset('lock:1', 'token-of-nobody')\")", True),
    # Refused over the connection of the grant: its token is another one's.
    ("assert not a.set('lock:1', C, nx=True, px=20000) and a.set('lock:1', C, px=20000)", True),
    ("assert b.eval(LONGER, 1, 'lock:1', A) and b.set('lock:1', C, px=20000)", False),
    # A pool's.
    ("assert b.eval(LONGER, 1, 'lock:1', A) and client().set('lock:1', C, px=20000)", False),
], ids=["another connection", "that has read it", "that was refused it", "another process", "GETSET", "refused before", "that has the token", "another one of a pool"])
def test_who_overwrites_a_lock_over_another_connection_is_another_one(tmp_path, program, is_blamed):
    """Of another process, or one that was refused the lock, unless that has the token, or is of a pool."""
    result, results = json_of(tmp_path, BOTH + program)
    if is_blamed:
        assert result.status == 1 and "it overwrote A's lock" in "\n".join(violated(results)["extend-own"]["witness"]), result.out + result.err
    else:
        assert open_question(result, results, "whether A overwrote its own lock by it")
