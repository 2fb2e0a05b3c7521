from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.load.doubts import doubts, doubts_about_baseline
from faultkit.load.load import Load
from faultkit.load.samples import Samples
from faultkit.load.summary import Summary
from faultkit.proxy.data_plane import Lateness
from tests.load.rows import row, summarize

LOAD = Load(10.0, 100.0)


def summary_of(requests: int = 1000, dropped: int = 0, late: int = 0) -> Summary:
    rows = [row(number / 100, late_s=0.02 if number < late else 0.0) for number in range(requests)]
    return summarize(Samples.of(rows), LOAD, dropped=dropped, total_s=10.0)


def released(*late: tuple[int, float]) -> Lateness:
    """Return a histogram of releases, from pairs of count and lateness in ms."""
    lateness = Lateness()
    for count, late_ms in late:
        for _ in range(count):
            lateness.record(late_ms / 1000)
    return lateness


def test_a_run_as_planned_leaves_no_doubt() -> None:
    found = doubts(summary_of(), LOAD, lateness=released((100, 1.9)), least_delay_ms=10.0)
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


@pytest.mark.parametrize(
    ("starved", "cause"),
    [
        (20, "this machine had no descriptor or port left (see `ulimit -n`)"),
        (
            5,
            "too many were under way, and this machine had no descriptor or port left for 5 "
            "(see `ulimit -n`)",
        ),
    ],
)
def test_a_shortage_of_this_machine_is_named_as_the_cause(starved: int, cause: str) -> None:
    summary = summary_of(980, dropped=20)
    found = doubts(replace(summary, starts=replace(summary.starts, starved=starved)), LOAD)
    assert found.reasons == (f"20 of 1000 arrivals (2.0%) were dropped: {cause}.",)


def test_a_proxy_without_descriptors_makes_a_run_inconclusive() -> None:
    assert doubts(summary_of(), LOAD, proxy_shortages=3).reasons == (
        "The proxy lacks 3 connections: this machine had no descriptor left (see `ulimit -n`).",
    )


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
    ("late_ms", "least_delay_ms", "limit_ms"), [(2.5, None, 2), (2.5, 40.0, 2), (6.0, 100.0, 5)]
)
def test_a_proxy_whose_releases_are_often_too_late_for_their_delays_is_inconclusive(
    late_ms: float, least_delay_ms: float | None, limit_ms: int
) -> None:
    found = doubts(
        summary_of(), LOAD, lateness=released((94, 0.1), (6, late_ms)), least_delay_ms=least_delay_ms
    )
    text = (
        f"6 of 100 releases of the proxy (6.0%) were more than {limit_ms} ms late, "
        f"the 99th percentile {late_ms} ms."
    )
    assert (found.reasons, found.warnings) == ((text,), ())
    few = doubts(
        summary_of(), LOAD, lateness=released((95, 0.1), (5, late_ms)), least_delay_ms=least_delay_ms
    )
    assert (few.conclusive, len(few.warnings)) == (True, 1)
    assert doubts(summary_of(), LOAD, lateness=released((9, late_ms)), least_delay_ms=1000.0).warnings == ()


def test_one_hiccup_is_a_warning_however_few_the_releases() -> None:
    found = doubts(summary_of(), LOAD, lateness=released((39, 0.1), (1, 8.0)))
    assert found.reasons == ()
    assert found.warnings == (
        "1 of 40 releases of the proxy (2.5%) were more than 2 ms late, the 99th percentile 8.0 ms.",
    )
    assert doubts(summary_of(), LOAD, lateness=released((399, 0.1), (1, 8.0))).warnings == ()


def test_a_late_start_counts_in_a_closed_load_as_well() -> None:
    assert not doubts(summary_of(late=51), Load(10.0, 100.0, model="closed")).conclusive


def test_doubts_about_the_baseline_are_warnings() -> None:
    found = doubts_about_baseline(summary_of(900, dropped=100), LOAD)
    assert (found.conclusive, found.warnings) == (
        True,
        (
            "Baseline: 100 of 1000 arrivals (10.0%) were dropped: too many were under way.",
            "Baseline: Only 900 of 1000 planned requests (90.0%) were sent.",
        ),
    )
    assert doubts_about_baseline(summary_of(), LOAD).warnings == ()
