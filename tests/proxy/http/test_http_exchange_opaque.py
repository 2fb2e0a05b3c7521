"""Bytes that are not HTTP, or no longer HTTP, pass an inline exchange unchanged."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Close, Data, Eof, Reset
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import TLS, Hangup, HttpExchange, Output, RequestHead, ToClient, ToUpstream

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
CHUNKED_BAD = b"POST /bad HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


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


def test_another_protocol_passes_raw_and_is_left_alone() -> None:
    exchange = inline()
    hello = b"\x16\x03\x01\x02\x00"
    assert exchange.from_client(Data(1.0, hello)) == [up(1.0, hello)]
    assert exchange.opaque_reason == exchange.unreadable == TLS
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


def test_a_replaced_request_that_becomes_unreadable_is_still_answered() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, CHUNKED_BAD))
    assert exchange.from_client(Data(2.0, b"zz\r\n")) == [up(2.0, b"zz\r\n")]
    assert exchange.from_upstream(Data(3.0, b"<html>")) == [
        Hangup(),
        down(3.0, BROKEN_CLOSE),
        ToClient(Close(3.0)),
    ]


def test_a_leg_that_is_hung_up_is_not_told_of_the_clients_end() -> None:
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, POST + b"he"))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [Hangup()]
    assert exchange.from_client(Eof(3.0)) == [ToClient(Close(3.0))]
    exchange = inline(REPLACE)
    exchange.from_client(Data(1.0, POST + b"he"))
    exchange.from_upstream(Data(2.0, b"<html>"))
    assert exchange.from_client(Reset(3.0)) == [ToClient(Reset(3.0))]
