"""TLS to the server: what the rules do through it, whom it trusts, how it ends, and what is refused in words."""

import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request

import pytest
from conftest import PATIENCE_S, PICKLOCK, connect, free_port, proxy, read_all, run, server, until
from test_proxy_history import CAD


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=PATIENCE_S)


def certificate(folder, name, ca=None, host="IP:127.0.0.1,DNS:localhost", days=2):
    """NAME.crt and NAME.key, signed by CA or by itself."""
    key, crt = folder / f"{name}.key", folder / f"{name}.crt"
    signer = ["-CA", folder / f"{ca}.crt", "-CAkey", folder / f"{ca}.key"] if ca else []
    extra = ["-addext", f"subjectAltName={host}"] if ca else []
    constraint = ["-addext", "basicConstraints=critical,CA:FALSE"] if ca else []
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-days", days,
            "-keyout", key, "-out", crt, *signer, *extra, *constraint)
    return crt, key


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certs")
    certificate(folder, "ca")
    certificate(folder, "other-ca")
    for name in ("server", "client"):
        certificate(folder, name, "ca")
    certificate(folder, "elsewhere", "ca", "DNS:elsewhere.example")
    return folder


def redis_tls(certs, auth="no"):
    port = free_port()
    return port, server("--tls-port", str(port), "--tls-cert-file", str(certs / "server.crt"), "--tls-key-file", str(certs / "server.key"),
                        "--tls-ca-cert-file", str(certs / "ca.crt"), "--tls-auth-clients", auth)


@pytest.fixture(scope="module")
def redis(certs):
    """A redis-server, and its ports: with TLS, and without."""
    port, started = redis_tls(certs)
    with started as plain:
        yield port, plain


@contextlib.contextmanager
def secured(port, certs, *more, host="127.0.0.1"):
    with proxy(f"rediss://{host}:{port}", "--tls-ca", certs / "ca.crt", *more) as (listening, process):
        yield listening, process


class Asking:
    def __init__(self, port):
        self.sock = connect(port)
        self.reader = self.sock.makefile("rb")

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def reply(self):
        head = self.reader.readline()
        return self.reader.read(int(head[1:]) + 2)[:-2] if head[:1] == b"$" and head != b"$-1\r\n" else head[:-2]

    def __call__(self, *words):
        self.send(*words)
        return self.reply()


RULES = r"""
late: command=GET key=late -> delay 50ms
lost: command=INCR once -> cut rst
less: command=DECR once -> drop-reply
thin: command=GET key=thin -> slice 7 1ms
thin-too: command=APPEND before -> slice 1
short: command=GET key=short -> truncate 5
half: command=SET key=half before -> truncate 20 fin
noise: command=ECHO -> garbage "+noise\r\n"
spoilt: command=SETEX before -> garbage "*1\r\n$-5\r\n"
wait: command=DEL -> hold until=set
set: command=SETNX after -> release set
twice: command=RPUSH -> duplicate
slow: command=GETSET -> bandwidth 1kB/s
quiet: command=STRLEN -> silence 50ms
"""


def end_of(sock):
    try:
        return read_all(sock)
    except ConnectionResetError:
        return "reset"


REFUSAL = b"-ERR Protocol error: invalid bulk length\r\n"  # and then its end: a reset, where the server closes with bytes unread


