"""Call faults that fail: errors of tools, of the protocol, of HTTP, and connections that end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.faults.call.disconnect import Disconnect as DisconnectFault
from faultkit.faults.call.fail_from import FailFrom
from faultkit.faults.call.http_status import HttpStatus
from faultkit.faults.call.protocol_error import ProtocolError
from faultkit.faults.call.rate_limit import RateLimit
from faultkit.faults.call.stream_end import StreamEnd
from faultkit.faults.call.tcp_reset import TcpReset
from faultkit.faults.call.tool_error import ToolError
from faultkit.faults.call_fault import CallFault, Disconnect, EndStream, Frame, Message, Send, Status
from tests.faults.call.judged import CALL, MODERN, error, frames, judged, result

PLAIN = ("Content-Type", "text/plain; charset=utf-8")
JSON = ("Content-Type", "application/json")


def said(text: str) -> Message:
    return result({"content": [{"type": "text", "text": text}], "isError": True})


@pytest.mark.parametrize(
    ("fault", "frame"),
    [
        (ToolError(), Send(said("injected tool error"))),
        (ToolError(text="disk full"), Send(said("disk full"))),
        (ProtocolError(), Send(error(-32603, "injected protocol error"))),
        (
            ProtocolError(code=-32000, message="busy", data='{"a": [1]}'),
            Send(error(-32000, "busy", data={"a": [1]})),
        ),
        (ProtocolError(data="0"), Send(error(-32603, "injected protocol error", data=0))),
        (HttpStatus(), Status(503, (PLAIN,), b"service unavailable")),
        (HttpStatus(status=404), Status(404, (PLAIN,), b"session not found")),
        (HttpStatus(status=418), Status(418, (PLAIN,), b"status 418")),
        (HttpStatus(status=500, body=""), Status(500)),
        (
            HttpStatus(status=401),
            Status(401, (PLAIN, ("WWW-Authenticate", 'Bearer error="invalid_token"')), b"unauthorized"),
        ),
        (HttpStatus(status=429), Status(429, (PLAIN, ("Retry-After", "30")), b"too many requests")),
        (HttpStatus(status=429, retry_after_s=-1), Status(429, (PLAIN,), b"too many requests")),
        (
            HttpStatus(status=429, retry_after_s=7),
            Status(429, (PLAIN, ("Retry-After", "7")), b"too many requests"),
        ),
        (
            HttpStatus(status=500, body="oops", as_error=True),
            Status(500, (JSON,), error(-31001, "oops", data={"status": 500})),
        ),
        (
            RateLimit(form="http", retry_after_s=5),
            Status(429, (PLAIN, ("Retry-After", "5")), b"rate limit exceeded: try again in 5 s"),
        ),
        (
            RateLimit(),
            Send(error(-32000, "rate limit exceeded: try again in 30 s", data={"retryAfter": 30})),
        ),
        (RateLimit(form="tool_error"), Send(said("rate limit exceeded: try again in 30 s"))),
        (
            RateLimit(form="hidden"),
            Send(
                result(
                    {
                        "content": [
                            {
                                "type": "text",
                                "text": '{"status":429,"error":"rate_limited","retry_after":30}',
                            }
                        ]
                    }
                )
            ),
        ),
        (DisconnectFault(), Disconnect()),
        (DisconnectFault(delay_ms=40), Disconnect(after_s=0.04)),
        (TcpReset(), Disconnect(reset=True)),
    ],
)
def test_a_failing_call_is_answered_without_the_server(fault: CallFault, frame: Frame) -> None:
    assert judged(fault).ask is False
    assert judged(fault).effect == fault.kind
    assert frames(fault) == (frame,)


@pytest.mark.parametrize(
    "fault",
    [
        ToolError(call_upstream=True),
        ProtocolError(call_upstream=True),
        HttpStatus(call_upstream=True),
        DisconnectFault(call_upstream=True),
        TcpReset(call_upstream=True),
    ],
)
def test_the_server_may_do_its_work_all_the_same(fault: CallFault) -> None:
    assert judged(fault).ask
    assert frames(fault) == frames(replace(fault, call_upstream=False))  # type: ignore[call-arg]


def test_a_stream_ends_without_a_reply_after_the_server_has_worked() -> None:
    assert judged(StreamEnd()).ask
    assert frames(StreamEnd()) == (EndStream(),)


def test_a_result_of_the_modern_era_says_that_it_is_complete() -> None:
    assert frames(ToolError(text="no"), call=MODERN) == (
        Send(
            result(
                {"resultType": "complete", "content": [{"type": "text", "text": "no"}], "isError": True}, "a"
            )
        ),
    )


@pytest.mark.parametrize(("ordinal", "fails"), [(0, False), (1, False), (2, True), (9, True)])
def test_from_the_nth_call_on_all_fail(ordinal: int, fails: bool) -> None:
    verdict = judged(FailFrom(number=3), replace(CALL, ordinal=ordinal))
    assert verdict.idle is not fails


def test_what_fails_says_so_in_the_way_of_its_method() -> None:
    text = "injected failure: call to `search` fails from call 1 on"
    assert frames(FailFrom(number=1)) == (Send(said(text)),)
    listed = replace(CALL, method="tools/list", name="")
    text = "injected failure: call to `tools/list` fails from call 1 on"
    assert frames(FailFrom(number=1), call=listed) == (Send(error(-32603, text)),)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ProtocolError(data="{"), "data: expected JSON text, got '{'"),
        (
            lambda: HttpStatus(status=500, retry_after_s=1),
            "retry_after_s: expected nothing with status 500, got 1",
        ),
        (lambda: HttpStatus(status=200), "status: expected a whole number from 400 to 599, got 200"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: object, problem: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == problem
