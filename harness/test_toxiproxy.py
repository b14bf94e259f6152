"""Toxiproxy's interface: every status and body that was recorded of Toxiproxy itself, what each toxic does to bytes, and a client of
npm that knows nothing of us."""

import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import threading
import time

import pytest
from conftest import BUILD, PATIENCE_S, PICKLOCK, connect, read_all, run, until
from toxics import api, echo, own, said, shared, toxiproxy  # noqa: F401 (fixtures among them)

NPM = BUILD / "workers" / "node_modules"


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
                        ({}, "bad request body: json: cannot unmarshal object into Go value of type []struct { toxiproxy.Proxy; Enabled *bool \"json:\\\"enabled\\\"\" }")]:
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
    ("POST", "/proxies/p/toxics", '{"type":"latency","attributes":{"latency":1.5}}', 400,
     "bad request body: json: cannot unmarshal number 1.5 into Go struct field .attributes.latency of type int64"),
    ("POST", "/proxies/p/toxics", '{"type":"latency","attributes":{"latency":"1"}}', 400,
     "bad request body: json: cannot unmarshal string into Go struct field .attributes.latency of type int64"),
    ("POST", "/proxies/p/toxics", '{"type":"latency","attributes":{"latency":99999999999999999999}}', 400,
     "bad request body: json: cannot unmarshal number 99999999999999999999 into Go value of type int64"),
    ("POST", "/proxies/p/toxics", '{"type":"latency","attributes":5}', 400,
     "bad request body: json: cannot unmarshal number into Go struct field .attributes of type toxics.Toxic"),
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
    with toxiproxy("--seed", 1) as api, socket.create_server(("127.0.0.1", 0)) as upstream:  # D2
        port = api.proxy("p", upstream.getsockname()[1])
        api.toxic("p", "limit_data", bytes=0, toxicity=0.5, name="t")
        # Each is through before the next one dials: of two at once a busy machine may accept the second one first.
        socks = [(connect(port), upstream.accept()[0]) for _ in range(40)]
        api.toxic("p", "noop", name="unrelated")
        api("DELETE", "/proxies/p/toxics/unrelated", status=204)
        for (sock, server), is_struck in zip(socks, one):
            with sock, server:
                server.sendall(b"x")
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


def test_a_body_that_comes_in_chunks(own, echo):
    """A client that does not know its length before (Transfer-Encoding: chunked): the same answers, and the connection goes on."""
    def pieces(body):
        text = json.dumps(body).encode()
        return (text[i:i + 7] for i in range(0, len(text), 7))

    asked = [("/proxies", {"name": "p", "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{echo}"}, 201),
             ("/proxies/p/toxics", {"name": "t", "type": "latency", "attributes": {"latency": 5}}, 200),
             ("/proxies/p/toxics/t", {"attributes": {"latency": 7}}, 200)]
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", own.port, timeout=PATIENCE_S)) as client:
        for path, body, status in asked:
            client.request("POST", path, pieces(body))
            answer = client.getresponse()
            assert answer.status == status and json.loads(answer.read()), path
        client.request("POST", "/proxies", iter([]))
        answer = client.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]) == (400, "bad request body: EOF")
        client.request("POST", "/proxies", (b" " * 65536 for _ in range(100)))
        answer = client.getresponse()
        assert answer.status == 400 and answer.read()
    assert own("GET", "/proxies/p/toxics/t")["attributes"]["latency"] == 7


def test_who_is_connected_and_says_nothing_keeps_nobody_out(own, echo):
    """Of more than 1000 connections the one that has been silent for the longest is ended; who has spoken lately stays."""
    with contextlib.ExitStack() as stack:
        speaker = http.client.HTTPConnection("127.0.0.1", own.port, timeout=PATIENCE_S)
        stack.callback(speaker.close)
        idle = []
        for i in range(1500):
            idle.append(stack.enter_context(socket.create_connection(("127.0.0.1", own.port), timeout=PATIENCE_S)))
            if i % 100 == 0:
                speaker.request("GET", "/version")
                assert speaker.getresponse().read()
        own.proxy("p", echo)
        assert idle[0].recv(1) == b""  # ended
        speaker.request("GET", "/proxies")
        assert list(json.loads(speaker.getresponse().read())) == ["p"]
    until(lambda: own.descriptors() < 100, "they are gone")


def test_nor_where_few_files_may_be_open(tmp_path):
    process = subprocess.Popen([PICKLOCK, "proxy", "--toxiproxy-api", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
    port = int(process.stdout.readline())
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S / 4)  # sooner than idle ones end by themselves
        stack.callback(client.close)
        client.request("GET", "/version")
        assert client.getresponse().read()
    process.terminate()
    assert "more than 51 connections to the interface" in process.communicate(timeout=PATIENCE_S)[1] and process.returncode == 0
