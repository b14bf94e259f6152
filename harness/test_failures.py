"""Servers that are missing, refuse, want a password or die; and what remains of picklock when it is killed."""

import contextlib
import itertools
import json
import os
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import threading

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, adopt_orphans, ask, free_port, run, server, servers, stat_of, until

ONE = "scenarios/expired-lease-double-delete.yaml"


def test_an_existing_server_keeps_its_keys(picklock):
    with server() as port:
        ask(port, "SET", "mine", "1")
        ran = picklock("run", "--scheme", "set-nx-px-cad", ONE, "--redis",
                       f"redis://127.0.0.1:{port}", "--json", "-")
        assert ran.status == 0, ran
        assert ask(port, "KEYS", "*") == "mine"


def test_what_an_existing_server_cannot_be_used_for_is_not_run(picklock, tmp_path):
    """A server behind a URL is not restarted, promoted or steered: those rows are not applicable, and say why; the others run."""
    clock = tmp_path / "clock.yaml"
    clock.write_text("name: clock\nsource: of this test\nlease: 1s\nclients: [A, B]\nsteps:\n  - A acquires\n"
                     "  - server's clock jumps 1s\nexpect:\n  set-nx-px-cad: { mutual-exclusion: holds }\n")
    with server() as port:
        ran = picklock("run", "--scheme", "set-nx-px-cad", ONE, "scenarios/failover-loses-lock.yaml",
                       "scenarios/eviction.yaml", clock,
                       "--redis", f"redis://127.0.0.1:{port}", "--json", "-")
    good, *left = ran.json["results"]
    assert good["as_expected"] is True
    for row, words in zip(left, ["private servers", "this run needs 3", "clock"], strict=True):
        assert row["verdict"] == "not_applicable" and words in row["not_applicable"], row
        assert "history" not in row or row["history"] is None, row
    assert ran.status == 0, ran
    with server() as port:
        ran = picklock("run", "--scheme", "set-nx-px-evalsha", "scenarios/script-flush.yaml",
                       "--redis", f"redis://127.0.0.1:{port}", "--json", "-")
    assert ran.status == 2 and "would touch more" in ran.json["results"][0]["not_applicable"], ran


def test_stress_with_a_quorum_does_not_apply_to_one_server(picklock):
    with server() as port:
        ran = picklock("stress", "--scheme", "redlock", "--duration", "50ms", "--redis", f"redis://127.0.0.1:{port}",
                       "--json", "-")
    [row] = ran.json["results"]
    assert ran.status == 2 and row["verdict"] == "not_applicable" and "needs 5" in row["not_applicable"], ran


@pytest.mark.parametrize("words", ["--delay 1%", "--lose-reply 1%", "--lose-request 1%", "--silence 1%", "--refuse 1%",
                                   "--delay-past-lease 1%", "--real-time", "--redis redis://127.0.0.1:1", "--worker true",
                                   "--unix-sockets"])
def test_what_wants_the_proxy_is_refused_by_name_without_it(words):
    ran = run("stress", "--direct", *words.split())
    assert ran.status == 64 and words.split()[0] in ran.err and "--direct" in ran.err, ran


@pytest.mark.parametrize("words", ["--refuse 1%", "--worker true"])
def test_what_wants_tcp_is_refused_by_name_over_unix_sockets(words):
    ran = run("stress", "--unix-sockets", *words.split())
    assert ran.status == 64 and words.split()[0] in ran.err and "--unix-sockets" in ran.err, ran


@pytest.mark.parametrize("way", ["--direct", "--unix-sockets"])
def test_keys_and_connections_go_however_clients_are_connected(tmp_path, way):
    ran = run("stress", way, "--scheme", "set-nx-px-cad", "--clients", "60", "--duration", "500ms", "--no-faults", "--flush-all", "10%",
              "--client-kill", "10%", "--history", "--out", tmp_path)
    [history] = (tmp_path / "latest" / "histories").glob("*.jsonl")
    text = history.read_text()
    assert ran.status in (0, 1) and '"fault":"flush-all"' in text and '"fault":"client-kill"' in text, ran


