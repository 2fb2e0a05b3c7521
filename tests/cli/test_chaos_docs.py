"""docs/chaos.md and docs/experiments.md agree with the code: examples, limits, kinds of steps, tools."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS
from faultkit.agent_tools.tool import REQUIRED
from faultkit.chaos.experiment.experiment_file import GAME_DAY, read_experiment
from faultkit.chaos.experiment.experiment_keys import ACTIONS, CHECKS, KINDS
from faultkit.chaos.experiment.experiment_model import EXIT_CODE
from faultkit.chaos.named_faults.chaos_fault import SPECIFIED_TYPES
from faultkit.chaos.records import MOST_KEPT
from faultkit.chaos.safety.chaos_limits import Limits, limits_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "chaos.md").read_text("utf-8")
BLOCKS = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)


def test_its_experiments_its_game_day_and_its_limits_can_be_read() -> None:
    *experiments, day, limits = BLOCKS
    for experiment in experiments:
        assert read_experiment(experiment, "docs", {"FAULT_CONTROL_TOKEN": "t"})[1] == []
    assert set(yaml.safe_load(day)) == set(GAME_DAY.names)
    read, usual = limits_of(yaml.safe_load(limits), {}), Limits()
    for field in fields(Limits):
        if field.name.startswith("most_") or field.name == "environments":
            assert getattr(read, field.name) == getattr(usual, field.name)


def test_every_kind_of_check_and_action_fault_and_outcome_is_named() -> None:
    for name in (*CHECKS, *ACTIONS, *SPECIFIED_TYPES):
        assert f"`{name}`" in PAGE, name
    for outcome, code in EXIT_CODE.items():
        assert f"| {code} | `{outcome}` |" in PAGE


def test_the_table_of_kinds_names_the_places_of_each() -> None:
    rows = [line.split("|") for line in (DOCS / "experiments.md").read_text("utf-8").splitlines()]
    for name, kind in KINDS.items():
        row = next(row for row in rows if len(row) == 7 and f"`{name}`" in row[1])
        check, action, undo = (cell.strip() for cell in row[2:5])
        assert (check == "yes", action == "yes", undo != "") == (
            kind.default is not None,
            kind.acts,
            kind.undoes,
        )


@pytest.mark.parametrize("tool", CHAOS_TOOLS.values(), ids=lambda tool: tool.name)
def test_every_argument_of_a_tool_is_named(tool: object) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{getattr(tool, 'name', '')}` |"))
    arguments = row.split("|")[2]
    for each in getattr(tool, "arguments", ()):
        shown = each.name if each.default is REQUIRED else f"{each.name}?"
        assert f"`{shown}`" in arguments


def test_all_21_resolutions_are_there() -> None:
    numbers = re.findall(r"^\| (\d+) \| .+ \| .+ \|$", PAGE.split("### What was decided")[1], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 22)]
    assert f"the newest {MOST_KEPT:,} results" in PAGE
