"""A reverse exchange names the upstream in Host, and answers what it cannot read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultkit.faults.events import Close, Data, Eof
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Hangup, HttpExchange, Output, RequestHead, ToClient, ToUpstream, host_field

PASS = HttpVerdict()
ABORT = HttpVerdict(status=503, body="broken")
REPLACE = HttpVerdict(status=503, body="broken", call_upstream=True)

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BROKEN = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 6\r\nX-Fault-Injected: http_error\r\n\r\nbroken"
)
CHUNKED_BAD = b"POST /bad HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\n"


def on_bad(verdict: HttpVerdict) -> Callable[[RequestHead], HttpVerdict]:
    return lambda head: verdict if head.path == "/bad" else PASS


def up(at: float, payload: bytes) -> ToUpstream:
    return ToUpstream(Data(at, payload))


def down(at: float, payload: bytes) -> ToClient:
    return ToClient(Data(at, payload))


def sent(outputs: list[Output], kind: type[ToClient] | type[ToUpstream]) -> bytes:
    events = [output.event for output in outputs if isinstance(output, kind)]
    return b"".join(event.payload for event in events if isinstance(event, Data))


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
    ("host", "is_kept"),
    [
        ("127.0.0.1:34000", False),
        ("api.test:34000", False),
        ("", False),
        ("api.test", True),
        ("api.test:8080", True),
    ],
)
def test_with_an_own_port_a_host_that_the_client_has_chosen_is_kept(host: str, is_kept: bool) -> None:
    exchange = HttpExchange(on_bad(ABORT), "reverse", "up.example", 34000)
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    outputs = exchange.from_client(Data(1.0, request))
    assert (sent(outputs, ToUpstream) == request) is is_kept


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


def test_reverse_mode_passes_http_2_however_it_is_cut() -> None:
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for cut in range(1, len(preface)):
        exchange = reverse()
        outputs = exchange.from_client(Data(1.0, preface[:cut]))
        outputs += exchange.from_client(Data(1.0, preface[cut:]))
        assert sent(outputs, ToUpstream) == preface
        assert exchange.from_upstream(Data(2.0, b"\0\0\0\4")) == [down(2.0, b"\0\0\0\4")]


def test_reverse_mode_answers_400_to_http_2_after_a_request() -> None:
    exchange = reverse()
    exchange.from_client(Data(1.0, GET + b"PRI * HTTP/2.0\r\n\r\n"))
    outputs = exchange.from_upstream(Data(2.0, OK))
    assert sent(outputs[1:], ToClient).startswith(BAD_REQUEST)


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
