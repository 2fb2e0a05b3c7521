"""Every fault in the table keeps the laws, with any settings and any stream."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.events import Close, Data, Eof, Event
from faultkit.faults.fault import (
    ConnectionFault,
    Fault,
    NameFault,
    Stream,
    StreamFault,
    StreamFilter,
    TlsFault,
)
from faultkit.faults.http_fault import HttpFault, RequestContext
from faultkit.testing import check_stream_fault
from faultkit.testing.strategies import faults, streams

STREAM_FAULTS = [fault for fault in NETWORK_FAULTS.values() if issubclass(fault, StreamFault)]
OTHER_FAULTS = [fault for fault in NETWORK_FAULTS.values() if not issubclass(fault, StreamFault)]


def kind_of(fault: type[Fault]) -> str:
    return fault.kind


@pytest.mark.parametrize("cls", STREAM_FAULTS, ids=kind_of)
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_every_stream_fault_keeps_the_laws(cls: type[StreamFault], data: st.DataObject) -> None:
    fault = data.draw(faults(cls))
    assert isinstance(fault, StreamFault)
    check_stream_fault(fault, data.draw(streams()), seed=data.draw(st.integers(0, 1000)))


@pytest.mark.parametrize("cls", STREAM_FAULTS, ids=kind_of)
def test_every_stream_fault_keeps_the_laws_as_it_is_out_of_the_box(cls: type[StreamFault]) -> None:
    check_stream_fault(cls())


@pytest.mark.parametrize("cls", OTHER_FAULTS, ids=kind_of)
@given(data=st.data())
def test_every_other_fault_decides_the_same_for_the_same_seed(cls: type[Fault], data: st.DataObject) -> None:
    fault = data.draw(faults(cls))
    first, second = (_decide(fault, Rng.keyed(7)) for _ in range(2))
    assert first == second


def _decide(fault: Fault, rng: Rng) -> object:
    if isinstance(fault, ConnectionFault):
        return fault.admit(rng)
    if isinstance(fault, NameFault):
        return fault.resolve(rng)
    if isinstance(fault, TlsFault):
        return fault.shake(rng)
    assert isinstance(fault, HttpFault)
    return fault.judge(RequestContext(0.0, rng))


class _Early(StreamFilter):
    def feed(self, event: Event) -> Iterable[Event]:
        return (Data(event.at - 1, b"x"),)


class _Backwards(StreamFilter):
    late_s = 2.0

    def feed(self, event: Event) -> Iterable[Event]:
        self.late_s -= 1.0
        return (Data(event.at + max(0.0, self.late_s), b"x"),)


class _Loser(StreamFilter):
    def feed(self, event: Event) -> Iterable[Event]:
        return () if isinstance(event, Data) else (event,)


class _Endless(StreamFilter):
    def feed(self, event: Event) -> Iterable[Event]:
        return (event,) if isinstance(event, Data) else ()


class _Undead(StreamFilter):
    def feed(self, event: Event) -> Iterable[Event]:
        return (Close(event.at), event)


class _TwoEnds(StreamFilter):
    def feed(self, event: Event) -> Iterable[Event]:
        return (event, event) if isinstance(event, Eof) else (event,)


class _Hoarder(StreamFilter):
    """A filter that returns its bytes when it wakes, but not when it is removed."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Event] = []

    def feed(self, event: Event) -> Iterable[Event]:
        self.held.append(event)
        self.wake_at = 10.0
        return ()

    def wake(self, at: float) -> Iterable[Event]:
        self.wake_at = float("inf")
        return [Data(at, event.payload) if isinstance(event, Data) else Eof(at) for event in self.held]


class _Insomniac(StreamFilter):
    def __init__(self) -> None:
        super().__init__()
        self.wake_at = 1.0

    def wake(self, at: float) -> Iterable[Event]:
        return ()


class _Moody(StreamFilter):
    mood = 0

    def feed(self, event: Event) -> Iterable[Event]:
        type(self).mood += 1
        moved_at = event.at + type(self).mood
        return (Data(moved_at, event.payload) if isinstance(event, Data) else Eof(moved_at),)


@pytest.mark.parametrize(
    ("filter", "law"),
    [
        (_Early, "never early"),
        (_Backwards, "`at` never decreases"),
        (_Loser, "all bytes come out"),
        (_Endless, "an end that goes in"),
        (_Undead, "nothing comes after"),
        (_TwoEnds, "only Close or Reset comes after Eof"),
        (_Hoarder, "finish lets"),
        (_Insomniac, "wake moves wake_at"),
        (_Moody, "the same seed"),
    ],
)
def test_the_checks_find_a_filter_that_breaks_a_law(filter: type[StreamFilter], law: str) -> None:
    class Broken(StreamFault):
        kind = "broken"
        summary = "Breaks a law."

        def open(self, stream: Stream) -> StreamFilter:
            return filter()

    with pytest.raises(AssertionError, match=law):
        check_stream_fault(Broken())
