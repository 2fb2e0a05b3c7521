"""Response times of one queue depend on each other: intervals must account for that."""

from __future__ import annotations

from array import array
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.impact import impact
from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Samples, batches, grained, slice_width, window_count
from faultkit.load.summary import (
    BATCHES,
    PERCENTS,
    Part,
    Slice,
    Starts,
    Summary,
    effective_for_errors,
)
from faultkit.load.tally import Tally
from tests.load.rows import row, summarize


def test_errors_are_all_failures_and_are_counted_by_kind() -> None:
    samples = Samples.of(
        [row(), row(failure=Failure.TIMEOUT), row(failure=Failure.STATUS), row(failure=Failure.TIMEOUT)]
    )
    summary = summarize(samples, None, total_s=2.0)
    assert (summary.requests, summary.errors) == (4, 3)
    assert summary.failures == {"timeout": 2, "status_5xx": 1}
    assert summary.statuses == {200: 1, 503: 1}
    assert summary.received_bytes == 400


def test_response_times_count_from_the_intended_start_and_service_times_from_the_real_one() -> None:
    summary = summarize(Samples.of([row(1.0, 0.25, late_s=0.5), row(2.0, 0.25)]), None, total_s=3.0)
    assert (summary.response.min_ms, summary.response.max_ms, summary.response.mean_ms) == (250, 750, 500)
    assert (summary.service.min_ms, summary.service.max_ms, summary.service.stddev_ms) == (250, 250, 0)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=100))
def test_a_distribution_is_that_of_numpy(times: list[float]) -> None:
    response = summarize(Samples.of([row(0.0, each) for each in times]), None, total_s=1.0).response
    ms = [each * 1000 for each in times]
    assert response.count == len(times)
    assert response.mean_ms == pytest.approx(float(np.mean(ms)), abs=1e-6)
    assert response.stddev_ms == pytest.approx(float(np.std(ms, ddof=1)), abs=1e-6)
    expected = np.percentile(ms, PERCENTS, method="weibull").tolist()
    assert [each.ms for each in response.percentiles] == pytest.approx(expected, rel=1e-9, abs=1e-4)
    assert tuple(each.percent for each in response.percentiles) == PERCENTS


def test_starts_tell_how_late_they_were_and_an_early_one_is_not() -> None:
    late = [row(float(second), late_s=second / 1000) for second in range(-1, 30)]
    starts = summarize(Samples.of(late), None, dropped=4, total_s=30.0).starts
    assert (starts.dropped, starts.late) == (4, 19)
    assert (starts.p50_ms, starts.p99_ms, starts.max_ms) == pytest.approx((14, 29, 29))


def test_a_part_is_of_the_requests_that_had_it() -> None:
    samples = Samples.of([row(connect_s=0.001), row(connect_s=nan), row(connect_s=0.003)])
    connect, first_byte = summarize(samples, None, total_s=1.0).parts
    assert connect == Part("connect", 2, mean_ms=2.0, p50_ms=2.0, p95_ms=3.0, max_ms=3.0)
    assert (first_byte.name, first_byte.count) == ("first_byte", 3)


def test_rates_are_over_the_time_of_sending() -> None:
    samples = Samples.of([row(number / 3) for number in range(30)])
    summary = summarize(samples, Load(10.0, 3.0), total_s=14.0)
    assert (summary.target_rps, summary.achieved_rps, summary.total_s) == (3.0, 3.0, 14.0)


def test_a_ramp_lowers_the_target_to_its_mean() -> None:
    assert summarize(Samples(), Load(10.0, 8.0, ramp_s=5.0), total_s=10.0).target_rps == 6.0


def test_a_run_cut_short_is_measured_over_the_time_that_it_had() -> None:
    summary = summarize(Samples.of([row(number / 3) for number in range(6)]), Load(60.0, 3.0), total_s=2.0)
    assert summary.achieved_rps == 3.0
    assert sum(each.width_s for each in summary.timeline) == pytest.approx(2.0)


