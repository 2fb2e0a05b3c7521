"""A direction between two sockets through legs of TLS that nothing looks into, compiled and in Python."""

from __future__ import annotations

import random
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from faultkit.faults.events import Data, Eof, Event
from faultkit.plan import Plan
from faultkit.proxy.active_plan import ActivePlan
from faultkit.proxy.data_plane import ALONE
from faultkit.proxy.direction import Direction
from faultkit.proxy.event_loop import READABLE, Loop
from faultkit.proxy.native import native
from faultkit.proxy.proxy_state import LinkServices
from faultkit.proxy.tls import TlsLeg, straight
from tests.proxy.tls_legs import Contexts, agreed, new_contexts

COMPILED = pytest.param(True, marks=pytest.mark.skipif(native is None, reason="not compiled here"))


@pytest.fixture(scope="module")
def contexts() -> Contexts:
    return new_contexts()


@dataclass
class Owner:
    """Takes the place of a link, and keeps what the direction asks it to do."""

    fed: list[Event] = field(default_factory=list)
    resets: int = 0

    def pass_through_layer(self, direction: Direction, events: list[Event], now: float) -> None:
        self.fed += events

    def layer_wants_input(self, direction: Direction) -> bool:
        return True

    def on_drained(self, direction: Direction) -> None:
        pass

    def reset(self) -> None:
        self.resets += 1

    def abort(self) -> None:
        pass


@dataclass
class Way:
    """A direction, and the far ends of its two sockets."""

    direction: Direction
    owner: Owner
    source: socket.socket
    target: socket.socket

    def send(self, records: bytes) -> None:
        self.source.sendall(records)
        self.direction.ready(READABLE)

    def received(self) -> bytes:
        pieces: list[bytes] = []
        while True:
            try:
                piece = self.target.recv(1 << 20)
            except BlockingIOError:
                return b"".join(pieces)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)


Opener = Callable[[Callable[[bytes], bytes]], Way]


@pytest.fixture(params=[COMPILED, False], ids=["compiled", "python"])
def between(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    if not request.param:
        monkeypatch.setattr("faultkit.proxy.tls.native", None)
    services = LinkServices(Loop(), lambda event: None, ActivePlan(Plan(), 0.0, None), ALONE, observed=False)
    opened: list[socket.socket] = []

    def open_way(convert: Callable[[bytes], bytes]) -> Way:
        (sender, source), (target, receiver) = socket.socketpair(), socket.socketpair()
        opened.extend((sender, source, target, receiver))
        for each in (source, target, receiver):
            each.setblocking(False)
        owner = Owner()
        direction = Direction(owner, services, source.fileno(), target.fileno())
        services.loop.poller.add(target.fileno())
        direction.enter_layer()
        direction.straight = convert
        return Way(direction, owner, sender, receiver)

    yield open_way
    for each in opened:
        each.close()
    services.close()


SIZES = (1, 100, 2048, 2049, 16384, 16385, 50_000)


@pytest.mark.parametrize(("reads", "writes"), [(True, True), (True, False), (False, True)])
def test_random_bytes_cut_anywhere_arrive_unchanged(
    contexts: Contexts, between: Opener, reads: bool, writes: bool
) -> None:
    dice = random.Random(7)
    (near, sender), (receiver, far) = agreed(contexts), agreed(contexts)
    way = between(straight(near if reads else None, far if writes else None))
    sent = got = b""
    for _ in range(30):
        plain = dice.randbytes(dice.choice(SIZES))
        sent += plain
        records = sender.encrypt_now(plain) if reads else plain
        while records:
            cut = dice.choice((1, 5, 1000, len(records)))
            way.send(records[:cut])
            records = records[cut:]
            if out := way.received():
                got += receiver.decrypt_now(out) if writes else out
    assert got == sent
    assert (way.owner.fed, way.direction.out) == ([], None)


def test_many_small_records_leave_as_one(contexts: Contexts, between: Opener) -> None:
    (near, sender), (receiver, far) = agreed(contexts), agreed(contexts)
    way = between(straight(near, far))
    way.send(b"".join(sender.encrypt_now(b"%04d" % number) for number in range(500)))
    out = way.received()
    assert receiver.decrypt_now(out) == b"".join(b"%04d" % number for number in range(500))
    assert int.from_bytes(out[3:5]) + 5 == len(out)  # The length in the header of a record.


def test_what_a_full_socket_does_not_take_waits_and_follows_in_order(
    contexts: Contexts, between: Opener
) -> None:
    near, sender = agreed(contexts)
    way = between(straight(near, None))
    sent, number = b"", 0
    while way.direction.out is None:
        plain = b"%06d" % number * 2000
        way.send(sender.encrypt_now(plain))
        sent += plain
        number += 1
    assert not way.direction.writable
    assert way.direction.moved + way.direction.out_bytes == len(sent)
    got = way.received()
    way.direction.writable = True
    way.direction.pump()
    assert got + way.received() == sent


def closed(leg: TlsLeg) -> bytes:
    leg.finish()
    return leg.records()


def test_the_end_of_tls_is_left_to_the_layer_behind_the_data(contexts: Contexts, between: Opener) -> None:
    (near, sender), (receiver, far) = agreed(contexts), agreed(contexts)
    way = between(straight(near, far))
    way.send(sender.encrypt_now(b"last words") + closed(sender))
    assert receiver.decrypt_now(way.received()) == b"last words"
    assert [event.payload for event in way.owner.fed if isinstance(event, Data)] == [b""]
    assert (near.decrypt(b""), near.ended) == (b"", True)


def test_a_broken_record_is_left_to_the_layer_with_its_error(contexts: Contexts, between: Opener) -> None:
    near, sender = agreed(contexts)
    way = between(straight(near, None))
    first, broken = sender.encrypt_now(b"first"), bytearray(sender.encrypt_now(b"second"))
    broken[-1] ^= 1
    way.send(first + broken)
    assert way.received() == b"first"
    assert len(way.owner.fed) == 1
    with pytest.raises(ssl.SSLError):
        near.decrypt(b"")


def test_the_end_of_the_source_comes_as_an_event(contexts: Contexts, between: Opener) -> None:
    way = between(straight(agreed(contexts)[0], None))
    way.source.close()
    way.direction.ready(READABLE)
    assert [type(event) for event in way.owner.fed] == [Eof]


def test_a_target_that_is_gone_resets_the_link(contexts: Contexts, between: Opener) -> None:
    near, sender = agreed(contexts)
    way = between(straight(near, None))
    way.target.close()
    way.send(sender.encrypt_now(b"nobody reads this"))
    assert way.owner.resets == 1


@pytest.mark.skipif(native is None, reason="not compiled here")
def test_a_loop_that_finds_the_buffers_in_use_takes_the_way_in_python(
    contexts: Contexts, between: Opener
) -> None:
    """As two loops do while one decrypts: here the first TLS object runs the second direction."""
    assert native is not None
    near, sender = agreed(contexts)
    second = between(straight(near, None))
    second.source.sendall(sender.encrypt_now(b"second"))

    class Meanwhile:
        def write(self, plain: bytes) -> None:
            second.direction.ready(READABLE)

        def read(self) -> bytes:
            return b"first"

    meanwhile = Meanwhile()
    first = between(native.Straight(lambda records: b"", Exception, None, (meanwhile, meanwhile)))
    first.send(b"plain")
    assert (first.received(), second.received()) == (b"first", b"second")
