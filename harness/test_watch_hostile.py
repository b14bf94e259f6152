"""`picklock watch`: clients that do what no library does. What cannot be followed is unknown, with the reason, and holds up nobody."""

import contextlib
import re
import subprocess

import pytest
from conftest import PICKLOCK, server
from watching import json_of, told, violated, watch

# Connections on which anything can be said.
RAW = """
import socket, urllib.parse
at = urllib.parse.urlparse(os.environ["REDIS_URL"])
def words(*all): return b"".join([b"*%d\\r\\n" % len(all), *(b"$%d\\r\\n%s\\r\\n" % (len(w), w) for w in (str(w).encode() for w in all))])
class Raw:
    def __init__(self):
        self.socket = socket.create_connection((at.hostname, at.port), timeout=30)
        self.lines = self.socket.makefile("rb")
    def sends(self, *commands): self.socket.sendall(b"".join(c if isinstance(c, bytes) else words(*c) for c in commands))
    def hears(self): return self.lines.readline().strip()
    def says(self, *command):
        self.sends(command)
        return self.hears()
def takes(one, token): return one.says("SET", "lock:1", token, "NX", "PX", 20000) == b"+OK"
def gives(one, token): return one.says("EVAL", CAD, 1, "lock:1", token) == b":1"
one, other = Raw(), Raw()
"""


def holds(results):
    row, = results["results"]
    return [found["property"] for found in row["properties"] if found["verdict"] == "holds"]


@pytest.mark.parametrize(("program", "reason"), [
    # More is lost of a lock than is seen.
    ("takes(one, A), other.says('EVAL', \"return redis.call('pexpire', 'lo' .. 'ck:1', 90000)\", 0), gives(one, A)", "when 'lock:1' ends was changed"),
    ("takes(one, A), other.says('EVAL', \"return redis.call('persist', 'lo' .. 'ck:1')\", 0)", "when 'lock:1' ends was changed"),
    ("""one.sends(["SET", "lock:1", A, "NX", "PX", 90], ["EVAL", "return redis.call('persist', 'lo' .. 'ck:1')", 0])
while one.hears() != b":1": pass
until = time.monotonic() + 0.2
while time.monotonic() < until: takes(other, B)""", "was refused 'lock:1' when its lease was over"),
    ("takes(one, A), other.says('SWAPDB', 0, 3)", "SWAPDB exchanged a database in which 'lock:1' was locked"),
    # It is not seen which key, or of which database.
    ("takes(one, A), other.sends(b'del \"lock:2\"\\n'), other.hears()", "DEL came inline, with words in quotes"),
    ("other.sends(['MULTI'], ['SELECT', 3], ['SET', 'lock:1', B], ['EXEC']), takes(one, A)", "SELECT in a transaction"),
    ("other.sends(['SUBSCRIBE', 'news'], ['SELECT', 3], ['DEL', 'lock:1'], ['PING', 'end'])\nwhile other.hears() != b'end': pass\ntakes(one, A)",
     "SELECT was refused, and commands"),
    ("other.sends(['CLIENT', 'REPLY', 'SKIP'], ['SELECT', 3]), takes(one, A)", "SELECT was sent by a client that wants no reply"),
    # Its reply never comes, while it is with the server.
    ("""takes(one, A)
killer = client(); killer.execute_command("CLIENT", "KILL", "ID", int(other.says("CLIENT", "ID")[1:]))
other.sends(["DEL", "lock:1"]); one.says("GET", "lock:1")""", "a command was not answered"),
    ("""client().set("large", "x" * 2000000); other.sends(*[["GET", "large"]] * 8, ["GET", "lock:1"])
while not takes(one, A): pass
one.says("GET", "lock:1")""", "a command was not answered"),
], ids=["a script lengthens", "a script that was the last", "a script, and it stays", "swapdb", "quotes", "select in multi", "select refused",
        "select muted", "killed, and stays", "does not read"])
def test_what_cannot_be_followed_is_unknown(tmp_path, program, reason):
    result, results = json_of(tmp_path, RAW + program)
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert reason in told(result), result.err


