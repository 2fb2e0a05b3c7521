"""The `websockets` library, client and server, through a proxy over real sockets: plain, TLS, and tunnels."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from h2.settings import SettingCodes
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.faults.events import Data
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.http_fault import HttpVerdict
from faultkit.faults.websocket.ws_close import WsClose
from faultkit.faults.websocket.ws_corrupt import WsCorrupt
from faultkit.faults.websocket.ws_delay import WsDelay
from faultkit.faults.websocket.ws_drop import WsDrop
from faultkit.faults.websocket.ws_duplicate import WsDuplicate
from faultkit.faults.websocket.ws_ping_silence import WsPingSilence
from faultkit.plan import Match, Plan, Rule, Trigger
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.http import HttpExchange, ToClient, ToUpstream
from faultkit.proxy.http.response_order import MAX_HELD_BYTES
from faultkit.proxy.http2 import RequestFields
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Injected
from faultkit.proxy.request_rules import judge_request
from tests.proxy.http2.peers import OK, Layered
from tests.proxy.proxied_http import ANY_PORT, proxied, troubles
from tests.proxy.test_rule_delay import wait_until_injected
from tests.proxy.wires import LOOPBACK, PATIENCE_S
from tests.proxy.wires import connect as connect_tcp


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    with serve(echo, LOOPBACK, 0, ssl=context, close_timeout=1) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Endpoint(LOOPBACK if context is None else "localhost", server.socket.getsockname()[1])


@pytest.fixture(scope="module")
def origin() -> Iterator[Endpoint]:
    with serving() as endpoint:
        yield endpoint


@contextmanager
def talking(
    origin: Endpoint, *rules: Rule, path: str = "/chat", **options: Any
) -> Iterator[tuple[Plane, Any]]:
    with (
        proxied(ProxySpec("web", ANY_PORT, origin, speaks="http"), *rules) as (plane, proxy),
        connect(f"ws://{proxy}{path}", proxy=None, close_timeout=1, **options) as client,
    ):
        yield plane, client


def effects(plane: Plane) -> list[tuple[str, float, str | None]]:
    found = [event for event in plane.take_events() if isinstance(event, Injected)]
    return [(event.effect, event.value, event.flow) for event in found]


def say(client: Any, *messages: str | bytes) -> None:
    for message in messages:
        client.send(message)


def hear(client: Any, count: int) -> list[str | bytes]:
    return [client.recv(PATIENCE_S) for _ in range(count)]


def test_messages_are_dropped_and_repeated_by_way_and_kind(origin: Endpoint) -> None:
    rules = [
        Rule("lost", WsDrop(), Match(path="/chat", flow="to_upstream", message="binary"), Trigger(every=2)),
        Rule("twice", WsDuplicate(), Match(flow="to_client", message="text")),
    ]
    with talking(origin, *rules) as (plane, client):
        say(client, "hello", b"1", b"2", b"3", "hello again")
        assert hear(client, 6) == ["hello", "hello", b"1", b"3", "hello again", "hello again"]
        assert sorted(effects(plane)) == [
            ("copies", 1.0, "to_client"),
            ("copies", 1.0, "to_client"),
            ("dropped", 1.0, "to_upstream"),
        ]
        assert plane.snapshot().injected == {"lost": 1, "twice": 2}


def test_other_paths_and_plans_without_such_rules_pass(origin: Endpoint) -> None:
    for rules in ([Rule("lost", WsDrop(), Match(path="/other"))], [Rule("e", HttpError(), Match(path="/o"))]):
        with talking(origin, *rules) as (plane, client):
            say(client, "x" * 70_000, b"")
            assert hear(client, 2) == ["x" * 70_000, b""]
            assert not any(plane.snapshot().injected.values())
            assert troubles(plane) == []


def test_the_same_seed_corrupts_the_same_messages_in_the_same_way(origin: Endpoint) -> None:
    def heard() -> list[str | bytes]:
        rule = Rule("wrong", WsCorrupt(), Match(flow="to_client"), Trigger(probability=0.5))
        with talking(origin, rule) as (_, client):
            say(client, *(f"message {n}" for n in range(12)))
            return hear(client, 12)

    first = heard()
    assert first == heard()
    assert 0 < sum(each != f"message {n}" for n, each in enumerate(first)) < 12


def test_a_close_has_its_code_and_comes_after_some_messages(origin: Endpoint) -> None:
    rule = Rule("restart", WsClose(code=1012, reason="restart", after_messages=2), Match(flow="to_client"))
    with talking(origin, rule) as (plane, client):
        say(client, "1", "2", "3")
        assert hear(client, 2) == ["1", "2"]
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(PATIENCE_S)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1012, "restart")
        assert effects(plane) == [("close_code", 1012.0, "to_client")]


def test_a_connection_may_end_without_a_close_frame(origin: Endpoint) -> None:
    with talking(origin, Rule("gone", WsClose(code=1006))) as (_, client):
        client.send("1")
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(PATIENCE_S)
        assert closed.value.rcvd is None


def test_pings_get_no_pong_while_messages_pass(origin: Endpoint) -> None:
    rule = Rule("silent", WsPingSilence(), Match(flow="to_client"))
    with talking(origin, rule, ping_interval=None) as (plane, client):
        pong = client.ping()
        client.send("after the ping")
        assert hear(client, 1) == ["after the ping"]
        assert not pong.is_set()
        assert effects(plane) == [("pong_dropped", 1.0, "to_client")]


def test_a_rule_that_is_taken_away_lets_its_messages_go(origin: Endpoint) -> None:
    late = Rule("late", WsDelay(delay_ms=600_000), Match(flow="to_client"))
    keep = Rule("twice", WsDuplicate(), Match(flow="to_client", message="binary"))
    with talking(origin, late, keep) as (plane, client):
        say(client, "1", b"2")
        with pytest.raises(TimeoutError):
            client.recv(0)
        wait_until_injected(plane, "twice")
        plane.set_plan(Plan((keep,)))
        assert hear(client, 3) == ["1", b"2", b"2"]
        plane.set_plan(Plan((keep, Rule("new", WsDrop(), Match(message="text")))))
        say(client, "3", b"4")
        assert hear(client, 2) == [b"4", b"4"]


@pytest.mark.parametrize("way", ["map", "tunnel"])
def test_rules_act_inside_tls_and_intercepted_tunnels(way: str, tmp_path: Path) -> None:
    authority, folder, trusted = trustme.CA(), tmp_path / "ca", tmp_path / "upstream.pem"
    authority.cert_pem.write_to_path(str(trusted))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    rules = [Rule("lost", WsDrop(), Match(path="/chat", flow="to_upstream"), Trigger(first=1))]
    with serving(server) as origin:
        every = UpstreamSet.parse(("localhost",))
        spec = (
            ProxySpec(
                "web",
                ANY_PORT,
                origin,
                tls=True,
                speaks="http",
                verify=str(trusted),
                client_tls=ListenerTls(str(folder), ("localhost",)),
            )
            if way == "map"
            else ProxySpec(
                "http",
                ANY_PORT,
                broken=every,
                verify=str(trusted),
                client_tls=ListenerTls(str(folder)),
                intercept=every,
            )
        )
        with proxied(spec, *rules) as (plane, proxy):
            port, through = (proxy.port, None) if way == "map" else (origin.port, f"http://{proxy}")
            context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
            with connect(f"wss://localhost:{port}/chat", ssl=context, proxy=through) as client:
                say(client, "lost", "found " * 1000)
                assert hear(client, 1) == ["found " * 1000]
            assert effects(plane) == [("dropped", 1.0, "to_upstream")]


HANDSHAKE = (
    "GET http://{0}/chat HTTP/1.1\r\nHost: {0}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def until(client: socket.socket, ending: bytes) -> bytes:
    got = b""
    while not got.endswith(ending):
        piece = client.recv(65536)
        assert piece, got
        got += piece
    return got


@pytest.mark.parametrize("acts", [True, False])
def test_the_forward_proxy_reads_what_a_client_sends_with_its_handshake(origin: Endpoint, acts: bool) -> None:
    match = Match(path="/chat" if acts else "/other")
    spec = ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse(("*",)))
    with proxied(spec, Rule("twice", WsDuplicate(), match)) as (_, proxy), connect_tcp(proxy) as client:
        client.settimeout(PATIENCE_S)
        client.sendall(HANDSHAKE.format(origin).encode() + b"\x82\x81\0\0\0\0x")  # It does not wait for 101.
        got = until(client, b"\x82\x01x" * (4 if acts else 1))
        assert got.startswith(b"HTTP/1.1 101 ")
        assert got.partition(b"\r\n\r\n")[2] == b"\x82\x01x" * (4 if acts else 1)


def test_a_client_that_does_not_get_its_101_is_not_read_without_end() -> None:
    exchange = HttpExchange(lambda head: HttpVerdict(), judge_upgrade=lambda request, response: True)
    head = HANDSHAKE.format("example.com").encode()
    assert exchange.from_client(Data(0.0, head)) == [ToUpstream(Data(0.0, head))]
    assert exchange.wants_input
    frames = b"\x82\x81abcdx" * (MAX_HELD_BYTES // 7 + 1)
    assert exchange.from_client(Data(0.0, frames)) == []
    assert not exchange.wants_input
    answer = b"HTTP/1.1 101 OK\r\nUpgrade: websocket\r\n\r\n"
    outputs = exchange.from_upstream(Data(1.0, answer + b"\x81\x00"))
    assert outputs[: exchange.upgraded_at] == [ToClient(Data(1.0, answer))]
    assert outputs[1:] == [ToClient(Data(1.0, b"\x81\x00")), ToUpstream(Data(1.0, frames))]
    assert exchange.wants_input


def test_websocket_over_http_2_passes_and_a_rule_that_cannot_act_on_it_is_named() -> None:
    peers = Layered()
    peers.server.h2.update_settings({SettingCodes.ENABLE_CONNECT_PROTOCOL: 1})
    peers.run()
    fields = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), (b":scheme", b"http")]
    fields += [(b":path", b"/chat"), (b":authority", b"example.com")]
    peers.client.h2.send_headers(1, fields)
    peers.run()
    peers.server.h2.send_headers(1, OK)
    peers.client.h2.send_data(1, b"\x81\x80abcd")
    peers.server.h2.send_data(1, b"\x81\x00")
    peers.run()
    assert (peers.server.seen[1].body, peers.client.seen[1].body) == (b"\x81\x80abcd", b"\x81\x00")
    with proxied(
        ProxySpec("web", ANY_PORT, Endpoint(LOOPBACK, 9), speaks="http"), Rule("lost", WsDrop())
    ) as (
        plane,
        _,
    ):
        state = plane.call(lambda: next(iter(plane._proxies.values())).state)
        link = SimpleNamespace(proxy=state, ordinal=0)
        judge_request(link, RequestFields(fields), spared=False, effects=[])
        assert troubles(plane) == ["lost cannot act on WebSocket over HTTP/2: it passes"]


def test_broken_frames_reach_the_upstream_which_refuses_them(origin: Endpoint) -> None:
    spec = ProxySpec("web", ANY_PORT, origin, speaks="http")
    with proxied(spec, Rule("twice", WsDuplicate())) as (plane, proxy), connect_tcp(proxy) as client:
        client.settimeout(PATIENCE_S)
        client.sendall(HANDSHAKE.format(origin).replace(f"http://{origin}", "").encode())
        until(client, b"\r\n\r\n")
        client.sendall(b"\x82\x01x")
        assert until(client, b"masking")[:4] == b"\x88\x13\x03\xea"  # 1002, by the upstream.
        assert any("frames without a mask" in each for each in troubles(plane))
