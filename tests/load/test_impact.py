from __future__ import annotations

import pytest
from scipy import stats

from faultkit.load.impact import Difference, impact
from faultkit.load.response import Failure
from faultkit.load.samples import Samples
from faultkit.load.summary import Summary
from tests.load.rows import row, summarize


def summary_of(times_ms: list[float], errors: int = 0) -> Summary:
    rows = [
        row(took_s=ms / 1000, failure=Failure.RESET if number < errors else Failure.NONE)
        for number, ms in enumerate(times_ms)
    ]
    return summarize(Samples.of(rows), None, total_s=1.0)


def named(differences: tuple[Difference, ...]) -> dict[str, Difference]:
    return {each.name: each for each in differences}


BASELINE = summary_of([100 + number % 50 for number in range(1000)])


def test_each_figure_is_compared_in_this_order() -> None:
    differences = impact(BASELINE, BASELINE)
    assert [(each.name, each.unit) for each in differences] == [
        ("mean", "ms"),
        ("p50", "ms"),
        ("p95", "ms"),
        ("p99", "ms"),
        ("errors", "%"),
    ]


def test_a_run_does_not_differ_from_itself() -> None:
    for each in impact(BASELINE, BASELINE):
        assert each.difference == 0.0
        assert each.low <= 0.0 <= each.high
        assert not each.shown


def test_a_delay_shows_in_every_time_and_not_in_the_errors() -> None:
    slowed = summary_of([300 + number % 50 for number in range(1000)])
    differences = named(impact(BASELINE, slowed))
    for name in ("mean", "p50", "p95", "p99"):
        each = differences[name]
        assert each.difference == pytest.approx(200)
        assert each.low <= 200 <= each.high
        assert each.shown
    assert not differences["errors"].shown


def test_the_mean_has_about_the_interval_of_welch() -> None:
    before = [50.0 + number % 17 for number in range(400)]
    after = [80.0 + number % 31 for number in range(300)]
    welch = stats.ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    each = named(impact(summary_of(before), summary_of(after)))["mean"]
    # All at one instant: nothing shows that they depend on each other.
    assert (each.low, each.high) == pytest.approx((welch.low, welch.high), rel=1e-3)


def test_errors_are_in_percentage_points() -> None:
    each = named(impact(summary_of([10.0] * 80, errors=32), summary_of([10.0] * 70, errors=14)))["errors"]
    assert (each.baseline, each.fault, each.difference) == (40.0, 20.0, -20.0)
    # Newcombe's example, turned round and in percent.
    assert (each.low, each.high) == pytest.approx((-33.39, -5.24), abs=0.005)
    assert each.shown


def test_a_percentile_that_so_few_requests_do_not_bound_shows_nothing() -> None:
    few, slow = summary_of([10.0] * 100), summary_of([500.0] * 100)
    differences = named(impact(few, slow))
    assert (differences["p95"].enough, differences["p95"].shown) == (True, True)
    assert (differences["p99"].enough, differences["p99"].shown) == (False, False)
    assert differences["p99"].difference == pytest.approx(490)


def test_one_request_each_shows_nothing_of_times() -> None:
    differences = impact(summary_of([10.0]), summary_of([500.0]))
    assert [each.shown for each in differences] == [False] * 5
    assert [each.enough for each in differences] == [False] * 4 + [True]


def test_without_requests_there_is_nothing_to_compare() -> None:
    assert impact(summary_of([]), BASELINE) == ()
    assert impact(BASELINE, summary_of([])) == ()
