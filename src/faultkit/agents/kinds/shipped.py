"""The agents that ship with us, from bad to good: the same errand, and another way with its failure each.

They stand for what real agents do, so that a suite runs without a key, and so that a metric can be seen to
tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.agents.kinds.step import Errand, Retry, Script, Step


@dataclass(frozen=True, slots=True)
class Goal:
    """What a shipped agent is sent out for."""

    errand: Errand
    fallback: Errand | None = None
    verify: Errand | None = None
    verified: str = ""


Shipped: TypeAlias = Callable[[Goal], Script]

_FOR_EVER = 0
_PATIENT = Retry(attempts=4, wait_ms=200, factor=2.0, jitter=0.1, obeys=True)


def looping(goal: Goal) -> Script:
    """Tries again at once until a budget ends it."""
    return Script((Step(goal.errand, Retry(attempts=_FOR_EVER)),))


def naive(goal: Goal) -> Script:
    """Tries once, and says that all is well whatever came of it."""
    return Script((Step(goal.errand, goes_on=True),), say="Done.")


def retrying(goal: Goal) -> Script:
    """Tries three times at once, then says that it could not."""
    return Script((Step(goal.errand, Retry(attempts=3)),))


def backing_off(goal: Goal) -> Script:
    """Waits longer each time, and as long as it is asked to."""
    return Script((Step(goal.errand, _PATIENT),))


def falling_back(goal: Goal) -> Script:
    """As backing_off, and then asks another tool."""
    return Script((Step(goal.errand, Retry(attempts=2, wait_ms=200, obeys=True), fallback=goal.fallback),))


def verifying(goal: Goal) -> Script:
    """As backing_off, and looks whether it was done before it does it again."""
    step = Step(goal.errand, _PATIENT, goal.verify, goal.verified, goal.fallback)
    return Script((step,))


SHIPPED: dict[str, Shipped] = {
    "looping": looping,
    "naive": naive,
    "retrying": retrying,
    "backing_off": backing_off,
    "falling_back": falling_back,
    "verifying": verifying,
}
"""In the order in which one would trust them."""
