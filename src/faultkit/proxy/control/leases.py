"""Changes that expire, as pure values: which plan is in force at each instant.

Plans form a stack. The top one is in force, and the one below it returns when it expires. The lowest one
never expires. A rule that was added belongs to the topmost plan that no run holds. A run may hold the plan on
top: a lease, which it renews, and which may end before its time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from faultkit.plan import Plan, Rule

NEVER = math.inf


@dataclass(frozen=True, slots=True)
class LeasedRule:
    """A rule and when it expires."""

    rule: Rule
    until: float = NEVER


@dataclass(frozen=True, slots=True)
class LeasedPlan:
    """One plan of the stack and when it expires."""

    rules: tuple[LeasedRule, ...]
    seed: int | str
    until: float = NEVER
    holder: str = ""
    """The run that holds it, which alone may change it; empty if none does."""


@dataclass(frozen=True, slots=True)
class Leases:
    """A stack of plans. Every method returns a new value."""

    plans: tuple[LeasedPlan, ...]
    """At least one; the last one is in force."""

    @classmethod
    def of(cls, plan: Plan) -> Leases:
        """Return a stack of one plan, which never expires."""
        return cls((_leased_plan(plan, NEVER),))

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        top = self.plans[-1]
        return Plan(tuple(leased.rule for leased in top.rules), top.seed)

    @property
    def until(self) -> dict[str, float]:
        """When each rule of the plan expires, by name: at its own time or at that of its plan."""
        top = self.plans[-1]
        return {leased.rule.name: min(leased.until, top.until) for leased in top.rules}

    @property
    def next_expiry(self) -> float:
        """When the next rule or plan expires."""
        times = [leased_plan.until for leased_plan in self.plans]
        times += [leased.until for leased_plan in self.plans for leased in leased_plan.rules]
        return min(times)

    @property
    def holder(self) -> str:
        """The run that holds the plan in force; empty if none does."""
        return self.plans[-1].holder

    def held(self, holder: str, plan: Plan, until: float) -> Leases:
        """Put the plan of a run on top, or in place of the one that it has there. None below is dropped: the
        lease may end early."""
        below = self.ended() if self.holder == holder else self
        return Leases((*below.plans, replace(_leased_plan(plan, until), holder=holder)))

    def extended(self, until: float) -> Leases:
        """Let the plan on top expire at another time."""
        return Leases((*self.plans[:-1], replace(self.plans[-1], until=until)))

    def ended(self) -> Leases:
        """Remove the plan that a run holds."""
        return Leases(self.plans[:-1]) if self.holder else self

    def replaced(self, plan: Plan, until: float = NEVER) -> Leases:
        """Put another plan on top. Plans that expire before it would never be in force again, so they are
        dropped."""
        below = tuple(leased_plan for leased_plan in self.plans if leased_plan.until > until)
        return Leases((*below, _leased_plan(plan, until)))

    @property
    def own_rules(self) -> tuple[LeasedRule, ...]:
        """The rules of the topmost plan that no run holds: those that requests may add and remove."""
        return self.ended().plans[-1].rules

    def added(self, rule: Rule, until: float = NEVER) -> Leases:
        """Add a rule."""
        return self._with_rules((*self.own_rules, LeasedRule(rule, until)))

    def removed(self, name: str) -> Leases:
        """Remove a rule. It may be one that returns only when a lease ends."""
        return self._with_rules(tuple(leased for leased in self.own_rules if leased.rule.name != name))

    def renewed(self, name: str, until: float) -> Leases:
        """Let a rule expire at another time."""
        return self._with_rules(
            tuple(replace(each, until=until) if each.rule.name == name else each for each in self.own_rules)
        )

    def at(self, now: float) -> Leases:
        """Drop what has expired by `now`."""
        if now < self.next_expiry:
            return self
        return Leases(
            tuple(
                replace(
                    leased_plan, rules=tuple(leased for leased in leased_plan.rules if leased.until > now)
                )
                for leased_plan in self.plans
                if leased_plan.until > now
            )
        )

    def _with_rules(self, rules: tuple[LeasedRule, ...]) -> Leases:
        *below, own = self.ended().plans
        held = self.plans[-1:] if self.holder else ()
        return Leases((*below, replace(own, rules=rules), *held))


def _leased_plan(plan: Plan, until: float) -> LeasedPlan:
    return LeasedPlan(tuple(LeasedRule(rule) for rule in plan.rules), plan.seed, until)