def transcript(port, direct, log):
    """What clients see while every rule strikes; direct is a connection beside the proxy."""
    direct("FLUSHALL")
    one, two = Asking(port), Asking(port)
    seen = [two("SET", key, "0123456789") for key in ("late", "thin", "short")]
    seen += [two("GET", "late"), two("GET", "thin"), two("APPEND", "thin", "x")]
    one.send("DEL", "late")
    until(lambda: '"rule":"wait"' in log.read_text(), "the DEL is held")
    seen += [direct("EXISTS", "late"), two("SETNX", "lock", "t"), one.reply(), direct("EXISTS", "late")]
    two.send("INCR", "n")
    seen += [end_of(two.sock), direct("GET", "n")]
    one.send("DECR", "n")
    seen += [one("GET", "n"), one("RPUSH", "list", "x"), direct("LLEN", "list"), one("GETSET", "late", "x"), one("GETSET", "late", "y")]
    seen += [one("STRLEN", "late"), one("STRLEN", "late")]
    for words in (("GET", "short"), ("SET", "half", "x"), ("SETEX", "spoilt", "1", "x")):
        other = Asking(port)
        other.send(*words)
        end = end_of(other.sock)
        seen.append("refused" if words[0] == "SETEX" and end in (REFUSAL, "reset") else end)
    noisy = Asking(port)
    seen += [noisy("ECHO", "x"), noisy.reply(), direct("EXISTS", "half", "spoilt")]
    return seen


def test_rules_do_through_tls_what_they_do_without(redis, certs, tmp_path):
    (tmp_path / "rules").write_text(RULES)
    tls, plain = redis
    direct, seen = Asking(plain), []
    for name in ("plain", "tls"):
        log = tmp_path / name
        more = "--rules", tmp_path / "rules", "--log", log
        with proxy(plain, *more) if name == "plain" else secured(tls, certs, *more) as (port, _):
            seen.append(transcript(port, direct, log))
    assert seen[0] == seen[1]
    assert seen[1] == [b"+OK"] * 3 + [b"0123456789"] * 2 + [b":11", b":1", b":1", b":1", b":0", "reset", b"1", b"0", b":1", b":2", b"$-1", b"x", b":1", b":1",
                                      b"$10\r\n", b"", "refused", b"+noise", b"x", b":0"]


def test_bytes_pass_exactly_however_large_and_in_pipelines(redis, certs):
    drawn = random.Random(5)
    with secured(redis[0], certs) as (port, _):
        ask = Asking(port)
        for size in (0, 1, 16_383, 16_384, 70_000, 3_000_000):
            value = drawn.randbytes(size)
            assert ask("SET", "k", value) == b"+OK" and ask("GET", "k") == value
        sender = threading.Thread(target=lambda: [ask.send("ECHO", i) for i in range(3000)])
        sender.start()
        assert [ask.reply() for _ in range(3000)] == [b"%d" % i for i in range(3000)]
        sender.join(PATIENCE_S)


IS_SANITISED = b"__asan_init" in PICKLOCK.read_bytes() or b"__tsan_init" in PICKLOCK.read_bytes()


def peak_kb(process):
    return int(pathlib.Path(f"/proc/{process.pid}/status").read_text().split("VmHWM:")[1].split()[0])


def test_memory_does_not_grow_with_a_value_whose_client_does_not_read(redis, certs):
    size = 24 << 20
    Asking(redis[1])("SET", "large", b"x" * size)
    with secured(redis[0], certs) as (port, process):
        ask = Asking(port)
        assert ask("PING") == b"+PONG"
        before = peak_kb(process)
        ask.send("GET", "large")
        seen = [0]
        until(lambda: seen.append(traffic(process)) or seen[-1] == seen[-2] > 0, "it stops to read")
        assert ask.reply() == b"x" * size
        assert ask("SET", "large", b"y" * size) == b"+OK"
        assert IS_SANITISED or peak_kb(process) < before + 4000


def traffic(process):
    return int(pathlib.Path(f"/proc/{process.pid}/io").read_text().split("rchar:")[1].split()[0])