def test_the_timeline_has_a_slice_a_second_with_gaps_in_it() -> None:
    samples = Samples.of([row(0.0, 0.1), row(0.5, 0.3, Failure.RESET), row(10.2, 0.2)])
    timeline = summarize(samples, Load(10.5, 3.0), total_s=11.0).timeline
    assert len(timeline) == 11
    first = timeline[0]
    assert (first.start_s, first.width_s, first.requests, first.errors) == (0.0, 1.0, 2, 1)
    assert (first.p50_ms, first.p95_ms, first.max_ms) == pytest.approx((200, 300, 300))
    assert timeline[1] == Slice(1.0, 1.0, 0, 0, 0.0, 0.0, 0.0)
    assert (timeline[10].start_s, timeline[10].width_s, timeline[10].requests) == (10.0, 0.5, 1)


@pytest.mark.parametrize(
    ("run_s", "width_s"),
    [
        (0.05, 0.1),
        (1, 0.1),
        (2.5, 0.2),
        (5, 0.5),
        (9.9, 0.5),
        (10, 1),
        (120, 1),
        (121, 2),
        (3600, 30),
        (86400, 1800),
    ],
)
def test_the_width_of_a_slice_suits_the_run(run_s: float, width_s: float) -> None:
    assert slice_width(run_s) == width_s


@given(st.floats(1, 1e7))
def test_a_timeline_has_10_to_120_slices(run_s: float) -> None:
    assert run_s / slice_width(run_s) + 1e-9 >= 10
    assert run_s / slice_width(run_s) <= 120 + 1e-9


@pytest.mark.parametrize(
    ("run_s", "window_s", "count"),
    [(10, 5, 2), (12, 5, 2), (12.5, 5, 3), (3, 5, 1), (0.3, 0.1, 3), (1, 60, 1)],
)
def test_a_last_window_shorter_than_half_joins_the_one_before(
    run_s: float, window_s: float, count: int
) -> None:
    assert window_count(run_s, window_s) == count


def test_a_grain_widens_to_its_next_multiple() -> None:
    assert [grained(5.0, 0.0), grained(0.5, 2.0), grained(4.0, 2.0), grained(5.0, 2.0)] == [
        5.0,
        2.0,
        4.0,
        6.0,
    ]


def test_no_requests_give_a_summary_of_zeros() -> None:
    summary = summarize(Samples(), Load(10.0, 3.0), dropped=30, total_s=10.0)
    assert (summary.requests, summary.errors, summary.achieved_rps) == (0, 0, 0.0)
    assert (summary.failures, summary.statuses, summary.parts, summary.timeline) == ({}, {}, (), ())
    assert (summary.response.count, summary.response.mean_ms, summary.response.curve) == (0, 0.0, ())
    assert [each.ms for each in summary.response.percentiles] == [0.0] * len(PERCENTS)
    assert summary.starts == Starts(30, 0, 0.0, 0.0, 0.0)


RATE_RPS, RUN_S = 100, 20
PAIRS = 40


def queue(rng: np.random.Generator, utilisation: float) -> list[float]:
    """Response times of one server with a queue before it, at even arrivals (Lindley's recursion)."""
    service = rng.exponential(utilisation / RATE_RPS, RATE_RPS * RUN_S)
    drift = np.concatenate(([0.0], np.cumsum(service - 1 / RATE_RPS)[:-1]))
    waits = drift - np.minimum.accumulate(drift)
    return [float(each) for each in waits + service]


def summary_of(times_s: list[float], *, spread: bool = True, limit: int = 1_000_000) -> Summary:
    """Not `spread`: all at one instant, so that they are taken as independent of each other."""
    count = len(times_s)
    starts = array("d", [number / RATE_RPS if spread else 0.0 for number in range(count)])
    nothing = array("d", [nan]) * count
    tally = Tally(limit=limit)
    tally.add(
        Samples(
            starts,
            starts,
            array("d", times_s),
            *(nothing,) * 4,
            array("H", [200]) * count,
            array("B", [0]) * count,
            array("Q", [100]) * count,
        )
    )
    return tally.summary(None, total_s=RUN_S)