@pytest.mark.parametrize("way, says", [("--direct", "directly, without the proxy"), ("--unix-sockets", "by unix sockets, not over TCP")])
def test_a_run_says_how_clients_were_connected(tmp_path, way, says):
    ran = run("stress", way, "--scheme", "set-nx-px-cad", "--clients", "5", "--duration", "150ms", "--no-faults", "--out", tmp_path)
    assert ran.status in (0, 2) and says in " ".join(ran.out.split()), ran


def test_stress_says_where_order_costs_concurrency(picklock):
    """Somebody else's server does not tell in which order it reads; ours does."""
    stress = ["stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--no-faults", "--duration", "200ms", "--json", "-"]
    with server() as port:
        foreign = picklock(*stress, "--redis", f"redis://127.0.0.1:{port}")
    ours = picklock(*stress)
    assert [row["verdict"] for ran in (foreign, ours) for row in ran.json["results"]] == ["holds"] * 2, (foreign, ours)
    assert "one command at a time" in " ".join(foreign.json["notes"]) and "notes" not in ours.json


def test_stress_concludes_nothing_from_an_answer_that_a_command_never_gives(picklock, tmp_path):
    """It has deleted the key, perhaps: no lock is blamed for leaving it."""
    (tmp_path / "rules").write_text('lie: command=EVALSHA beyond=20 after -> answer "+OK"\nalso: command=EVAL beyond=20 after -> answer "+OK"\n')
    with server() as port, subprocess.Popen([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{port}", "--rules", tmp_path / "rules"],
                                            stdout=subprocess.PIPE, text=True) as proxy:
        between = f"redis://127.0.0.1:{int(proxy.stdout.readline())}"
        ran = picklock("stress", "--scheme", "set-nx-px-cad", "--clients", "3", "--no-faults", "--think", "0ms", "--duration", "1s",
                       "--redis", between, "--out", tmp_path, "--json", "-")
        proxy.terminate()
    assert ran.status == 2 and "with what that never answers" in str(ran.json["results"]), ran
    assert not [found for row in ran.json["results"] for found in row["properties"] if found["verdict"] == "violated"], ran


@pytest.mark.parametrize(("answer", "status"), [("$1\\r\\n1", 2), (":1", 0)], ids=["a text for a number", "its own"])
def test_a_directed_run_concludes_nothing_from_an_answer_that_a_command_never_gives(picklock, tmp_path, answer, status):
    (tmp_path / "rules").write_text("".join(f'{name}: command={name} nth=1 after -> answer "{answer}"\n' for name in ("EVAL", "EVALSHA")))
    story = tmp_path / "gives-back.yaml"
    story.write_text("name: gives-back\nsource: of this test\nlease: 1s\nclients: [A, B]\nsteps:\n  - A acquires\n  - A releases\n  - B acquires\n"
                     "expect:\n  set-nx-px-cad: { release-own: holds }\n")
    with server() as port, subprocess.Popen([PICKLOCK, "proxy", "--upstream", f"127.0.0.1:{port}", "--rules", tmp_path / "rules"],
                                            stdout=subprocess.PIPE, text=True) as proxy:
        ran = picklock("run", "--scheme", "set-nx-px-cad", story, "--redis", f"redis://127.0.0.1:{int(proxy.stdout.readline())}", "--json", "-")
        proxy.terminate()
    assert ran.status == status and ("with what that never answers" in str(ran.json["results"])) == (status == 2), ran
    assert not [found for row in ran.json["results"] for found in row["properties"] if found["verdict"] == "violated"], ran


def test_a_long_run_tells_how_far_it_is(picklock, tmp_path):
    """No terminal: what is to come, then a line every few seconds, with what is left."""
    story = tmp_path / "long.yaml"
    story.write_text("name: long\nsource: of this test\nlease: 1s\nclients: [A, B]\nsteps:\n  - A acquires\n"
                     "  - B acquires\n  - time passes 3s\nexpect:\n  set-nx-px-cad: { mutual-exclusion: holds }\n")
    with server() as port:
        ran = picklock("run", story, "scenarios/failover-loses-lock.yaml", "--scheme", "set-nx-px-cad",
                       "--repeat", "3", "--redis", f"redis://127.0.0.1:{port}")
    first, *later = ran.err.splitlines()
    assert first == "3 runs, about 9 s: leases run out in real time; 3 more do not apply here", ran
    assert later and all(re.fullmatch(r"[123]/3 long, about \d+ s left", line) for line in later), ran
    quick = picklock("run", story, "--scheme", "set-nx-px-cad", "--on", "sim")
    assert quick.status == 0 and not quick.err, quick


def test_a_server_that_refuses(picklock):
    ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{free_port()}")
    assert ran.status == 69 and "refused" in ran.err, ran


@pytest.mark.parametrize("url", ["http://127.0.0.1", "redis://127.0.0.1:99999", "redis://",
                                 "redis://127.0.0.1/x"])
def test_a_url_that_is_none(picklock, url):
    ran = picklock("run", ONE, "--redis", url)
    assert ran.status == 64 and "redis://" in ran.err, ran


def test_a_replica_is_refused(picklock):
    with server() as primary, server("--replicaof", f"127.0.0.1 {primary}") as port:
        ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}")
    assert ran.status == 69 and "replica" in ran.err, ran


