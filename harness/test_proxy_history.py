"""`picklock proxy --history`: what clients do to their locks behind the proxy's rules, as a history that `check` judges."""

import contextlib
import json
import re
import resource
import shutil
import signal
import socket
import subprocess

import pytest
import redis
from conftest import PATIENCE_S, PICKLOCK, run, server

A, B = "token-of-client-A", "token-of-client-B"
CAD = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"


@pytest.fixture(scope="module")
def upstream():
    with server() as port:
        yield port


@contextlib.contextmanager
def recorded(upstream, tmp_path, rules="", ends=signal.SIGTERM, words=(), name="h.jsonl", **more):
    """A proxy that writes a history; yields how to connect. What it came to is .status, .words, .events."""
    (tmp_path / "rules").write_text(rules)
    with redis.Redis(port=upstream) as ask:
        ask.flushall()
    process = subprocess.Popen([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{upstream}", "--rules", tmp_path / "rules", "--key",
                                "lock:*", "--history", tmp_path / name, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    port = int(process.stdout.readline())

    def client(**more):
        return redis.Redis(port=port, socket_timeout=PATIENCE_S, **more)

    client.process = process
    try:
        yield client
    finally:
        process.send_signal(ends)
        _, client.words = process.communicate(timeout=PATIENCE_S)
        client.status = process.returncode
        text = (tmp_path / name).read_text() if (tmp_path / name).exists() else ""
        client.text, client.events = text, [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def verdicts(tmp_path):
    checked = run("check", tmp_path / "h.jsonl", "--json", "-")
    row, = checked.json["results"]
    return checked.status, {found["property"]: found["verdict"] for found in row["properties"]}, row


def of_kind(client, kind, op=None):
    return [event for event in client.events if event.get("kind") == kind and op in (None, event.get("op"))]


def test_what_is_right_holds_and_no_token_is_written(upstream, tmp_path):
    with recorded(upstream, tmp_path, "slow: command=SET every=2 before -> delay 2ms\n") as client:
        with client() as a, client() as b:
            for _ in range(3):
                assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
                assert a.eval(CAD, 1, "lock:1", A) == 1
                assert b.set("lock:1", B, nx=True, px=20000) and b.eval(CAD, 1, "lock:1", B) == 1
    assert client.status == 0, client.words
    assert "6 grants" in client.words and "6 releases" in client.words
    status, found, _ = verdicts(tmp_path)
    assert found["lease-exclusion"] == found["release-own"] == "holds" and status == 0
    assert A not in client.text and B not in client.text and "SET lock:1 #" in client.text
    assert len({event["token"] for event in of_kind(client, "return", "acquire") if "token" in event}) == 2


def test_it_is_judged_as_a_whole_where_it_was_followed(upstream, tmp_path):
    with recorded(upstream, tmp_path) as client:
        follows = subprocess.Popen([PICKLOCK, "check", "--follow", tmp_path / "h.jsonl", "--json", tmp_path / "r.json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        with client() as a, client() as b:
            for _ in range(2):
                assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
                assert a.eval(CAD, 1, "lock:1", A) == 1
                assert b.set("lock:1", B, nx=True, px=20000) and b.eval(CAD, 1, "lock:1", B) == 1
    said, _ = follows.communicate(timeout=PATIENCE_S)
    row, = json.loads((tmp_path / "r.json").read_text())["results"]
    assert follows.returncode == 0 and row["verdict"] == "holds" == verdicts(tmp_path)[2]["verdict"], said


def test_what_is_wrong_is_violated(upstream, tmp_path):
    with recorded(upstream, tmp_path) as client, client() as a, client() as b:
        assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
        b.delete("lock:1")
        assert b.set("lock:1", B, nx=True, px=20000)
        assert a.eval(CAD, 1, "lock:1", A) == 0
    status, found, _ = verdicts(tmp_path)
    assert status == 1 and found["release-own"] == "violated"


@pytest.mark.parametrize("action", ["cut rst", 'answer "-ERR lost"'])
def test_a_grant_that_is_executed_and_lost_is_no_hold(upstream, tmp_path, action):
    with recorded(upstream, tmp_path, f"lose: command=SET once after -> {action}\n") as client:
        with client() as a, client() as b:
            with pytest.raises(redis.RedisError):
                a.set("lock:1", A, nx=True, px=30)
            while b.exists("lock:1"):
                pass
            assert b.set("lock:1", B, nx=True, px=20000) and b.eval(CAD, 1, "lock:1", B) == 1
    assert client.status == 0, client.words
    first, second = of_kind(client, "return", "acquire")
    assert first["result"] == "failed" and second["result"] == "granted"
    assert [event["client"] for event in of_kind(client, "hear", "acquire")] in ([], [second["client"]])
    assert verdicts(tmp_path)[1].get("lease-exclusion") != "violated"


def test_a_grant_that_is_told_late_is_heard_late(upstream, tmp_path):
    with recorded(upstream, tmp_path, "late: command=SET once after -> delay 120ms\n") as client:
        with client() as a, client() as b:
            assert a.set("lock:1", A, nx=True, px=20000)
            assert b.get("lock:1") and a.eval(CAD, 1, "lock:1", A) == 1
    execute, = of_kind(client, "execute", "acquire")
    returned, = of_kind(client, "return", "acquire")
    assert returned["result"] == "granted" and returned["t"] - execute["t"] >= 120_000
    assert [event["result"] for event in of_kind(client, "return", "release")] == ["released"]


@pytest.mark.parametrize(("rule", "lease_ms", "verdict"), [("before", 60, "unknown"), ("after", 60, "unknown"), ("before", 20000, "holds"),
                                                           ("after", 20000, "holds")])
def test_a_grant_that_is_answered_when_its_lease_is_over_is_unknown(upstream, tmp_path, rule, lease_ms, verdict):
    """The lease counts from the request, wherever a rule kept it: whether its client refuses so late a grant only that knows."""
    with recorded(upstream, tmp_path, f"late: command=SET once {rule} -> delay 90ms\n") as client, client() as a:
        assert a.set("lock:1", A, nx=True, px=lease_ms)
    status, found, row = verdicts(tmp_path)
    assert found["fresh-grant"] == verdict and status == 2, row  # nobody contended
    witness, = [found["witness"] for found in row["properties"] if found["property"] == "fresh-grant"]
    assert not witness if verdict == "holds" else "after the end of its own lease" in witness[0]


def test_others_are_served_while_a_rule_holds_one(upstream, tmp_path):
    rules = "wait: command=SET client=1 -> hold until=go max=100s\ngo: command=PING -> release go\n"
    with recorded(upstream, tmp_path, rules) as client:
        with client() as a, client() as b:
            a.ping()  # client 1, and the label is open from here on
            assert a.set("lock:1", A, nx=True, px=20000) and b.eval(CAD, 1, "lock:1", A) == 1
    assert "1 grant," in client.words
    rules = "wait: command=SET client=1 -> hold until=go max=100s\ngo: command=DEL key=go -> release go\n"
    with recorded(upstream, tmp_path, rules) as client:
        with client() as a, client() as b:
            connection = a.connection_pool.get_connection("SET")
            connection.send_command("SET", "lock:1", A, "NX", "PX", 20000)
            assert b.set("lock:1", B, nx=True, px=20000)  # watched, too; and not behind the one that is held
            b.delete("go")
            assert connection.read_response() is None
    assert "1 grant, 1 refusal" in client.words and client.status == 0


@pytest.mark.parametrize(("rules", "words", "sent"), [
    ("", "wants no reply", [("CLIENT", "REPLY", "OFF"), ("SET", "lock:1", A, "NX", "PX", 20000)]),
    ('odd: command=SET before -> garbage "PING\\r\\n"\n', "garbage", [("SET", "lock:1", A, "NX", "PX", 20000)]),
    ("twice: command=SET -> duplicate\n", "2 times", [("SET", "lock:1", A, "NX", "PX", 20000), ("PING",)]),
])
def test_what_is_not_whole_says_so_and_is_unknown(upstream, tmp_path, rules, words, sent):
    with recorded(upstream, tmp_path, rules) as client, client() as a, client() as b:
        connection = a.connection_pool.get_connection("SET")
        for command in sent:
            connection.send_command(*command)
        while not b.exists("lock:1"):
            pass
    assert client.status == 2 and words in client.words
    status, found, row = verdicts(tmp_path)
    assert status == 2 and "holds" not in found.values()
    assert words in client.events[0]["incomplete"]


WRONG = ("a.set('lock:1', A, nx=True, px=20000), b.set('lock:1', B, nx=True, px=20000), b.delete('lock:1'), "
         "b.set('lock:1', B, nx=True, px=20000), a.eval(CAD, 1, 'lock:1', A)")
RIGHT = "a.set('lock:1', A, nx=True, px=20000), b.set('lock:1', B, nx=True, px=20000), a.eval(CAD, 1, 'lock:1', A)"


def until_written(path, words):
    while words not in path.read_text():
        pass


@pytest.mark.parametrize(("program", "status"), [(RIGHT, 2), (WRONG, 1)], ids=["right", "wrong"])
def test_a_writer_that_is_killed_leaves_what_was_seen(upstream, tmp_path, program, status):
    """It stands at its place as it is written. Without its end nothing holds in it; what was violated before is."""
    with recorded(upstream, tmp_path, ends=signal.SIGKILL) as client, client() as a, client() as b:
        eval(program, {"a": a, "b": b, "A": A, "B": B, "CAD": CAD})
        until_written(tmp_path / "h.jsonl", '"op":"release"')
    assert client.status == -signal.SIGKILL and "end" not in client.events[-1]
    checked, found, row = verdicts(tmp_path)
    assert checked == status and "holds" not in found.values(), found
    assert status == 1 or "the history has no end: its writer was killed" in row["trouble"], row
    lines = client.text.splitlines(keepends=True)
    for kept in ("".join(lines[:-1]) + lines[-1][:20], lines[0]):  # and wherever its last write was cut
        (tmp_path / "h.jsonl").write_text(kept)
        checked, found, row = verdicts(tmp_path)
        assert checked in (status, 2) and "holds" not in found.values(), found


SPOIL = {"removed": lambda file: file.unlink(), "replaced": lambda file: (file.with_name("new").write_text("of another"), file.with_name("new").replace(file)),
         "cut": lambda file: file.open("w").close(), "folder": lambda file: shutil.rmtree(file.parent), "renamed": lambda file: file.rename(f"{file}.1")}


@pytest.mark.parametrize(("how", "words"), [("removed", "removed or replaced it"), ("folder", "removed or replaced it"),
                                            ("replaced", "removed or replaced it"), ("cut", "cut it"), ("renamed", None)])
def test_a_history_that_others_spoil_is_told_of_at_once_and_in_the_end(upstream, tmp_path, how, words):
    history = tmp_path / "kept" / "h.jsonl"
    history.parent.mkdir()
    with recorded(upstream, tmp_path, name="kept/h.jsonl") as client, client() as a, client() as b:
        program = {"a": a, "b": b, "A": A, "B": B, "CAD": CAD}
        eval(RIGHT, program)
        until_written(history, '"op":"release"')
        SPOIL[how](history)
        eval(RIGHT, program)
        while words and "cannot be written on: another program" not in client.process.stderr.readline():
            pass
        eval(RIGHT, program)
    if words:
        assert client.status == 70 and f"{history}: cannot be written: another program {words}" in client.words, client.words
        assert "sure to be in it" not in client.words and (how != "replaced" or history.read_text() == "of another"), client.words
    else:
        assert client.status == 0 and "3 grants" in client.words and run("check", f"{history}.1").status == 0, client.words


def test_a_history_does_not_go_where_the_address_is_told(upstream, tmp_path):
    with open(tmp_path / "out", "w") as out:
        for name in ("-", tmp_path / "out"):
            ran = subprocess.run([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{upstream}", "--key", "*", "--history", name], stdout=out,
                                 stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
            assert ran.returncode == 64 and f"--history {name}: stdout tells what it listens on" in ran.stderr, ran
    assert (tmp_path / "out").read_text() == ""


def test_a_full_disk_leaves_what_was_seen_and_everybody_is_served(upstream, tmp_path):
    """A limit like a full disk. It is told at once, and in the end."""
    with recorded(upstream, tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))) as client, client() as a:
        while (tmp_path / "h.jsonl").stat().st_size < 60000:
            assert a.set("lock:1", A, nx=True, px=20000) and a.eval(CAD, 1, "lock:1", A) == 1
        while "cannot be written on" not in client.process.stderr.readline():
            pass
        assert a.set("lock:1", A, nx=True, px=20000)
    assert client.status == 70
    counted = re.search(r"cannot be written.*; of (\d+) events the first (\d+) are sure to be in it", client.words)
    assert counted and int(counted[1]) > int(counted[2]), client.words  # how many: as its last turn went
    assert (tmp_path / "h.jsonl").read_text().count('{"i":') >= int(counted[2])
    status, found, row = verdicts(tmp_path)
    assert status == 2 and "holds" not in found.values() and "the history has no end" in row["trouble"], row


@pytest.mark.parametrize(("words", "status"), [
    ("--listen 127.0.0.1:PORT", 69), ("--listen unix:SOCKET", 69), ("--control SOCKET", 69), ("--rules none", 64), ("--rules slip", 64),
    ("--listen nonsense", 64), ("--upstream 127.0.0.1:1", 69)])
def test_a_start_that_fails_leaves_what_stood_there(upstream, tmp_path, words, status):
    """The history and the log of an earlier proxy."""
    kept = [tmp_path / "h.jsonl", tmp_path / "log"]
    for file in kept:
        file.write_text("of an earlier run")
    (tmp_path / "slip").write_text("no rule")
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket(socket.AF_UNIX) as taken_path:
        taken_path.bind(str(tmp_path / "socket"))
        taken_path.listen()
        words = words.replace("PORT", str(taken.getsockname()[1])).replace("SOCKET", "socket").split()
        if "--upstream" not in words:
            words += ["--upstream", f"127.0.0.1:{upstream}"]
        ran = run("proxy", "--history", "h.jsonl", "--key", "*", "--log", "log", *words, cwd=tmp_path)
    assert ran.status == status and ran.out == "" and [file.read_text() for file in kept] == ["of an earlier run"] * 2, ran
    assert sorted(file.name for file in tmp_path.iterdir()) == ["h.jsonl", "log", "slip", "socket"]


def test_an_address_that_cannot_be_printed_gives_back_what_stood_there(upstream, tmp_path):
    (tmp_path / "h.jsonl").write_text("of an earlier run")
    with open("/dev/full", "w") as full:
        ran = subprocess.run([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{upstream}", "--history", tmp_path / "h.jsonl", "--key", "*"],
                             stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 70 and "cannot be printed" in ran.stderr, ran
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("h.jsonl", "of an earlier run")]


def test_no_second_proxy_writes_to_the_same_file(upstream, tmp_path):
    """It is refused by the name of the file, and the first one goes on as if nothing had been; when that has ended, the file is free."""
    log = ["--log", tmp_path / "log"]
    words = ["proxy", "--upstream", f"127.0.0.1:{upstream}", "--key", "lock:*", "--history"]
    with recorded(upstream, tmp_path, words=log) as client, client() as a, client() as b:
        assert a.set("lock:1", A, nx=True, px=20000) and not b.set("lock:1", B, nx=True, px=20000)
        other = [*words, tmp_path / "other.jsonl"]
        for name, second in [("h.jsonl", [*words, tmp_path / "h.jsonl"]), ("log", [*other, *log]), ("h.jsonl", [*other, "--log", tmp_path / "h.jsonl"])]:
            refused = run(*second)
            assert refused.status == 69 and f"{tmp_path / name}: another picklock writes it, and runs" in refused.err and refused.out == "", refused
        assert a.eval(CAD, 1, "lock:1", A) == 1
    assert client.status == 0 and verdicts(tmp_path)[0] == 0, client.words
    assert sorted(file.name for file in tmp_path.iterdir()) == ["h.jsonl", "log", "rules"]
    with recorded(upstream, tmp_path, words=log) as client:
        pass
    assert client.status == 2 and len(client.events) == 2, client.words


def test_a_log_that_cannot_be_made_leaves_the_history_that_stood_there(upstream, tmp_path):
    (tmp_path / "h.jsonl").write_text("of an earlier run")
    ran = run("proxy", "--upstream", f"127.0.0.1:{upstream}", "--history", tmp_path / "h.jsonl", "--key", "*", "--log", tmp_path / "no" / "log")
    assert ran.status == 64 and (tmp_path / "h.jsonl").read_text() == "of an earlier run", ran


@pytest.mark.parametrize(("log", "status"), [("log", 0), ("/dev/full", 70)])
def test_a_history_that_is_whole_stays_whatever_becomes_of_the_log(upstream, tmp_path, log, status):
    """What stood there is replaced, once the proxy serves."""
    for name in ("h.jsonl", "log"):
        (tmp_path / name).write_text("of an earlier run\n" * 1000)
    with recorded(upstream, tmp_path, words=["--log", tmp_path / log]) as client, client() as a, client() as b:
        eval(RIGHT, {"a": a, "b": b, "A": A, "B": B, "CAD": CAD})
    assert client.status == status and "1 grant, 1 refusal, 1 release" in client.words, client.words
    assert ("cannot write the log" in client.words) == (status == 70), client.words
    checked, found, _ = verdicts(tmp_path)
    assert checked == 0 and found["lease-exclusion"] == "holds"
    if log == "log":
        events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
        assert events[0] == "begin" and events.count("end") == 1


def test_no_history_where_it_cannot_be_written(upstream, tmp_path):
    for key in ([], ["--key", "lock:*"]):
        refused = run("proxy", "--upstream", f"127.0.0.1:{upstream}", "--history", tmp_path / "no" / "h.jsonl", *key)
        assert refused.status in (64, 70) and refused.out == ""
    nobody = run("proxy", "--upstream", "127.0.0.1:1", "--history", tmp_path / "h.jsonl", "--key", "*")
    assert nobody.status == 69 and not (tmp_path / "h.jsonl").exists()