def false_claims(utilisation: float, *, spread: bool, limit: int = 1_000_000) -> dict[str, float]:
    """Return how often a difference is claimed between runs that differ only by chance."""
    rng = np.random.default_rng(11)
    claims = dict.fromkeys(("mean", "p50", "p95", "p99"), 0)
    for _ in range(PAIRS):
        one, two = (summary_of(queue(rng, utilisation), spread=spread, limit=limit) for _ in range(2))
        for each in impact(one, two):
            if each.name in claims:
                claims[each.name] += each.shown
    return {name: count / PAIRS for name, count in claims.items()}


@pytest.mark.parametrize("limit", [0, pytest.param(1_000_000, marks=pytest.mark.thorough)])
def test_runs_of_the_same_queue_are_seldom_said_to_differ(limit: int) -> None:
    # 5 % are allowed; of 40 pairs, more than 15 % come in one of 300 such experiments.
    for name, share in false_claims(0.7, spread=True, limit=limit).items():
        assert share <= 0.15, name


def test_as_if_they_were_independent_they_would_often_be_said_to_differ() -> None:
    claims = false_claims(0.7, spread=False)
    for name in ("mean", "p95", "p99"):
        assert claims[name] > 0.3, name


def test_a_real_difference_is_still_shown() -> None:
    rng = np.random.default_rng(12)
    slow = [each + 0.1 for each in queue(rng, 0.5)]
    shown = {each.name: each.shown for each in impact(summary_of(queue(rng, 0.5)), summary_of(slow))}
    assert shown == {"mean": True, "p50": True, "p95": True, "p99": True, "errors": False}


def test_independent_requests_keep_nearly_all_their_worth() -> None:
    rng = np.random.default_rng(13)
    summary = summary_of([float(each) for each in rng.exponential(0.01, 2000)])
    # (1.96 / 2.09)² of it, and chance: the variance of twenty means is itself not known well.
    for effective in (summary.response.effective, *(each.effective for each in summary.response.percentiles)):
        assert 800 < effective < 1755


def test_times_that_come_in_runs_are_worth_little_more_than_there_are_runs() -> None:
    slow_in_turns = [0.1 if number // 100 % 2 else 0.2 for number in range(2000)]
    assert summary_of(slow_in_turns).response.effective == pytest.approx(
        19 * (1.959964 / 2.093024) ** 2, rel=1e-3
    )


def test_errors_in_one_burst_are_worth_less_than_the_same_number_all_over() -> None:
    def effective(failed: set[int]) -> float:
        rows = [
            row(number / 100, failure=Failure.RESET if number in failed else Failure.NONE)
            for number in range(2000)
        ]
        return effective_for_errors(batches(Samples.of(rows), BATCHES))

    assert effective(set(range(0, 2000, 20))) == pytest.approx(2000 * (1.959964 / 2.093024) ** 2)
    assert effective(set(range(100))) < 25


def test_batches_have_as_many_requests_each_wherever_they_are() -> None:
    rows = [row(number**2 / 1000) for number in range(100)]
    assert [len(each.response) for each in batches(Samples.of(rows), 20)] == [5] * 20
    assert [len(each.response) for each in batches(Samples.of(rows[:3]), 20)] == [1, 1, 1]
    assert batches(Samples(), 20) == []


def test_what_starts_together_stays_together() -> None:
    rows = [row(1.0)] * 50 + [row(2.0)] * 50
    assert [(each.start_s, len(each.response)) for each in batches(Samples.of(rows), 20)] == [
        (1.0, 50),
        (2.0, 50),
    ]
