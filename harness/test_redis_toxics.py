"""RESP-aware toxics, which Toxiproxy has not: what they strike, how they are changed while they hold, and what is refused."""

import contextlib
import itertools
import socket
import threading

import pytest
from conftest import connect, until
from toxics import api, echo, shared  # noqa: F401 (fixtures)


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
