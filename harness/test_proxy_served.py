"""`picklock proxy --config`: several listeners, read anew on SIGHUP all or nothing, the counters that --status tells, trouble."""

import contextlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE_S, PICKLOCK, connect, free_port, read_all, run, server, until


@pytest.fixture(scope="module")
def redis():
    with server() as port:
        yield port


class Served:
    """A `picklock proxy` with its stderr in a file; .ports by name, as it printed them."""

    def __init__(self, folder, *words, status=0, files=None):
        self.folder, self.expected = folder, status
        self.control = folder / "control"
        with (folder / "err").open("w") as err:
            self.process = subprocess.Popen([PICKLOCK, "proxy", "--control", self.control, *map(str, words)],
                                            stdout=subprocess.PIPE, stderr=err, text=True,
                                            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))

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


def test_a_listener_that_is_renamed_or_told_its_port_is_served_on(redis, tmp_path):
    """By where it listens: its connections stay, and so do its counters; two that change their names have each other's."""
    path = tmp_path / "c"
    path.write_text(config(redis, ("one", ""), ("two", "")))
    with Served(tmp_path, "--config", path).read_ports(2) as served:
        first, second = served.ports["one"], served.ports["two"]
        at = "[{}] listen=127.0.0.1:{} upstream=127.0.0.1:{}\n"
        with saying(first) as one, saying(second) as two:
            assert one(b"PING") == two(b"PING") == two(b"PING") == b"+PONG"
            path.write_text(at.format("orders", first, redis) + 'no: command=PING -> answer "-NO"\n' + at.format("two", second, redis))
            served.hang_up("anew")
            assert one(b"PING") == b"-NO" and two(b"PING") == b"+PONG"
            told = served.status
            assert (told["orders"]["requests"], told["two"]["requests"]) == (2, 3) and "one" not in told
            path.write_text(at.format("two", first, redis) + at.format("orders", second, redis) + 'no: command=PING -> answer "-NO"\n')
            served.hang_up("anew")
            assert one(b"PING") == b"+PONG" and two(b"PING") == b"-NO"
            told = served.status
            assert (told["two"]["requests"], told["orders"]["requests"]) == (3, 4)
            path.write_text(at.format("a", first, redis) + at.format("b", first, redis))
            served.hang_up("cannot listen")
            assert one(b"PING") == b"+PONG" and two(b"PING") == b"-NO"


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


@pytest.mark.parametrize(("spoil", "words"), [
    (lambda log: log.unlink(), "removed or replaced it"), (lambda log: (log.with_name("new").touch(), log.with_name("new").replace(log)), "removed or replaced it"),
    (lambda log: log.open("w").close(), "cut it"), (lambda log: log.rename(f"{log}.1"), None)])
def test_what_others_do_to_the_log_is_told_at_once(redis, tmp_path, spoil, words):
    """At its next event. It may be renamed: it goes on there."""
    log = tmp_path / "log"
    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--log", log, status=70 if words else 0).read_ports(1) as served:
        with saying(served.ports[""]) as ask:
            assert ask(b"PING") == b"+PONG"
            until(lambda: "PONG" in log.read_text(), "it is in the log")
            spoil(log)
            assert ask(b"GET none") == b"$-1" and ask(b"PING") == b"+PONG"
            if words:
                until(lambda: f"cannot write the log {log}: another program {words}" in served.words, "it says so")
    if not words:
        assert log.with_name("log.1").read_text().splitlines()[-1].startswith('{"time_us"') and "cannot write" not in served.words


# --- actions ----------------------------------------------------------------------------------------------------


def test_garbage_stands_in_front_of_the_reply(redis, tmp_path):
    (tmp_path / "r").write_text('odd: command=GET nth=2 -> garbage "nil\\x00\\r\\n"\n')
    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--rules", tmp_path / "r").read_ports(1) as served:
        with connect(served.ports[""]) as sock:
            sock.sendall(b"PING\r\nGET none\r\nGET none\r\nPING\r\n")
            wanted = b"+PONG\r\n$-1\r\n" + b"nil\0\r\n" + b"$-1\r\n+PONG\r\n"
            assert sock.makefile("rb").read(len(wanted)) == wanted


