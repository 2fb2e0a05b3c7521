"""The strategy repeat: the settings that grow, and the faults of each call."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import RepeatStrategy, ScenarioItem
from faultkit.scenario.strategy import stepped_rules, stepped_value


def read(faults: list[dict[str, Any]], **strategy: Any) -> tuple[ScenarioItem | None, list[str]]:
    context = {"faults": faults, "strategy": {"mode": "repeat", **strategy}}
    call = {"method": "GET", "url": "http://localhost/"}
    problems: list[InputError] = []
    scenario = parse_scenario({"title": "a", "items": [{"call": call, "context": context}]}, problems)
    texts = [str(problem).removeprefix("items[0].context.strategy.") for problem in problems]
    return (None if scenario is None else scenario.items[0]), texts


def item_of(faults: list[dict[str, Any]], **strategy: Any) -> ScenarioItem:
    item, problems = read(faults, **strategy)
    assert problems == []
    assert item is not None
    return item


def values(item: ScenarioItem, count: int) -> list[list[float]]:
    assert isinstance(item.strategy, RepeatStrategy)
    return [
        [stepped_value(stepped_rules(item, n)[index], name) for index, name in item.strategy.stepped]
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("fault", "step", "expected"),
    [
        ({"type": "latency", "mean": 100}, 50, [100, 150, 200]),
        ({"type": "latency", "mean": 100}, -50, [100, 50, 0]),
        ({"type": "latency", "distribution": "pareto-normal"}, 1, [100, 101, 102]),
        ({"type": "jitter", "amplitude": 20}, 5.5, [20, 25.5, 31]),
        ({"type": "bandwidth", "rate": 1000, "unit": "KBps"}, -400, [1000, 600, 200]),
        ({"type": "packetloss", "rate": 0.1}, 0.1, [0.1, 0.2, 0.3]),
    ],
)
def test_the_step_is_added_call_after_call(fault: dict[str, Any], step: float, expected: list[float]) -> None:
    assert values(item_of([fault], step=step, count=3), 3) == [[each] for each in expected]


def test_every_fault_that_can_be_stepped_is_and_the_others_stay() -> None:
    item = item_of(
        [{"type": "dns", "rate": 0.5}, {"type": "latency", "stddev": 0}, {"type": "jitter"}], step=10, count=2
    )
    assert isinstance(item.strategy, RepeatStrategy)
    assert item.strategy.stepped == ((1, "mean_ms"), (2, "amplitude_ms"))
    assert [rule.fault for rule in stepped_rules(item, 1)][1:] == [Latency(mean_ms=110), Jitter(30)]
    assert stepped_rules(item, 0) == tuple(fault.rule for fault in item.faults)
    assert stepped_rules(item, 1)[0] == item.faults[0].rule


@pytest.mark.parametrize(
    ("faults", "step", "step_of", "stepped", "expected"),
    [
        ([{"type": "latency"}], 1, "stddev", ((0, "stddev_ms"),), [[20], [21]]),
        ([{"type": "latency"}], 1, "stddev_ms", ((0, "stddev_ms"),), [[20], [21]]),
        ([{"type": "limit_data", "bytes": 10}], 5, "bytes", ((0, "bytes"),), [[10], [15]]),
        (
            [{"type": "httperror", "probability": 0.7}],
            0.1,
            "probability",
            ((0, "probability"),),
            [[0.7], [0.8]],
        ),
        ([{"type": "dns", "rate": 0.7}], 0.1, "rate", ((0, "probability"),), [[0.7], [0.8]]),
        ([{"type": "reset"}], -0.1, "probability", ((0, "probability"),), [[1], [0.9]]),
        (
            [{"type": "latency"}, {"type": "httperror", "probability": 0.5}],
            0.25,
            "probability",
            ((1, "probability"),),
            [[0.5], [0.75]],
        ),
        (
            [{"type": "slow_close"}, {"type": "latency"}, {"type": "http_delay", "delay_ms": 5}],
            1,
            "delay_ms",
            ((0, "delay_ms"), (2, "delay_ms")),
            [[1000, 5], [1001, 6]],
        ),
    ],
)
def test_a_user_may_choose_what_is_stepped(
    faults: list[dict[str, Any]], step: float, step_of: str, stepped: object, expected: object
) -> None:
    item = item_of(faults, step=step, count=2, step_of=step_of)
    assert isinstance(item.strategy, RepeatStrategy)
    assert item.strategy.stepped == stepped
    assert values(item, 2) == expected


def test_a_step_of_nothing_needs_no_fault() -> None:
    assert item_of([], step=0, count=3).strategy == RepeatStrategy(0, 3, ())
    assert stepped_rules(item_of([], step=0, count=3), 2) == ()


NOTHING = (
    "step: expected latency with a mean, jitter, bandwidth or packet loss with a rate to add it to, "
    "or step_of with the name of another setting, got 1 and none of these"
)


@pytest.mark.parametrize(
    ("faults", "strategy", "message"),
    [
        ([], {"step": 1, "count": 2}, NOTHING),
        ([{"type": "blackhole"}], {"step": 1, "count": 2}, NOTHING),
        ([{"type": "packetloss"}], {"step": 1, "count": 2}, NOTHING),
        ([{"type": "latency", "distribution": "uniform"}], {"step": 1, "count": 2}, NOTHING),
        (
            [{"type": "latency"}],
            {"step": 1, "count": 2, "step_of": "amplitude"},
            'step_of: expected a number that one of the faults has, got "amplitude"',
        ),
        (
            [{"type": "latency"}],
            {"step": 0, "count": 2, "step_of": "distribution"},
            'step_of: expected a number that one of the faults has, got "distribution"',
        ),
        (
            [{"type": "latency", "mean": 100}],
            {"step": -50, "count": 4},
            "step: expected a step that suits every call; at call 4 of 4, "
            "mean_ms: expected a number of at least 0, got -50.0",
        ),
        (
            [{"type": "bandwidth", "rate": 100}],
            {"step": -50, "count": 3},
            "step: expected a step that suits every call; at call 3 of 3, "
            "rate: expected a number above 0, got 0.0",
        ),
        (
            [{"type": "packet_loss", "rate": 0.9}],
            {"step": 0.1, "count": 3},
            "step: expected a step that suits every call; at call 3 of 3, "
            "rate: expected a number from 0 to 1, got 1.1",
        ),
        (
            [{"type": "limit_data", "bytes": 1}],
            {"step": 0.5, "count": 3, "step_of": "bytes"},
            "step: expected a step that suits every call; at call 2 of 3, "
            "bytes: expected a whole number, got 1.5",
        ),
        (
            [{"type": "latency"}],
            {"step": 1e308, "count": 3},
            "step: expected a step that suits every call; at call 3 of 3, "
            "mean_ms: expected a number of at least 0, got inf",
        ),
        ([], {"step": 0, "count": 0}, "count: expected a whole number from 1 to 10000, got 0"),
        ([], {"step": 0, "count": 10001}, "count: expected a whole number from 1 to 10000, got 10001"),
        ([], {"count": 2}, "step: expected a number to add at each call, got nothing"),
        ([], {"step": float("nan"), "count": 2}, "step: expected a number to add at each call, got nan"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused(
    faults: list[dict[str, Any]], strategy: dict[str, Any], message: str
) -> None:
    assert read(faults, **strategy) == (None, [message])


def test_the_other_settings_of_repeat_are_read() -> None:
    item = item_of([], step=0, count=2, wait=250, failfast=True, add_baseline_call=True)
    assert item.strategy == RepeatStrategy(0, 2, (), 0.25, True, True)
    assert item_of([], step=0, count=2, wait="1.5s").strategy == RepeatStrategy(0, 2, (), 1.5)
