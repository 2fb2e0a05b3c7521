from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.testing import run_filter


@pytest.mark.parametrize(
    ("end", "late"), [(Eof(2.0), Eof(2.5)), (Close(2.0), Close(2.5)), (Reset(2.0), Reset(2.0))]
)
def test_only_an_orderly_end_is_late(end: Event, late: Event) -> None:
    out = run_filter(SlowClose(delay_ms=500), Data(1.0, b"a"), Data(2.0, b"b"), end)
    assert out == [Data(1.0, b"a"), Data(2.0, b"b"), late]


def test_a_reset_does_not_overtake_a_late_end() -> None:
    assert run_filter(SlowClose(delay_ms=500), Eof(2.0), Reset(2.1)) == [Eof(2.5), Reset(2.5)]


def test_the_delay_is_noted() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(SlowClose(), Data(0.0, b"a"), Eof(0.0), notes=notes)
    assert notes == [("delay_ms", 1000.0)]
