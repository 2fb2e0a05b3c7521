"""The step `breakpoint`: how strong a rule of a proxy or gateway may get until the steady state breaks.

At each value, the rule is added as a step `proxy` adds it, with its undo in the ledger first; the checks of
the steady state are repeated; then the rule is removed. `faultkit.load.search` owns the method, in which a
round of checks is a request: good if all of them were met.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar

from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.base.text import counted
from faultkit.chaos.steps.fault_steps import PLAN_CHANGE, PlanChange, build_plan_change
from faultkit.chaos.steps.step_work import ANY_MAPPING_SCHEMA, StepContext
from faultkit.load.search.breaking_point import find_breaking_point
from faultkit.load.search.search_values import Block
from faultkit.plan import Rule
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_trials import (
    goal_of_trials,
    measured_trials,
    search_document,
)
from faultkit.scenario.search_report import why_missed
from faultkit.scenario.search_setting import rules_at, value_text
from faultkit.scenario.trial_keys import require_range, trial_search_keys
from faultkit.scenario.trial_search import TrialSearch, read_trial_search

SUBJECT = "The steady state"
_PLACES = ("proxy", "gateway")

BREAKPOINT = KeyTable(
    Key(
        "proxy",
        schema=ANY_MAPPING_SCHEMA,
        help="The rule: `control`, `token` and `add`, as of a step `proxy`.",
    ),
    Key("gateway", schema=ANY_MAPPING_SCHEMA, help="The same at a gateway, in place of `proxy`."),
    *trial_search_keys(
        "The setting of the rule's fault that is searched, or `probability`.",
        "The share of the rounds in which the steady state must be met.",
        "How many rounds of checks the search may take.",
        "The run deviates unless the steady state is shown to hold up to this value.",
    ),
)


@dataclass(frozen=True, slots=True)
class BreakpointSearch:
    """A search for the value of a rule's setting from which on the steady state is not met."""

    change: PlanChange
    """Adds the rule, at any value."""
    search: TrialSearch
    kind: ClassVar[str] = "breakpoint"
    usual_limit_s: ClassVar[float] = 600.0

    @property
    def says(self) -> str:
        most = counted(self.search.budget, "round")
        return f"search {self.search.says} for where the steady state breaks, in up to {most} of checks"

    @property
    def _rule(self) -> Rule:
        assert self.change.add is not None, "build_breakpoint has checked it"
        return self.change.add

    def resolve(self, context: StepContext) -> None:
        self.change.resolve(context)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        """Search; return the sentence with its figures."""
        began = time.monotonic()
        wanted, goal = self.search, goal_of_trials(self.search.share)
        search = find_breaking_point(wanted.varied.scale, [goal], wanted.budget, context.seed or 0)
        block = next(search)
        for number_ in itertools.count(1):
            passed = await self._rounds(context, block, number_)
            try:
                block = search.send(measured_trials(passed))
            except StopIteration as end:
                found = wanted.report(end.value, "the steady state is met", time.monotonic() - began)
                break
        document = search_document(found, SUBJECT, "round")
        if (why := self._why_deviated(found)) is not None:
            context.deviations.append(why)
        elif found.outcome == "inconclusive" and self.search.at_least is None:
            context.undecided.append(document["sentence"])
        context.breaking_points.append(document)
        return document

    def _why_deviated(self, found: SearchReport) -> str | None:
        if found.outcome == "already_broken":
            at = value_text(found.harmless, found.unit)
            return f"the steady state is broken at {at} already, the harmless end of the range"
        return why_missed(found)

    async def _rounds(self, context: StepContext, block: Block, number_: int) -> list[bool]:
        """Repeat the checks with the rule at a value, and return whether all were met, of each round."""
        (rule,) = rules_at([self._rule], self.search.varied, block.value)
        # A name of its own: the control API goes on counting the hits of a name that is added again.
        rule = replace(rule, name=self._name(number_))
        change = replace(self.change, add=rule)
        await change.act(context)
        self._merge_faults(context, number_)
        passed = [await context.is_steady() for _ in range(ceil(block.requests))]
        await replace(change, add=None, remove=rule.name).act(context)
        context.on_level(
            {
                "setting": self.search.varied.path,
                "value": block.value,
                "unit": self.search.varied.unit,
                "phase": block.phase,
                "rounds": len(passed),
                "met": sum(passed),
            }
        )
        return passed

    def _name(self, number_: int) -> str:
        return f"{self._rule.name}-{number_}"

    def _merge_faults(self, context: StepContext, number_: int) -> None:
        """Report the rule just added as one with those of earlier values, whose hits are known."""
        last, added = (
            [each for each in context.faults if each.source == (self.change.control, own)]
            for own in (context.own_rule_name(self._name(number)) for number in (number_ - 1, number_))
        )
        earlier = sum(each.count() for each in last)
        merged = [
            replace(
                each,
                name=self._rule.name,
                settings={"searched": self.search.says},
                count=partial(_sum_of, earlier, each.count),
            )
            for each in added
        ]
        context.faults[:] = [*(each for each in context.faults if each not in (*last, *added)), *merged]


def _sum_of(earlier: int, count: Callable[[], int]) -> int:
    return earlier + count()


def build_breakpoint(reader: MappingReader) -> BreakpointSearch | None:
    """Return the work of a step `breakpoint`; None if it has mistakes, which are added to the problems."""
    before = len(reader.problems)
    change = _change(reader)
    setting = reader.take("vary")
    if change is None or change.add is None or len(reader.problems) > before:
        require_range(reader)
        return None
    search = read_trial_search(reader, [change.add], 0, setting, "rounds")
    return None if search is None else BreakpointSearch(change, search)


def _change(reader: MappingReader) -> PlanChange | None:
    place = reader.need_one(_PLACES)
    if place is None:
        return None
    inner = reader.inner(place, PLAN_CHANGE)
    if isinstance(reader.given[place], Mapping) and "add" not in inner.given:
        inner.note("add", InputError("", "expected the rule whose setting is searched, got none"))
        return None
    return build_plan_change(inner, place)
