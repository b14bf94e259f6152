"""Which of the keys that a worker writes is the lock's: the one that it was told, else one made of it, and never a number that only counts."""

import json

import pytest
from workers import PLAIN, PYTHON, RUN, changed_naive, needs_redis_py

TAKES = 'return self.ask("SET", self.settings.key, self.settings.name, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"'
CALM = ("hand-over", "server-clock-jump", "client-kill", "error-on-release")
FENCED = """
import json, socket, time, uuid
import picklock_worker

FREE = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0"


class Worker(picklock_worker.Worker):
    promises = PROMISES

    def init(self, settings):
        self.settings, self.socket = settings, socket.create_connection(settings.address())
        self.key = KEY

    def ask(self, *words):
        parts = [f"${len(str(word))}\\r\\n{word}\\r\\n" for word in words]
        self.socket.sendall(f"*{len(words)}\\r\\n{''.join(parts)}".encode())
        said = self.socket.recv(4096)
        if not said or said.startswith(b"-"):
            raise OSError(f"{words[0]} was answered with {said!r}")
        return said

    def acquire(self, wait_ms):
        begun, self.token = time.monotonic(), uuid.uuid4().hex
        fence = int(self.ask("INCR", self.settings.key + ":fence")[1:])
        if self.ask("SET", self.key, self.token, "NX", "PX", self.settings.ttl_ms) != b"+OK\\r\\n":
            return False
        if time.monotonic() - begun > self.settings.ttl_ms * 0.0009:
            self.release()
            raise TimeoutError("granted too late")
        return GRANTED

    def release(self):
        return self.ask("EVAL", FREE, 1, self.key, self.token) == b":1\\r\\n"
""" + RUN


def fenced(tmp_path, key="settings.key", fences=True):
    path = tmp_path / "counts_first.py"
    path.write_text(FENCED.replace("PROMISES", '["expiry", "token", "fence"]' if fences else '["expiry", "token"]')
                    .replace("GRANTED", "fence" if fences else "True").replace("self.key = KEY", f"self.key = {key}"))
    return f"{PYTHON} {path}"


def causes(picklock, tmp_path, worker, *scenarios):
    out = tmp_path / "results.json"
    ran = picklock("run", "--worker", worker, "--fail-on", "never", "--json", out, *scenarios)
    assert ran.status in (0, 2), ran
    rows = json.loads(out.read_text())["results"]
    return {each["cause"] for row in rows for each in row.get("properties", []) if each.get("cause")}


@pytest.mark.parametrize("key", [pytest.param("settings.key", marks=pytest.mark.long("one of two")), '"app:" + settings.key + ":held"'], ids=["as told", "made of it"])
def test_a_counter_that_is_written_first_is_not_the_lock(picklock, tmp_path, key):
    found = causes(picklock, tmp_path, fenced(tmp_path, key), *(f"scenarios/{name}.yaml" for name in CALM))
    assert found <= {"leftover", "early-expiry"} and "leftover" in found, found


@pytest.mark.long("14 s of CPU")
def test_what_is_wrong_with_it_is_found_by_running(picklock, tmp_path):
    """Counted before the lock is had, fences do not grow from grant to grant."""
    ran = picklock("explore", "--search", "random", "--runs", "400", "--fault", "none", "--worker", fenced(tmp_path))
    assert ran.status == 1 and "fence-disorder" in ran.out and "acquire-bug" not in ran.out, ran


def test_it_is_no_second_answer_to_one_question(picklock, tmp_path):
    """By asking, too: the key is known before the first answer is kept. Each attempt counts on, so that its states have no end: told at once."""
    ran = picklock("explore", "--fault", "none", "--no-cache", "--worker", fenced(tmp_path, fences=False))
    words = " ".join(ran.out.split())
    assert ran.status == 2 and "two answers" not in ran.out and "0 broken, 0 stuck, 1 unknown" in ran.out, ran
    assert "each attempt that is refused changes the key 'lock:fence', which does not expire" in words and " 0 states " in words, ran


