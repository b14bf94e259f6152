"""`picklock watch`: clients that poll for locks in pipelines, with the same bytes again and again, or the same but for the key: each is judged
as if it had come alone."""

import re

from test_watch_hostile import RAW
from watching import is_clean, json_of, violated

# Grants and refusals, as the clients hear them. Of those that are refused a lock which has their own token, the first 16 are not counted.
COUNTED = RAW + """
grants = refusals = 0
def poll(lock, token=B, ms=20000): return ["SET", lock, token, "NX", "PX", ms]
def play(link, *commands):
    link.sends(*commands)
    return hear(link, len(commands))
def hear(link, count):
    global grants, refusals
    all = [link.hears() for _ in range(count)]
    grants += all.count(b"+OK"); refusals += all.count(b"$-1")
    return all
"""
END = """
print("heard", grants, refusals)
"""


def played(tmp_path, program):
    """Nothing is wrong; and what watch counted is what the clients heard."""
    result, results = json_of(tmp_path, COUNTED + program + END)
    assert is_clean(result, results), (result, results)
    heard = re.search(r"^heard (\d+) (\d+)$", result.out, re.MULTILINE).groups()
    assert re.search(r"(\d+) grants?, (\d+) refusals?", result.out).groups() == heard, result.out
    return results


def test_a_lock_that_ends_amid_the_polls_is_granted_by_one_of_them(tmp_path):
    results = played(tmp_path, """
assert play(one, poll("lock:1", A, 60)) == [b"+OK"]
while b"+OK" not in (heard := play(other, *[poll("lock:1")] * 50)): pass
refusals -= min(16, 49 - heard.index(b"+OK"))
assert gives(other, B) and play(one, *[poll("lock:1", A)] * 10) == [b"+OK"] + [b"$-1"] * 9
refusals -= 9
""")
    assert results["results"][0]["verdict"] == "holds", results


def test_of_many_locks_each_is_the_one_that_is_named(tmp_path):
    """Names as long as the others, and longer; some that are no lock's."""
    played(tmp_path, """
import random
draw = random.Random(7)
names = [form % n for form in ("lock:%02d", "lick:%02d", "lock:%03d", "lock:1%02d") for n in range(12)]
held = {name for name in names if name[1] == "o" and draw.random() < 0.5}
assert play(one, *[poll(name, A) for name in sorted(held)]) == [b"+OK"] * len(held)
for _ in range(30):
    asked = draw.sample(names, 30)
    answers = play(other, *[poll(name) for name in asked])
    locks = [(name, answer) for name, answer in zip(asked, answers) if name[1] == "o"]
    assert all(answer == (b"$-1" if name in held else b"+OK") for name, answer in locks), locks
    grants -= answers.count(b"+OK") - sum(answer == b"+OK" for _, answer in locks)
    refusals -= answers.count(b"$-1") - sum(answer == b"$-1" for _, answer in locks)
    given = [name for name, answer in locks if answer == b"+OK"]
    assert play(other, *[["EVAL", CAD, 1, name, B] for name in given]) == [b":1"] * len(given)
""")


def test_what_stands_between_them_counts_for_those_behind(tmp_path):
    """Another database, a transaction, a release, in one and the same pipeline."""
    played(tmp_path, """
third = Raw()
assert third.says("SELECT", 3) == b"+OK" and play(third, poll("lock:1", C)) == [b"+OK"] and play(one, poll("lock:1", A)) == [b"+OK"]
again = [poll("lock:1")] * 5
play(other, *again, ["SELECT", 3], *again, ["SELECT", 4], poll("lock:1"), ["EVAL", CAD, 1, "lock:1", B], ["SELECT", 0], *again)
grants -= 4 - 1  # SELECT
other.sends(*again, ["MULTI"], ["SET", "x", "y"], ["EXEC"], *again)
assert hear(other, 14) == [b"$-1"] * 5 + [b"+OK", b"+QUEUED", b"*1", b"+OK"] + [b"$-1"] * 5
grants -= 2
assert play(one, *again, ["EVAL", CAD, 1, "lock:1", A], poll("lock:1", A), ["EVAL", CAD, 1, "lock:1", A], poll("lock:1")) == \
    [b"$-1"] * 5 + [b":1", b"+OK", b":1", b"+OK"]
""")


def test_a_pipeline_in_pieces(tmp_path):
    """More than a server reads at once, cut anywhere; and one whose client does not wait for its answers."""
    played(tmp_path, """
assert play(one, poll("lock:1", A)) == [b"+OK"]
import random
draw, all = random.Random(3), b"".join(words(*poll("lock:1")) for _ in range(900))
while all:
    size = draw.choice([1, 7, 300, 2000, 20000])
    other.sends(all[:size]); all = all[size:]
assert hear(other, 900) == [b"$-1"] * 900
assert gives(one, A) and play(other, poll("lock:1")) == [b"+OK"] and gives(other, B)
""")
    gone = tmp_path / "gone"
    gone.mkdir()
    result, results = json_of(gone, RAW + """
for _ in range(5):
    assert takes(one, A)
    left = Raw()
    left.sends(*[["SET", "lock:1", B, "NX", "PX", 20000]] * 300); left.socket.close(); left.lines.close()
    assert not takes(other, C) and gives(one, A)
    while not takes(one, A): other.says("EVAL", CAD, 1, "lock:1", B)
    assert gives(one, A)
""")
    assert not violated(results) and result.status in (0, 2), result.out + result.err
