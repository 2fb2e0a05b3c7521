"""The mean of the delays that are drawn, and delays that need no draw."""

from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.distribution import drawn_mean_ms
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http_fault import HttpVerdict
from faultkit.faults.stream.latency import Latency
from faultkit.proxy.toxiproxy.toxics import JitteredLatency


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


@pytest.mark.parametrize(
    ("fault", "fixed_ms"),
    [
        (Latency(mean_ms=10), 10),
        (Latency(mean_ms=1e12), 86_400_000),
        (Latency(mean_ms=10, stddev_ms=1), None),
        (Latency("uniform", min_ms=10, max_ms=30), None),
        (Latency("pareto", scale_ms=10, shape=2), None),
        (JitteredLatency(mean_ms=10), None),
    ],
)
def test_only_a_normal_distribution_without_deviation_needs_no_draw(
    fault: Latency, fixed_ms: float | None
) -> None:
    assert fault.fixed_ms == fixed_ms


def test_an_http_delay_that_is_not_drawn_is_the_same_for_all_requests() -> None:
    assert HttpDelay(delay_ms=10).constant_verdict == HttpVerdict(delay_s=0.01)
    assert HttpDelay(delay_ms=10, stddev_ms=1).constant_verdict is None
