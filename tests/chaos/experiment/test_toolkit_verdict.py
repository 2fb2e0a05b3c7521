"""The verdict on journals of Chaos Toolkit whose hypothesis is checked during the method only."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.chaos.experiment.experiment_model import Outcome
from faultkit.chaos.experiment.toolkit_verdict import ToolkitVerdict, verdict_of


def entry(kind: str, name: str, start: str | None) -> dict[str, Any]:
    run = {"activity": {"type": kind, "name": name}, "status": "succeeded", "output": None}
    return run if start is None else {**run, "start": f"2026-02-05T10:00:{start}+00:00"}


def state(*starts: str | None) -> dict[str, Any]:
    return {"steady_state_met": True, "probes": [entry("probe", "ok", start) for start in starts]}


def verdict(
    actions: list[str | None], during: list[dict[str, Any]], after: dict[str, Any] | None = None
) -> ToolkitVerdict:
    journal = {
        "status": "completed",
        "deviated": False,
        "steady_states": {"before": None, "after": after, "during": during},
        "run": [entry("action", f"break {index}", start) for index, start in enumerate(actions)],
    }
    return verdict_of(journal, stopped=None, rollback_failures=())


@pytest.mark.parametrize(
    ("actions", "during"),
    [
        (["01.5"], [state("00.9"), state("02")]),
        (["01.5"], [state("00.9", "01.6")]),
        (["01"], [state("01.000001")]),
        ([None], [state("00")]),
        (["01"], [state(None)]),
    ],
)
def test_a_check_that_began_after_the_last_action_is_one(actions: Any, during: Any) -> None:
    found = verdict(actions, during)
    assert (found.outcome, found.success) == (Outcome.HELD, True)
    assert (found.before, found.after) == (False, False), "neither was checked"


@pytest.mark.parametrize(
    ("actions", "during", "unseen"),
    [
        (["01"], [state("00.999999")], "break 0"),
        (["00", "02"], [state("01")], "break 1"),
        (["03", "02"], [state("02.5")], "break 0"),
    ],
)
def test_a_last_action_that_no_check_came_after_proves_nothing(
    actions: Any, during: Any, unseen: str
) -> None:
    found = verdict(actions, during)
    assert (found.outcome, found.success) == (Outcome.NOT_CHECKED, False)
    assert found.errors == (
        f"Not checked: no check of the hypothesis began after the action {unseen}: "
        "a pause after it, or the strategy continuously, leaves time for one",
    )
    assert verdict(actions, during, after=state("04")).outcome is Outcome.HELD


def test_probes_that_are_left_out_have_checked_nothing() -> None:
    states = {"before": state("00"), "after": state("02"), "during": []}
    journal = {"status": "completed", "steady_states": states, "run": [entry("action", "break", "01")]}
    found = verdict_of(journal, stopped=None, rollback_failures=(), dry="probes")
    assert (found.outcome, found.success) == (Outcome.NOT_CHECKED, False)
    assert (found.before, found.after) == (False, False)
