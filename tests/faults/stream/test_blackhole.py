from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event, Reset, moved
from faultkit.faults.fault import FOREVER
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.testing import open_filter, run_filter


def test_stall_takes_the_first_bytes_then_wants_no_more_and_gives_nothing() -> None:
    notes: list[tuple[str, float]] = []
    filter = open_filter(Blackhole(), notes=notes)
    assert filter.ready_at == 0.0
    assert list(filter.feed(Data(0.0, b"abc"))) == []
    assert filter.ready_at == FOREVER
    assert notes == [("stalled_bytes", 3)]
    assert run_filter(Blackhole(), Data(0.0, b"a"), Eof(1.0)) == []


def test_taking_a_stall_off_lets_all_that_was_kept_come_out_in_order() -> None:
    filter = open_filter(Blackhole())
    for event in (Data(0.0, b"a"), Data(1.0, b"b"), Eof(2.0)):
        assert list(filter.feed(event)) == []
    assert list(filter.finish(9.0)) == [Data(9.0, b"a"), Data(9.0, b"b"), Eof(9.0)]


def test_discard_swallows_bytes_and_goes_on_reading() -> None:
    notes: list[tuple[str, float]] = []
    assert run_filter(Blackhole(mode="discard"), Data(0.0, b"abc"), notes=notes) == []
    assert notes == [("discarded_bytes", 3)]
    assert open_filter(Blackhole(mode="discard")).ready_at == 0.0


@pytest.mark.parametrize("end", [Eof(1.0), Close(1.0), Reset(1.0)])
def test_discard_withholds_an_end_until_it_is_taken_off(end: Event) -> None:
    assert run_filter(Blackhole(mode="discard"), Data(0.0, b"abc"), end) == []
    filter = open_filter(Blackhole(mode="discard"))
    assert list(filter.feed(end)) == []
    assert list(filter.finish(5.0)) == [moved(end, 5.0)]


@pytest.mark.parametrize(("fed", "freed"), [((), []), ((Data(0.0, b"abc"),), [Close(5.0)])])
def test_taking_a_discard_off_closes_only_if_bytes_were_lost(
    fed: tuple[Event, ...], freed: list[Event]
) -> None:
    filter = open_filter(Blackhole(mode="discard"))
    for event in fed:
        assert list(filter.feed(event)) == []
    assert list(filter.finish(5.0)) == freed


@pytest.mark.parametrize("mode", ["stall", "discard"])
def test_the_connection_closes_so_long_after_the_start_whatever_arrives(mode: str) -> None:
    fault = Blackhole(mode=mode, close_after_ms=1500)  # type: ignore[arg-type]
    events = [Data(10.0 + second, b"x") for second in range(4)]
    assert run_filter(fault, *events, at=10.0) == [Close(11.5)]


def test_a_stall_that_has_closed_keeps_nothing() -> None:
    filter = open_filter(Blackhole(close_after_ms=1000))
    list(filter.feed(Data(0.0, b"a")))
    assert list(filter.wake(1.0)) == [Close(1.0)]
    assert list(filter.feed(Data(2.0, b"b"))) == []
    assert list(filter.finish(3.0)) == []


def test_it_closes_in_its_time_although_the_peer_has_long_gone() -> None:
    assert run_filter(Blackhole(mode="discard", close_after_ms=5000), Reset(1.0)) == [Close(5.0)]


@pytest.mark.parametrize(
    ("fault", "loses", "withholds"),
    [
        (Blackhole(), False, True),
        (Blackhole(close_after_ms=1), True, True),
        (Blackhole(mode="discard"), True, True),
    ],
)
def test_what_it_declares_depends_on_its_settings(fault: Blackhole, loses: bool, withholds: bool) -> None:
    assert (fault.loses_bytes, fault.withholds_end) == (loses, withholds)
