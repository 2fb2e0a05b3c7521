"""The rules of a plan at work: which act now, on which unit, and what they remember. No I/O.

A rule that stays through a plan change keeps its memory: its schedule's origin, its counters and
what its connections share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.fault import FOREVER, Level
from faultkit.plan import Flow, Plan, Rule, Side, Windows


class ActiveRule:
    """One rule and what it remembers between connections, requests and look-ups."""

    __slots__ = (
        "_counts",
        "_shared",
        "acting",
        "activation",
        "injected",
        "origin",
        "rule",
        "seed",
        "windows",
    )

    def __init__(self, rule: Rule, seed: int | str, origin: float, total_s: float | None) -> None:
        self.rule = rule
        self.seed = seed
        self.origin = origin
        self.windows: Windows = rule.schedule.resolve(total_s)
        self.acting = False
        self.activation = 0
        self.injected = 0
        self._counts: dict[str, int] = {}
        self._shared: dict[tuple[str, Flow], dict[str, Any]] = {}

    def fires(self, proxy: str, unit: str) -> bool:
        """Whether this unit (a connection, request or look-up of `proxy`) is hit. Ask once per unit."""
        ordinal = self._counts.get(proxy, 0)
        self._counts[proxy] = ordinal + 1
        return self.rule.trigger.fires(ordinal, self.rng(proxy, unit, "trigger"))

    def rng(self, proxy: str, *parts: object) -> Rng:
        """The numbers for one unit: the same for the same seed, rule, proxy and unit."""
        again = (self.activation,) if self.activation > 1 else ()
        return Rng.keyed(self.seed, self.rule.name, proxy, *parts, *again)

    def shared(self, proxy: str, flow: Flow) -> dict[str, Any]:
        return self._shared.setdefault((proxy, flow), {})

    def refresh(self, now: float) -> None:
        elapsed = now - self.origin
        self.acting = self.windows.active(elapsed)
        self.activation = self.windows.activation(elapsed)

    def next_change(self, now: float) -> float:
        return self.origin + self.windows.next_change(now - self.origin)


class ActivePlan:
    """A plan at work. `refresh` decides which rules act; the other methods only read that."""

    __slots__ = ("plan", "rules", "total_s")

    def __init__(
        self,
        plan: Plan,
        now: float,
        total_s: float | None,
        before: ActivePlan | None = None,
        origin: float | None = None,
    ) -> None:
        """`origin`: when new rules' schedules begin; by default now."""
        known = {} if before is None else {state.rule.name: state for state in before.rules}
        self.plan = plan
        self.total_s = total_s
        self.rules: list[ActiveRule] = []
        for rule in plan.rules:
            state = known.get(rule.name)
            if state is None or state.rule != rule or state.seed != plan.seed:
                state = ActiveRule(rule, plan.seed, now if origin is None else origin, total_s)
            self.rules.append(state)
        self.refresh(now)

    def refresh(self, now: float) -> None:
        for state in self.rules:
            state.refresh(now)

    def next_change(self, now: float) -> float:
        return min((state.next_change(now) for state in self.rules), default=FOREVER)

    def acting_names(self) -> tuple[str, ...]:
        return tuple(state.rule.name for state in self.rules if state.acting)

    def of(self, proxy: str, level: Level) -> tuple[ActiveRule, ...]:
        """The rules of one level that act on this proxy now."""
        return tuple(
            state
            for state in self.rules
            if state.acting and state.rule.fault.level == level and state.rule.match.covers_proxy(proxy)
        )

    def plans(self, proxy: str, level: Level) -> bool:
        """Whether any rule of this level may act on this proxy, now or later."""
        return any(
            state.rule.fault.level == level and state.rule.match.covers_proxy(proxy) for state in self.rules
        )


def in_flow(rules: Iterable[ActiveRule], flow: Flow, side: Side) -> list[ActiveRule]:
    """Those that act on `flow` at the socket of `side`."""
    direction = "ingress" if (side == "client") == (flow == "to_upstream") else "egress"
    return [
        state
        for state in rules
        if state.rule.match.side == side and state.rule.match.direction in (direction, "both")
    ]
