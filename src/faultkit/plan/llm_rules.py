"""A plan acting on requests to models: which rules act on which request. No I/O and no clock of its own.

Every rule that acts on a request adds to its treatment, in the order of the plan: it changes the request, or
adds a filter of the answer. The first that answers in place of the provider is the last to act. Random
numbers are keyed by seed, rule and the number of the request among those that the rule covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.faults.dialects.dialect import LlmRequest, with_body
from faultkit.faults.dialects.llm_events import LlmEvent
from faultkit.faults.llm_fault import LlmChain, LlmCircumstances, LlmFault, LlmFilter
from faultkit.plan.active_rule import ActiveRule, activate_rules
from faultkit.plan.plan import Plan, check_llm_plan
from faultkit.plan.rule import Rule

OnLlmInjection = Callable[[Rule, LlmRequest, str, float | None], None]
"""Called when a rule acts, with the effect and its amount."""


@dataclass(frozen=True, slots=True)
class LlmTreatment:
    """What becomes of one request."""

    request: LlmRequest
    """The request to pass on."""
    answer: tuple[LlmEvent, ...] | None
    """The answer, if the provider is not asked."""
    chain: LlmChain | None
    """What the answer goes through; None if no rule acts on it, so that its bytes need not be read."""
    places: tuple[int, ...] = ()
    """For each filter of the chain, the place of its rule."""
    answered_by: str = ""
    """The kind of the fault that answers, if one does."""

    def answered(self, events: Iterable[LlmEvent]) -> Iterator[LlmEvent]:
        """Yield what becomes of an answer, each event when it is taken."""
        for event in events:
            if self.chain is None:
                yield event
            else:
                yield from self.chain.feed(event)


Hit: TypeAlias = Callable[[LlmRequest], tuple[LlmFault, LlmCircumstances] | None]
"""Counts a request if a rule covers it, and returns the rule's fault and what it may use if it acts."""


def treat_request(request: LlmRequest, hits: Iterable[Hit]) -> LlmTreatment:
    """Return what the rules, in the order of the plan, do to a request."""
    filters: list[LlmFilter] = []
    places: list[int] = []
    answer: tuple[LlmEvent, ...] | None = None
    answered_by = ""
    for place, hit in enumerate(hits):
        found = hit(request)
        if found is None or answer is not None:
            continue
        fault, given = found
        verdict = fault.judge(request, given)
        if verdict.body is not None:
            request = with_body(request, verdict.body)
        answer = verdict.answer
        answered_by = "" if answer is None else fault.kind
        if verdict.filter is not None:
            filters.append(verdict.filter)
            places.append(place)
    chain = LlmChain(filters, is_array=request.framing == "array") if filters else None
    return LlmTreatment(request, answer, chain, tuple(places), answered_by)


class LlmRules:
    """An active plan. `treat` is called once for each request, in the order of arrival."""

    def __init__(self, plan: Plan, note: OnLlmInjection | None = None, *, now_s: float = 0.0) -> None:
        """Schedules count from `now_s`. `note` is called with each injection."""
        self._note = note
        self.plan = Plan()
        """The active plan. Only `set_plan` changes it."""
        self._rules: tuple[_ActiveLlmRule, ...] = ()
        self.set_plan(plan, now_s)

    def set_plan(self, plan: Plan, now_s: float = 0.0) -> None:
        """Replace the plan. Rules that stay keep their counts; schedules of new ones begin now.

        Raises InputError, without a change, if a fault of the plan does not act on LLM APIs."""
        check_llm_plan(plan)
        self._rules = activate_rules(plan, self._rules, lambda rule: _ActiveLlmRule(rule, plan.seed, now_s))
        self.plan = plan

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Requests that each rule covered and on how many it acted, by name, in the order of the plan."""
        return {each.rule.name: (each.covered, each.injected) for each in self._rules}

    def treat(
        self,
        request: LlmRequest,
        method: str,
        headers: Iterable[tuple[str, str]],
        now_s: float,
    ) -> LlmTreatment:
        """Return what becomes of a request; `now_s` is on the clock of its answer's events."""
        lines = tuple(headers)
        hits = (
            (lambda asked, active=active: active.hit(asked, method, lines, now_s, self._note))
            for active in self._rules
        )
        return treat_request(request, hits)


def covers(rule: Rule, request: LlmRequest, method: str, headers: Iterable[tuple[str, str]]) -> bool:
    """Return whether a rule may act on a request."""
    match, fault = rule.match, rule.fault
    assert isinstance(fault, LlmFault)
    return (
        match.covers_model(request.model, streamed=request.is_streamed, tool_use=request.uses_tools)
        and match.covers_request(method, request.path, headers)
        and (request.is_streamed or not fault.streams_only)
    )


class _ActiveLlmRule(ActiveRule):
    """A rule with its counters and the memory of its fault."""

    __slots__ = ("_memory", "covered", "fault")

    def __init__(self, rule: Rule, seed: int | str, origin_s: float) -> None:
        assert isinstance(rule.fault, LlmFault)
        super().__init__(rule, seed, origin_s, rule.schedule.resolve())
        self.fault = rule.fault
        self.covered = 0
        self._memory: dict[str, Any] = {}

    def hit(
        self,
        request: LlmRequest,
        method: str,
        headers: tuple[tuple[str, str], ...],
        now_s: float,
        note: OnLlmInjection | None,
    ) -> tuple[LlmFault, LlmCircumstances] | None:
        """Count the request if the rule covers it; return what its fault may use if the trigger fires."""
        if not covers(self.rule, request, method, headers):
            return None
        if not self.windows.active(now_s - self.origin_s):
            return None
        ordinal = self.covered
        self.covered += 1
        if not self.rule.trigger.fires(ordinal, self.rng(ordinal, "trigger")):
            return None

        is_counted = False

        def noted(effect: str, amount: float | None) -> None:
            nonlocal is_counted
            self.injected += not is_counted
            is_counted = True
            if note is not None:
                note(self.rule, request, effect, amount)

        return self.fault, LlmCircumstances(now_s, self.rng(ordinal), self._memory, noted)
