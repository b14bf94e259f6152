"""Workers whose commands wait at the server, or that are told what is published: in virtual time, each message held like any other."""

import pytest
from workers import needs_redis_py, once, plain_worker

pytestmark = needs_redis_py
worker = pytest.fixture(plain_worker)

# A lock over redis-py: who is refused waits until the holder tells that it has released. Behind each wait it tries again.
WAITING = """
import time
import picklock_worker
import redis

RELEASE = '''
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
%s
return 1
'''

class Worker(picklock_worker.Worker):
    promises = ["expiry"]
    release_tells = ""

    def init(self, settings):
        host, port = settings.address()
        self.settings, self.count = settings, 0
        self.redis = redis.Redis(host=host, port=port)

    def reset(self):
        self.count = 0

    def take(self):
        self.count += 1
        self.token = f"{self.settings.name}-{self.count}"
        return bool(self.redis.set(self.settings.key, self.token, nx=True, px=self.settings.ttl_ms))

    def acquire(self, wait_ms):
        until = time.monotonic() + wait_ms / 1000
        if self.take():
            return True
        return wait_ms > 0 and self.wait_until(until)

    def release(self):
        return self.redis.eval(RELEASE % self.release_tells, 1, self.settings.key, self.token) == 1
"""
POPS = WAITING + """
    release_tells = "redis.call('del', 'free') redis.call('lpush', 'free', 1)"

    def wait_until(self, until):
        while until > time.monotonic() and self.redis.blpop("free", timeout=until - time.monotonic()):
            if self.take():
                return True
        return False
"""
LISTENS = WAITING + """
    release_tells = "redis.call('publish', 'free', 1)"

    def wait_until(self, until):
        told = self.redis.pubsub()
        told.subscribe("free")
        told.get_message(timeout=1)
        try:
            while until > time.monotonic():
                if told.get_message(timeout=until - time.monotonic()) and self.take():
                    return True
            return False
        finally:
            told.close()
"""
RUN = "\npicklock_worker.run(Worker)\n"


def replayed(picklock, tmp_path, command, *choices, head=""):
    path = tmp_path / "waits.schedule"
    lines = "".join(f"{choice}\n" for choice in choices)
    path.write_text(f"picklock schedule 1\nscheme: my_lock.py\nlease: 10s\nclients: A B\nservers: 1\nseed: 1\n{head}foreign: yes\n"
                    f"worker: {command}\nwait: 2s\n---\n{lines}end\n")
    return picklock("replay", path, "--worker", command, "--timeline", "--fail-on", "never")


A_HOLDS = ["A acquires", "A's SET reaches server 1", "A hears SET from server 1"]
B_IS_REFUSED = ["B acquires", "B's SET reaches server 1", "B hears SET from server 1"]
A_RELEASES = ["A releases", "A's EVAL reaches server 1"]
B_TAKES = ["B's SET reaches server 1", "B hears SET from server 1"]


def test_a_blocked_pop_is_answered_when_somebody_pushes(picklock, worker, tmp_path):
    """And no time passes: 2 s are its time-out."""
    ran = replayed(picklock, tmp_path, worker(text=POPS + RUN), *A_HOLDS, *B_IS_REFUSED, "B's BLPOP reaches server 1", "time passes 1s",
                   *A_RELEASES, "B hears BLPOP from server 1", *B_TAKES)
    assert ran.status == 0, ran
    pushed, popped = ran.out.index("the server executes A's EVAL"), ran.out.index("the server executes B's BLPOP")
    assert pushed < popped and ran.out.count(": it has the lock") == 2, ran


def test_a_blocked_pop_that_nobody_answers_ends_at_its_time(picklock, worker, tmp_path):
    choices = [*A_HOLDS, *B_IS_REFUSED, "B's BLPOP reaches server 1"]
    early = replayed(picklock, tmp_path, worker(text=POPS + RUN), *choices, "time passes 1900ms", "B hears BLPOP from server 1")
    assert early.status == 2 and "B has no BLPOP at server 1" in " ".join(early.out.split()), early
    ran = replayed(picklock, tmp_path, worker(text=POPS + RUN), *choices, "time passes 2s", "B hears BLPOP from server 1")
    assert ran.status == 0 and "refused" in ran.out, ran


def test_what_is_published_is_a_message_like_others(picklock, worker, tmp_path):
    """It is on its way until it is heard, and can be lost with its connection."""
    told = [*A_HOLDS, *B_IS_REFUSED, "B's SUBSCRIBE reaches server 1", "B hears SUBSCRIBE from server 1", *A_RELEASES]
    ran = replayed(picklock, tmp_path, worker(text=LISTENS + RUN), *told, "B hears MESSAGE from server 1", *B_TAKES)
    assert ran.status == 0 and ran.out.count(": it has the lock") == 2, ran
    ran = replayed(picklock, tmp_path, worker(text=LISTENS + RUN), *told, "B's reply to MESSAGE from server 1 is lost", "B gives up on MESSAGE at server 1")
    assert ran.status == 0 and ran.out.count(": it has the lock") == 1, ran


