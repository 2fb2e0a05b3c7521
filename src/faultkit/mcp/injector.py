"""Which calls are hit, and by what: a plan at work on the calls of one server. No I/O, no clock of its own.

Rules are tried in their order, and the first that acts on a call has it. Each rule counts what it covers
while its schedule holds, whether or not an earlier rule had the call, so rules do not disturb one another.
Chance hangs on the seed, the rule, the server, the method, the name and how many calls of that name came
before: the same calls get the same injections, however calls of other names fall in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.faults.call.call import TRANSPORTS, Call, CallFault, Circumstances, Era, Transport, Verdict
from faultkit.mcp.targets import Inventory, mistakes_in
from faultkit.plan import Plan, Rule, check_call_plan
from faultkit.plan.windows import Windows

Note = Callable[[Rule, Call, Verdict], None]
_MOST_NAMES = 10_000
"""Names beyond these share one count: a client may make up as many as it likes."""


@dataclass(frozen=True, slots=True)
class Count:
    """What one rule has done."""

    covered: int
    injected: int


class Injector:
    """A plan at work. `decide` is asked once for each call, in the order in which calls arrive."""

    def __init__(self, plan: Plan, server: str = "", note: Note | None = None, *, now_s: float = 0.0) -> None:
        """Schedules count from `now_s`. `note` is told of each injection."""
        self._server = server
        self._note = note
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._plan = Plan()
        self._rules: tuple[_ActiveRule, ...] = ()
        self.set_plan(plan, now_s)

    @property
    def plan(self) -> Plan:
        return self._plan

    def set_plan(self, plan: Plan, now_s: float = 0.0) -> None:
        """Put another plan to work. Rules that stay keep their counts; schedules of new ones begin now.

        InputError if it has a fault that does not act on calls; nothing has changed then."""
        check_call_plan(plan)
        known = {state.rule.name: state for state in self._rules}
        states = []
        for index, rule in enumerate(plan.rules):
            state = known.get(rule.name)
            if state is None or state.rule != rule or state.seed != plan.seed:
                try:
                    state = _ActiveRule(rule, plan.seed, self._server, now_s)
                except InputError as error:
                    raise error.within(f"rules[{index}]") from None
            states.append(state)
        self._plan, self._rules = plan, tuple(states)

    def learn_tools(self, tools: Iterable[object]) -> None:
        """What a list of tools says of their results, so that wrong values can be of the right shape."""
        for tool in tools:
            if isinstance(tool, Mapping) and isinstance(tool.get("outputSchema"), Mapping):
                self._schemas[str(tool.get("name"))] = tool["outputSchema"]

    def decide(self, call: Call, now_s: float) -> tuple[Rule, Verdict] | None:
        """The rule that has this call, and what becomes of it; None if nothing does."""
        decided: tuple[Rule, Verdict] | None = None
        for state in self._rules:
            taken = state.take(call, now_s)
            if taken is None or decided is not None:
                continue
            schema = self._schemas.get(call.name) if call.method == "tools/call" else None
            verdict = state.judge(taken, schema)
            if not verdict.idle:
                decided = state.rule, verdict
                if verdict.effect:
                    state.injected += 1
                    if self._note is not None:
                        self._note(state.rule, taken.call, verdict)
        return decided

    @property
    def counts(self) -> dict[str, Count]:
        """By the names of the rules, in their order."""
        return {state.rule.name: Count(state.covered, state.injected) for state in self._rules}


@dataclass(frozen=True, slots=True)
class _Taken:
    """A call that a rule acts on, with the numbers that it has there."""

    call: Call
    key: tuple[object, ...]
    """Names the stream of its chance, which few faults ask for and which costs more than all the rest."""


class _ActiveRule:
    """One rule and what it remembers."""

    __slots__ = (
        "_key",
        "_line",
        "_memory",
        "_names",
        "_origin_s",
        "covered",
        "fault",
        "injected",
        "rule",
        "seed",
        "windows",
    )

    def __init__(self, rule: Rule, seed: int | str, server: str, origin_s: float) -> None:
        assert isinstance(rule.fault, CallFault)
        self.rule = rule
        self.fault = rule.fault
        self.seed = seed
        self.windows = _windows(rule)
        self.covered = 0
        self.injected = 0
        self._origin_s = origin_s
        self._key = (seed, rule.name, server)
        self._line = Rng.keyed(*self._key, "episode")
        self._names: dict[tuple[str, str], int] = {}
        self._memory: dict[str, Any] = {}

    def take(self, call: Call, now_s: float) -> _Taken | None:
        """Counts the call if it is covered; given back if the trigger hits it."""
        fault, rule = self.fault, self.rule
        if not rule.match.covers_call(call.server, call.method, call.name, fault.methods):
            return None
        if not self._makes_sense(call) or not self.windows.active(now_s - self._origin_s):
            return None
        name = (call.method, call.name)
        if name not in self._names and len(self._names) >= _MOST_NAMES:
            name = (call.method, "")
        ordinal, nth = self.covered, self._names.get(name, 0)
        self.covered += 1
        self._names[name] = nth + 1
        key = (*self._key, *name, nth)
        trigger = rule.trigger
        if trigger.burst > 1 or trigger.probability == 1:
            hit = trigger.in_episode(ordinal, self._line)
        else:
            hit = trigger.fires(ordinal, Rng.keyed(*key, "trigger"))
        return _Taken(replace(call, ordinal=ordinal, nth=nth), key) if hit else None

    def judge(self, taken: _Taken, schema: Mapping[str, Any] | None) -> Verdict:
        return self.fault.judge(taken.call, Circumstances(Rng.keyed(*taken.key), self._memory, schema))

    def _makes_sense(self, call: Call) -> bool:
        only = self.fault.fitting_methods()
        return self.fault.fits(call.transport, call.era) and (not only or call.method in only)


def check_plan(
    plan: Plan,
    transport: Transport,
    eras: Iterable[Era],
    has: Inventory = Inventory(),  # noqa: B008 (a frozen value)
) -> None:
    """InputError for a rule that could never act where clients speak in this way to a server that has this,
    with what would fit."""
    check_call_plan(plan)
    spoken = tuple(eras)
    for index, rule in enumerate(plan.rules):
        try:
            _check_place(rule, transport, spoken)
            _windows(rule)
            for mistake in mistakes_in(rule, has):
                raise mistake
        except InputError as error:
            raise error.within(f"rules[{index}]") from None


def _check_place(rule: Rule, transport: Transport, eras: tuple[Era, ...]) -> None:
    fault = rule.fault
    assert isinstance(fault, CallFault)
    if any(fault.fits(transport, era) for era in eras):
        return
    here = f"{transport} in the {' or '.join(eras)} era"
    places = [
        f"{other} in the {era} era" for other in TRANSPORTS for era in fault.eras if fault.fits(other, era)
    ]
    fitting = f"which is for {', '.join(places)}: {fault.instead}"
    raise InputError("fault", f'expected one that fits {here}, got "{fault.kind}", {fitting}')


def _windows(rule: Rule) -> Windows:
    if rule.schedule.needs_total:
        # Whoever serves calls does so until somebody says stop: there is no whole to have a share of.
        raise InputError(
            "schedule", f'expected durations such as "10s", got a share of the whole: "{rule.schedule}"'
        )
    return rule.schedule.resolve(None)
