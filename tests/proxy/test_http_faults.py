"""HTTP faults, reverse maps and the forward proxy, with real clients and a real server."""

import http.client
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from faultkit.base.address import Endpoint, UpstreamSet, parse_map
from faultkit.faults.connection.dns import Dns
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, Trigger
from faultkit.proxy import link
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Closed, DialFailed, Directed, Injected, Requested, Trouble
from faultkit.proxy.tls import tls_context
from tests.proxy.origin import Origin, serving
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, read_all, read_exactly

ANY_PORT = Endpoint(LOOPBACK, 0)


@contextmanager
def proxied(spec: ProxySpec, *rules: Rule, seed: int = 3) -> Iterator[tuple[Plane, Endpoint]]:
    with Plane(Plan(rules, seed), observed=True) as plane:
        yield plane, plane.open_proxy(spec)


def client_of(endpoint: Endpoint) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PATIENCE_S)


def inline(origin: Origin) -> ProxySpec:
    return ProxySpec("web", ANY_PORT, origin.endpoint, speaks="http")


def get(
    client: http.client.HTTPConnection, target: str, method: str = "GET", **headers: str
) -> tuple[int, str]:
    client.request(method, target, headers=headers)
    response = client.getresponse()
    return response.status, response.read().decode()


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


# --- forward proxy ------------------------------------------------------------------------------


def forward(broken: str = "*") -> ProxySpec:
    return ProxySpec("http", ANY_PORT, broken=UpstreamSet.parse([broken]))


def test_a_forward_proxy_reaches_several_origins_over_one_connection() -> None:
    with serving() as one, serving() as two, proxied(forward()) as (_, proxy):
        client = client_of(proxy)
        for origin in (one, one, two, one):
            assert get(client, f"http://{origin.endpoint}/x?y=1") == (200, "GET /x?y=1 0")
        client.close()
        assert [len(origin.seen) for origin in (one, two)] == [3, 1]
        assert two.seen[0][2] == str(two.endpoint)


def test_only_the_named_upstreams_are_broken() -> None:
    with serving() as hit, serving() as spared:
        rule = Rule("broken", HttpError(status=500))
        with proxied(forward(str(hit.endpoint)), rule) as (_, proxy):
            client = client_of(proxy)
            assert get(client, f"http://{hit.endpoint}/")[0] == 500
            assert get(client, f"http://{spared.endpoint}/")[0] == 200
            client.close()


def test_connect_opens_a_tunnel_on_which_stream_faults_act() -> None:
    rule = Rule("slow", Latency(mean_ms=10, per="operation"))
    with serving() as origin, proxied(forward(), rule) as (plane, proxy):
        client = client_of(proxy)
        client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
        assert get(client, "/inside") == (200, "GET /inside 0")
        client.close()
        assert plane.snapshot().injected["slow"] >= 1


def test_a_target_that_cannot_be_reached_gives_502() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    with proxied(forward()) as (plane, proxy):
        client = client_of(proxy)
        for _ in range(2):
            status, body = get(client, f"http://127.0.0.1:{port}/")
            assert status == 502
            assert f"127.0.0.1:{port}" in body
        client.close()
        counts = plane.snapshot().proxies[0]
        assert (counts.dial_failures, counts.own_answers) == (2, 2)


def test_an_answer_of_a_fault_or_of_the_target_is_not_one_of_the_proxy_s_own() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    teapot = Rule("teapot", HttpError(status=418, call_upstream=True), Match(path="/tea"))
    with serving() as origin, proxied(forward(), teapot) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, f"http://127.0.0.1:{port}/tea")[0] == 418
        assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()
        counts = plane.snapshot().proxies[0]
        assert (counts.dial_failures, counts.own_answers) == (1, 0)


def test_an_injected_name_failure_gives_502_and_a_delay_passes() -> None:
    with serving() as origin:
        url = f"http://localhost:{origin.endpoint.port}/"
        with proxied(forward(), Rule("dns", Dns(), trigger=Trigger(first=1))) as (plane, proxy):
            client = client_of(proxy)
            assert get(client, url)[0] == 502
            assert get(client, url)[0] == 200
            client.close()
            seen = plane.snapshot()
            assert seen.injected == {"dns": 1}
            assert (seen.proxies[0].dial_failures, seen.proxies[0].own_answers) == (0, 0)


def test_garbage_gets_400_and_the_proxy_goes_on() -> None:
    with serving() as origin, proxied(forward()) as (_, proxy):
        with connect(proxy) as raw:
            raw.sendall(b"\x16\x03\x01\x02\x00 this is not HTTP\r\n\r\n")
            assert read_all(raw).startswith(b"HTTP/1.1 400 ")
        client = client_of(proxy)
        assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()


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


