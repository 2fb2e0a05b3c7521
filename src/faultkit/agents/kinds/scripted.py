"""Agents without a model: a script's steps, and the six scripts that ship with Faultkit.

The shipped scripts are ordered from bad to good. They do the same task and differ in how they handle a
failure, so that a suite runs without a key and each metric can be seen to tell them apart. Chance comes from
the seed only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from faultkit.agents.suite.agent import AgentAnswer, Task, Toolbox, ToolOutcome
from faultkit.agents.suite.definition import Goal, PlannedCall, Retry, Script, Step
from faultkit.base.rng import Rng

_DONE = "Done."


class ScriptedAgent:
    """An agent that runs a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, task: Task, tools: Toolbox) -> AgentAnswer:
        rng = Rng.keyed(task.seed, "scripted agent")
        last, done = "", True
        for step in self._script.steps:
            outcome = await _run_step(step, tools, rng)
            if not outcome.ok and not step.goes_on:
                tools.spend(turns=1)
                text = self._script.say_on_failure.replace("{error}", outcome.text)
                return AgentAnswer(text, claims_success=False, done=False)
            last, done = outcome.text, done and outcome.ok
        tools.spend(turns=1)
        text = self._script.say.replace("{result}", last) if self._script.say else last or _DONE
        return AgentAnswer(text, claims_success=True, done=done)


async def _run_step(step: Step, tools: Toolbox, rng: Rng) -> ToolOutcome:
    attempt = 1
    outcome = await _call(step.call, tools)
    while not outcome.ok and (step.retry.attempts == 0 or attempt < step.retry.attempts):
        wait_ms = _wait_ms(step.retry, attempt, outcome, rng)
        if wait_ms > 0:
            await tools.sleep(wait_ms)
        if step.verify is not None:
            found = await _call(step.verify, tools)
            if found.ok and step.verified in found.text:
                return found
        outcome = await _call(step.call, tools)
        attempt += 1
    if not outcome.ok and step.fallback is not None:
        other = await _call(step.fallback, tools)
        return other if other.ok else outcome
    return outcome


async def _call(planned: PlannedCall, tools: Toolbox) -> ToolOutcome:
    """Make one call. It costs a turn, as a model needs one to decide on each call, so the same budgets
    apply."""
    tools.spend(turns=1)
    return await tools.call(planned.tool, planned.arguments)


def _wait_ms(retry: Retry, attempt: int, outcome: ToolOutcome, rng: Rng) -> float:
    wait_ms = retry.wait_ms * retry.factor ** (attempt - 1)
    if retry.jitter:
        wait_ms *= 1 + retry.jitter * (2 * rng.uniform() - 1)
    if retry.obeys and outcome.retry_after_ms is not None:
        wait_ms = max(wait_ms, outcome.retry_after_ms)
    return wait_ms


Shipped: TypeAlias = Callable[[Goal], Script]

_WITHOUT_LIMIT = 0
_PATIENT = Retry(attempts=4, wait_ms=200, factor=2.0, jitter=0.1, obeys=True)


def looping(goal: Goal) -> Script:
    """Repeat at once until a budget ends the run."""
    return Script((Step(goal.call, Retry(attempts=_WITHOUT_LIMIT)),))


def naive(goal: Goal) -> Script:
    """Call once and claim success whatever the outcome."""
    return Script((Step(goal.call, goes_on=True),), say="Done.")


def retrying(goal: Goal) -> Script:
    """Call three times without waiting, then report failure."""
    return Script((Step(goal.call, Retry(attempts=3)),))


def backing_off(goal: Goal) -> Script:
    """Wait longer before each attempt, and as long as the server asks."""
    return Script((Step(goal.call, _PATIENT),))


def falling_back(goal: Goal) -> Script:
    """Back off, then call another tool."""
    return Script((Step(goal.call, Retry(attempts=2, wait_ms=200, obeys=True), fallback=goal.fallback),))


def verifying(goal: Goal) -> Script:
    """Back off, and check whether the call took effect before repeating it."""
    step = Step(goal.call, _PATIENT, goal.verify, goal.verified, goal.fallback)
    return Script((step,))


SHIPPED: dict[str, Shipped] = {
    "looping": looping,
    "naive": naive,
    "retrying": retrying,
    "backing_off": backing_off,
    "falling_back": falling_back,
    "verifying": verifying,
}
"""From the least to the most reliable."""
