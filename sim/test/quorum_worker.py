"""quorum_worker.py [uneven|first|last|tidy|picky|trusting|wary|wall|watchful|loyal|turning|extending [anybodys|in-words]] - the scheme redlock as somebody's lock program: every
server is asked at once, over a socket of its own, and their answers are counted as they come. uneven: the first of the servers counts twice; first, last:
the first, the last answer does; tidy: it deletes where it was granted the lock alone; picky: where all had granted it, all must know it at its release;
trusting: it releases over the connections that it has, broken or not; wary: where two of three servers had granted it, its release fails if a connection
broke behind its answer; wall: its wall clock says how old the lock is; watchful: it looks at its clock at each answer; loyal: at its
release the server that had granted the lock first counts alone, where all had; turning: every third time it asks them in the other order.
Standard library only."""

import os
import select
import sys
import time

import picklock_worker
from scheme_worker import COMPARE_DELETE, Connection, ReplyError

YES, NO, LOST = "yes", "no", "lost"


class Redlock(picklock_worker.Worker):
    promises = ["expiry", "token", "quorum"]
    turns = 0  # of the process

    def init(self, settings):
        self.servers = [Connection(settings.address(server)) for server in range(len(settings.servers))]
        self.key, self.ttl_ms = settings.key, settings.ttl_ms

    def close(self):
        for server in self.servers:
            server.close()

    def hear(self, server):
        if sys.argv[1:] == ["watchful"]:
            self.now()
        try:
            return YES if server.reply() in ("OK", 1) else NO
        except ReplyError:
            return LOST
        except OSError:
            server.close()
            return LOST

    def ask_all(self, *words):
        """What each server said, when all have answered or their connections have broken."""
        waiting, said = {}, []
        asked = self.servers if words[0] == "SET" or sys.argv[1:] != ["tidy"] else self.granted
        for server in self.in_turn(asked):
            if not self.trusts(words):
                server.connect()
            server.send(words)
            waiting[server.socket] = server
        while waiting:
            for ready in select.select(list(waiting), [], [])[0]:
                server = waiting.pop(ready)
                heard = self.hear(server)
                if words[0] == "SET" and heard == YES:
                    self.granted.append(server)
                said += [heard] * self.weight(server, not said, not waiting)
        return said

    def in_turn(self, servers):
        Redlock.turns += sys.argv[1:] == ["turning"]
        return servers[::-1 if Redlock.turns % 3 == 1 else 1]

    def trusts(self, words):
        return words[0] != "SET" and sys.argv[1:] == ["trusting"]

    def is_any_broken(self):
        return bool(select.select([server.socket for server in self.servers if server.socket], [], [], 0)[0])

    def weight(self, server, is_first, is_last):
        if sys.argv[1:] == ["loyal"] and len(self.granted) == 3:
            return 3 if server is self.granted[0] else 0
        return 2 if {"uneven": server is self.servers[0], "first": is_first, "last": is_last}.get(" ".join(sys.argv[1:])) else 1

    def is_majority(self, count):
        return count > len(self.servers) // 2

    def now(self):
        return time.time() if sys.argv[1:] == ["wall"] else time.monotonic()

    def is_valid(self, asked):
        return (self.now() - asked) * 1000 < self.ttl_ms - self.ttl_ms / 100 - 2

    def acquire(self, wait_ms):
        del wait_ms
        self.token, self.granted = os.urandom(16).hex(), []
        asked = self.now()
        said = self.votes = self.ask_all("SET", self.key, self.token, "NX", "PX", self.ttl_ms)
        if self.is_majority(said.count(YES)) and self.is_valid(asked):
            return True
        self.delete_on_all()
        if said.count(NO) < len(said) - len(said) // 2:
            raise RuntimeError("no majority said that the lock is taken")
        return False

    def delete_on_all(self):
        return self.ask_all("EVAL", COMPARE_DELETE, 1, self.key, self.token)

    def release(self):
        said = self.delete_on_all()
        if sys.argv[1:] == ["picky"] and self.votes.count(YES) == 3 and said.count(YES) == 2:
            raise RuntimeError("one of them has lost it")
        if sys.argv[1:] == ["wary"] and self.votes.count(YES) == 2 and self.is_any_broken():
            raise RuntimeError("one of them may have lost it since")
        if not self.is_majority(said.count(YES)) and not self.is_majority(said.count(NO)):
            raise RuntimeError("no majority answered")
        return self.is_majority(said.count(YES))


class Extending(Redlock):
    """Its lease can be had anew: of a majority of the servers. anybodys: it does not look whose lock that is; in-words: it asks nobody."""

    promises = [*Redlock.promises, "extends"]

    def extend(self):
        if sys.argv[2:] == ["in-words"]:
            return True
        lengthen = "redis.call('pexpire',KEYS[1],ARGV[2])"
        script = f"return {lengthen}" if sys.argv[2:] == ["anybodys"] else COMPARE_DELETE.replace("redis.call('del',KEYS[1])", lengthen)
        said = self.ask_all("EVAL", script, 1, self.key, self.token, self.ttl_ms)
        if not self.is_majority(said.count(YES)) and not self.is_majority(said.count(NO)):
            raise RuntimeError("no majority answered")
        return self.is_majority(said.count(YES))


if __name__ == "__main__":
    sys.exit(picklock_worker.run(Extending if sys.argv[1:2] == ["extending"] else Redlock))