def test_a_server_out_of_memory(picklock):
    with server("--maxmemory", "1", "--maxmemory-policy", "noeviction") as port:
        ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}")
    assert ran.status == 69 and "memory" in ran.err, ran


@contextlib.contextmanager
def loading_server():
    """A server that answers -LOADING: a real one has too short a time of it to be caught."""
    code = ("import socket,threading\n"
            "s=socket.create_server(('127.0.0.1',0));print(s.getsockname()[1],flush=True)\n"
            "def serve(c):\n"
            "  while c.recv(4096): c.sendall(b'-LOADING Redis is loading the dataset in memory\\r\\n')\n"
            "while True: threading.Thread(target=serve,args=(s.accept()[0],),daemon=True).start()\n")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_a_sentinel_is_named_as_such(picklock, tmp_path):
    conf = tmp_path / "sentinel.conf"
    conf.write_text("sentinel monitor mine 127.0.0.1 1 1\n")
    port = free_port()
    process = subprocess.Popen(["redis-server", conf, "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
                               stdout=subprocess.DEVNULL)
    try:
        until(lambda: ask(port, "PING") == "PONG", "the Sentinel answers")
        for database in ("", "/3"):
            ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}{database}")
            assert ran.status == 69 and "Sentinel" in ran.err and "get-master-addr-by-name" in ran.err, ran
    finally:
        process.kill()
        process.wait()


def test_a_node_of_a_cluster_is_named_as_such(picklock, tmp_path):
    with server("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--dir", str(tmp_path)) as port:
        for database in ("", "/3"):
            ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}{database}")
            assert ran.status == 69 and "node of a Redis Cluster" in ran.err, ran


