"""`stop: when_decided`: its mistakes, and the report of a load that ended early."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.load.load import Load
from faultkit.load.slo import parse_slo
from faultkit.proxy.data_plane import LatenessSummary, Snapshot
from faultkit.scenario.item_report import item_report
from faultkit.scenario.measure import Measurements
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, ScenarioItem
from tests.load.rows import row, tally_of

SLO = {"type": "latency", "objective": 95, "threshold": 300}
LATENCY = {"type": "latency", "mean": 100}


def _problems(strategy: dict[str, Any], **context: Any) -> list[str]:
    load = {"mode": "load", "duration": "60s", "rps": 10, "stop": "when_decided", **strategy}
    parts = {"strategy": load, "slo": [SLO], **context}
    item = {"call": {"method": "GET", "url": "http://localhost/"}, "context": parts}
    problems: list[InputError] = []
    parse_scenario({"title": "a", "items": [item]}, problems)
    return [str(problem).removeprefix("items[0].context.") for problem in problems]


def test_a_load_may_end_when_it_is_decided() -> None:
    assert _problems({}, faults=[LATENCY]) == []


@pytest.mark.parametrize(
    ("strategy", "context", "problem"),
    [
        ({"stop": "soon"}, {}, 'strategy.stop: expected one of at_end, when_decided, got "soon"'),
        ({"ramp": "5s"}, {}, "strategy.stop: expected at_end for a load with a ramp, got when_decided"),
        (
            {},
            {"faults": [{**LATENCY, "period": "start:50%,duration:50%"}]},
            "strategy.stop: expected at_end, since a fault has a period of its own, got when_decided",
        ),
        (
            {},
            {"slo": [{**SLO, "window": "5s"}]},
            "slo[0]: expected none with stop: when_decided, which judges request by request, "
            "got an objective with a window",
        ),
    ],
)
def test_a_load_whose_end_may_differ_from_its_beginning_may_not(
    strategy: dict[str, Any], context: dict[str, Any], problem: str
) -> None:
    assert _problems(strategy, **context) == [problem]


def test_the_report_says_that_a_load_ended_early_and_has_a_verdict() -> None:
    """Of 10 s, 4 s were sent, of which the last requests were under way: that is no load that fell short."""
    item = ScenarioItem(
        HttpCall("GET", "http://127.0.0.1/"),
        strategy=LoadStrategy(Load(10.0, 10.0), 1, 10.0, ends_early=True),
    )
    measured = Measurements(faults=tally_of(*(row(number / 10) for number in range(30))), decided_s=4.0)
    measured.faults_s = 4.0
    after = Snapshot((), (), {}, LatenessSummary(), 0, 0)
    gates = (parse_slo("availability:50"),)
    ran = item_report(item, measured, after, gates=gates, started_at="", routes=(), cut_short=None)
    assert ran.verdict == "passed"
    assert "The load ended after 4s of 10s: by then all objectives were decided." in ran.warnings
