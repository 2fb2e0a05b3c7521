from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults.events import Data, Eof
from faultkit.faults.stream.slicer import Slicer
from faultkit.testing import open_filter, run_filter


@pytest.mark.parametrize(
    ("size", "average", "ends"),
    [
        (1, 64, [1]),
        (64, 64, [64]),
        (65, 64, [32, 65]),
        (256, 64, [64, 128, 192, 256]),
        (5, 1, [1, 2, 3, 4, 5]),
    ],
)
def test_a_chunk_is_halved_until_its_pieces_are_small_enough(
    size: int, average: int, ends: list[int]
) -> None:
    assert Slicer(average_bytes=average).cuts(size, Rng.keyed(0)) == ends


@given(st.integers(1, 5000), st.integers(1, 200), st.integers(0, 300), st.integers())
def test_with_variation_pieces_cover_the_chunk_and_keep_the_bound(
    size: int, average: int, variation: int, seed: int
) -> None:
    ends = Slicer(average_bytes=average, variation_bytes=variation).cuts(size, Rng.keyed(seed))
    pieces = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    assert ends[-1] == size
    assert min(pieces) >= 1
    assert max(pieces) <= average + variation


def test_variation_makes_pieces_of_many_sizes() -> None:
    ends = Slicer(average_bytes=50, variation_bytes=20).cuts(10_000, Rng.keyed(0))
    assert len({end - begin for begin, end in zip([0, *ends], ends, strict=False)}) > 10


def test_there_is_a_pause_between_two_pieces_of_the_stream_and_none_before_the_first() -> None:
    fault = Slicer(average_bytes=2, delay_us=250_000)
    out = run_filter(fault, Data(1.0, b"abcd"), Data(1.0, b"ef"), Data(9.0, b"gh"), Eof(9.0))
    assert out == [
        Data(1.0, b"ab"),
        Data(1.25, b"cd"),
        Data(1.5, b"ef"),
        Data(9.0, b"gh"),
        Eof(9.0),
    ]


def test_without_a_pause_pieces_stay_separate() -> None:
    out = run_filter(Slicer(average_bytes=2), Data(1.0, b"abcd"))
    assert out == [Data(1.0, b"ab"), Data(1.0, b"cd")]


def test_no_input_is_wanted_before_the_last_piece_has_left() -> None:
    filter = open_filter(Slicer(average_bytes=1, delay_us=500_000))
    list(filter.feed(Data(1.0, b"abc")))
    assert filter.ready_at == 2.0


@pytest.mark.parametrize(("average", "read_size"), [(1, 512), (64, 4096), (10_000, 65_536)])
def test_reads_are_small_where_pieces_are(average: int, read_size: int) -> None:
    assert open_filter(Slicer(average_bytes=average)).read_size == read_size


def test_pieces_are_noted_once_a_chunk_that_was_cut() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(Slicer(average_bytes=2), Data(0.0, b"abcd"), Data(0.0, b"e"), notes=notes)
    assert notes == [("pieces", 2)]


def test_a_piece_that_waits_for_another_is_noted() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(
        Slicer(average_bytes=9, delay_us=500), Data(0.0, b"a"), Data(0.0, b"b"), Data(1.0, b"c"), notes=notes
    )
    assert notes == [("pieces", 1)]
