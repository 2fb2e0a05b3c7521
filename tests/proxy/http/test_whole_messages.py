"""The short way of whole messages does what the long way does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.faults.events import Data, Eof, Event
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import HttpExchange, Output, RequestHead, ToClient, ToUpstream, WholeMessages

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
BAD = b"GET /bad HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
VERDICTS = {
    "/slow": HttpVerdict(delay_s=1.5),
    "/bad": HttpVerdict(status=503, body="broken"),
    "/late-bad": HttpVerdict(delay_s=2.5, status=503),
    "/replaced": HttpVerdict(status=500, call_upstream=True),
}
NOT_WHOLE = [
    GET + SLOW,
    GET[:20],
    GET[20:],
    b"\r\n" + GET,
    b"POST /bad HTTP/1.1\r\nContent-Length: 2\r\n\r\na",
    b"b",
    b"GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: y\r\n\r\n",
    b"GET /a HTTP/1.1\nHost: x\r\n\r\n",
    b"POST /a HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
]
FROM_CLIENT = [
    GET,
    SLOW,
    BAD,
    BAD.replace(b"/bad", b"/late-bad"),
    BAD.replace(b"/bad", b"/replaced"),
    GET.replace(b"GET", b"HEAD"),
    BAD.replace(b"1.1", b"1.0"),
    b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
    b"POST /bad HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab",
    b"POST /replaced HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
    *NOT_WHOLE,
]
FROM_UPSTREAM = [
    OK,
    OK[:30],
    OK[30:],
    OK + OK,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok!\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\nok",
]
STEPS = st.one_of(
    st.tuples(st.just("client"), st.sampled_from([GET, SLOW, BAD])),
    st.tuples(st.just("upstream"), st.just(OK)),
    st.tuples(st.just("client"), st.sampled_from(FROM_CLIENT)),
    st.tuples(st.just("upstream"), st.sampled_from(FROM_UPSTREAM)),
    st.tuples(st.sampled_from(["client", "upstream"]), st.just(b"")),
)


def judge(head: RequestHead) -> HttpVerdict:
    return VERDICTS.get(head.path, HttpVerdict())


def short_way(exchange: WholeMessages, side: str, event: Event) -> list[Output]:
    """Return what becomes of an event, as a direction finds out."""
    from_client = side == "client"
    if isinstance(event, Data):
        ask = exchange.whole_request if from_client else exchange.whole_response
        due_at = ask(event.payload, event.at)
        if due_at == FOREVER:
            return exchange.take_outputs()
        if due_at is not None:
            passed = Data(due_at, event.payload)
            return [ToUpstream(passed) if from_client else ToClient(passed)]
    return exchange.from_client(event) if from_client else exchange.from_upstream(event)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=20))
def test_both_ways_give_the_same(steps: list[tuple[str, bytes]]) -> None:
    long, short = HttpExchange(judge), WholeMessages(judge)
    ended: set[str] = set()
    for number, (side, payload) in enumerate(steps):
        if side in ended:
            continue
        event = Data(float(number), payload) if payload else Eof(float(number))
        expected = long.from_client(event) if side == "client" else long.from_upstream(event)
        assert short_way(short, side, event) == expected
        assert short.transparent == long.transparent
        if not payload:
            ended.add(side)


def test_a_request_passes_when_its_delay_is_over_and_never_before_an_earlier_one() -> None:
    exchange = WholeMessages(judge)
    assert exchange.whole_request(GET, 1.0) == 1.0
    assert exchange.whole_request(SLOW, 2.0) == 3.5
    assert exchange.whole_request(GET, 3.0) == 3.5
    assert exchange.whole_request(GET, 4.0) == 4.0


def test_a_response_passes_at_once_if_it_is_the_only_one() -> None:
    exchange = WholeMessages(judge)
    exchange.whole_request(GET, 1.0)
    assert exchange.whole_response(OK, 2.0) == 2.0
    assert exchange.whole_response(OK, 3.0) is None
    exchange = WholeMessages(judge)
    exchange.whole_request(GET, 1.0)
    exchange.whole_request(GET, 1.0)
    assert exchange.whole_response(OK, 2.0) is None


def test_a_request_that_a_rule_answers_goes_to_no_upstream() -> None:
    exchange = WholeMessages(judge)
    assert exchange.whole_request(BAD, 1.0) == FOREVER
    (answer,) = exchange.take_outputs()
    assert isinstance(answer, ToClient)
    assert isinstance(answer.event, Data)
    assert answer.event.payload.startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("payload", NOT_WHOLE)
def test_what_is_no_whole_request_is_not_judged(payload: bytes) -> None:
    judged: list[RequestHead] = []

    def note(head: RequestHead) -> HttpVerdict:
        judged.append(head)
        return HttpVerdict()

    assert WholeMessages(note).whole_request(payload, 1.0) is None
    assert judged == []


def _in_reverse() -> WholeMessages:
    return WholeMessages(judge, "reverse", "up")


def _with_answers_judged() -> WholeMessages:
    return WholeMessages(judge, judge_answer=lambda answered: ([], False))


@pytest.mark.parametrize("exchange_of", [_in_reverse, _with_answers_judged])
def test_what_does_not_pass_as_it_is_takes_the_long_way(exchange_of: Callable[[], WholeMessages]) -> None:
    assert exchange_of().whole_request(GET, 1.0) is None
