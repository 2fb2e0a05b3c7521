from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.stream.half_open import HalfOpen
from faultkit.testing import open_filter, run_filter

TABLE: list[tuple[int, list[Event], list[Event], list[Event]]] = [
    (0, [Data(0.0, b"abc"), Eof(1.0)], [], [Close(9.0)]),
    (0, [Eof(1.0)], [], [Eof(9.0)]),
    (0, [Reset(1.0)], [], [Reset(9.0)]),
    (2, [Data(0.0, b"abc"), Data(1.0, b"d")], [Data(0.0, b"ab")], [Close(9.0)]),
    (3, [Data(0.0, b"abc"), Eof(1.0)], [Data(0.0, b"abc")], [Eof(9.0)]),
    (4, [Data(0.0, b"abc"), Eof(1.0)], [Data(0.0, b"abc"), Eof(1.0)], []),
    (4, [Data(0.0, b"ab"), Data(1.0, b"cdef")], [Data(0.0, b"ab"), Data(1.0, b"cd")], [Close(9.0)]),
]


@pytest.mark.parametrize(("after_bytes", "events", "passed", "freed"), TABLE)
def test_after_so_many_bytes_nothing_passes_and_taking_it_off_leaves_no_hole(
    after_bytes: int, events: list[Event], passed: list[Event], freed: list[Event]
) -> None:
    filter = open_filter(HalfOpen(after_bytes=after_bytes))
    assert [given for event in events for given in filter.feed(event)] == passed
    assert list(filter.finish(9.0)) == freed


def test_discarded_bytes_are_noted() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(HalfOpen(after_bytes=2), Data(0.0, b"abc"), Data(1.0, b"defg"), notes=notes)
    assert notes == [("discarded_bytes", 1), ("discarded_bytes", 4)]
