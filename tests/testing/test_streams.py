from __future__ import annotations

import pytest

from faultkit.faults.events import Close, Data, Eof
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.timeout import Timeout
from faultkit.testing import payload_of, run_filter


def test_a_filter_is_woken_before_the_events_that_follow() -> None:
    assert run_filter(Timeout(timeout_ms=1000), Eof(1.0)) == [Close(1.0)]


@pytest.mark.parametrize(("until", "ends"), [(0.5, []), (1.0, [Close(1.0)])])
def test_time_goes_on_until_told(until: float, ends: list[Close]) -> None:
    assert run_filter(Timeout(timeout_ms=1000), until=until) == ends


def test_events_after_the_end_of_the_run_are_not_fed() -> None:
    assert run_filter(Latency(mean_ms=0), Data(0.0, b"a"), Data(2.0, b"b"), until=1.0) == [Data(0.0, b"a")]


def test_the_seed_decides() -> None:
    fault = Latency(stddev_ms=20)
    first, again, other = (run_filter(fault, Data(0.0, b"a"), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_payload_is_all_bytes_joined() -> None:
    assert payload_of([Data(0.0, b"ab"), Eof(1.0), Data(2.0, b"c")]) == b"abc"
