"""One client connection of a forward proxy: origins, tunnels, failures."""

from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Dial, Hangup, HttpExchange, Origin, Output, ToClient, ToUpstream, origin_of
from faultkit.proxy.http.heads import read_request_head

PASS = HttpVerdict()
ABORT = HttpVerdict(status=503)
A = b"GET http://a/x?y HTTP/1.1\r\nHost: wrong\r\nProxy-Connection: keep-alive\r\nZ: 1\r\n\r\n"
A_WIRE = b"GET /x?y HTTP/1.1\r\nHost: a\r\nZ: 1\r\n\r\n"
B = b"GET http://b:8080/bad HTTP/1.1\r\n\r\n"
B_WIRE = b"GET /bad HTTP/1.1\r\nHost: b:8080\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CONNECT = b"CONNECT c:443 HTTP/1.1\r\nHost: c:443\r\n\r\n"


def forward(verdict: HttpVerdict = PASS) -> HttpExchange:
    return HttpExchange(lambda head: verdict if head.path == "/bad" else PASS, "forward")


def connected(verdict: HttpVerdict = PASS) -> HttpExchange:
    """With a leg to `a` that has answered one request."""
    exchange = forward(verdict)
    exchange.from_client(Data(0.0, A))
    exchange.dialled(0.0)
    exchange.from_upstream(Data(0.0, OK))
    return exchange


def up(at: float, payload: bytes) -> ToUpstream:
    return ToUpstream(Data(at, payload))


def down(at: float, payload: bytes) -> ToClient:
    return ToClient(Data(at, payload))


def said(outputs: list[Output]) -> bytes:
    events = [output.event for output in outputs if isinstance(output, ToClient)]
    return b"".join(event.payload for event in events if isinstance(event, Data))


def test_an_absolute_request_dials_its_origin_and_goes_there_in_origin_form() -> None:
    exchange = forward()
    assert exchange.from_client(Data(1.0, A)) == [Dial("a", 80)]
    assert exchange.dialled(2.0) == [up(2.0, A_WIRE)]
    assert exchange.from_upstream(Data(3.0, OK)) == [down(3.0, OK)]


def test_requests_to_one_origin_share_a_leg() -> None:
    exchange = connected()
    assert exchange.from_client(Data(1.0, A + A)) == [up(1.0, A_WIRE + A_WIRE)]
    assert exchange.from_upstream(Data(2.0, OK + OK)) == [down(2.0, OK + OK)]


def test_another_origin_waits_for_the_responses_of_the_first() -> None:
    exchange = connected()
    assert exchange.from_client(Data(1.0, A + B + A)) == [up(1.0, A_WIRE)]
    assert exchange.from_upstream(Data(2.0, OK)) == [down(2.0, OK), Hangup(), Dial("b", 8080)]
    assert exchange.from_upstream(Data(2.5, b"late words of the first leg")) == []
    assert exchange.dialled(3.0) == [up(3.0, B_WIRE)]
    assert exchange.from_upstream(Data(4.0, OK)) == [down(4.0, OK), Hangup(), Dial("a", 80)]
    assert exchange.dialled(5.0) == [up(5.0, A_WIRE)]


def test_bytes_after_the_last_response_of_a_leg_go_with_it() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, A + B))
    assert exchange.from_upstream(Data(2.0, OK + b"junk")) == [down(2.0, OK), Hangup(), Dial("b", 8080)]


def test_a_body_is_held_until_the_leg_is_there() -> None:
    exchange = forward()
    head = b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
    assert exchange.from_client(Data(1.0, head + b"he")) == [Dial("a", 80)]
    assert exchange.from_client(Data(2.0, b"llo" + A)) == []
    wire = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
    assert exchange.dialled(3.0) == [up(3.0, wire), up(3.0, b"he"), up(3.0, b"llo" + A_WIRE)]


def test_what_is_held_for_a_leg_is_bounded() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, b"POST http://a/ HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n"))
    exchange.from_client(Data(1.0, b"x" * (1 << 20)))
    assert exchange.wants_input
    exchange.from_client(Data(1.0, b"x"))
    assert not exchange.wants_input
    exchange.dialled(2.0)
    assert exchange.wants_input


def test_a_delay_counts_from_the_arrival_of_the_request() -> None:
    exchange = forward(HttpVerdict(delay_s=5.0))
    assert exchange.from_client(Data(1.0, B)) == [Dial("b", 8080)]
    assert exchange.dialled(2.0) == [up(6.0, B_WIRE)]