def test_what_can_be_followed_is_judged(tmp_path):
    """A database that is refused, or is another one; what is sent behind QUIT; scripts, transactions and flushes that touch no lock."""
    result, results = json_of(tmp_path, RAW + """
assert takes(one, A) and one.says("EVAL", "return redis.call('set', 'x', 'y')", 0) == b"+OK" and one.says("PEXPIRE", "lock:1", 30000) == b":1"
assert other.says("SELECT", 99)[:4] == b"-ERR" and not takes(other, B)
assert other.says("SELECT", 3) == b"+OK" and takes(other, B)
assert other.says("MOVE", "no:lock", 0) == b":0" and one.says("SWAPDB", 5, 6) == b"+OK"
other.sends(["MULTI"], ["SET", "x", "y"], ["EXEC"]); assert [other.hears() for _ in range(4)] == [b"+OK", b"+QUEUED", b"*1", b"+OK"]
assert gives(one, A) and gives(other, B) and other.says("RESET") == b"+RESET"
assert takes(one, A) and not takes(other, B) and gives(one, A)
third = Raw(); third.sends(["SET", "lock:1", C, "NX", "PX", 20000], ["QUIT"], ["DEL", "lock:1"]); assert third.hears() == third.hears() == b"+OK"
assert not takes(one, A) and one.says("GET", "lock:1") == b"$17"
""")
    assert result.status == 0 and not violated(results) and "lease-exclusion" in holds(results), result.out + result.err


def test_a_flush_in_a_transaction_and_a_copy_take_locks_away(tmp_path):
    result, results = json_of(tmp_path, RAW + """
assert takes(one, A) and other.says("SELECT", 3) == b"+OK" and takes(other, B)
assert one.says("COPY", "lock:1", "lock:1", "DB", 3, "REPLACE") == b":1" and not gives(other, B)
""")
    assert result.status == 1 and "it overwrote" in "\n".join(violated(results)["extend-own"]["witness"]), result.out
    result, results = json_of(tmp_path, RAW + """
assert takes(one, A) and not takes(other, B)
other.sends(["MULTI"], ["FLUSHALL"], ["EXEC"]); assert [other.hears() for _ in range(4)] == [b"+OK", b"+QUEUED", b"*1", b"+OK"]
assert takes(other, B) and not gives(one, A)
""")
    assert result.status == 1 and "release-own" in violated(results), result.out


@contextlib.contextmanager
def between(tmp_path, rules):
    """A server that is somebody else's, behind a proxy with rules of its own: their ports."""
    (tmp_path / "rules").write_text(rules + "\n")
    with server() as port, subprocess.Popen([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{port}", "--rules", tmp_path / "rules", "--log",
                                             tmp_path / "log"], stdout=subprocess.PIPE, text=True) as proxy:
        try:
            yield port, int(proxy.stdout.readline())
        finally:
            proxy.terminate()


def behind_rules(tmp_path, rules, program):
    with between(tmp_path, rules) as (direct, port):
        names = f"DIRECT, BETWEEN, LOG = {direct}, {port}, {str(tmp_path / 'log')!r}\n"
        return json_of(tmp_path, RAW + names + program, "--redis", f"redis://127.0.0.1:{port}")


OTHERWISE = "was answered otherwise than its key shows"


@pytest.mark.parametrize(("rule", "program", "reason"), [
    ('command=SET nth=2 after -> answer "+OK"', "assert takes(one, A) and takes(other, B)", OTHERWISE),
    ('command=SET nth=2 after -> answer "$-1"', """assert takes(one, C) and gives(one, C)
assert not takes(one, A) and not takes(other, B)""", OTHERWISE),
    ('command=SETNX nth=1 after -> answer ":0"', "assert one.says('SETNX', 'lock:1', A) == b':0' and not takes(other, B)", OTHERWISE),
    ('command=SET nth=2 -> answer "$-1"', "assert takes(one, C) and gives(one, C) and not takes(one, A) and takes(other, B)", OTHERWISE),
    ('command=EVAL nth=1 -> answer ":1"', "assert takes(one, A) and gives(one, A) and not takes(other, B)", OTHERWISE),
    ('command=EVAL nth=1 -> answer ":0"', "assert takes(one, A) and not takes(other, B) and not gives(one, A)", OTHERWISE),
    ('command=EVAL nth=1 after -> answer ":0"', "assert takes(one, A) and not takes(other, B) and not gives(one, A) and takes(other, B)",
     "was found gone before its time"),
    ('command=EVAL nth=1 -> answer "+OK"', "assert takes(one, A) and not takes(other, B) and one.says('EVAL', CAD, 1, 'lock:1', A) == b'+OK'", OTHERWISE),
    ('command=EVAL nth=1 after -> answer ":2"', "assert takes(one, A) and not takes(other, B) and one.says('EVAL', CAD, 1, 'lock:1', A) == b':2'", OTHERWISE),
    ('command=EVALSHA nth=1 -> answer ":1"', """sha = client().script_load(CAD)
assert takes(one, A) and one.says("EVALSHA", sha, 1, "lock:1", A) == b":1" and not takes(other, B)""", OTHERWISE),
], ids=["granted, and is not", "refused, and is not", "the same of SETNX", "refused by nobody", "released, and is not", "not released",
        "released, and denied", "no answer of its", "no number of its", "by its digest"])