@contextlib.contextmanager
def speaker(words):
    """Says words to everybody who says something."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client = listener.accept()[0]
                    if client.recv(4096):
                        client.sendall(words)
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_server_that_answers_garbage(picklock):
    with speaker(b"HTTP/1.1 400 \x1b[31mBad Request\r\nServer: x\r\n\r\n") as port:
        ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}")
    assert ran.status == 69 and 'not Redis: "HTTP/1.1 400 .[31mBad Request"' in ran.err, ran


def test_a_private_server_that_answers_garbage(picklock, tmp_path):
    """Told within moments, not as one that never answered."""
    garbage = tmp_path / "garbage"
    garbage.write_text(f"#!{sys.executable}\n"
                       "import re, socket, sys\n"
                       "port = int(re.search(r'^port (\\d+)', open(sys.argv[1]).read(), re.M)[1])\n"
                       "listener = socket.create_server(('127.0.0.1', port))\n"
                       "while True:\n"
                       "    client = listener.accept()[0]\n"
                       "    if client.recv(4096): client.sendall(b'SSH-2.0-OpenSSH_9.2\\r\\n')\n")
    garbage.chmod(0o755)
    ran = picklock("run", ONE, "--redis-server", garbage)
    assert ran.status == 69 and 'not Redis: "SSH-2.0-OpenSSH_9.2"' in ran.err, ran


@contextlib.contextmanager
def relay(port, behind, does):
    """To that server. Behind so many answers each comes "twice", or one is "lost", or its connection "ends" instead."""
    def times(number):
        if does == "twice":
            return 2 if number > behind else 1
        return 0 if number == behind else 1

    def pump(source, target, answers):
        with contextlib.suppress(OSError):
            while words := source.recv(65536):
                often = times(next(answers)) if answers else 1
                if not often and does == "ends":
                    target.shutdown(socket.SHUT_WR)
                target.sendall(words * often)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            answers = itertools.count()
            with contextlib.suppress(OSError):
                while True:
                    client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
                    for way in ((client, server, None), (server, client, answers)):
                        threading.Thread(target=pump, args=way, daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("behind", [40, 200])
def test_a_server_that_answers_twice_is_told_as_such(picklock, tmp_path, behind):
    with server() as port, relay(port, behind, "twice") as doubled:
        ran = picklock("stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "20s", "--redis", f"redis://127.0.0.1:{doubled}",
                       "--out", tmp_path)
    assert ran.status == 69 and "a reply that no request asked for" in ran.err, ran


@pytest.mark.parametrize("does, says", [("ends", "a connection to server 1 ended"), ("lost", "was not answered within 5 s")])
def test_nothing_is_concluded_where_one_command_has_no_answer(picklock, tmp_path, does, says):
    with server() as port, relay(port, 300, does) as shown:
        ran = picklock("stress", "--scheme", "set-nx-px-cad", "--clients", "8", "--duration", "20s", "--no-faults", "--timeout", "50ms",
                       "--redis", f"redis://127.0.0.1:{shown}", "--out", tmp_path)
    assert ran.status == 2 and says in " ".join(ran.out.split()), ran


def test_a_private_server_in_cluster_mode(picklock, tmp_path):
    wrapper = tmp_path / "clustered"
    wrapper.write_text(f'#!/bin/sh\nexec redis-server "$@" --cluster-enabled yes --cluster-port {free_port()}\n')
    wrapper.chmod(0o755)
    ran = picklock("run", ONE, "--redis-server", wrapper)
    assert ran.status == 69 and "cluster mode" in ran.err, ran


@pytest.mark.parametrize("does, status, says", [('exec redis-server --bind 127.0.0.1 --port "$(sed -n "s/^port //p" "$1")"', 2, "answers somebody else"),
                                                ("exit 3", 69, "ended with status 3")])
def test_a_sentinel_that_is_none(picklock, tmp_path, does, status, says):
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *--sentinel*) {does};; esac\nexec redis-server "$@"\n')
    wrapper.chmod(0o755)
    ran = picklock("run", "scenarios/sentinel-fence.yaml", "--redis-server", wrapper)
    assert ran.status == status and says in " ".join((ran.out + ran.err).split()), ran


def test_a_sentinel_that_dies_while_it_promotes(picklock, tmp_path):
    """Behind its primary, which it never finds down: no clock is told to have gone astray, and the next run has a server again."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text("""#!/bin/sh
case "$*" in *--sentinel*)
    sed -i "s/^\\(sentinel down-after-milliseconds lock\\) .*/\\1 1000000000/" "$1"
    primary=$(cat "$0.$(sed -n "s/^sentinel monitor lock 127.0.0.1 \\([0-9]*\\) 1$/\\1/p" "$1")")
    (unset LD_PRELOAD; while kill -0 $primary; do sleep .01; done; kill -KILL $$) &
    ;;