def test_a_lock_that_counts_is_one_all_the_same(picklock, tmp_path):
    """The key that it was told is the lock's, a number or not."""
    acquire = 'first = self.ask("INCR", self.settings.key) == b":1\\r\\n"; return first and ' \
              'self.ask("PEXPIRE", self.settings.key, self.settings.ttl_ms) == b":1\\r\\n"'
    path = tmp_path / "counts.py"
    path.write_text(PLAIN.replace(TAKES, acquire) + RUN)
    found = causes(picklock, tmp_path, f"{PYTHON} {path}", "scenarios/crash-between-setnx-and-expire.yaml")
    assert "no-expiry" in found, found


def test_what_was_taken_for_the_lock_too_early_is_unknown(picklock, tmp_path):
    path = tmp_path / "marks_first.py"
    path.write_text(PLAIN.replace(TAKES, f'self.ask("SET", self.settings.key + ":asked", "yes", "PX", 60000); {TAKES}') + RUN)
    ran = picklock("run", "--worker", f"{PYTHON} {path}", "scenarios/hand-over.yaml")
    assert ran.status == 2 and "it wrote the key 'lock:asked' first" in " ".join(ran.out.split()), ran


def keyed(tmp_path, key):
    path = tmp_path / "keyed.py"
    path.write_text(PLAIN.replace("self.settings.key", f"({key})") + RUN)
    return f"{PYTHON} {path}"


HASHED = "__import__('hashlib').sha1(self.settings.key.encode()).hexdigest()"


@pytest.mark.parametrize("key", [pytest.param(HASHED, marks=pytest.mark.long("one of two")), "'app:' + self.settings.key.upper()"], ids=["hashed", "upper case"])
def test_a_lock_under_another_name_is_refused_and_never_blamed(picklock, tmp_path, key):
    worker = keyed(tmp_path, key)
    stress = ("stress", "--clients", "2", "--locks", "2", "--duration", "2s", "--seed", "1", "--worker", worker)
    for words in (("test", "--once", worker), ("run", "--worker", worker, "scenarios/hand-over.yaml"),
                  ("explore", "--worker", worker, "--fault", "none", "--clients", "2", "--no-cache", "--out", tmp_path / "out"), stress):
        ran = picklock(*words)
        said = " ".join((ran.out + ran.err).split())
        assert ran.status == 2 and "untrue-answer" not in said, ran
        assert "the key that it was told; it wrote '" in said and "use the told key as it is, or with a prefix or suffix" in said, ran


def test_a_lock_with_something_around_its_name_is_judged(picklock, tmp_path):
    worker = keyed(tmp_path, "'app:{' + self.settings.key + '}:m'")
    for words in (("test", "--once", worker), ("run", "--worker", worker, "scenarios/hand-over.yaml")):
        ran = picklock(*words)
        assert ran.status == 0 and "the key that it was told" not in ran.out + ran.err, ran


@needs_redis_py
@pytest.mark.parametrize("lives_ms", [pytest.param(66193380, marks=pytest.mark.long("8 s of CPU")), 3153600000000])
def test_a_key_that_outlives_every_search_does_not_expire_in_it(picklock, tmp_path, monkeypatch, lives_ms):
    """Of a tick of 1010 ms, 66193380 ms are 65538: two, if 16 bits were all that counted. Nobody gets the lock of a holder that died."""
    worker, results = changed_naive(tmp_path, ("px=self.settings.ttl_ms", f"px={lives_ms}")), tmp_path / "results.json"
    monkeypatch.setenv("PICKLOCK_CACHE", str(tmp_path / "cache"))
    for _ in range(2):  # asked, and from what was kept
        ran = picklock("explore", "--worker", worker, "--clients", "2", "--rounds", "1", "--fault", "none,crash,slow-work", "--json", results, "--out", tmp_path / "out")
        assert ran.status == 1, ran
        found = json.loads(results.read_text())
        assert [row["search"]["words"] for row in found["results"]] == ["safe", "stuck (3 steps)", "safe"], ran
        assert "no key that lives 32767 ticks, or more, expires in time" in found["notes"][0], ran
    assert "of these answers were kept" in " ".join(found["notes"]), found["notes"]


