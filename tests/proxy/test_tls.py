"""TLS to the upstream, with real clients and a real server."""

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from faultkit.base.address import Endpoint, parse_map
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Rule, Trigger
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane_events import DialFailed
from faultkit.proxy.tls import tls_context
from tests.proxy.origin import Origin, serving
from tests.proxy.proxied_http import ANY_PORT, client_of, get, proxied, troubles
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, read_exactly


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
