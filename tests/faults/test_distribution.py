"""The mean of the delays that are drawn."""

from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.distribution import drawn_mean_ms
from faultkit.faults.stream.latency import Latency


@pytest.mark.parametrize(
    ("mean_ms", "stddev_ms", "drawn_ms"), [(100, 0, 100), (100, 20, 100.0), (20, 20, 25.75), (10, 30, 27.95)]
)
def test_the_mean_of_a_normal_distribution_without_its_negative_part(
    mean_ms: float, stddev_ms: float, drawn_ms: float
) -> None:
    fault = Latency(mean_ms=mean_ms, stddev_ms=stddev_ms)
    assert drawn_mean_ms(fault) == pytest.approx(drawn_ms, abs=0.01)
    rng = Rng.keyed("mean")
    assert sum(fault.draw_ms(rng) for _ in range(20_000)) / 20_000 == pytest.approx(drawn_ms, rel=0.02)


def test_the_mean_of_a_uniform_distribution_is_its_middle() -> None:
    assert drawn_mean_ms(Latency("uniform", min_ms=10, max_ms=30)) == 20