@contextlib.contextmanager
def python_server(certs, serve):
    """serve(connection) for one client; what it returns is the last of the list that is yielded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # an end without close_notify is an error
    context.load_cert_chain(certs / "server.crt", certs / "server.key")
    listener, came = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        sock, _ = listener.accept()
        sock.settimeout(PATIENCE_S)
        with context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=False) as served:
            came.append(serve(served))

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1], came
    thread.join(PATIENCE_S)
    listener.close()


def read_to_the_end(sock):
    """All bytes; an end without close_notify is an error here."""
    got = bytearray()
    while piece := sock.recv(1 << 16):
        got += piece
    return bytes(got)


@pytest.mark.parametrize("is_cut", [False, True])
def test_fin_is_close_notify_first(certs, tmp_path, is_cut):
    """A half-close of the client's, and a cut of a rule's."""
    (tmp_path / "rules").write_text("cut: command=PING before -> cut fin\n")

    def answer_and_read_on(sock):
        sock.recv(100)
        sock.sendall(b"+OK\r\n")
        return read_to_the_end(sock)

    with python_server(certs, answer_and_read_on) as (upstream, came), secured(upstream, certs, "--rules", tmp_path / "rules") as (port, _):
        ask = Asking(port)
        assert ask("ECHO") == b"+OK"
        if is_cut:
            ask.send("PING")
        else:
            ask.sock.shutdown(socket.SHUT_WR)
        assert read_all(ask.sock) == b""
    assert came == [b""], "no bytes, and an end that TLS said"


def test_the_proxys_own_end_is_close_notify_too(certs):
    """Also while a client is connected; the server need not take it for an attack."""
    def answer_and_read_on(sock):
        sock.recv(100)
        sock.sendall(b"+OK\r\n")
        return read_to_the_end(sock)

    with python_server(certs, answer_and_read_on) as (upstream, came):
        with secured(upstream, certs) as (port, _):
            ask = Asking(port)
            assert ask("ECHO") == b"+OK"
        assert read_all(ask.sock) == b""
    assert came == [b""], "no bytes, and an end that TLS said"


def test_the_servers_close_notify_is_fin_and_its_reset_a_reset(certs):
    def answer_and_end(sock):
        sock.recv(100)
        sock.sendall(b"+PONG\r\n")
        with contextlib.suppress(OSError):
            sock.unwrap()

    def answer_garbage(sock):
        sock.recv(100)
        os.write(sock.fileno(), b"this is no record of TLS")

    for serve, seen, words in ((answer_and_end, b"+PONG\r\n", ""), (answer_garbage, "reset", "TLS with 127.0.0.1:")):
        with python_server(certs, serve) as (upstream, _), secured(upstream, certs) as (port, process):
            ask = Asking(port)
            ask.send("PING")
            assert end_of(ask.sock) == seen
            if words:
                assert process.stderr.readline().startswith(f"picklock: {words}")


def refused(port, process):
    """What the notice says when a client comes, who sees a reset: the kernel may tell him so as soon as he is connected."""
    with contextlib.suppress(ConnectionResetError):
        assert end_of(connect(port)) == "reset"
    return process.stderr.readline()


@pytest.mark.parametrize("ca, more, words", [
    ("other-ca", [], "its certificate is refused: self-signed certificate in certificate chain"),
    (None, [], "its certificate is refused: self-signed certificate in certificate chain"),
    ("ca", ["--tls-server-name", "elsewhere.example"], "its certificate is refused: hostname mismatch"),
    ("ca", ["--tls-server-name", "127.0.0.2"], "its certificate is refused: IP address mismatch"),
])
def test_wrong_certificates_are_refused_in_words(redis, certs, ca, more, words):
    trust = ["--tls-ca", certs / f"{ca}.crt"] if ca else []
    with proxy(f"rediss://127.0.0.1:{redis[0]}", *trust, *more) as (port, process):
        assert refused(port, process) == f"picklock: cannot reach 127.0.0.1:{redis[0]}: {words}\n"


def test_listeners_of_a_config_and_one_that_changes_to_tls(redis, certs, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"[a] listen=127.0.0.1:0 upstream=127.0.0.1:{redis[1]}\n")
    with subprocess.Popen([PICKLOCK, "proxy", "--config", config, "--tls-ca", certs / "ca.crt"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline().split()[1])
        old = Asking(port)
        assert old("PING") == b"+PONG"
        config.write_text(f"[a] listen=127.0.0.1:0 upstream=rediss://127.0.0.1:{redis[0]}\nloud: command=PING -> answer +LOUD\n")
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline().endswith("anew\n")
        assert Asking(port)("PING") == old("PING") == b"+LOUD"
        assert b"laddr=127.0.0.1:%d " % redis[0] in Asking(port)("CLIENT", "INFO") and b"laddr=127.0.0.1:%d " % redis[1] in old("CLIENT", "INFO")
        process.terminate()
    assert process.returncode == 0


def hang_up(process):
    process.send_signal(signal.SIGHUP)
    return process.stderr.readline()


@pytest.mark.parametrize("has_rules", [True, False])
def test_certificates_are_read_anew_or_nothing_changes(redis, certs, tmp_path, has_rules):
    """Whom to trust, first. A connection that there is goes on."""
    trusted, rules = tmp_path / "trusted.crt", tmp_path / "rules"
    trusted.write_bytes((certs / "ca.crt").read_bytes())
    rules.write_text("loud: command=ECHO -> answer +LOUD\n")
    more = ["--rules", rules] if has_rules else []
    loud, plain = (b"+LOUD", b"+LOUDER") if has_rules else (b"x", b"x")
    with proxy(f"rediss://127.0.0.1:{redis[0]}", "--tls-ca", trusted, *more) as (port, process):
        old = Asking(port)
        assert old("ECHO", "x") == loud
        trusted.write_text("no certificate\n")
        rules.write_text("loud: command=ECHO -> answer +LOUDER\n")
        said = hang_up(process)
        assert f"--tls-ca {trusted}: no certificates can be read: " in said and said.endswith("; what was served is served on\n")
        assert Asking(port)("ECHO", "x") == old("ECHO", "x") == loud, "neither the rules nor the certificates"
        trusted.write_bytes((certs / "other-ca.crt").read_bytes())
        assert hang_up(process) == f"picklock: read {f'{rules} and ' if has_rules else ''}the certificates anew\n"
        assert "its certificate is refused" in refused(port, process)
        assert old("ECHO", "x") == plain, "what it was trusted with then"
        trusted.write_bytes((certs / "ca.crt").read_bytes())
        assert hang_up(process).endswith("the certificates anew\n")
        assert Asking(port)("ECHO", "x") == plain


def test_a_certificate_of_ours_that_is_renewed_is_shown(certs, tmp_path):
    """The one of before had expired, so to speak: its server's CA is not the one that the server trusts."""
    certificate(certs, "stranger", "other-ca")
    tls, started = redis_tls(certs, "yes")
    crt, key = tmp_path / "own.crt", tmp_path / "own.key"

    def becomes(name):
        crt.write_bytes((certs / f"{name}.crt").read_bytes())
        key.write_bytes((certs / f"{name}.key").read_bytes())

    becomes("stranger")
    with started, secured(tls, certs, "--tls-cert", crt, "--tls-key", key) as (port, process):
        ask = Asking(port)
        ask.send("PING")
        assert end_of(ask.sock) == "reset" and f"TLS with 127.0.0.1:{tls} broke" in process.stderr.readline()
        becomes("client")
        assert hang_up(process) == "picklock: read the certificates anew\n"
        assert Asking(port)("PING") == b"+PONG"
        key.write_bytes((certs / "stranger.key").read_bytes())
        assert f"--tls-key {key}: no key for the certificate can be read" in hang_up(process)
        assert Asking(port)("PING") == b"+PONG"


