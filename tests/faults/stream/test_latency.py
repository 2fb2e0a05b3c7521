from __future__ import annotations

from statistics import fmean

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.events import Data, Eof, Event
from faultkit.faults.stream.latency import Latency
from faultkit.testing import run_filter


def test_only_the_first_bytes_of_a_connection_are_delayed() -> None:
    out = run_filter(Latency(mean_ms=100), Data(1.0, b"a"), Data(1.05, b"b"), Data(3.0, b"c"), Eof(3.0))
    assert out == [Data(1.1, b"a"), Data(1.1, b"b"), Data(3.0, b"c"), Eof(3.0)]


def test_with_per_operation_every_read_is_delayed_from_its_arrival() -> None:
    out = run_filter(Latency(mean_ms=250, per="operation"), Data(1.0, b"a"), Data(1.125, b"b"), Eof(1.25))
    assert out == [Data(1.25, b"a"), Data(1.375, b"b"), Eof(1.375)]


def test_an_end_without_bytes_is_not_delayed() -> None:
    assert run_filter(Latency(mean_ms=100), Eof(1.0)) == [Eof(1.0)]


def test_each_delay_is_noted() -> None:
    notes: list[tuple[str, float]] = []
    events: list[Event] = [Data(0.0, b"a"), Data(1.0, b"b")]
    run_filter(Latency(mean_ms=7, per="operation"), *events, notes=notes)
    assert notes == [("delay_ms", 7.0), ("delay_ms", 7.0)]


@pytest.mark.parametrize(
    ("fault", "low", "high", "mean"),
    [
        (Latency(distribution="uniform", min_ms=10, max_ms=30), 10, 30, 20),
        (Latency(distribution="normal", mean_ms=100, stddev_ms=10), 0, 200, 100),
        (Latency(distribution="pareto", scale_ms=10, shape=5), 10, 1000, 12.5),
        (
            Latency(distribution="pareto-normal", scale_ms=10, shape=5, mean_ms=50, stddev_ms=1),
            50,
            1000,
            62.5,
        ),
    ],
    ids=lambda value: value.distribution if isinstance(value, Latency) else "",
)
def test_delays_are_drawn_from_the_distribution(fault: Latency, low: float, high: float, mean: float) -> None:
    rng = Rng.keyed("latency")
    draws = [fault.draw_ms(rng) for _ in range(5000)]
    assert low <= min(draws)
    assert max(draws) <= high
    assert fmean(draws) == pytest.approx(mean, rel=0.02)


def test_negative_normal_draws_are_drawn_again() -> None:
    rng, fault = Rng.keyed("negative"), Latency(mean_ms=0, stddev_ms=10)
    draws = [fault.draw_ms(rng) for _ in range(5000)]
    assert min(draws) >= 0
    assert fmean(draws) == pytest.approx(10 * 0.7979, rel=0.03), "the mean of a half-normal"


def test_no_delay_is_longer_than_a_day() -> None:
    [event] = run_filter(Latency(distribution="pareto", scale_ms=1e300, shape=1), Data(0.0, b"a"))
    assert event.at == 86_400.0


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"distribution": "uniform", "min_ms": 5.0, "max_ms": 2.0},
            "max_ms: expected at least min_ms (5), got 2",
        ),
        ({"distribution": "pareto", "scale_ms": 1.0}, "shape: expected a number above 0 for pareto, got 0"),
    ],
)
def test_settings_that_do_not_fit_each_other_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Latency(**settings)  # type: ignore[arg-type]
    assert str(caught.value) == problem
