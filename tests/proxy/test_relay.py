"""The relay on real sockets, with each poller: what one peer sees of the other."""

import contextlib
import errno
import gc
import socket
import struct
import threading
from collections.abc import Callable

import pytest

from faultkit.faults.fault import Fault
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.faults.stream.half_open import HalfOpen
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout
from faultkit.plan import Plan
from faultkit.proxy.direction import Direction
from faultkit.proxy.event_loop import Poller, SelectorsPoller, new_poller
from faultkit.proxy.link import Link
from tests.proxy.wires import (
    BOTH,
    TO_UPSTREAM,
    connect,
    expected_digest,
    joined,
    plan_of,
    read_all,
    read_exactly,
    received_digest,
    send_hashed,
    wired,
)

MB = 1_000_000

HARMLESS: dict[str, Fault] = {
    "latency": Latency(mean_ms=5, stddev_ms=2, per="operation"),
    "latency-pareto": Latency(distribution="pareto", shape=3, scale_ms=1, per="operation"),
    "jitter": Jitter(amplitude_ms=5, frequency_hz=50),
    "bandwidth": Bandwidth(rate=2, unit="GBps"),
    "bandwidth-shared": Bandwidth(rate=2, unit="GBps", scope="proxy"),
    "packet-loss": PacketLoss(rate=0.001, rto_ms=2, rtt_ms=1),
    "packet-loss-bursts": PacketLoss(rate=0.001, burst_length=5, rto_ms=2, rtt_ms=1),
    "slicer": Slicer(average_bytes=20_000, variation_bytes=3_000),
    "slow-close": SlowClose(delay_ms=5),
}


@pytest.fixture(params=[new_poller, SelectorsPoller], ids=["native", "selectors"])
def make_poller(request: pytest.FixtureRequest) -> Callable[[], Poller]:
    factory: Callable[[], Poller] = request.param
    return factory


def test_bytes_pass_both_ways(make_poller: Callable[[], Poller]) -> None:
    with joined(poller=make_poller()) as (_, client, server):
        client.sendall(b"ask")
        assert read_exactly(server, 3) == b"ask"
        server.sendall(b"answer")
        assert read_exactly(client, 6) == b"answer"


def test_half_close_is_kept(make_poller: Callable[[], Poller]) -> None:
    with joined(poller=make_poller()) as (_, client, server):
        client.sendall(b"the whole question")
        client.shutdown(socket.SHUT_WR)
        assert read_all(server) == b"the whole question"
        server.sendall(b"the answer comes later")
        server.close()
        assert read_all(client) == b"the answer comes later"


@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS.keys())
def test_half_close_is_kept_under_each_fault(fault: Fault, make_poller: Callable[[], Poller]) -> None:
    with joined(plan_of(fault, match=BOTH), make_poller()) as (_, client, server):
        client.sendall(b"the whole question")
        client.shutdown(socket.SHUT_WR)
        assert read_all(server) == b"the whole question"
        server.sendall(b"the answer")
        server.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"the answer"


@pytest.mark.parametrize("fault", [None, *HARMLESS.values()], ids=["none", *HARMLESS.keys()])
def test_a_long_stream_arrives_whole(fault: Fault | None, make_poller: Callable[[], Poller]) -> None:
    total = 30 * MB
    plan = plan_of(fault, match=BOTH) if fault else Plan()
    with joined(plan, make_poller()) as (_, client, server):
        sender = send_hashed(server, total)
        assert received_digest(client) == expected_digest(total)
        sender.join()


