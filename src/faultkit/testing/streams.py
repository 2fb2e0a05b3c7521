"""Drives a stream fault in virtual time, and checks the laws that every stream fault must keep.

`check_stream_fault(MyFault(...))` tests a new fault; a comparison of the result of `run_filter` with a list
of events tests its exact behaviour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import FOREVER, Stream, StreamFault, StreamFilter

SAMPLE: tuple[Event, ...] = (
    Data(0.0, b"hello"),
    Data(0.0, bytes(range(256)) * 20),
    Data(0.5, b"again"),
    Data(2.0, b"x" * 3000),
    Eof(2.5),
)
"""Small and large chunks, at the same time and later, and an end."""


def open_filter(
    fault: StreamFault,
    *,
    seed: object = 0,
    at: float = 0.0,
    notes: list[tuple[str, float]] | None = None,
    shared: dict[str, object] | None = None,
) -> StreamFilter:
    """Return the filter of a fault for a stream that begins at `at`. Its notes are added to `notes`."""
    collected = [] if notes is None else notes
    return fault.open(
        Stream(
            at=at,
            rng=Rng.keyed(seed),
            note=lambda effect, value: collected.append((effect, value)),
            shared={} if shared is None else shared,
        )
    )


def run_filter(
    fault: StreamFault,
    *events: Event,
    seed: object = 0,
    at: float = 0.0,
    until: float = FOREVER,
    notes: list[tuple[str, float]] | None = None,
) -> list[Event]:
    """Return the output for `events` when time runs until `until`. Back-pressure is ignored."""
    filter = open_filter(fault, seed=seed, at=at, notes=notes)
    return [event for _, event in _drive(filter, events, until)]


def payload_of(events: Iterable[Event]) -> bytes:
    """Return all bytes of the events, joined."""
    return b"".join(event.payload for event in events if isinstance(event, Data))


def check_stream_fault(fault: StreamFault, events: Sequence[Event] = SAMPLE, *, seed: object = 0) -> None:
    """Raise AssertionError that names the broken law, unless the fault keeps all laws."""
    _check_whole_run(fault, events, seed)
    _check_whole_run(fault, [single for event in events for single in _single_bytes(event)], seed)
    for taken in range(len(events) + 1):
        _check_finish(fault, events[:taken], seed)


def _check_whole_run(fault: StreamFault, events: Sequence[Event], seed: object) -> None:
    out = list(_drive(open_filter(fault, seed=seed), events, FOREVER))
    given = [event for _, event in out]
    for cause_at, event in out:
        assert event.at >= cause_at, f"never early: {event} came of something at {cause_at}"
        assert math.isfinite(event.at), f"time is finite: {event}"
    for before, after in pairwise(given):
        assert after.at >= before.at, f"`at` never decreases: {before} then {after}"
    _check_ends(given)
    assert run_filter(fault, *events, seed=seed) == given, "the same seed gives the same events"
    if not fault.withholds_end:
        assert not _has_end(events) or _has_end(given), "an end that goes in lets an end come out"
    if fault.loses_bytes:
        assert len(payload_of(given)) <= len(payload_of(events)), "no byte is invented"
    elif not fault.withholds_end:
        assert payload_of(given) == payload_of(events), "all bytes come out, in order"


def _check_finish(fault: StreamFault, events: Sequence[Event], seed: object) -> None:
    """Check that a fault removed after `events` releases all that it holds."""
    at = events[-1].at if events else 0.0
    filter = open_filter(fault, seed=seed)
    given = [event for _, event in _drive(filter, events, at)]
    freed = list(filter.finish(at))
    for event in freed:
        assert event.at >= at, f"never early: {event} came of finish at {at}"
    _check_ends([*given, *freed])
    assert not _has_end(events) or _has_end([*given, *freed]), "finish lets a withheld end come out"
    if not fault.loses_bytes:
        assert payload_of([*given, *freed]) == payload_of(events), "finish lets all held bytes come out"


def _check_ends(events: Sequence[Event]) -> None:
    for before, after in pairwise(events):
        assert not isinstance(before, (Close, Reset)), f"nothing comes after {before}, but {after} did"
        if isinstance(before, Eof):
            assert isinstance(after, (Close, Reset)), f"only Close or Reset comes after Eof, not {after}"


def _drive(filter: StreamFilter, events: Iterable[Event], until: float) -> Iterator[tuple[float, Event]]:
    """Yield each output event with the time of its cause."""
    for event in events:
        if event.at > until:
            break
        yield from _wake(filter, event.at)
        yield from ((event.at, given) for given in filter.feed(event))
        assert filter.read_size >= 1, f"read_size is at least 1, not {filter.read_size}"
        assert not math.isnan(filter.ready_at), "ready_at is an instant"
    yield from _wake(filter, until)


def _wake(filter: StreamFilter, until: float) -> Iterator[tuple[float, Event]]:
    while filter.wake_at <= until and filter.wake_at < FOREVER:
        at = filter.wake_at
        yield from ((at, given) for given in filter.wake(at))
        assert filter.wake_at > at, f"wake moves wake_at on from {at}"


def _has_end(events: Iterable[Event]) -> bool:
    return any(not isinstance(event, Data) for event in events)


def _single_bytes(event: Event) -> Iterable[Event]:
    if not isinstance(event, Data):
        return (event,)
    return [Data(event.at, bytes((byte,))) for byte in event.payload]
