"""`picklock proxy --config`: several listeners, read anew on SIGHUP all or nothing, and the counters that --status tells."""

import contextlib
import json
import signal
import socket
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, connect, free_port, run, server, until


@pytest.fixture(scope="module")
def redis():
    with server() as port:
        yield port


class Served:
    """A `picklock proxy` with its stderr in a file; .ports by name, as it printed them."""

    def __init__(self, folder, *words, status=0):
        self.folder, self.expected = folder, status
        self.control = folder / "control"
        with (folder / "err").open("w") as err:
            self.process = subprocess.Popen([PICKLOCK, "proxy", "--control", self.control, *map(str, words)],
                                            stdout=subprocess.PIPE, stderr=err, text=True)

    def read_ports(self, count):
        lines = [self.process.stdout.readline().split() for _ in range(count)]
        assert all(lines), self.words
        self.ports = {line[0] if line[1:] else "": int(line[-1]) for line in lines}
        return self

    @property
    def words(self):
        return (self.folder / "err").read_text()

    @property
    def status(self):
        told = run("proxy", "--status", self.control)
        assert told.status == 0, told
        return {row["name"]: row for row in told.json["listeners"]} | {"lost": told.json.get("log_events_lost")}

    def hang_up(self, words):
        """Reads its files anew; waits until it has said what came of it."""
        before = self.words.count(words)
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.words.count(words) > before, f"it says {words}: {self.words}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == self.expected, self.words


@contextlib.contextmanager
def saying(port):
    """A connection as a function: says a line, returns the first line that comes back."""
    with connect(port) as sock:
        reader = sock.makefile("rb")

        def ask(line):
            sock.sendall(line + b"\r\n")
            return reader.readline()[:-2]

        yield ask


def config(redis, *parts):
    return "".join(f"[{name}] listen=127.0.0.1:0 upstream=127.0.0.1:{redis}\n{rules}" for name, rules in parts)


def test_each_listener_has_its_rules_and_its_counters(redis, tmp_path):
    (tmp_path / "c").write_text("# two\n" + config(redis, ("one", 'no: command=GET -> answer "-ONE"\n'), ("two", 'no: command=GET -> answer "-TWO"\n')))
    with Served(tmp_path, "--config", tmp_path / "c", "--log", tmp_path / "log").read_ports(2) as served:
        with saying(served.ports["one"]) as one, saying(served.ports["two"]) as two:
            assert one(b"GET k") == b"-ONE" and two(b"GET k") == b"-TWO" and two(b"PING") == b"+PONG" and two(b"GET k") == b"-TWO"
            told = served.status
    assert (told["one"]["requests"], told["two"]["requests"]) == (1, 3)
    assert (told["one"]["faults"], told["two"]["faults"]) == (1, 2)
    assert told["two"]["rules"] == [{"rule": "no", "action": "answer", "matches": 2, "strikes": 2}]
    assert told["one"]["open"] == told["two"]["connections"] == 1 and told["lost"] == 0
    assert set(told["one"]["notices"].values()) == {0}
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["listener"] for line in lines if line["event"] == "fault"] == ["one", "two", "two"]
    assert not served.control.exists()


def test_what_is_read_anew_holds_for_open_connections(redis, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text('no: command=GET -> answer "-OLD"\nwait: command=SET -> hold until=go max=100s\ngo: command=DEL -> release go\n')
    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--rules", rules).read_ports(1) as served:
        with saying(served.ports[""]) as ask, connect(served.ports[""]) as held, saying(served.ports[""]) as other:
            assert ask(b"GET k") == b"-OLD"
            held.sendall(b"SET k v\r\n")
            until(lambda: served.status[""]["rules"][1]["strikes"], "it is held")
            rules.write_text('no: command=GET -> answer "-NEW"\n')
            served.hang_up("anew")
            assert ask(b"GET k") == b"-NEW" and served.status[""]["rules"][0]["matches"] == 1
            assert other(b"DEL k")[:1] == b":"  # the new rules know no label: what the old ones hold stays held
            rules.write_text("broken\n")
            served.hang_up(f"{rules}:1:1: ")
            assert "what was served is served on" in served.words
            assert ask(b"GET k") == b"-NEW"


def test_listeners_come_and_go_all_or_nothing(redis, tmp_path):
    path, third = tmp_path / "c", free_port()
    path.write_text(config(redis, ("one", ""), ("two", "")))
    with Served(tmp_path, "--config", path).read_ports(2) as served, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for wrong, words in (
                (config(redis, ("one", 'no: command=PING -> answer "-NO"\n')) + f"[x] listen=127.0.0.1:{taken.getsockname()[1]} upstream=127.0.0.1:1\n", "cannot listen"),
                ("[one] listen=127.0.0.1:0 upstrem=1\n", "c:1:26: unknown word 'upstrem=1'; did you mean 'upstream='?"),
                ("[one] listen=127.0.0.1:0\n", "c:1:1: a listener wants"), ("a: -> cut\n", "c:1:1: a listener comes first"),
                ("\n", "c:1:1: no listener"), ("[] listen=1\n", "c:1:1: a listener begins"),
                (config(redis, ("one", ""), ("one", "")), "c:2:1: a second listener named 'one'"),
                ("[one] listen=127.0.0.1:no upstream=1\n", "c:1:14: ")):
            path.write_text(wrong)
            served.hang_up(words)
            with saying(served.ports["one"]) as one, saying(served.ports["two"]) as two:
                assert one(b"PING") == two(b"PING") == b"+PONG"
        path.write_text(config(redis, ("one", 'no: command=PING -> answer "-NO"\n')) +
                        f"[three] listen=127.0.0.1:{third} upstream=127.0.0.1:{redis}\n")
        with saying(served.ports["one"]) as one, connect(served.ports["two"]) as two:
            assert one(b"PING") == b"+PONG"
            served.hang_up("anew")
            assert one(b"PING") == b"-NO" and two.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(served.ports["two"])
        with saying(third) as three:
            assert three(b"PING") == b"+PONG"
        assert {"one", "three"} < set(served.status)


def test_who_asks_and_nobody_is_there(tmp_path):
    nobody = run("proxy", "--status", tmp_path / "none")
    assert nobody.status == 69 and "no proxy answers" in nobody.err
    (tmp_path / "c").write_text("[a] listen=0 upstream=1\n")
    both = run("proxy", "--config", tmp_path / "c", "--listen", "127.0.0.1:0")
    assert both.status == 64 and "--config says" in both.err


def test_a_log_on_a_full_disk_ends_nothing_but_itself(redis, tmp_path):
    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--log", "/dev/full", status=70).read_ports(1) as served:
        until(lambda: "No space left" in served.words, "it says so")
        with saying(served.ports[""]) as ask:
            assert ask(b"PING") == b"+PONG" and ask(b"PING") == b"+PONG"
            assert served.status["lost"] >= 4 and served.status[""]["requests"] == 2
    assert "events are not in it" in served.words