def expired(folder, tmp_path):
    """expired.crt and expired.key, signed by ca, and good for one day of 2020."""
    key, request, config = folder / "expired.key", tmp_path / "request", tmp_path / "config"
    (tmp_path / "index").write_text("")
    config.write_text(f"[ca]\ndefault_ca=one\n[one]\ndatabase={tmp_path}/index\nnew_certs_dir={tmp_path}\nrand_serial=yes\n"
                      "default_md=sha256\npolicy=any\nx509_extensions=names\n[any]\ncommonName=supplied\n"
                      "[names]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=expired", "-keyout", key, "-out", request)
    openssl("ca", "-batch", "-notext", "-config", config, "-cert", folder / "ca.crt", "-keyfile", folder / "ca.key", "-in", request,
            "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", "-out", folder / "expired.crt")


@pytest.mark.parametrize("name, words", [("expired", "certificate has expired"), ("alone", "self-signed certificate")])
def test_who_has_expired_and_who_signs_himself_is_refused(certs, tmp_path, name, words):
    """Until the server has another one; nothing is to be read anew for that. Who is skipped, and who is named, is trusted."""
    if name == "expired":
        expired(certs, tmp_path)
    else:
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=alone", "-days", 2,
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certs / "alone.key", "-out", certs / "alone.crt")
    port = free_port()
    with server("--tls-port", str(port), "--tls-cert-file", str(certs / f"{name}.crt"), "--tls-key-file", str(certs / f"{name}.key"),
                "--tls-ca-cert-file", str(certs / "ca.crt"), "--tls-auth-clients", "no") as plain:
        with secured(port, certs) as (listening, process):
            assert refused(listening, process) == f"picklock: cannot reach 127.0.0.1:{port}: its certificate is refused: {words}\n"
            ask = Asking(plain)
            assert ask("CONFIG", "SET", "tls-cert-file", certs / "server.crt", "tls-key-file", certs / "server.key") == b"+OK"
            assert Asking(listening)("PING") == b"+PONG"
            assert ask("CONFIG", "SET", "tls-cert-file", certs / f"{name}.crt", "tls-key-file", certs / f"{name}.key") == b"+OK"
        trusts = ["--tls-skip-verify"] if name == "expired" else ["--tls-ca", certs / "alone.crt"]
        with proxy(f"rediss://127.0.0.1:{port}", *trusts) as (listening, _):
            assert Asking(listening)("PING") == b"+PONG"


