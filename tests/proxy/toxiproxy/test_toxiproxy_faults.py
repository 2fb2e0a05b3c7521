"""The two faults that only this API has, at exact instants."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import FOREVER, Stream, StreamFault, StreamFilter
from faultkit.proxy.toxiproxy.toxics import JitteredLatency, ResetPeer
from faultkit.testing import check_stream_fault
from faultkit.testing.strategies import faults, streams


def opened(fault: ResetPeer | JitteredLatency, notes: list[tuple[str, float]] | None = None) -> StreamFilter:
    def note(effect: str, value: float) -> None:
        if notes is not None:
            notes.append((effect, value))

    return fault.open(Stream(10.0, Rng.keyed("test"), note, {}))


def fed(filter: StreamFilter, *events: Event) -> list[Event]:
    return [out for event in events for out in filter.feed(event)]


def test_jitter_beyond_the_latency_gives_many_no_delay_at_all() -> None:
    fault = JitteredLatency(distribution="uniform", per="operation", max_ms=40, low_ms=-20)
    rng = Rng.keyed("draws")
    draws = [fault.draw_ms(rng) for _ in range(6000)]
    assert min(draws) == 0
    assert 39 < max(draws) <= 40
    assert 1900 < draws.count(0) < 2100  # A third of [-20, 40] lies below 0.


def test_jittered_delays_count_from_the_arrival() -> None:
    filter = opened(JitteredLatency(distribution="uniform", per="operation", max_ms=40, low_ms=40))
    assert fed(filter, Data(11.0, b"x")) == [Data(11.04, b"x")]


def test_reset_peer_waits_for_the_first_bytes_and_lets_nothing_pass() -> None:
    notes: list[tuple[str, float]] = []
    filter = opened(ResetPeer(after_ms=500, on="data"), notes)
    assert filter.wake_at == FOREVER
    assert fed(filter, Data(12.0, b"abc")) == []
    assert (filter.wake_at, filter.ready_at) == (12.5, FOREVER)
    assert fed(filter, Data(12.25, b"de")) == []
    assert list(filter.wake(12.5)) == [Reset(12.5)]
    assert notes == [("discarded_bytes", 5), ("resets", 1)]
    assert fed(filter, Data(13.0, b"late"), Eof(14.0)) == []


def test_reset_peer_without_a_timeout_resets_in_place_of_the_first_bytes() -> None:
    assert fed(opened(ResetPeer(on="data")), Data(12.0, b"abc"), Data(12.0, b"de")) == [Reset(12.0)]


def test_the_end_of_the_stream_starts_the_timer_too() -> None:
    filter = opened(ResetPeer(after_ms=500, on="data"))
    assert fed(filter, Eof(12.0)) == []
    assert list(filter.wake(12.5)) == [Reset(12.5)]


def test_an_end_of_both_directions_passes_at_once() -> None:
    filter = opened(ResetPeer(after_ms=500, on="data"))
    assert fed(filter, Data(12.0, b"abc"), Close(12.1)) == [Close(12.1)]
    assert (filter.wake_at, list(filter.finish(13.0))) == (FOREVER, [])


def test_what_waits_for_the_reset_goes_on_when_the_toxic_is_taken_off() -> None:
    filter = opened(ResetPeer(after_ms=500, on="data"))
    fed(filter, Data(12.0, b"abc"), Eof(12.1))
    assert list(filter.finish(12.25)) == [Data(12.25, b"abc"), Eof(12.25)]


@pytest.mark.parametrize("cls", [JitteredLatency, ResetPeer])
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_both_keep_the_laws_of_filters(cls: type[StreamFault], data: st.DataObject) -> None:
    fault = data.draw(faults(cls))
    assert isinstance(fault, StreamFault)
    check_stream_fault(fault, data.draw(streams()), seed=data.draw(st.integers(0, 1000)))
