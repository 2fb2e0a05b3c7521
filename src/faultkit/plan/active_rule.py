"""A rule at work: its seeded random numbers, the origin of its schedule, and how often it has acted.

The proxy (streams) and the MCP injector (calls) each extend `ActiveRule` by what they count. Both replace a
plan through `activate_rules`, so a rule that stays through a change of plan keeps its memory in both places.
No I/O, and no clock: callers pass the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.plan.plan import Plan
from faultkit.plan.rule import Rule
from faultkit.plan.schedule import Windows


class ActiveRule:
    """One rule of the current plan and its memory."""

    __slots__ = ("_key", "injected", "origin_s", "rule", "seed", "windows")

    def __init__(self, rule: Rule, seed: int | str, origin_s: float, windows: Windows) -> None:
        self.rule = rule
        self.seed = seed
        self._key = f"{seed}|{rule.name}"
        """The beginning of the keys of all its random numbers."""
        self.origin_s = origin_s
        """Time at which the rule's schedule began, on the caller's clock."""
        self.windows = windows
        """The rule's schedule in seconds since `origin_s`."""
        self.injected = 0
        """How often the rule has acted."""

    def rng(self, *parts: object) -> Rng:
        """Return the random numbers of one unit: equal for equal seed, rule name and parts."""
        return Rng.keyed(self._key, *parts)


Active = TypeVar("Active", bound=ActiveRule)


def activate_rules(
    plan: Plan, before: Iterable[Active], activate: Callable[[Rule], Active]
) -> tuple[Active, ...]:
    """Return the active rules of `plan`, in its order, given those of the plan before it.

    A rule that has the same name, the same content and the same seed as one in `before` is that very object,
    with its counters and the origin of its schedule. All others are made by `activate`; an InputError from it
    names the rule's place in the plan."""
    known = {active.rule.name: active for active in before}
    result = []
    for index, rule in enumerate(plan.rules):
        active = known.get(rule.name)
        if active is None or active.rule != rule or active.seed != plan.seed:
            try:
                active = activate(rule)
            except InputError as error:
                raise error.within(f"rules[{index}]") from None
        result.append(active)
    return tuple(result)
