"""Answers that faults act on, in HTTP/1.1: exact bytes and times."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http.http_cut import HttpCut
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http.http_lost_reply import HttpLostReply
from faultkit.faults.http.http_slow_headers import HttpSlowHeaders
from faultkit.faults.http.http_wrong_encoding import HttpWrongEncoding
from faultkit.faults.http.http_wrong_length import HttpWrongLength
from faultkit.faults.http_fault import AnswerContext, AnswerFault, AnswerFilter, HttpVerdict
from faultkit.proxy.http import Answered, Dial, Hangup, HttpExchange, Output, ToClient, ToUpstream

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = GET.replace(b"GET", b"HEAD")
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nX-A: b\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"3\r\n012\r\n5;x=y\r\n34567\r\n0\r\nX-Sum: 1\r\n\r\n"
OPEN = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Pair:
    """An exchange whose first answers go through the filters of these faults."""

    def __init__(self, *faults: AnswerFault, answers: int = 1, mode: str = "inline") -> None:
        self.filters: list[AnswerFilter] = []
        self.answered: list[tuple[int, int, bool]] = []
        self.verdict = HttpVerdict()

        def judge(answered: Answered) -> tuple[list[AnswerFilter], bool]:
            self.answered.append((answered.number, answered.response.status, answered.dropped))
            if answered.number >= answers:
                return [], False
            given = AnswerContext(Rng.keyed(1), lambda effect, value: None)
            self.filters = [fault.open(given) for fault in faults]
            return self.filters, any(fault.paces for fault in faults)

        self.exchange = HttpExchange(lambda head: self.verdict, mode, "x", judge_answer=judge)  # type: ignore[arg-type]

    def asked(self, request: bytes = GET) -> Pair:
        self.exchange.from_client(Data(0.0, request))
        return self

    def told(self, at: float, payload: bytes) -> list[Output]:
        return self.exchange.from_upstream(Data(at, payload))


def down(at: float, payload: bytes) -> ToClient:
    return ToClient(Data(at, payload))


@pytest.mark.parametrize(
    ("fault", "answer", "expected"),
    [
        (
            HttpCut(),
            SIZED + b"01234567",
            [down(1.0, SIZED), down(1.0, b"0123"), ToClient(Close(1.0)), Hangup()],
        ),
        (
            HttpCut(end="reset"),
            SIZED + b"01234567",
            [down(1.0, SIZED), down(1.0, b"0123"), ToClient(Reset(1.0)), Hangup()],
        ),
        (
            HttpCut(end="clean"),
            SIZED + b"01234567" + OK,
            [
                down(1.0, SIZED.replace(b"Content-Length: 8\r\nX-A: b", b"X-A: b\r\nContent-Length: 4")),
                down(1.0, b"0123"),
            ],
        ),
        (
            HttpCut(end="clean"),
            CHUNKED + CHUNKS,
            [down(1.0, CHUNKED), down(1.0, b"4\r\n0123\r\n"), down(1.0, b"0\r\nX-Sum: 1\r\n\r\n")],
        ),
        (
            HttpCut(after_bytes=2),
            CHUNKED + CHUNKS,
            [down(1.0, CHUNKED), down(1.0, b"2\r\n01\r\n"), ToClient(Close(1.0)), Hangup()],
        ),
        (
            HttpDrip(bytes_per_s=32),
            SIZED + b"01234567",
            [
                down(1.0, SIZED),
                down(1.0, b"012"),
                down(1.09375, b"345"),
                down(1.1875, b"67"),
            ],
        ),
        (
            HttpSlowHeaders(over_ms=1000),
            SIZED + b"01234567",
            [
                down(1.0, b"HTTP/1.1 200 OK\r\n"),
                down(1.5, b"Content-Length: 8\r\n"),
                down(2.0, b"X-A: b\r\n\r\n"),
                down(2.0, b"01234567"),
            ],
        ),
        (
            HttpWrongLength(by_bytes=2, end="keep"),
            CHUNKED + CHUNKS,
            [down(1.0, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), down(1.0, b"01234567")],
        ),
        (
            HttpWrongEncoding(),
            CHUNKED + CHUNKS,
            [
                down(1.0, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"),
                down(1.0, b"8\r\n01234567\r\n"),
                down(1.0, b"0\r\nX-Sum: 1\r\n\r\n"),
            ],
        ),
        (HttpLostReply(), SIZED + b"01234567", [ToClient(Close(1.0)), Hangup()]),
        (HttpLostReply(end="hang"), SIZED + b"01234567", [Hangup()]),
    ],
)
def test_the_client_gets(fault: AnswerFault, answer: bytes, expected: list[Output]) -> None:
    """A second answer, if there is one, follows a whole message only; it is not compared here."""
    out = Pair(fault).asked(GET + GET if answer.endswith(OK) else GET).told(1.0, answer)
    assert out[: len(expected)] == expected
    assert out[len(expected) :] == ([down(1.0, OK)] if answer.endswith(OK) else [])


def test_the_next_answer_waits_for_a_slow_one() -> None:
    pair = Pair(HttpDrip(bytes_per_s=4)).asked(GET + GET)
    out = pair.told(1.0, SIZED + b"01234567" + OK)
    assert out[-1] == down(1.0 + 7 / 4, OK)
    assert pair.answered == [(0, 200, False), (1, 200, False)]


def test_the_upstream_is_read_slowly_while_an_answer_is() -> None:
    pair = Pair(HttpDrip(bytes_per_s=4)).asked()
    assert not pair.exchange.paces
    pair.told(1.0, SIZED + b"0123")
    assert pair.exchange.paces
    pair.told(2.0, b"4567")
    assert not pair.exchange.paces


def test_an_answer_that_ends_with_the_stream_ends_there_for_the_client_too() -> None:
    pair = Pair(HttpCut()).asked()
    assert pair.told(1.0, OPEN + b"01234567") == [down(1.0, OPEN), down(1.0, b"0123")]
    assert pair.exchange.from_upstream(Eof(2.0)) == [ToClient(Close(2.0)), Hangup()]
    lost = Pair(HttpLostReply(end="reset")).asked()
    assert lost.told(1.0, OPEN + b"0") == []
    assert lost.exchange.from_upstream(Eof(2.0)) == [ToClient(Reset(2.0)), Hangup()]


def test_an_upstream_that_fails_by_itself_is_passed_on() -> None:
    pair = Pair(HttpLostReply()).asked()
    assert pair.told(1.0, SIZED + b"0") == []
    assert pair.exchange.from_upstream(Reset(2.0)) == [ToClient(Reset(2.0))]


@pytest.mark.parametrize("end", [Eof(5.0), Close(5.0), Reset(5.0)])
def test_a_client_that_waits_for_ever_may_leave(end: Event) -> None:
    pair = Pair(HttpLostReply(end="hang")).asked()
    pair.told(1.0, OK)
    assert pair.exchange.from_client(Data(2.0, GET)) == []
    (out,) = pair.exchange.from_client(end)
    assert out == ToClient(Close(5.0) if isinstance(end, Eof) else end)


def test_a_client_that_waits_for_ever_is_let_go_when_the_rule_ends() -> None:
    pair = Pair(HttpLostReply(end="hang")).asked()
    pair.told(1.0, OK)
    assert pair.exchange.let_go(pair.filters, 3.0) == [ToClient(Close(3.0))]


def test_what_a_rule_holds_back_is_sent_when_the_rule_ends() -> None:
    pair = Pair(HttpCut(fraction=0.5)).asked()
    assert pair.told(1.0, CHUNKED + b"3\r\n012\r\n") == [down(1.0, CHUNKED), down(1.0, b"1\r\n0\r\n")]
    assert pair.exchange.let_go(pair.filters, 3.0) == [down(3.0, b"2\r\n12\r\n")]
    assert pair.told(4.0, b"1\r\n3\r\n0\r\n\r\n") == [down(4.0, b"1\r\n3\r\n"), down(4.0, b"0\r\n\r\n")]


def test_a_head_without_content_is_never_cut() -> None:
    pair = Pair(HttpCut(), HttpDrip(), HttpWrongLength()).asked(HEAD)
    assert pair.told(1.0, SIZED) == [down(1.0, SIZED)]


def test_interim_answers_and_other_protocols_are_not_touched() -> None:
    pair = Pair(HttpLostReply()).asked()
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    assert pair.told(1.0, interim) == [down(1.0, interim)]
    assert pair.told(1.0, OK) == [ToClient(Close(1.0)), Hangup()]
    upgrade = Pair(HttpLostReply()).asked(GET.replace(b"\r\n\r\n", b"\r\nUpgrade: echo\r\n\r\n"))
    switching = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    assert upgrade.told(1.0, switching + b"hi") == [down(1.0, switching + b"hi")]


def test_a_dropped_answer_is_seen_but_not_filtered() -> None:
    pair = Pair(HttpCut())
    pair.verdict = HttpVerdict(status=503, call_upstream=True)
    (answer,) = pair.asked().told(1.0, OK)
    assert isinstance(answer, ToClient)
    assert isinstance(answer.event, Data)
    assert answer.event.payload.startswith(b"HTTP/1.1 503 ")
    assert pair.answered == [(0, 200, True)]


def test_a_forward_proxy_lets_the_client_wait_without_an_upstream() -> None:
    pair = Pair(HttpLostReply(end="hang"), mode="forward")
    assert pair.exchange.from_client(Data(0.0, GET.replace(b"/a", b"http://x/a"))) == [Dial("x", 80)]
    pair.exchange.dialled(0.5)
    assert pair.told(1.0, OK) == [Hangup()]
    assert pair.exchange.from_client(Eof(2.0)) == [ToClient(Close(2.0))]


@given(
    answer=st.sampled_from((SIZED + b"01234567", CHUNKED + CHUNKS, OPEN + b"01234567")),
    cuts=st.lists(st.integers(1, 80), max_size=6),
)
def test_an_answer_that_no_filter_changes_has_the_same_content(answer: bytes, cuts: list[int]) -> None:
    class Nothing(AnswerFault):
        kind = "nothing"
        summary = "Nothing."

        def open(self, answer: AnswerContext) -> AnswerFilter:
            return AnswerFilter()

    pair = Pair(Nothing()).asked()
    places = sorted({0, *(cut for cut in cuts if cut < len(answer)), len(answer)})
    out: list[Output] = []
    for begin, end in pairwise(places):
        out += pair.told(1.0, answer[begin:end])
    got = b"".join(
        each.event.payload for each in out if isinstance(each, ToClient) and isinstance(each.event, Data)
    )
    if not answer.startswith(CHUNKED):
        assert got == answer
        return
    head, _, body = got.partition(b"\r\n\r\n")
    assert head + b"\r\n\r\n" == CHUNKED
    content = b""
    while size := int(body[: body.index(b"\r\n")], 16):
        begin = body.index(b"\r\n") + 2
        content, body = content + body[begin : begin + size], body[begin + size + 2 :]
    assert content == b"01234567"
    assert body == b"0\r\nX-Sum: 1\r\n\r\n"


def test_requests_still_go_to_the_upstream() -> None:
    pair = Pair(HttpCut())
    assert pair.exchange.from_client(Data(0.0, GET)) == [ToUpstream(Data(0.0, GET))]
