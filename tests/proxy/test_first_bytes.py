"""The beginning of a connection on which no rule acts: which side sends first, closes at once, or is late."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable

import pytest

from faultkit.base.address import Endpoint
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.event_loop import Poller, SelectorsPoller, new_poller
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import DialFailed, Opened
from tests.proxy.wires import (
    LOOPBACK,
    PATIENCE_S,
    connect,
    endpoint_of,
    expected_digest,
    read_all,
    read_exactly,
    received_digest,
    send_hashed,
    wired,
)

both_pollers = pytest.mark.parametrize("make_poller", [new_poller, SelectorsPoller])
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@both_pollers
def test_an_upstream_may_speak_first(make_poller: Callable[[], Poller]) -> None:
    with wired(poller=make_poller()) as wire:
        client, server = wire.join()
        with client, server:
            server.sendall(b"220 ready")
            assert read_exactly(client, 9) == b"220 ready"
            client.sendall(b"EHLO")
            assert read_exactly(server, 4) == b"EHLO"


@both_pollers
def test_a_client_that_ends_at_once_is_seen_by_the_upstream(make_poller: Callable[[], Poller]) -> None:
    with wired(poller=make_poller()) as wire:
        client = connect(wire.proxy)
        client.shutdown(socket.SHUT_WR)
        server, _ = wire.upstream.accept()
        with client, server:
            server.settimeout(PATIENCE_S)
            assert read_all(server) == b""
            server.sendall(b"and yet")
            server.shutdown(socket.SHUT_WR)
            assert read_all(client) == b"and yet"


@both_pollers
def test_first_bytes_and_an_end_right_behind_them_both_arrive(make_poller: Callable[[], Poller]) -> None:
    with wired(poller=make_poller()) as wire:
        client = connect(wire.proxy)
        client.sendall(b"all I have")
        client.shutdown(socket.SHUT_WR)
        server, _ = wire.upstream.accept()
        with client, server:
            server.settimeout(PATIENCE_S)
            assert read_all(server) == b"all I have"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a reset throws away what was not yet read")
def test_bytes_that_came_before_a_reset_are_passed_on_before_it() -> None:
    with wired() as wire:
        for _ in range(50):
            client = connect(wire.proxy)
            client.sendall(b"last words")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            client.close()
            server, _ = wire.upstream.accept()
            with server:
                server.settimeout(PATIENCE_S)
                assert read_exactly(server, 10) == b"last words"
                with pytest.raises(ConnectionResetError):
                    server.recv(1)


@both_pollers
def test_a_first_chunk_larger_than_the_upstream_takes_arrives_whole(
    make_poller: Callable[[], Poller],
) -> None:
    total = 3_000_000
    with wired(poller=make_poller()) as wire:
        client = connect(wire.proxy)
        sending = send_hashed(client, total)
        server, _ = wire.upstream.accept()
        with client, server:
            server.settimeout(PATIENCE_S)
            assert received_digest(server) == expected_digest(total)
            sending.join(PATIENCE_S)


@both_pollers
@pytest.mark.skipif(sys.platform != "linux", reason="a full queue of a listener is Linux's way to be late")
def test_first_bytes_wait_for_an_upstream_that_is_late(make_poller: Callable[[], Poller]) -> None:
    with socket.socket() as upstream, Plane(poller=make_poller()) as plane:
        upstream.bind((LOOPBACK, 0))
        upstream.listen(0)
        upstream.settimeout(PATIENCE_S)
        filler = connect(endpoint_of(upstream))  # The queue is full: the kernel drops the next SYN.
        proxy = plane.open_proxy(ProxySpec("late", Endpoint(LOOPBACK, 0), endpoint_of(upstream)))
        with filler, connect(proxy) as client:
            client.sendall(b"early")
            client.shutdown(socket.SHUT_WR)
            end_s = time.monotonic() + PATIENCE_S
            while plane.snapshot().proxies[0].accepted == 0:
                assert time.monotonic() < end_s
            upstream.accept()[0].close()
            server, _ = upstream.accept()
            with server:
                server.settimeout(PATIENCE_S)
                assert read_all(server) == b"early"
                server.sendall(b"late")
                assert read_exactly(client, 4) == b"late"


@both_pollers
def test_first_bytes_for_an_upstream_that_refuses_end_in_a_reset(make_poller: Callable[[], Poller]) -> None:
    with socket.socket() as unused, Plane(poller=make_poller()) as plane:
        unused.bind((LOOPBACK, 0))
        wanted = endpoint_of(unused)
        proxy = plane.open_proxy(ProxySpec("refused", Endpoint(LOOPBACK, 0), wanted))
        with pytest.raises((ConnectionResetError, BrokenPipeError)), connect(proxy) as client:
            client.sendall(b"anybody there?")
            client.recv(1)
        counts = plane.snapshot().proxies[0]
        assert (counts.accepted, counts.live, counts.dial_failures) == (1, 0, 1)
        failures = [event for event in plane.take_events() if isinstance(event, DialFailed)]
        assert [failure.upstream for failure in failures] == [str(wanted)]


def test_an_observed_connection_is_told_with_the_client_s_address() -> None:
    with wired(observed=True) as wire:
        client, server = wire.join()
        with client, server:
            host, port = client.getsockname()
            opened = [event for event in wire.plane.take_events() if isinstance(event, Opened)]
            assert [event.client for event in opened] == [f"{host}:{port}"]
