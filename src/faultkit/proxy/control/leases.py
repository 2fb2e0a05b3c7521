"""Leases: changes of a plan that expire, and the plan that returns then.

Pure values; the caller passes the time. Plans form a stack: the top one is in force, and the one below it
returns when it expires. The lowest one never expires. A rule that was added belongs to the plan on top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from faultkit.plan import Plan, Rule

NEVER = math.inf


@dataclass(frozen=True, slots=True)
class Leased:
    """A rule and when it expires."""

    rule: Rule
    until: float = NEVER


@dataclass(frozen=True, slots=True)
class Layer:
    """One plan of the stack and when it expires."""

    rules: tuple[Leased, ...]
    seed: int | str
    until: float = NEVER


@dataclass(frozen=True, slots=True)
class Leases:
    """A stack of plans. Every method returns a new value."""

    layers: tuple[Layer, ...]
    """At least one; the last one is in force."""

    @classmethod
    def of(cls, plan: Plan) -> Leases:
        """Return a stack of one plan, which never expires."""
        return cls((_layer(plan, NEVER),))

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        top = self.layers[-1]
        return Plan(tuple(leased.rule for leased in top.rules), top.seed)

    @property
    def until(self) -> dict[str, float]:
        """When each rule of the plan expires, by name: at its own time or at that of its plan."""
        top = self.layers[-1]
        return {leased.rule.name: min(leased.until, top.until) for leased in top.rules}

    @property
    def next_expiry(self) -> float:
        """When the next rule or plan expires."""
        times = [layer.until for layer in self.layers]
        times += [leased.until for layer in self.layers for leased in layer.rules]
        return min(times)

    def replaced(self, plan: Plan, until: float = NEVER) -> Leases:
        """Put another plan on top. Plans that expire before it would never be in force again, so they are
        dropped."""
        below = tuple(layer for layer in self.layers if layer.until > until)
        return Leases((*below, _layer(plan, until)))

    def added(self, rule: Rule, until: float = NEVER) -> Leases:
        """Add a rule to the plan on top."""
        return self._with_rules((*self.layers[-1].rules, Leased(rule, until)))

    def removed(self, name: str) -> Leases:
        """Remove a rule from the plan on top."""
        return self._with_rules(tuple(leased for leased in self.layers[-1].rules if leased.rule.name != name))

    def renewed(self, name: str, until: float) -> Leases:
        """Let a rule expire at another time."""
        rules = self.layers[-1].rules
        return self._with_rules(
            tuple(replace(each, until=until) if each.rule.name == name else each for each in rules)
        )

    def at(self, now: float) -> Leases:
        """Drop what has expired by `now`."""
        if now < self.next_expiry:
            return self
        return Leases(
            tuple(
                replace(layer, rules=tuple(leased for leased in layer.rules if leased.until > now))
                for layer in self.layers
                if layer.until > now
            )
        )

    def _with_rules(self, rules: tuple[Leased, ...]) -> Leases:
        return Leases((*self.layers[:-1], replace(self.layers[-1], rules=rules)))


def _layer(plan: Plan, until: float) -> Layer:
    return Layer(tuple(Leased(rule) for rule in plan.rules), plan.seed, until)
