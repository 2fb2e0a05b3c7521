from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event
from faultkit.faults.events import Reset as ResetEvent
from faultkit.faults.stream.reset import Reset
from faultkit.testing import run_filter

TABLE: list[tuple[Reset, list[Event], list[Event]]] = [
    (Reset(), [], [ResetEvent(1.0)]),
    (Reset(), [Data(1.0, b"a")], [ResetEvent(1.0)]),
    (
        Reset(after_ms=500),
        [Data(1.0, b"a"), Data(1.49, b"b"), Data(1.5, b"c")],
        [Data(1.0, b"a"), Data(1.49, b"b"), ResetEvent(1.5)],
    ),
    (Reset(on="data"), [], []),
    (Reset(on="data"), [Data(3.0, b"a"), Data(4.0, b"b")], [ResetEvent(3.0)]),
    (
        Reset(on="data", after_ms=500),
        [Data(3.0, b"a"), Data(3.25, b"b"), Data(4.0, b"c")],
        [Data(3.0, b"a"), Data(3.25, b"b"), ResetEvent(3.5)],
    ),
    (Reset(after_ms=500), [Eof(1.1)], [Eof(1.1), ResetEvent(1.5)]),
    (Reset(on="data"), [Eof(1.1)], [Eof(1.1)]),
    (Reset(after_ms=500), [Close(1.1)], [Close(1.1)]),
]


@pytest.mark.parametrize(("fault", "events", "expected"), TABLE)
def test_bytes_pass_until_the_reset_and_nothing_after_it(
    fault: Reset, events: list[Event], expected: list[Event]
) -> None:
    assert run_filter(fault, *events, at=1.0) == expected


def test_the_reset_is_noted_once() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(Reset(), Data(1.0, b"a"), notes=notes)
    assert notes == [("resets", 1)]
