"""Answers that wait for the client's window after the upstream has ended their streams."""

from __future__ import annotations

import pytest
from h2.settings import SettingCodes

from faultkit.base.rng import Rng
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http_fault import AnswerContext
from faultkit.proxy.http2 import Filtered, RequestFields
from faultkit.proxy.http2.leg import Leg
from tests.proxy.http2.peers import OK, Layered, Seen, get

REQUESTS, AT_A_TIME = 60, 6


def body_of(stream_id: int) -> bytes:
    """Return 300 kB, or less for some answers: a new request then comes while others are answered."""
    return bytes((stream_id % 251,)) * (100_000 if stream_id % 7 == 3 else 300_000)


class Load(Layered):
    """A client that keeps some requests in flight, and a server that answers each."""

    def __init__(self, drip: HttpDrip | None) -> None:
        self.drip = drip
        self.asked = 0
        super().__init__(judge_answer=self._judge_answer)
        self.server.on_stream = self._answer
        self.client.on_stream = self._ask

    def _judge_answer(
        self, request: RequestFields, number: int, status: int, dropped: bool
    ) -> Filtered | None:
        if self.drip is None:
            return None
        given = AnswerContext(Rng.keyed(number), lambda *what: None)
        return Filtered({self.drip: self.drip.open(given)}, frozenset((self.drip,)))

    def _answer(self, stream_id: int) -> None:
        self.server.h2.send_headers(stream_id, OK)
        self.server.send_body(stream_id, body_of(stream_id))

    def _ask(self, done: int | None = None) -> None:
        if self.asked < REQUESTS:
            self.asked += 1
            stream_id = self.client.h2.get_next_available_stream_id()
            self.client.h2.send_headers(stream_id, get(), end_stream=True)

    def answers(self, until: float | None = None) -> list[Seen]:
        for _ in range(AT_A_TIME):
            self._ask()
        self.run(until)
        return [self.client.seen.get(1 + 2 * number, Seen()) for number in range(REQUESTS)]


def whole(number: int) -> Seen:
    return Seen([OK], body_of(1 + 2 * number), ended=True)


@pytest.mark.parametrize(
    ("drip", "window"), [(None, 16_384), (HttpDrip(bytes_per_s=1_000_000), 65_535)], ids=["no rule", "drip"]
)
def test_every_answer_is_whole_where_the_client_has_small_windows(drip: HttpDrip | None, window: int) -> None:
    load = Load(drip)
    load.client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})

    assert load.answers(until=60.0) == [whole(number) for number in range(REQUESTS)]
    assert load.layer.trouble is None


def test_a_frame_of_padding_alone_does_not_stop_the_answer_behind_it() -> None:
    world = Layered()
    world.client.reads = False
    world.server.on_stream = lambda stream_id: None
    world.client.h2.send_headers(1, get(), end_stream=True)
    world.run()
    world.server.h2.send_headers(1, OK)
    filling = bytes(65_535)
    world.server.send_body(1, filling, ends=False)
    world.run()
    world.server.h2.send_data(1, b"first")
    world.server.h2.send_data(1, b"", pad_length=7)
    world.server.h2.send_data(1, b"last", end_stream=True)
    world.run()
    assert world.client.seen[1] == Seen([OK], filling)

    world.client.h2.increment_flow_control_window(100, 1)
    world.run()
    world.client.h2.increment_flow_control_window(100)
    world.run()

    assert world.client.seen[1] == Seen([OK], filling + b"firstlast", ended=True)


def test_an_answer_has_no_hole_where_settings_make_its_window_negative() -> None:
    world = Layered()
    world.client.reads = False
    world.client.h2.send_headers(1, get(), end_stream=True)
    world.run()
    world.server.h2.send_headers(1, OK)
    body = bytes(range(250)) * 400
    world.server.send_body(1, body[:65_535], ends=False)
    world.server.send_body(1, body[65_535:])
    world.run()
    world.client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 60_000})
    world.run()
    world.client.h2.increment_flow_control_window(100_000)
    world.run()
    assert world.client.seen[1] == Seen([OK], body[:65_535])

    world.client.h2.increment_flow_control_window(50_000, 1)
    world.run()

    assert world.client.seen[1] == Seen([OK], body, ended=True)


def test_a_stream_that_h2_has_dropped_takes_nothing_and_raises_nothing() -> None:
    leg, peer = Leg(to_upstream=True), Leg(to_upstream=False)
    for stream_id in (1, 3):
        leg.h2.send_headers(stream_id, get(), end_stream=True)
        peer.receive(leg.output())
        peer.send_fields(stream_id, OK, ends=True)
        leg.receive(peer.output())
    leg.h2.send_headers(5, get(), end_stream=True)
    leg.output()
    assert 1 not in leg.h2.streams

    leg.received(1 << 20)
    leg.passed(1, 1 << 20)
    leg.reset(1, 0)

    assert leg.window(1) == 0
    assert not leg.send_data(1, b"", ends=True)
    assert not leg.send_data(1, b"more")
    assert not leg.send_fields(1, [], ends=True)
    assert not leg.send_fields(1, [(b"a", b"b")], ends=True)
    assert leg.output() == b""
