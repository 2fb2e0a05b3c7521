from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Data, Eof
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.testing import payload_of, run_filter


def flipped(fault: Corrupt, payload: bytes) -> list[tuple[int, int]]:
    """Where the output differs: offset of the byte, and which bits."""
    out = payload_of(run_filter(fault, Data(0.0, payload)))
    assert len(out) == len(payload)
    return [(offset, a ^ b) for offset, (a, b) in enumerate(zip(payload, out, strict=True)) if a != b]


def test_rate_0_changes_nothing() -> None:
    assert run_filter(Corrupt(rate=0), Data(1.0, b"abc" * 10_000), Eof(1.0)) == [
        Data(1.0, b"abc" * 10_000),
        Eof(1.0),
    ]


def test_rate_1_flips_exactly_one_bit_of_each_segment() -> None:
    changes = flipped(Corrupt(rate=1, segment_bytes=100), bytes(10_000))
    assert [offset // 100 for offset, _ in changes] == list(range(100))
    assert all(bits.bit_count() == 1 for _, bits in changes)
    assert len({offset % 100 for offset, _ in changes}) > 40
    assert {bits for _, bits in changes} == {1 << bit for bit in range(8)}


def test_segments_are_hit_at_the_rate() -> None:
    changes = flipped(Corrupt(rate=0.05, segment_bytes=10), bytes(200_000))
    assert len(changes) / 20_000 == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 20_000))


def test_the_offset_of_each_flipped_bit_is_noted() -> None:
    notes: list[tuple[str, float]] = []
    fault = Corrupt(rate=0.3, segment_bytes=50)
    run_filter(fault, Data(0.0, bytes(1000)), Data(0.0, bytes(1000)), notes=notes)
    assert notes == [("flipped_bit_at", offset) for offset, _ in flipped(fault, bytes(2000))]
    assert len(notes) > 2


@given(st.lists(st.integers(0, 2000), max_size=10))
def test_which_bits_are_flipped_does_not_depend_on_how_bytes_were_read(cuts: list[int]) -> None:
    fault = Corrupt(rate=0.5, segment_bytes=64)
    edges = [0, *sorted(cuts), 2000]
    chunks = [Data(0.0, bytes(end - begin)) for begin, end in pairwise(edges)]
    assert payload_of(run_filter(fault, *chunks)) == payload_of(run_filter(fault, Data(0.0, bytes(2000))))
