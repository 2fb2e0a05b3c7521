"""A search by trials that are yes or no, as files write it with the keys of `trial_keys`. Pure.

What a trial is belongs to the caller: checks of an experiment, or a run of an agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.load.search.breaking_point import fewest_of_search
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint
from faultkit.plan import Rule
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_trials import goal_of_trials, trials_report
from faultkit.scenario.scenario_model import VariedSetting, WrittenFault
from faultkit.scenario.search_setting import read_value, rules_at, setting_of_fault, value_text
from faultkit.scenario.trial_keys import USUAL_BUDGET, USUAL_SHARE, require_range


@dataclass(frozen=True, slots=True)
class TrialSearch:
    """Which setting is searched, and how."""

    varied: VariedSetting
    """`fault` is the place of its rule among those of the caller."""
    share: float = USUAL_SHARE
    """The share of trials that must pass, between 0 and 1."""
    budget: int = USUAL_BUDGET
    """The most trials."""
    at_least: float | None = None
    """The value up to which the trials must be shown to pass."""

    @property
    def says(self) -> str:
        """What is searched: `slow.mean_ms from 0 ms to 400 ms`."""
        scale, unit = self.varied.scale, self.varied.unit
        ends = f"{value_text(scale.harmless, unit)} to {value_text(scale.harmful, unit)}"
        return f"{self.varied.path} from {ends}"

    def report(self, point: BreakingPoint, objective: str, spent_s: float = 0.0) -> SearchReport:
        """Return its result; `objective` says in words what a trial must do."""
        return trials_report(
            point,
            setting=self.varied.path,
            unit=self.varied.unit,
            scale=self.varied.scale,
            objective=objective,
            share=self.share,
            budget=self.budget,
            spent_s=spent_s,
            at_least=self.at_least,
        )


def read_trial_search(
    reader: MappingReader, rules: Sequence[Rule], index: int, setting: str, trials: str
) -> TrialSearch | None:
    """Return the search of a setting of one of the rules; None if it has mistakes, which are noted.

    `reader` has the keys of `trial_search_keys`; `trials` is the plural of what the budget counts."""
    before, rule = len(reader.problems), rules[index]
    spacing, share, budget = reader.take("scale"), reader.take("share"), reader.take("budget")
    require_range(reader)
    try:
        place = setting_of_fault(index, WrittenFault(rule.fault.kind, rule), setting)
    except InputError as error:
        reader.note("vary", error)
        return None
    read = partial(read_value, unit=place.unit)
    low, high = (reader.take(key, read, None) for key in ("from", "to"))
    precision, at_least = reader.take("precision", read, 0.0), reader.take("at_least", read, None)
    if low is None or high is None or len(reader.problems) > before:
        return None
    try:
        if precision < 0:
            raise ValueError(f"resolution: expected a number above 0, got {precision:g}")
        scale = Scale(low, high, spacing, precision, place.is_whole)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        reader.note("precision" if field == "resolution" else "to", InputError("", problem))
        return None
    varied = VariedSetting(f"{rule.name}.{setting}", index, place.name, place.unit, scale)
    search = TrialSearch(varied, share, budget, at_least)
    _check(reader, search, rules, trials)
    return search if len(reader.problems) == before else None


def _check(reader: MappingReader, search: TrialSearch, rules: Sequence[Rule], trials: str) -> None:
    """Note ends that the setting cannot have, a bound beyond the range, and too small a budget."""
    varied, (low, high) = search.varied, sorted((search.varied.scale.harmless, search.varied.scale.harmful))
    for key, value in (("from", varied.scale.harmless), ("to", varied.scale.harmful)):
        try:
            rules_at(rules, varied, value)
        except ValueError as error:
            reader.note(key, InputError("", str(error).partition(": ")[2] or str(error)))
    if search.at_least is not None and not low <= search.at_least <= high:
        problem = f"expected a value of the range {varied.scale.shown}, got {search.at_least:g}"
        reader.note("at_least", InputError("", problem))
    fewest = fewest_of_search(varied.scale, [goal_of_trials(search.share)])
    if search.budget < fewest:
        problem = (
            f"expected at least {fewest} {trials}, which the ends of the range take, got {search.budget}"
        )
        reader.note("budget", InputError("", problem))
