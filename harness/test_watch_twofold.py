"""`picklock watch`: one token with which two processes ask for a lock. They are not proved to be one client: nothing holds then, and nobody is blamed."""

import re

import pytest
from test_watch_refused import PROCESSES, verdicts
from watching import is_clean, json_of, told, violated

REFUSED = PROCESSES + """
EXTENDS = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"
third = client()
third.set("lock:1", B, nx=True, px=20000)
assert not takes(other, A) and third.eval(CAD, 1, "lock:1", B) == 1 and takes(one, A)
"""
OWN = "for _ in range(2): assert takes(one, A) and not takes(other, B) and gives_back(one, A)\n"  # somebody contends


@pytest.mark.parametrize(("program", "said"), [
    ("assert takes(one, A) and not takes(other, A) and gives_back(one, A)", "asks for the lock with the token of A, which has it"),
    # Both hold it then, within their leases, once the first one has removed the other's key and taken the lock again.
    ("""
assert takes(one, A, 20)
while client().exists("lock:1"): pass
assert takes(other, A) and gives_back(one, A) and takes(one, A)
gives_back(one, A)""", "is granted the lock with the token of A, which has not released it"),
    (REFUSED + "assert gives_back(other, A)", "has asked for the lock itself, and names the token of A, which was granted it"),
    (REFUSED + """assert other.does(f"own.eval({EXTENDS!r}, 1, 'lock:1', '{A}', 90000)") == '1' and gives_back(one, A)""",
     "has asked for the lock itself, and names the token of A, which was granted it"),
    ("assert takes(one, A) and not takes(other, B) and gives_back(other, A)", "has asked for the lock itself, and names the token of A, which was granted it"),
    ("""
parent = client()
assert parent.set("lock:1", A, nx=True, px=20000) and not takes(one, A) and parent.eval(CAD, 1, "lock:1", A)""",
     "asks for the lock with the token of A, which has it"),
], ids=["refused by itself", "granted, and not released", "releases", "extends", "refused with another token", "parent and child"])
def test_two_processes_are_not_one_client(tmp_path, program, said):
    result, results = json_of(tmp_path, PROCESSES + OWN + program)
    assert result.status == 2 and not violated(results), result.out + result.err
    assert "holds" not in verdicts(results).values(), result.out
    assert re.search(rf"python3\S*\[\d+\] {said}, in another process \(python3\S*\[\d+\]\): whether both are one client, nobody can tell", told(result)), result.err


INHERITED = """
import socket
host, port = client().connection_pool.connection_kwargs["host"], client().connection_pool.connection_kwargs["port"]
def ask(at, *words):
    at.sendall(b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(word), word.encode()) for word in words))
    return at.recv(100)
ends, rest = os.pipe()
if os.fork():
    _, status = os.wait(); sys.exit(os.waitstatus_to_exitcode(status))
# Of this process and its child the child is found first.
first = socket.create_connection((host, port))
if not os.fork():
    os.close(rest); os.read(ends, 1); os._exit(0)  # it has the first connection, too, until its parent ends
second = socket.create_connection((host, port))
SET = ("SET", "lock:1", A, "NX", "PX", "20000")
assert ask(first, *SET).startswith(b"+OK") and ask(second, *SET).startswith(b"$-1")
assert ask(second, "EVAL", CAD, "1", "lock:1", A).startswith(b":1")
"""


@pytest.mark.parametrize("program", [
    """
a, b = client(), client()
assert a.set("lock:1", A, nx=True, px=400) and not b.set("lock:1", A, nx=True, px=400)
while b.exists("lock:1"): pass
assert b.set("lock:1", A, nx=True, px=20000) and a.eval(CAD, 1, "lock:1", A) == 1""",
    "assert takes(one, A) and gives_back(one, A) and takes(other, A) and gives_back(other, A)",
    """
assert takes(one, A) and Process().does(f"own.eval({CAD!r}, 1, 'lock:1', '{A}')") == '1'""",
    # A shell script, of which each command is another process.
    "assert takes(Process(), A) and Process().does(\"own.exists('lock:1')\") == '1' and gives_back(Process(), A)",
    INHERITED,
], ids=["one process, two connections", "one after the other", "handed over", "each command another process", "a connection that a child has, too"])
def test_what_is_one_client_stays_one(tmp_path, program):
    result, results = json_of(tmp_path, PROCESSES + OWN + program)
    assert is_clean(result, results), result.out + result.err
    assert result.status == 0, result.out + result.err
