from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof, Event
from faultkit.faults.stream.timeout import Timeout
from faultkit.testing import open_filter, run_filter


def test_bytes_vanish_and_0_never_closes() -> None:
    assert run_filter(Timeout(), Data(0.0, b"a"), Data(1e6, b"b")) == []


def test_it_closes_so_long_after_its_start_however_much_the_peer_talks() -> None:
    chatter = [Data(5.0 + tenth / 10, b"x") for tenth in range(100)]
    assert run_filter(Timeout(timeout_ms=2000), *chatter, at=5.0) == [Close(7.0)]


def test_it_closes_a_silent_connection_too() -> None:
    assert run_filter(Timeout(timeout_ms=2000), at=5.0) == [Close(7.0)]


def test_nobody_is_told_that_the_peer_has_gone_before_the_time_is_out() -> None:
    assert run_filter(Timeout(), Data(0.0, b"a"), Eof(1.0)) == []
    assert run_filter(Timeout(timeout_ms=3000), Data(0.0, b"a"), Eof(1.0)) == [Close(3.0)]


@pytest.mark.parametrize(("fed", "freed"), [((), []), ((Data(0.0, b"a"),), [Close(3.0)])])
def test_taking_it_off_closes_only_if_bytes_were_lost(fed: tuple[Event, ...], freed: list[Event]) -> None:
    filter = open_filter(Timeout(timeout_ms=9000))
    for event in fed:
        assert list(filter.feed(event)) == []
    assert list(filter.finish(3.0)) == freed


def test_taking_it_off_after_it_closed_gives_nothing() -> None:
    filter = open_filter(Timeout(timeout_ms=1000))
    list(filter.feed(Data(0.0, b"a")))
    assert list(filter.wake(1.0)) == [Close(1.0)]
    assert list(filter.finish(3.0)) == []
