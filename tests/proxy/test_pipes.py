"""Parcels: bytes that wait in pipes keep their order and their number, and every pipe is given back."""

import os
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pytest

from faultkit.faults.events import Data
from faultkit.faults.fault import StreamFault
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.plan import Plan
from faultkit.proxy import pipes
from faultkit.proxy.native import native
from faultkit.proxy.pipes import CAN_SPLICE, PIPE_SIZE, PipePool, PipeQueue
from faultkit.testing import open_filter
from tests.proxy.wires import (
    PATIENCE_S,
    expected_digest,
    joined,
    plan_of,
    read_exactly,
    received_digest,
    send_hashed,
)

RESET_ON_CLOSE = struct.pack("ii", 1, 0)

linux_only = pytest.mark.skipif(not CAN_SPLICE, reason="splice is a Linux system call")


@dataclass
class SizeOnly:
    size: int

    def __len__(self) -> int:
        return self.size


@pytest.mark.parametrize("fault", [Latency(), Jitter(), SlowClose()], ids=lambda fault: fault.kind)
def test_a_blind_filter_passes_on_a_payload_that_has_nothing_but_a_size(fault: StreamFault) -> None:
    filter = open_filter(fault)
    payload = SizeOnly(5)
    assert filter.blind
    (event,) = filter.feed(Data(0.0, payload))  # type: ignore[arg-type]
    assert isinstance(event, Data)
    assert cast(object, event.payload) is payload


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@linux_only
def test_a_line_is_first_in_first_out_over_several_pipes() -> None:
    before = open_descriptors()
    pool = PipePool()
    line = PipeQueue(pool)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        sent = b""
        for number in range(40):
            block = bytes([number]) * 100_000
            theirs.sendall(block)
            sent += block
            taken = 0
            while taken < len(block):
                parcel = line.take(ours.fileno(), False)
                assert parcel is not None
                taken += parcel.size
        assert line.size == len(sent) > 2 * PIPE_SIZE
        assert line.read(len(sent)) == sent
        with pytest.raises(BlockingIOError):
            line.take(ours.fileno(), False)
        theirs.shutdown(socket.SHUT_WR)
        end = line.take(ours.fileno(), True)
        assert end is not None
        assert end.size == 0
    line.close()
    pool.close()
    assert open_descriptors() == before


@linux_only
def test_a_closed_line_gives_back_pipes_that_still_hold_bytes() -> None:
    before = open_descriptors()
    pool = PipePool()
    line = PipeQueue(pool)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(b"never read")
        assert line.take(ours.fileno(), False) is not None
    line.close()
    again = pool.borrow()
    assert again is not None
    with pytest.raises(BlockingIOError):
        os.read(again.outlet, 1)
    pool.give_back(again)
    pool.close()
    assert open_descriptors() == before


@linux_only
@pytest.mark.parametrize("from_client", [True, False], ids=["from the client", "from the upstream"])
def test_bytes_that_came_before_a_reset_are_spliced_before_it(from_client: bool) -> None:
    block = b"x" * 32768
    with joined() as (wire, client, server):
        source, target = (client, server) if from_client else (server, client)
        for _ in range(20):  # Enough for the relay to take them for bulk.
            source.sendall(block)
            read_exactly(target, len(block))
        assert wire.plane.services.pipes.holders
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            go_on.wait(PATIENCE_S)

        wire.plane.services.loop.call_from_thread(hold)
        assert held.wait(PATIENCE_S)
        source.sendall(block)
        source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        source.close()
        go_on.set()
        assert read_exactly(target, len(block)) == block
        with pytest.raises(ConnectionResetError):
            target.recv(1)


def test_bulk_under_latency_survives_a_filter_that_wants_to_see_the_bytes() -> None:
    """Parcels become bytes again, in order, when a rule that cuts them joins."""
    slow = Latency(mean_ms=30, per="operation")
    total = 150_000_000
    with joined(plan_of(slow)) as (wire, client, server):
        sender = send_hashed(server, total)
        client.recv(1, socket.MSG_PEEK)
        for _ in range(20):
            wire.plane.set_plan(plan_of(slow, Slicer(average_bytes=30_000)))
            client.recv(1, socket.MSG_PEEK)
            wire.plane.set_plan(plan_of(slow))
        wire.plane.set_plan(Plan())
        assert received_digest(client) == expected_digest(total)
        sender.join()


Carry = Callable[[int, int, int, int, int], tuple[int, int, int]]

CARRIES = [
    pytest.param(pipes._carry, id="python"),
    pytest.param(
        None if native is None else native.carry,
        id="compiled",
        marks=pytest.mark.skipif(native is None, reason="not compiled here"),
    ),
]


@linux_only
@pytest.mark.parametrize("carry", CARRIES)
def test_carry_says_how_much_it_moved_and_why_it_stopped(carry: Carry) -> None:
    pool = PipePool()
    pipe = pool.borrow()
    assert pipe is not None
    (source, sender), (target, receiver) = tcp_pair(), tcp_pair()
    with source, sender, target, receiver:
        source.setblocking(False)
        target.setblocking(False)

        def carried(rounds: int) -> tuple[int, int, int]:
            return carry(source.fileno(), target.fileno(), pipe.inlet, pipe.outlet, rounds)

        assert carried(3) == (0, 0, pipes.DRY)
        sender.sendall(b"abc")
        assert carried(1) == (3, 0, pipes.MORE)
        sender.sendall(b"defg")
        assert carried(3) == (4, 0, pipes.DRY)
        assert read_exactly(receiver, 7) == b"abcdefg"

        target.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        moved, left, why = 0, 0, pipes.MORE
        sent = 0
        while why in (pipes.MORE, pipes.DRY):
            sender.sendall(bytes(100_000))
            sent += 100_000
            more, left, why = carried(3)
            moved += more
        assert why == pipes.FULL
        assert left > 0
        assert moved + left <= sent
        assert os.read(pipe.outlet, PIPE_SIZE) == bytes(left)

        receiver.close()
        sender.sendall(b"x")
        whys = {carried(1)[2] for _ in range(3)}
        assert pipes.TARGET_FAILED in whys
    pipe.close()


@linux_only
@pytest.mark.parametrize("carry", CARRIES)
@pytest.mark.parametrize("is_reset", [False, True], ids=["end", "reset"])
def test_carry_passes_bytes_on_before_the_end_of_their_source(carry: Carry, is_reset: bool) -> None:
    pool = PipePool()
    pipe = pool.borrow()
    assert pipe is not None
    (source, sender), (target, receiver) = tcp_pair(), tcp_pair()
    with source, sender, target, receiver:
        source.setblocking(False)
        target.setblocking(False)
        sender.sendall(b"last")
        if is_reset:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        sender.close()
        numbers = (source.fileno(), target.fileno(), pipe.inlet, pipe.outlet)
        if is_reset:
            # Linux drops what was not read before a reset, or reports it behind the bytes.
            moved, left, why = carry(*numbers, 3)
            assert (left, why) == (0, pipes.SOURCE_FAILED)
            assert moved in (0, 4)
        else:
            assert carry(*numbers, 3) == (4, 0, pipes.ENDED)
            assert read_exactly(receiver, 4) == b"last"
    pipe.close()


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname(), PATIENCE_S)
        far, _ = server.accept()
    far.settimeout(PATIENCE_S)
    return near, far
