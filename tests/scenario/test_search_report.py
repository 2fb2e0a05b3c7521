"""The result of a search as it is reported: rounded to the safe side, without digits that mean nothing."""

from __future__ import annotations

import pytest

from faultkit.base.sample_statistics import Interval
from faultkit.load.load import Load
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint, Estimate
from faultkit.load.slo import parse_slo
from faultkit.scenario.scenario_model import SearchStrategy, VariedSetting
from faultkit.scenario.search_report import reported_search, rounded_to

SLOS = [parse_slo("latency:95:300ms")]


def varied(scale: Scale, unit: str = "ms") -> VariedSetting:
    return VariedSetting("faults.latency.mean", 0, "mean_ms", unit, scale)


UP = varied(Scale(0.0, 1000.0, resolution=1.0))


@pytest.mark.parametrize(
    ("setting", "value", "late_ms", "upwards", "rounded"),
    [
        (UP, 176.56, 0.2, False, 176.0),
        (UP, 176.56, 0.2, True, 177.0),
        (UP, 176.56, 0.2, None, 177.0),
        (UP, 176.56, 3.0, False, 175.0),
        (UP, 999.7, 30.0, True, 1000.0),
        (UP, 180.0, 0.0, True, 180.0),
        (varied(Scale(0.0, 1.0), ""), 0.2501, 50.0, False, 0.25),
        (varied(Scale(1000.0, 1.0, "log"), ""), 123.456, 50.0, None, 123.5),
        (varied(Scale(1.0, 64.0, whole=True), "clients"), 7.0, 50.0, True, 7.0),
    ],
)
def test_values_lose_the_digits_that_mean_nothing(
    setting: VariedSetting, value: float, late_ms: float, upwards: bool | None, rounded: float
) -> None:
    assert rounded_to(setting, value, late_ms, upwards) == rounded


def test_bounds_are_rounded_to_the_safe_side_and_never_by_more_than_the_bracket() -> None:
    strategy = SearchStrategy(Load(1.0, 20.0), 1, 20.0, UP, 300.0, None)
    estimate = Estimate(182.4, Interval(178.6, 186.9))
    point = BreakingPoint("found", "", 176.6, 190.3, estimate, False, 0, (), 6000)
    found = reported_search(strategy, SLOS, point, 299.0, 0.3)
    assert (found.held, found.broken) == (176.0, 191.0)
    assert (found.low, found.estimate, found.high) == (178.0, 182.0, 187.0)
    late = reported_search(strategy, SLOS, point, 299.0, 600.0)
    assert (late.held, late.estimate, late.broken) == (175.0, 180.0, 195.0)
