"""`picklock watch`: what it says of test runs of somebody's own, over Debian's redis-py and the proxy, that use locks wrongly; what it notes, and
what nobody can tell."""

import re

import pytest
from watching import MANY, is_clean, json_of, told, violated, watch


def test_many_at_once_and_one_that_is_wrong(tmp_path):
    result, results = json_of(tmp_path, MANY % 10 + """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
b.delete("lock:1")
assert a.eval(CAD, 1, "lock:1", A) == 0
""")
    assert result.status == 1 and "unknown who sent DEL lock:1" in "\n".join(violated(results)["release-own"]["witness"])


def test_reports_say_how_to_have_it_again(tmp_path):
    json_of(tmp_path, "assert client().setnx('lock:1', A)")
    folder = tmp_path / "runs" / "latest"
    assert "picklock watch --key 'lock:*'" in (folder / "report.md").read_text()
    for name in ("index.html", "junit.xml"):
        assert "no time to live" in (folder / name).read_text()


@pytest.mark.parametrize(("found", "words", "program"), [
    ("release-own", "unknown who sent DEL lock:1", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.delete("lock:1")
assert b.eval(CAD, 1, "lock:1", B) == 0
"""),
    ("release-own", "A sent EVAL", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.eval("return redis.call('del', KEYS[1])", 1, "lock:1", A)
"""),
    ("release-own", "unknown who sent DEL lock:1", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
b.delete("lock:1")
assert a.eval(CAD, 1, "lock:1", A) == 0
"""),
    ("extend-own", "A sent EVAL", """
a, b = client(), client()
assert b.set("lock:1", B, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert a.set("lock:1", A, nx=True, px=20000)
b.eval("return redis.call('pexpire', KEYS[1], 50000)", 1, "lock:1", B)
"""),
    ("extend-own", "overwrote A's lock", """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000)
assert not b.set("lock:1", B, nx=True, px=20000) and b.set("lock:1", B, px=20000)
"""),
    ("always-expires", "no time to live", """
assert client().setnx("lock:1", A)
"""),
    ("lease-exclusion", "removed B's lock", """
a, b, c = client(), client(), client()
assert a.set("lock:1", A, nx=True, px=40)
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
a.eval("return redis.call('del', KEYS[1])", 1, "lock:1", A)
assert c.set("lock:1", C, nx=True, px=20000)
assert b.eval(CAD, 1, "lock:1", B) == 0
"""),
])
def test_what_is_wrong_is_named(tmp_path, found, words, program):
    result, results = json_of(tmp_path, program)
    assert result.status == 1, result.out + result.err
    witness = violated(results)[found]["witness"]
    assert words in "\n".join(witness), witness
    plain = [note for note in results["notes"] if "plain DEL" in note]  # no note doubts what the verdict says
    assert len(plain) == program.count(".delete(") and all(
        note.startswith("1 of the releases was a plain DEL") and "the verdict says of a release that it removed another's" in note for note in plain), plain


@pytest.mark.parametrize(("who", "blamed"), [("client()", "unknown who"), ("a", "A")], ids=["over another connection", "over its own"])
def test_who_takes_away_an_expiry_is_blamed_for_it(tmp_path, who, blamed):
    """The grant had one. Over another connection it may be the holder or not: nobody is guessed."""
    result, results = json_of(tmp_path, f"""
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
assert {who}.persist("lock:1")
""")
    found = violated(results)
    assert result.status == 1 and found.keys() == {"always-expires"}, result.out + result.err
    witness = "\n".join(found["always-expires"]["witness"])
    assert f"No expiry in {blamed}." in witness and (blamed == "A" or f"{blamed} sent PERSIST lock:1" in witness), witness


def test_a_flush_is_blamed_on_nobody_unless_it_took_a_lock_that_was_used_on(tmp_path):
    tidy = """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
%s.flushall()
"""
    assert is_clean(*json_of(tmp_path, tidy % "a"))
    result, results = json_of(tmp_path, tidy % "b" + "assert a.eval(CAD, 1, 'lock:1', A) == 0")
    assert result.status == 1 and "FLUSHALL" in "\n".join(violated(results)["release-own"]["witness"])


def test_a_lock_that_ends_as_it_is_looked_at_was_not_taken_away(tmp_path):
    """Whoever polls gets it at the very instant at which it expires, again and again."""
    result, results = json_of(tmp_path, """
def poll(name):
    own = client()
    for i in range(7):
        while not own.set("lock:1", f"token-of-{name}-{i}", nx=True, px=60): pass
threads = [threading.Thread(target=poll, args=(name,)) for name in (A, B)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert not violated(results), result.out
    assert any("14 grants" in note for note in results["notes"]), results["notes"]


ASKS = {
    "a text": ("if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end return 0",
               "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"),
    # What it answers when it refuses is when the lock ends.
    "a hash": ("if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then redis.call('hincrby', KEYS[1], ARGV[1], 1) "
               "redis.call('pexpire', KEYS[1], ARGV[2]) return nil end return redis.call('pttl', KEYS[1])",
               "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end "
               "redis.call('del', KEYS[1]) return 1"),
}


@pytest.mark.parametrize("ask, release", ASKS.values(), ids=ASKS)
def test_refusals_by_a_script_are_seen(tmp_path, ask, release):
    """By one that has made a lock before: the same word of it is the token. What cannot run (no such script) was refused nothing."""
    program = f"""
ask, release = {ask!r}, {release!r}
one, other = client(), client()
assert one.eval(ask, 1, "lock:1", A, 20000) in (1, None)
""" + """
for _ in range(20): assert other.eval(ask, 1, "lock:1", B, 20000) not in (1, None)
assert one.eval(release, 1, "lock:1", A) == 1
assert other.eval(ask, 1, "lock:1", B, 20000) in (1, None) and other.eval(release, 1, "lock:1", B) == 1
"""
    result, results = json_of(tmp_path, program)
    row, = results["results"]
    assert result.status == 0 and row["verdict"] == "holds", result.out + result.err
    assert any("2 grants, 20 refusals, 2 releases" in note for note in results["notes"]), results["notes"]
    alone = re.sub(r"for _ in range.*", "try: other.evalsha('0' * 40, 1, 'lock:1', B, 20000)\nexcept redis.exceptions.NoScriptError: pass", program)
    result, results = json_of(tmp_path, alone)
    assert is_clean(result, results) and any("2 grants, 0 refusals, 2 releases" in note for note in results["notes"]), result.out + result.err


def test_a_grant_that_is_answered_when_its_lease_is_over_is_told(tmp_path):
    """The server is busy with a script for longer than the lease; the request for the lock stands behind it."""
    program = """
busy = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end local b = now() " \
       "repeat until now() - b > tonumber(ARGV[1]) return 1"
with client().pipeline(transaction=False) as pipe:
    pipe.eval(busy, 0, %d); pipe.set("lock:1", A, nx=True, px=60)
    assert pipe.execute() == [1, True]
"""
    result, results = json_of(tmp_path, program % 100)
    found, = [found for found in results["results"][0]["properties"] if found["property"] == "fresh-grant"]
    assert found["verdict"] == "unknown" and result.status == 2, result.out + result.err
    assert re.match(r'A was told "granted" at .* ms after the end of its own lease, which counts from its request', found["witness"][0]), found
    result, results = json_of(tmp_path, program.replace("px=60", "px=60000") % 100)
    assert is_clean(result, results) and {found["verdict"] for found in results["results"][0]["properties"] if found["property"] == "fresh-grant"} == {"holds"}


def test_a_plain_delete_that_met_no_race_is_told_of(tmp_path):
    """It may be another's lock that it removes, some day. Of a script that compares nothing is said."""
    plain = """
one = client()
for _ in range(3): assert one.set("lock:1", A, nx=True, px=20000) and one.delete("lock:1") == 1
"""
    result, results = json_of(tmp_path, plain)
    assert is_clean(result, results) and any(note.startswith("3 of the releases were a plain DEL") for note in results["notes"]), results["notes"]
    result, results = json_of(tmp_path, SCRIPTS)
    assert is_clean(result, results) and not any("plain DEL" in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("program, noted", [
    ("client().ping()", []),
    ("client().set('lock:1', A, nx=True, px=20000)", ["Order: 1 of them"]),
    ("client().set('lock:1', A, px=20000); client().delete('lock:1')", ["They went"])], ids=["nothing", "what travels", "what is looked at"])
def test_notes_of_nothing_are_left_out(tmp_path, program, noted):
    result, results = json_of(tmp_path, program)
    told = [" ".join(note.split()[:4]) for note in results["notes"] if note.startswith(("Order: ", "The others went", "They went"))]
    assert [one.startswith(wanted) for one, wanted in zip(told, noted, strict=True)] == len(noted) * [True], (results["notes"], result.out)


def test_a_delete_that_watch_guards_is_no_plain_one(tmp_path):
    """The transaction does nothing where the lock has changed since it was read. Without WATCH, or behind UNWATCH, it removes whatever is there."""
    program = """
one = client()
def release(guard):
    assert one.set("lock:1", A, nx=True, px=20000)
    with one.pipeline() as pipe:
        guard(pipe); pipe.multi(); pipe.delete("lock:1"); assert pipe.execute() == [1]
def watched(pipe): pipe.watch("lock:1"); assert pipe.get("lock:1") == A.encode()
def unwatched(pipe): pipe.watch("lock:1"); pipe.unwatch()
release(watched); release(watched)
"""
    result, results = json_of(tmp_path, program)
    assert is_clean(result, results) and not any("plain DEL" in note for note in results["notes"]), results["notes"]
    result, results = json_of(tmp_path, program + "release(unwatched); release(lambda pipe: None)")
    assert is_clean(result, results) and any(note.startswith("2 of the releases were a plain DEL") for note in results["notes"]), results["notes"]


SCRIPTS = """
one = client()
mine = "local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1"
near = CAD.replace("== ARGV[1]", "~= ARGV[1]")
digest = one.script_load(mine)
for script in (CAD, CAD.replace("'", '"').replace(" ", "  "), mine):
    assert one.set("lock:1", A, nx=True, px=20000)
    assert one.eval(script, 1, "lock:1", B) == 0 and one.eval(script, 1, "lock:1", A) == 1
assert one.set("lock:1", A, nx=True, px=20000) and one.evalsha(digest, 1, "lock:1", A) == 1
"""


def test_the_usual_scripts_of_a_release_are_known_and_their_like_are_not(tmp_path):
    """Two thirds of a right one may be a wrong one: it deletes what is another's, and is looked at."""
    result, results = json_of(tmp_path, SCRIPTS)
    assert is_clean(result, results), result.out + result.err
    assert any("Order: 11 of them" in note for note in results["notes"]), results["notes"]  # 4 grants, 7 scripts
    assert any("4 grants" in note and "4 releases" in note for note in results["notes"]), results["notes"]
    result, results = json_of(tmp_path, SCRIPTS + """
assert one.set("lock:1", A, nx=True, px=40)
while one.exists("lock:1"): time.sleep(0.005)
assert one.set("lock:1", B, nx=True, px=20000)
assert one.eval(CAD, 1, "lock:1", A) == 0 and one.eval(near, 1, "lock:1", A) == 1
""")
    assert result.status == 1 and "A sent EVAL" in "\n".join(violated(results)["release-own"]["witness"]), result.out


FENCES = """
one = client()
for token in (A, B):
    assert one.set("lock:1", token, nx=True, px=20000) and one.eval(CAD, 1, "lock:1", token) == 1
"""


@pytest.mark.parametrize(("program", "words"), [
    ("one.set('data:fence', 33); one.set('data:fence', 34); one.set('data:fence', 33)", "carries the fence 33, and the resource, which had accepted 34"),
    ("for n in (33, 34, 33): one.hset('data:fence', mapping={'fence': n, 'what': 'is written'})", "had accepted 34"),
    ("one.incr('data:fence'); one.incr('data:fence'); one.decr('data:fence')", "had accepted 2"),
    ("one.eval('redis.call(\"SET\", KEYS[1], ARGV[1])', 1, 'data:fence', 9); one.pipeline().set('data:fence', 8).execute()",
     "had accepted 9"),
])
def test_a_stale_fenced_write_is_told(tmp_path, program, words):
    result, results = json_of(tmp_path, FENCES + program, "--fence-key", "data:fence")
    assert result.status == 1, result.out + result.err
    witness = "\n".join(violated(results)["fence-order"]["witness"])
    assert words in witness and "unknown who sent" in witness, witness


def test_fences_that_grow_are_silent_and_one_that_begins_anew_is_noted(tmp_path):
    """The same again, and with what is no number, is no step back."""
    grows = FENCES + "for n in (1, 2, 2, 10, 9223372036854775807): one.set('data:fence', n)\n"
    result, results = json_of(tmp_path, grows, "--fence-key", "data:fence")
    assert is_clean(result, results), result.out + result.err
    assert any("4 writes changed a fence in a key like data:fence; 0 began" in note for note in results["notes"]), results["notes"]
    gone = FENCES + "one.set('data:fence', 7); one.delete('data:fence'); one.set('data:fence', 3)"
    notes = json_of(tmp_path, gone, "--fence-key", "data:*")[1]["notes"]
    assert any("began the fence in data:fence anew with 3: it had been 7" in note for note in notes), notes


@pytest.mark.parametrize(("program", "words"), [
    ("one.set('data:fence', 7); one.set('data:fence', 'seven'); one.set('data:fence', 5)", "wrote what is no whole number into data:fence"),
    ("one.set('data:fence', '{\"fence\": 9}'); one.set('data:fence', '{\"fence\": 8}')", "wrote what is no whole number"),
    ("one.hset('data:fence', 'fence', 7); one.hset('data:fence', 'fence', 'v6')", "wrote what is no whole number"),
    ("one.set('data:fence', 2**64); one.set('data:fence', 2**63)", "wrote what is no whole number"),
    ("one.incr('data:fence'); one.incrbyfloat('data:fence', 0.5)", "wrote what is no whole number"),
    ("one.eval('redis.call(\"SET\", \"data:\" .. \"fence\", \"v7\")', 0); one.set('data:fence', 5)", "over a word"),
    ("one.set('data:fence', 7); one.eval('redis.call(\"SET\", \"data:\" .. \"fence\", \"v7\")', 0); one.get('data:fence')",
     "data:fence was found with a word, and had been left with 7"),
], ids=["a number before and behind", "JSON", "a hash", "too large", "a fraction", "a number over it", "unseen"])
def test_fences_that_are_no_numbers_are_unknown_and_never_stale(tmp_path, program, words):
    result, results = json_of(tmp_path, FENCES + program, "--fence-key", "data:fence")
    assert result.status == 2 and not violated(results) and words in told(result), result.out + result.err


def test_what_is_stale_stays_so_beside_a_fence_that_is_no_number(tmp_path):
    """And what carries no fence, or is deleted, is no word."""
    stale = "one.set('data:fence', 'seven'); one.set('data:fence', 9); one.set('data:fence', 8)"
    result, results = json_of(tmp_path, FENCES + stale, "--fence-key", "data:fence")
    assert result.status == 1 and list(violated(results)) == ["fence-order"], result.out + result.err
    plain = "for fence in (3, 4): one.hset('data:1', 'what', fence); one.hset('data:1', 'fence', fence); one.sadd('data:2', fence)\n" \
            "one.hdel('data:1', 'fence'); one.hset('data:1', 'fence', 2); one.get('data:1:none')"
    result, results = json_of(tmp_path, FENCES + plain, "--fence-key", "data:*")
    assert is_clean(result, results), result.out + result.err
    assert any("began the fence in data:1 anew with 2: it had been 4" in note for note in results["notes"]), results["notes"]


def test_keys_of_fences_that_nobody_wrote_change_no_verdict(tmp_path):
    """Locks without fences, beside a --fence-key that names nothing."""
    result, results = json_of(tmp_path, """
one, other = client(), client()
assert one.set("lock:1", A, nx=True, px=20000) and not other.set("lock:1", B, nx=True, px=20000)
assert one.eval(CAD, 1, "lock:1", A) == 1
""", "--fence-key", "data:*:fence")
    row, = results["results"]
    assert result.status == 0 and row["verdict"] == "holds", result.out + result.err
    assert any(note.startswith("0 writes changed a fence") for note in results["notes"]), results["notes"]


def test_tokens_are_nowhere_in_clear(tmp_path):
    """Neither in reports nor in the history; and the same token has another digest in another run."""
    program = f"""
{FENCES}
other = client()
assert one.set("lock:1", A, nx=True, px=20000) and not other.set("lock:1", C, nx=True, px=20000)
other.delete("lock:1")
assert one.eval(CAD, 1, "lock:1", A) == 0
"""
    seen = []
    for number in "12":
        result, results = json_of(tmp_path, program)
        folder = tmp_path / "runs" / "latest"
        assert result.status == 1 and violated(results)["release-own"]
        history = (folder / "histories" / "watch.jsonl").read_text()
        seen.append(set(re.findall(r'"#[0-9a-f]{16}"', history)))
        written = result.out + result.err + "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
        assert "token-of-client" not in written
    assert seen[0] and not seen[0] & seen[1], seen


def test_what_nobody_can_tell_is_unknown(tmp_path):
    """One connection, two that were granted the lock, and a DEL without a token."""
    result = watch(tmp_path, """
only = client()
assert only.set("lock:1", A, nx=True, px=40)
while only.exists("lock:1"): time.sleep(0.005)
assert only.set("lock:1", B, nx=True, px=20000)
only.delete("lock:1")
""")
    assert result.status == 2 and "nobody can tell" in told(result), result.out + result.err


@pytest.mark.parametrize(("command", "did"), [("delete('lock:1')", "released"), ("pexpire('lock:1', 30000)", "extended")])
def test_a_pool_that_hands_its_holder_another_connection_is_no_violation(tmp_path, command, did):
    """That of a lease which has lapsed: the command names no token, and may be the holder's own."""
    result, results = json_of(tmp_path, """
one, other = client(), client()
assert one.set("lock:1", A, nx=True, px=40)
while other.exists("lock:1"): time.sleep(0.005)
assert other.set("lock:1", B, nx=True, px=20000)
assert one.%s == 1
""" % command)
    assert result.status == 2 and not violated(results), result.out + result.err
    assert f"whether B {did} its own lock by it, or A, over whose connection it came, and that had been granted it" in told(result)
    assert "names no token, so unknown who sent it" in told(result)


def test_what_nobody_could_tell_is_told_once_the_holder_comes_back(tmp_path):
    """It uses its lock on: the DEL was another's, and nothing is open."""
    result, results = json_of(tmp_path, """
one, other = client(), client()
assert one.set("lock:1", A, nx=True, px=40)
while other.exists("lock:1"): time.sleep(0.005)
assert other.set("lock:1", B, nx=True, px=20000)
assert one.delete("lock:1") == 1 and other.eval(CAD, 1, "lock:1", B) == 0
""")
    assert result.status == 1 and "unknown who sent DEL" in "\n".join(violated(results)["release-own"]["witness"])
    assert "nobody can tell" not in told(result), result.err


OVERWRITES = """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=20000)
b.eval("return redis.call('set', KEYS[1], ARGV[1], 'PX', 20000)", 1, "lock:1", B)
"""


def test_a_script_that_overwrote_a_lock_is_open_where_the_first_value_is_used_again(tmp_path):
    """Was it its holder's renewal? Whoever uses the first value knows nothing of it."""
    result, results = json_of(tmp_path, OVERWRITES + """
assert a.eval(CAD, 1, "lock:1", A) == 0
""")
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "whether A had replaced it, or another one had overwritten its lock, nobody can tell" in told(result)
    result, results = json_of(tmp_path, OVERWRITES + """
assert b.eval(CAD, 1, "lock:1", B) == 1
assert not a.set("lock:1", A, nx=True, px=20000) is None
""")
    assert is_clean(result, results), result.out + result.err


def test_a_script_of_another_process_that_overwrote_a_lock_is_named(tmp_path):
    """Its holder's it cannot be."""
    result, results = json_of(tmp_path, """
import subprocess
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
subprocess.run([sys.executable, "-c", '''
import os, redis
b = redis.Redis.from_url(os.environ["REDIS_URL"])
b.eval("return redis.call('set', KEYS[1], ARGV[1], 'PX', 20000)", 1, "lock:1", "token-of-the-other")
'''], check=True)
assert a.eval(CAD, 1, "lock:1", A) == 0
""")
    assert result.status == 1 and "overwrote A's lock" in "\n".join(violated(results)["extend-own"]["witness"]), result.out + result.err


def test_another_process_is_named(tmp_path):
    """Pools do not reach across processes: a DEL of another one is no release of the owner's."""
    result, results = json_of(tmp_path, """
import subprocess
late = subprocess.Popen([sys.executable, "-c", '''
import os, redis, sys
late = redis.Redis.from_url(os.environ["REDIS_URL"])
assert late.set("lock:1", "token-of-the-late-one", nx=True, px=40)
print("has it", flush=True); sys.stdin.readline()
late.delete("lock:1")
'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
late.stdout.readline()
b = client()
while b.exists("lock:1"): time.sleep(0.005)
assert b.set("lock:1", B, nx=True, px=20000)
late.communicate("go on")
assert late.returncode == 0
""")
    assert result.status == 1, result.out + result.err
    assert "A sent DEL lock:1" in "\n".join(violated(results)["release-own"]["witness"])


def test_a_change_past_the_proxy_is_no_verdict(tmp_path):
    """A script that does not name the key that it deletes."""
    result = watch(tmp_path, """
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
a.eval("return redis.call('del', 'lock' .. ':1')", 0)
assert a.set("lock:1", B, nx=True, px=20000)
a.eval(CAD, 1, "lock:1", B)
""")
    assert result.status == 2, result.out + result.err


@pytest.mark.parametrize("last, status", [
    ("a.eval(\"return redis.call('del', 'lock' .. ':1')\", 0)", 2),  # names no key, and nobody comes behind it
    ("a.eval(\"return redis.call('set', 'lock' .. ':1', 'x')\", 0)", 2),
    ("a.eval(\"return redis.call('get', 'lock' .. ':1')\", 0)", 0),
    ("a.pexpire('lock:1', 30000)", 0),  # it ends later than it was taken for
    ("a.eval(CAD, 1, 'lock:1', A); a.eval(\"return redis.call('del', 'lock' .. ':1')\", 0)", 0),  # was given back
], ids=["deleted", "set", "read", "longer", "given back"])
def test_a_lock_is_looked_at_in_the_end(tmp_path, last, status):
    result = watch(tmp_path, f"""
b = client()
assert b.set("lock:2", B, nx=True, px=20000) and not client().set("lock:2", C, nx=True, px=20000)
a = client()
assert a.set("lock:1", A, nx=True, px=20000)
{last}
assert b.eval(CAD, 1, "lock:2", B) == 1
""")
    is_told = any(words in told(result) for words in ("in the end 'lock:1'", "'lock:1' had another value"))
    assert result.status == status and is_told == (status == 2), result.out + result.err