# --- TLS ----------------------------------------------------------------------------------------


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> Iterator[ssl.SSLContext]:
    """A server's context whose certificate this process trusts through SSL_CERT_FILE."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    pem = f"{tmp_path}/ca.pem"
    authority.cert_pem.write_to_path(pem)
    monkeypatch.setenv("SSL_CERT_FILE", pem)
    tls_context.cache_clear()
    yield server
    tls_context.cache_clear()


def over_tls(origin: Origin, **more: bool) -> ProxySpec:
    return ProxySpec("web", ANY_PORT, Endpoint("localhost", origin.endpoint.port), tls=True, **more)  # type: ignore[arg-type]


def test_tls_to_the_upstream_with_a_client_in_the_clear(trusted: ssl.SSLContext) -> None:
    with serving(trusted) as origin, proxied(over_tls(origin)) as (_, proxy):
        client = client_of(proxy)
        assert get(client, "/secret") == (200, "GET /secret 0")
        assert get(client, "/again") == (200, "GET /again 0")
        client.close()


@pytest.mark.parametrize(
    ("left", "host"), [("", "localhost:{up}"), ("http:", "localhost:{up}"), ("tcp:", "127.0.0.1:{own}")]
)
def test_a_map_to_https_sends_the_host_of_the_upstream_unless_it_is_told_to_pass_bytes(
    left: str, host: str, trusted: ssl.SSLContext
) -> None:
    with serving(trusted) as origin:
        port = origin.endpoint.port
        given = parse_map(f"{left}0=https://localhost:{port}")
        with proxied(ProxySpec.of_map("web", given)) as (_, proxy):
            client = client_of(proxy)
            assert get(client, "/a") == (200, "GET /a 0")
            client.close()
        assert origin.seen == [("GET", "/a", host.format(up=port, own=proxy.port))]


def speaking(server: ssl.SSLContext, *protocols: str) -> ssl.SSLContext:
    if protocols:
        server.set_alpn_protocols(list(protocols))
    return server


@pytest.mark.parametrize("left", ["", "tcp:"])
def test_a_client_with_http_2_gets_http_2_over_tls(left: str, trusted: ssl.SSLContext) -> None:
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    speaking(trusted, "http/1.1", "h2")
    with listening() as listener:
        given = parse_map(f"{left}0=https://localhost:{listener.getsockname()[1]}")
        with proxied(ProxySpec.of_map("web", given)) as (plane, proxy), connect(proxy) as client:
            client.sendall(preface[:3])  # The handshake waits until the protocol is known.
            raw, _ = listener.accept()
            raw.settimeout(PATIENCE_S)
            client.sendall(preface[3:])
            with trusted.wrap_socket(raw, server_side=True) as server:
                assert server.selected_alpn_protocol() == "h2"
                assert read_exactly(server, 24) == preface
                server.sendall(b"settings")
                assert client.recv(8) == b"settings"
            told = ["HTTP/2 passes as bytes: its :authority is not replaced by the upstream's"]
            assert troubles(plane) == ([] if left else told)


@pytest.mark.parametrize("protocols", [(), ("http/1.1",)])
def test_an_upstream_without_http_2_is_told_to_a_client_that_speaks_it(
    protocols: tuple[str, ...], trusted: ssl.SSLContext
) -> None:
    with serving(speaking(trusted, *protocols)) as origin:
        given = parse_map(f"0=https://localhost:{origin.endpoint.port}")
        with proxied(ProxySpec.of_map("web", given)) as (plane, proxy):
            with pytest.raises(ConnectionResetError), connect(proxy) as client:
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                client.recv(1)
            failed = [event.why for event in plane.take_events() if isinstance(event, DialFailed)]
            assert failed == ["TLS: the upstream does not offer HTTP/2, which the client speaks"]


def test_an_upstream_that_refuses_http_2_is_told_in_the_same_words() -> None:
    alert = bytes([21, 3, 3, 0, 2, 2, 120])  # Fatal: no_application_protocol (RFC 7301 §3.2).
    with listening() as listener:
        given = parse_map(f"0=https://localhost:{listener.getsockname()[1]}")
        with proxied(ProxySpec.of_map("web", given)) as (plane, proxy):
            with pytest.raises(ConnectionResetError), connect(proxy) as client:
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                with listener.accept()[0] as server:
                    server.sendall(alert)
                    client.recv(1)
            failed = [event.why for event in plane.take_events() if isinstance(event, DialFailed)]
            assert failed == ["TLS: the upstream does not offer HTTP/2, which the client speaks"]


def test_a_client_of_https_that_says_nothing_sees_the_end_of_its_upstream() -> None:
    with listening() as listener:
        spec = ProxySpec(
            "web", ANY_PORT, Endpoint(LOOPBACK, listener.getsockname()[1]), tls=True, speaks="http"
        )
        with proxied(spec) as (plane, proxy), connect(proxy) as client:
            server, _ = listener.accept()
            server.close()
            assert client.recv(1) == b""
            assert plane.snapshot().proxies[0].dial_failures == 0


def test_server_side_faults_act_on_the_records_and_keep_the_stream_whole(trusted: ssl.SSLContext) -> None:
    rules = (
        Rule("slow", Latency(mean_ms=5, per="operation"), Match(direction="both")),
        Rule("clear", Latency(mean_ms=5, per="operation"), Match(side="client", direction="both")),
    )
    with serving(trusted) as origin, proxied(over_tls(origin), *rules) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, "/secret") == (200, "GET /secret 0")
        client.close()
        injected = plane.snapshot().injected
        assert injected["slow"] > injected["clear"], "the handshake is delayed as well"


def test_http_faults_and_tls_go_together(trusted: ssl.SSLContext) -> None:
    rule = Rule("broken", HttpError(status=500), trigger=Trigger(first=1))
    with serving(trusted) as origin:
        spec = ProxySpec(
            "web", ANY_PORT, Endpoint("localhost", origin.endpoint.port), tls=True, speaks="http"
        )
        with proxied(spec, rule) as (_, proxy):
            client = client_of(proxy)
            assert get(client, "/")[0] == 500
            assert get(client, "/") == (200, "GET / 0")
            client.close()


def test_a_certificate_that_is_not_trusted_ends_the_connection() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    with serving(server) as origin, proxied(over_tls(origin)) as (plane, proxy):
        with pytest.raises(ConnectionResetError), connect(proxy) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.recv(1)
        assert plane.snapshot().proxies[0].dial_failures == 1
        why = [h.why for h in plane.take_events() if h.event == "dial_failed"]  # type: ignore[attr-defined]
        assert "certificate" in why[0]


def test_a_certificate_of_a_named_authority_is_trusted(tmp_path: Path) -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serving(server) as origin:
        spec = replace(over_tls(origin), verify=str(tmp_path / "ca.pem"))
        with proxied(spec) as (_, proxy):
            client = client_of(proxy)
            assert get(client, "/")[0] == 200
            client.close()


def test_verification_can_be_switched_off() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("elsewhere.example").configure_cert(server)
    with serving(server) as origin, proxied(over_tls(origin, verify=False)) as (_, proxy):
        client = client_of(proxy)
        assert get(client, "/")[0] == 200
        client.close()


def test_ipv6_on_both_sides() -> None:
    with listening("::1") as upstream:
        host, port = upstream.getsockname()[:2]
        spec = ProxySpec("six", Endpoint("::1", 0), Endpoint(host, port))
        with proxied(spec) as (_, proxy), connect(proxy) as client:
            server, _ = upstream.accept()
            with server:
                server.sendall(b"six")
                assert client.recv(3) == b"six"


def troubles(plane: Plane) -> list[str]:
    return [event.what for event in plane.take_events() if isinstance(event, Trouble)]


def test_http_rules_that_cannot_act_inside_connect_are_told_once_and_for_broken_hosts_only() -> None:
    rule = Rule("broken", HttpError(status=500))
    with serving() as hit, serving() as spared, proxied(forward(str(hit.endpoint)), rule) as (plane, proxy):
        for origin in (hit, spared, hit):
            client = client_of(proxy)
            client.set_tunnel(origin.endpoint.host, origin.endpoint.port)
            assert get(client, "/inside") == (200, "GET /inside 0")
            client.close()
        assert troubles(plane) == [
            f"broken cannot act on what is inside CONNECT {hit.endpoint}: it passes as bytes"
        ]


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2"),
        (b"EHLO localhost\r\n", "a connection (not an HTTP/1 request line)"),
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


def test_events_of_a_forward_proxy_name_the_destination() -> None:
    with serving() as hit, serving() as spared, proxied(forward(str(hit.endpoint))) as (plane, proxy):
        client = client_of(proxy)
        for origin in (hit, spared):
            assert get(client, f"http://{origin.endpoint}/")[0] == 200
        client.close()
        directed = [event for event in plane.take_events() if isinstance(event, Directed)]
        assert [(event.connection, event.upstream, event.spared) for event in directed] == [
            (0, str(hit.endpoint), False),
            (0, str(spared.endpoint), True),
        ]


def test_events_of_a_forward_proxy_name_the_destination_of_requests_that_a_rule_answers() -> None:
    rule = Rule("broken", HttpError(status=503), Match(path="/"))
    with serving() as one, serving() as other, proxied(forward(), rule) as (plane, proxy):
        client = client_of(proxy)
        for origin, path in ((one, ""), (one, ""), (other, "fine"), (other, ""), (one, "")):
            assert get(client, f"http://{origin.endpoint}/{path}")[0] == (200 if path else 503)
        client.close()
        directed = [event.upstream for event in plane.take_events() if isinstance(event, Directed)]
        assert directed == [str(origin.endpoint) for origin in (one, other, one)]


@pytest.mark.skipif(sys.platform != "linux", reason="only epoll reports the end of input that is not read")
@pytest.mark.parametrize("sent", [b"GET http://127.0.0.1:9/ HTTP/1.1\r\n\r\n", b""])
def test_a_client_that_leaves_before_there_is_an_upstream_is_forgotten(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_ABANDONED_S", 0)
    rule = Rule("stalled", Blackhole(), Match(side="client", direction="both"))
    with proxied(forward(), rule) as (plane, proxy), connect(proxy) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)  # To the proxy, a client that has left looks the same.
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        assert plane.snapshot().proxies[0].live == 0
        assert [event.how for event in plane.take_events() if isinstance(event, Closed)] == ["abandoned"]