def test_whose_certificate_has_the_name_is_trusted_and_who_skips_that_is_warned(redis, certs):
    with secured(redis[0], certs, host="localhost") as (port, _):
        assert Asking(port)("PING") == b"+PONG"
    with proxy(f"rediss://127.0.0.1:{redis[0]}", "--tls-skip-verify") as (port, process):
        assert process.stderr.readline() == "picklock: warning: --tls-skip-verify: whoever answers in the server's place is trusted\n"
        assert Asking(port)("PING") == b"+PONG"


def test_servers_that_ask_for_a_certificate_and_servers_that_speak_no_tls(certs):
    tls, started = redis_tls(certs, "yes")
    with started:
        with secured(tls, certs, "--tls-cert", certs / "client.crt", "--tls-key", certs / "client.key") as (port, _):
            assert Asking(port)("PING") == b"+PONG"
        with secured(tls, certs) as (port, process):
            ask = Asking(port)
            with contextlib.suppress(ConnectionError):
                ask.send("PING")
            assert end_of(ask.sock) == "reset"
            assert process.stderr.readline() == f"picklock: TLS with 127.0.0.1:{tls} broke: tlsv13 alert certificate required\n"
    with socket.create_server(("127.0.0.1", 0)) as plain, secured(plain.getsockname()[1], certs) as (port, process):
        came = connect(port)
        plain.accept()[0].sendall(b"-ERR no TLS here\r\n")
        assert end_of(came) == "reset"
        assert process.stderr.readline() == (f"picklock: cannot reach 127.0.0.1:{plain.getsockname()[1]}: wrong version number "
                                             "(does the server speak TLS there?)\n")


def test_who_ends_in_the_handshake_is_told_and_descriptors_come_back(certs):
    with socket.create_server(("127.0.0.1", 0)) as listener, secured(listener.getsockname()[1], certs) as (port, process):
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        before = len(list(folder.iterdir()))
        for _ in range(5):
            sock = connect(port)
            listener.accept()[0].close()
            assert end_of(sock) == "reset" and "cannot reach 127.0.0.1:" in process.stderr.readline()
            sock.close()
        until(lambda: len(list(folder.iterdir())) == before, "descriptors are given back")


