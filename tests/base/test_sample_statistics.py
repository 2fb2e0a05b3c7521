"""Percentiles and confidence intervals, against numpy and against exact sums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from faultkit.base.histogram import times_of
from faultkit.base.sample_statistics import (
    Interval,
    binomial_cdf,
    binomial_quantile,
    bounds_percentile,
    curve,
    difference_interval,
    effective_count,
    incomplete_beta,
    mean_interval,
    percentile,
    percentile_count,
    percentile_interval,
    percentile_ranks,
    percentiles,
    proportion_interval,
    t_quantile,
)

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=200).map(sorted)


@pytest.mark.parametrize(
    ("percent", "value", "count"),
    [(25, 8.0, 8), (50, 16.0, 16), (75, 24.0, 24), (95, 30.4, 31), (99, 31.0, 31), (1, 1.0, 1)],
)
def test_of_31_requests_as_in_the_sample_report(percent: float, value: float, count: int) -> None:
    ordered = [float(number) for number in range(1, 32)]
    assert percentile(ordered, percent) == pytest.approx(value)
    assert percentile_count(31, percent) == count


@given(VALUES, st.floats(0.01, 99.99))
def test_it_is_what_numpy_calls_weibull(ordered: list[float], percent: float) -> None:
    expected = float(np.percentile(ordered, percent, method="weibull"))
    # Both round (n + 1)·p, hence the rank may differ in its ninth decimal.
    assert percentile(ordered, percent) == pytest.approx(expected, rel=1e-9, abs=1e-8 * (ordered[-1] + 1))


@given(VALUES, st.floats(0, 100), st.floats(0, 100))
def test_it_ascends_and_stays_within_the_values(ordered: list[float], one: float, two: float) -> None:
    low, high = percentiles(ordered, sorted((one, two)))
    assert ordered[0] <= low <= high <= ordered[-1]


@given(st.integers(1, 10**7), st.sampled_from((25, 50, 75, 90, 95, 99, 99.9)))
def test_a_whole_rank_is_not_missed_by_a_rounding_error(count: int, percent: float) -> None:
    tenths = round(percent * 10)
    exact = -(-(count + 1) * tenths // 1000)
    assert percentile_count(count, percent) == max(1, min(exact, count))


@pytest.mark.parametrize("count", [1, 2, 31, 1000, 100_000])
def test_a_curve_gets_finer_towards_100_and_ends_where_the_values_do(count: int) -> None:
    ordered = [float(number) for number in range(count)]
    points = curve(ordered)
    assert len(points) == min(count, 60) + 2
    assert points[0] == (0.0, 0.0)
    assert points[-1] == (100.0, ordered[-1])
    assert points[-2] == pytest.approx((100 * count / (count + 1), ordered[-1]))
    steps = [later[0] - earlier[0] for earlier, later in pairwise(points[:-1])]
    assert steps == sorted(steps, reverse=True)


@given(VALUES)
def test_a_curve_ascends(ordered: list[float]) -> None:
    points = curve(ordered)
    assert list(points) == sorted(points)
    assert sorted(ms for _, ms in points) == [ms for _, ms in points]


def test_no_values_have_no_curve() -> None:
    assert curve([]) == ()


RUNS = 400
# Of 400 intervals of 95 %, fewer than 361 hold the truth in one of 10,000 such experiments.
FEWEST_HITS = int(stats.binom.ppf(1e-4, RUNS, 0.95))


@given(st.floats(0.001, 0.999), st.floats(1, 1e6))
def test_the_t_quantile_is_that_of_scipy(probability: float, freedom: float) -> None:
    expected = float(stats.t.ppf(probability, freedom))
    assert t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706205), (2, 4.302653), (30, 2.042272), (1e6, 1.959966)]
)
def test_the_t_quantile_is_that_of_the_tables(freedom: float, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=1e-6)


@given(st.floats(0.1, 1e5), st.floats(0.1, 1e5), st.floats(0, 1))
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-6, abs=1e-9)


@given(st.integers(-1, 1001), st.integers(0, 1000), st.floats(0.001, 0.999))
def test_the_binomial_distribution_is_that_of_scipy(hits: int, trials: int, share: float) -> None:
    assert binomial_cdf(hits, trials, share) == pytest.approx(
        float(stats.binom.cdf(hits, trials, share)), abs=1e-9
    )


def test_the_binomial_quantile_is_that_of_scipy() -> None:
    grid = product(
        [0.025, 0.975],
        [1, 2, 10, 31, 100, 999, 1000, 54_321, 1_000_000, 20_000_000],
        [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999],
    )
    for probability, trials, share in grid:
        expected = int(stats.binom.ppf(probability, trials, share))
        assert binomial_quantile(probability, trials, share) == expected, (probability, trials, share)


@given(st.integers(1, 3000), st.floats(1, 99.9))
def test_a_percentile_lies_between_its_order_statistics_with_95_percent_at_least(
    count: int, percent: float
) -> None:
    low, high = percentile_ranks(count, percent)
    held = stats.binom.cdf(high - 1, count, percent / 100) - stats.binom.cdf(low - 1, count, percent / 100)
    assert held >= 0.95 - 1e-9


@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=300).map(sorted), st.sampled_from((25, 50, 95, 99.9))
)
def test_the_percentile_is_within_its_own_interval(ordered: list[float], percent: float) -> None:
    low, high = percentile_interval(ordered, percent)
    assert ordered[0] <= low <= percentile(ordered, percent) <= high <= ordered[-1]


def test_the_interval_of_a_median_of_100_is_the_40th_to_the_61st() -> None:
    assert percentile_interval([float(number) for number in range(1, 101)], 50) == (40.0, 61.0)


def test_with_too_few_values_the_extremes_stand_in() -> None:
    assert percentile_interval([1.0, 2.0, 3.0], 99) == (2.0, 3.0)
    assert percentile_interval([1.0, 2.0, 3.0], 50) == (1.0, 3.0)


@pytest.mark.parametrize(("percent", "fewest"), [(50, 6), (95, 72), (99, 368), (99.9, 3688)])
def test_how_many_requests_bound_a_percentile(percent: float, fewest: int) -> None:
    assert bounds_percentile(fewest, percent)
    assert not bounds_percentile(fewest - 1, percent)


@given(st.integers(0, 500), st.integers(1, 500))
def test_a_proportion_has_the_wilson_interval_of_scipy(hits: int, total: int) -> None:
    hits = min(hits, total)
    expected = stats.binomtest(hits, total).proportion_ci(0.95, "wilson")
    assert proportion_interval(hits, total) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_requests_say_nothing_of_a_proportion() -> None:
    assert proportion_interval(0, 0) == (0.0, 1.0)


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=100))
def test_a_mean_has_the_interval_of_scipy(values: list[float]) -> None:
    times = times_of(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95) if times.stddev_s > 1e-6 else None
    got = mean_interval(times.mean_s, times.stddev_s, effective_count(len(values), len(values) - 1))
    if expected is not None:
        assert got == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)
    assert got.low <= times.mean_s <= got.high


def test_one_value_does_not_bound_a_mean() -> None:
    assert mean_interval(5.0, 0.0, effective_count(1, 0)) == (-inf, inf)


def test_values_that_tell_as_much_as_a_quarter_of_them_have_the_interval_of_a_quarter() -> None:
    values = [float(number) for number in range(1, 401)]
    assert percentile_interval(values, 50, effective=100.9) == (160.0, 244.0)
    assert percentile_interval(values, 50, effective=400.0) == percentile_interval(values, 50)
    assert percentile_interval(values, 50, effective=5.0) == (1.0, 400.0)
    assert percentile_interval(values, 50, effective=0.0) == (1.0, 400.0)
    assert not bounds_percentile(5.99, 50)


def test_an_effect_of_four_that_is_known_for_sure_leaves_a_quarter() -> None:
    assert effective_count(400, 1e9, 4.0) == pytest.approx(100)
    # Known from twenty stretches: as much wider as Student's t with 19 degrees of freedom.
    assert effective_count(400, 19, 4.0) == pytest.approx(100 * (1.959964 / 2.093024) ** 2, rel=1e-6)


def test_a_difference_joins_the_two_intervals_by_their_nearer_arms() -> None:
    assert difference_interval(10.0, Interval(7.0, 14.0), 20.0, Interval(17.0, 32.0)) == (
        5.0,
        10 + (9 + 144) ** 0.5,
    )


def test_a_difference_of_proportions_is_that_of_newcombe() -> None:
    # His example of 56 out of 70 against 48 out of 80, by Wilson's intervals: 0.0524 to 0.3339.
    first, second = proportion_interval(48, 80), proportion_interval(56, 70)
    assert difference_interval(48 / 80, first, 56 / 70, second) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def lognormal_interval(
    rng: np.random.Generator, percent: float, scale: float = 1.0
) -> tuple[float, Interval]:
    ordered = sorted((scale * rng.lognormal(size=500)).tolist())
    return percentile(ordered, percent), percentile_interval(ordered, percent)


def mean_of_normals(rng: np.random.Generator, centre: float = 10.0) -> tuple[float, Interval]:
    times = times_of(rng.normal(centre, 3, size=8).tolist())
    return times.mean_s, mean_interval(times.mean_s, times.stddev_s, effective_count(8, 7))


def share_of(rng: np.random.Generator, share: float) -> tuple[float, Interval]:
    hits = int(rng.binomial(200, share))
    return hits / 200, proportion_interval(hits, 200)


SINGLE: dict[str, tuple[float, Callable[[np.random.Generator], tuple[float, Interval]]]] = {
    "median": (1.0, lambda rng: lognormal_interval(rng, 50)),
    "p95": (float(stats.lognorm.ppf(0.95, 1)), lambda rng: lognormal_interval(rng, 95)),
    "mean": (10.0, mean_of_normals),
    "share": (0.1, lambda rng: share_of(rng, 0.1)),
}

PAIRS: dict[
    str,
    tuple[
        float,
        Callable[[np.random.Generator], tuple[float, Interval]],
        Callable[[np.random.Generator], tuple[float, Interval]],
    ],
] = {
    "median": (1.0, lambda rng: lognormal_interval(rng, 50), lambda rng: lognormal_interval(rng, 50, 2.0)),
    "mean": (5.0, mean_of_normals, lambda rng: mean_of_normals(rng, 15.0)),
    "share": (0.1, lambda rng: share_of(rng, 0.05), lambda rng: share_of(rng, 0.15)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_95_of_100_intervals_hold_the_truth(name: str) -> None:
    truth, draw = SINGLE[name]
    rng = np.random.default_rng(3)
    intervals = [draw(rng)[1] for _ in range(RUNS)]
    assert sum(low <= truth <= high for low, high in intervals) >= FEWEST_HITS


@pytest.mark.parametrize("name", PAIRS)
def test_95_of_100_intervals_of_a_difference_hold_the_truth(name: str) -> None:
    truth, draw_first, draw_second = PAIRS[name]
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(RUNS):
        low, high = difference_interval(*draw_first(rng), *draw_second(rng))
        hits += low <= truth <= high
    assert hits >= FEWEST_HITS
    assert hits < RUNS, "an interval that always holds the truth is too wide"
