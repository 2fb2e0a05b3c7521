"""The proxy survives shortages: descriptors, memory, peers that vanish."""

import errno
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, TargetError
from faultkit.load.fold import Counts
from faultkit.load.load import Load, Target
from faultkit.load.route import route_of
from faultkit.load.segment import run_segment
from faultkit.proxy.data_plane import Lateness, ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.proxy_state import ALWAYS_ALLOWED, Budget
from tests.proxy.origin import serving
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, read_all, read_exactly, wired

FEW_DESCRIPTORS = """
import resource, sys
from faultkit.base.address import Endpoint
from faultkit.proxy.plane import Plane
from faultkit.proxy.data_plane import ProxySpec

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), hard))
with Plane() as plane:
    upstream = Endpoint("127.0.0.1", int(sys.argv[1]))
    proxy = plane.open_proxy(ProxySpec("few", Endpoint("127.0.0.1", 0), upstream))
    print(proxy.port, flush=True)
    # A shortage is reported, whether it hits a client or its upstream.
    while not any("Too many open files" in str(event) for event in plane.take_events()):
        plane.snapshot()
    print("out of descriptors", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("limit", [40, 41])
def test_the_proxy_goes_on_after_it_ran_out_of_descriptors(limit: int) -> None:
    with serving() as origin:
        command = [sys.executable, "-c", FEW_DESCRIPTORS, str(origin.endpoint.port), str(limit)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            proxy = Endpoint(LOOPBACK, int(child.stdout.readline()))
            with ExitStack() as crowd:
                for _ in range(60):
                    # Whom the proxy cannot serve it resets, for some before they know that they were let in.
                    with suppress(ConnectionResetError):
                        crowd.enter_context(connect(proxy))
                assert child.stdout.readline() == "out of descriptors\n"
            assert _first_answer(proxy).startswith(b"HTTP/1.1 200")
            child.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_shortage_of_descriptors_is_no_failure_of_the_upstream(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.proxy.link_upstream.start_connect", out_of_descriptors)
    monkeypatch.setattr("faultkit.proxy.dial.start_connect", out_of_descriptors)
    with Plane() as plane:
        proxy = plane.open_proxy(ProxySpec("http", Endpoint(LOOPBACK, 0)))
        with connect(proxy) as client:
            client.sendall(f"GET http://{host}:9/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
            answer = read_all(client)
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert b"\r\nProxy-Status: faultkit; error=proxy_internal_error\r\n" in answer
        assert answer.endswith(b": this machine has no descriptor left (Too many open files)\n")
        counts = plane.snapshot().proxies[0]
        assert (counts.shortages, counts.dial_failures, counts.own_answers) == (1, 0, 0)


def out_of_descriptors(address: object) -> socket.socket:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_load_through_a_proxy_without_descriptors_counts_no_errors_of_the_target(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.proxy.link_upstream.start_connect", out_of_descriptors)
    counts: list[Counts] = []
    with Plane() as plane:
        proxy = plane.open_proxy(ProxySpec("http", Endpoint(LOOPBACK, 0)))
        target = Target("GET", f"{scheme}://127.0.0.1:9/", proxy=proxy)
        load = Load(0.2, 50.0)
        run_segment(route_of(target), load, time.monotonic(), report=lambda now, samples: counts.append(now))
    assert (counts[-1].errors, counts[-1].dropped, counts[-1].starved) == (0, 10, 10)


def _first_answer(proxy: Endpoint) -> bytes:
    """Wait until the descriptors of closed connections are free again."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with connect(proxy) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return client.recv(4096)
        except ConnectionResetError:
            assert time.monotonic() < deadline


def test_a_port_in_use_is_an_error_at_once_and_leaves_nothing() -> None:
    with listening() as taken, Plane() as plane:
        port = taken.getsockname()[1]
        with pytest.raises(TargetError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            plane.open_proxy(ProxySpec("late", Endpoint(LOOPBACK, port), Endpoint(LOOPBACK, 9)))
        assert plane.snapshot().proxies == ()


def test_a_proxy_name_can_be_taken_once() -> None:
    with Plane() as plane:
        spec = ProxySpec("twin", Endpoint(LOOPBACK, 0), Endpoint(LOOPBACK, 9))
        plane.open_proxy(spec)
        with pytest.raises(InputError, match='the name "twin" is taken'):
            plane.open_proxy(spec)


def test_clients_that_vanish_at_once_leave_no_connection_behind() -> None:
    with wired() as wire:
        for _ in range(50):
            client = connect(wire.proxy)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        servers = [wire.upstream.accept()[0] for _ in range(50)]
        for server in servers:
            server.settimeout(5)
            with pytest.raises(ConnectionResetError):
                server.recv(1)
            server.close()
        assert wire.plane.snapshot().proxies[0].live == 0


@pytest.fixture
def descriptors() -> Iterator[int]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_hundreds_of_idle_connections_are_held_and_live(descriptors: int) -> None:
    count = min(500, (descriptors - 200) // 4)
    with wired() as wire:
        pairs = [wire.join() for _ in range(count)]
        assert wire.plane.snapshot().proxies[0].live == count
        for number, (client, server) in enumerate(pairs):
            client.sendall(number.to_bytes(2, "big"))
            assert any(read_exactly(server, 2)) or number == 0
        for pair in pairs:
            for end in pair:
                end.close()


def test_a_budget_lets_one_use_all_and_each_a_little() -> None:
    budget = Budget(limit=1_000_000)
    assert budget.allows(own=900_000, uncounted=0)
    budget.held = 950_000
    assert not budget.allows(own=100_000, uncounted=0)
    assert budget.allows(own=ALWAYS_ALLOWED - 1, uncounted=0)


def test_lateness_counts_what_is_early_and_finds_percentiles() -> None:
    lateness = Lateness()
    for micros in range(1, 1001):
        lateness.record(micros / 1e6)
    lateness.record(-1e-6)
    summary = lateness.summary()
    assert summary.count == 1001
    assert summary.early == 1
    assert summary.p50_us == pytest.approx(500, rel=1 / 16)
    assert summary.p99_us == pytest.approx(990, rel=1 / 16)
    assert summary.max_us == pytest.approx(1000)