def test_a_delayed_request_is_not_told_of_a_failed_leg_before_its_time() -> None:
    exchange = forward(HttpVerdict(delay_s=5.0))
    exchange.from_client(Data(1.0, B))
    (output,) = exchange.dial_failed(2.0, "refused")
    assert isinstance(output, ToClient)
    assert output.event.at == 6.0


def test_an_aborted_request_needs_no_leg() -> None:
    outputs = forward(ABORT).from_client(Data(1.0, B))
    assert len(outputs) == 1
    assert said(outputs).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


def test_the_origin_form_with_a_host_is_accepted() -> None:
    exchange = forward()
    request = b"GET /p HTTP/1.1\r\nHost: h:81\r\nProxy-Authorization: Basic x\r\n\r\n"
    assert exchange.from_client(Data(1.0, request)) == [Dial("h", 81)]
    assert exchange.dialled(1.0) == [up(1.0, b"GET /p HTTP/1.1\r\nHost: h:81\r\n\r\n")]


@pytest.mark.parametrize(
    ("line", "origin", "wire"),
    [
        ("GET http://h HTTP/1.1", Origin("h", 80), "GET / HTTP/1.1\r\nHost: h"),
        ("GET http://h?q HTTP/1.0", Origin("h", 80), "GET /?q HTTP/1.0\r\nHost: h"),
        ("GET HTTPS://h/ HTTP/1.1", Origin("h", 443, True), "GET / HTTP/1.1\r\nHost: h"),
        ("GET http://h:443/ HTTP/1.1", Origin("h", 443, True), "GET / HTTP/1.1\r\nHost: h:443"),
        ("GET https://h:8443/ HTTP/1.1", Origin("h", 8443, True), "GET / HTTP/1.1\r\nHost: h:8443"),
        ("GET http://[::1]:81/ HTTP/1.1", Origin("::1", 81), "GET / HTTP/1.1\r\nHost: [::1]:81"),
        ("OPTIONS http://h HTTP/1.1", Origin("h", 80), "OPTIONS * HTTP/1.1\r\nHost: h"),
    ],
)
def test_a_url_says_where_a_request_goes(line: str, origin: Origin, wire: str) -> None:
    raw = f"{line}\r\n\r\n".encode()
    assert origin_of(read_request_head(raw)) == origin
    exchange = forward()
    assert exchange.from_client(Data(1.0, raw)) == [Dial(origin.host, origin.port, origin.tls)]
    assert exchange.dialled(1.0) == [up(1.0, f"{wire}\r\n\r\n".encode())]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (b"GET /p HTTP/1.1\r\n\r\n", b"Host: expected the origin of the request, got none"),
        (b"GET ftp://h/ HTTP/1.1\r\n\r\n", b"expected an http or https URL, got the scheme 'ftp'"),
        (b"GET http:///p HTTP/1.1\r\n\r\n", b"target: expected host[:port], got ''"),
        (b"GET http://u:p@h/ HTTP/1.1\r\n\r\n", b"target: expected host[:port], got 'u:p@h'"),
        (b"GET http://h:0/ HTTP/1.1\r\n\r\n", b"target: expected host[:port], got 'h:0'"),
        (b"GET http://h:65536/ HTTP/1.1\r\n\r\n", b"target: expected host[:port], got 'h:65536'"),
        (b"CONNECT h HTTP/1.1\r\n\r\n", b"target: expected host:port, got 'h'"),
        (b"GET p HTTP/1.1\r\nHost: h\r\n\r\n", b"target: expected a URL or a path, got 'p'"),
        (b"GET http://h/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"Host: expected one, got several"),
        (b"\x16\x04\x01", b"not an HTTP/1 request line"),
        (b"\x16\x03\x01", b"TLS, where clients must speak clear text"),
    ],
)
def test_a_request_that_names_no_origin_is_answered_by_400(request_: bytes, problem: bytes) -> None:
    outputs = forward().from_client(Data(1.0, request_))
    assert said(outputs).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert problem in said(outputs)
    assert b"X-Fault-Injected" not in said(outputs)
    assert outputs[1:] == [ToClient(Close(1.0))]


# Tunnels.


