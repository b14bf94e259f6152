"""`picklock watch` on a server of somebody else's: whose doing a change was, where others may be connected to that server, too."""

import contextlib
import re

import pytest
from conftest import ask, connect, free_port, server
from redis.lock import Lock
from test_watch_hostile import PAST, RAW, behind_rules, holds
from watching import json_of, told, violated

# A had the lock, its lease is over, and B has it.
LAPSED = """
assert one.says("SET", "lock:1", A, "NX", "PX", 400) == b"+OK" and not takes(other, B)
while not takes(other, B): time.sleep(0.02)
assert not takes(one, C)
"""
OVERRUN = ["mutual-exclusion"]
# Scripts that nobody knows: what they do to whose lock, their answer does not tell.
TEXTS = """
TAKES = "redis.call('del', KEYS[1]) return ARGV[1]"
CHANGES = "redis.call('pexpire', KEYS[1], ARGV[2] * 3) return ARGV[1]"
WRITES = "redis.call('set', KEYS[1], ARGV[1] .. 'x', 'px', 20000) return ARGV[1]"
ASKS = "if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 1 end return 0"
TELLS = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) redis.call('publish', 'news', '1') return 1 end return 0"
"""
SHA = "assert one.says('EVALSHA', DIGEST, 1, 'lock:1', A) == b'$17'"
TOOK = "assert one.says('EVAL', TAKES, 1, 'lock:1', A) == b'$17'"
BLAMED = [
    ("release-own", "A sent EVAL", TOOK),
    ("release-own", "A sent EVALSHA", SHA),
    ("extend-own", "A sent EVAL", "assert one.says('EVAL', CHANGES, 1, 'lock:1', A, 30000) == b'$17'"),
    ("extend-own", "overwrote B's lock", "assert one.says('EVAL', WRITES, 1, 'lock:1', A) == b'$17'"),
]


@contextlib.contextmanager
def theirs():
    """Their server, which knows a script that we have never seen, and those of redis-py: its URL, its port, and what a program must know of it."""
    with server() as port:
        for text in (Lock.LUA_RELEASE_SCRIPT, Lock.LUA_EXTEND_SCRIPT, Lock.LUA_REACQUIRE_SCRIPT):
            ask(port, "SCRIPT", "LOAD", text)
        digest = ask(port, "SCRIPT", "LOAD", "redis.call('del', KEYS[1]) return ARGV[1]")
        yield f"redis://127.0.0.1:{port}", port, RAW + TEXTS + f"DIRECT, DIGEST = {port}, {digest!r}\n"


def plays(tmp_path, their, program):
    """On their server, as it was in the beginning."""
    url, port, names = their
    ask(port, "FLUSHALL")
    return json_of(tmp_path, names + program, "--redis", url)


def unknown(result, results, *reasons, but=()):
    """Whoever acts behind its lease (LAPSED) is blamed for that."""
    assert result.status == 2 and not holds(results), result.out + result.err
    assert set(violated(results)) <= set(but), result.out + result.err
    assert all(reason in told(result) for reason in reasons), result.err
    return True


@pytest.mark.parametrize(("found", "words", "program"), BLAMED, ids=["deletes", "by its digest", "changes the lease", "overwrites"])
def test_a_script_is_blamed_where_nobody_else_is_connected(tmp_path, found, words, program):
    with theirs() as their:
        result, results = plays(tmp_path, their, LAPSED + program)
    assert result.status == 1 and words in "\n".join(violated(results)[found]["witness"]), result.out + result.err


@pytest.mark.parametrize("program", [program for *_, program in BLAMED], ids=["deletes", "by its digest", "changes the lease", "overwrites"])
def test_a_script_is_not_blamed_where_somebody_else_is_connected(tmp_path, program):
    """All the time, or for a moment before."""
    with theirs() as their:
        with connect(their[1]):
            ask(their[1], "PING")
            result, results = plays(tmp_path, their, LAPSED + program)
        assert unknown(result, results, "or somebody else did in that instant, nobody can tell: somebody else is connected", but=OVERRUN)
        result, results = plays(tmp_path, their, LAPSED + "assert redis.Redis(port=DIRECT).ping()\n" + program)
        assert unknown(result, results, "or somebody else did in that instant, nobody can tell: somebody else is connected", but=OVERRUN)