@pytest.mark.parametrize("ttl, lasts", [pytest.param("30000", "30 s", marks=pytest.mark.long("one of two")), ("3000", "3 s"), ("self.settings.ttl_ms + 900", None), ("self.settings.ttl_ms - 900", None)])
def test_an_expiry_that_is_far_from_the_lease_is_told_with_both(picklock, tmp_path, ttl, lasts):
    """A second (EX) may be between them."""
    path = tmp_path / "lasting.py"
    path.write_text(PLAIN.replace("self.settings.ttl_ms", ttl) + RUN)
    ran = picklock("test", "--once", f"{PYTHON} {path}")
    assert ran.status == (1 if lasts else 0), ran
    assert (f"the key lasts {lasts}, ttl_ms is 10 s: " in ran.err) == bool(lasts) and ("as expected" in ran.out) != bool(lasts), ran
    if lasts == "30 s":
        ran = picklock("test", f"{PYTHON} {path}", "scenarios/hand-over.yaml", "--fault", "none,crash", "--no-cache", "--out", tmp_path / "out")
        said = " ".join(ran.out.split())
        assert ran.status == 1 and "the key lasts 30 s, ttl_ms is 10 s: " in ran.err, ran
        assert "What to do: give each key an expiry in the command that creates it, and no longer than the lease" in said, ran


@pytest.mark.parametrize("promises", ["['expiry']", "[]"])
def test_a_key_that_never_expires_is_told_where_that_is_promised(picklock, tmp_path, promises):
    path, program = tmp_path / "lasting.py", PLAIN.replace(', "PX", self.settings.ttl_ms', "").replace('["expiry"]', promises)
    assert "PX" not in program and f"promises = {promises}" in program
    path.write_text(program + RUN)
    ran = picklock("test", "--once", f"{PYTHON} {path}")
    is_told = promises != "[]"
    assert ran.status == is_told and ('never expires, ttl_ms is 10 s, and the worker promises "expiry"' in ran.err) == is_told, ran


@pytest.mark.parametrize("promises", ['["expiry", "token"]', '["expiry"]'])
def test_a_key_with_the_same_value_each_time_is_told_where_a_token_is_promised(picklock, tmp_path, promises):
    path, program = tmp_path / "constant.py", PLAIN.replace("self.settings.name", '"locked"').replace('["expiry"]', promises)
    assert '"locked"' in program and f"promises = {promises}" in program
    path.write_text(program + RUN)
    ran = picklock("test", "--once", f"{PYTHON} {path}")
    is_told = "token" in promises
    words = "the key has the value 'locked' behind the grant of A and behind that of B, and the worker promises \"token\""
    assert ran.status == is_told and (words in ran.err) == is_told, ran


def test_a_refusal_behind_a_key_that_was_made_names_the_usual_mistakes(picklock, tmp_path):
    path = tmp_path / "forgets.py"
    for more, is_told in ("super().acquire(wait_ms)", True), ("return False", False):
        path.write_text(f"{PLAIN}\nclass Worker(Worker):\n    def acquire(self, wait_ms):\n        {more}\n{RUN}")
        ran = picklock("test", "--once", f"{PYTHON} {path}")
        said = " ".join(ran.err.split())
        assert ran.status == 1 and "answered ok: false, but nobody holds the lock" in said, ran
        assert ("has made the key: does it return nothing (None, undefined)" in said and "(a missing await)" in said) == is_told, ran


def test_an_acquire_that_polls_is_told_that_it_has_one_attempt(picklock, tmp_path):
    path = tmp_path / "polling.py"
    path.write_text("import time\n" + PLAIN + """
class Polling(Worker):
    def acquire(self, wait_ms):
        while not super().acquire(wait_ms):
            time.sleep(PAUSE)
        return True
picklock_worker.run(Polling)
""".replace("PAUSE", "0.2"))
    ran = picklock("test", "--once", f"{PYTHON} {path}")
    assert ran.status == 1 and "an attempt took longer than a lease. wait_ms is 0: one attempt, then answer false" in ran.err, ran
    path.write_text(path.read_text().replace("0.2", "0.001"))
    ran = picklock("test", "--once", f"{PYTHON} {path}")
    assert ran.status == 1 and "after 1000 of its timers. wait_ms is 0: one attempt, then answer false" in ran.err, ran
