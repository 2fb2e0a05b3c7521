from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Data, Eof
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.testing import open_filter, run_filter


@pytest.mark.parametrize(
    ("rate", "unit", "rate_bps"),
    [
        (1000, "Bps", 1000),
        (512, "KBps", 512_000),
        (1.5, "MBps", 1_500_000),
        (1, "GBps", 1_000_000_000),
        (8, "bit", 1),
        (8, "kbit", 1000),
        (100, "mbit", 12_500_000),
        (1, "gbit", 125_000_000),
    ],
)
def test_units_are_decimal_and_bits_are_eighths(rate: float, unit: str, rate_bps: float) -> None:
    assert Bandwidth(rate=rate, unit=unit).rate_bps == rate_bps  # type: ignore[arg-type]


def test_a_piece_leaves_when_its_last_byte_is_paid() -> None:
    out = run_filter(Bandwidth(rate=1024), Data(1.0, b"x" * 1280), Eof(1.0))
    assert [(event.at, len(event.payload)) for event in out if isinstance(event, Data)] == [
        (1.5, 512),
        (2.0, 512),
        (2.25, 256),
    ]
    assert out[-1] == Eof(2.25)


def test_an_idle_line_saves_no_credit() -> None:
    out = run_filter(Bandwidth(rate=1000), Data(0.0, b"x" * 100), Data(50.0, b"x" * 100))
    assert [event.at for event in out] == [0.1, 50.1]


def test_a_busy_line_makes_the_next_chunk_wait() -> None:
    out = run_filter(Bandwidth(rate=1000), Data(0.0, b"x" * 500), Data(0.25, b"x" * 500))
    assert [event.at for event in out] == [0.5, 1.0]


def test_the_burst_passes_at_once_and_as_one_piece() -> None:
    out = run_filter(Bandwidth(rate=1024, burst_bytes=2048), Data(8.0, b"x" * 2560), Data(100.0, b"x" * 2048))
    assert [(event.at, len(event.payload)) for event in out if isinstance(event, Data)] == [
        (8.0, 2048),
        (8.5, 512),
        (100.0, 2048),
    ]


@pytest.mark.parametrize(
    ("rate_bps", "piece_bytes", "read_size"),
    [
        (1000, 512, 512),
        (1_000_000, 1000, 10_000),
        (5_000_000, 5000, 50_000),
        (1_000_000_000, 65_536, 65_536),
    ],
)
def test_pieces_are_a_millisecond_and_reads_ten_within_reason(
    rate_bps: float, piece_bytes: int, read_size: int
) -> None:
    fault = Bandwidth(rate=rate_bps)
    assert (fault.piece_bytes, open_filter(fault).read_size) == (piece_bytes, read_size)


def test_no_input_is_wanted_until_shortly_before_the_line_is_free() -> None:
    filter = open_filter(Bandwidth(rate=1000))
    list(filter.feed(Data(1.0, b"x" * 500)))
    assert filter.ready_at == pytest.approx(1.498)


def test_scope_proxy_shares_one_rate_between_connections() -> None:
    shared: dict[str, object] = {}
    fault = Bandwidth(rate=1000, scope="proxy")
    first, second = open_filter(fault, shared=shared), open_filter(fault, shared=shared)
    assert list(first.feed(Data(0.0, b"x" * 500))) == [Data(0.5, b"x" * 500)]
    assert list(second.feed(Data(0.0, b"y" * 500))) == [Data(1.0, b"y" * 500)]


def test_scope_connection_gives_each_connection_the_whole_rate() -> None:
    shared: dict[str, object] = {}
    first, second = (open_filter(Bandwidth(rate=1000), shared=shared) for _ in range(2))
    assert list(first.feed(Data(0.0, b"x" * 500))) == [Data(0.5, b"x" * 500)]
    assert list(second.feed(Data(0.0, b"y" * 500))) == [Data(0.5, b"y" * 500)]
    assert shared == {}


def test_paced_bytes_are_noted_once_a_chunk() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(Bandwidth(), Data(0.0, b"x" * 5000), Data(1.0, b"y"), notes=notes)
    assert notes == [("paced_bytes", 5000), ("paced_bytes", 1)]


@pytest.mark.parametrize(
    ("fault", "noted"),
    [
        (Bandwidth(rate=100, unit="GBps"), 0),
        (Bandwidth(rate=1, unit="MBps"), 0),
        (Bandwidth(rate=100, unit="KBps", burst_bytes=1000), 0),
        (Bandwidth(rate=100, unit="KBps"), 1),
        (Bandwidth(rate=1, unit="kbit"), 1),
    ],
)
def test_a_rate_that_holds_nothing_back_is_no_injection(fault: Bandwidth, noted: int) -> None:
    notes: list[tuple[str, float]] = []
    run_filter(fault, Data(1.0, b"x" * 45), notes=notes)
    assert len(notes) == noted


def test_a_line_in_use_is_limited_at_any_rate() -> None:
    notes: list[tuple[str, float]] = []
    filter = open_filter(Bandwidth(rate=1, unit="GBps"), notes=notes)
    at = 1.0
    for _ in range(100):  # Bytes are there whenever they are asked for.
        list(filter.feed(Data(at, b"x" * 65_536)))
        at = max(at, filter.ready_at)
    assert len(notes) > 90


@pytest.mark.parametrize("rate_bps", [7_777, 1_000_000, 123_456_789])
def test_the_long_run_rate_is_exact(rate_bps: float) -> None:
    chunk = b"x" * 10_000
    out = run_filter(Bandwidth(rate=rate_bps), *(Data(0.0, chunk) for _ in range(300)))
    assert 3_000_000 / out[-1].at == pytest.approx(rate_bps, rel=1e-3)


@given(
    st.floats(100, 1e7),
    st.integers(0, 100_000),
    st.lists(st.tuples(st.floats(0, 0.5), st.integers(1, 20_000)), min_size=1, max_size=20),
)
def test_no_window_carries_more_than_rate_burst_and_one_piece(
    rate_bps: float, burst_bytes: int, chunks: list[tuple[float, int]]
) -> None:
    fault = Bandwidth(rate=rate_bps, burst_bytes=burst_bytes)
    events, at = [], 0.0
    for gap_s, size in chunks:
        at += gap_s
        events.append(Data(at, b"x" * size))
    out = [event for event in run_filter(fault, *events) if isinstance(event, Data)]
    starts = [0]
    for event in out:
        starts.append(starts[-1] + len(event.payload))
    # It is enough to look at windows that begin with one delivery and end with another; long
    # outputs are thinned at the left edge to keep this quadratic walk short.
    for left in range(0, len(out), max(1, len(out) // 40)):
        for right in range(left, len(out)):
            window_s = out[right].at - out[left].at
            carried = starts[right + 1] - starts[left]
            assert carried <= rate_bps * window_s + burst_bytes + fault.piece_bytes + 1


@pytest.mark.parametrize(("rate", "unit"), [(1e300, "GBps"), (1e-9, "Bps")])
def test_a_rate_beyond_reason_is_refused(rate: float, unit: str) -> None:
    with pytest.raises(ValueError, match=r"^rate: expected 0\.001 to 1e\+15 bytes a second, got "):
        Bandwidth(rate=rate, unit=unit)  # type: ignore[arg-type]
