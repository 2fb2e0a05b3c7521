from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.percentiles import curve, percentile, percentile_count, percentiles

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
