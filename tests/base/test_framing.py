"""Framing: lines of stdio and events of a stream, however the bytes are split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.framing import (
    COMMENT,
    LineReader,
    OversizedLine,
    SseEvent,
    SseReader,
    SseSplitter,
    SseTooLong,
    event_of,
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(marks)]


_LINES = st.lists(st.binary(min_size=1, max_size=30).map(lambda b: b"x" + b.replace(b"\n", b".") + b"x"))
_CUTS = st.lists(st.integers(0, 10_000), max_size=8)


@given(_LINES, _CUTS)
def test_lines_come_out_whole_however_they_are_cut(lines: list[bytes], places: list[int]) -> None:
    reader = LineReader()
    out = [line for part in cut(b"".join(x + b"\n" for x in lines), places) for line in reader.feed(part)]
    assert out == lines


def test_empty_lines_and_carriage_returns_mean_nothing() -> None:
    assert LineReader().feed(b"\n  \na\r\n\r\nb\n") == [b"a", b"b"]


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_a_stream_may_end_without_the_end_of_its_last_line(step: int) -> None:
    reader = LineReader(limit=10)
    data = b"one\ntwo"
    out = [line for at in range(0, len(data), step) for line in reader.feed(data[at : at + step])]
    assert (out, reader.end(), reader.end()) == ([b"one"], [b"two"], [])
    reader.feed(b"x" * 11)
    (too_long,) = reader.end()
    assert str(too_long) == "11 bytes, above the limit of 10 bytes"


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_a_line_that_is_too_long_is_dropped_and_the_next_one_is_not(step: int) -> None:
    reader = LineReader(limit=10)
    data = b"short\n" + b"y" * 57 + b"\nnext\n"
    out = [line for at in range(0, len(data), step) for line in reader.feed(data[at : at + step])]
    assert out[0] == b"short"
    assert isinstance(out[1], OversizedLine)
    assert out[1].size == 57
    assert out[2:] == [b"next"]


@given(st.lists(st.binary(min_size=1).filter(lambda b: b"\r" not in b)), _CUTS)
def test_events_come_out_whole_however_they_are_cut(payloads: list[bytes], places: list[int]) -> None:
    reader = SseReader()
    data = b"".join(event_of(each, f"s-{n}") + COMMENT for n, each in enumerate(payloads))
    out = [event for part in cut(data, places) for event in reader.feed(part)]
    assert out == [SseEvent(each, f"s-{n}") for n, each in enumerate(payloads)]


@given(_CUTS)
def test_all_three_line_ends_are_understood(places: list[int]) -> None:
    data = b"data: a\r\ndata:b\r\n\r\nid: 7\nevent: other\ndata: c\n\n:x\rdata: d\r\r"
    reader = SseReader()
    out = [event for part in cut(data, places) for event in reader.feed(part)]
    assert out == [SseEvent(b"a\nb"), SseEvent(b"c", "7", "other"), SseEvent(b"d")]


def test_an_event_without_data_is_none() -> None:
    assert SseReader().feed(b"id: 1\nretry: 500\n\ndata: x\nretry: 20\n\n") == [SseEvent(b"x", retry_ms=20)]


def test_an_event_that_is_too_long_ends_the_reading() -> None:
    reader = SseReader(limit=100)
    with pytest.raises(SseTooLong):
        for _ in range(50):
            reader.feed(b"data: 0123456789\n")


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
def test_a_piece_ends_behind_its_blank_line_wherever_the_stream_is_cut(end: bytes) -> None:
    events = [b"data: 1" + end, b"data: 2" + end]
    stream = b"".join(events)
    for place in range(len(stream) + 1):
        splitter = SseSplitter()
        assert [*splitter.feed(stream[:place]), *splitter.feed(stream[place:])] == events
