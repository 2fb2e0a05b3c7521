"""Plans that others change for a while: what holds now, and what comes back when a change expires.

Pure values; the caller brings the time. Whole plans lie on one another: the top one holds, and below it
lies what comes back. The lowest one never expires. A rule that was added belongs to the plan on top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from faultkit.plan import Plan, Rule

NEVER = math.inf


@dataclass(frozen=True, slots=True)
class Leased:
    """A rule, and until when."""

    rule: Rule
    until: float = NEVER


@dataclass(frozen=True, slots=True)
class Layer:
    rules: tuple[Leased, ...]
    seed: int | str
    until: float = NEVER


@dataclass(frozen=True, slots=True)
class Leases:
    layers: tuple[Layer, ...]
    """At least one; the last one holds."""

    @classmethod
    def of(cls, plan: Plan) -> Leases:
        return cls((_layer(plan, NEVER),))

    @property
    def plan(self) -> Plan:
        top = self.layers[-1]
        return Plan(tuple(leased.rule for leased in top.rules), top.seed)

    @property
    def until(self) -> dict[str, float]:
        """When each rule of the plan goes, if nobody does anything: its own time, or its plan's."""
        top = self.layers[-1]
        return {leased.rule.name: min(leased.until, top.until) for leased in top.rules}

    @property
    def next_expiry(self) -> float:
        times = [layer.until for layer in self.layers]
        times += [leased.until for layer in self.layers for leased in layer.rules]
        return min(times)

    def replaced(self, plan: Plan, until: float = NEVER) -> Leases:
        """Another plan on top. What would expire before it does is never seen again, so it is dropped."""
        below = tuple(layer for layer in self.layers if layer.until > until)
        return Leases((*below, _layer(plan, until)))

    def added(self, rule: Rule, until: float = NEVER) -> Leases:
        return self._with_rules((*self.layers[-1].rules, Leased(rule, until)))

    def removed(self, name: str) -> Leases:
        return self._with_rules(tuple(leased for leased in self.layers[-1].rules if leased.rule.name != name))

    def renewed(self, name: str, until: float) -> Leases:
        """The rule as it is, with another end."""
        rules = self.layers[-1].rules
        return self._with_rules(
            tuple(replace(each, until=until) if each.rule.name == name else each for each in rules)
        )

    def at(self, now: float) -> Leases:
        """Without what has expired by now."""
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
