"""Toxiproxy's interface: every status and body that was recorded of Toxiproxy itself, what each toxic does to bytes, and a client of
npm that knows nothing of us."""

import contextlib
import http.client
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest
from conftest import BUILD, PATIENCE_S, PICKLOCK, connect, read_all, run, until

NPM = BUILD / "workers" / "node_modules"


@contextlib.contextmanager
def toxiproxy(*more):
    process = subprocess.Popen([PICKLOCK, "proxy", "--toxiproxy-api", "127.0.0.1:0", *map(str, more)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Api(int(line), process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, (process.returncode, out, err)


class Api:
    def __init__(self, port, pid):
        self.port, self.pid = port, pid

    def raw(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        read = answer.status, answer.read().decode(), answer.headers
        connection.close()
        return read

    def __call__(self, method, path, body=None, status=200):
        got, text, _ = self.raw(method, path, body)
        assert got == status, (method, path, got, text)
        return json.loads(text) if text else None

    def proxy(self, name, upstream, **more):
        made = self("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{upstream}", **more}, 201)
        return int(made["listen"].rsplit(":", 1)[1])

    def toxic(self, proxy, kind, **more):
        fields = {key: more.pop(key) for key in ("name", "stream", "toxicity") if key in more}
        return self("POST", f"/proxies/{proxy}/toxics", {"type": kind, "attributes": more, **fields})

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def shared():
    with toxiproxy("--seed", 7) as api:
        yield api


@pytest.fixture
def api(shared):
    yield shared
    for name in shared("GET", "/proxies"):
        shared("DELETE", f"/proxies/{urllib.parse.quote(name)}", status=204)


@pytest.fixture
def own():
    with toxiproxy("--seed", 7) as api:
        yield api


@pytest.fixture(scope="module")
def echo():
    """A server that sends back what comes, and ends when its client has."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve(sock):
        with sock, contextlib.suppress(OSError):
            while piece := sock.recv(1 << 16):
                sock.sendall(piece)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def said(sock, data, count=None):
    sock.sendall(data)
    got = b""
    while len(got) < (count or len(data)):
        piece = sock.recv(1 << 16)
        assert piece, got
        got += piece
    return got


# --- the interface, as it was recorded ---------------------------------------------------------------------------


def test_what_succeeds(api, echo):
    status, text, headers = api.raw("GET", "/version")
    assert (status, text) == (200, '{"version": "2.12.0"}\n') and headers["Content-Type"] == "application/json;charset=utf-8"
    assert headers["X-Toxiproxy-Request-Id"]
    port = api.proxy("p", echo)
    whole = {"name": "p", "listen": f"127.0.0.1:{port}", "upstream": f"127.0.0.1:{echo}", "enabled": True, "Logger": {}, "toxics": []}
    status, text, headers = api.raw("GET", "/proxies/p")
    assert status == 200 and text == json.dumps(whole, separators=(",", ":")) and headers["Content-Type"] == "application/json"
    assert api("GET", "/proxies") == {"p": whole}
    made = api.raw("POST", "/proxies/p/toxics", {"type": "latency", "attributes": {"latency": 100, "jitter": 10, "unknown": 1}})
    told = '{"attributes":{"latency":100,"jitter":10},"name":"latency_downstream","type":"latency","stream":"downstream","toxicity":1}'
    assert made[:2] == (200, told) and api.raw("GET", "/proxies/p/toxics/latency_downstream")[1] == told
    up = api.toxic("p", "bandwidth", rate=5, stream="upstream", toxicity=0.3, name="slow")
    assert up["toxicity"] == 0.3 and api.raw("GET", "/proxies/p/toxics")[1].count('"toxicity":0.3}') == 1
    assert [toxic["name"] for toxic in api("GET", "/proxies/p/toxics")] == ["slow", "latency_downstream"]
    changed = api("POST", "/proxies/p/toxics/latency_downstream", {"attributes": {"jitter": 0}, "toxicity": 7, "name": "x", "stream": "upstream"})
    assert changed == {**json.loads(told), "attributes": {"latency": 100, "jitter": 0}, "toxicity": 7}
    assert api("PATCH", "/proxies/p/toxics/slow", {})["attributes"] == {"rate": 5}
    assert api.raw("DELETE", "/proxies/p/toxics/slow")[:2] == (204, "")
    off = api("PATCH", "/proxies/p", {"enabled": False})
    assert off["enabled"] is False and off["listen"] == whole["listen"] and len(off["toxics"]) == 1
    with pytest.raises(ConnectionRefusedError):
        connect(port)
    assert api.raw("POST", "/reset")[:2] == (204, "") and api("GET", "/proxies/p") == whole
    assert api.raw("DELETE", "/proxies/p")[:2] == (204, "") and api("GET", "/proxies") == {}


def test_a_listener_that_is_not_enabled_stays_as_it_was_written(api):
    made = api("POST", "/proxies", {"name": "p", "listen": "localhost:21002", "upstream": "nobody.invalid:1", "enabled": False}, 201)
    assert made["listen"] == "localhost:21002" and made["enabled"] is False


def test_populate(api, echo):
    one, two = ({"name": name, "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{echo}"} for name in ("one", "two"))
    made = api("POST", "/populate", [one, {**two, "enabled": False}], 201)["proxies"]
    assert [(proxy["name"], proxy["enabled"]) for proxy in made] == [("one", True), ("two", False)]
    api.toxic("one", "noop")
    same = api("POST", "/populate", [{**one, "listen": made[0]["listen"]}], 201)["proxies"][0]
    assert len(same["toxics"]) == 1 and same["listen"] == made[0]["listen"]
    other = api("POST", "/populate", [{**one, "listen": made[0]["listen"], "upstream": "127.0.0.1:1"}], 201)["proxies"][0]
    assert other["toxics"] == [] and other["listen"] == made[0]["listen"]
    assert api.raw("POST", "/populate", [])[:2] == (201, '{"proxies":null}')
    for body, words in [([two, {"listen": "a"}], "missing required field: name at proxy 2"),
                        ([{"name": "a"}], "missing required field: upstream at proxy 1"),
                        ({}, "bad request body: json: cannot unmarshal object into Go value of type []struct")]:
        status, text, headers = api.raw("POST", "/populate", body)
        assert status == 400 and headers["Content-Type"] == "application/json"
        assert json.loads(text) == {"error": words, "status": 400, "proxies": None}
    status, text, _ = api.raw("POST", "/populate", [{**two, "name": "three"}, {**two, "name": "four", "listen": "nonsense"}])
    told = json.loads(text)
    assert status == told["status"] == 500 and [proxy["name"] for proxy in told["proxies"]] == ["three"]
    assert told["error"] == "listen tcp: address nonsense: missing port in address"


BAD = [
    ("POST", "/proxies", "", 400, "bad request body: EOF"),
    ("POST", "/proxies", '{"name"', 400, "bad request body: unexpected EOF"),
    ("POST", "/proxies", "xyz", 400, "bad request body: invalid character 'x' looking for beginning of value"),
    ("POST", "/proxies", "[]", 400, "bad request body: json: cannot unmarshal array into Go value of type toxiproxy.Proxy"),
    ("POST", "/proxies", '{"name":5}', 400, "bad request body: json: cannot unmarshal number into Go struct field Proxy.name of type string"),
    ("POST", "/proxies", "{}", 400, "missing required field: name"),
    ("POST", "/proxies", "null", 400, "missing required field: name"),
    ("POST", "/proxies", '{"name":"q"}', 400, "missing required field: upstream"),
    ("POST", "/proxies", '{"name":"p","upstream":"x:1"}', 409, "proxy already exists"),
    ("POST", "/proxies", '{"name":"q","upstream":"x:1","listen":"nonsense"}', 500,
     "listen tcp: address nonsense: missing port in address"),
    ("POST", "/proxies", '{"name":"q","upstream":"x:1","listen":"127.0.0.1:99999"}', 500, "listen tcp: address 99999: invalid port"),
    ("POST", "/proxies", '{"name":"q","upstream":"x:1","listen":"nobody.invalid:1"}', 500, "listen tcp: lookup nobody.invalid: no such host"),
    ("GET", "/proxies/q", None, 404, "proxy not found"), ("POST", "/proxies/q", "{}", 404, "proxy not found"),
    ("DELETE", "/proxies/q", None, 404, "proxy not found"), ("GET", "/proxies/q/toxics", None, 404, "proxy not found"),
    ("POST", "/proxies/q/toxics", "{}", 404, "proxy not found"),
    ("PATCH", "/proxies/p", '{"enabled":1}', 400, "bad request body: json: cannot unmarshal number into Go struct field Proxy.enabled of type bool"),
    ("POST", "/proxies/p/toxics", '{"type":"latency","stream":"x"}', 400, "stream was invalid, can be either upstream or downstream"),
    ("POST", "/proxies/p/toxics", '{"type":"x"}', 400, "invalid toxic type"), ("POST", "/proxies/p/toxics", "{}", 400, "invalid toxic type"),
    ("POST", "/proxies/p/toxics", '{"type":"noop","name":"t"}', 409, "toxic already exists"),
    ("GET", "/proxies/p/toxics/x", None, 404, "toxic not found"), ("PATCH", "/proxies/p/toxics/x", "{}", 404, "toxic not found"),
    ("DELETE", "/proxies/p/toxics/x", None, 404, "toxic not found"),
]


def test_what_is_refused(api, echo):
    port = api.proxy("p", echo)
    api.toxic("p", "noop", name="t")
    taken = ("POST", "/proxies", json.dumps({"name": "q", "upstream": "x:1", "listen": f"127.0.0.1:{port}"}), 500,
             f"listen tcp 127.0.0.1:{port}: bind: address already in use")
    for method, path, body, status, words in [*BAD, taken]:
        got, text, headers = api.raw(method, path, body)
        assert (got, text) == (status, json.dumps({"error": words, "status": status}, separators=(",", ":")) + "\n"), (method, path, body)
        assert headers["Content-Type"] == "text/plain; charset=utf-8" and headers["X-Content-Type-Options"] == "nosniff"
    assert list(api("GET", "/proxies")) == ["p"]


def test_paths_and_methods_that_are_none(api):
    for path in ("/", "/nothing", "/proxies/a/b", "/proxies/a%2Fb", "/proxies/%00", "/proxies/", "/proxies/a/toxics/b/c", "/metrics", "/%zz"):
        assert api.raw("GET", path)[:2] == (404, "404 page not found\n"), path
    for method, path in [("PUT", "/proxies"), ("HEAD", "/version"), ("GET", "/reset"), ("PATCH", "/proxies/p/toxics"), ("POS", "/proxies")]:
        assert api.raw(method, path)[:2] == (405, ""), (method, path)
    status, text, headers = api.raw("GET", "/version", headers={"User-Agent": "Mozilla/5.0"})
    assert (status, text) == (403, "User agent not allowed\n") and headers["Content-Type"].startswith("text/plain")


def test_hostile_requests(own, echo):
    api = own
    big = b'{"name":"' + b"x" * (64 << 20) + b'"}'
    status, text, _ = api.raw("POST", "/proxies", big)
    assert status == 400 and "request body too large" in text
    status, text, _ = api.raw("POST", "/proxies", "[" * 100_000)
    assert status == 400, text
    status, text, _ = api.raw("POST", "/proxies", {"name": "q", "listen": "0.0.0.0:0", "upstream": "x:1"})
    assert status == 500 and "only loopback" in json.loads(text)["error"]
    name = 'a/b "ä'
    api.proxy(name, echo)
    assert list(api("GET", "/proxies")) == [name]
    api("DELETE", "/populate", status=405)
    with connect(api.port) as sock:  # half a request, and gone
        sock.sendall(b"POST /proxies HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    with connect(api.port) as sock:
        sock.sendall(b"\x16\x03\x01" * 1000)
    status = {line.split(":")[0]: line for line in open(f"/proc/{api.pid}/status")}
    assert int(status["VmHWM"].split()[1]) < 100_000  # kB
    assert api.raw("GET", "/proxies/a%2Fb%20%22%C3%A4")[0] == 404  # a slash can not be said in a path, as in Toxiproxy
    assert api("GET", "/version") == {"version": "2.12.0"}


# --- toxics ------------------------------------------------------------------------------------------------------


def test_latency_delays_each_stream_and_goes_at_once(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as sock:
        assert said(sock, b"before") == b"before"
        api.toxic("p", "latency", latency=150)
        api.toxic("p", "latency", latency=150, stream="upstream")
        begun = time.monotonic()
        assert said(sock, b"slow") == b"slow" and 0.3 <= time.monotonic() - begun
        api("PATCH", "/proxies/p/toxics/latency_downstream", {"attributes": {"latency": 600_000}})
        sock.sendall(b"held")
        sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        sock.settimeout(PATIENCE_S)
        api("DELETE", "/proxies/p/toxics/latency_downstream", status=204)
        assert sock.recv(100) == b"held"  # what was only late is not lost (D7)


def test_jitter_keeps_the_order(api, echo):
    port = api.proxy("p", echo, toxics=[{"type": "latency", "attributes": {"latency": 5, "jitter": 5}}])
    with connect(port) as sock:
        for i in range(50):
            sock.sendall(b"%03d" % i)
            time.sleep(0.0005)
        assert said(sock, b"end", 153) == b"".join(b"%03d" % i for i in range(50)) + b"end"


def test_bandwidth(api, echo):
    port = api.proxy("p", echo)
    api.toxic("p", "bandwidth", rate=100)
    with connect(port) as sock:
        begun = time.monotonic()
        assert said(sock, b"x" * 40_000) == b"x" * 40_000
        assert 0.35 <= time.monotonic() - begun < 5
        api("PATCH", "/proxies/p/toxics/bandwidth_downstream", {"attributes": {"rate": 0}})
        sock.sendall(b"nothing")
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_slow_close_and_half_close(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as sock:  # D4: the answer comes behind the client's end
        sock.sendall(b"last words")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"last words"
    api.toxic("p", "slow_close", delay=250)
    with connect(port) as sock:
        sock.sendall(b"last words")
        begun = time.monotonic()
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b"last words" and time.monotonic() - begun >= 0.25


def test_timeout_drops_and_closes(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as sock, connect(port) as other:
        assert said(sock, b"x") == b"x" and said(other, b"x") == b"x"
        api.toxic("p", "timeout", timeout=100)
        assert read_all(sock) == b"" and read_all(other) == b""
    api("POST", "/proxies/p/toxics/timeout_downstream", {"attributes": {"timeout": 0}})
    with connect(port) as sock:
        sock.sendall(b"lost")
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        sock.settimeout(PATIENCE_S)
        api("DELETE", "/proxies/p/toxics/timeout_downstream", status=204)
        assert read_all(sock) == b""  # bytes were lost: the connection can not go on


def test_reset_peer_resets_connections_old_and_new(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as old:
        assert said(old, b"x") == b"x"
        api.toxic("p", "reset_peer", timeout=0)
        for sock in (old, connect(port)):
            with sock, pytest.raises(ConnectionResetError):  # D3
                sock.sendall(b"x")
                sock.recv(1)
    api("PATCH", "/proxies/p/toxics/reset_peer_downstream", {"toxicity": 0})
    with connect(port) as sock:  # who is not struck ends by FIN
        assert said(sock, b"x") == b"x"
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b""


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in map(str.encode, words))


@pytest.fixture(scope="module")
def counter():
    """A server that answers the n-th request of all its clients with :n."""
    server, count = socket.create_server(("127.0.0.1", 0)), itertools.count(1)

    def serve(sock):
        with sock, contextlib.suppress(OSError, ValueError):
            reader = sock.makefile("rb")
            while head := reader.readline():
                for _ in range(int(head[1:])):
                    reader.read(int(reader.readline()[1:]) + 2)
                sock.sendall(b":%d\r\n" % next(count))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


class Asking:
    def __init__(self, port):
        self.sock = connect(port)
        self.reader = self.sock.makefile("rb")

    def __call__(self, *words):
        self.sock.sendall(resp(*words))
        return self.line()

    def line(self):
        return self.reader.readline().rstrip()


def test_redis_toxic_strikes_requests_and_replies_that_match(api, counter):
    port = api.proxy("p", counter)
    made = api.toxic("p", "redis", command=["SET", "del"], key="lock:*", nth=2, action='answer "-ERR lost"')
    assert made == {"attributes": {"command": ["SET", "del"], "key": "lock:*", "nth": 2, "action": 'answer "-ERR lost"'},
                    "name": "redis_upstream", "type": "redis", "stream": "upstream", "toxicity": 1, "matches": 0, "strikes": 0}
    ask = Asking(port)
    first = int(ask("GET", "lock:a")[1:])
    assert ask("SET", "lock:a", "x") == b":%d" % (first + 1) and ask("SET", "other", "x") == b":%d" % (first + 2)
    assert ask("DEL", "lock:a") == b"-ERR lost" and ask("DEL", "lock:a") == b":%d" % (first + 3), "it never reached the server"
    listed = api("GET", "/proxies/p/toxics")
    assert [(toxic["name"], toxic["matches"], toxic["strikes"]) for toxic in listed] == [("redis_upstream", 3, 1)]
    assert api("GET", "/proxies/p")["toxics"] == listed
    api.toxic("p", "redis", name="cuts", command="EVAL", script="return*", action="cut rst")
    assert api("GET", "/proxies/p/toxics/cuts")["stream"] == "downstream"
    with pytest.raises(ConnectionResetError):
        ask("EVAL", "return 1", "0")
    assert Asking(port)("PING") == b":%d" % (first + 5), "the EVAL was executed, and its reply lost"


def test_redis_toxic_is_changed_and_deleted_while_it_holds(api, counter):
    port = api.proxy("p", counter)
    api.toxic("p", "redis", name="h", command="SET", action="hold until=go max=1h")
    api.toxic("p", "redis", name="quiet", command="GET", action="silence", stream="downstream")
    ask, other = Asking(port), Asking(port)
    ask.sock.sendall(resp("SET", "k", "v") + resp("PING"))
    other.sock.sendall(resp("GET", "k"))
    until(lambda: [t["strikes"] for t in api("GET", "/proxies/p/toxics")] == [1, 1], "both struck")
    changed = api("PATCH", "/proxies/p/toxics/h", {"attributes": {"action": "answer +held"}})
    assert changed["attributes"] == {"command": "SET", "action": "answer +held"} and changed["matches"] == 0
    first = int(ask.line()[1:])
    assert ask.line() == b":%d" % (first + 1), "what it held went on"
    assert ask("SET", "k", "v") == b"+held"
    api("DELETE", "/proxies/p/toxics/quiet", status=204)
    assert other.line().startswith(b":"), "the silence ended, and nothing was lost"
    assert api("PATCH", "/proxies/p/toxics/h", {"attributes": {"command": None}})["attributes"] == {"action": "answer +held"}
    assert other("PING") == b"+held"
    assert api("PATCH", "/proxies/p/toxics/h", {"toxicity": 0})["matches"] == 1, "it counts on"
    assert other("PING").startswith(b":")
    api("DELETE", "/proxies/p/toxics/h", status=204)
    assert ask("SET", "k", "v").startswith(b":") and api("GET", "/proxies/p/toxics") == []


def test_redis_toxics_release_each_other_and_the_first_made_acts(api, counter):
    port = api.proxy("p", counter, toxics=[
        {"type": "redis", "name": "waits", "attributes": {"command": "DEL", "action": "hold until=set max=1h"}},
        {"type": "redis", "name": "frees", "attributes": {"command": "SET", "action": "release set"}},
        {"type": "redis", "name": "never", "attributes": {"command": "SET", "after": True, "action": "answer +never"}},
        {"type": "latency", "attributes": {"latency": 1}}])
    one, two = Asking(port), Asking(port)
    one.sock.sendall(resp("DEL", "k"))
    until(lambda: api("GET", "/proxies/p/toxics/waits")["strikes"] == 1, "it is held")
    first = int(two("SET", "k", "v")[1:])
    assert one.line() == b":%d" % (first + 1)
    assert [(t["matches"], t["strikes"]) for t in api("GET", "/proxies/p/toxics")[1:3]] == [(1, 1), (1, 0)]


def test_redis_toxicity_is_of_links_and_seeded(api, counter):
    def struck():
        port = api.proxy("p", counter)
        api.toxic("p", "redis", toxicity=.5, action="answer +struck")
        seen = [Asking(port)("PING") == b"+struck" for _ in range(20)]
        api("DELETE", "/proxies/p", status=204)
        return seen
    seen = struck()
    assert 3 <= sum(seen) <= 17 and struck() == seen


@pytest.mark.parametrize("fields, words", [
    ({"attributes": {"comand": "SET", "action": "cut"}}, "attributes: unknown selector 'comand='; did you mean 'command='?"),
    ({"attributes": {"acton": "cut"}}, "unknown attribute 'acton'; did you mean 'action'?"),
    ({"attributes": {}}, 'missing required attribute: action, as in "cut rst" or "delay 250ms"'),
    ({}, 'missing required attribute: action, as in "cut rst" or "delay 250ms"'),
    ({"attributes": {"action": "dely 5ms"}}, "attributes: unknown action 'dely'; did you mean 'delay'?"),
    ({"attributes": {"action": "delay 5"}}, "attributes: '5' is no argument of delay, which takes TIME [jitter=TIME]"),
    ({"attributes": {"action": "cut", "nth": 0}}, "attributes: 'nth=' wants a number from 1"),
    ({"attributes": {"action": "cut", "key": {}}}, "attributes.key: text, a whole number, true or a list of texts was expected"),
    ({"attributes": {"action": "cut", "key": "k" * 2000}}, "attributes: a word of more than 1023 bytes"),
    ({"attributes": {"action": "drop-reply"}, "stream": "upstream"}, "attributes: drop-reply cannot strike before"),
    ({"attributes": {"action": "cut", "done": True}, "stream": "upstream"},
     "attributes: 'done' is of the stream downstream, and not of upstream"),
])
def test_redis_toxics_that_are_wrong(api, echo, fields, words):
    api.proxy("p", echo)
    assert api("POST", "/proxies/p/toxics", {"type": "redis", **fields}, 400) == {"error": words, "status": 400}
    assert api("GET", "/proxies/p/toxics") == []


def test_redis_toxics_with_scripts_are_bounded_and_give_their_places_back(api, echo):
    api.proxy("p", echo)
    for _ in range(2):
        for i in range(48):
            api.toxic("p", "redis", name=f"t{i}", script="return*", action="cut")
        refused = api("POST", "/proxies/p/toxics", {"type": "redis", "attributes": {"script": "x", "action": "cut"}}, 400)
        assert refused["error"] == "attributes: too many toxics with script"
        api("POST", "/reset", status=204)


def test_slicer(api, echo):
    port = api.proxy("p", echo)
    api.toxic("p", "slicer", average_size=10, size_variation=5, delay=20_000)
    with connect(port) as sock:
        sock.sendall(bytes(range(100)))
        got = [sock.recv(1000)]
        while sum(map(len, got)) < 100:
            got.append(sock.recv(1000))
        assert b"".join(got) == bytes(range(100)) and len(got) >= 4 and max(map(len, got[:2])) <= 30
    for values in ({"average_size": 0}, {"average_size": 5, "size_variation": 900}, {"average_size": -1, "size_variation": -1}):
        api("PATCH", "/proxies/p/toxics/slicer_downstream", {"attributes": {"delay": 0, "size_variation": 0, **values}})
        with connect(port) as sock:  # D5
            assert said(sock, b"0123456789" * 20) == b"0123456789" * 20


def test_limit_data(api, echo):
    port = api.proxy("p", echo)
    api.toxic("p", "limit_data", bytes=7)
    with connect(port) as sock:
        assert said(sock, b"01234") == b"01234"
        api("PATCH", "/proxies/p/toxics/limit_data_downstream", {"attributes": {"bytes": 8}})
        sock.sendall(b"56789")
        assert read_all(sock) == b"567"


def test_disabling_ends_connections_by_fin(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as sock:
        assert said(sock, b"x") == b"x"
        api("POST", "/proxies/p", {"enabled": False})
        assert read_all(sock) == b""
    api("POST", "/proxies/p", {"enabled": True})
    with connect(port) as sock:
        assert said(sock, b"x") == b"x"


def test_who_connects_and_says_nothing_keeps_nobody_out(own):
    before = own.descriptors()
    with contextlib.ExitStack() as silent:
        for _ in range(500):
            silent.enter_context(connect(own.port))
        assert own("GET", "/proxies") == {}
    until(lambda: own.descriptors() == before, "the silent ones are gone")


def struck(port, count):
    """Which of so many connections lose what they say."""
    answers = []
    for _ in range(count):
        with connect(port) as sock:
            sock.sendall(b"x")
            answers.append(not read_all(sock) if sock.shutdown(socket.SHUT_WR) is None else None)
    return answers


def test_toxicity_is_seeded_and_disturbed_by_nothing(echo):
    def drawn(seed):
        with toxiproxy("--seed", seed) as api:
            port = api.proxy("p", echo)
            api.toxic("p", "limit_data", bytes=0, toxicity=0.5, name="t")
            return struck(port, 40)

    one = drawn(1)
    assert one == drawn(1) and one != drawn(2) and 8 <= sum(one) <= 32  # D1
    with toxiproxy("--seed", 1) as api:  # D2
        port = api.proxy("p", echo)
        api.toxic("p", "limit_data", bytes=0, toxicity=0.5, name="t")
        socks = [connect(port) for _ in range(40)]
        api.toxic("p", "noop", name="unrelated")
        api("DELETE", "/proxies/p/toxics/unrelated", status=204)
        for sock, is_struck in zip(socks, one):
            with sock:
                sock.sendall(b"x")
                assert sock.recv(1) == (b"" if is_struck else b"x")


def test_a_dial_that_hangs_or_fails_disturbs_nobody(api, echo):
    with socket.socket() as full:  # D6
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                filler = stack.enter_context(socket.socket())
                filler.setblocking(False)
                filler.connect_ex(full.getsockname())
            port = api.proxy("hangs", full.getsockname()[1])
            waiting = [stack.enter_context(connect(port)) for _ in range(3)]
            with connect(api.proxy("p", echo)) as sock:
                assert said(sock, b"x") == b"x"
            assert api("POST", "/proxies/hangs", {"enabled": False})["enabled"] is False
            assert all(read_all(sock) == b"" for sock in waiting)
    with connect(api.proxy("nobody", 1)) as sock:
        assert read_all(sock) == b""


def test_removing_under_load_goes_on(api, echo):
    port = api.proxy("p", echo)
    with connect(port) as sock:  # D9
        sent = b"0123456789abcdef" * (1 << 17)
        thread = threading.Thread(target=sock.sendall, args=(sent,))
        thread.start()
        got = sock.recv(1)
        for kind, values in [("latency", {"latency": 20}), ("slicer", {"average_size": 1000, "delay": 10}), ("bandwidth", {"rate": 50_000})] * 4:
            api.toxic("p", kind, **values)
            got += sock.recv(1 << 16)
            api("DELETE", f"/proxies/p/toxics/{kind}_downstream", status=204)
        while len(got) < len(sent):
            got += sock.recv(1 << 20)
        thread.join()
        assert got == sent


def test_nothing_leaks(own, echo):
    own.proxy("first", echo)  # libuv keeps a descriptor back once it listens
    own("DELETE", "/proxies/first", status=204)
    before = own.descriptors()
    for _ in range(3):
        port = own.proxy("p", echo)
        socks = [connect(port) for _ in range(20)]
        assert all(said(sock, b"x") == b"x" for sock in socks)
        own.toxic("p", "latency", latency=60_000)
        for sock in socks:
            sock.sendall(b"x")
        own("DELETE", "/proxies/p", status=204)
        for sock in socks:
            with sock:
                assert read_all(sock) == b""
    deadline = time.monotonic() + PATIENCE_S
    while own.descriptors() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert own.descriptors() <= before


def test_a_config_file(tmp_path, echo):
    path = tmp_path / "my toxi.json"
    path.write_text(json.dumps([{"name": "p", "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{echo}",
                                 "toxics": [{"type": "limit_data", "attributes": {"bytes": 3}}]}]))
    with toxiproxy("--toxiproxy-config", path) as api, connect(int(api("GET", "/proxies/p")["listen"].rsplit(":", 1)[1])) as sock:
        sock.sendall(b"012345")
        assert read_all(sock) == b"012"
    path.write_text('[{"name":"p"}]')
    done = run("proxy", "--toxiproxy-api", "127.0.0.1:0", "--toxiproxy-config", path)
    assert done.status == 64 and f"{path}: missing required field: upstream at proxy 1" in done.err and not done.out


@pytest.mark.parametrize("options, status, words", [
    (["--toxiproxy-api", "nonsense"], 64, "is not an address"), (["--any-host"], 64, "need --toxiproxy-api"),
    (["--toxiproxy-api", "0", "--listen", "1"], 64, "takes no --listen"),
])
def test_bad_options(options, status, words):
    done = run("proxy", *options)
    assert done.status == status and words in done.err, done


def test_a_port_in_use(api):
    done = run("proxy", "--toxiproxy-api", f"127.0.0.1:{api.port}")
    assert done.status == 69 and "in use" in done.err, done


# --- somebody else's client --------------------------------------------------------------------------------------

CLIENT = """
const { Toxiproxy } = require("toxiproxy-node-client");
const net = require("net");
const ask = (port) => new Promise((done) => {
  const sock = net.connect(port, "127.0.0.1", () => sock.end("hello"));
  let got = "";
  sock.on("data", (data) => { got += data; }).on("error", (error) => done(error.code)).on("close", () => done(got));
});
(async () => {
  const toxiproxy = new Toxiproxy(process.argv[2]);
  console.log((await toxiproxy.getVersion()).trim());
  const proxy = await toxiproxy.createProxy({ name: "p", listen: "localhost:0", upstream: process.argv[3] });
  const port = Number(proxy.listen.split(":").pop());
  console.log(await ask(port));
  const toxic = await proxy.addToxic({ type: "limit_data", attributes: { bytes: 2 } });
  console.log(toxic.name, toxic.toxicity, await ask(port));
  await toxic.update({ attributes: { bytes: 4 } });
  console.log(await ask(port));
  await toxic.remove();
  console.log(await ask(port), Object.keys(await toxiproxy.getAll()).join());
  await proxy.update({ enabled: false, listen: proxy.listen, upstream: proxy.upstream });
  console.log(await ask(port));
  await toxiproxy.reset();
  console.log(await ask(port));
  await toxiproxy.createProxy({ name: "p", listen: "x", upstream: "y" }).catch((error) => console.log(error.message));
  await proxy.remove();
  await toxiproxy.get("p").catch((error) => console.log(error.message));
})();
"""


@pytest.mark.skipif(not (NPM / "toxiproxy-node-client").exists(), reason="the libraries of npm are not installed: harness/setup.sh workers")
def test_npm_client_unchanged(api, echo, tmp_path):
    (tmp_path / "client.js").write_text(CLIENT)
    done = subprocess.run(["node", tmp_path / "client.js", f"http://127.0.0.1:{api.port}", f"127.0.0.1:{echo}"], text=True,
                          capture_output=True, timeout=PATIENCE_S, env={**os.environ, "NODE_PATH": str(NPM)})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:7] == ["hello", "limit_data_downstream 1 he", "hell", "hello p", "ECONNREFUSED", "hello"], lines
    assert "2.12.0" in lines[0] and "409" in lines[7] and "404" in lines[8], lines