@pytest.mark.parametrize(("command", "change", "answer"), [
    ('["EVAL", TAKES, 1, "lock:1", B]', 'delete("lock:1")', b"$17"), ('["EVALSHA", DIGEST, 1, "lock:1", B]', 'delete("lock:1")', b"$17"),
    ('["EVAL", "return redis.call(\'pexpire\', KEYS[1], -1)", 1, "lock:2", "lock:1", B]', 'delete("lock:1")', b":0"),
    ('["EVAL", "return redis.call(\'pexpire\', KEYS[1], 5)", 1, "lock:2", "lock:1", B]', 'pexpire("lock:1", 9000)', b":0"),
    ('["EVAL", "return redis.call(\'persist\', KEYS[1])", 1, "lock:2", "lock:1", A]', 'persist("lock:1")', b":0"),
    ('["EVAL", ASKS, 1, "lock:1", B, 30000]', 'pexpire("lock:1", 30000)', b":0"),
    ('["MULTI"], ["SET", "lock:1", B, "NX", "PX", 30000], ["EXEC"]', 'pexpire("lock:1", 30000)', b"+OK"),
    ('["EVALSHA", NONE, 1, "lock:1", A]', 'set("lock:1", C, px=9000)', b"-NOSCRIPT No matching script. Please use EVAL."),
], ids=["a script that deletes", "one that nobody saw", "one that may delete", "a lease", "an expiry", "the lease that is asked for",
        "the same in a transaction", "a script that is not there"])
def test_what_somebody_past_the_proxy_did_in_that_instant_is_no_blame(tmp_path, command, change, answer):
    rules = f'wait: command={re.findall("EVALSHA|EVAL|EXEC", command)[-1]} nth=1 -> hold until=gone\ngo: command=ECHO -> release gone'
    names = "DIGEST, NONE = redis.Redis(port=DIRECT).script_load(TAKES), 40 * '0'\n"
    result, results = behind_rules(tmp_path, rules, TEXTS + names + PAST % (command, change, answer))
    assert unknown(result, results)


def test_what_an_answer_proves_is_judged_whoever_else_is_connected(tmp_path):
    with theirs() as their, connect(their[1]):
        result, results = plays(tmp_path, their, """
assert takes(one, A) and not takes(other, B) and other.says("DEL", "lock:1") == b":1" and not gives(one, A)
""")
        assert result.status == 1 and "unknown who sent DEL" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err
        result, results = plays(tmp_path, their, LAPSED + """
assert one.says("SET", "lock:1", A, "PX", 20000) == b"+OK"
""")
        assert result.status == 1 and "overwrote B's lock" in "\n".join(violated(results)["extend-own"]["witness"]), result.out + result.err
        result, results = plays(tmp_path, their, "assert one.says('SETNX', 'lock:1', A) == b':1'")
        assert result.status == 1 and list(violated(results)) == ["always-expires"], result.out + result.err


RIGHT = """
LENGTHENS = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return redis.error_reply('gone')"
GIVES = "local count = 0 if redis.call('get', KEYS[1]) == ARGV[1] then count = redis.call('unlink', KEYS[1]) end return count"
digest = client().script_load(GIVES)
for mine, token in ((one, A), (other, B)) * 3:
    assert takes(mine, token) and mine.says("PEXPIRE", "lock:1", 9000) == b":1" and not takes(one, C) and gives(mine, token)
    assert mine.says("EVAL", ASKS, 1, "lock:1", token, 20000) == b":1" and one.says("EVAL", ASKS, 1, "lock:1", C, 20000) == b":0"
    assert mine.says("EVAL", LENGTHENS, 1, "lock:1", token, 30000) == b":1" and mine.says("EVALSHA", digest, 1, "lock:1", token) == b":1"
    with client().lock("lock:2", timeout=20) as lock: assert lock.extend(5) and lock.reacquire()
    assert takes(mine, token) and mine.says("DEL", "lock:1") == b":1"
"""


@pytest.mark.parametrize("is_crowded", [False, True], ids=["alone", "crowded"])
def test_right_locks_are_judged_whoever_else_is_connected(tmp_path, is_crowded):
    """But a script of theirs that does more than delete is taken at its word only where nobody else was there."""
    with theirs() as their, connect(their[1]) if is_crowded else contextlib.nullcontext():
        result, results = plays(tmp_path, their, RIGHT)
        assert result.status == 0 and "lease-exclusion" in holds(results), result.out + result.err
        result, results = plays(tmp_path, their, "assert takes(one, A) and not takes(other, B) and one.says('EVAL', TELLS, 1, 'lock:1', A) == b':1'")
    if is_crowded:
        assert unknown(result, results, "whether EVAL", "deleted 'lock:1', or somebody else did in that instant")
    else:
        assert result.status == 0 and "lease-exclusion" in holds(results), result.out + result.err


