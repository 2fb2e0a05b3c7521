"""A defect in the proxy's own code ends the connection that it concerns, and no other."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import RunError
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.direction import Direction
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.layers import ProtocolLayer
from faultkit.proxy.link import Link
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Trouble
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


def test_a_defect_while_a_connection_is_aborted_ends_no_other(
    echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Plane(Plan((Rule("broken", HttpError(status=503), match=Match(path="/never")),))) as plane:
        proxy = plane.open_proxy(ProxySpec("web", ANY_PORT, echo, speaks="http"))
        monkeypatch.setattr(ProtocolLayer, "from_client", fail)
        monkeypatch.setattr(ProtocolLayer, "let_go", fail)

        assert is_reset(proxy, b"GET / HTTP/1.1\r\n\r\n")
        assert is_reset(proxy, b"GET / HTTP/1.1\r\n\r\n")
        plane.check()
        assert plane.snapshot().proxies[0].live == 0
        (trouble,) = [event.what for event in plane.take_events() if isinstance(event, Trouble)]
        assert trouble.startswith("a connection was reset after a defect of Faultkit: RuntimeError (")


def test_a_defect_at_the_end_of_a_connection_leaves_no_socket_open(
    echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Plane(observed=True) as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        with connect(proxy) as client:
            client.sendall(b"before")
            assert client.recv(6) == b"before"
            monkeypatch.setattr(Direction, "shut", fail)
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == b""
        plane.check()
        assert plane.snapshot().proxies[0].live == 0


def test_a_defect_in_one_connection_keeps_no_rule_from_the_others(
    echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Plane() as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        clients = [connect(proxy) for _ in range(3)]
        for client in clients:
            client.sendall(b"!")
            assert client.recv(1) == b"!"
        seen: list[int] = []

        def apply(link: Link, *arguments: object) -> None:
            seen.append(link.ordinal)
            if link.ordinal == 0:
                raise RuntimeError("a defect")

        monkeypatch.setattr(Link, "end_delays", apply)
        plane.set_plan(Plan((Rule("late", Latency(mean_ms=1)),)))

        assert seen == [0, 1, 2]
        assert [rule.name for rule in plane.plan.rules] == ["late"]
        with pytest.raises(ConnectionResetError):
            clients[0].recv(1)
        for client in clients[1:]:
            client.sendall(b"?")
            assert client.recv(1) == b"?"
        for client in clients:
            client.close()


def test_nothing_is_left_open_where_the_loop_itself_ends(echo: Endpoint) -> None:
    with Plane() as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        plane.check()
        with connect(proxy) as client:
            client.sendall(b"!")
            assert client.recv(1) == b"!"
            plane.services.loop.call_from_thread(sys.exit)
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
        with pytest.raises(RunError, match=r"^the proxy has ended, by a defect of Faultkit: SystemExit"):
            plane.check()
        with pytest.raises(RunError, match=r"^the proxy has ended, by a defect"):
            plane.snapshot()


def test_a_failure_of_what_cleans_up_does_not_end_the_loop() -> None:
    loop, ran = Loop(), []

    def work() -> None:
        raise RuntimeError("a defect")

    loop.call_soon(work, work)
    loop.call_soon(lambda: ran.append(1), None)
    loop.call_soon(loop.stop, None)
    loop.run()
    loop.close()

    assert ran == [1]
