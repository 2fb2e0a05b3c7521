"""The step `breakpoint`: how strong a rule of a proxy or gateway may get until the steady state breaks.

At each value, the rule is added as a step `proxy` adds it, with its undo in the ledger first; the checks of
the steady state are repeated; then the rule is removed. `faultkit.load.search` owns the method, in which a
round of checks is a request: good if all of them were met.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice, number, text
from faultkit.base.errors import InputError
from faultkit.base.text import counted
from faultkit.chaos.steps.fault_steps import PLAN_CHANGE, PlanChange, build_plan_change
from faultkit.chaos.steps.step_work import ANY_MAPPING_SCHEMA, StepContext
from faultkit.load.search.breaking_point import fewest_of_search, find_breaking_point
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import Block
from faultkit.plan import Rule
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_trials import (
    goal_of_trials,
    measured_trials,
    search_document,
    trials_report,
)
from faultkit.scenario.scenario_model import VariedSetting, WrittenFault
from faultkit.scenario.search_report import why_missed
from faultkit.scenario.search_setting import (
    SettingPlace,
    read_value,
    rules_at,
    setting_of_fault,
    value_text,
)

USUAL_SHARE = 0.75
USUAL_BUDGET = 600
SUBJECT = "The steady state"
_PLACES = ("proxy", "gateway")
_MOST_ROUNDS = 10**6
_VALUE_SCHEMA = {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}


def _read_share(value: object) -> float:
    given = read_value(value, "")
    if not 0 < given < 1:
        raise InputError("", f"expected a share between 0 and 1 such as 0.75 or 75%, got {shown(value)}")
    return given


def _read_budget(value: object) -> int:
    given = number("a number of rounds")(value)
    if given != int(given) or not 1 <= given <= _MOST_ROUNDS:
        raise InputError(
            "", f"expected a whole number of rounds from 1 to {_MOST_ROUNDS}, got {shown(value)}"
        )
    return int(given)


BREAKPOINT = KeyTable(
    Key(
        "proxy",
        schema=ANY_MAPPING_SCHEMA,
        help="The rule: `control`, `token` and `add`, as of a step `proxy`.",
    ),
    Key("gateway", schema=ANY_MAPPING_SCHEMA, help="The same at a gateway, in place of `proxy`."),
    Key(
        "vary",
        text,
        TEXT_SCHEMA,
        "",
        "The setting of the rule's fault that is searched, or `probability`.",
        "a setting of the rule's fault",
    ),
    Key("from", schema=_VALUE_SCHEMA, help="The harmless end of the range.", required="the harmless end"),
    Key("to", schema=_VALUE_SCHEMA, help="The harmful end.", required="the harmful end"),
    Key(
        "scale",
        choice(("linear", "log")),
        {"enum": ["linear", "log"]},
        "linear",
        "How the range is divided; log for ranges over several powers of ten.",
    ),
    Key("precision", schema=_VALUE_SCHEMA, help="The least difference of two values that matters."),
    Key(
        "share",
        _read_share,
        _VALUE_SCHEMA,
        USUAL_SHARE,
        "The share of the rounds in which the steady state must be met.",
    ),
    Key(
        "budget",
        _read_budget,
        {"type": "integer", "minimum": 1},
        USUAL_BUDGET,
        "How many rounds of checks the search may take.",
    ),
    Key(
        "at_least",
        schema=_VALUE_SCHEMA,
        help="The run deviates unless the steady state is shown to hold up to this value.",
    ),
)


@dataclass(frozen=True, slots=True)
class BreakpointSearch:
    """A search for the value of a rule's setting from which on the steady state is not met."""

    change: PlanChange
    """Adds the rule, at any value."""
    varied: VariedSetting
    share: float = USUAL_SHARE
    budget: int = USUAL_BUDGET
    at_least: float | None = None
    kind: ClassVar[str] = "breakpoint"
    usual_limit_s: ClassVar[float] = 600.0

    @property
    def says(self) -> str:
        most = counted(self.budget, "round")
        return f"search {self._searched} for where the steady state breaks, in up to {most} of checks"

    @property
    def _searched(self) -> str:
        scale, unit = self.varied.scale, self.varied.unit
        ends = f"{value_text(scale.harmless, unit)} to {value_text(scale.harmful, unit)}"
        return f"{self.varied.path} from {ends}"

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
        search = find_breaking_point(
            self.varied.scale, [goal_of_trials(self.share)], self.budget, context.seed or 0
        )
        block = next(search)
        for number_ in itertools.count(1):
            passed = await self._rounds(context, block, number_)
            try:
                block = search.send(measured_trials(passed))
            except StopIteration as end:
                found = trials_report(
                    end.value,
                    setting=self.varied.path,
                    unit=self.varied.unit,
                    scale=self.varied.scale,
                    objective="the steady state is met",
                    share=self.share,
                    budget=self.budget,
                    spent_s=time.monotonic() - began,
                    at_least=self.at_least,
                )
                break
        document = search_document(found, SUBJECT, "round")
        if (why := self._why_deviated(found)) is not None:
            context.deviations.append(why)
        elif found.outcome == "inconclusive" and self.at_least is None:
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
        (rule,) = rules_at([self._rule], self.varied, block.value)
        # A name of its own: the control API goes on counting the hits of a name that is added again.
        rule = replace(rule, name=f"{rule.name}-{number_}")
        change = replace(self.change, add=rule)
        await change.act(context)
        passed = [await context.is_steady() for _ in range(ceil(block.requests))]
        await replace(change, add=None, remove=rule.name).act(context)
        self._merge_faults(context, rule.name)
        context.on_level(
            {
                "setting": self.varied.path,
                "value": block.value,
                "unit": self.varied.unit,
                "phase": block.phase,
                "rounds": len(passed),
                "met": sum(passed),
            }
        )
        return passed

    def _merge_faults(self, context: StepContext, added: str) -> None:
        """Report the rule once, with its hits at all values; the removal has counted the last ones."""
        total = (self.change.control, context.own_rule_name(self._rule.name))
        sources = (total, (self.change.control, context.own_rule_name(added)))
        own = [each for each in context.faults if each.source in sources]
        hits = sum(each.count() for each in own)
        merged = replace(
            own[-1],
            name=self._rule.name,
            settings={"searched": self._searched},
            count=partial(int, hits),
            source=total,
        )
        context.faults[:] = [*(each for each in context.faults if each.source not in sources), merged]