def test_garbage_reaches_the_server_in_front_of_a_request(redis, tmp_path):
    """What was asked before keeps its replies, an owner's answer its turn; a large request goes on whole; others are not disturbed."""
    (tmp_path / "r").write_text('late: command=GET key=a after -> delay 30ms\n'
                                'ours: command=GET key=b before -> answer +OURS\n'
                                'more: command=SET before -> garbage "PING\\r\\n"\n'
                                'odd: command=APPEND before -> garbage "*1\\r\\n"\n')
    large = b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$100000\r\n" + b"x" * 100_000 + b"\r\n"
    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--rules", tmp_path / "r").read_ports(1) as served:
        with saying(served.ports[""]) as other:
            assert other(b"PING") == b"+PONG"
            before = descriptors(served.process)
            for sent, wanted in [
                (b"GET a\r\nGET b\r\nSET odd v\r\nGET odd\r\n", b"$-1\r\n+OURS\r\n+PONG\r\n+OK\r\n$1\r\nv\r\n"),
                (large + b"STRLEN large\r\nQUIT\r\n", b"+PONG\r\n+OK\r\n:100000\r\n+OK\r\n"),
            ]:
                with connect(served.ports[""]) as sock:
                    sock.sendall(sent)
                    assert sock.makefile("rb").read(len(wanted)) == wanted
            with connect(served.ports[""]) as sock:
                sock.sendall(b"*3\r\n$6\r\nAPPEND\r\n$3\r\nodd\r\n$1\r\nw\r\n")
                assert read_all(sock).startswith(b"-ERR Protocol error")
            assert other(b"GET odd") == b"$1"  # never executed, and who asks is served
            until(lambda: descriptors(served.process) == before, "all descriptors are given back")
            assert served.status[""]["notices"]["unreadable"] == 3 and "a rule puts garbage here" in served.words


def test_a_delay_with_jitter_follows_the_seed(redis, tmp_path):
    """Each is told, is within the bounds, lasts so long, and is the same for the same seed."""
    (tmp_path / "r").write_text("slow: command=GET -> delay 10ms jitter=5ms\n")

    def delays(seed):
        log = tmp_path / f"log-{seed}"
        log.unlink(missing_ok=True)
        with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--rules", tmp_path / "r", "--seed", seed, "--log",
                    log).read_ports(1) as served, saying(served.ports[""]) as ask:
            took_us = []
            for _ in range(10):
                begun = time.monotonic()
                assert ask(b"GET none") == b"$-1"
                took_us.append((time.monotonic() - begun) * 1e6)
        words = [json.loads(line).get("words") for line in log.read_text().splitlines() if '"fault"' in line]
        drawn = [int(text.split()[1]) for text in words if text]
        assert len(words) == 20 and all(took >= us for took, us in zip(took_us, drawn, strict=True))
        return drawn

    one, again, other = delays(1), delays(1), delays(2)
    assert one == again != other and all(5_000 <= us < 15_000 for us in one + other)
    assert min(one) < 10_000 < max(one)


def test_a_chance_follows_the_name_of_a_client(redis, tmp_path):
    (tmp_path / "r").write_text('odd: command=GET chance=50% -> answer "-STRUCK"\n')

    def struck(ask, count=32):
        return [ask(b"GET none") == b"-STRUCK" for _ in range(count)]

    with Served(tmp_path, "--upstream", f"127.0.0.1:{redis}", "--rules", tmp_path / "r").read_ports(1) as served:
        draws = {}
        for name in ("a", "b", "a", "", ""):
            with saying(served.ports[""]) as ask:
                assert not name or ask(b"CLIENT SETNAME " + name.encode()) == b"+OK"
                draws.setdefault(name, []).append(struck(ask))
    assert draws["a"][0] == draws["a"][1] != draws["b"][0] and draws[""][0] != draws[""][1]
    assert 0 < sum(draws["a"][0]) < 32


# --- trouble ----------------------------------------------------------------------------------------------------


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def play(upstream, what):
    """Accepts connections until the listener is closed, and does the same with each."""
    with contextlib.suppress(OSError):
        while True:
            peer, _ = upstream.accept()
            with peer, contextlib.suppress(OSError):
                what(peer)


