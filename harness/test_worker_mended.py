"""A schedule that was kept of a worker, replayed with one that has changed since: held, violated, or not followed, and never 0 for nothing."""

import pytest
from workers import PLAIN, PYTHON, RUN

PLAIN_RELEASE = 'return self.ask("DEL", self.settings.key) == b":1\\r\\n"'
LOOKS = 'self.ask("GET", self.settings.key).endswith(b"\\r\\n" + self.settings.name.encode() + b"\\r\\n")'
SCRIPT = 'self.ask("EVAL", "if redis.call(\'GET\',KEYS[1])==ARGV[1] then return redis.call(\'DEL\',KEYS[1]) else return 0 end", 1, ' \
         'self.settings.key, self.settings.name) == b":1\\r\\n"'
TAKES = 'return self.ask("SET", self.settings.key, self.settings.name, "NX", "PX", self.settings.ttl_ms) == b"+OK\\r\\n"'
TWO_STEPS = 'return self.ask("SETNX", self.settings.key, self.settings.name) == b":1\\r\\n" and ' \
            'self.ask("PEXPIRE", self.settings.key, self.settings.ttl_ms) == b":1\\r\\n"'

HEAD = "picklock schedule 1\nscheme: my_lock.py\nlease: 1s\nclients: A B\nservers: 1\nseed: 1\nforeign: yes\n"
GRANT = "A acquires\nA's SET reaches server 1\nA hears SET from server 1\ntime passes 1.1s\nB acquires\nB's SET reaches server 1\n"
LATE_DELETE = f"{HEAD}violates: release-own\n---\n{GRANT}A releases\nA's DEL reaches server 1\nend\n"
NO_EXPIRY = f"{HEAD}violates: always-expires\n---\nA acquires\nA's SETNX reaches server 1\nA crashes\nend\n"


@pytest.fixture
def replays(picklock, tmp_path):
    def replay(schedule, release=PLAIN_RELEASE, acquire=TAKES, name="my_lock.py"):
        (tmp_path / "kept.schedule").write_text(schedule)
        (tmp_path / name).write_text(PLAIN.replace(PLAIN_RELEASE, release).replace(TAKES, acquire) + RUN)
        done = picklock("replay", tmp_path / "kept.schedule", "--worker", f"{PYTHON} '{tmp_path / name}'")
        return done.status, " ".join((done.out + done.err).split())

    return replay


def test_a_mended_lock_holds_and_it_is_said_what_it_does_now(replays):
    status, words = replays(LATE_DELETE)
    assert status == 1 and "release-own is violated (unlock-bug)" in words, words
    assert "kept.schedule: reproduced: release-own is violated again" in words and "(--fail-on scheme), so the status is 1" in words, words
    status, words = replays(LATE_DELETE, f"return {SCRIPT}")
    assert status == 0 and "held: release-own is not violated any more" in words and "reproduced" not in words, words
    assert "A's release sends EVAL to server 1, not DEL" in words and "Only this schedule was replayed" in words, words


def test_another_file_is_the_worker_that_was_named(replays):
    status, words = replays(LATE_DELETE, f"return {SCRIPT}", name="other lock.py")
    assert status == 0 and "It was kept of my_lock.py." in words, words


def test_what_is_only_half_mended_is_run_to_its_end(replays):
    """It looks, and deletes all the same: a command more, and that is the one that does it."""
    status, words = replays(LATE_DELETE, f"{LOOKS}; {PLAIN_RELEASE}")
    assert status == 1 and "violated: release-own (unlock-bug)" in words and "A's release sends GET to server 1, too" in words, words
    status, words = replays(LATE_DELETE, f"return {LOOKS} and {PLAIN_RELEASE.removeprefix('return ')}")
    assert status == 0 and "A's release sends no DEL to server 1" in words, words


def test_a_command_that_is_gone_is_left_out(replays):
    assert replays(NO_EXPIRY, acquire=TWO_STEPS)[0] == 1
    status, words = replays(NO_EXPIRY)
    assert status == 0 and "held: always-expires is not violated any more" in words and "sends SET to server 1, not SETNX" in words, words


@pytest.mark.parametrize("changed, words", [
    ({"release": "raise RuntimeError"}, "A's release fails now, without a fault (of a lock that is certainly not its own any more it is to say so"),
    ({"acquire": "raise RuntimeError"}, "A's acquire fails now, without a fault; where"),
    ({"acquire": "while True: self.ask('GET', 'x')"}, "A sends no end of commands that only read"),
], ids=["a release that fails", "an acquire that fails", "one that never gets there"])
def test_what_cannot_be_followed_is_unknown_and_says_where(replays, changed, words):
    status, said = replays(LATE_DELETE, **changed)
    assert status == 2 and words in said and "search again (picklock test)" in said and "held:" not in said, said


def test_a_lock_that_is_never_granted_is_no_lock_that_holds(replays):
    status, words = replays(LATE_DELETE, acquire="return False")
    assert status != 0 and "held:" not in words, words


def test_a_lock_in_which_nobody_meets_does_not_hold(replays):
    """A key of his own for each client."""
    status, words = replays(LATE_DELETE, acquire=TAKES.replace("settings.key,", "settings.key + self.settings.name,"),
                            release=PLAIN_RELEASE.replace("settings.key)", "settings.key + self.settings.name)"))
    assert status == 2 and "no two clients met at the lock" in words and "held:" not in words, words


def test_a_property_that_nobody_judged_does_not_hold(replays):
    """The worker makes no promise of a fence, and guards no counter."""
    for kept in ("fence-order", "no-lost-update"):
        status, words = replays(LATE_DELETE.replace("violates: release-own", f"violates: {kept}"), f"return {SCRIPT}")
        assert status == 2 and f"the schedule was kept for {kept}: it was not judged" in words and "held:" not in words, words
