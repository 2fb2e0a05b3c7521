"""A defect in the proxy's own code ends the connection that it concerns, and no other."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from faultkit.base.address import Endpoint
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.plan import Plan, Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.link import Link
from faultkit.proxy.plane import Plane
from tests.proxy.wires import LOOPBACK, connect, endpoint_of, listening, read_all

ANY_PORT = Endpoint(LOOPBACK, 0)


def fail(self: Link, *arguments: object) -> None:
    raise RuntimeError("a defect")


def is_reset(proxy: Endpoint, sent: bytes = b"") -> bool:
    """Whether a new connection is reset; a client that is left waiting raises TimeoutError."""
    try:
        with connect(proxy) as client:
            client.sendall(sent)
            while client.recv(65536):
                pass
    except ConnectionResetError:
        return True
    return False


@pytest.fixture
def upstream() -> Iterator[Endpoint]:
    with listening() as listener:
        yield endpoint_of(listener)


def test_a_defect_while_a_forward_proxy_dials_resets_the_client(
    upstream: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Link, "_dial_origin", fail)
    with Plane() as plane:
        request = f"GET http://{upstream}/ HTTP/1.1\r\nHost: {upstream}\r\n\r\n".encode()
        assert is_reset(plane.open_proxy(ProxySpec("web", ANY_PORT)), request)
        assert plane.snapshot().proxies[0].live == 0


def test_a_defect_when_a_connection_begins_resets_the_client(
    upstream: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Link, "begin", fail)
    with Plane(observed=True) as plane:
        assert is_reset(plane.open_proxy(ProxySpec("db", ANY_PORT, upstream)))
        assert plane.snapshot().proxies[0].live == 0


def test_a_defect_when_a_connect_fails_resets_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as listener:
        closed = endpoint_of(listener)
    monkeypatch.setattr(Link, "_dial_failed", fail)
    with Plane() as plane:
        assert is_reset(plane.open_proxy(ProxySpec("db", ANY_PORT, closed)), b"first bytes")
        assert plane.snapshot().proxies[0].live == 0


def test_a_defect_after_a_delay_resets_the_client(
    upstream: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Link, "begin", fail)
    with Plane(Plan((Rule("late", SlowAccept(delay_ms=1)),))) as plane:
        assert is_reset(plane.open_proxy(ProxySpec("db", ANY_PORT, upstream)))
        assert plane.snapshot().proxies[0].live == 0


def test_a_defect_after_a_name_was_resolved_resets_the_client(
    upstream: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Link, "_dialled", fail)
    with Plane() as plane:
        spec = ProxySpec("db", ANY_PORT, Endpoint("localhost", upstream.port))
        assert is_reset(plane.open_proxy(spec))
        assert plane.snapshot().proxies[0].live == 0


def test_other_connections_live_on(echo: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with Plane(observed=True) as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        with connect(proxy) as living:
            living.sendall(b"before")
            assert living.recv(6) == b"before"
            monkeypatch.setattr(Link, "begin", fail)
            assert is_reset(proxy)
            living.sendall(b"after")
            living.shutdown(socket.SHUT_WR)
            assert read_all(living) == b"after"
