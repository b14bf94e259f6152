"""scheme_worker.py SCHEME [set-up] - a scheme of the table as somebody's lock program, over a socket of its own: for tests that hold what is
decided by asking it to what is decided by the scheme's own steps. set-up: its connections say who they are before they are used. Standard library only."""

import os
import socket
import sys
import time

import picklock_worker

COMPARE_DELETE = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
SETNX_EXPIRE = ("local n = redis.call('setnx',KEYS[1],ARGV[1]) if n == 1 then redis.call('expire',KEYS[1],ARGV[2]) end return n")
SET_MINT = ("if redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('incr',KEYS[2]) end return 0")
EXPIRY, TOKEN = ["expiry"], ["expiry", "token"]


class ReplyError(Exception):
    """What the server refused."""


class Connection:
    set_up = ()
    looks = True  # whether its connection has broken meanwhile
    timeout = None  # its own patience, in seconds

    def __init__(self, address):
        self.address = address
        self.socket = None

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def line(self):
        while b"\r\n" not in self.buffer:
            self.read()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def read(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionError("the server has closed the connection")
        self.buffer += got

    def reply(self):
        line = self.line()
        kind, rest = line[:1], line[1:].decode("latin-1")
        if kind == b"_":
            return None
        if kind in b"*%" and int(rest) >= 0:
            return [self.reply() for _ in range(int(rest) * (2 if kind == b"%" else 1))]
        if kind == b"-":
            raise ReplyError(rest)
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        while len(self.buffer) < int(rest) + 2:
            self.read()
        value, self.buffer = self.buffer[:int(rest)].decode("latin-1"), self.buffer[int(rest) + 2:]
        return value

    def send(self, words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(str(word)), str(word).encode("latin-1")) for word in words))

    def connect(self):
        """Anew where its connection has broken meanwhile, as client libraries do."""
        if not self.socket or (self.looks and self.has_ended()):
            self.close()
            self.buffer = b""
            self.socket = socket.create_connection(self.address, self.timeout)
            self.socket.settimeout(self.timeout)
            for first in self.set_up:
                self.send(first)
                self.reply()

    def __call__(self, *words):
        try:
            self.connect()
            self.send(words)
            return self.reply()
        except OSError:
            self.close()
            raise

    def transaction(self, *commands):
        """In one piece, as client libraries send it."""
        try:
            self.connect()
            for words in (("MULTI",), *commands, ("EXEC",)):
                self.send(words)
            for _ in commands:
                self.reply()
            self.reply()
            return self.reply()
        except OSError:
            self.close()
            raise

    def has_ended(self):
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.socket.settimeout(self.timeout)


class Scheme(picklock_worker.Worker):
    promises = EXPIRY
    fixed = "1"

    def init(self, settings):
        if "set-up" in sys.argv:
            Connection.set_up = (("AUTH", settings.user, settings.password), ("HELLO", 3), ("SELECT", 2), ("CLIENT", "SETNAME", "me"))
        self.redis = Connection(settings.address())
        self.key, self.ms, self.s = settings.key, settings.ttl_ms, settings.ttl_ms // 1000

    def close(self):
        self.redis.close()

    def draw(self):
        self.token = self.fixed if self.fixed is not None else os.urandom(16).hex()

    def acquire(self, wait_ms):
        self.draw()
        return self.take()

    def take(self):
        return self.redis("SET", self.key, self.token, "NX", "EX", self.s) == "OK"

    def release(self):
        self.redis("DEL", self.key)
        return True


class SetnxDel(Scheme):
    promises = []

    def take(self):
        return self.redis("SETNX", self.key, self.token) == 1


class SetnxExpireDel(Scheme):
    def take(self):
        if self.redis("SETNX", self.key, self.token) != 1:
            return False
        self.redis("EXPIRE", self.key, self.s)
        return True


class LuaSetnxExpireDel(Scheme):
    def take(self):
        return self.redis("EVAL", SETNX_EXPIRE, 1, self.key, self.token, self.s) == 1


class SetNxExDel(Scheme):
    pass


class SetNxExGetDel(Scheme):
    promises = TOKEN
    fixed = None

    def release(self):
        if self.redis("GET", self.key) != self.token:
            return False
        self.redis("DEL", self.key)
        return True


class SetNxPxCad(Scheme):
    promises = TOKEN
    fixed = None
    unlock = COMPARE_DELETE

    def take(self):
        return self.redis("SET", self.key, self.token, "NX", "PX", self.ms) == "OK"

    def release(self):
        return self.redis("EVAL", self.unlock, 1, self.key, self.token) == 1


class SetNxPxCadWeakToken(SetNxPxCad):
    promises = EXPIRY

    def draw(self):
        self.token = str(10000 + int.from_bytes(os.urandom(4), "big") % 90000)


