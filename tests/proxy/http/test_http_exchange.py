"""What one client connection does in inline and reverse mode, with exact bytes and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import FOREVER, HttpVerdict
from faultkit.proxy.http import Hangup, HttpExchange, Output, RequestHead, ToClient, ToUpstream, host_field

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
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\n"


def on_bad(verdict: HttpVerdict) -> Callable[[RequestHead], HttpVerdict]:
    return lambda head: verdict if head.path == "/bad" else PASS


def inline(verdict: HttpVerdict = ABORT) -> HttpExchange:
    return HttpExchange(on_bad(verdict), "inline")


def up(at: float, payload: bytes) -> ToUpstream:
    return ToUpstream(Data(at, payload))


def down(at: float, payload: bytes) -> ToClient:
    return ToClient(Data(at, payload))


def sent(outputs: list[Output], kind: type[ToClient] | type[ToUpstream]) -> bytes:
    events = [output.event for output in outputs if isinstance(output, kind)]
    return b"".join(event.payload for event in events if isinstance(event, Data))


def test_without_a_verdict_the_very_same_events_pass() -> None:
    exchange = inline()
    request, response = Data(1.0, GET), Data(2.0, OK)
    (to_upstream,) = exchange.from_client(request)
    assert isinstance(to_upstream, ToUpstream)
    assert to_upstream.event is request
    assert exchange.from_upstream(response) == [ToClient(response)]
    assert exchange.opaque_reason is None
    assert exchange.wake_at == FOREVER
    assert exchange.wake(3.0) == []


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


# What is not HTTP, and what stops being HTTP.


def test_another_protocol_passes_raw_and_is_left_alone() -> None:
    exchange = inline()
    hello = b"\x16\x03\x01\x02\x00"
    assert exchange.from_client(Data(1.0, hello)) == [up(1.0, hello)]
    assert exchange.opaque_reason == "not an HTTP/1 request line"
    assert exchange.transparent
    assert exchange.from_client(Data(2.0, BAD)) == [up(2.0, BAD)]
    assert exchange.from_upstream(Data(3.0, b"\x16")) == [down(3.0, b"\x16")]


def test_an_upstream_that_speaks_first_is_left_alone() -> None:
    exchange = inline()
    assert exchange.from_upstream(Data(1.0, b"220 ready\r\n")) == [down(1.0, b"220 ready\r\n")]
    assert exchange.opaque_reason == "a response without a request"
    assert exchange.from_client(Data(2.0, BAD)) == [up(2.0, BAD)]


def test_responses_before_unreadable_bytes_keep_their_order() -> None:
    exchange = inline()
    garbage = b"\x00garbage"
    assert exchange.from_client(Data(1.0, GET + BAD + garbage)) == [up(1.0, GET), up(1.0, garbage)]
    assert not exchange.transparent
    assert exchange.from_upstream(Data(2.0, OK + b"???")) == [
        down(2.0, OK),
        down(2.0, BROKEN),
        down(2.0, b"???"),
    ]
    assert exchange.transparent


def test_an_unreadable_body_that_we_drop_does_not_reach_the_upstream() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, b"POST /bad HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"))
    assert exchange.from_client(Data(2.0, b"zz\r\n")) == [
        down(2.0, BROKEN_CLOSE),
        ToClient(Close(2.0)),
        Hangup(),
    ]


def test_an_unreadable_response_passes_raw() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET + BAD + GET[:5]))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [down(2.0, b"<html>"), up(2.0, GET[:5])]
    assert exchange.opaque_reason == "not an HTTP/1 status line"
    assert exchange.from_client(Data(3.0, BAD)) == [up(3.0, BAD)]


def test_a_request_that_we_drop_is_dropped_to_its_end_even_when_all_else_passes() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET + POST + b"he"))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [down(2.0, b"<html>")]
    assert not exchange.transparent
    assert exchange.from_client(Data(3.0, b"llo" + BAD)) == [up(3.0, BAD)]
    assert exchange.transparent


CHUNKED_BAD = b"POST /bad HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_part_of_a_request_that_we_drop_never_reaches_the_upstream() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, GET + CHUNKED_BAD + b"5"))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [down(2.0, b"<html>")]
    assert exchange.from_client(Data(3.0, b"\r\nhello\r\n0\r\n\r\n" + BAD)) == [up(3.0, BAD)]
    exchange = inline()
    exchange.from_client(Data(1.0, CHUNKED_BAD + b"5"))
    assert exchange.from_client(Close(2.0)) == [ToUpstream(Close(2.0))]


def test_what_is_kept_of_the_upstream_passes_before_all_passes_raw() -> None:
    exchange = inline()
    assert exchange.from_upstream(Data(1.0, b"\r")) == []
    assert exchange.from_client(Data(2.0, b"\x00")) == [down(2.0, b"\r"), up(2.0, b"\x00")]


def test_an_unreadable_response_that_we_replace_costs_the_upstream_leg() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, BAD))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [
        Hangup(),
        down(2.0, BROKEN_CLOSE),
        ToClient(Close(2.0)),
    ]


UPGRADE = b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


def test_an_upgraded_connection_is_left_alone() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, UPGRADE + b"\x81early")) == [up(1.0, UPGRADE)]
    assert exchange.from_upstream(Data(2.0, SWITCHING + b"\x81x")) == [
        down(2.0, SWITCHING + b"\x81x"),
        up(2.0, b"\x81early"),
    ]
    assert exchange.opaque_reason == "upgraded to another protocol"
    assert exchange.transparent
    assert exchange.from_client(Data(3.0, BAD)) == [up(3.0, BAD)]


def test_a_declined_upgrade_lets_http_go_on() -> None:
    exchange = inline()
    assert exchange.from_client(Data(1.0, UPGRADE)) == [up(1.0, UPGRADE)]
    assert exchange.from_client(Data(2.0, BAD + GET)) == []
    assert exchange.from_upstream(Data(3.0, OK)) == [down(3.0, OK), down(3.0, BROKEN), up(3.0, GET)]
    assert exchange.opaque_reason is None


def test_an_upgrade_that_is_answered_before_its_body_has_come_is_decided() -> None:
    exchange = inline()
    head = b"POST / HTTP/1.1\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\n"
    exchange.from_client(Data(1.0, head))
    exchange.from_upstream(Data(2.0, OK))
    assert exchange.from_client(Data(3.0, b"hello" + BAD)) == [up(3.0, b"hello"), down(3.0, BROKEN)]


def test_an_upgrade_that_is_aborted_never_happens() -> None:
    exchange = HttpExchange(lambda head: ABORT)
    assert exchange.from_client(Data(1.0, UPGRADE + GET)) == [down(1.0, BROKEN), down(1.0, BROKEN)]


def test_an_upgrade_whose_response_is_replaced_costs_the_upstream_leg() -> None:
    exchange = HttpExchange(lambda head: REPLACE)
    exchange.from_client(Data(1.0, UPGRADE))
    assert exchange.from_upstream(Data(2.0, SWITCHING)) == [
        Hangup(),
        down(2.0, BROKEN_CLOSE),
        ToClient(Close(2.0)),
    ]


def test_connect_through_an_inline_proxy_is_not_judged_and_becomes_a_tunnel() -> None:
    exchange = HttpExchange(lambda head: ABORT)
    connect, established = b"CONNECT a:1 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"
    assert exchange.from_client(Data(1.0, connect)) == [up(1.0, connect)]
    assert exchange.from_upstream(Data(2.0, established)) == [down(2.0, established)]
    assert exchange.from_client(Data(3.0, GET)) == [up(3.0, GET)]


def test_so_much_may_be_held_before_the_client_is_kept_from_sending() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, UPGRADE))
    exchange.from_client(Data(2.0, b"x" * (1 << 20)))
    assert exchange.wants_input
    exchange.from_client(Data(2.0, b"x"))
    assert not exchange.wants_input
    exchange.from_upstream(Data(3.0, SWITCHING))
    assert exchange.wants_input


def test_what_is_held_at_the_end_of_the_client_still_passes() -> None:
    exchange = inline()
    exchange.from_client(Data(1.0, UPGRADE + b"one"))
    exchange.from_client(Data(2.0, b"two"))
    assert exchange.from_client(Close(3.0)) == [up(3.0, b"onetwo"), ToUpstream(Close(3.0))]


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=30)), max_size=12))
def test_random_bytes_pass_an_inline_exchange_as_they_are(chunks: list[tuple[bool, bytes]]) -> None:
    passes_through_unchanged(chunks)


PARTS = st.sampled_from(
    [
        GET,
        UPGRADE,
        SWITCHING,
        OK,
        POST,
        b"hello",
        b"\r\n",
        b"\r",
        b"HTTP/1.1 204 X\r\n\r\n",
        b"HTTP/1.0 200\r\n\r\n",
    ]
)


@given(st.lists(st.tuples(st.booleans(), PARTS | st.binary(max_size=4)), max_size=16))
def test_any_mix_of_messages_passes_an_inline_exchange_as_it_is(chunks: list[tuple[bool, bytes]]) -> None:
    passes_through_unchanged(chunks)


def passes_through_unchanged(chunks: list[tuple[bool, bytes]]) -> None:
    exchange = HttpExchange(lambda head: PASS)
    outputs: list[Output] = []
    for at, (client, chunk) in enumerate(chunks):
        feed = exchange.from_client if client else exchange.from_upstream
        outputs += feed(Data(float(at), chunk))
    outputs += exchange.from_upstream(Eof(100.0))
    outputs += exchange.from_client(Close(101.0))
    assert sent(outputs, ToUpstream) == b"".join(chunk for client, chunk in chunks if client)
    assert sent(outputs, ToClient) == b"".join(chunk for client, chunk in chunks if not client)


# Reverse mode.


def reverse(verdict: HttpVerdict = ABORT) -> HttpExchange:
    return HttpExchange(on_bad(verdict), "reverse", host="up.example:8080")


def test_reverse_mode_rewrites_host_and_nothing_else() -> None:
    request = b"GET http://q/a HTTP/1.1\r\nA:1\r\nhOst:x\r\nProxy-Connection: b\r\n\r\n"
    expected = request.replace(b"hOst:x", b"hOst: up.example:8080")
    assert reverse().from_client(Data(1.0, request)) == [up(1.0, expected)]


def test_reverse_mode_adds_a_host_where_there_is_none() -> None:
    outputs = reverse().from_client(Data(1.0, b"GET / HTTP/1.0\r\nA: 1\r\n\r\n"))
    assert outputs == [up(1.0, b"GET / HTTP/1.0\r\nHost: up.example:8080\r\nA: 1\r\n\r\n")]


@pytest.mark.parametrize(
    ("origin", "field"),
    [
        (("a", 80, False), "a"),
        (("a", 443, True), "a"),
        (("a", 443, False), "a:443"),
        (("::1", 8080, False), "[::1]:8080"),
    ],
)
def test_a_host_field_names_the_port_where_it_is_not_the_default(
    origin: tuple[str, int, bool], field: str
) -> None:
    assert host_field(*origin) == field


def test_reverse_mode_needs_a_host() -> None:
    with pytest.raises(ValueError, match="host: expected host"):
        HttpExchange(lambda head: PASS, "reverse")


@pytest.mark.parametrize("garbage", [b"\x00\x01", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"])
def test_reverse_mode_answers_400_in_its_turn_to_what_it_cannot_read(garbage: bytes) -> None:
    exchange = reverse()
    rewritten = GET.replace(b"x", b"up.example:8080")
    assert exchange.from_client(Data(1.0, GET + garbage + GET)) == [up(1.0, rewritten)]
    outputs = exchange.from_upstream(Data(2.0, OK))
    assert outputs[0] == down(2.0, OK)
    assert sent(outputs[1:], ToClient).startswith(BAD_REQUEST)
    assert outputs[2:] == [ToClient(Close(2.0)), Hangup()]


def test_reverse_mode_answers_400_to_a_head_that_is_cut_short() -> None:
    exchange = reverse()
    exchange.from_client(Data(1.0, GET[:-2]))
    outputs = exchange.from_client(Eof(2.0))
    assert sent(outputs, ToClient).endswith(b"bad request: the head is cut short\n")
    assert outputs[1:] == [ToClient(Close(2.0)), Hangup()]


def test_reverse_mode_answers_400_to_a_body_that_breaks_off_unless_a_response_has_begun() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    exchange = reverse()
    exchange.from_client(Data(1.0, head))
    outputs = exchange.from_client(Data(2.0, b"zz\r\n"))
    assert sent(outputs, ToClient).endswith(b"bad request: bad chunk size\n")
    exchange = reverse()
    exchange.from_client(Data(1.0, head))
    exchange.from_upstream(Data(2.0, OK[:-1]))
    assert exchange.from_client(Data(3.0, b"zz\r\n")) == [ToClient(Close(3.0)), Hangup()]
    exchange = reverse()
    exchange.from_client(Data(1.0, head))
    exchange.from_upstream(Data(2.0, OK))
    assert exchange.from_client(Data(3.0, b"zz\r\n")) == [ToClient(Close(3.0)), Hangup()]


def test_a_body_that_breaks_off_after_our_own_answer_ends_the_connection() -> None:
    exchange = reverse(REPLACE)
    exchange.from_client(Data(1.0, CHUNKED_BAD))
    assert exchange.from_upstream(Data(2.0, OK)) == [down(2.0, BROKEN)]
    assert exchange.from_client(Data(3.0, b"zz\r\n")) == [ToClient(Close(3.0)), Hangup()]