def test_connect_opens_a_tunnel_in_which_nothing_is_read() -> None:
    exchange = HttpExchange(lambda head: ABORT, "forward")
    assert exchange.from_client(Data(1.0, CONNECT + b"\x16early")) == [Dial("c", 443, tunnel=True)]
    assert exchange.dialled(2.0) == [
        down(2.0, b"HTTP/1.1 200 Connection Established\r\n\r\n"),
        up(2.0, b"\x16early"),
    ]
    assert exchange.transparent
    assert exchange.opaque_reason == "CONNECT tunnel"
    assert exchange.from_client(Data(3.0, A)) == [up(3.0, A)]
    assert exchange.from_upstream(Data(3.0, b"\x16")) == [down(3.0, b"\x16")]
    assert exchange.from_client(Eof(4.0)) == [ToUpstream(Eof(4.0))]
    assert exchange.from_upstream(Data(5.0, b"\x17")) == [down(5.0, b"\x17")]
    assert exchange.from_upstream(Eof(6.0)) == [ToClient(Eof(6.0))]


def test_a_tunnel_without_early_bytes_sends_no_empty_ones() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, CONNECT))
    assert exchange.dialled(2.0) == [down(2.0, b"HTTP/1.1 200 Connection Established\r\n\r\n")]


@pytest.mark.parametrize("end", [Close(3.0), Reset(3.0)])
def test_a_tunnel_passes_every_end(end: Event) -> None:
    for client in (True, False):
        exchange = forward()
        exchange.from_client(Data(1.0, CONNECT))
        exchange.dialled(2.0)
        outputs = exchange.from_client(end) if client else exchange.from_upstream(end)
        assert outputs == [ToUpstream(end) if client else ToClient(end)]


def test_connect_waits_for_outstanding_responses_and_takes_a_leg_of_its_own() -> None:
    exchange = connected()
    assert exchange.from_client(Data(1.0, A + CONNECT)) == [up(1.0, A_WIRE)]
    assert exchange.from_upstream(Data(2.0, OK)) == [down(2.0, OK), Hangup(), Dial("c", 443, tunnel=True)]


def test_an_upgrade_through_the_proxy_becomes_a_tunnel_too() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, b"GET http://a/ HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"))
    exchange.dialled(1.0)
    switching = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    assert exchange.from_upstream(Data(2.0, switching)) == [down(2.0, switching)]
    assert exchange.from_client(Data(3.0, B)) == [up(3.0, B)]


# Legs that fail or end.


@pytest.mark.parametrize(
    ("reason", "status", "trouble"),
    [
        ("Connection refused", b"502 Bad Gateway", b"connection_refused"),
        ("Connection timed out", b"504 Gateway Timeout", b"connection_timeout"),
        ("connect timeout", b"504 Gateway Timeout", b"connection_timeout"),
        ("cannot resolve a: no such host", b"502 Bad Gateway", b"dns_error"),
        ("No route to host", b"502 Bad Gateway", b"destination_unavailable"),
    ],
)
def test_a_leg_that_cannot_be_had_is_answered_in_words(reason: str, status: bytes, trouble: bytes) -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, A))
    body = f"cannot connect to a:80: {reason}\n".encode()
    assert exchange.dial_failed(2.0, reason) == [
        down(
            2.0,
            b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Content-Length: %d\r\nProxy-Status: faultkit; error=%s\r\n\r\n" % (len(body), trouble) + body,
        )
    ]
    assert exchange.from_client(Data(3.0, A)) == [Dial("a", 80)]


def test_the_body_for_a_leg_that_cannot_be_had_is_read_and_dropped() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe"))
    assert exchange.dial_failed(2.0, "refused") == []
    outputs = exchange.from_client(Data(3.0, b"llo" + B))
    assert said(outputs).startswith(b"HTTP/1.1 502")
    assert outputs[1:] == [Dial("b", 8080)]


def test_a_tunnel_that_cannot_be_had_ends_the_connection() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, CONNECT + b"\x16early"))
    outputs = exchange.dial_failed(2.0, "refused")
    assert said(outputs).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert said(outputs).endswith(b"cannot connect to c:443: refused\n")
    assert outputs[1:] == [ToClient(Close(2.0))]


def test_an_injected_answer_stands_even_where_the_leg_cannot_be_had() -> None:
    exchange = forward(HttpVerdict(delay_s=4.0, status=418, call_upstream=True))
    exchange.from_client(Data(1.0, B))
    outputs = exchange.dial_failed(2.0, "refused")
    assert said(outputs).startswith(b"HTTP/1.1 418 ")
    assert [output.event.at for output in outputs if isinstance(output, ToClient)] == [5.0]


def test_an_answer_about_a_leg_that_nobody_asked_for_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="no leg was asked for"):
        connected().dialled(1.0)
    with pytest.raises(RuntimeError, match="no leg was asked for"):
        forward().dial_failed(1.0, "refused")


