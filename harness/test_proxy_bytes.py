"""The fault proxy: every byte passes, in both directions, however it is split; and a reset passes as a reset."""

import os
import socket
import struct
import threading

import pytest
from conftest import NEVER, PATIENCE_S, connect, proxy, read_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module", params=["bare", "rules and log"])
def relay(request, tmp_path_factory):
    """A listener that plays the upstream, and a proxy before it: with hooks that look at everything, and without."""
    folder = tmp_path_factory.mktemp("relay")
    (folder / "rules").write_text(NEVER)
    more = [] if request.param == "bare" else ["--rules", folder / "rules", "--log", folder / "log"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        with proxy(listener.getsockname()[1], *more) as (port, _):
            yield port, listener


def send_split(sock, data, cuts):
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    for start, end in zip(places, places[1:]):
        sock.sendall(data[start:end])
    sock.shutdown(socket.SHUT_WR)


def exchange(relay, up, down, up_cuts=(), down_cuts=()):
    port, listener = relay
    with connect(port) as client:
        server, _ = listener.accept()
        with server:
            server.settimeout(PATIENCE_S)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            senders = [threading.Thread(target=send_split, args=(client, up, up_cuts)),
                       threading.Thread(target=send_split, args=(server, down, down_cuts))]
            for sender in senders:
                sender.start()
            got = []
            reader = threading.Thread(target=lambda: got.append(read_all(server)))
            reader.start()
            got_down = read_all(client)
            for thread in [*senders, reader]:
                thread.join(PATIENCE_S)
            return got[0], got_down


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


words = st.binary(max_size=60)
names = st.sampled_from([b"GET", b"set", b"MULTI", b"EXEC", b"SUBSCRIBE", b"UNSUBSCRIBE", b"CLIENT", b"HELLO",
                         b"MONITOR", b"QUIT", b"RESET", b"EVAL", b"AUTH", b""])
arrays = st.builds(lambda name, rest: b"*%d\r\n" % (1 + len(rest)) + b"".join(map(bulk, [name, *rest])), names,
                   st.lists(words, max_size=5))
requests = arrays | st.sampled_from([b"\r\n", b"*0\r\n", b"PING\r\n", b"CLIENT REPLY OFF\r\n", b"CLIENT REPLY SKIP\r\n",
                                     b"SUBSCRIBE a b\n", b"*-1\r\n", b"GET \"a b\"\r\n", b"GET \"a\r\n"])
lines = st.text("abc XYZ019-_", max_size=20).map(str.encode)
scalars = (lines.map(lambda t: b"+" + t + b"\r\n") | lines.map(lambda t: b"-ERR " + t + b"\r\n")
           | st.integers(-2**63, 2**63 - 1).map(lambda n: b":%d\r\n" % n) | words.map(bulk)
           | st.sampled_from([b"$-1\r\n", b"*-1\r\n", b"_\r\n", b"#t\r\n", b",1.5\r\n", b"(1234567890123456789012\r\n",
                              b"=5\r\ntxt:x\r\n", b"!5\r\nERR x\r\n"]))


def aggregates(inner):
    return st.builds(lambda mark, items: mark + b"%d\r\n" % (len(items) // 2 if mark == b"%" else len(items))
                     + b"".join(items[:len(items) // 2 * 2] if mark == b"%" else items),
                     st.sampled_from([b"*", b"~", b"%"]), st.lists(inner, max_size=4))


values = st.recursive(scalars, aggregates, max_leaves=8)
pushes = st.lists(scalars, min_size=1, max_size=3).map(lambda items: b">%d\r\n" % len(items) + b"".join(items))
described = st.tuples(values, values).map(lambda pair: b"|1\r\n+key\r\n" + pair[0] + pair[1])
replies = values | pushes | described
cuts = st.lists(st.integers(0, 1 << 20), max_size=8)
exact = settings(max_examples=int(os.environ.get("PICKLOCK_EXAMPLES", "40")), deadline=None, derandomize=True,
                 suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@exact
@given(up=st.binary(max_size=3000), down=st.binary(max_size=3000), up_cuts=cuts, down_cuts=cuts)
def test_random_bytes_pass(relay, up, down, up_cuts, down_cuts):
    assert exchange(relay, up, down, up_cuts, down_cuts) == (up, down)


@exact
@given(up=st.lists(requests, max_size=12), down=st.lists(replies, max_size=12), up_cuts=cuts, down_cuts=cuts)
def test_valid_traffic_passes(relay, up, down, up_cuts, down_cuts):
    up, down = b"".join(up), b"".join(down)
    assert exchange(relay, up, down, up_cuts, down_cuts) == (up, down)


@exact
@given(up=st.lists(requests, max_size=6), spoiled=st.integers(0, 1 << 20), byte=st.binary(min_size=1, max_size=3),
       down=st.lists(replies, max_size=6))
def test_nearly_valid_traffic_passes(relay, up, spoiled, byte, down):
    up, down = b"".join(up), b"".join(down)
    up = up[:spoiled % (len(up) + 1)] + byte + up[spoiled % (len(up) + 1):]
    down = down[:spoiled % (len(down) + 1)] + byte + down[spoiled % (len(down) + 1):]
    assert exchange(relay, up, down, [spoiled], [spoiled // 7]) == (up, down)


@pytest.mark.parametrize("size", [1, 16 * 1024 - 1, 16 * 1024, 64 * 1024, 1 << 20, 5_000_003])
def test_large_values_pass(relay, size):
    up = b"*3\r\n" + bulk(b"SET") + bulk(b"k") + bulk(os.urandom(size)) + b"PING\r\n"
    down = bulk(os.urandom(size)) + b"+PONG\r\n"
    assert exchange(relay, up, down, [size // 2, 5, 17]) == (up, down)


def test_a_client_reset_is_a_reset_at_the_server(relay):
    port, listener = relay
    client = connect(port)
    server, _ = listener.accept()
    with server:
        client.sendall(b"PING\r\n")
        assert server.recv(100) == b"PING\r\n"
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        with pytest.raises(ConnectionResetError):
            server.recv(1)
