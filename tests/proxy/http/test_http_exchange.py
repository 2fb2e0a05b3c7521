"""Requests and responses on one connection, with exact bytes and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Hangup, HttpExchange, RequestHead, ToClient, ToUpstream

PASS = HttpVerdict()
ABORT = HttpVerdict(status=503, body="broken")
REPLACE = HttpVerdict(status=503, body="broken", call_upstream=True)

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
BAD = b"GET /bad HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /bad HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BROKEN = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 6\r\nX-Fault-Injected: http_error\r\n\r\nbroken"
)
BROKEN_CLOSE = BROKEN.replace(b"error\r\n", b"error\r\nConnection: close\r\n")


def on_bad(verdict: HttpVerdict) -> Callable[[RequestHead], HttpVerdict]:
    return lambda head: verdict if head.path == "/bad" else PASS


def inline(verdict: HttpVerdict = ABORT) -> HttpExchange:
    return HttpExchange(on_bad(verdict), "inline")


def up(at: float, payload: bytes) -> ToUpstream:
    return ToUpstream(Data(at, payload))


def down(at: float, payload: bytes) -> ToClient:
    return ToClient(Data(at, payload))


def test_without_a_verdict_the_very_same_events_pass() -> None:
    exchange = inline()
    # A head that no other test has sent: one that was read before is remembered, with equal bytes.
    request, response = Data(1.0, GET.replace(b"/a", b"/very-same")), Data(2.0, OK)
    (to_upstream,) = exchange.from_client(request)
    assert isinstance(to_upstream, ToUpstream)
    assert to_upstream.event is request
    assert exchange.from_upstream(response) == [ToClient(response)]
    assert exchange.opaque_reason is None


def test_a_body_streams_both_ways() -> None:
    exchange = inline(PASS)
    assert exchange.from_client(Data(1.0, POST + b"he")) == [up(1.0, POST + b"he")]
    assert exchange.from_client(Data(2.0, b"llo")) == [up(2.0, b"llo")]
    assert exchange.from_upstream(Data(3.0, OK[:-1])) == [down(3.0, OK[:-1])]
    assert exchange.from_upstream(Data(4.0, b"k")) == [down(4.0, b"k")]


def test_an_incomplete_head_waits_for_its_rest() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, GET[:9])) == []
    assert exchange.from_client(Data(2.0, GET[9:])) == [up(2.0, GET)]


def test_a_delayed_request_and_all_behind_it_leave_later() -> None:
    exchange = inline(HttpVerdict(delay_s=1.5))
    assert exchange.from_client(Data(1.0, GET + BAD + GET)) == [up(1.0, GET), up(2.5, BAD + GET)]
    assert exchange.from_client(Data(2.0, GET)) == [up(2.5, GET)]
    assert exchange.from_client(Data(3.0, GET)) == [up(3.0, GET)]


def test_the_body_of_a_delayed_request_waits_with_it() -> None:
    exchange = inline(HttpVerdict(delay_s=2.0))
    assert exchange.from_client(Data(1.0, POST)) == [up(3.0, POST)]
    assert exchange.from_client(Data(1.5, b"hello")) == [up(3.0, b"hello")]


def test_delay_comes_first_and_then_the_answer() -> None:
    exchange = inline(HttpVerdict(delay_s=2.0, status=503, body="broken"))
    assert exchange.from_client(Data(1.0, BAD)) == [down(3.0, BROKEN)]
    assert exchange.from_client(Data(1.5, GET)) == [up(3.0, GET)]


def test_an_aborted_request_is_answered_here_and_never_seen_by_the_upstream() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, POST + b"he")) == []
    assert exchange.from_client(Data(2.0, b"llo" + GET)) == [down(2.0, BROKEN), up(2.0, GET)]
    assert exchange.from_upstream(Data(3.0, OK)) == [down(3.0, OK)]


def test_an_answer_waits_for_the_responses_before_it() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, GET + BAD + BAD + GET)) == [up(1.0, GET), up(1.0, GET)]
    assert exchange.from_upstream(Data(2.0, OK[:-1])) == [down(2.0, OK[:-1])]
    assert exchange.from_upstream(Data(3.0, b"k" + OK)) == [
        down(3.0, b"k"),
        down(3.0, BROKEN),
        down(3.0, BROKEN),
        down(3.0, OK),
    ]


def test_an_upstream_that_is_called_has_its_response_replaced() -> None:
    exchange = inline(REPLACE)
    assert exchange.from_client(Data(1.0, BAD + GET)) == [up(1.0, BAD + GET)]
    assert exchange.from_upstream(Data(2.0, OK[:-1])) == []
    assert exchange.from_upstream(Data(3.0, b"k" + OK)) == [down(3.0, BROKEN), down(3.0, OK)]


def test_of_a_replaced_response_only_the_leave_to_send_the_body_passes() -> None:
    exchange = inline(REPLACE)
    head = POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    assert exchange.from_client(Data(1.0, head)) == [up(1.0, head)]
    hints, leave = b"HTTP/1.1 103 Hints\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"
    assert exchange.from_upstream(Data(2.0, hints + leave)) == [down(2.0, leave)]
    assert exchange.from_client(Data(3.0, b"hello")) == [up(3.0, b"hello")]
    assert exchange.from_upstream(Data(4.0, OK)) == [down(4.0, BROKEN)]


def test_a_client_that_waits_for_leave_gets_it_before_the_answer() -> None:
    exchange = inline(HttpVerdict(delay_s=1.0, status=503, body="broken"))
    head = POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-Continue\r\n\r\n")
    assert exchange.from_client(Data(1.0, head)) == [down(2.0, b"HTTP/1.1 100 Continue\r\n\r\n")]
    assert exchange.from_client(Data(3.0, b"he")) == []
    assert exchange.from_client(Data(4.0, b"llo")) == [down(4.0, BROKEN)]


def test_leave_is_given_in_turn_and_not_to_a_client_that_did_not_wait() -> None:
    head = POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    exchange = inline()
    assert exchange.from_client(Data(1.0, GET + head)) == [up(1.0, GET)]
    assert exchange.from_upstream(Data(2.0, OK)) == [
        down(2.0, OK),
        down(2.0, b"HTTP/1.1 100 Continue\r\n\r\n"),
    ]
    assert exchange.from_client(Data(3.0, b"hello")) == [down(3.0, BROKEN)]
    exchange = inline()
    assert exchange.from_client(Data(1.0, head + b"he")) == []
    assert exchange.from_client(Data(2.0, b"llo")) == [down(2.0, BROKEN)]


def test_a_head_request_gets_the_same_head_without_a_body() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, BAD.replace(b"GET", b"HEAD"))) == [down(1.0, BROKEN[:-6])]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (204, b"HTTP/1.1 204 No Content\r\nX-Fault-Injected: http_error\r\n\r\n"),
        (304, b"HTTP/1.1 304 Not Modified\r\nX-Fault-Injected: http_error\r\n\r\n"),
        (
            205,
            b"HTTP/1.1 205 Reset Content\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Content-Length: 0\r\nX-Fault-Injected: http_error\r\n\r\n",
        ),
        (
            599,
            b"HTTP/1.1 599 Unknown\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Content-Length: 3\r\nX-Fault-Injected: http_error\r\n\r\n\xe2\x82\xac",
        ),
    ],
)
def test_every_status_is_written_as_http_allows(status: int, expected: bytes) -> None:
    exchange = inline(HttpVerdict(status=status, body="€"))
    assert exchange.from_client(Data(1.0, BAD)) == [down(1.0, expected)]


def test_an_injected_interim_status_ends_the_connection() -> None:
    exchange = inline(HttpVerdict(status=102))
    answer = b"HTTP/1.1 102 Processing\r\nX-Fault-Injected: http_error\r\nConnection: close\r\n\r\n"
    assert exchange.from_client(Data(1.0, BAD)) == [down(1.0, answer), ToClient(Close(1.0)), Hangup()]


def test_a_client_that_asks_for_the_end_gets_it_after_the_answer() -> None:
    exchange = inline()
    request = BAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert exchange.from_client(Data(1.0, request + GET)) == [
        down(1.0, BROKEN_CLOSE),
        ToClient(Close(1.0)),
        Hangup(),
    ]
    assert exchange.from_client(Data(2.0, GET)) == []
    assert exchange.from_upstream(Eof(2.0)) == []


def test_http_1_0_is_kept_only_where_it_was_asked_for() -> None:
    request = b"GET /bad HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    kept = BROKEN.replace(b"error\r\n", b"error\r\nConnection: keep-alive\r\n")
    assert inline().from_client(Data(1.0, request)) == [down(1.0, kept)]
    assert inline().from_client(Data(1.0, b"GET /bad HTTP/1.0\r\n\r\n")) == [
        down(1.0, BROKEN_CLOSE),
        ToClient(Close(1.0)),
        Hangup(),
    ]


# Ends.


def test_the_clients_end_passes_in_order() -> None:
    exchange = inline(HttpVerdict(delay_s=1.0))
    exchange.from_client(Data(1.0, BAD))
    assert exchange.from_client(Eof(1.5)) == [ToUpstream(Eof(2.0))]
    assert exchange.from_upstream(Data(3.0, OK)) == [down(3.0, OK)]
    assert exchange.from_upstream(Eof(4.0)) == [ToClient(Eof(4.0))]


def test_a_head_that_is_cut_short_passes_raw_inline() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET[:9]))
    assert exchange.from_client(Eof(2.0)) == [up(2.0, GET[:9]), ToUpstream(Eof(2.0))]


def test_an_aborted_request_that_is_cut_short_gets_no_answer() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, POST + b"he"))
    assert exchange.from_client(Eof(2.0)) == [ToUpstream(Eof(2.0))]
    assert exchange.from_upstream(Eof(3.0)) == [ToClient(Eof(3.0))]


@pytest.mark.parametrize("end", [Close(2.0), Reset(2.0)])
def test_a_client_that_is_gone_is_gone_for_the_upstream_too(end: Event) -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET + GET[:5]))
    assert exchange.from_client(end) == [up(2.0, GET[:5]), ToUpstream(end)]
    assert exchange.from_upstream(Data(3.0, OK)) == []


@pytest.mark.parametrize("end", [Eof(3.0), Close(3.0), Reset(3.0)])
def test_an_upstream_that_ends_within_a_response_ends_the_client(end: Event) -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET + BAD))
    exchange.from_upstream(Data(2.0, OK[:-1]))
    assert exchange.from_upstream(end) == [ToClient(end)]


def test_a_part_of_a_response_head_is_passed_before_the_end() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET))
    assert exchange.from_upstream(Data(2.0, OK[:12])) == []
    assert exchange.from_upstream(Reset(3.0)) == [down(3.0, OK[:12]), ToClient(Reset(3.0))]


@pytest.mark.parametrize("end", [Eof(2.0), Close(2.0), Reset(2.0)])
def test_an_answer_that_is_on_its_way_goes_out_before_the_upstreams_end(end: Event) -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, POST + b"he"))
    assert exchange.from_upstream(end) == []
    moved = replace(end, at=3.0)
    assert exchange.from_client(Data(3.0, b"llo")) == [down(3.0, BROKEN_CLOSE), ToClient(moved)]


@pytest.mark.parametrize("end", [Eof(2.0), Reset(2.0)])
def test_a_replaced_response_needs_no_upstream_to_the_end(end: Event) -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, BAD + GET))
    assert exchange.from_upstream(end) == [down(2.0, BROKEN), ToClient(end)]


def test_a_replaced_response_that_ends_with_the_stream_is_replaced_there() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, BAD))
    assert exchange.from_upstream(Data(2.0, b"HTTP/1.0 200 OK\r\n\r\nall")) == []
    assert exchange.from_upstream(Eof(3.0)) == [down(3.0, BROKEN_CLOSE), ToClient(Eof(3.0))]


def test_an_upstream_that_is_called_and_ends_early_is_not_sent_the_rest() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, POST))
    assert exchange.from_upstream(Close(2.0)) == []
    assert exchange.from_client(Data(3.0, b"hello")) == [down(3.0, BROKEN_CLOSE), ToClient(Close(3.0))]


def test_after_the_upstreams_end_the_client_may_still_send() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, POST.replace(b"bad", b"ok")))
    assert exchange.from_upstream(Eof(2.0)) == [ToClient(Eof(2.0))]
    assert exchange.from_client(Data(3.0, b"hello" + BAD)) == [up(3.0, b"hello" + BAD)]
    assert exchange.opaque_reason is None


def test_a_response_before_the_end_of_its_request_is_no_trouble() -> None:
    exchange = inline()
    head = POST.replace(b"bad", b"ok")
    exchange.from_client(Data(1.0, head))
    assert exchange.from_upstream(Data(2.0, OK)) == [down(2.0, OK)]
    assert exchange.from_client(Data(3.0, b"hello" + BAD)) == [up(3.0, b"hello"), down(3.0, BROKEN)]


def test_an_early_response_is_replaced_while_the_request_goes_on() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, POST))
    assert exchange.from_upstream(Data(2.0, OK)) == [down(2.0, BROKEN)]
    assert exchange.from_client(Data(3.0, b"hello" + GET)) == [up(3.0, b"hello" + GET)]
    assert exchange.from_upstream(Data(4.0, OK)) == [down(4.0, OK)]
