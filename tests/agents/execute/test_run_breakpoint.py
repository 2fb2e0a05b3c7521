"""Tests with a `breakpoint`: exact values of scripts in virtual time, and trials where runs differ."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from faultkit.agents.execute.run_breakpoint import exact_point
from faultkit.agents.report.reporters import REPORTERS
from faultkit.agents.report.suite_json import render_json
from faultkit.load.search.scale import Scale
from faultkit.scenario.scenario_model import VariedSetting
from faultkit.scenario.trial_search import TrialSearch
from tests.agents.execute.suite_runs import row, run, write

SUITE = """
servers:
  shop: { mock: tools.yml }
faults:
  - { name: slow, target: { tool: search }, kind: slow, delay_ms: 1 }
  - { name: flaky, target: { tool: search }, kind: tool_error, trigger: { probability: 0.5 } }
  - { name: elsewhere, target: { tool: order }, kind: slow, delay_ms: 1 }
agents:
  - name: searched
    agent: { kind: naive, goal: search }
    inject: [FAULT]
    recovery: { max_detection_ms: 3000, require: [success] }
    breakpoint: BREAKPOINT
"""


def suite(folder: Path, keys: str, fault: str = "slow") -> Path:
    return write(folder, SUITE.replace("FAULT", fault).replace("BREAKPOINT", f"{{ {keys} }}"))


RANGE = "vary: slow.delay_ms, from: 0ms, to: 60s"


def test_a_script_in_virtual_time_is_searched_to_the_millisecond(tmp_path: Path) -> None:
    results = run(suite(tmp_path, f"{RANGE}, precision: 1ms, at_least: 2999ms"))
    found = row(results, "searched")
    assert found.verdict == "passed"
    point = found.breaking_point
    assert point is not None
    assert (point["held"], point["broken"], point["is_exact"]) == (2999, 3000, True)
    assert "Shown to hold up to 2999 ms, shown to be broken from 3000 ms." in found.message
    assert "What fails at 3000 ms: require success" in found.message
    assert [run_.trace.calls[0].end_ms for run_ in found.runs] == [2999.0]
    values = {level["value"]: level["decision"] for level in point["levels"]}
    assert {value < 3000 for value, decision in values.items() if decision == "held"} == {True}


@pytest.mark.parametrize(
    ("keys", "verdict", "limit", "message"),
    [
        (f"{RANGE}, at_least: 5s", "failed", "breakpoint.at_least", "and 5000 ms was expected"),
        ("vary: slow.delay_ms, from: 4s, to: 60s", "failed", "breakpoint.from", "already broken at 4000 ms"),
        ("vary: slow.delay_ms, from: 1s, to: 2s", "passed", "", "holds up to 2000 ms, the whole range"),
        (RANGE, "passed", "", "shown to be broken from 3047 ms"),
    ],
)
def test_the_bound_that_is_shown_to_hold_decides(
    tmp_path: Path, keys: str, verdict: str, limit: str, message: str
) -> None:
    found = row(run(suite(tmp_path, keys)), "searched")
    assert (found.verdict, found.limit) == (verdict, limit)
    assert message in found.message


def test_runs_that_differ_are_trials(tmp_path: Path) -> None:
    keys = "vary: flaky.probability, from: 0, to: 1, share: 60%, budget: 140"
    found = row(run(suite(tmp_path, keys, "flaky")), "searched")
    point = found.breaking_point
    assert point is not None
    assert not point["is_exact"]
    assert point["held"] <= 0.4 <= point["broken"], "six of ten runs pass at a probability of 0.4"
    assert point["trials"] <= 140


def test_a_search_without_a_decision_is_inconclusive(tmp_path: Path) -> None:
    keys = "vary: flaky.probability, from: 0.39, to: 0.41, share: 60%, budget: 130"
    found = row(run(suite(tmp_path, keys, "flaky")), "searched")
    assert found.verdict == "inconclusive"
    assert "It is not known where the test breaks." in found.message


def test_a_fault_that_no_call_meets_shows_nothing(tmp_path: Path) -> None:
    file = suite(tmp_path, "vary: elsewhere.delay_ms, from: 0, to: 10", "elsewhere")
    file.write_text(file.read_text().replace("goal: search", "goal: { tool: search }"))
    assert row(run(file), "searched").verdict == "not_exercised"


def test_every_format_has_the_sentence_and_two_runs_are_equal(tmp_path: Path) -> None:
    file = suite(tmp_path, f"{RANGE}, at_least: 5s")
    results = run(file)
    for name, reporter in REPORTERS.items():
        assert "Shown to hold up to 2812 ms" in reporter.render(results), name
    first, second = (json.loads(render_json(each))["tests"][0] for each in (results, run(file, repeat=3)))
    assert first["details"] == second["details"]


def search_of(harmless: float, harmful: float, precision: float = 0.0) -> TrialSearch:
    scale = Scale(harmless, harmful, resolution=precision)
    return TrialSearch(VariedSetting("slow.delay_ms", 0, "delay_ms", "ms", scale))


@pytest.mark.parametrize(("harmless", "harmful"), [(0.0, 1000.0), (1000.0, 0.0)])
@pytest.mark.parametrize("truth", [0.7, 123.4, 999.5])
def test_the_bracket_of_a_bisection_holds_the_truth_in_both_directions(
    harmless: float, harmful: float, truth: float
) -> None:
    async def passes(value: float, number: int) -> bool:
        return value < truth if harmful > harmless else value > truth

    point = asyncio.run(exact_point(search_of(harmless, harmful, 0.01), passes))
    assert point is not None
    assert point.held is not None
    assert point.broken is not None
    low, high = sorted((point.held, point.broken))
    assert low <= truth <= high
    assert high - low <= 0.01


def test_two_runs_that_differ_are_no_exact_search() -> None:
    async def passes(value: float, number: int) -> bool:
        return value < 500 or number == 1

    assert asyncio.run(exact_point(search_of(0, 1000), passes)) is None
