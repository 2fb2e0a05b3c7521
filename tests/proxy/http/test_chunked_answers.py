"""The short way of chunked answers: it takes nothing but whole chunks, and gives what the long way gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Data
from faultkit.faults.http_fault import AnswerFilter, AnswerPiece, Content, HttpVerdict
from faultkit.proxy.http import HttpExchange, Output, ToClient
from faultkit.proxy.http.framing import chunks_content

ASKED = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PARTS = (b"3\r\n012\r\n", b"A\r\nabcdefghij\r\n", b"2\r\n!!\r\n", b"1\r\nz\r\n")
LAST = b"0\r\n\r\n"


class Late(AnswerFilter):
    """Holds content with an exclamation mark back for ten seconds, and what comes behind it."""

    def __init__(self, *, skips: bool) -> None:
        self.skips = skips
        self.until = 0.0
        self.seen = b""

    def feed(self, piece: AnswerPiece) -> tuple[AnswerPiece, ...]:
        if not isinstance(piece, Content):
            return (piece,)
        self.seen += piece.payload
        if b"!" in piece.payload:
            self.until = piece.at + 10
        return (piece,) if piece.at >= self.until else (Content(self.until, piece.payload),)

    def skipping(self, at: float) -> Callable[[bytes], bool] | None:
        return self.skip if self.skips and at >= self.until else None

    def skip(self, content: bytes) -> bool:
        if b"!" in content:
            return False
        self.seen += content
        return True


def begun(*, skips: bool = False) -> tuple[HttpExchange, Late]:
    late = Late(skips=skips)
    exchange = HttpExchange(lambda head: HttpVerdict(), judge_answer=lambda answered: ([late], True))
    exchange.from_client(Data(0.0, ASKED))
    return exchange, late


def sent(outputs: list[Output]) -> list[Data]:
    return [each.event for each in outputs if isinstance(each, ToClient) and isinstance(each.event, Data)]


def content_of(events: list[Data]) -> bytes:
    body = b"".join(event.payload for event in events).partition(b"\r\n\r\n")[2]
    assert body.endswith(LAST)
    content = chunks_content(body.removesuffix(LAST))
    assert content is not None
    return content


@given(st.lists(st.integers(0, 200), max_size=6), st.booleans())
def test_an_answer_cut_anywhere_gives_the_same_content_at_the_same_times(
    marks: list[int], skips: bool
) -> None:
    stream = HEAD + b"".join(PARTS) + LAST
    places = sorted({0, len(stream), *(mark % len(stream) for mark in marks)})
    reads = [stream[a:b] for a, b in pairwise(places)]
    (long, by_events), (short, by_chunks) = begun(), begun(skips=skips)
    expected: list[Data] = []
    out: list[Data] = []
    for at, data in enumerate(reads, 1):
        expected += sent(long.from_upstream(Data(float(at), data)))
        taken = short.take_chunks(data, float(at))
        if isinstance(taken, bytes):
            out.append(Data(float(at), taken))
        else:
            out += sent(short.from_upstream(Data(float(at), data)) if taken is None else taken)
    assert content_of(out) == content_of(expected) == b"012abcdefghij!!z"
    assert [event.at for event in out] == [event.at for event in expected]
    assert by_chunks.seen == by_events.seen
    assert (short.rewrites, long.rewrites) == (False, False)


def test_whole_chunks_pass_as_the_same_bytes_until_a_filter_acts() -> None:
    exchange, _ = begun(skips=True)
    assert exchange.take_chunks(HEAD, 1.0) is None
    exchange.from_upstream(Data(1.0, HEAD))
    first, second, act, after = PARTS
    assert exchange.take_chunks(first, 2.0) is first
    both = first + second
    assert exchange.take_chunks(both, 3.0) is both
    assert exchange.take_chunks(first[:4], 4.0) is None
    exchange.from_upstream(Data(4.0, first[:4]))
    assert exchange.take_chunks(first[4:], 5.0) is None, "a chunk has begun"
    exchange.from_upstream(Data(5.0, first[4:]))
    acted = exchange.take_chunks(act, 6.0)
    assert acted == [ToClient(Data(16.0, act))]
    assert exchange.take_chunks(after, 7.0) is None, "earlier bytes still wait"
    assert sent(exchange.from_upstream(Data(7.0, after))) == [Data(16.0, after)]
    assert exchange.take_chunks(LAST, 20.0) is None
    assert sent(exchange.from_upstream(Data(20.0, LAST))) == [Data(20.0, LAST)]
    assert exchange.take_chunks(first, 21.0) is None, "no answer is expected"


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"3\r\n012\r\n", b"012"),
        (b"3\r\n012\r\n1\r\nx\r\n", b"012x"),
        (b"3;a=b\r\n012\r\n", None),
        (b"3\r\n012\r", None),
        (b"3\r\n0123\r\n", None),
        (b"0\r\n\r\n", None),
        (b"3\r\n012\r\n0\r\n\r\n", None),
        (b"-3\r\n012\r\n", None),
        (b"x", None),
        (b"", b""),
    ],
)
def test_the_content_of_whole_chunks(data: bytes, content: bytes | None) -> None:
    assert chunks_content(data) == content