def build_breakpoint(reader: MappingReader) -> BreakpointSearch | None:
    """Return the work of a step `breakpoint`; None if it has mistakes, which are added to the problems."""
    before = len(reader.problems)
    change = _change(reader)
    name = reader.take("vary")
    spacing, share, budget = reader.take("scale"), reader.take("share"), reader.take("budget")
    for key in ("from", "to"):
        reader.require(key, BREAKPOINT[key].required)
    if change is None or change.add is None or len(reader.problems) > before:
        return None
    found = _setting(reader, change.add, name)
    if found is None:
        return None
    unit = found.unit
    low, high = (reader.take(key, partial(read_value, unit=unit), None) for key in ("from", "to"))
    precision = reader.take("precision", partial(read_value, unit=unit), 0.0)
    at_least = reader.take("at_least", partial(read_value, unit=unit), None)
    if low is None or high is None or len(reader.problems) > before:
        return None
    try:
        if precision < 0:
            raise ValueError(f"resolution: expected a number above 0, got {precision:g}")
        scale = Scale(low, high, spacing, precision, found.is_whole)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        reader.note("precision" if field == "resolution" else "to", InputError("", problem))
        return None
    path = f"{change.add.name}.{name}"
    search = BreakpointSearch(
        change, VariedSetting(path, 0, found.name, unit, scale), share, budget, at_least
    )
    _check(reader, search)
    return search if len(reader.problems) == before else None


def _change(reader: MappingReader) -> PlanChange | None:
    places = [key for key in _PLACES if key in reader.given]
    if len(places) != 1:
        if reader.sound:
            problem = f"expected one of {', '.join(_PLACES)}, got {' and '.join(places) or 'none'}"
            reader.problems.append(InputError(reader.path, problem))
        return None
    (place,) = places
    inner = reader.inner(place, PLAN_CHANGE)
    if isinstance(reader.given[place], Mapping) and "add" not in inner.given:
        inner.note("add", InputError("", "expected the rule whose setting is searched, got none"))
        return None
    return build_plan_change(inner, place)


def _setting(reader: MappingReader, rule: Rule, name: str) -> SettingPlace | None:
    try:
        return setting_of_fault(0, WrittenFault(rule.fault.kind, rule), name)
    except InputError as error:
        reader.note("vary", error)
        return None


def _check(reader: MappingReader, search: BreakpointSearch) -> None:
    """Note ends that the setting cannot have, a bound beyond the range, and too small a budget."""
    varied, (low, high) = search.varied, sorted((search.varied.scale.harmless, search.varied.scale.harmful))
    for key, value in (("from", varied.scale.harmless), ("to", varied.scale.harmful)):
        try:
            rules_at([search._rule], varied, value)
        except ValueError as error:
            reader.note(key, InputError("", str(error).partition(": ")[2]))
    if search.at_least is not None and not low <= search.at_least <= high:
        got = value_text(search.at_least, varied.unit)
        reader.note(
            "at_least", InputError("", f"expected a value of the range {varied.scale.shown}, got {got}")
        )
    fewest = fewest_of_search(varied.scale, [goal_of_trials(search.share)])
    if search.budget < fewest:
        problem = f"expected at least {fewest} rounds, which the ends of the range take, got {search.budget}"
        reader.note("budget", InputError("", problem))
