from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.report.axis import Axis, linear_axis, log_axis, time_axis, value_axis


@pytest.mark.parametrize(
    ("top", "ticks"),
    [
        (160, (0, 50, 100, 150, 200)),
        (100, (0, 20, 40, 60, 80, 100)),
        (7, (0, 2, 4, 6, 8)),
        (0.3, (0, 0.1, 0.2, 0.3)),
        (1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, (0, 1)),
        (nan, (0, 1)),
        (inf, (0, 1)),
    ],
)
def test_a_linear_axis_has_round_ticks_up_to_the_first_that_covers_all(
    top: float, ticks: tuple[float, ...]
) -> None:
    axis = linear_axis(top)
    assert axis.ticks == pytest.approx(ticks)
    assert axis.low == 0
    assert axis.high == pytest.approx(ticks[-1])


@pytest.mark.parametrize(
    ("duration_s", "ticks"),
    [
        (10, (0, 2, 4, 6, 8, 10)),
        (10.3, (0, 2, 4, 6, 8, 10)),
        (60, (0, 10, 20, 30, 40, 50, 60)),
        (90, (0, 15, 30, 45, 60, 75, 90)),
        (600, (0, 120, 240, 360, 480, 600)),
        (3600, (0, 600, 1200, 1800, 2400, 3000, 3600)),
        (0.5, (0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        (0, (0, 1)),
    ],
)
def test_a_time_axis_ends_with_the_run_and_ticks_like_a_clock(
    duration_s: float, ticks: tuple[float, ...]
) -> None:
    axis = time_axis(duration_s)
    assert axis.ticks == pytest.approx(ticks)
    assert axis.high == (duration_s or 1)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (12, 3001, (10, 100, 1000, 10000)),
        (10, 100, (10, 20, 50, 100)),
        (30, 180, (20, 50, 100, 200)),
        (5, 5, (5, 10)),
    ],
)
def test_a_log_axis_has_ticks_at_its_ends(low: float, high: float, ticks: tuple[float, ...]) -> None:
    axis = log_axis(low, high)
    assert axis.ticks == pytest.approx(ticks)
    assert axis.log


def test_places_on_an_axis_are_shares_of_its_length() -> None:
    assert [Axis(0, 200, ()).at(value) for value in (0, 50, 200, 300, -1)] == [0, 0.25, 1, 1, 0]
    assert [Axis(10, 1000, (), log=True).at(value) for value in (10, 100, 1000, 0)] == pytest.approx(
        [0, 0.5, 1, 0]
    )


def test_an_axis_turns_logarithmic_when_one_value_would_press_the_others_flat() -> None:
    assert not value_axis([10, 12, 14, 100]).log
    assert value_axis([10, 12, 14, 3000]).log
    assert value_axis([]).ticks == (0, 1)
    assert value_axis([0, 0]).ticks == (0, 1)


@given(st.lists(st.floats(min_value=0, max_value=1e7), max_size=20))
def test_every_value_lies_on_its_axis_and_ticks_rise(values: list[float]) -> None:
    axis = value_axis(values)
    assert 2 <= len(axis.ticks) <= 11
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert axis.ticks[-1] == pytest.approx(axis.high)
    assert max(values, default=0) <= axis.high * (1 + 1e-9)
    assert all(0 <= axis.at(value) <= 1 for value in values)
