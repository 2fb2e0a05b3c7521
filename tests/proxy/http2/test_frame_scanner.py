from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.proxy.http2.frame_scanner import PREFACE, BadFrames, FrameScanner, GoawayFrame, goaway_bytes


def frame(kind: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + (1).to_bytes(4, "big") + payload


BYTES = (
    PREFACE
    + frame(4, b"123456")
    + goaway_bytes(5, 11, b"calm")
    + frame(0, b"x" * 300)
    + goaway_bytes(3, 0, b"")
)


@given(cuts=st.lists(st.integers(0, len(BYTES)), max_size=12))
def test_goaway_is_taken_out_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    scanner = FrameScanner(preface=True)
    places = [0, *sorted(cuts), len(BYTES)]
    found = [
        each for begin, end in itertools.pairwise(places) for each in scanner.feed(BYTES[begin:end], 0.0)
    ]
    rest = b"".join(each for each in found if isinstance(each, bytes))
    assert rest == PREFACE + frame(4, b"123456") + frame(0, b"x" * 300)
    goaways = [each for each in found if isinstance(each, GoawayFrame)]
    assert goaways == [GoawayFrame(5, 11, b"calm"), GoawayFrame(3, 0, b"")]


def test_many_frames_come_in_slices() -> None:
    frames = [frame(1, bytes([number])) for number in range(70)]
    slices = FrameScanner(preface=False).feed(b"".join(frames), 0.0)
    assert slices == [b"".join(frames[at : at + 32]) for at in (0, 32, 64)]


@pytest.mark.parametrize(
    ("kind", "most"), [(6, 2000), (4, 2000), (2, 2000), (0, 2000), (1, None), (8, 20_000), (0x42, 2000)]
)
def test_frames_that_carry_nothing_are_limited(kind: int, most: int | None) -> None:
    scanner = FrameScanner(preface=False)
    payload = b"" if kind == 0 else b"1234"
    if most is None:
        scanner.feed(frame(kind, payload) * 50_000, 0.0)
        return
    scanner.feed(frame(kind, payload) * most, 0.0)
    with pytest.raises(BadFrames):
        scanner.feed(frame(kind, payload), 0.0)


def test_a_block_of_header_fields_is_limited_in_all_its_frames() -> None:
    scanner = FrameScanner(preface=False)
    full = frame(1, bytes(16_384)) + frame(9, bytes(16_384)) * 7
    scanner.feed(full * 2, 0.0)
    with pytest.raises(BadFrames, match="header fields of more than 131072 bytes"):
        scanner.feed(frame(9, b"x"), 0.0)


def test_a_peer_may_send_more_of_them_as_time_goes_on() -> None:
    scanner = FrameScanner(preface=False)
    for second in range(5):
        scanner.feed(frame(6, b"12345678") * 2000, float(second))


def test_resets_count_double() -> None:
    with pytest.raises(BadFrames):
        FrameScanner(preface=False).feed(frame(3, b"1234") * 1001, 0.0)
