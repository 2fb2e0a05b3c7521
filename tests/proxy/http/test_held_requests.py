"""Requests that are held until their body has come, in HTTP/1.1: exact bytes and their order."""

from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import (
    BodyVerdict,
    Dial,
    Hangup,
    HttpExchange,
    Mode,
    Output,
    OwnAnswer,
    RequestHead,
    ToClient,
    ToUpstream,
)
from faultkit.proxy.http import held_request as held_module

POST = b"POST /a HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REFUSED = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\ncontent-type: application/json\r\n"
    b"X-Fault-Injected: auth\r\n\r\n{}"
)


class Bodies:
    """Holds every POST, and treats all alike."""

    def __init__(self, verdict: BodyVerdict) -> None:
        self.verdict = verdict
        self.read: list[bytes] = []
        self.long: list[str] = []

    def wants(self, head: RequestHead) -> bool:
        return head.method == "POST"

    def judge(self, head: RequestHead, number: int, body: bytes) -> BodyVerdict:
        self.read.append(body)
        return self.verdict

    def too_long(self, head: RequestHead) -> None:
        self.long.append(head.target)


def pair(verdict: BodyVerdict | None = None, mode: Mode = "inline") -> tuple[HttpExchange, Bodies]:
    bodies = Bodies(verdict or BodyVerdict())
    return HttpExchange(lambda head: HttpVerdict(), mode, "x", bodies=bodies), bodies


def asked(exchange: HttpExchange, *parts: bytes) -> list[Output]:
    return [out for at, part in enumerate(parts) for out in exchange.from_client(Data(float(at), part))]


def sent(outputs: list[Output]) -> bytes:
    return b"".join(
        out.event.payload for out in outputs if isinstance(out, ToUpstream) and isinstance(out.event, Data)
    )


ANSWERED = BodyVerdict(
    answer=OwnAnswer(429, "{}", (("content-type", "application/json"),), "auth"), answer_at=5.0
)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("head", [POST, CHUNKED])
def test_a_request_that_no_rule_changes_passes_as_it_came(head: bytes, size: int) -> None:
    whole = head + (b"3;x\r\nabc\r\n1\r\nd\r\n0\r\nT: 1\r\n\r\n" if head is CHUNKED else b"abcd") + GET
    exchange, bodies = pair()
    assert sent(asked(exchange, *(whole[n : n + size] for n in range(0, len(whole), size)))) == whole
    assert bodies.read == [b"abcd"]


def test_nothing_is_sent_before_the_body_is_whole() -> None:
    exchange, _ = pair()
    assert asked(exchange, POST, b"abc") == []
    assert asked(exchange, b"d") == [ToUpstream(Data(1.0, POST + b"abcd"))]


@pytest.mark.parametrize("head", [POST, CHUNKED])
def test_another_body_has_its_own_length(head: bytes) -> None:
    exchange, _ = pair(BodyVerdict(b"another", is_plain=True))
    body = b"4\r\nabcd\r\n0\r\n\r\n" if head is CHUNKED else b"abcd"
    assert sent(asked(exchange, head + body)) == (
        b"POST /a HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\nContent-Length: 7\r\n\r\nanother"
    )


def test_an_answer_of_ours_keeps_its_turn_and_its_time() -> None:
    exchange, _ = pair(ANSWERED)
    assert asked(exchange, GET + POST + b"abcd") == [ToUpstream(Data(0.0, GET))]
    assert exchange.from_upstream(Data(1.0, OK)) == [ToClient(Data(1.0, OK)), ToClient(Data(5.0, REFUSED))]
    assert asked(exchange, GET)[-1] == ToUpstream(Data(1.0, GET))


def test_a_forward_proxy_dials_when_the_body_is_whole() -> None:
    exchange, _ = pair(BodyVerdict(b"longer body"), "forward")
    head = POST.replace(b"/a", b"http://h:81/a", 1)
    assert asked(exchange, head, b"abc") == []
    assert asked(exchange, b"d") == [Dial("h", 81)]
    wire = sent(exchange.dialled(2.0))
    assert wire.startswith(b"POST /a HTTP/1.1\r\nHost: h:81\r\n")
    assert wire.endswith(b"Content-Length: 11\r\n\r\nlonger body")
    assert exchange.from_upstream(Data(3.0, OK)) == [ToClient(Data(3.0, OK))]


def test_a_forward_proxy_that_cannot_dial_answers() -> None:
    exchange, _ = pair(mode="forward")
    asked(exchange, POST.replace(b"/a", b"http://h:81/a", 1) + b"abcd")
    (answer,) = exchange.dial_failed(2.0, "connection refused")
    assert isinstance(answer, ToClient)
    assert isinstance(answer.event, Data)
    assert answer.event.payload.startswith(b"HTTP/1.1 502 ")
    assert asked(exchange, GET.replace(b"/b", b"http://h:81/b", 1)) == [Dial("h", 81)]


@pytest.mark.parametrize("most_held", [2, 100])
def test_a_client_that_waits_for_100_gets_it_here_and_only_here(
    most_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_module, "MOST_HELD_BYTES", most_held)
    exchange, _ = pair()
    head = POST.replace(b"Host", b"Expect: 100-continue\r\nHost", 1)
    assert asked(exchange, head) == [ToClient(Data(0.0, b"HTTP/1.1 100 Continue\r\n\r\n"))]
    assert sent(asked(exchange, b"abcd")) == POST + b"abcd"


def test_a_body_that_is_too_long_passes_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_module, "MOST_HELD_BYTES", 2)
    exchange, bodies = pair(ANSWERED)
    assert sent(asked(exchange, POST + b"ab", b"c", b"d" + GET)) == POST + b"abcd" + GET
    assert (bodies.read, bodies.long) == ([], ["/a"])


@pytest.mark.parametrize("end", [Eof(3.0), Close(3.0)])
def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_nothing(end: Event) -> None:
    exchange, bodies = pair(mode="forward")
    asked(exchange, POST.replace(b"/a", b"http://h:81/a", 1) + b"ab")
    out = exchange.from_client(end)
    assert [type(each) for each in out] == [ToClient]
    assert Hangup() not in out
    assert bodies.read == []
    assert exchange.from_client(Data(4.0, b"cd")) == []


def test_bytes_that_are_no_body_pass_with_what_was_held() -> None:
    exchange, bodies = pair()
    wire = CHUNKED + b"3\r\nabc\r\nnonsense"
    assert sent(asked(exchange, wire)) == wire
    assert bodies.read == []
