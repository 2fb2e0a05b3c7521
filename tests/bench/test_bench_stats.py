"""The arithmetic behind the benchmarks."""

from __future__ import annotations

import pytest
from bench.stats import (
    amount_before,
    binomial_interval,
    count_levels,
    ks_distance,
    largest_window,
    mean,
    median,
    normal_cdf,
    percentile,
    rate_between,
)
from hypothesis import given
from hypothesis import strategies as st

SAMPLES = st.lists(st.floats(min_value=-1e9, max_value=1e9), min_size=1, max_size=50)


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 1), (0.1, 1), (50, 500), (99, 990), (99.9, 999), (99.91, 1000), (100, 1000)]
)
def test_a_percentile_is_the_nearest_rank(percent: float, value: float) -> None:
    assert percentile(list(range(1000, 0, -1)), percent) == value


@given(SAMPLES, st.floats(min_value=0, max_value=100))
def test_a_percentile_is_one_of_the_values_and_enough_lie_at_or_below_it(
    values: list[float], percent: float
) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= percent / 100 * len(values) - 1e-6


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="values: expected at least one"):
        percentile([], 50)
    with pytest.raises(ValueError, match="values: expected at least one"):
        median([])


@pytest.mark.parametrize(("values", "middle"), [([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([7], 7)])
def test_the_median_is_the_middle_or_between_the_two_middle_values(
    values: list[float], middle: float
) -> None:
    assert median(values) == middle


def test_the_mean_is_exact_where_a_plain_sum_is_not() -> None:
    assert mean([1e16, 1.0, -1e16, 1.0]) == 0.5


@pytest.mark.parametrize(("x", "share"), [(100, 0.5), (120, 0.841345), (60, 0.022750)])
def test_the_normal_cdf_has_the_values_of_the_tables(x: float, share: float) -> None:
    assert normal_cdf(x, 100, 20) == pytest.approx(share, abs=1e-6)


def test_the_ks_distance_of_evenly_placed_values_is_half_a_step() -> None:
    assert ks_distance([0.125, 0.375, 0.625, 0.875], lambda x: x) == pytest.approx(0.125)


def test_the_ks_distance_sees_a_shift_and_a_lump() -> None:
    assert ks_distance([0.6, 0.7, 0.8, 0.9], lambda x: x) == pytest.approx(0.6)
    assert ks_distance([0.5] * 10, lambda x: x) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [
        # Exact 95 % intervals from published tables.
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (8, 100, 0.0352, 0.1516),
    ],
)
def test_the_binomial_interval_is_clopper_and_pearsons(
    hits: int, trials: int, low: float, high: float
) -> None:
    assert binomial_interval(hits, trials, 0.95) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_binomial_interval_holds_the_share_and_grows_with_confidence(counts: tuple[int, int]) -> None:
    hits, trials = counts
    low, high = binomial_interval(hits, trials, 0.95)
    wider_low, wider_high = binomial_interval(hits, trials, 0.999)
    assert 0 <= wider_low <= low <= hits / trials <= high <= wider_high <= 1


@pytest.mark.parametrize(("hits", "trials"), [(-1, 10), (11, 10), (0, 0)])
def test_an_impossible_count_is_refused(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match="hits: expected 0 to"):
        binomial_interval(hits, trials, 0.95)


def test_the_largest_window_slides_and_leaves_its_end_out() -> None:
    at_s, amounts = [0.0, 0.05, 0.1, 0.12, 0.3], [10.0, 20.0, 30.0, 40.0, 50.0]
    assert largest_window(at_s, amounts, 0.1) == 90
    assert largest_window(at_s, amounts, 1.0) == 150
    assert largest_window([], [], 0.1) == 0


def test_a_rate_counts_from_the_first_arrival_without_what_came_with_it() -> None:
    assert rate_between([0.5, 1.0, 2.5], [70, 10, 30]) == 20.0


def test_the_amount_before_an_instant_leaves_the_instant_out() -> None:
    assert amount_before([0.2, 0.9, 1.0, 1.1], [1, 2, 4, 8], 1.0) == 3


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([], 0),
        ([5, 5, 5], 1),
        ([5, 5, 5, 9, 9, 9], 2),
        ([5, 5, 5, 8, 5, 5, 5], 1),  # one late value is no level
        ([9, 9, 9, 8, 7, 6, 5, 5.1, 4.9, 5], 2),  # a ramp is none either
        ([5, 5, 9, 9], 0),
    ],
)
def test_levels_are_long_plateaus_of_different_height(values: list[float], levels: int) -> None:
    assert count_levels(values, flat_within=0.3, at_least=3) == levels
