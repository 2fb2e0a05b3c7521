"""One step at work: its limit, its verdict and its entry in the journal. A step that raises is a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.model import Step
from faultkit.chaos.experiment.plain import plain
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.experiment.tolerance import Asked, Expectation
from faultkit.chaos.experiment.work.work import Failed, Scene

_TYPES = {"check": "probe", "action": "action", "undo": "action", "pause": "action"}


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a step."""

    step: Step
    run: dict[str, Any]
    """Its entry in the journal."""
    why: str | None = None
    """What was not as expected, or why it failed."""
    raised: bool = False
    """It failed or took too long: there was no value to judge."""

    @property
    def ok(self) -> bool:
        return self.why is None


async def perform(step: Step, scene: Scene) -> Done:
    """Raises only what stops the run."""
    began, start = time.monotonic(), now_us()
    output, why, raised = None, None, False
    limit = asyncio.timeout(step.limit_s)
    try:
        async with limit:
            if step.role == "check":
                assert step.expect is not None
                output = await step.work.perform(scene)
                why = await _judged(step.expect, output)
            else:
                output = await step.work.act(scene)
    except TimeoutError as error:
        raised = True
        why = f"it did not end within {step.limit_s:g} s" if limit.expired() else f"TimeoutError: {error}"
        if limit.expired() and step.role == "action" and step.kind == "python":
            why += "; a function cannot be ended: it goes on, and may act after the rollback"
    except (Failed, FaultkitError) as error:
        why, raised = str(error), True
    except Exception as error:
        why, raised = f"{type(error).__name__}: {error}", True
    run: dict[str, Any] = {
        "activity": activity(step),
        "output": plain(output),
        "start": time_text(start),
        "status": "failed" if raised else "succeeded",
        "end": time_text(now_us()),
        "duration": time.monotonic() - began,
    }
    if raised:
        run["exception"] = [why]
    if step.role == "check":
        run["tolerance_met"] = why is None
        run["why"] = why
    return Done(step, run, why, raised)


async def _judged(expect: Expectation, output: Any) -> str | None:
    # Somebody else's code may hang.
    if isinstance(expect, Asked):
        return await in_thread(lambda: expect.why_not(output))
    return expect.why_not(output)


def activity(step: Step) -> dict[str, Any]:
    """As it was written, in the shape of Chaos Toolkit."""
    given = step.written.get(step.kind)
    provider: Mapping[str, Any] = given if isinstance(given, Mapping) else {"value": given}
    found: dict[str, Any] = {
        "type": _TYPES[step.role],
        "name": step.name,
        "provider": {"type": step.kind, **{key: value for key, value in provider.items() if key != "type"}},
    }
    if "expect" in step.written:
        found["tolerance"] = step.written["expect"]
    if step.background:
        found["background"] = True
    return found
