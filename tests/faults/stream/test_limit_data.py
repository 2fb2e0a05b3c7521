from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event
from faultkit.faults.stream.limit_data import LimitData
from faultkit.testing import run_filter

TABLE: list[tuple[int, list[Event], list[Event]]] = [
    (0, [], []),
    (0, [Data(1.0, b"a")], [Close(1.0)]),
    (0, [Eof(1.0)], [Eof(1.0)]),
    (3, [Data(1.0, b"abcde"), Data(2.0, b"f")], [Data(1.0, b"abc"), Close(1.0)]),
    (3, [Data(1.0, b"abc"), Eof(2.0)], [Data(1.0, b"abc"), Close(1.0)]),
    (3, [Data(1.0, b"ab"), Data(2.0, b"cd")], [Data(1.0, b"ab"), Data(2.0, b"c"), Close(2.0)]),
    (3, [Data(1.0, b"ab"), Eof(2.0)], [Data(1.0, b"ab"), Eof(2.0)]),
]


@pytest.mark.parametrize(("limit", "events", "expected"), TABLE)
def test_exactly_so_many_bytes_pass_and_then_it_closes(
    limit: int, events: list[Event], expected: list[Event]
) -> None:
    assert run_filter(LimitData(bytes=limit), *events) == expected


def test_the_cut_is_noted() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(LimitData(bytes=3), Data(0.0, b"abcde"), notes=notes)
    assert notes == [("discarded_bytes", 2), ("closes", 1)]