@pytest.mark.parametrize("end", [Eof(1.0), Close(1.0), Reset(1.0)])
def test_an_idle_leg_that_ends_is_dialled_anew_when_needed(end: Event) -> None:
    exchange = connected()
    assert exchange.from_upstream(end) == [Hangup()]
    assert exchange.from_client(Data(2.0, A)) == [Dial("a", 80)]


@pytest.mark.parametrize(
    ("end", "passed"), [(Eof(2.0), Close(2.0)), (Close(2.0), Close(2.0)), (Reset(2.0), Reset(2.0))]
)
def test_a_leg_that_ends_before_its_response_does_ends_the_client(end: Event, passed: Event) -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, A + B))
    assert exchange.from_upstream(end) == [Hangup(), ToClient(passed)]


def test_a_response_that_ends_with_the_leg_ends_the_client() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, A))
    endless = b"HTTP/1.1 200 OK\r\n\r\nall"
    assert exchange.from_upstream(Data(2.0, endless)) == [down(2.0, endless)]
    assert exchange.from_upstream(Eof(3.0)) == [Hangup(), ToClient(Close(3.0))]


def test_the_rest_of_a_request_that_was_answered_early_goes_nowhere_when_the_leg_is_gone() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n"))
    exchange.from_upstream(Data(2.0, OK))
    assert exchange.from_upstream(Eof(3.0)) == [Hangup()]
    assert exchange.from_client(Data(4.0, b"hello" + A)) == [Dial("a", 80)]


def test_bytes_of_an_idle_leg_cost_it() -> None:
    exchange = connected()
    assert exchange.from_upstream(Data(1.0, b"HTTP/1.1 408 Too Late\r\n\r\n")) == [Hangup()]
    assert exchange.from_client(Data(2.0, A)) == [Dial("a", 80)]


def test_an_unreadable_response_passes_until_the_leg_ends() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, A))
    assert exchange.from_upstream(Data(2.0, b"<html>")) == [down(2.0, b"<html>")]
    assert exchange.from_client(Data(3.0, A)) == []
    assert exchange.from_upstream(Data(4.0, b"</html>")) == [down(4.0, b"</html>")]
    assert exchange.from_upstream(Eof(5.0)) == [ToClient(Close(5.0)), Hangup()]


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (A.replace(b"Z: 1", b"Connection: close"), OK),
        (A, OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")),
        (A, OK.replace(b"1.1", b"1.0")),
    ],
)
def test_a_connection_that_either_side_ends_is_ended(request_: bytes, response: bytes) -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, request_))
    assert exchange.from_upstream(Data(2.0, response)) == [
        down(2.0, response),
        ToClient(Close(2.0)),
        Hangup(),
    ]


def test_the_clients_end_waits_for_the_responses() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, A))
    assert exchange.from_client(Eof(2.0)) == []
    assert exchange.from_upstream(Data(3.0, OK)) == [down(3.0, OK), ToClient(Close(3.0)), Hangup()]
    assert forward().from_client(Eof(1.0)) == [ToClient(Close(1.0))]


def test_an_end_within_a_request_is_passed_on() -> None:
    exchange = connected()
    exchange.from_client(Data(1.0, b"POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe"))
    assert exchange.from_client(Eof(2.0)) == [ToUpstream(Eof(2.0))]


def test_a_client_that_goes_gives_up_the_dial() -> None:
    exchange = forward()
    exchange.from_client(Data(1.0, A))
    assert exchange.from_client(Reset(2.0)) == [Hangup(), ToClient(Reset(2.0))]
    assert exchange.dialled(3.0) == []
    assert exchange.dial_failed(3.0, "refused") == []


def test_a_client_that_goes_is_gone_for_the_leg_too() -> None:
    exchange = connected()
    assert exchange.from_client(Close(2.0)) == [ToUpstream(Close(2.0))]
    assert forward().from_client(Close(2.0)) == [ToClient(Close(2.0))]


@pytest.mark.parametrize("end", [Eof, Close, Reset])
def test_a_request_cut_short_that_a_fault_answers_ends_with_its_upstream(
    end: type[Eof] | type[Close] | type[Reset],
) -> None:
    exchange = forward(HttpVerdict(status=503, call_upstream=True))
    exchange.from_client(Data(0.0, b"POST http://a/bad HTTP/1.1\r\nContent-Length: 500\r\n\r\nabcd"))
    exchange.dialled(1.0)
    assert exchange.from_client(Eof(2.0)) == [ToUpstream(Eof(2.0))]
    assert exchange.from_upstream(end(3.0)) == [Hangup(), ToClient(Close(3.0))]