USUAL_GIGABYTES = ("latency",)
"""One fault is enough: `test_a_long_stream_arrives_whole` shows the same of every fault with fewer bytes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=name, marks=() if name in USUAL_GIGABYTES else pytest.mark.thorough)
        for name, fault in HARMLESS.items()
    ],
)
@pytest.mark.thorough
def test_a_gigabyte_arrives_with_the_same_hash(fault: Fault) -> None:
    total = 1000 * MB
    with joined(plan_of(fault)) as (_, client, server):
        sender = send_hashed(server, total)
        assert received_digest(client) == expected_digest(total)
        sender.join()


def test_a_reset_is_passed_on_as_a_reset(make_poller: Callable[[], Poller]) -> None:
    with joined(poller=make_poller()) as (_, client, server):
        client.sendall(b"x")
        read_exactly(server, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.close()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_reset_is_passed_on_under_a_fault() -> None:
    with joined(plan_of(Latency(mean_ms=5, per="operation"), match=BOTH)) as (_, client, server):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        with pytest.raises(ConnectionResetError):
            server.recv(1)


def test_a_slow_reader_pushes_back_to_the_sender(make_poller: Callable[[], Poller]) -> None:
    with joined(poller=make_poller()) as (_, client, server):
        server.settimeout(0.2)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 500 * MB:
                sent += server.send(bytes(1 << 16))
        client.settimeout(5)
        assert len(read_exactly(client, sent)) == sent


def test_a_slow_reader_under_latency_bounds_what_the_proxy_holds() -> None:
    with joined(plan_of(Latency(mean_ms=20, per="operation"))) as (wire, client, server):
        wire.plane.services.budget.limit = 8 << 20
        server.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 500 * MB:
                sent += server.send(bytes(1 << 16))
        assert wire.plane.snapshot().held_bytes <= (8 << 20) + (1 << 19)
        assert len(read_exactly(client, sent)) == sent


def test_latency_is_never_early() -> None:
    with joined(plan_of(Latency(mean_ms=30, per="operation"), match=BOTH)) as (wire, client, server):
        for _ in range(5):
            client.sendall(b"ping")
            read_exactly(server, 4)
            server.sendall(b"pong")
            read_exactly(client, 4)
        lateness = wire.plane.snapshot().lateness
        assert lateness.count == 10
        assert lateness.early == 0


def test_a_reset_fault_is_a_real_reset_on_a_live_connection() -> None:
    with joined() as (wire, client, server):
        client.sendall(b"x")
        read_exactly(server, 1)
        wire.plane.set_plan(plan_of(Reset()))
        for end in (client, server):
            with pytest.raises(ConnectionResetError):
                end.recv(1)


def test_limit_data_passes_so_many_bytes_and_then_a_clean_end() -> None:
    with joined(plan_of(LimitData(bytes=10))) as (_, client, server):
        server.sendall(b"0123456789 and more")
        assert read_all(client) == b"0123456789"
        assert server.recv(1) == b""


def test_timeout_discards_and_then_closes() -> None:
    with joined(plan_of(Timeout(timeout_ms=50))) as (_, client, server):
        server.sendall(b"never seen")
        assert client.recv(1) == b""


def test_half_open_hides_that_the_peer_is_gone() -> None:
    with joined(plan_of(HalfOpen(after_bytes=4))) as (_, client, server):
        server.sendall(b"seenunseen")
        server.close()
        assert read_exactly(client, 4) == b"seen"
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_a_stalled_stream_goes_on_when_the_fault_ends() -> None:
    with joined(plan_of(Blackhole())) as (wire, client, server):
        server.sendall(b"held back")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        wire.plane.set_plan(Plan())
        client.settimeout(5)
        assert read_exactly(client, 9) == b"held back"


def test_a_discarding_blackhole_loses_the_bytes_and_tells_nobody_of_the_end() -> None:
    with joined(plan_of(Blackhole(mode="discard"))) as (wire, client, server):
        server.sendall(b"lost")
        server.close()
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        wire.plane.set_plan(Plan())
        client.settimeout(5)
        assert read_all(client) == b""


def test_a_timeout_lasts_although_the_upstream_closes_at_once() -> None:
    with joined(plan_of(Timeout(timeout_ms=200))) as (wire, client, server):
        server.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello")
        server.close()
        assert client.recv(1) == b""
        assert wire.plane.snapshot().lateness.early == 0


def test_corrupt_flips_bits_and_keeps_the_length() -> None:
    with joined(plan_of(Corrupt(rate=1.0))) as (_, client, server):
        server.sendall(bytes(4 * 1448))
        server.shutdown(socket.SHUT_WR)
        received = read_all(client)
        assert len(received) == 4 * 1448
        assert sum(byte.bit_count() for byte in received) == 4


def test_a_fault_of_one_direction_leaves_the_other_alone() -> None:
    with joined(plan_of(Blackhole(), match=TO_UPSTREAM)) as (_, client, server):
        server.sendall(b"passes")
        assert read_exactly(client, 6) == b"passes"


def test_an_upstream_that_refuses_shows_as_a_reset() -> None:
    with wired(observed=True) as wire:
        wire.upstream.close()
        with pytest.raises(ConnectionResetError), connect(wire.proxy) as client:
            client.recv(1)
        assert wire.plane.snapshot().proxies[0].dial_failures == 1
        assert [h.event for h in wire.plane.take_events()] == ["opened", "dial_failed", "closed"]


@pytest.mark.parametrize("by_reset", [False, True], ids=["fin", "rst"])
def test_a_connection_that_has_ended_leaves_no_object_for_the_garbage_collector(by_reset: bool) -> None:
    with wired() as wire:
        gc.collect()
        gc.disable()
        try:
            client, server = wire.join()
            with client, server:
                client.sendall(b"x")
                read_exactly(server, 1)
                if by_reset:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                with contextlib.suppress(ConnectionResetError):
                    assert server.recv(1) == b""
            while wire.plane.snapshot().proxies[0].live:
                pass
            assert [each for each in gc.get_objects() if isinstance(each, Link | Direction)] == []
        finally:
            gc.enable()


@pytest.mark.parametrize("first", [b"", b"the first bytes"])
def test_a_client_without_rules_that_begins_with_its_end_is_answered(first: bytes) -> None:
    with wired() as wire, connect(wire.proxy) as client:
        client.sendall(first)
        client.shutdown(socket.SHUT_WR)
        server, _ = wire.upstream.accept()
        with server:
            server.settimeout(10)
            assert read_all(server) == first
            server.sendall(b"answer")
        assert read_all(client) == b"answer"


def test_nothing_is_left_after_close() -> None:
    with wired() as wire:
        client, server = wire.join()
    with client, server:
        assert server.recv(1) == b""
        assert client.recv(1) == b""
        with pytest.raises(OSError, match=str(errno.ECONNREFUSED)):
            connect(wire.proxy)
    assert all(thread.name != "fault-plane" for thread in threading.enumerate())
