"""An agent that does what a script says: no model, no chance but that of its seed."""

from __future__ import annotations

from faultkit.agents.kinds.agent import LastWord, Task, Toolbox, ToolOutcome
from faultkit.agents.kinds.step import Errand, Retry, Script, Step
from faultkit.base.rng import Rng

_DONE = "Done."


class ScriptedAgent:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def run(self, task: Task, tools: Toolbox) -> LastWord:
        rng = Rng.keyed(task.seed, "scripted agent")
        last, done = "", True
        for step in self._script.steps:
            outcome = await _take(step, tools, rng)
            if not outcome.ok and not step.goes_on:
                tools.spend(turns=1)
                text = self._script.say_on_failure.replace("{error}", outcome.text)
                return LastWord(text, claims_success=False, done=False)
            last, done = outcome.text, done and outcome.ok
        tools.spend(turns=1)
        text = self._script.say.replace("{result}", last) if self._script.say else last or _DONE
        return LastWord(text, claims_success=True, done=done)


async def _take(step: Step, tools: Toolbox, rng: Rng) -> ToolOutcome:
    attempt = 1
    outcome = await _go(step.errand, tools)
    while not outcome.ok and (step.retry.attempts == 0 or attempt < step.retry.attempts):
        wait_ms = _wait_ms(step.retry, attempt, outcome, rng)
        if wait_ms > 0:
            await tools.sleep(wait_ms)
        if step.verify is not None:
            found = await _go(step.verify, tools)
            if found.ok and step.verified in found.text:
                return found
        outcome = await _go(step.errand, tools)
        attempt += 1
    if not outcome.ok and step.fallback is not None:
        other = await _go(step.fallback, tools)
        return other if other.ok else outcome
    return outcome


async def _go(errand: Errand, tools: Toolbox) -> ToolOutcome:
    """A model would have used a turn to decide on each call: so does this, and the same budgets hold it."""
    tools.spend(turns=1)
    return await tools.call(errand.tool, errand.arguments)


def _wait_ms(retry: Retry, attempt: int, outcome: ToolOutcome, rng: Rng) -> float:
    wait_ms = retry.wait_ms * retry.factor ** (attempt - 1)
    if retry.jitter:
        wait_ms *= 1 + retry.jitter * (2 * rng.uniform() - 1)
    if retry.obeys and outcome.retry_after_ms is not None:
        wait_ms = max(wait_ms, outcome.retry_after_ms)
    return wait_ms
