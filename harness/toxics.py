"""What the tests of Toxiproxy's interface share: a proxy that is steered by it, and a server that sends back what comes."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest
from conftest import PATIENCE_S, PICKLOCK


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
