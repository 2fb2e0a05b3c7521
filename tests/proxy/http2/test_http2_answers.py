"""Answers that faults act on, in HTTP/2: what the client sees of them, exactly and in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from h2.exceptions import InvalidBodyLengthError

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Event
from faultkit.faults.http.http_cut import HttpCut
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http.http_garbage import HttpGarbage
from faultkit.faults.http.http_lost_reply import HttpLostReply
from faultkit.faults.http.http_slow_headers import HttpSlowHeaders
from faultkit.faults.http.http_wrong_encoding import HttpWrongEncoding
from faultkit.faults.http.http_wrong_length import HttpWrongLength
from faultkit.faults.http2.stream_reset import StreamReset
from faultkit.faults.http_fault import AnswerContext, AnswerFault, HttpVerdict
from faultkit.proxy.http2 import Filtered, Judged, RequestFields
from tests.proxy.http2.peers import OK, Field, Layered, Seen, call, get, message

BODY = b"0123456789"
SIZED: list[Field] = [*OK, (b"content-length", b"10"), (b"x-a", b"b")]
DONE: list[Field] = [(b"grpc-status", b"0")]
WHOLE = Seen([SIZED], BODY, ended=True)


class World(Layered):
    """A client and an honest server; faults act on the answers to `/broken`."""

    def __init__(self, *faults: AnswerFault, judged: Judged | None = None, body: bytes = BODY) -> None:
        self.faults, self.judged, self.body = faults, judged or Judged(), body
        self.noted: list[tuple[str, float]] = []
        self.answered: list[tuple[str, int, int, bool]] = []
        super().__init__(self._judge, judge_answer=self._judge_answer)
        self.server.on_stream = self.answer
        self.run()

    def _judge(self, request: RequestFields) -> Judged:
        return self.judged if request.target == "/broken" else Judged()

    def _judge_answer(
        self, request: RequestFields, number: int, status: int, dropped: bool
    ) -> Filtered | None:
        self.answered.append((request.target, number, status, dropped))
        if request.target != "/broken" or dropped:
            return None
        given = AnswerContext(Rng.keyed(1), lambda *what: self.noted.append(what))
        filters = {fault: fault.open(given) for fault in self.faults}
        return Filtered(filters, frozenset(fault for fault in self.faults if fault.paces))

    def answer(self, stream_id: int) -> None:
        request = RequestFields(self.server.seen[stream_id].heads[0])
        length = [(b"content-length", str(len(self.body)).encode())]
        if request.is_grpc:
            self.server.h2.send_headers(stream_id, OK)
            self.server.h2.send_data(stream_id, message(b"one"))
            self.server.h2.send_headers(stream_id, DONE, end_stream=True)
        elif request.method == "HEAD":
            self.server.h2.send_headers(stream_id, SIZED, end_stream=True)
        else:
            self.server.h2.send_headers(stream_id, [*OK, *length, SIZED[-1]])
            self.server.send_body(stream_id, self.body)

    def ask(self, *heads: list[Field]) -> None:
        for fields in heads:
            stream_id = self.client.h2.get_next_available_stream_id()
            self.client.h2.send_headers(stream_id, fields, end_stream=True)
        self.run()


def changed(*fields: Field) -> list[list[Field]]:
    return [[*OK, SIZED[-1], *fields]]


@pytest.mark.parametrize(
    ("fault", "expected", "noted", "ended"),
    [
        (HttpCut(), Seen([SIZED], b"01234"), ("cut_bytes", 5), [Close]),
        (HttpCut(end="reset"), Seen([SIZED], b"01234", reset=2), ("cut_bytes", 5), []),
        (HttpCut(end="hang"), Seen([SIZED], b"01234"), ("cut_bytes", 5), []),
        (
            HttpCut(end="clean"),
            Seen(changed((b"content-length", b"5")), b"01234", ended=True),
            ("cut_bytes", 5),
            [],
        ),
        (
            HttpWrongLength(by_bytes=2),
            Seen(changed((b"content-length", b"12")), BODY),
            ("claimed_bytes", 12),
            [Close],
        ),
        (
            HttpWrongEncoding(),
            Seen(changed((b"content-encoding", b"gzip"), (b"content-length", b"10")), BODY, ended=True),
            ("wrong_encoding", 1),
            [],
        ),
        (HttpLostReply(end="close"), Seen(), ("lost_reply", 200), [Close]),
        (HttpLostReply(end="reset"), Seen(reset=2), ("lost_reply", 200), []),
        (HttpLostReply(end="hang"), Seen(), ("lost_reply", 200), []),
    ],
    ids=lambda given: f"{given.kind}-{getattr(given, 'end', '')}" if isinstance(given, AnswerFault) else "",
)
def test_a_fault_acts_on_its_answer_and_on_no_other(
    fault: AnswerFault, expected: Seen, noted: tuple[str, float], ended: list[type[Event]]
) -> None:
    world = World(fault)
    world.ask(get("/fine"))
    world.ask(get("/broken"))
    assert world.client.seen[1] == WHOLE
    assert world.client.seen.get(3, Seen()) == expected
    assert world.noted == [noted]
    assert world.client.ended == ended
    assert world.client.goaway == ((3, 0, b"") if ended else None)
    assert world.answered == [("/fine", 0, 200, False), ("/broken", 1, 200, False)]
    if not ended:
        world.ask(get("/fine"))
        assert world.client.seen[5] == WHOLE


def test_a_length_that_is_wrong_is_an_error_at_the_end_of_the_stream() -> None:
    world = World(HttpWrongLength(by_bytes=2, end="keep"))
    with pytest.raises(InvalidBodyLengthError, match="Expected 12 bytes, received 10"):
        world.ask(get("/broken"))


def test_garbage_has_the_length_of_the_content() -> None:
    world = World(HttpGarbage(after_bytes=4))
    world.ask(get("/broken"))
    seen = world.client.seen[1]
    assert replace(seen, body=b"") == replace(WHOLE, body=b"")
    assert (len(seen.body), seen.body[:4]) == (10, b"0123")
    assert seen.body != BODY


def test_slow_headers_come_late_and_all_else_behind_them() -> None:
    world = World(HttpSlowHeaders(over_ms=1000))
    world.ask(get("/broken"), get("/fine"))
    assert world.client.seen == {3: WHOLE}
    world.run(until=0.999)
    assert 1 not in world.client.seen
    world.run(until=1.0)
    assert world.client.seen[1] == WHOLE


def test_content_drips() -> None:
    world = World(HttpDrip(bytes_per_s=40))
    world.ask(get("/broken"), get("/fine"))
    assert world.client.seen == {1: Seen([SIZED], b"0123"), 3: WHOLE}
    world.run(until=0.099)
    assert world.client.seen[1].body == b"0123"
    world.run(until=0.1)
    assert world.client.seen[1] == Seen([SIZED], b"01234567")
    world.run(until=0.2)
    assert world.client.seen[1] == WHOLE


def test_a_slow_answer_slows_its_sender_down_and_no_other() -> None:
    big = bytes(3 << 20)
    world = World(HttpDrip(bytes_per_s=100), body=big)
    world.ask(get("/broken"), get("/fine"))
    assert world.client.seen[3].body == big
    assert len(world.client.seen[1].body) == 10
    assert world.server.h2.local_flow_control_window(1) == 0
    stream = world.layer._by_client[1]
    assert stream.path is not None
    assert stream.path.credit + stream.down.credit == (1 << 20) - 10
    assert stream.down.credit < 20_000
    world.end_rules(set())
    world.run()
    assert world.client.seen[1].body == big
    assert world.client.seen[1].ended
    assert world.layer._upstream._held == 0


def test_what_a_rule_holds_back_comes_when_it_ends() -> None:
    world = World(HttpSlowHeaders(over_ms=5000), HttpDrip(bytes_per_s=10))
    world.ask(get("/broken"))
    assert world.client.seen == {}
    world.end_rules(set())
    assert world.client.seen[1] == WHOLE


def test_trailers_stay_behind_the_content() -> None:
    world = World(HttpDrip(bytes_per_s=40))
    world.ask(call("/broken"))
    assert world.client.seen[1] == Seen([OK], message(b"one")[:4])
    world.run(until=1.0)
    assert world.client.seen[1] == Seen([OK, DONE], message(b"one"), ended=True)


def test_an_answer_without_content_passes() -> None:
    world = World(HttpCut(), HttpWrongLength(), HttpWrongEncoding())
    world.ask([(b":method", b"HEAD"), *get("/broken")[1:]])
    assert world.client.seen[1] == Seen([SIZED], ended=True)
    assert world.noted == []


def test_an_answer_of_unknown_length_may_be_longer_than_what_is_held() -> None:
    world, size = World(HttpWrongLength(end="keep")), 5 << 20

    def answer(stream_id: int) -> None:
        world.server.h2.send_headers(stream_id, OK)
        world.server.send_body(stream_id, bytes(size))

    world.server.on_stream = answer
    world.ask(get("/broken"))
    assert world.client.seen[1] == Seen([OK], bytes(size), ended=True)
    assert world.noted == []


def test_a_cut_answer_is_cancelled_at_the_upstream() -> None:
    world = World(HttpCut(after_bytes=3, end="clean"), body=bytes(3 << 20))
    world.ask(get("/broken"))
    assert world.client.seen[1].body == bytes(3)
    assert world.client.seen[1].ended
    assert world.server.seen[1].reset == 8
    assert not world.layer._by_client


def test_an_answer_that_the_client_does_not_get_is_judged_for_the_ledger_only() -> None:
    own = Judged(HttpVerdict(status=503, call_upstream=True))
    world = World(HttpCut(), judged=own)
    world.ask(get("/broken"))
    assert world.answered == [("/broken", 0, 200, True)]
    assert world.client.seen[1].heads[0][0] == (b":status", b"503")
    assert world.client.seen[1].ended


def test_filters_act_before_the_effects_of_http_2() -> None:
    effect = Judged(effect=StreamReset(after_bytes=6).effect(), rule="reset")
    world = World(HttpDrip(bytes_per_s=40), judged=effect)
    world.ask(get("/broken"))
    assert world.client.seen[1] == Seen([SIZED], b"0123")
    world.run(until=0.1)
    assert world.client.seen[1].body == b"012345"
    assert world.client.seen[1].reset is not None


def test_an_upstream_that_breaks_off_is_passed_on() -> None:
    world = World(HttpDrip(bytes_per_s=40))
    world.server.on_stream = lambda stream_id: world.server.h2.reset_stream(stream_id, 5)
    world.ask(get("/broken"))
    assert world.client.seen[1] == Seen(reset=5)