@pytest.mark.parametrize("options, words", [
    (["--tls-skip-verify"], "--tls-... options need --upstream rediss://HOST:PORT"),
    (["--upstream", "rediss://x:1", "--tls-cert", "x"], "--tls-cert and --tls-key go together"),
    (["--upstream", "rediss://x:1", "--tls-skip-verify", "--tls-ca", "x"], "--tls-skip-verify looks at no certificate"),
    (["--upstream", "rediss://127.0.0.1:1", "--tls-ca", "/nowhere/x.crt"], "--tls-ca /nowhere/x.crt: no certificates can be read: "),
    (["--upstream", "rediss://127.0.0.1:1", "--tls-cert", "/etc/passwd", "--tls-key", "x"], "--tls-cert /etc/passwd: no certificate can be read: "),
    (["--upstream", "rediss://user:secret@x:1"], "--upstream: the server's URL is rediss://HOST:PORT here, and no more"),
    (["--listen", "rediss://127.0.0.1:0"], "--listen: TLS is spoken to the server only"),
    (["--upstream", "rediss://127.0.0.1:1", "--history", "h", "--key", "k"], "--history asks the server itself, without TLS"),
])
def test_options_that_are_wrong(options, words):
    ran = run("proxy", *options)
    assert ran.status == 64 and words in ran.err and "secret" not in ran.err, ran.err


@pytest.mark.parametrize("command", [["watch", "--key", "k"], ["stress", "--scheme", "set-nx-px-cad"]])
def test_commands_that_ask_the_server_themselves_are_refused(command):
    ran = run(*command, "--redis", "rediss://127.0.0.1:1")
    assert ran.status == 64 and "asks for TLS, which only picklock proxy --upstream rediss://HOST:PORT speaks" in ran.err, ran.err


def test_toxiproxys_interface_knows_no_tls(redis):
    """An address is all that it has; who connects is turned away, and a notice says why."""
    with subprocess.Popen([PICKLOCK, "proxy", "--toxiproxy-api", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            asked = json.dumps({"name": "a", "listen": "127.0.0.1:0", "upstream": f"rediss://127.0.0.1:{redis[0]}"}).encode()
            with urllib.request.urlopen(f"http://127.0.0.1:{int(process.stdout.readline())}/proxies", asked, PATIENCE_S) as answer:
                port = int(json.load(answer)["listen"].rpartition(":")[2])
            sock = connect(port)
            sock.sendall(b"PING\r\n")
            assert end_of(sock) != b"+PONG\r\n"
            assert "TLS is spoken by picklock proxy --upstream only" in process.stderr.readline()
        finally:
            process.terminate()
    assert process.returncode == 0


def test_a_history_through_a_proxy_that_speaks_tls(redis, certs, tmp_path):
    with secured(redis[0], certs) as (inner, _), proxy(inner, "--history", tmp_path / "h.jsonl", "--key", "lock:*") as (port, _):
        one, other = Asking(port), Asking(port)
        assert one("SET", "lock:tls", "the-token-of-one", "NX", "PX", "30000") == b"+OK"
        assert other("SET", "lock:tls", "the-token-of-another", "NX", "PX", "30000") == b"$-1"
        assert one("EVAL", CAD, "1", "lock:tls", "the-token-of-one") == b":1"
    ran = run("check", tmp_path / "h.jsonl")
    assert ran.status == 0 and "holds" in ran.out, ran


@pytest.mark.long("ten seconds")
def test_who_never_answers_in_the_handshake_is_given_up(certs):
    with socket.create_server(("127.0.0.1", 0)) as listener, secured(listener.getsockname()[1], certs) as (port, process):
        assert refused(port, process) == (f"picklock: cannot reach 127.0.0.1:{listener.getsockname()[1]}: the server does not answer "
                                          "in the handshake of TLS (does it speak TLS there?)\n")