class SetNxPxCadEmptyToken(SetNxPxCad):
    promises = EXPIRY
    fixed = ""


class SetNxPxEvalsha(SetNxPxCad):
    def take(self):
        self.sha = self.redis("SCRIPT", "LOAD", COMPARE_DELETE)
        return super().take()

    def release(self):
        return self.redis("EVALSHA", self.sha, 1, self.key, self.token) == 1


class LoadedAtFirst(SetNxPxCad):
    """No scheme of the table: it loads its script once, while it begins."""

    def init(self, settings):
        super().init(settings)
        self.sha = self.redis("SCRIPT", "LOAD", COMPARE_DELETE)

    def release(self):
        return self.redis("EVALSHA", self.sha, 1, self.key, self.token) == 1


class SetNxPxEvalshaEval(SetNxPxCad):
    def release(self):
        import hashlib  # each takes longer to load than all the rest, and a search starts hundreds of processes

        sha = hashlib.sha1(COMPARE_DELETE.encode()).hexdigest()
        try:
            return self.redis("EVALSHA", sha, 1, self.key, self.token) == 1
        except ReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            return super().release()


class MultiSetnxExpireDel(Scheme):
    def take(self):
        return self.redis.transaction(("SETNX", self.key, self.token), ("EXPIRE", self.key, self.s))[0] == 1


class WatchMultiDel(SetNxPxCad):
    def release(self):
        self.redis("WATCH", self.key)
        try:
            value = self.redis("GET", self.key)
        except (ReplyError, OSError):
            self.redis("UNWATCH")
            raise
        if value != self.token:
            self.redis("UNWATCH")
            return False
        return self.redis.transaction(("DEL", self.key)) == [1]


class GetWatchMultiDel(SetNxPxCad):
    def release(self):
        if self.redis("GET", self.key) != self.token:
            return False
        self.redis("WATCH", self.key)
        return self.redis.transaction(("DEL", self.key)) == [1]


class Fenced(SetNxPxCad):
    promises = ["expiry", "token", "fence"]

    def take(self):
        return self.redis("EVAL", SET_MINT, 2, self.key, "fence", self.token, self.ms) or False


class FencedLateIncr(SetNxPxCad):
    promises = ["expiry", "token", "fence"]

    def take(self):
        return super().take() and self.redis("INCR", "fence")


class FencedAlike(Fenced):
    """No scheme: its fence does not grow."""

    def take(self):
        return super().take() and 7


class FencedByChance(Fenced):
    """No scheme: its fence is drawn."""

    def take(self):
        return super().take() and 1 + int.from_bytes(os.urandom(2), "big") // 2


class FencedByItself(Fenced):
    """No scheme: each client counts its own grants."""

    count = 0

    def close(self):
        super().close()
        self.count = 0

    def take(self):
        if super().take():
            self.count += 1
            return self.count
        return False


class FencedByTime(Fenced):
    """No scheme: its fence is the time, in microseconds."""

    def take(self):
        return super().take() and time.time_ns() // 1000


class FencedAtTimes(Fenced):
    """No scheme: its second grant and those behind it come without a fence."""

    def take(self):
        fence = super().take()
        return fence if fence is False or fence < 2 else True


class Bytes(SetNxPxCad):
    """As SetNxPxCad; its tokens are any bytes."""

    def draw(self):
        self.token = (b"\0" + os.urandom(16)).decode("latin-1")


class Retrying(SetNxPxCad):
    """As SetNxPxCad; it tries again until wait_ms is over, with a delay that is drawn by chance."""

    def acquire(self, wait_ms):
        import random

        self.draw()
        ends = time.monotonic() + wait_ms / 1000
        while not self.take():
            if time.monotonic() >= ends:
                return False
            time.sleep(random.uniform(0.05, 0.2))
        return True


class RetryingAnew(SetNxPxCad):
    """As SetNxPxCad; each try has a token of its own, also one behind a connection that broke."""

    def acquire(self, wait_ms):
        ends = time.monotonic() + wait_ms / 1000
        self.draw()
        while not self.takes():
            if time.monotonic() >= ends:
                return False
            time.sleep(0.1)
            self.draw_again()
        return True

    def takes(self):
        try:
            return self.take()
        except OSError:
            return False

    def draw_again(self):
        self.draw()


class RetryingAlike(RetryingAnew):
    """So it does, but all draw one token for each further try."""

    def draw_again(self):
        self.token = "0" * len(self.token)


class Impatient(SetNxPxCad):
    """As SetNxPxCad, with a patience of its own: it leaves a connection that is silent for half a lease."""

    def init(self, settings):
        super().init(settings)
        self.redis.timeout = settings.ttl_ms / 2000


