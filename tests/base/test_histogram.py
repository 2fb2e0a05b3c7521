from __future__ import annotations

import pickle
from math import sqrt

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.histogram import Histogram
from faultkit.base.sample_statistics import percentile

TIMES = st.lists(st.floats(0, 7200) | st.floats(0, 0.01), max_size=60)


def histogram_of(values: list[float]) -> Histogram:
    histogram = Histogram()
    histogram.record_all(values)
    return histogram


def merged(*parts: Histogram) -> Histogram:
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole


@given(TIMES, TIMES, TIMES)
def test_merging_is_associative_and_commutative_and_equals_the_whole(
    one: list[float], two: list[float], three: list[float]
) -> None:
    a, b, c = histogram_of(one), histogram_of(two), histogram_of(three)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, b) == merged(b, a)
    assert merged(a, b, c) == histogram_of(one + two + three)


def test_merging_leaves_the_other_as_it_is() -> None:
    one, two = histogram_of([1.0]), histogram_of([2.0])
    one.merge(two)
    one.record_all([2.0])
    assert two == histogram_of([2.0])


@given(st.lists(st.integers(0, 3_600_000_000), min_size=1, max_size=50))
def test_its_buckets_are_those_of_hdrhistogram_with_three_digits(micros: list[int]) -> None:
    oracle = HdrHistogram(1, 3_600_000_000, 3)
    ours = histogram_of([each / 1e6 for each in micros])
    expected: dict[int, int] = {}
    for each in micros:
        index = oracle.get_counts_array_index(each)
        expected[index] = expected.get(index, 0) + 1
    assert dict(ours.buckets) == expected


@given(st.lists(st.floats(0, 7200), min_size=1, max_size=100), st.floats(0, 100))
def test_a_percentile_is_known_to_three_digits(values: list[float], percent: float) -> None:
    exact = percentile(sorted(values), percent)
    # Half a bucket, and half a microsecond of rounding.
    assert percentile(histogram_of(values).ordered(), percent) == pytest.approx(exact, rel=1 / 2000, abs=1e-6)


@given(st.lists(st.floats(0, 7200), min_size=2, max_size=100))
def test_extremes_mean_and_spread_are_exact_to_the_microsecond(values: list[float]) -> None:
    histogram = histogram_of(values)
    times = histogram.times()
    assert (len(histogram), len(times.ordered)) == (len(values), len(values))
    assert times.ordered[0] == pytest.approx(min(values), abs=1e-6)
    assert times.ordered[-1] == pytest.approx(max(values), abs=1e-6)
    assert times.mean_s == pytest.approx(float(np.mean(values)), abs=1e-6)
    assert times.stddev_s == pytest.approx(float(np.std(values, ddof=1)), abs=2e-6)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_the_sorted_view_is_a_sequence_that_ascends(values: list[float]) -> None:
    ordered = histogram_of(values).ordered()
    listed = list(ordered)
    assert listed == sorted(listed)
    assert listed == [ordered[number] for number in range(len(values))] == ordered[:]
    assert ordered[-1] == listed[-1]
    for outside in (len(values), -len(values) - 1):
        with pytest.raises(IndexError):
            ordered[outside]


def test_an_empty_histogram_has_no_times() -> None:
    times = Histogram().times()
    assert (len(times.ordered), times.mean_s, times.stddev_s) == (0, 0.0, 0.0)


def test_one_value_has_no_spread() -> None:
    assert histogram_of([0.5]).times().stddev_s == 0.0


def test_a_negative_time_counts_as_nothing() -> None:
    assert histogram_of([-0.5, 1.0]) == histogram_of([0.0, 1.0])


def test_days_are_not_clamped() -> None:
    times = histogram_of([90_000.0, 180_000.0]).times()
    assert list(times.ordered) == [90_000.0, 180_000.0]
    assert (times.mean_s, times.stddev_s) == pytest.approx((135_000.0, 90_000 / sqrt(2)))


def test_it_survives_the_way_between_processes() -> None:
    histogram = histogram_of([0.001, 0.25, 30.0])
    assert pickle.loads(pickle.dumps(histogram)) == histogram
