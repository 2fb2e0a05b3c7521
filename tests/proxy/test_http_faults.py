"""HTTP faults and reverse maps, with real clients and a real server."""

import socket

import pytest

from faultkit.base.address import Endpoint
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.plan import Match, Rule, Trigger
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane_events import Injected, Requested
from tests.proxy.origin import serving
from tests.proxy.proxied_http import ANY_PORT, client_of, get, inline, proxied, troubles
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, read_all


def test_a_status_fault_answers_without_the_upstream_and_keeps_the_connection() -> None:
    rule = Rule("broken", HttpError(status=503, body="sorry"), Match(path="/broken*"))
    with serving() as origin, proxied(inline(origin), rule) as (_, proxy):
        client = client_of(proxy)
        assert get(client, "/fine") == (200, "GET /fine 0")
        kept = client.sock
        assert get(client, "/broken?x=1") == (503, "sorry")
        assert get(client, "/fine") == (200, "GET /fine 0")
        assert client.sock is kept
        client.close()
        assert [path for _, path, _ in origin.seen] == ["/fine", "/fine"]


def test_a_status_fault_may_call_the_upstream_all_the_same() -> None:
    rule = Rule("lost", HttpError(status=500, call_upstream=True))
    with serving() as origin, proxied(inline(origin), rule) as (_, proxy):
        client = client_of(proxy)
        assert get(client, "/commit", "POST") == (500, "")
        client.close()
        assert [(method, path) for method, path, _ in origin.seen] == [("POST", "/commit")]


def test_requests_are_matched_by_method_path_and_header() -> None:
    match = Match(method="POST", path="/api/*", headers=(("X-Test", "yes*"),))
    with (
        serving() as origin,
        proxied(inline(origin), Rule("picky", HttpError(status=418), match)) as (_, proxy),
    ):
        client = client_of(proxy)
        assert get(client, "/api/a", "GET", **{"X-Test": "yes"})[0] == 200
        assert get(client, "/other", "POST", **{"X-Test": "yes"})[0] == 200
        assert get(client, "/api/a", "POST")[0] == 200
        assert get(client, "/api/a", "POST", **{"x-test": "yes indeed"})[0] == 418
        client.close()


def test_a_trigger_counts_requests_and_not_connections() -> None:
    rule = Rule("first-two", HttpError(status=500), trigger=Trigger(first=2))
    with serving() as origin, proxied(inline(origin), rule) as (_, proxy):
        client = client_of(proxy)
        assert [get(client, "/")[0] for _ in range(4)] == [500, 500, 200, 200]
        client.close()


def test_the_same_seed_hits_the_same_requests() -> None:
    def statuses(seed: int) -> list[int]:
        rule = Rule("flaky", HttpError(status=500), trigger=Trigger(probability=0.5))
        with serving() as origin, proxied(inline(origin), rule, seed=seed) as (_, proxy):
            client = client_of(proxy)
            try:
                return [get(client, "/")[0] for _ in range(20)]
            finally:
                client.close()

    assert statuses(1) == statuses(1)
    assert statuses(1) != statuses(2)


def test_an_http_delay_is_told_and_delays_the_request() -> None:
    with serving() as origin, proxied(inline(origin), Rule("slow", HttpDelay(delay_ms=40))) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, "/")[0] == 200
        client.close()
        events = plane.take_events()
        assert [(h.effect, h.value) for h in events if isinstance(h, Injected)] == [("delay_ms", 40.0)]
        assert [h.injected for h in events if isinstance(h, Requested)] == [("slow",)]
        assert plane.snapshot().proxies[0].requests == 1


def test_a_reverse_map_rewrites_the_host() -> None:
    with serving() as origin:
        spec = ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http", rewrite_host=True)
        with proxied(spec) as (_, proxy):
            client = client_of(proxy)
            assert get(client, "/", Host="elsewhere.example") == (200, "GET / 0")
            client.close()
        assert origin.seen == [("GET", "/", str(origin.endpoint))]


def test_a_plain_map_leaves_the_host_alone() -> None:
    with serving() as origin, proxied(inline(origin)) as (_, proxy):
        client = client_of(proxy)
        get(client, "/", Host="elsewhere.example")
        client.close()
        assert origin.seen == [("GET", "/", "elsewhere.example")]


def test_garbage_on_an_inline_map_passes_untouched() -> None:
    with listening() as upstream:
        host, port = upstream.getsockname()
        spec = ProxySpec("web", ANY_PORT, Endpoint(host, port), speaks="http")
        with proxied(spec, Rule("broken", HttpError())) as (_, proxy), connect(proxy) as client:
            server, _ = upstream.accept()
            with server:
                client.sendall(b"\x00\x01 not HTTP at all")
                client.shutdown(socket.SHUT_WR)
                server.settimeout(PATIENCE_S)
                assert read_all(server) == b"\x00\x01 not HTTP at all"


def test_ipv6_on_both_sides() -> None:
    with listening("::1") as upstream:
        host, port = upstream.getsockname()[:2]
        spec = ProxySpec("six", Endpoint("::1", 0), Endpoint(host, port))
        with proxied(spec) as (_, proxy), connect(proxy) as client:
            server, _ = upstream.accept()
            with server:
                server.sendall(b"six")
                assert client.recv(3) == b"six"


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (b"EHLO localhost\r\n", "a connection (not an HTTP/1 request line)"),
        (b"\x16\x03\x01\x00\x09a\nb\r\n\r\n", "a connection (TLS, where clients must speak clear text)"),
    ],
)
def test_http_rules_that_cannot_act_on_a_protocol_are_told_once(sent: bytes, what: str) -> None:
    with listening() as listener:
        spec = ProxySpec("web", ANY_PORT, Endpoint(LOOPBACK, listener.getsockname()[1]), speaks="http")
        with proxied(spec, Rule("broken", HttpError(status=500))) as (plane, proxy):
            for _ in range(2):
                with connect(proxy) as client:
                    client.sendall(sent)
                    with listener.accept()[0] as server:
                        assert server.recv(len(sent), socket.MSG_WAITALL) == sent
            assert troubles(plane) == [f"broken cannot act on {what}: it passes as bytes"]


@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
def test_a_client_that_speaks_tls_to_a_port_of_clear_text_is_told_once(forward: bool) -> None:
    with serving() as origin:
        upstream = None if forward else origin.endpoint
        spec = ProxySpec("web", ANY_PORT, upstream, speaks="http", rewrite_host=not forward)
        with proxied(spec) as (plane, proxy):
            for _ in range(2):
                with connect(proxy) as client:
                    client.sendall(b"\x16\x03\x01\x00\x09a\nb\r\n\r\n")
                    assert client.recv(100).startswith(b"HTTP/1.1 400 ")
            assert troubles(plane) == [
                "a client that speaks TLS was refused: this port takes clear text (http://)"
            ]