def test_an_answer_that_the_key_contradicts_is_unknown(tmp_path, rule, program, reason):
    """Somebody stands between watch and the server, and answers himself, behind the command (after) or in its place."""
    result, results = behind_rules(tmp_path, "lie: " + rule, program)
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert reason in told(result), result.err


# What somebody changes past the proxy while a command is on its way: behind watch it is held until that is done.
EXTEND = 'EXTEND = CAD.replace("\'del\', KEYS[1]", "\'pexpire\', KEYS[1], ARGV[2]")\n'
PAST = """
assert takes(one, A) and not takes(other, B)
other.sends(%s)
while '"fault"' not in open(LOG).read(): pass
assert redis.Redis(port=DIRECT).%s and redis.Redis(port=BETWEEN).echo("gone")
assert other.hears() == %r
"""


@pytest.mark.parametrize(("command", "answer"), [
    ('["SET", "lock:1", B, "NX", "PX", 20000]', b"+OK"), ('["SETNX", "lock:1", B]', b":1"), ('["SET", "lock:1", A, "NX", "PX", 30000]', b"+OK"),
    ('["EVAL", CAD, 1, "lock:1", B]', b":0"), ('["EVAL", CAD, 1, "lock:1", A]', b":0"),
], ids=["SET NX", "SETNX", "SET NX of its own", "another's release", "its own release"])
def test_what_a_command_cannot_have_taken_away_is_nobodys_doing(tmp_path, command, answer):
    name = command.split('"')[1]
    rules = f'wait: command={name} nth={3 if name == "SET" else 1} -> hold until=gone\ngo: command=ECHO -> release gone'
    result, results = behind_rules(tmp_path, rules, PAST % (command, 'delete("lock:1")', answer))
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert "was found gone before its time" in told(result), result.err


@pytest.mark.parametrize(("command", "change", "answer"), [
    ('["EVAL", CAD, 1, "lock:1", B]', 'persist("lock:1")', b":0"), ('["EVAL", CAD, 1, "lock:1", A]', 'set("lock:1", C, px=30000)', b":0"),
    ('["PEXPIRE", "lock:1", 30000]', 'set("lock:1", C, px=30000)', b":1"), ('["EVAL", EXTEND, 1, "lock:1", B, 30000]', 'pexpire("lock:1", 5000)', b":0"),
    ('["EVAL", EXTEND, 1, "lock:1", A, 30000]', 'set("lock:1", C)', b":0"),
], ids=["another's release", "its own release", "its own lease", "another's script", "its own script"])
def test_what_a_command_cannot_have_changed_is_nobodys_doing(tmp_path, command, change, answer):
    rules = f'wait: command={command.split(chr(34))[1]} nth=1 -> hold until=gone\ngo: command=ECHO -> release gone'
    result, results = behind_rules(tmp_path, rules, EXTEND + PAST % (command, change, answer))
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert "which cannot do that" in told(result), result.err