*) echo $$ > "$0.$(sed -n "s/^port //p" "$1")" ;;
esac
exec redis-server "$@"
""")
    wrapper.chmod(0o755)
    ran = picklock("stress", "--scheme", "set-nx-px-cad,multi-setnx-expire-del", "--clients", "3", "--no-faults", "--sentinel-failover", "100%",
                   "--duration", "20s", "--out", tmp_path, "--redis-server", wrapper, "--json", "-")
    assert ran.status == 2, ran
    for row in ran.json["results"]:
        assert re.search("it ended after .*: the sentinel of server 1: ", row["trouble"]) and "clock" not in row["trouble"], ran


@pytest.mark.long("waits for half a minute")
def test_a_sentinel_that_promotes_nobody(picklock, tmp_path):
    """It never finds the primary down: unknown, and the next run has a server again."""
    wrapper = tmp_path / "wrapper"
    patient = 'sed -i "s/^\\(sentinel down-after-milliseconds lock\\) .*/\\1 1000000000/" "$1"'
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *--sentinel*) {patient};; esac\nexec redis-server "$@"\n')
    wrapper.chmod(0o755)
    ran = picklock("run", "scenarios/sentinel-fence.yaml", "scenarios/failover-fence.yaml", "--redis-server", wrapper, "--json", "-")
    by_name = {(row["scenario"], row["scheme"]): row["verdict"] for row in ran.json["results"]}
    assert by_name["sentinel-fence", "fenced"] == "unknown" and "it has not promoted the replica after 30 s" in json.dumps(ran.json), ran
    assert by_name["failover-fence", "set-nx-px-cad"] == "violated" and all(row["as_expected"] for row in ran.json["results"][1:]) and ran.status == 2


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "line\nend", "sp ace", "co:lon", "dol$LIBlar", "\xe4\u2713"])
def test_an_odd_folder_for_temporary_files(picklock, tmp_path, name):
    """The expired lease proves that the server's clock is steered, too."""
    odd = tmp_path / name
    odd.mkdir()
    ran = picklock("run", ONE, "--scheme", "set-nx-ex-del,set-nx-px-cad", env={"TMPDIR": str(odd)})
    assert ran.status == 0 and "unlock-bug" in ran.out, ran
    assert not list(odd.iterdir())


def test_a_server_that_is_loading(picklock):
    with loading_server() as port:
        ran = picklock("run", ONE, "--redis", f"redis://127.0.0.1:{port}")
    assert ran.status == 69 and "loading" in ran.err.lower(), ran


def test_no_redis_server_binary(picklock):
    ran = picklock("run", ONE, "--redis-server", "/nowhere/redis-server")
    assert ran.status == 69 and "/nowhere/redis-server" in ran.err, ran
    ran = picklock("run", ONE, env={"PATH": "/nowhere"})
    assert ran.status == 69 and "redis-server" in ran.err, ran


def test_a_redis_server_that_is_too_old(picklock, tmp_path):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=3.0.6 sha=00000000:0 malloc=libc bits=64'\n")
    old.chmod(0o755)
    ran = picklock("run", ONE, "--redis-server", old)
    assert ran.status == 69 and "3.0.6" in ran.err, ran


def test_a_binary_that_is_no_redis_server(picklock):
    ran = picklock("run", ONE, "--redis-server", "/bin/true")
    assert ran.status == 69 and "/bin/true" in ran.err, ran


