"""Mistakes in `breakpoint` are reported before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.parse.suite_files import SERVERS, problems_of, suite_of

HEAD = f"""\
{SERVERS}
faults:
  - {{name: slow, target: {{tool: search}}, kind: slow, delay_ms: 1}}
  - {{name: hung, target: {{tool: search}}, kind: hang}}
agents:
  - name: a
    agent: {{kind: naive, goal: search}}
    inject: [slow]
"""


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("vary: slow.delay, from: 0, to: 9", 'breakpoint.vary: unknown setting of slow "delay"'),
        ("vary: slow.distribution, from: 0, to: 9", "breakpoint.vary: expected a setting that is a number"),
        ("vary: hung.delay_ms, from: 0, to: 9", "expected FAULT.SETTING, a setting of slow, got"),
        ("vary: delay_ms, from: 0, to: 9", "expected FAULT.SETTING, a setting of slow, got"),
        ("vary: slow.delay_ms, from: 9, to: 9", "breakpoint.to: expected two different numbers, got 9..9"),
        ("vary: slow.delay_ms, from: -1, to: 9", "breakpoint.from: expected"),
        ("vary: slow.delay_ms, from: 0, to: x", "breakpoint.to: expected a number of ms or a duration"),
        ("vary: slow.probability, from: 0, to: 2", "breakpoint.to: expected"),
        ("vary: slow.delay_ms, from: 0", "breakpoint.to: expected the harmful end, got nothing"),
        ("from: 0, to: 9", "breakpoint.vary: expected the setting that is searched, got nothing"),
        ("vary: slow.delay_ms, from: 0, to: 9, budget: 3", "breakpoint.budget: expected at least"),
        ("vary: slow.delay_ms, from: 0, to: 9, at_least: 10", "expected a value of the range 0..9, got 10"),
        ("vary: slow.delay_ms, from: 0, to: 9, until: 3", "breakpoint.until: unknown key"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, keys: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"{HEAD}    breakpoint: {{{keys}}}\n")
    assert found.startswith("suite.yml: line 11: agents[0].breakpoint")
    assert problem in found


def test_it_needs_a_fault_and_goes_with_no_number_of_runs(tmp_path: Path) -> None:
    keys = "breakpoint: {vary: slow.delay_ms, from: 0, to: 9}"
    without = HEAD.replace("inject: [slow]", "tags: []")
    (found,) = problems_of(tmp_path, f"{without}    {keys}\n")
    assert "expected FAULT.SETTING, a fault under `inject`" in found
    (found,) = problems_of(tmp_path, f"{HEAD}    runs: 3\n    {keys}\n")
    assert "agents[0].runs: expected none beside `breakpoint`" in found


def test_values_have_units_and_the_path_names_the_fault(tmp_path: Path) -> None:
    keys = "breakpoint: {vary: slow.delay_ms, from: 60s, to: 10ms, scale: log, at_least: 1s}"
    search = suite_of(tmp_path, f"{HEAD}    {keys}\n").agents[0].breakpoint
    assert search is not None
    assert search.says == "slow.delay_ms from 60000 ms to 10 ms"
    assert (search.varied.scale.spacing, search.at_least, search.share) == ("log", 1000.0, 0.75)
