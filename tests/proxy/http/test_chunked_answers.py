"""The short way of chunked answers: it takes nothing but whole chunks, and gives what the long way gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Data
from faultkit.faults.http_fault import (
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Content,
    HttpVerdict,
    Skipping,
)
from faultkit.proxy.http import HttpExchange, Output, ToClient
from faultkit.proxy.http.answer_rewrite import TextsOfChunks, texts_of_chunks
from faultkit.proxy.http.framing import chunk_contents
from faultkit.proxy.native import native

ASKED = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PARTS = (b'5\r\n("012\r\n', b'9\r\n")("abc")\r\n', b'6\r\n("!!")\r\n', b'A\r\n("x")("y")\r\n')
LAST = b"0\r\n\r\n"
CONTENT = b'("012")("abc")("!!")("x")("y")'


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

    def skipping(self, at: float) -> Skipping | None:
        return Skipping(b'("', b'")', self.skip) if self.skips and at >= self.until else None

    def skip(self, texts: Sequence[str]) -> bool:
        if "!!" in texts:
            return False
        self.seen += b"".join(b'("%b")' % text.encode() for text in texts)
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
    return b"".join(chunk_contents(body.removesuffix(LAST)) or ())


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
    assert content_of(out) == content_of(expected) == CONTENT
    assert [event.at for event in out] == [event.at for event in expected]
    assert by_chunks.seen == by_events.seen
    assert (short.rewrites, long.rewrites) == (False, False)


def test_whole_chunks_pass_as_the_same_bytes_until_a_filter_acts() -> None:
    exchange, late = begun(skips=True)
    assert exchange.take_chunks(HEAD, 1.0) is None
    exchange.from_upstream(Data(1.0, HEAD))
    half, rest, act, after = PARTS
    assert exchange.take_chunks(half, 2.0) is half
    assert exchange.take_chunks(rest, 2.5) is rest
    both = after + after
    assert exchange.take_chunks(both, 3.0) is both
    assert exchange.take_chunks(after[:4], 4.0) is None
    exchange.from_upstream(Data(4.0, after[:4]))
    assert exchange.take_chunks(after[4:], 5.0) is None, "a chunk has begun"
    exchange.from_upstream(Data(5.0, after[4:]))
    assert exchange.take_chunks(act, 6.0) == [ToClient(Data(16.0, act.lower()))]
    assert exchange.take_chunks(after, 7.0) is None, "earlier bytes still wait"
    assert sent(exchange.from_upstream(Data(7.0, after))) == [Data(16.0, after.replace(b"A", b"a"))]
    assert exchange.take_chunks(LAST, 20.0) is None
    assert sent(exchange.from_upstream(Data(20.0, LAST))) == [Data(20.0, LAST)]
    assert exchange.take_chunks(after, 21.0) is None, "no answer is expected"
    assert late.seen == CONTENT[:14] + b'("x")("y")' * 3 + b'("!!")("x")("y")'


@pytest.mark.parametrize(
    ("data", "contents"),
    [
        (b"3\r\n012\r\n", [b"012"]),
        (b"3\r\n012\r\n1\r\nx\r\n", [b"012", b"x"]),
        (b"3;a=b\r\n012\r\n", None),
        (b"3\r\n012\r", None),
        (b"3\r\n0123\r\n", None),
        (b"0\r\n\r\n", None),
        (b"3\r\n012\r\n0\r\n\r\n", None),
        (b"-3\r\n012\r\n", None),
        (b"x", None),
        (b"", []),
    ],
)
def test_the_contents_of_whole_chunks(data: bytes, contents: list[bytes] | None) -> None:
    assert chunk_contents(data) == contents


USED: TextsOfChunks = texts_of_chunks if native is None else native.texts_of_chunks
BEFORE, BEHIND = b'data: {"id":"\xc3\xa9","t":"', b'","n":[]}\n\n'


def chunk(*texts: bytes) -> bytes:
    content = b"".join(BEFORE + text + BEHIND for text in texts)
    return b"%x\r\n%b\r\n" % (len(content), content)


@pytest.mark.parametrize("texts_of", [texts_of_chunks, USED], ids=["python", "used"])
def test_the_texts_of_events_in_whole_chunks(texts_of: TextsOfChunks) -> None:
    cases: dict[bytes, list[str] | None] = {
        chunk(b"a b"): ["a b"],
        chunk(b"a", b"") + chunk("Łódź 🌍".encode()): ["a", "", "Łódź 🌍"],
        chunk(b"a").upper(): None,
        chunk(b"a\\n"): None,
        chunk(b'a"b'): None,
        chunk(b"a\tb"): None,
        chunk(b"\x7f"): None,
        chunk(b"\xff"): None,
        chunk("\u2028".encode()): None,
        chunk(b"a") + LAST: None,
        chunk(b"a")[:-1]: None,
        chunk(b"a") + b"\n": None,
        b"%x\r\n%b\r\n" % (len(BEFORE + BEHIND) - 1, BEFORE + BEHIND[1:]): None,
        b"ffffffffffffff\r\n": None,
        LAST: None,
        b"": None,
    }
    assert {data: texts_of(data, BEFORE, BEHIND) for data in cases} == cases


PIECES = (chunk(b"one"), chunk(b" two", b"", b"3"), chunk("é🌍".encode()), b"1\r\nx\r\n", LAST)


@given(st.lists(st.sampled_from(PIECES), max_size=5), st.data())
def test_compiled_code_finds_the_same_texts(pieces: list[bytes], data: st.DataObject) -> None:
    stream = bytearray(b"".join(pieces))
    for place in data.draw(st.lists(st.integers(0, max(0, len(stream) - 1)), max_size=2)) if stream else ():
        stream[place] = data.draw(st.sampled_from(b'"\\\r\n a0f\xc3'))
    assert USED(bytes(stream), BEFORE, BEHIND) == texts_of_chunks(bytes(stream), BEFORE, BEHIND)


class Lengthless(AnswerFilter):
    """Takes the length off an answer, as a filter does that may change it."""

    def feed(self, piece: AnswerPiece) -> tuple[AnswerPiece, ...]:
        return (replace(piece, length=None) if isinstance(piece, AnswerHead) else piece,)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (b"1.1", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
        (b"1.0", b"\r\nhi"),  # It knows no chunks (RFC 9112 §6.1), and the end of the connection ends it.
    ],
)
def test_a_length_that_is_taken_off_becomes_chunks_if_the_client_knows_them(
    version: bytes, expected: bytes
) -> None:
    exchange = HttpExchange(lambda head: HttpVerdict(), judge_answer=lambda answered: ([Lengthless()], False))
    exchange.from_client(Data(0.0, ASKED.replace(b"1.1", version)))
    out = sent(exchange.from_upstream(Data(1.0, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")))
    assert b"".join(event.payload for event in out) == b"HTTP/1.1 200 OK\r\n" + expected
