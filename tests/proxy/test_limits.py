"""What the machine cannot give, the proxy survives: descriptors, memory, peers that vanish."""

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from faultkit.errors import InputError, TargetError
from faultkit.proxy.address import Endpoint
from faultkit.proxy.budget import ALWAYS_ALLOWED, Budget
from faultkit.proxy.lateness import Lateness
from faultkit.proxy.plane import Plane
from faultkit.proxy.spec import ProxySpec
from tests.proxy.wires import LOOPBACK, connect, listening, read_exactly, wired

OUT_OF_DESCRIPTORS = """
import resource, socket, sys
from faultkit.proxy.address import Endpoint
from faultkit.proxy.plane import Plane
from faultkit.proxy.spec import ProxySpec

upstream = socket.create_server(("127.0.0.1", 0))
upstream.settimeout(10)
with Plane() as plane:
    proxy = plane.open_proxy(ProxySpec("few", Endpoint("127.0.0.1", 0), Endpoint(*upstream.getsockname())))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    clients = [socket.create_connection((proxy.host, proxy.port), timeout=10) for _ in range(20)]
    used = max(client.fileno() for client in clients)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 6, hard))
    crowd = []
    while True:
        try:
            crowd.append(socket.create_connection((proxy.host, proxy.port), timeout=10))
        except OSError:
            break
    while not any("accepting pauses" in getattr(h, "what", "") for h in plane.happenings()):
        plane.snapshot()
    for client in crowd + clients:
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    client = socket.create_connection((proxy.host, proxy.port), timeout=10)
    client.sendall(b"still here")
    while True:
        server, _ = upstream.accept()
        server.settimeout(10)
        if server.recv(10) == b"still here":
            break
    print("goes on")
"""


def test_the_proxy_goes_on_after_it_ran_out_of_descriptors() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OUT_OF_DESCRIPTORS], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "goes on\n", done.stderr


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
    assert budget.allows(own=900_000, untold=0)
    budget.held = 950_000
    assert not budget.allows(own=100_000, untold=0)
    assert budget.allows(own=ALWAYS_ALLOWED - 1, untold=0)


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