def test_who_is_connected_is_asked_of_the_server(tmp_path):
    """One that does not say is not taken for one with nobody else."""
    result, results = behind_rules(tmp_path, 'lie: command=INFO beyond=1 -> answer "-NOPERM no INFO for you"', TEXTS + LAPSED + TOOK)
    assert unknown(result, results, "the server does not say (INFO)", but=OVERRUN)
    result, results = behind_rules(tmp_path, "never: command=NONE -> drop-request", TEXTS + LAPSED + TOOK)
    assert result.status == 1 and "A sent EVAL" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err


@pytest.mark.parametrize(("options", "reason"), [
    (["--replicaof", "127.0.0.1 1", "--replica-read-only", "no"], "the server is a replica"),
    (["--cluster-enabled", "yes", "--cluster-port", str(free_port())], "part of a cluster"),
], ids=["replica", "cluster"])
def test_a_server_that_changes_keys_by_itself_is_no_witness(tmp_path, options, reason):
    with server(*options) as port:
        if "--cluster-enabled" in options:
            ask(port, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            while "cluster_state:ok" not in ask(port, "CLUSTER", "INFO"):
                pass
        result, results = json_of(tmp_path, RAW + TEXTS + LAPSED + TOOK, "--redis", f"redis://127.0.0.1:{port}")
    assert unknown(result, results, reason, but=OVERRUN)


EVICTS = """
assert one.says("SET", "x", "y") == b"+OK" and one.says("CONFIG", "SET", "maxmemory-policy", "allkeys-lru") == b"+OK"
assert one.says("CONFIG", "SET", "maxmemory", 1) == b"+OK" and one.says("SET", "z", "y")[:4] == b"-OOM" and one.says("EXISTS", "x") == b":0"
assert one.says("CONFIG", "SET", "maxmemory", 0) == b"+OK"
"""


@pytest.mark.parametrize("is_theirs", [True, False], ids=["theirs", "ours"])
def test_a_server_that_evicts_is_no_witness(tmp_path, is_theirs):
    with theirs() as (url, _, _):
        options = ["--redis", url] if is_theirs else []
        result, results = json_of(tmp_path, RAW + TEXTS + EVICTS + LAPSED + TOOK, *options)
    assert unknown(result, results, "the server has evicted keys", but=OVERRUN)
    result, results = json_of(tmp_path, RAW + TEXTS + "assert one.says('CONFIG', 'SET', 'maxmemory', 0) == b'+OK'\n" + LAPSED + TOOK)
    assert result.status == 1 and "A sent EVAL" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err


def test_a_connection_that_was_rejected_hides_no_other(tmp_path):
    """The server has taken as many as were begun through the proxy, and one of these was not among them."""
    with server("--maxclients", "4") as port:
        crowd = """
third, fourth = Raw(), Raw()
assert third.says("PING") == b"+PONG" and fourth.hears()[:4] == b"-ERR" and fourth.hears() == b""
third.socket.shutdown(socket.SHUT_RDWR); assert third.hears() == b""
stranger = redis.Redis(port=%d)
while True:
    try: stranger.ping(); break
    except redis.RedisError: pass
""" % port
        result, results = json_of(tmp_path, RAW + TEXTS + LAPSED + crowd + TOOK, "--redis", f"redis://127.0.0.1:{port}")
    assert unknown(result, results, but=OVERRUN)


def test_a_script_beside_that_names_no_watched_key_is_no_blame_of_another(tmp_path):
    """It may have its key written in, and comes through the proxy, too."""
    rules = "wait: command=EVALSHA nth=1 -> hold until=gone\ngo: command=ECHO -> release gone"
    program = """
digest = client().script_load(TAKES)
%s
one.sends(["EVALSHA", digest, 1, "lock:1", A])
while '"fault"' not in open(LOG).read(): pass
%s
assert other.says("ECHO", "gone") == b"$4" and one.hears() == b"$17"
"""
    beside = "assert other.says('EVAL', \"return redis.call('del', 'lo' .. 'ck:1')\", 0) == b':1'"
    result, results = behind_rules(tmp_path, rules, TEXTS + program % (LAPSED, beside))
    assert unknown(result, results, "a script that does not name it, or a command that waits, was under way, too", but=OVERRUN)
    result, results = behind_rules(tmp_path, rules, TEXTS + program % (LAPSED, ""))
    assert result.status == 1 and "A sent EVALSHA" in "\n".join(violated(results)["release-own"]["witness"]), result.out + result.err


def test_of_the_refusals_by_one_lock_the_first_are_told_and_all_are_counted(tmp_path):
    """Also where each stands in line; an owner that asks again is refused nothing."""
    with theirs() as their:
        result, results = plays(tmp_path, their, """
assert takes(one, A) and not any(takes(one, A) for _ in range(20)) and not any(takes(other, B) for _ in range(50)) and gives(one, A)
""")
    assert result.status == 0 and any("1 grant, 50 refusals, 1 release" in note for note in results["notes"]), result.out + result.err
    history = (tmp_path / "runs" / "latest" / "histories" / "watch.jsonl").read_text()
    assert history.count('"refused"') == 2 * 16, history  # what it did, and how the attempt ended


# A lock of two commands: somebody past the proxy changes it before the second one, behind it and before it is looked at, or both.
TWO = """
stranger = redis.Redis(port=DIRECT)
assert other.says("PING") == b"+PONG" and one.says("SETNX", "lock:1", A) == b":1" and not takes(other, B)
%s
one.sends(%s)
while '"fault"' not in open(LOG).read(): pass
%s
assert redis.Redis(port=BETWEEN).echo("gone") and one.hears() in (b":1", b"+OK")
takes(other, B); gives(one, A)
"""
IN_MS, IN_S, XX = '["PEXPIRE", "lock:1", 20000]', '["EXPIRE", "lock:1", 20]', '["SET", "lock:1", A, "XX", "PX", 20000]'
UNTIL = '["PEXPIREAT", "lock:1", int(time.time() * 1000) + 20000]'
SHORTER, LONGER, TAKEN, GONE, OTHERS = 'pexpire("lock:1", 9000)', 'pexpire("lock:1", 90000)', 'persist("lock:1")', 'delete("lock:1")', 'set("lock:1", C)'


@pytest.mark.parametrize(("before", "command", "behind"), [
    ("ping()", IN_MS, TAKEN), ("ping()", IN_S, SHORTER), ("ping()", UNTIL, TAKEN), ("ping()", XX, TAKEN), (SHORTER, IN_MS, TAKEN), (LONGER, UNTIL, LONGER),
    ("ping()", IN_MS, GONE), ("ping()", UNTIL, GONE), ("ping()", IN_MS, OTHERS), ('pexpire("lock:1", 20000)', IN_MS, "ping()"),
])
def test_who_gave_its_lock_a_time_to_live_has_done_so(tmp_path, before, command, behind):
    """Whatever somebody else made of it, before it could be looked at."""
    rules = f"wait: command={command.split(chr(34))[1]}{' nth=2' if command == XX else ''} after -> hold until=gone\ngo: command=ECHO -> release gone"
    assert unknown(*behind_rules(tmp_path, rules, TWO % ("stranger." + before, command, "stranger." + behind)), "somebody past the proxy")


def test_who_gave_its_lock_none_is_blamed_whatever_somebody_else_made_of_it(tmp_path):
    for does in "assert one.says('PTTL', 'lock:1') == b':-1'", "assert redis.Redis(port=DIRECT).pexpire('lock:1', 90000)":
        result, results = behind_rules(tmp_path, "never: command=NONE -> drop-request", f"""
assert one.says("SETNX", "lock:1", A) == b":1" and not takes(other, B)
{does}
assert gives(one, A)
""")
        assert result.status == 1 and list(violated(results)) == ["always-expires"], result.out + result.err


def test_a_script_behind_it_that_names_no_key_is_no_blame_of_a_lock_of_two_commands(tmp_path):
    """Sent at once, so that both are executed before anybody looks."""
    result, results = json_of(tmp_path, RAW + """
assert one.says("SETNX", "lock:1", A) == b":1" and not takes(other, B)
one.sends(["PEXPIRE", "lock:1", 20000], ["EVAL", "return redis.call('persist', 'lo' .. 'ck:1')", 0])
assert one.hears() == one.hears() == b":1" and gives(one, A)
""")
    assert unknown(result, results, "a script that does not name it")