def test_a_server_between_that_tells_the_truth_is_judged(tmp_path):
    result, results = behind_rules(tmp_path, "wait: command=EVAL -> delay 5ms", EXTEND + """
sha = client().script_load(CAD)
for token in A, C, A:
    assert takes(one, token) and not takes(other, B) and not gives(other, B) and gives(one, token) and not gives(one, token)
    assert takes(other, token) and other.says("EVALSHA", sha, 1, "lock:1", B) == b":0" and other.says("EVALSHA", sha, 1, "lock:1", token) == b":1"
assert takes(one, A) and not takes(other, B) and other.says("EVAL", EXTEND, 1, "lock:1", B, 9) == b":0"
assert one.says("EVAL", EXTEND, 1, "lock:1", A, 9000) == b":1" and gives(one, A)
assert takes(one, A) and one.says("EVAL", EXTEND, 1, "lock:1", A, 1) == b":1"
assert one.says("SET", "lock:3", A, "NX", "PX", 500) == b"+OK"
while other.says("SET", "lock:3", B, "NX", "PX", 20000) != b"+OK": pass
assert one.says("EVAL", CAD, 1, "lock:3", A) == b":0" and other.says("EVAL", CAD, 1, "lock:3", B) == b":1"
""")
    assert result.status == 0 and set(violated(results)) <= {"mutual-exclusion"}, result.out + result.err  # who asks behind its lease overran it
    assert "lease-exclusion" in holds(results), result.out + result.err


@pytest.mark.parametrize(("command", "answer"), [
    *(("TIME", answer) for answer in ("$-1", ":5", "+OK", "*0", "*2\\r\\n$-1\\r\\n$1\\r\\n5", "*2\\r\\n:5\\r\\n:6", "*2\\r\\n$3\\r\\nabc\\r\\n$1\\r\\n5")),
    ("INFO", ":1"), ("INFO", "*0"),
])
def test_a_server_that_says_no_time_is_refused(tmp_path, command, answer):
    with between(tmp_path, f'lie: command={command} -> answer "{answer}"') as (_, port):
        result = watch(tmp_path, "", "--redis", f"redis://127.0.0.1:{port}")
    assert result.status == 69 and command in result.err, (result.status, result.err)


@pytest.mark.parametrize(("command", "answer"), [
    ("TYPE", ":1"), ("TYPE", "$-1"), ("PEXPIRETIME", "$-1"), ("PEXPIRETIME", ":-5"), ("PEXPIRETIME", "*0"), ("PEXPIRETIME", ":-2"), ("PEXPIRETIME", ":0"),
    ("GET", ":7"),
    ("TIME", "*2\\r\\n$-1\\r\\n$-1")])
def test_a_look_that_is_answered_with_nonsense_is_unknown(tmp_path, command, answer):
    result, results = behind_rules(tmp_path, f'lie: command={command} beyond=1 -> answer "{answer}"',
                                   "assert takes(one, A); takes(other, B); assert gives(one, A)")
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert "could not be looked at: it answers" in told(result), result.err


def test_memory_does_not_grow_with_requests_that_stood_in_line(tmp_path):
    """Inline ones stand in line; those of several connections behind each other."""
    result, results = json_of(tmp_path, RAW + """
def kilobytes():
    with open(f"/proc/{os.getppid()}/status") as status: return int([line for line in status if line.startswith("VmRSS")][0].split()[1])
all = [Raw() for _ in range(8)]
def ask(times):
    for each in all: each.sends(b"set lock:1 token-of-client-A nx px 20000\\r\\n" * times)
    for each in all:
        for _ in range(times): each.hears()
assert takes(one, A) and not takes(other, B)
ask(500); before = kilobytes(); ask(500)
assert kilobytes() - before < 4000, kilobytes() - before
""")
    assert result.status == 0 and not violated(results), result.out + result.err


def longest_wait_ms(results):
    note, = [note for note in results["notes"] if "stood behind others" in note]
    return float(re.search(r"at most ([0-9.]+) ms", note)[1])


# Its reply stays away, or it comes to the server when all is over; the connection stays.
MUTE = "mute: command=%s -> hold until=gone\ngo: command=ECHO -> release gone"
RELEASED = """
assert takes(one, A) and not takes(other, B)
one.sends(["EVAL", CAD, 1, "lock:1", A])
while '"fault"' not in open(LOG).read(): pass
"""
FREED = """
assert takes(other, B) and not takes(Raw(), C) and gives(other, B)
"""
LATE = """
assert redis.Redis(port=BETWEEN).echo("gone") and one.hears() == b":1"
assert takes(one, C) and not takes(other, B) and gives(one, C)
"""


