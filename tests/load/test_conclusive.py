from __future__ import annotations

import pytest

from faultkit.load.conclusive import doubts
from faultkit.load.load import Load
from faultkit.load.samples import Samples
from faultkit.load.summarize import summarize
from faultkit.load.summary import Summary
from tests.load.rows import row

LOAD = Load(10.0, 100.0)


def summary_of(requests: int = 1000, dropped: int = 0, late: int = 0) -> Summary:
    rows = [row(number / 100, late_s=0.02 if number < late else 0.0) for number in range(requests)]
    return summarize(Samples.of(rows), LOAD, dropped=dropped, total_s=10.0)


def test_a_run_as_planned_leaves_no_doubt() -> None:
    found = doubts(summary_of(), LOAD, proxy_p99_ms=2.0, least_delay_ms=10.0)
    assert (found.reasons, found.warnings, found.conclusive) == ((), (), True)


@pytest.mark.parametrize(("dropped", "conclusive"), [(1, True), (10, True), (11, False)])
def test_more_than_one_percent_dropped_is_inconclusive_and_less_a_warning(
    dropped: int, conclusive: bool
) -> None:
    found = doubts(summary_of(1000 - dropped, dropped=dropped), LOAD)
    text = f"{dropped} of 1000 arrivals ({dropped / 10:.1f}%) were dropped: too many were under way."
    assert found.reasons == (() if conclusive else (text,))
    assert found.warnings == ((text,) if conclusive else ())
    assert found.conclusive is conclusive


@pytest.mark.parametrize(("late", "conclusive"), [(1, True), (50, True), (51, False)])
def test_more_than_five_percent_late_is_inconclusive_and_less_a_warning(late: int, conclusive: bool) -> None:
    found = doubts(summary_of(late=late), LOAD)
    text = f"{late} of 1000 requests ({late / 10:.1f}%) started more than 10 ms late."
    assert found.reasons == (() if conclusive else (text,))
    assert found.warnings == ((text,) if conclusive else ())


def test_fewer_than_95_percent_of_the_schedule_sent_is_inconclusive() -> None:
    assert doubts(summary_of(950), LOAD).conclusive
    assert doubts(summary_of(949), LOAD).reasons == ("Only 949 of 1000 planned requests (94.9%) were sent.",)


def test_nothing_sent_at_all_is_inconclusive() -> None:
    found = doubts(summary_of(0, dropped=1000), LOAD)
    assert found.reasons == (
        "1000 of 1000 arrivals (100.0%) were dropped: too many were under way.",
        "Only 0 of 1000 planned requests (0.0%) were sent.",
    )


@pytest.mark.parametrize("load", [None, Load(10.0, 100.0, model="closed"), Load(10.0, None, model="closed")])
def test_without_a_schedule_there_is_none_to_fall_short_of(load: Load | None) -> None:
    assert doubts(summary_of(1), load).conclusive


@pytest.mark.parametrize(
    ("p99_ms", "least_delay_ms", "most_ms"),
    [(2.1, None, 2.0), (2.1, 40.0, 2.0), (5.1, 100.0, 5.0)],
)
def test_a_proxy_that_is_too_late_for_its_delays_is_inconclusive(
    p99_ms: float, least_delay_ms: float | None, most_ms: float
) -> None:
    late = doubts(summary_of(), LOAD, proxy_p99_ms=p99_ms, least_delay_ms=least_delay_ms)
    assert late.reasons == (
        f"The proxy was {p99_ms} ms late at its 99th percentile; {most_ms} ms is acceptable.",
    )
    assert doubts(summary_of(), LOAD, proxy_p99_ms=most_ms, least_delay_ms=least_delay_ms).conclusive