@pytest.mark.long("31 s of CPU")
def test_a_search_runs_them(picklock, worker):
    """A release that does not look at its token is found, shrunk and replayed, whoever waits how."""
    naive = POPS.replace("if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end", "") + RUN
    ran = picklock("explore", "--worker", worker(text=naive), "--wait", "1s", "--search", "random", "--runs", 40, "--fault", "slow-work")
    assert ran.status == 1 and "broken (unlock-bug" in ran.out, ran


def test_wait_has_its_time_out(picklock, worker):
    """Nobody acknowledges: there is no replica."""
    ran = once(picklock, worker('''
    def release(self):
        self.ask("WAIT", 0, 100)
        self.ask("WAIT", 1, 100)
        return self.ask("DEL", self.settings.key) == b":1\\r\\n"
'''))
    assert ran.status == 0 and ran.out.count("WAIT waits at server 1") == 2 and "time passes: 100.0 ms" in ran.out, ran


# Held only when a replica has it, too; else taken back.
ACKNOWLEDGED = WAITING.replace("return bool(self.redis.set(self.settings.key, self.token, nx=True, px=self.settings.ttl_ms))", """
        if not self.redis.set(self.settings.key, self.token, nx=True, px=self.settings.ttl_ms):
            return False
        return self.redis.wait(1, 100) >= 1 or not self.release()""")
CUT = "server 1's replica is cut off"
HEARS_WAIT = ["A's WAIT reaches server 1", "A hears WAIT from server 1"]


def acknowledged(picklock, worker, tmp_path, *choices, text=ACKNOWLEDGED):
    return replayed(picklock, tmp_path, worker(text=text + RUN), *choices, head="replica: yes\n")


def test_a_replica_that_is_in_step_acknowledges_at_once(picklock, worker, tmp_path):
    """And when a sentinel puts it in the server's place, it refuses the next one."""
    promoted = "server 1's sentinel promotes the replica"
    ran = acknowledged(picklock, worker, tmp_path, *A_HOLDS, *HEARS_WAIT, CUT, promoted, *B_IS_REFUSED)
    assert ran.status == 0 and ran.out.count(": it has the lock") == 1 and "time passes" not in ran.out, ran


def test_a_replica_that_is_cut_off_acknowledges_nothing(picklock, worker, tmp_path):
    """Whoever asks with WAIT does not get the lock that this replica would lose. Who does not ask gets it, and so does the next one."""
    taken_back = ["A's WAIT reaches server 1", "time passes 100ms", "A hears WAIT from server 1", "A's EVAL reaches server 1", "A hears EVAL from server 1"]
    ran = acknowledged(picklock, worker, tmp_path, CUT, *A_HOLDS, *taken_back)
    assert ran.status == 2 and "it has the lock" not in ran.out and "no acquire was granted" in ran.out, ran
    b_takes = ["B acquires", *B_TAKES]
    ran = acknowledged(picklock, worker, tmp_path, CUT, *A_HOLDS, "server 1 fails over", *b_takes, text=WAITING)
    assert "lost-grant" in ran.out and ran.out.count(": it has the lock") == 2, ran


def test_what_was_acknowledged_can_be_lost(picklock, worker, tmp_path):
    """The primary comes back without its keys, and its replica follows it."""
    again = [choice.replace("A", "B", 1) for choice in ["A acquires", *A_HOLDS[1:], *HEARS_WAIT]]
    ran = acknowledged(picklock, worker, tmp_path, *A_HOLDS, *HEARS_WAIT, "server 1 restarts empty", *again)
    assert "lost-grant" in ran.out and ran.out.count(": it has the lock") == 2, ran


def test_a_lock_whose_key_is_there_while_it_is_free_is_not_judged(picklock, worker):
    """A list of tokens: nobody can tell from it who has the lock, and so nobody is blamed."""
    tokens = '''
    def acquire(self, wait_ms):
        self.ask("EVAL", "if redis.call('setnx', 'made', 1) == 1 then redis.call('rpush', KEYS[1], 'token') end", 1, self.settings.key)
        return self.ask("LPOP", self.settings.key) != b"$-1\\r\\n"

    def release(self):
        return self.ask("RPUSH", self.settings.key, "token") == b":1\\r\\n"
'''
    ran = picklock("explore", "--worker", worker(tokens), "--search", "random", "--runs", 5, "--fault", "none")
    assert ran.status == 2 and "a list of tokens" in ran.out, ran