def reset(peer):
    peer.recv(100)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(("kind", "what"), [
    ("unreachable", None), ("reset", reset), ("unreadable", lambda peer: (peer.recv(100), peer.sendall(b"\0garbage\r\n"))),
    ("unreadable", lambda peer: (peer.recv(100), peer.sendall(b"+PONG\r\n+NOBODY-ASKED\r\n"))),
    (None, read_all),
])
def test_trouble_is_counted_by_its_name_and_leaves_nothing(redis, tmp_path, kind, what):
    rounds = 5
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        port = upstream.getsockname()[1] if what else free_port()
        (tmp_path / "c").write_text(f"[bad] listen=127.0.0.1:0 upstream=127.0.0.1:{port}\n" + config(redis, ("good", "")))
        threading.Thread(target=play, args=(upstream, what), daemon=True).start()
        with Served(tmp_path, "--config", tmp_path / "c").read_ports(2) as served:
            with saying(served.ports["good"]) as good:
                assert good(b"PING") == b"+PONG"
                before = descriptors(served.process)
                for _ in range(rounds):
                    with contextlib.suppress(OSError), connect(served.ports["bad"]) as client:
                        client.sendall(b"*1\r\n$4\r\nPING\r\n")
                        if not kind:
                            client.shutdown(socket.SHUT_WR)
                        read_all(client)
                    assert good(b"PING") == b"+PONG"  # everyone else is served
                until(lambda: descriptors(served.process) == before, "all descriptors are given back")
                until(lambda: served.status["bad"]["open"] == 0, "what has ended is counted")
                told = served.status
    assert told["bad"]["connections"] == rounds and told["bad"]["open"] == 0
    assert {name: count for name, count in told["bad"]["notices"].items() if count} == ({kind: rounds} if kind else {})
    assert set(told["good"]["notices"].values()) == {0}


HALF, HALF_LARGE = b"*2\r\n$3\r\nGET\r\n$5\r\nha", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$99999\r\n" + b"x" * 40_000


@pytest.mark.parametrize(("ends", "is_reset", "reply", "words"), [
    ([b"PING\r\n" + HALF, HALF_LARGE, b"PIN"], False, read_all, "the client went in the middle of a request, of which {} bytes had come"),
    ([HALF, HALF_LARGE], True, read_all, "the client went in the middle of a request, of which {} bytes had come"),
    ([b"PING\r\n"] * 2, False, lambda peer: (peer.recv(100), peer.sendall(b"$5\r\nha")),
     "the server went in the middle of a reply, of which 6 bytes had come"),
    ([b"PING\r\n", b"PING\r\nPING\r\n"], False, lambda peer: (peer.recv(100), peer.sendall(b"+PONG\r\n"), read_all(peer)), None),
])
def test_who_goes_in_the_middle_is_counted_and_named(tmp_path, ends, is_reset, reply, words):
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        threading.Thread(target=play, args=(upstream, reply), daemon=True).start()
        with Served(tmp_path, "--upstream", f"127.0.0.1:{upstream.getsockname()[1]}", "--log", tmp_path / "log").read_ports(1) as served:
            before = descriptors(served.process)
            sent = 0
            for half in ends:
                with contextlib.suppress(OSError), connect(served.ports[""]) as client:
                    client.sendall(half)
                    sent += len(half)
                    until(lambda: served.status[""]["bytes_from_clients"] == sent, "it has come")
                    if is_reset:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    else:
                        client.shutdown(socket.SHUT_WR)
                        read_all(client)
            until(lambda: served.status[""]["open"] == 0, "what has ended is counted")
            until(lambda: descriptors(served.process) == before, "all descriptors are given back")
            assert served.status[""]["notices"] == served.status[""]["notices"] | {"unfinished": len(ends) if words else 0, "reset": 0}
    told = [line["words"] for line in map(json.loads, (tmp_path / "log").read_text().splitlines()) if line["event"] == "notice"]
    sizes = [len(half.removeprefix(b"PING\r\n")) for half in ends]
    assert told == ([words.format(size) for size in sizes] if words else [])


