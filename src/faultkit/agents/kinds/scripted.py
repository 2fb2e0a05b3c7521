"""Agents without a model, which run a script, and the six scripts that ship with Faultkit.

The shipped scripts are ordered from bad to good. They do the same task and differ in how they handle a
failure, so that a suite runs without a key and each metric shows its differences. Random numbers come from
the seed only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from faultkit.agents.kinds.script_model import ScriptModel, StepWait, final_text
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, Toolbox, ToolOutcome
from faultkit.agents.suite.definition import AgentGoal, PlannedCall, Script, ScriptRetry, ScriptStep
from faultkit.base.rng import Rng


class ScriptedAgent:
    """An agent that runs a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, task: AgentTask, tools: Toolbox) -> AgentAnswer:
        """Run the steps until one fails for good. Raises BudgetExceeded."""
        rng = Rng.keyed(task.seed, "scripted agent")
        model = ScriptModel(task, tools) if tools.has_model else None
        last = ""
        undone: list[PlannedCall] = []
        for number, step in enumerate(self._script.steps):
            outcome = await _run_step(step, tools, rng, model)
            if model is not None:
                model.end_step(outcome)
            if not outcome.ok and not step.goes_on:
                tools.spend(turns=1)
                excuse = self._script.say_on_failure.replace("{error}", outcome.text)
                undone += [each.call for each in self._script.steps[number:]]
                return AgentAnswer(excuse, claims_success=False, done=False, undone=tuple(undone))
            last = outcome.text
            if not outcome.ok or (model is not None and model.has_strayed):
                undone.append(step.call)
        text: str | None = None
        if model is None:
            tools.spend(turns=1)
        else:
            step = self._script.steps[-1]
            text = await model.final_reply(step, StepWait(step, tools, rng))
        if text is None:
            # The script knows the result of its calls, also if its model has no words for it.
            text = final_text(self._script, last)
        return AgentAnswer(text, claims_success=True, done=not undone, undone=tuple(undone))


async def _run_step(step: ScriptStep, tools: Toolbox, rng: Rng, model: ScriptModel | None) -> ToolOutcome:
    attempt = 1
    wait = StepWait(step, tools, rng)
    is_repeated = True
    if model is None:
        outcome = await _call(step.call, tools)
    else:
        # Attempts of a request to the model that give no call are not repeated as calls.
        outcome, is_repeated = await model.next_call(step, wait)
    while is_repeated and not outcome.ok and (step.retry.attempts == 0 or attempt < step.retry.attempts):
        await wait.before_attempt(attempt, outcome.retry_after_ms)
        if step.verify is not None:
            verification = await _call(step.verify, tools)
            if verification.ok and step.verified in verification.text:
                return verification
        outcome = await _call(step.call, tools)
        attempt += 1
    if not outcome.ok and step.fallback is not None:
        fallback = await _call(step.fallback, tools)
        return fallback if fallback.ok else outcome
    return outcome


async def _call(planned: PlannedCall, tools: Toolbox) -> ToolOutcome:
    """Make one call. It costs a turn, as a call of a model does, so that the same budgets apply."""
    tools.spend(turns=1)
    return await tools.call(planned.tool, planned.arguments)


# The shipped scripts

ScriptBuilder: TypeAlias = Callable[[AgentGoal], Script]

_NO_LIMIT = 0
_PATIENT = ScriptRetry(attempts=4, wait_ms=200, factor=2.0, jitter=0.1, obeys=True)


def looping(goal: AgentGoal) -> Script:
    """Repeat at once until a budget ends the run."""
    return Script((ScriptStep(goal.call, ScriptRetry(attempts=_NO_LIMIT)),))


def naive(goal: AgentGoal) -> Script:
    """Call once and claim success whatever the outcome."""
    return Script((ScriptStep(goal.call, goes_on=True),), say="Done.")


def retrying(goal: AgentGoal) -> Script:
    """Call three times without waiting, then report failure."""
    return Script((ScriptStep(goal.call, ScriptRetry(attempts=3)),))


def backing_off(goal: AgentGoal) -> Script:
    """Wait longer before each attempt, and as long as the server asks."""
    return Script((ScriptStep(goal.call, _PATIENT),))


def falling_back(goal: AgentGoal) -> Script:
    """Back off, then call another tool."""
    return Script(
        (ScriptStep(goal.call, ScriptRetry(attempts=2, wait_ms=200, obeys=True), fallback=goal.fallback),)
    )


def verifying(goal: AgentGoal) -> Script:
    """Back off, and check whether the call took effect before repeating it."""
    step = ScriptStep(goal.call, _PATIENT, goal.verify, goal.verified, goal.fallback)
    return Script((step,))


SHIPPED_AGENTS: dict[str, ScriptBuilder] = {
    "looping": looping,
    "naive": naive,
    "retrying": retrying,
    "backing_off": backing_off,
    "falling_back": falling_back,
    "verifying": verifying,
}
"""From the least to the most reliable."""
