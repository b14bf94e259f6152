"""Whose token is whose, by asking (sim/ask/asking_clients.c): two clients that draw the same one, one that a client has in each attempt, and
a client that is not like the others. Each was "safe" where it was taken for granted."""

import pytest
from workers import plain_worker

worker = pytest.fixture(plain_worker)

COMPARE_AND_DELETE = """
class Worker(Worker):
    attempts = 0

    def draw(self):
        {draw}

    def acquire(self, wait_ms):
        self.attempts += 1
        self.token = self.draw()
        return self.ask("SET", self.settings.key, self.token, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"

    def release(self):
        script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"
        return self.ask("EVAL", script, 1, self.settings.key, self.token) == b":1\\r\\n"
"""
FRESH = COMPARE_AND_DELETE.format(draw="return f'token-of-{self.settings.name}-{self.attempts:04}'")
FIXED = COMPARE_AND_DELETE.format(draw="return f'token-of-{self.settings.name}'")
SOMETIMES = COMPARE_AND_DELETE.format(draw="return f'token-of-{self.settings.name}-{self.attempts // 2:04}'")
# A's second is B's first.
COLLIDES = COMPARE_AND_DELETE.format(draw="return f'token-{ord(self.settings.name) + self.attempts:04}'")
# So are A's and C's, and no others'.
COLLIDES_FAR = COMPARE_AND_DELETE.format(draw="return f'token-{ord(self.settings.name) % 2}-{self.attempts:04}'")
PROMISES = "\nWorker.promises = ['expiry', 'token']\n"


def explore(picklock, command, fault, *more):
    ran = picklock("explore", "--worker", command, "--fault", fault, "--no-cache", "--json", "-", *more)
    return ran, {row["fault"]: row for row in ran.json["results"]}, " ".join(" ".join(ran.json["notes"]).split())


def causes(row):
    return {it["cause"] for it in row["properties"] if it["verdict"] == "violated"}


def test_a_token_for_each_attempt_is_decided(picklock, worker):
    ran, rows, _ = explore(picklock, worker(FRESH + PROMISES), "none,slow-work,duplicate")
    assert [rows[fault]["search"]["complete"] for fault in rows] == [True] * 3, ran
    assert "unlock-bug" not in causes(rows["duplicate"]) and ran.status == 1, ran  # an untrue answer, as of the scheme


def test_a_token_for_each_client_is_decided_as_what_it_is(picklock, worker):
    """The copy of an old release removes the lock of a later attempt."""
    ran, rows, _ = explore(picklock, worker(FIXED), "none,slow-work,duplicate")
    assert all(row["search"]["complete"] for row in rows.values()), ran
    assert "unlock-bug" in causes(rows["duplicate"]) and ran.status == 1, ran
    assert causes(rows["slow-work"]) == {"overrun"} and not causes(rows["none"]), ran


@pytest.mark.parametrize("text, why", [
    (COLLIDES_FAR, "two clients draw the same token: attempt 1 of A and attempt 1 of C"),
    (FIXED + PROMISES, "it promises a token for each attempt, and a client has the same one in two"),
    (SOMETIMES, "a client has the same token in some of its attempts, and another one in others"),
])
def test_tokens_that_are_not_ones_own_are_not_decided(text, why, picklock, worker):
    ran, rows, notes = explore(picklock, worker(text), "none,slow-work" if PROMISES in text else "none", "--rounds", "1" if text is COLLIDES_FAR else "3")
    assert ran.status == 2 and not any(row["as_expected"] for row in rows.values()), ran
    assert why in notes, notes
    assert ("no fault, and 1 more cell: unknown, because it promises" in notes) == (PROMISES in text), notes


@pytest.mark.long("10 s of CPU")
def test_what_is_not_decided_is_run_and_what_is_found_so_counts(picklock, worker):
    ran, rows, notes = explore(picklock, worker(COLLIDES), "slow-work")
    row = rows["slow-work"]
    assert row["search"]["method"] == "random" and row["search"]["runs"] == 100, ran
    assert "unlock-bug" in causes(row) and row["as_expected"] is False, ran
    assert "slow-work: searched by running, since it was not decided by asking: two clients draw the same token: attempt 2 of A and attempt 1 of B" in notes
    assert ran.status == 1, ran


@pytest.mark.parametrize("name", ["B", pytest.param("C", marks=pytest.mark.long("one of two"))])
def test_a_client_that_is_not_as_the_others_is_not_decided(name, picklock, worker):
    other = f"""
class Worker(Worker):
    def release(self):
        if self.settings.name == "{name}":
            return self.ask("DEL", self.settings.key) == b":1\\r\\n"
        return super().release()
"""
    ran, rows, notes = explore(picklock, worker(FRESH + other), "none")
    assert ran.status == 2 and not any(row["as_expected"] for row in rows.values()), ran
    assert "its clients are not alike" in notes and "DEL lock" in notes, notes


# Refused, it reads whose lock that is.
READS = COMPARE_AND_DELETE.format(draw="return {draw}") + """
class Worker(Worker):
    def ask(self, *words):
        try:
            return super().ask(*words)
        except OSError:
            self.socket = socket.create_connection(self.settings.address())
            raise

    def acquire(self, wait_ms):
        if super().acquire(wait_ms):
            return True
        found = self.ask("GET", self.settings.key)
        return self.read(found.split(b"\\r\\n", 1)[1][:-2]) if found != b"$-1\\r\\n" else False

    def read(self, token):
        {read}
        return False
"""
IN_JSON = "json.dumps({'owner': self.settings.name, 'attempt': f'{self.attempts:04}'})"
IN_BASE64 = f"__import__('base64').b64encode({IN_JSON}.encode()).decode()"
OF_ITS_OWN = "f'{self.settings.name}:{self.attempts:08}'"
IS_MINE = "if token.startswith(self.settings.name.encode()): {then}"


@pytest.mark.parametrize("draw, read", [
    pytest.param(IN_BASE64, "assert json.loads(__import__('base64').b64decode(token))['owner'] in 'ABC'", marks=pytest.mark.long("one of three")),
    pytest.param(OF_ITS_OWN, "assert token.split(b':')[0] in (b'A', b'B', b'C') and int(token.split(b':')[1])", marks=pytest.mark.long("one of three")),
    (OF_ITS_OWN, IS_MINE.format(then="raise RuntimeError('it may be mine')")),
], ids=["JSON in base64", "parts", "its own"])
def test_who_reads_in_a_token_whose_it_is_is_decided(draw, read, picklock, worker):
    """What it is told of is a token that another one has drawn, or itself: so it finds what it looks for."""
    ran, rows, notes = explore(picklock, worker(READS.format(draw=draw, read=read) + PROMISES), "lose-reply", "--clients", "2")
    assert all(row["search"]["complete"] for row in rows.values()) and ran.status == 0, ran
    assert causes(rows["lose-reply"]) == {"leftover"}, ran


def test_who_takes_an_old_lock_of_its_own_for_granted_is_found(picklock, worker):
    """Its reply was lost; the next attempt finds the key, whose lease has run for a while, and which its release does not know."""
    text = READS.format(draw=OF_ITS_OWN, read=IS_MINE.format(then="return True")) + PROMISES
    ran, rows, notes = explore(picklock, worker(text), "lose-reply", "--clients", "2")
    assert "untrue-answer" in causes(rows["lose-reply"]) and ran.status == 1, ran
