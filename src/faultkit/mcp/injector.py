"""A plan acting on the calls of one server: which rule acts on which call. No I/O and no clock of its own.

Rules are tried in order, and the first that acts on a call wins. Each rule counts the calls that it covers
while its schedule is active, whether or not an earlier rule won, so rules do not disturb one another. Random
numbers are keyed by seed, rule, server, method, name and the number of earlier calls of that name: the same
calls get the same injections, whatever calls of other names come in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.faults.call_fault import (
    TRANSPORTS,
    Call,
    CallFault,
    Circumstances,
    Era,
    Frame,
    Message,
    Send,
    Transport,
    Verdict,
)
from faultkit.mcp.targets import Inventory, unmet_targets
from faultkit.plan import Plan, Rule, check_call_plan
from faultkit.plan.active_rule import ActiveRule, activate_rules
from faultkit.plan.schedule import Windows

OnInjection = Callable[[Rule, Call, Verdict], None]
"""Called with each injection."""
OnMisfit = Callable[[Rule, Call], None]
_MOST_PAST_RULES = 1_000
"""Limit of removed rules whose counters are kept."""
_MOST_NAMES = 10_000
"""Limit of names that are counted separately, because clients can invent names; the others share one
count."""


@dataclass(frozen=True, slots=True)
class RuleCount:
    """The counters of one rule."""

    covered: int
    injected: int
    """Calls that it changed. A reply in which its fault had nothing to change is not counted."""
    misfits: int = 0
    """Calls that the rule would cover, on a transport or in an era that its fault does not fit."""

    def plus(self, other: RuleCount) -> RuleCount:
        """Return the sums."""
        return RuleCount(
            self.covered + other.covered, self.injected + other.injected, self.misfits + other.misfits
        )


class Injector:
    """An active plan. `decide` is called once for each call, in the order of arrival."""

    def __init__(
        self, plan: Plan, server: str = "", note: OnInjection | None = None, *, now_s: float = 0.0
    ) -> None:
        """Schedules count from `now_s`. `note` is called with each injection."""
        self._server = server
        self._note = note
        self.on_misfit: OnMisfit = lambda rule, call: None
        """Called once for each rule that names a call and cannot act on it."""
        self._past: dict[str, RuleCount] = {}
        """Counters of rules that were removed."""
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self.plan = Plan()
        """The active plan. Only `set_plan` changes it."""
        self._rules: tuple[_ActiveCallRule, ...] = ()
        self.set_plan(plan, now_s)

    def set_plan(self, plan: Plan, now_s: float = 0.0) -> None:
        """Replace the plan. Rules that stay keep their counts; schedules of new ones begin now.

        Raises InputError, without a change, if a fault of the plan does not act on calls."""
        check_call_plan(plan)
        before = self._rules
        self._rules = activate_rules(
            plan, before, lambda rule: _ActiveCallRule(rule, plan.seed, self._server, now_s)
        )
        for state in before:
            if state not in self._rules and (
                state.rule.name in self._past or len(self._past) < _MOST_PAST_RULES
            ):
                past = self._past.get(state.rule.name, RuleCount(0, 0))
                self._past[state.rule.name] = past.plus(state.count)
        self.plan = plan

    def learn_tools(self, tools: Iterable[object]) -> None:
        """Learn output schemas from a list of tools, so that faults can make wrong values of the right
        shape."""
        for tool in tools:
            if isinstance(tool, Mapping) and isinstance(tool.get("outputSchema"), Mapping):
                self._schemas[str(tool.get("name"))] = tool["outputSchema"]

    def decide(self, call: Call, now_s: float) -> tuple[Rule, Verdict] | None:
        """Return the rule that acts on this call and its verdict; None if no rule does."""
        decided: tuple[Rule, Verdict] | None = None
        for state in self._rules:
            hit = state.hit(call, now_s, self.on_misfit)
            if hit is None or decided is not None:
                continue
            schema = self._schemas.get(call.name) if call.method == "tools/call" else None
            verdict = state.judge(hit, schema)
            if verdict.effect:
                verdict = self._counted(state, hit.call, verdict)
            if not verdict.idle:
                decided = state.rule, verdict
        return decided

    def _counted(self, state: _ActiveCallRule, call: Call, verdict: Verdict) -> Verdict:
        """Count an injection: now or, if it only rewrites the reply, once a reply comes in which there was
        something to change. Return the verdict to execute."""
        rewrite = verdict.frames
        if not verdict.only_rewrites or rewrite is None:
            self._count(state, call, verdict)
            return verdict
        is_counted = False

        def frames(reply: Message | None) -> tuple[Frame, ...]:
            nonlocal is_counted
            made = rewrite(reply)
            if reply is not None and not is_counted and made != (Send(reply),):
                is_counted = True
                self._count(state, call, verdict)
            return made

        return replace(verdict, frames=frames)

    def _count(self, state: _ActiveCallRule, call: Call, verdict: Verdict) -> None:
        state.injected += 1
        if state not in self._rules and (past := self._past.get(state.rule.name)) is not None:
            # The rule was removed while the call was open.
            self._past[state.rule.name] = past.plus(RuleCount(0, 1))
        if self._note is not None:
            self._note(state.rule, call, verdict)

    @property
    def counts(self) -> dict[str, RuleCount]:
        """Counters by the name of the rule, in the order of the plan."""
        return {state.rule.name: state.count for state in self._rules}

    @property
    def total_counts(self) -> dict[str, RuleCount]:
        """Counters by the name of the rule, of removed rules too."""
        totals = dict(self._past)
        for name, count in self.counts.items():
            totals[name] = totals[name].plus(count) if name in totals else count
        return totals


@dataclass(frozen=True, slots=True)
class _HitCall:
    """A call that a rule acts on."""

    call: Call
    """The call, with its numbers among the calls that the rule covers."""
    key: tuple[object, ...]
    """Key of its random numbers. The generator is made only if asked for: it costs more than all the rest."""


class _ActiveCallRule(ActiveRule):
    """A rule with its counters and the memory of its fault."""

    __slots__ = ("_call_key", "_counts_by_name", "_episodes", "_memory", "covered", "fault", "misfits")

    def __init__(self, rule: Rule, seed: int | str, server: str, origin_s: float) -> None:
        assert isinstance(rule.fault, CallFault)
        super().__init__(rule, seed, origin_s, _windows(rule))
        self.fault = rule.fault
        self.covered = 0
        self.misfits = 0
        self._call_key = (seed, rule.name, server)
        self._episodes = self.rng(server, "episode")
        self._counts_by_name: dict[tuple[str, str], int] = {}
        self._memory: dict[str, Any] = {}

    @property
    def count(self) -> RuleCount:
        return RuleCount(self.covered, self.injected, self.misfits)

    def hit(self, call: Call, now_s: float, on_misfit: OnMisfit) -> _HitCall | None:
        """Count the call if the rule covers it; return it if the trigger fires."""
        fault, rule = self.fault, self.rule
        if not rule.match.covers_call(call.server, call.method, call.name, fault.methods):
            return None
        if not self._fits_method(call) or not self.windows.active(now_s - self.origin_s):
            return None
        if not fault.fits(call.transport, call.era):
            self.misfits += 1
            if self.misfits == 1:
                on_misfit(rule, call)
            return None
        name = (call.method, call.name)
        if name not in self._counts_by_name and len(self._counts_by_name) >= _MOST_NAMES:
            name = (call.method, "")
        ordinal, nth = self.covered, self._counts_by_name.get(name, 0)
        self.covered += 1
        self._counts_by_name[name] = nth + 1
        key = (*self._call_key, *name, nth)
        trigger = rule.trigger
        if trigger.burst > 1 or trigger.probability == 1:
            fires = trigger.in_episode(ordinal, self._episodes)
        else:
            fires = trigger.fires(ordinal, Rng.keyed(*key, "trigger"))
        return _HitCall(replace(call, ordinal=ordinal, nth=nth), key) if fires else None

    def judge(self, hit: _HitCall, schema: Mapping[str, Any] | None) -> Verdict:
        return self.fault.judge(hit.call, Circumstances(Rng.keyed(*hit.key), self._memory, schema))

    def _fits_method(self, call: Call) -> bool:
        only = self.fault.fitting_methods()
        return not only or call.method in only


def check_plan(
    plan: Plan,
    transport: Transport,
    eras: Iterable[Era],
    has: Inventory = Inventory(),  # noqa: B008 (a frozen value)
) -> None:
    """Raise InputError for a rule that can never act on this transport and server, with one that would
    fit."""
    check_call_plan(plan)
    spoken = tuple(eras)
    for index, rule in enumerate(plan.rules):
        try:
            _check_place(rule, transport, spoken)
            _windows(rule)
            for mistake in unmet_targets(rule, has):
                raise mistake
        except InputError as error:
            raise error.within(f"rules[{index}]") from None


def _check_place(rule: Rule, transport: Transport, eras: tuple[Era, ...]) -> None:
    fault = rule.fault
    assert isinstance(fault, CallFault)
    if any(fault.fits(transport, era) for era in eras):
        return
    here = f"{transport} in the {' or '.join(eras)} era"
    fitting = f"which is for {', '.join(places_of(rule))}: {fault.instead}"
    raise InputError("fault", f'expected one that fits {here}, got "{fault.kind}", {fitting}')


def places_of(rule: Rule) -> list[str]:
    """Return the transports and eras in which the fault of a rule makes sense."""
    fault = rule.fault
    assert isinstance(fault, CallFault)
    places = [(other, era) for other in TRANSPORTS for era in fault.eras if fault.fits(other, era)]
    return [f"{other} in the {era} era" for other, era in places]


def _windows(rule: Rule) -> Windows:
    if rule.schedule.needs_total:
        # A server runs until it is stopped: there is no total duration of which a share could be hit.
        raise InputError(
            "schedule", f'expected durations such as "10s", got a share of the whole: "{rule.schedule}"'
        )
    return rule.schedule.resolve(None)
