"""The fault proxy: the rules do what they say, bad ones are told, and the process ends as it should."""

import contextlib
import json
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import NEVER, PATIENCE_S, PICKLOCK, connect, proxy, read_all, run


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    """A redis-server on a unix socket of its own folder and a free port."""
    for _ in range(20):
        port = free_port()
        process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                    "--appendonly", "no"], cwd=tmp_path_factory.mktemp("redis"), stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), connect(port) as sock:
                sock.sendall(b"PING\r\n")
                if sock.recv(7) == b"+PONG\r\n":
                    yield port
                    process.kill()
                    process.wait()
                    return
    pytest.fail("no redis-server answers")


# --- rules ------------------------------------------------------------------------------------------------------


@pytest.fixture
def ruled(redis, tmp_path):
    """Runs a proxy with these rules before the real server; yields a way to connect, and the log's lines."""

    @contextlib.contextmanager
    def start(rules, *more):
        (tmp_path / "rules").write_text(rules)
        with direct(redis) as ask, proxy(redis, "--rules", tmp_path / "rules", "--log", tmp_path / "log",
                                         *more) as (port, _):
            ask(b"FLUSHALL")
            yield lambda: direct(port), ask

    start.log = lambda: [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    return start


@contextlib.contextmanager
def direct(port):
    """A connection as a function: says a line, returns what comes back first."""
    with connect(port) as sock:
        reader = sock.makefile("rb")

        def ask(line):
            sock.sendall(line + b"\r\n")
            return reply(reader)

        ask.sock, ask.reader = sock, reader
        yield ask


def reply(reader):
    head = reader.readline()
    if head[:1] == b"$" and head != b"$-1\r\n":
        return reader.read(int(head[1:]) + 2)[:-2]
    return head[:-2]


def faults(log):
    return [(line["rule"], line["client"], line["command"]) for line in log if line["event"] == "fault"]


def test_executed_then_lost(ruled):
    with ruled("lose: command=INCR nth=2 -> cut rst\n") as (client, ask):
        with client() as c:
            assert c(b"INCR n") == b":1"
            c.sock.sendall(b"INCR n\r\n")
            with pytest.raises(ConnectionResetError):
                c.sock.recv(1)
        assert ask(b"GET n") == b"2"
    assert faults(ruled.log()) == [("lose", 1, "INCR")]


def test_cut_before_is_not_executed_and_fin_is_fin(ruled):
    with ruled("lose: command=INCR before once -> cut fin\n") as (client, ask):
        with client() as c:
            assert c(b"PING") == b"+PONG"
            c.sock.sendall(b"INCR n\r\nINCR n\r\n")
            assert c.sock.recv(100) == b""
        assert ask(b"GET n") == b"$-1"


def test_cut_behind_the_reply(ruled):
    with ruled("end: command=INCR done -> cut fin\n") as (client, ask), client() as c:
        assert c(b"INCR n") == b":1"
        assert c.sock.recv(1) == b""


def test_requests_and_replies_are_dropped(ruled):
    rules = "r: command=SET key=a* -> drop-request\np: command=INCR -> drop-reply\n"
    with ruled(rules) as (client, ask), client() as c:
        c.sock.sendall(b"SET abc 1\r\nSET b 1\r\nINCR n\r\nPING\r\n")
        assert reply(c.reader) == b"+OK" and reply(c.reader) == b"+PONG"
        assert ask(b"EXISTS abc") == b":0" and ask(b"EXISTS b") == b":1" and ask(b"GET n") == b"1"


def test_answers_before_and_after(ruled):
    rules = ('before: command=SET before -> answer "-OOM no memory"\n'
             "after: command=INCR after -> answer nil\n"
             'bytes: command=GET -> answer "$3\\r\\na\\x00b\\r\\n"\n')
    with ruled(rules) as (client, ask), client() as c:
        assert c(b"SET k v") == b"-OOM no memory" and ask(b"EXISTS k") == b":0"
        assert c(b"INCR n") == b"$-1" and ask(b"GET n") == b"1"
        assert c(b"GET k") == b"a\0b" and c(b"PING") == b"+PONG"


def test_delays_wait_and_order_is_kept(ruled):
    with ruled("slow: command=SET -> delay 200ms\n") as (client, ask), client() as c, client() as other:
        begun = time.monotonic()
        c.sock.sendall(b"SET k 1\r\nGET k\r\n")
        assert other(b"PING") == b"+PONG"  # the other client is not held
        assert ask(b"EXISTS k") == b":0"
        assert reply(c.reader) == b"+OK" and reply(c.reader) == b"1"
        assert time.monotonic() - begun >= 0.2


def test_a_hold_until_another_client_has_done_it(ruled):
    rules = "wait: command=DEL -> hold until=set max=100s\ngo: command=SET key=k after -> release set\n"
    with ruled(rules) as (client, ask), client() as first, client() as second:
        first.sock.sendall(b"DEL k\r\n")
        assert second(b"SET k 1") == b"+OK"
        assert reply(first.reader) == b":1"  # k was there: SET came first
        assert first(b"DEL k") == b":0"  # the label stays open
    assert [line.get("words") for line in ruled.log() if line["event"] == "fault"] == [None, None, "released", None]


def test_a_hold_is_bounded(ruled):
    with ruled("wait: command=DEL -> hold until=never max=50ms\n") as (client, ask), client() as c:
        assert c(b"DEL k") == b":0"
    assert sum("bound was reached" in line.get("words", "") for line in ruled.log()) == 1


def test_a_barrier_lets_all_go_at_once(ruled):
    with ruled("meet: command=INCR -> hold barrier=3 max=100s\n") as (client, ask):
        with client() as a, client() as b, client() as c:
            a.sock.sendall(b"INCR n\r\n")
            b.sock.sendall(b"INCR n\r\n")
            assert ask(b"GET n") == b"$-1"
            c.sock.sendall(b"INCR n\r\n")
            assert sorted(reply(x.reader) for x in (a, b, c)) == [b":1", b":2", b":3"]


def test_silence_and_healing(ruled):
    with ruled("part: command=INCR once after -> silence 300ms\n") as (client, ask), client() as c:
        begun = time.monotonic()
        c.sock.sendall(b"INCR n\r\nINCR n\r\n")
        assert reply(c.reader) == b":1" and reply(c.reader) == b":2"  # late, and nothing is lost
        assert time.monotonic() - begun >= 0.3


def test_silence_for_good_is_half_open(ruled):
    with ruled("part: command=INCR once before -> silence\n") as (client, ask), client() as c:
        c.sock.sendall(b"INCR n\r\nPING\r\n")
        c.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            c.sock.recv(1)
        assert ask(b"EXISTS n") == b":0"


def test_truncated_and_sliced(ruled):
    rules = ("cut: command=GET key=t -> truncate 5\n"
             "half: command=SET key=t2 before -> truncate 10 fin\n"
             "thin: command=GET key=s -> slice 3 1ms\n"
             "thin-too: command=APPEND before -> slice 1\n")
    with ruled(rules) as (client, ask):
        ask(b"SET t 0123456789")
        ask(b"SET s 0123456789")
        with client() as c:
            c.sock.sendall(b"GET t\r\n")
            assert read_all(c.sock) == b"$10\r\n"
        with client() as c:
            c.sock.sendall(b"SET t2 x\r\n")
            assert read_all(c.sock) == b""
        assert ask(b"EXISTS t2") == b":0"
        with client() as c:
            assert c(b"GET s") == b"0123456789" and c(b"APPEND s x") == b":11" and c(b"PING") == b"+PONG"


def test_bandwidth(ruled):
    """So many bytes take so long, one of 16 kB that the proxy shows as a whole as well as one of 300 kB that it does not; those
    behind it wait; what no rule strikes is at once."""
    rules = ("down: command=GET key=slow -> bandwidth 2MB/s\n"
             "up: command=SET key=slow before -> bandwidth 1MB/s\n"
             "small: command=ECHO -> bandwidth 100B/s\n")
    with ruled(rules) as (client, ask), client() as c:
        for size, least_s in ((10_000, .01), (300_000, .3)):
            value = bytes(97 + i % 26 for i in range(size))
            began = time.monotonic()
            assert c(b"*3\r\n$3\r\nSET\r\n$4\r\nslow\r\n$%d\r\n%s" % (size, value)) == b"+OK"
            assert time.monotonic() - began >= least_s
            assert ask(b"GET slow") == value
            began = time.monotonic()
            c.sock.sendall(b"GET slow\r\nPING\r\n")
            assert reply(c.reader) == value and reply(c.reader) == b"+PONG"
            assert time.monotonic() - began >= least_s / 2
        began = time.monotonic()
        assert [c(b"ECHO 1") for _ in range(4)] == [b"1"] * 4, "7 bytes each"
        assert time.monotonic() - began >= .28


def test_bandwidth_of_one_who_is_cut_off_in_the_middle(ruled):
    with ruled("up: command=SET before -> bandwidth 300kB/s\n") as (client, ask):
        with client() as c:
            c.sock.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n" + b"x" * 30_000)
            c.sock.shutdown(socket.SHUT_WR)
            assert read_all(c.sock) == b""
        assert ask(b"EXISTS k") == b":0"


def test_duplicates(ruled):
    with ruled("twice: command=INCR nth=2 -> duplicate 2\n") as (client, ask), client() as c:
        assert [c(b"INCR n") for _ in range(3)] == [b":1", b":2", b":5"]
        assert ask(b"GET n") == b"5"


def test_rules_of_one_command_and_of_any_keep_the_order_of_the_file(ruled):
    """Each counts what it matches, whoever acts; a command that is named twice counts once, one without a rule meets the others."""
    rules = ("first: command=get,GET nth=2 -> answer +first\n"
             "any: key=k nth=3 -> answer +any\n"
             "later: command=SET,GET every=2 -> answer +later\n"
             "much: command=" + ",".join(f"C{i}" for i in range(150)) + ",DEL -> answer +much\n"
             "long: command=" + "X" * 40 + " -> answer +long\n"
             "after: command=EXISTS after -> answer +after\n")
    with ruled(rules) as (client, ask), client() as c:
        assert [c(b"GET k") for _ in range(5)] == [b"$-1", b"+first", b"+any", b"+later", b"$-1"]
        assert c(b"SET k v") == b"+later" and c(b"DEL k") == b"+much" and c(b"c149 k") == b"+much"
        assert c(b"EXISTS k") == b"+after" and c(b"STRLEN k") == b":0" and c(b"X" * 40).startswith(b"-ERR")


def test_counting_and_clients(ruled):
    rules = ("every: command=GET key=e every=3 -> answer +3rd\n"
             "first: command=GET key=f first=2 -> answer +first\n"
             "beyond: command=GET key=b beyond=2 -> answer +beyond\n"
             "second: command=GET key=c client=2 -> answer +client\n"
             "bob: command=GET key=c client=bob -> answer +bob\n"
             "each: command=GET key=p each-client once -> answer +each\n"
             "multi: command=GET key=m in-multi -> answer +queued\n"
             "script: script=*marked* -> answer +script\n"
             "error: reply=-WRONGTYPE* after -> answer +wrong\n")
    none = b"$-1"
    with ruled(rules) as (client, ask), client() as c, client() as d:
        assert [c(b"GET e") for _ in range(7)] == [none, none, b"+3rd", none, none, b"+3rd", none]
        assert [c(b"GET f") for _ in range(4)] == [b"+first", b"+first", none, none]
        assert [c(b"GET b") for _ in range(4)] == [none, none, b"+beyond", b"+beyond"]
        assert c(b"GET c") == none and d(b"GET c") == b"+client"
        assert c(b"CLIENT SETNAME bob") == b"+OK" and c(b"GET c") == b"+bob"
        assert [c(b"GET p"), c(b"GET p"), d(b"GET p"), d(b"GET p")] == [b"+each", none] * 2
        assert c(b"GET m") == none and c(b"MULTI") == b"+OK" and c(b"GET m") == b"+queued"
        assert c(b"DISCARD") == b"+OK"
        assert c(b'EVAL "return 1" 0') == b":1" and c(b'EVAL "return 1 --marked" 0') == b"+script"
        ask(b"LPUSH list x")
        assert c(b"GET list") == b"+wrong"


def chances(ruled, rules, seed):
    """Which of 200 GETs of two clients are struck by the rule named 'some'."""
    with ruled(rules, "--seed", seed) as (client, ask), client() as c, client() as d:
        pass_c = [c(b"GET k") for _ in range(200)]
        pass_d = [d(b"GET k") for _ in range(200)]
        return [[answer == b"+struck" for answer in answers] for answers in (pass_c, pass_d)]


def test_chances_are_seeded_and_independent_of_other_rules(ruled):
    rule = "some: command=GET chance=25% -> answer +struck\n"
    one = chances(ruled, rule, 1)
    assert one == chances(ruled, rule, 1)
    assert one == chances(ruled, "other: chance=50% command=SET -> delay 1ms\n" + rule + "x: -> delay 1us\n", 1)
    assert one != chances(ruled, rule, 2) and one[0] != one[1]
    assert all(25 < sum(of_client) < 80 for of_client in one)


def test_counters_are_told_while_it_runs(redis, tmp_path):
    (tmp_path / "rules").write_text("one: command=GET nth=2 -> answer +struck\n")
    for options, looked_at in ([], ""), (["--rules", tmp_path / "rules"], "; 3 requests, 2 replies, 1 fault"):
        process = subprocess.Popen([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{redis}", *map(str, options)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        port = int(process.stdout.readline())
        with direct(port) as c:
            assert [c(b"GET none") for _ in range(3)] == [b"$-1", b"+struck" if options else b"$-1", b"$-1"]
            process.send_signal(signal.SIGUSR1)
            to_client = 5 * 2 + (9 if options else 5)
            words = f"1 connection so far, 1 open; 30 bytes from clients, {to_client} to them{looked_at}\n"
            assert process.stderr.readline().endswith(words)
            assert c(b"PING") == b"+PONG"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        process.stdout.close(), process.stderr.close()


# --- bad rules --------------------------------------------------------------------------------------------------

BAD = [
    ("x\n", "1:1:", "begins with its name"),
    ("x: -> drop-requst\n", "1:7:", "did you mean 'drop-request'"),
    ("a: -> delay 1ms\nx: comand=SET -> delay 1ms\n", "2:4:", "did you mean 'command='"),
    ("x: once\n", "1:4:", "wants '->'"),
    ("x: ->\n", "1:4:", "wants '->'"),
    ("x: -> delay\n", "1:7:", "delay wants TIME"),
    ("x: -> delay 5\n", "1:13:", "no argument of delay"),
    ("x: -> delay 5ms 6ms\n", "1:17:", "no argument of delay"),
    ("x: -> delay 5ms jitter=5\n", "1:17:", "no argument of delay"),
    ("x: -> cut RST\n", "1:11:", "no argument of cut"),
    ("x: nth=0 -> cut\n", "1:4:", "a number from 1"),
    ("x: nth=2x -> cut\n", "1:4:", "a number from 1"),
    ('x: "nth=2\\0x" -> cut\n', "1:4:", "a number from 1"),
    ('x: "client=2\\0x" -> cut\n', "1:4:", "a number from 1"),
    ('x: "command=SET\\0x" -> cut\n', "1:4:", "a command or several"),
    ('x: "chance=5%\\0x" -> cut\n', "1:4:", "a chance such as"),
    ("x: chance=5.% -> cut\n", "1:4:", "a chance such as"),
    ("x: chance=0.00001% -> cut\n", "1:4:", "a chance such as"),
    ("x: from=1.s -> cut\n", "1:4:", "a time such as"),
    ('x: once -> "cut\\0x"\n', "1:12:", "unknown action"),
    ('x: once -> cut "rst\\0x"\n', "1:16:", "is no argument of cut"),
    ('x: once -> duplicate "2\\0x"\n', "1:22:", "is no argument of duplicate"),
    ("x: chance=101% -> cut\n", "1:4:", "a chance such as"),
    ("x: once once -> cut\n", "1:9:", "is given twice"),
    ("x: before after -> cut\n", "1:1:", "not several"),
    ("x: once nth=2 -> cut\n", "1:1:", "exclude each other"),
    ("x: after -> drop-request\n", "1:13:", "cannot strike after"),
    ("x: before reply=a -> cut\n", "1:22:", "there is no reply"),
    ("x: -> cut\nx: -> cut\n", "2:1:", "a second rule named 'x'"),
    ('x: key="a -> cut\n', "1:4:", "quote that does not end"),
    ('x: -> answer "\\q"\n', "1:15:", "unknown escape"),
    ("x: -> duplicate 1000\n", "1:7:", "at most 100"),
    ("x\0: -> cut\n", "1:1:", "zero byte"),
]


@pytest.mark.parametrize("rules, place, words", BAD)
def test_bad_rules(tmp_path, rules, place, words):
    path = tmp_path / "rules"
    path.write_text(rules)
    done = run("proxy", "--rules", path)
    assert done.status == 64 and f"{path}:{place}" in done.err and words in done.err, done
    assert done.out == ""


def test_files_that_are_no_rules(tmp_path):
    (tmp_path / "big").write_bytes(b"# x\n" * (1 << 17))
    for path, words in [(tmp_path, "directory"), (tmp_path / "none", "No such file"), (tmp_path / "big", "at most")]:
        done = run("proxy", "--rules", path)
        assert done.status == 64 and words in done.err, done


@pytest.mark.parametrize("options, status, words", [
    (["--listen", "nonsense"], 64, "is not an address"),
    (["--listen", "127.0.0.1:80x"], 64, "is not an address"), (["--listen", "127.0.0.1:+80"], 64, "is not an address"),
    (["--listen", "127.0.0.1: 80"], 64, "is not an address"), (["--upstream", "x:99999"], 64, "is not an address"),
    (["--upstream", "no-such-host.invalid:1"], 69, "cannot find"), (["--log", "/nowhere/log"], 64, "/nowhere/log"),
    (["--lisen", "1"], 64, "did you mean"), (["rules"], 64, "options only"),
])
def test_bad_options(options, status, words):
    done = run("proxy", *options)
    assert done.status == status and words in done.err, done


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("proxy", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.status == 69 and "address already in use" in done.err, done


# --- the process ------------------------------------------------------------------------------------------------


def test_no_password_is_logged(ruled, tmp_path):
    with ruled(NEVER) as (client, ask), client() as c:
        for line in (b"AUTH hunter2", b"AUTH user hunter2", b"HELLO 3 AUTH user hunter2", b"auth hunter2",
                     b"NOSUCH a hunter2", b"CONFIG SET requirepass hunter2", b"CONFIG SET requirepass \"\""):
            c(line)
        c.sock.sendall(b"*2\r\n$4\r\nAUTH\r\n$7\r\nhunter2\r\n")
    text = (tmp_path / "log").read_text()
    assert "hunter2" not in text and '"AUTH"' in text and '"HELLO"' in text
    assert all(re.match(r'\{"time_us":\d+,"event":"', line) for line in text.splitlines())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_links_open(redis, tmp_path, number):
    with proxy(redis, "--log", tmp_path / "log") as (port, process), direct(port) as c:
        assert c(b"PING") == b"+PONG"
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events[0] == "begin" and "end" in events and events.count("open") == events.count("close")


def listen_on(path, *before):
    process = subprocess.Popen([*before, PICKLOCK, "proxy", "--listen", f"unix:{path}"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == f"unix:{path}\n"
    return process


def test_a_terminal_that_hangs_up_leaves_no_socket(tmp_path):
    """The same command works again."""
    for _ in range(2):
        process = listen_on(tmp_path / "down")
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=PATIENCE_S) == ("", "") and process.returncode == 0
        assert not (tmp_path / "down").exists()


def test_under_nohup_it_survives_a_terminal(tmp_path):
    process = listen_on(tmp_path / "down", "nohup")
    process.send_signal(signal.SIGHUP)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "down"))  # still served
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def test_it_dies_with_its_parent(redis, tmp_path):
    code = ("import subprocess,sys,time\n"
            "p=subprocess.Popen(sys.argv[1:],stdout=subprocess.PIPE,text=True)\n"
            "print(p.pid, p.stdout.readline().strip(), flush=True)\n"
            "time.sleep(600)\n")
    parent = subprocess.Popen([sys.executable, "-c", code, PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{redis}"],
                              stdout=subprocess.PIPE, text=True)
    pid, port = map(int, parent.stdout.readline().split())
    with direct(port) as c:
        assert c(b"PING") == b"+PONG"
        parent.kill()
        parent.wait()
        assert c.sock.recv(1) == b""
    end = time.monotonic() + PATIENCE_S
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        if b"Z" in pathlib.Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[-1].split()[0]:
            break  # nobody reaps orphans here
        time.sleep(0.02)
    else:
        assert not pathlib.Path(f"/proc/{pid}").exists()
    parent.stdout.close()


def test_a_unix_socket_on_both_sides(tmp_path):
    def play(server):
        with contextlib.suppress(OSError):
            peer, _ = server.accept()
            with peer:
                peer.sendall(peer.recv(100).replace(b"ping", b"+pong"))

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "up"))
        server.listen()
        thread = threading.Thread(target=play, args=(server,))
        thread.start()
        process = subprocess.Popen([PICKLOCK, "proxy", "--listen", f"unix:{tmp_path}/down", "--upstream",
                                    f"unix:{tmp_path}/up"], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == f"unix:{tmp_path}/down\n"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(tmp_path / "down"))
            client.sendall(b"ping\r\n")
            assert client.recv(100) == b"+pong\r\n"
        thread.join(PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0


def test_few_descriptors_are_a_clear_refusal(redis):
    """Of a hard limit of 84 open files 64 are kept for others: ten links, and the eleventh is told off."""
    command = f"ulimit -n 84 && exec {shlex.quote(str(PICKLOCK))} proxy --upstream 127.0.0.1:{redis}"
    process = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(process.stdout.readline())
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(direct(port)) for _ in range(10)]
        assert all(c(b"PING") == b"+PONG" for c in clients)
        with pytest.raises(ConnectionResetError), connect(port) as extra:  # while connecting, or right behind
            extra.recv(1)
        assert all(c(b"PING") == b"+PONG" for c in clients)  # nobody else has suffered
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and err.count("raise the limit of open files") == 1, err


def test_thousands_of_links_at_once(redis):
    count = 2000
    with proxy(redis) as (port, _), contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(port)) for _ in range(count)]
        for i, client in enumerate(clients):
            client.sendall(b"ECHO %05d\r\n" % i)
        for i, client in enumerate(clients):
            expected = b"$5\r\n%05d\r\n" % i
            got = b""
            while len(got) < len(expected):
                got += client.recv(100)
            assert got == expected


def test_a_server_that_is_gone_is_a_reset(tmp_path):
    with proxy(free_port(), "--log", tmp_path / "log") as (port, _):
        # The reset may be quicker than connect() itself.
        with pytest.raises(ConnectionResetError), connect(port) as client:
            client.recv(1)
    assert "connection refused" in (tmp_path / "log").read_text()