def memory_kb(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_a_client_that_never_reads_fills_no_memory_and_stops_nobody(redis, tmp_path):
    count, size = 100, 500_000
    (tmp_path / "c").write_text(config(redis, ("one", "")))
    with Served(tmp_path, "--config", tmp_path / "c").read_ports(1) as served, saying(served.ports["one"]) as good:
        assert good(b"SETRANGE never-read 499999 x") == b":500000"
        before, memory = descriptors(served.process), memory_kb(served.process)
        with connect(served.ports["one"]) as deaf:
            deaf.sendall(b"GET never-read\r\n" * count)
            until(lambda: served.status["one"]["requests"] >= count + 1, "all requests have gone")
            for _ in range(1200):  # in each turn of its loop the proxy could read 64 kB more
                assert good(b"PING") == b"+PONG"
            assert memory_kb(served.process) - memory < count * size // 1024 // 4
        until(lambda: descriptors(served.process) == before, "all descriptors are given back")
        assert served.status["one"]["open"] == 1


def test_a_dial_that_hangs_stops_nobody(redis, tmp_path):
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        for _ in range(4):  # its queue is full: the kernel leaves the next without an answer
            queued = stack.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(full.getsockname())
        with socket.socket() as next_one, pytest.raises(TimeoutError):
            next_one.settimeout(0.1)
            next_one.connect(full.getsockname())
        (tmp_path / "c").write_text(f"[hung] listen=127.0.0.1:0 upstream=127.0.0.1:{full.getsockname()[1]}\n" + config(redis, ("good", "")))
        with Served(tmp_path, "--config", tmp_path / "c").read_ports(2) as served, saying(served.ports["good"]) as good:
            assert good(b"PING") == b"+PONG"
            before = descriptors(served.process)
            with connect(served.ports["hung"]) as client:
                client.sendall(b"PING\r\n")
                until(lambda: served.status["hung"]["open"] == 1, "it is dialled for him")
                client.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    client.recv(1)
                assert good(b"PING") == b"+PONG"
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            until(lambda: descriptors(served.process) == before, "all descriptors are given back")
            assert good(b"PING") == b"+PONG"


def test_without_descriptors_who_comes_is_reset_and_who_is_there_is_served(redis, tmp_path):
    (tmp_path / "c").write_text(config(redis, ("one", "")))
    with Served(tmp_path, "--config", tmp_path / "c", files=256).read_ports(1) as served, saying(served.ports["one"]) as good:
        assert good(b"PING") == b"+PONG"
        before = descriptors(served.process)
        with contextlib.ExitStack() as stack:
            answers = []
            for _ in range(256):
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    client = stack.enter_context(connect(served.ports["one"]))
                    client.sendall(b"PING\r\n")
                    answers.append(client.recv(100))
            assert 32 <= answers.count(b"+PONG\r\n") < 128  # two descriptors each
            assert good(b"PING") == b"+PONG" and served.status["one"]["notices"]["no-room"] >= 1
        until(lambda: descriptors(served.process) == before, "all descriptors are given back")
        with saying(served.ports["one"]) as again:
            assert again(b"PING") == b"+PONG"


def test_who_comes_at_once_with_many_is_reset_and_counted(redis, tmp_path):
    """They wait to be accepted while the proxy looks the other way: with no descriptor left libuv would close them, and tell nobody."""
    (tmp_path / "c").write_text(config(redis, ("one", "")))
    with Served(tmp_path, "--config", tmp_path / "c", files=200).read_ports(1) as served, contextlib.ExitStack() as stack:
        os.kill(served.process.pid, signal.SIGSTOP)
        try:
            clients = [stack.enter_context(connect(served.ports["one"])) for _ in range(400)]
        finally:
            os.kill(served.process.pid, signal.SIGCONT)
        answers = {b"+PONG\r\n": 0, "reset": 0}
        for client in clients:
            try:
                client.sendall(b"PING\r\n")
                answer = client.recv(100)
            except (ConnectionResetError, BrokenPipeError):
                answer = "reset"
            answers[answer] += 1
        status = served.status["one"]
        assert status["notices"]["no-room"] == answers["reset"] > 200 and status["connections"] == len(clients), (answers, status)
