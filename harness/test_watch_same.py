"""`picklock check` of what `picklock watch` wrote comes to what watch said, whatever was sent: random streams of commands, some right, some wrong,
some that nobody could prove."""

import json
import random

import pytest
from watching import json_of

# A step of each sort; {t}: a token, {l}: a lock.
STEPS = ["{c}.set('{l}', '{t}', nx=True, px=20000)"] * 12 + ["{c}.eval(CAD, 1, '{l}', '{t}')"] * 12 + [
    "{c}.delete('{l}')", "{c}.pexpire('{l}', 9000)", "{c}.pexpire('{l}', 90000)", "{c}.persist('{l}')", "{c}.set('{l}', '{t}', px=20000)",
    "{c}.set('{l}', '{t}', xx=True, px=20000)", "{c}.setnx('{l}', '{t}')", "{c}.set('{l}', '{t}', nx=True, px=1); time.sleep(0.003)",
    "{c}.eval(\"return redis.call('pexpire', KEYS[1], 30000)\", 1, '{l}', '{t}')", "{c}.pipeline().setnx('{l}', '{t}').expire('{l}', 20).execute()"]


def stream(seed, steps):
    """Of threads' clients of one process, and, in some, of a child's: then others in the process prove nothing."""
    draw = random.Random(seed)
    lines = ["a, b, c = client(), client(), client()"]
    for _ in range(steps):
        lines.append(draw.choice(STEPS).format(c=draw.choice("abc"), t=f"token-of-client-{draw.choice('ABC')}", l=f"lock:{draw.choice('12')}"))
    if seed % 2:
        half = "".join(f"    {line}\n" for line in lines)
        return f"if os.fork() == 0:\n{half}    os._exit(0)\nos.wait()\n" + "\n".join(lines)
    return "\n".join(lines)


@pytest.mark.parametrize("ms", [3153600000000, 9000000000000000])
def test_a_key_that_lives_for_a_hundred_years(tmp_path, ms):
    """As long as a history can say, and nothing else is lost: who was refused, and who took it when it was given back."""
    result, results = json_of(tmp_path, f"""
one, other = client(), client()
assert one.set("lock:1", A, nx=True, px={ms}) and not other.set("lock:1", B, nx=True, px={ms})
one.eval(CAD, 1, "lock:1", A)
assert other.set("lock:1", B, nx=True, px={ms})
other.eval(CAD, 1, "lock:1", B)
""")
    lines = [json.loads(line) for line in (tmp_path / "runs" / "latest" / "histories" / "watch.jsonl").read_text().splitlines()]
    effects = [effect for line in lines for effect in line.get("effects", ())]
    assert [effect["did"] for effect in effects] == ["created", "refused", "deleted", "created", "deleted"], effects
    assert {effect["ttl"] for effect in effects if effect["did"] == "created"} == {10**15}, effects
    assert results["results"][0]["verdict"] == "holds" and result.status == 0, (result, results)


@pytest.mark.parametrize("seed", range(4))
def test_check_says_what_watch_said(tmp_path, seed):
    json_of(tmp_path, stream(seed, 4 + 6 * seed))  # which holds them to each other