@pytest.mark.parametrize(("rule", "releases", "program"), [
    ("EVAL nth=1 after", 2, RELEASED + FREED),
    ("EVAL nth=1 after", 2, RELEASED + FREED + LATE),
    ("EVAL nth=1", 0, RELEASED + "assert not takes(other, B)" + LATE),
    ("SET nth=2 after", 3, """
assert takes(one, C) and gives(one, C)
one.sends(["SET", "lock:1", A, "NX", "PX", 20000])
while '"fault"' not in open(LOG).read(): pass
assert not takes(other, B) and gives(Raw(), A) and takes(other, B) and gives(other, B)
"""),
], ids=["a release", "a release that is heard later", "a release that is executed later", "a grant"])
def test_who_is_never_answered_holds_the_others_back_for_a_time(tmp_path, rule, releases, program):
    """They go on, and nothing holds then; nobody is blamed for what was not seen. What it had done by then is told. The figure of the note counts all."""
    result, results = behind_rules(tmp_path, MUTE % rule, program)
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err
    assert f"{rule.split()[0]} was not answered for 5 s, and others stood in line" in told(result), result.err
    assert longest_wait_ms(results) >= 3000 and f" {releases} releases." in results["notes"][0], results["notes"]


def test_behind_the_first_that_is_never_answered_the_others_are_waited_for_much_less(tmp_path):
    """Six of them: 5 s, and 0.2 s for each of the others."""
    result, results = behind_rules(tmp_path, MUTE % "SET after", """
many = []
for i in range(6):
    many.append(Raw())
    many[-1].sends(["SET", f"lock:{i + 2}", A, "NX", "PX", 20000])
while '"fault"' not in open(LOG).read(): pass
began = time.monotonic()
assert not gives(other, A) and time.monotonic() - began < 15
""")
    assert result.status == 2 and not holds(results) and 5000 <= longest_wait_ms(results) < 15000, result.out + result.err


def test_who_stands_in_line_to_the_end_is_counted(tmp_path):
    result, results = behind_rules(tmp_path, MUTE % "EVAL nth=1 after", RELEASED + """
other.sends(["GET", "lock:1"])
time.sleep(1)
""")
    assert result.status == 0 and "lease-exclusion" in holds(results), result.out + result.err
    assert 1000 <= longest_wait_ms(results) < 5000, results["notes"]


def test_who_is_answered_late_is_judged(tmp_path):
    result, results = behind_rules(tmp_path, "slow: command=EVAL nth=1 -> delay 2s", RELEASED + """
assert takes(other, B) and one.hears() == b":1" and not takes(one, A) and gives(other, B)
""")
    assert result.status == 0 and not violated(results) and "lease-exclusion" in holds(results), result.out + result.err
    assert 1500 <= longest_wait_ms(results) < 5000, results["notes"]


def test_what_a_connection_that_was_given_up_may_have_done_is_nobodys_doing(tmp_path):
    """A script that takes the lock away and says nothing, and a DEL over that connection before it."""
    result, results = behind_rules(tmp_path, "mute: command=PEXPIRE nth=1 after -> hold until=never\n"
                                             "wait: command=EVAL nth=1 -> hold until=gone\ngo: command=ECHO -> release gone", """
def child(does):
    if not (pid := os.fork()): does(Raw()); os._exit(0)
    return pid
def faults(): return open(LOG).read().count('"fault"')
def strikes(own):
    assert not takes(own, B)
    own.sends(["EVAL", "redis.call('del', KEYS[1])", 1, "lock:1"])
    assert own.hears() == b"$-1"
os.waitpid(child(lambda own: takes(own, A)), 0)
other.sends(["PEXPIRE", "lock:1", 30000])
while not faults(): pass
assert one.says("EXISTS", "lock:1") == b":1"
pid = child(strikes)
while faults() < 2: pass
other.sends(["DEL", "lock:1"])
while one.says("DBSIZE") != b":0": pass
assert one.says("ECHO", "gone") == b"$4" and os.waitpid(pid, 0)[1] == 0
""")
    assert result.status == 2 and not holds(results) and not violated(results), result.out + result.err


def test_a_reply_that_the_end_cuts_off_is_judged(tmp_path):
    """Whose connection it was is asked for then, when nobody can connect any more."""
    result, results = behind_rules(tmp_path, MUTE % "SET after", """
one.sends(["SET", "lock:1", A, "NX", "PX", 20000])
while '"fault"' not in open(LOG).read(): pass
if os.fork() == 0:
    for stream in (0, 1, 2): os.close(stream)
    one.hears()
os._exit(0)
""")
    assert result.status == 2 and violated(results).keys() <= {"no-orphan"}, result.out + result.err  # it is left behind
    assert any("outlived the command" in note for note in results["notes"]), results["notes"]