class Trusting(SetNxPxCad):
    """As SetNxPxCad, but it does not look whether its connection has broken: then the next command fails."""

    def init(self, settings):
        super().init(settings)
        self.redis.looks = False


class Erratic(SetNxPxCad):
    """No scheme: it does something else each second time."""

    count = 0

    def release(self):
        Erratic.count += 1
        return self.redis("EVAL", COMPARE_DELETE + " " * (Erratic.count // 9 % 2), 1, self.key, self.token) == 1


class Growing(SetNxPxCad):
    """No scheme: its second attempt is not like the first."""

    attempts = 0

    def take(self):
        self.attempts += 1
        return self.redis("SET", self.key, self.token, "NX", "PX", self.ms + self.attempts) == "OK"


HASH_LOCK = """if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('hset', KEYS[1], 'since', 'now') redis.call('pexpire', KEYS[1], ARGV[2]) return 1"""
HASH_UNLOCK = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end redis.call('del', KEYS[1]) return 1"


class Hash(SetNxPxCad):
    """As SetNxPxCad, in a hash whose field is the token, as reentrant locks have it."""

    lock, unlock = HASH_LOCK, HASH_UNLOCK

    def take(self):
        return self.redis("EVAL", self.lock, 1, self.key, self.token, self.ms) == 1


class HashDel(Hash):
    """Whoever releases deletes the hash."""

    unlock = "return redis.call('del', KEYS[1])"


class Marked(SetNxPxCad):
    """As SetNxPxCad; a set and a sorted set stand beside the lock, a mark and a list that expire by themselves."""

    def take(self):
        taken = super().take()
        self.redis("EVAL", "redis.call('psetex', 'mark', ARGV[1], 1) redis.call('del', 'list') redis.call('rpush', 'list', 'b', 'a', '')"
                   "redis.call('pexpire', 'list', ARGV[1] / 2) redis.call('sadd', 'set', 'z', 'x') redis.call('zadd', 'sorted', 2, 'm')",
                   0, self.ms)
        return taken


class Gated(SetNxPxCad):
    """No scheme: who has it set another key; whoever finds that is refused. The lock's own key does not expire."""

    ends = True

    def take(self):
        return self.redis("EVAL", "if redis.call('exists', KEYS[2]) == 1 then return 0 end redis.call('set', KEYS[2], 'shut')"
                          "if ARGV[3] == 'True' then redis.call('pexpire', KEYS[2], ARGV[2]) end redis.call('set', KEYS[1], ARGV[1]) return 1",
                          2, self.key, "gate", self.token, self.ms, self.ends) == 1

    def release(self):
        self.redis("DEL", "gate")
        return super().release()


class GatedForEver(Gated):
    ends = False


class Watchful(SetNxPxCad):
    """As SetNxPxCad; it looks at its clock before it releases."""

    def take(self):
        self.until = time.monotonic() + self.ms / 1000
        return super().take()

    def release(self):
        return time.monotonic() < self.until and super().release()


class Beside(SetNxPxCad):
    """No scheme: it keeps a second key, with its token in it."""

    def release(self):
        self.redis("LPUSH", "releases", self.token)
        return super().release()


class Stream(SetNxPxCad):
    """No scheme: its lock is a stream."""

    def take(self):
        return self.redis("XADD", self.key, "MAXLEN", 1, "1-1", "token", self.token) == "1-1"


class SecondLate(SetNxPxCad):
    """As SetNxPxCad; in its second attempt alone, and when the lease is over, it deletes anybody's lock."""

    attempts = 0

    def take(self):
        self.attempts += 1
        self.since = time.monotonic()
        return super().take()

    def release(self):
        if self.attempts == 2 and time.monotonic() - self.since > self.ms / 1000:
            return self.redis("DEL", self.key) == 1
        return super().release()


class ServerTime(SetNxPxCad):
    """As SetNxPxCad; its script looks at the server's clock."""

    unlock = "redis.call('TI' .. 'ME') " + COMPARE_DELETE


class Lottery(SetNxPxCad):
    """As SetNxPxCad; draws lots in a transaction."""

    def release(self):
        for command in (("MULTI",), ("SADD", "lots", 1, 2, 3), ("SPOP", "lots"), ("DEL", "lots"), ("EXEC",)):
            self.redis(*command)
        return super().release()


class Moment(SetNxPxCad):
    """No scheme: its lock expires at a moment, not after a while."""

    def take(self):
        return self.redis("SET", self.key, self.token, "NX", "PXAT", 4102444800000) == "OK"


class Publishing(SetNxPxCad):
    """As SetNxPxCad; tells whoever waits that the lock is free."""

    unlock = COMPARE_DELETE.replace("then return redis.call('del',KEYS[1])", "then redis.call('publish','free',1) return redis.call('del',KEYS[1])")


class Listening(SetNxPxCad):
    """As SetNxPxCad; hears when the lock is free."""

    def take(self):
        self.redis("SUBSCRIBE", "free")
        return super().take()


class WatchMultiSet(SetNxPxCad):
    """It takes the lock in a transaction, where nobody has written the key since it found none."""

    def take(self):
        self.redis("WATCH", self.key)
        if self.redis("GET", self.key) is not None:
            self.gives_up()
            return False
        return self.redis.transaction(("SET", self.key, self.token, "PX", self.ms)) == ["OK"]


    def gives_up(self):
        self.redis("UNWATCH")


class WatchForEver(WatchMultiSet):
    """Refused, it watches on, and refuses itself where the lock has been free all along."""

    def gives_up(self):
        pass


class BehindRefusals(SetNxPxCad):
    """`behind-refusals N HOW`: behind N refusals in a row it `breaks` the lock, or has a lock that it `deletes`."""

    refusals = 0

    def acquire(self, wait_ms):
        self.is_it = self.refusals == int(sys.argv[2])
        if self.is_it and sys.argv[3] == "breaks":
            self.redis("DEL", self.key)
        granted = super().acquire(wait_ms)
        self.refusals = 0 if granted else self.refusals + 1
        return granted

    def release(self):
        if self.is_it and sys.argv[3] == "deletes":
            return self.redis("DEL", self.key) == 1
        return super().release()


class BehindAFailure(SetNxPxCad):
    """Where an acquire has failed, and two behind it were refused, it breaks the lock."""

    failed, refusals = False, 0

    def acquire(self, wait_ms):
        if self.failed and self.refusals == 2:
            self.redis("DEL", self.key)
        try:
            granted = super().acquire(wait_ms)
            self.refusals = 0 if granted else self.refusals + 1
        except OSError:
            self.failed, self.refusals = True, 0
            raise
        return granted


class OneToken(SetNxPxCad):
    """One token for all attempts: what an earlier one of its own has left it gives a lease anew."""

    promises = EXPIRY
    token = None

    def draw(self):
        self.token = self.token or os.urandom(16).hex()

    def take(self):
        return super().take() or self.takes_own()

    def takes_own(self):
        return self.redis("EVAL", COMPARE_DELETE.replace("redis.call('del',KEYS[1])", "redis.call('pexpire',KEYS[1],ARGV[2])"),
                          1, self.key, self.token, self.ms) == 1


class OneTokenLeft(OneToken):
    """No scheme: it takes what is left of that for a grant."""

    def takes_own(self):
        return self.redis("GET", self.key) == self.token


class Extending(SetNxPxCad):
    """As SetNxPxCad; its lease can be had anew."""

    promises = [*TOKEN, "extends"]

    def extend(self):
        return self.redis("EVAL", COMPARE_DELETE.replace("redis.call('del',KEYS[1])", "redis.call('pexpire',KEYS[1],ARGV[2])"),
                          1, self.key, self.token, self.ms) == 1


class ExtendingAnew(Hash):
    """A lock in a hash, which counts how often it was extended: another value, and the same lock."""

    promises = [*TOKEN, "extends"]

    def extend(self):
        return self.redis("EVAL", HASH_UNLOCK.replace("redis.call('del', KEYS[1])", "redis.call('hset', KEYS[1], 'since', 'then') "
                                                      "redis.call('pexpire', KEYS[1], ARGV[2])"), 1, self.key, self.token, self.ms) == 1


class ExtendingAnybodys(Extending):
    """It does not look whose lock it extends."""

    def extend(self):
        return self.redis("PEXPIRE", self.key, self.ms) == 1


class ExtendingBriefly(Extending):
    """Its lock has a tenth of a lease then, and not another one."""

    tenths = 1

    def extend(self):
        return self.redis("EVAL", COMPARE_DELETE.replace("redis.call('del',KEYS[1])", "redis.call('pexpire',KEYS[1],ARGV[2])"),
                          1, self.key, self.token, int(self.ms) * self.tenths // 10) == 1


class ExtendingAlmost(ExtendingBriefly):
    """Nine tenths."""

    tenths = 9


class ExtendingUnheard(Extending):
    """It takes an answer that does not come for "not mine"."""

    def extend(self):
        try:
            return super().extend()
        except OSError:
            return False


class ExtendingInWords(Extending):
    """It says so, and has only looked."""

    def extend(self):
        return self.redis("GET", self.key) is not None


if __name__ == "__main__":
    picklock_worker.run(globals()["".join(part.title() for part in sys.argv[1].split("-"))])