def stressing(tmp_path, *more):
    process = subprocess.Popen([PICKLOCK, "stress", "--scheme", "set-nx-px-cad", "--clients", "5",
                                "--duration", "60s", "--out", tmp_path, *more], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "seed 1" in process.stderr.readline()  # the rates
    process.stderr.readline()  # the first progress line: servers run, clients work
    return process


def started_by_the_way(port, folder):
    """A redis-server whose parent has gone, as a daemon's has."""
    done = subprocess.run(
        ["sh", "-c", 'redis-server --port "$1" --bind 127.0.0.1 --save "" --appendonly no --dir "$2" >/dev/null 2>&1 & '
         "echo $!", "sh", str(port), str(folder)], text=True, capture_output=True, check=True)
    return int(done.stdout)


def test_only_servers_of_this_test_run_are_counted(tmp_path):
    """Somebody else's server, whose parent is process 1, may start at any time; one that we left behind is counted."""
    before, port = servers(), free_port()
    adopt_orphans(False)  # for a moment: what loses its parent now goes to process 1
    try:
        foreign = started_by_the_way(port, tmp_path)
        until(lambda: stat_of(foreign)[1] != os.getpid(), "it has another parent")
    finally:
        adopt_orphans(True)
    try:
        until(lambda: ask(port, "PING") == "PONG", "the foreign server answers")
        assert not servers() - before
    finally:
        os.kill(foreign, signal.SIGKILL)
    until(lambda: (stat_of(foreign) or "Z")[0] == "Z", "it is gone")
    left = started_by_the_way(free_port(), tmp_path)
    try:
        until(lambda: left in servers() - before, "the orphan is counted")
    finally:
        os.kill(left, signal.SIGKILL)
        os.waitpid(left, 0)


def test_killed_without_warning_it_leaves_no_server(tmp_path):
    before = servers()
    process = stressing(tmp_path)
    assert servers() - before, "a server runs"
    process.kill()
    process.communicate()
    until(lambda: not servers() - before, "the server is gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_no_server(tmp_path, number):
    """What it then reports: test_interrupted.py."""
    before = servers()
    process = stressing(tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (1, 2), err
    assert "set-nx-px-cad" in out and (tmp_path / "latest" / "results.json").exists()
    assert not servers() - before


def test_a_full_disk_leaves_no_half_file(tmp_path):
    """A file system of 64 kB: the history does not fit."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    program, small = shlex.quote(str(PICKLOCK)), shlex.quote(str(mount))
    script = (f"mount -t tmpfs -o size=64k none {small} && "
              f"{program} run --on sim --out {small}; status=$?; "
              f"find {small} -type f -size +0 | sed 's/^/left: /'; exit $status")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=ROOT, text=True,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 70 and "space" in done.stderr, done
    assert "INTERRUPTED: " in done.stdout and " as expected, " in done.stdout, "what was found is told"
    for line in done.stdout.splitlines():
        if line.startswith("left: "):  # whole ones
            assert line.endswith((".jsonl", ".schedule", "results.json", "report.md", "junit.xml", "index.html")), line


def test_what_was_explored_is_reported_though_its_witnesses_can_not_be_kept(tmp_path):
    """A report on another disk is whole, and names no file that is not there."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    explore = shlex.join([str(PICKLOCK), "explore", "--scheme", "set-nx-ex-del", "--fault", "stall", "--out", str(small), "--json", str(tmp_path / "r.json")])
    script = f"mount -t tmpfs -o size=8k none {small} && {explore}; status=$?; cd {small}/*-explore && find * -type f -size +0 | sed 's/^/left: /'; exit $status"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 70 and "No space left" in done.stderr and "broken (" in done.stdout, done
    results = json.loads((tmp_path / "r.json").read_text())
    named = [found[what] for row in results["results"] for found in row["properties"] for what in ("schedule", "history") if found.get(what)]
    left = [line.removeprefix("left: ") for line in done.stdout.splitlines() if line.startswith("left: ")]
    assert set(named) <= set(left) and "unlock-bug" in str(results["results"]), (named, left)
    assert any("Not every witness was kept: " in note for note in results["notes"]), results["notes"]


@pytest.mark.parametrize("words", [["run", ONE], ["test", "/usr/bin/python3 sim/worker/examples/naive_lock.py", ONE]])
def test_a_full_disk_for_temporary_files(tmp_path, words):
    """Its folder is named, and what to do about it; at whatever file the disk is full."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    command = f"TMPDIR={small} {shlex.join([str(PICKLOCK), *words])} --out {tmp_path}/out --progress none"
    script = (f"mount -t tmpfs -o size=64k none {small}; head -c 100000 /dev/zero > {small}/filled 2> {small}/log; {command}; echo $?; "
              f"truncate -s -4096 {small}/filled; {command}; echo $?")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S)
    full = [line for line in done.stderr.splitlines() if "no space is left on that disk" in line]
    assert done.stdout.split() == ["69", "69"] and len(full) == 2, done
    for line in full:
        assert f"{small}/picklock-servers-" in line and "set TMPDIR to a folder on another one" in line, line


@pytest.mark.parametrize("kilobytes, status", [(64, 69), (511, 69), (512, 0)])
def test_a_stack_that_is_too_small_is_refused(kilobytes, status):
    ran = run("list", "schemes", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (kilobytes * 1024, kilobytes * 1024)))
    assert ran.status == status and ("ulimit -s 512" in ran.err) == (status == 69), ran


def bounded(kilobytes, *words):
    """With a limit on the size of each file that it writes."""
    size = kilobytes * 1024
    return run(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


@pytest.mark.parametrize("words, says", [
    (["run", "--on", "sim", "--scheme", "set-nx-ex-del", "scenarios/expired-lease-double-delete.yaml"], "1 run: 1 as expected"),
    (["stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "300ms", "--no-faults", "--history"],
     "1 run: 0 as expected, 0 not, 1 unknown"),
    (["stress", "--scheme", "set-nx-px-cad,set-nx-ex-del", "--clients", "4", "--duration", "300ms", "--no-faults", "--history"],
     "0 of 2 runs"),
    (["explore", "--scheme", "setnx-del", "--fault", "resend"], "broken (")])
def test_a_file_that_may_not_grow_costs_the_file_and_not_what_was_found(tmp_path, words, says):
    """A limit like a full disk: what was found is told, the failure is, too, and no signal ends it. A stress run whose history was
    to be kept, and cannot be made again, holds nowhere; what was written of it is judged so, too."""
    ran = bounded(24 if "--history" in words else 10, *words, "--out", tmp_path)  # the results fit
    assert ran.status == 70 and "File too large" in ran.err and says in ran.out, ran
    assert all(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()), "no half report"
    if "--history" in words:
        history, = (tmp_path / "latest" / "histories").iterdir()
        assert run("check", history).status == 2
        assert "its history is not whole" in ran.out and "is not decided" in ran.out and not re.search(r"set-nx-.* holds$", ran.out, re.M), ran
        # that is lost, so whoever reads the folder later hears that it is not whole
        again = run("report", tmp_path / "latest")
        assert again.status == 2 and "INTERRUPTED: " in again.out and "cannot be written" in again.out, again


def test_the_data_are_kept_where_the_page_cannot_be(tmp_path):
    """The page is the largest; the other reports fit, and `latest` leads to them."""
    words = ["run", "--on", "sim", "--scheme", "set-nx-ex-del", "scenarios/expired-lease-double-delete.yaml", "--out"]
    assert run(*words, tmp_path / "free").status == 0
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "free" / "latest").iterdir() if path.is_file()}
    page = sizes.pop("index.html") // 1024
    assert max(sizes.values()) < page * 1024, sizes
    ran = bounded(page, *words, tmp_path)
    assert ran.status == 70 and "index.html" in ran.err and "report: " not in ran.out, ran
    again = run("report", tmp_path / "latest")
    assert again.status == 0 and "1 run: 1 as expected" in again.out, again


@pytest.mark.parametrize("heal, status, says", [
    ("50ms", 2, "nobody asked for a lock early enough while the run healed: --heal wants more than 3 leases"),
    ("600ms", 0, "clients asked on for 600ms: 1 of 1 lock that they asked for was granted again")])
def test_what_did_not_heal_is_unknown_whatever_else_was_found(tmp_path, heal, status, says):
    """Holders stall past their leases: overruns, which are nobody's fault and say nothing of what came behind them. (This scheme
    takes no late grant, however busy the machine is.)"""
    ran = run("stress", "--scheme", "redlock", "--servers", "1", "--clients", "4", "--locks", "1", "--no-faults", "--pause-after-grant",
              "100%", "--pause-time", "100ms", "--lease", "50ms", "--timeout", "1s", "--duration", "2s", "--heal", heal, "--out", tmp_path)
    assert ran.status == status and says in " ".join(ran.out.split()), ran
    [row] = json.loads((tmp_path / "latest" / "results.json").read_text())["results"]
    verdicts = {one["property"]: one["verdict"] for one in row["properties"]}
    assert verdicts["mutual-exclusion"] == "violated" and set(verdicts.values()) - {"violated"} == {"unknown" if status else "holds"}, row
