"""The rules of a plan at work on streams: which act now, on which unit, and what they remember. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.fault import FOREVER, Level
from faultkit.faults.http2_fault import Http2Fault
from faultkit.faults.http_fault import AnswerFault, HttpFault
from faultkit.faults.websocket_fault import WebSocketFault
from faultkit.plan import Flow, Plan, Rule, Side
from faultkit.plan.active_rule import ActiveRule, activate_rules

_NO_JUDGES = (AnswerFault, Http2Fault, WebSocketFault)
"""Those that act on answers, frames or messages instead."""


class ActiveStreamRule(ActiveRule):
    """One rule and what it remembers between connections, requests and look-ups."""

    __slots__ = (
        "_always",
        "_counts",
        "_shared",
        "acting",
        "activation",
        "any_request",
        "constant_verdict",
        "request_fault",
    )

    def __init__(self, rule: Rule, seed: int | str, origin_s: float, total_s: float | None) -> None:
        super().__init__(rule, seed, origin_s, rule.schedule.resolve(total_s))
        self.acting = False
        """True while the schedule lets the rule act; set by `refresh`."""
        self.activation = 0
        """How many windows of the schedule have begun."""
        self._always = rule.trigger.always
        self.any_request = rule.match.covers_any_request
        """True if it covers a request whatever that is."""
        fault = rule.fault
        self.request_fault: HttpFault | None = None
        """The fault, if it judges HTTP requests."""
        if isinstance(fault, HttpFault) and not isinstance(fault, _NO_JUDGES):
            self.request_fault = fault
        judging = self.request_fault
        self.constant_verdict = None if judging is None else judging.constant_verdict
        """What becomes of every request, if the fault does not draw."""
        self._counts: dict[str, int] = {}
        """Units seen so far, by proxy."""
        self._shared: dict[tuple[str, Flow], dict[str, Any]] = {}

    def fires(self, proxy: str, unit: str) -> bool:
        """Count a unit (a connection, request or look-up of `proxy`) and return whether the trigger hits it.

        Call it once for each unit."""
        if self._always:
            return True
        ordinal = self._counts.get(proxy, 0)
        self._counts[proxy] = ordinal + 1
        return self.rule.trigger.fires(ordinal, self.unit_rng(proxy, unit, "trigger"))

    def unit_rng(self, proxy: str, *parts: object) -> Rng:
        """Return the random numbers of one unit in the current activation."""
        # The first activation has no suffix, so rules without a schedule keep the keys that seeds promise.
        if self.activation <= 1:
            return Rng.keyed(self._key, proxy, *parts)
        return Rng.keyed(self._key, proxy, *parts, self.activation)

    def shared(self, proxy: str, flow: Flow) -> dict[str, Any]:
        """Return the memory that all connections of `proxy` share in one direction."""
        memory = self._shared.get((proxy, flow))
        if memory is None:
            memory = self._shared[proxy, flow] = {}
        return memory

    def refresh(self, now: float) -> None:
        """Decide whether the rule acts from `now` on."""
        elapsed = now - self.origin_s
        self.acting = self.windows.active(elapsed)
        self.activation = self.windows.activation(elapsed)

    def next_change(self, now: float) -> float:
        """Return when the rule will next begin or cease to act."""
        return self.origin_s + self.windows.next_change(now - self.origin_s)


class ActivePlan:
    """A plan at work. `refresh` decides which rules act; the other methods only read that decision."""

    __slots__ = ("plan", "rules", "total_s")

    def __init__(
        self,
        plan: Plan,
        now: float,
        total_s: float | None,
        before: ActivePlan | None = None,
        origin: float | None = None,
    ) -> None:
        """`origin`: when the schedules of new rules begin; by default `now`."""
        self.plan = plan
        self.total_s = total_s
        begin = now if origin is None else origin
        self.rules: tuple[ActiveStreamRule, ...] = activate_rules(
            plan,
            () if before is None else before.rules,
            lambda rule: ActiveStreamRule(rule, plan.seed, begin, total_s),
        )
        self.refresh(now)

    def refresh(self, now: float) -> None:
        """Decide which rules act from `now` on."""
        for state in self.rules:
            state.refresh(now)

    def next_change(self, now: float) -> float:
        """Return when the first rule will begin or cease to act."""
        return min((state.next_change(now) for state in self.rules), default=FOREVER)

    def acting_rules(self) -> frozenset[ActiveStreamRule]:
        """Return the rules that act now."""
        return frozenset(state for state in self.rules if state.acting)

    def acting_names(self) -> tuple[str, ...]:
        """Return the names of the rules that act now."""
        return tuple(state.rule.name for state in self.rules if state.acting)

    def of(self, proxy: str, level: Level) -> tuple[ActiveStreamRule, ...]:
        """Return the rules of one level that act on this proxy now."""
        return tuple(
            state
            for state in self.rules
            if state.acting and state.rule.fault.level == level and state.rule.match.covers_proxy(proxy)
        )

    def plans_before_host(self, proxy: str) -> bool:
        """Return whether any rule may act on what a client of this proxy does before it names a host."""
        return any(
            (state.rule.fault.level == "connection" or state.rule.match.side == "client")
            and state.rule.match.covers_proxy(proxy)
            for state in self.rules
        )

    def plans(self, proxy: str, level: Level) -> bool:
        """Return whether any rule of this level may act on this proxy, now or later."""
        return any(
            state.rule.fault.level == level and state.rule.match.covers_proxy(proxy) for state in self.rules
        )


def in_flow(rules: Iterable[ActiveStreamRule], flow: Flow, side: Side) -> list[ActiveStreamRule]:
    """Return the rules that act on `flow` at the socket of `side`."""
    direction = "ingress" if (side == "client") == (flow == "to_upstream") else "egress"
    return [
        state
        for state in rules
        if state.rule.match.side == side and state.rule.match.direction in (direction, "both")
    ]
