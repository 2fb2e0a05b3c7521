"""Builds the report of an item that searches, and judges it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, floor

from faultkit.load.search.scale import STEPS
from faultkit.load.search.search_values import BreakingPoint, LevelResult
from faultkit.load.slo import Slo
from faultkit.plan import Rule
from faultkit.proxy.data_plane import Snapshot
from faultkit.report.axis import round_step
from faultkit.scenario.frontier_report import judge_frontier, reported_frontier
from faultkit.scenario.item_report import (
    injection_summary,
    reported_call,
    reported_expectation,
    reported_fault,
    reported_strategy,
)
from faultkit.scenario.measure import Measurements
from faultkit.scenario.report import report_model as report
from faultkit.scenario.report.search_model import SearchLevel, SearchReport
from faultkit.scenario.report.search_wording import search_sentence, setting_value
from faultkit.scenario.report.wording import slo_title
from faultkit.scenario.scenario_model import ScenarioItem, SearchStrategy, VariedSetting
from faultkit.scenario.search_goals import goals_of
from faultkit.scenario.search_setting import budget_of, lowest_rate, rules_of, value_text

NOTHING_EXPECTED = (
    "No breaks_above is expected of this search, so it fails only if an objective is missed at the harmless "
    "end of the range."
)
NO_BOUND = (
    "Nothing can be expected of a search of two settings, so it fails only if an objective is missed at the "
    "harmless ends of both ranges."
)
_PARTS = 10
"""Parts of a step of the scale below which digits are not shown."""
_RELATIVE = 0.002
"""The same on a logarithmic scale, as a part of the value."""


def search_item_report(
    item: ScenarioItem,
    strategy: SearchStrategy,
    slos: Sequence[Slo],
    measured: Measurements,
    after: Snapshot,
    *,
    started_at: str,
    routes: Sequence[str],
    cut_short: str | None,
    out_of_reach: str | None = None,
    measures_only: bool = False,
) -> report.ItemReport:
    """Return the report of an item that searches; see `item_report`."""
    harmful = [varied.scale.harmful for varied in strategy.settings]
    rules = rules_of([fault.rule for fault in item.faults], strategy, harmful)
    faults = tuple(_reported_faults(item, strategy, rules, after))
    search = frontier = None
    if measured.search is not None:
        late_ms = measured.search_lateness.summary().p99_us / 1000
        search = reported_search(strategy, slos, measured.search, measured.faults_s, late_ms)
        if measured.cut_short:
            search = replace(search, requests=measured.faults.requests)
    if measured.frontier is not None:
        frontier = reported_frontier(strategy, slos, measured.frontier, measured.faults_s)
        if measured.cut_short:
            frontier = replace(frontier, requests=measured.faults.requests)
    if strategy.second is None:
        verdict, reasons = judge_search(search, faults, cut_short=cut_short, out_of_reach=out_of_reach)
    else:
        verdict, reasons = judge_frontier(frontier, faults, cut_short=cut_short, out_of_reach=out_of_reach)
    caveats = [f"{rule.fault.kind}: {why}." for rule in rules if (why := rule.fault.caveat())]
    expects = measures_only or strategy.breaks_above is not None
    unexpected = [] if expects else [NOTHING_EXPECTED if strategy.second is None else NO_BOUND]
    return report.ItemReport(
        call=reported_call(item.call),
        strategy=reported_strategy(item),
        faults=faults,
        expectation=reported_expectation(item.expect),
        verdict=verdict,
        reasons=reasons,
        warnings=(*measured.warnings, *caveats, *unexpected),
        started_at=started_at,
        run=measured.faults.summary(None, total_s=measured.faults_s),
        baseline=None,
        impact=(),
        slos=(),
        calls=(),
        expectation_failures=0,
        injection=injection_summary(measured.before, after, sum(each.injected for each in faults)),
        routes=tuple(routes),
        search=search,
        frontier=frontier,
    )


def _reported_faults(
    item: ScenarioItem, strategy: SearchStrategy, rules: Sequence[Rule], after: Snapshot
) -> Iterator[report.ReportedFault]:
    """Yield the faults as they are at the harmful end; the varied one says where its range begins."""
    for index, (fault, rule) in enumerate(zip(item.faults, rules, strict=True)):
        reported = reported_fault(replace(fault, rule=rule), None, after.injected)
        for varied in strategy.settings:
            if index == varied.fault:
                start = value_text(varied.scale.harmless, varied.unit)
                reported = replace(reported, description=f"{reported.description}; searched from {start} on")
        yield reported


def judge_search(
    search: SearchReport | None,
    faults: Sequence[report.ReportedFault],
    *,
    cut_short: str | None = None,
    out_of_reach: str | None = None,
) -> tuple[report.Verdict, tuple[str, ...]]:
    """Return the verdict on a search and its reasons."""
    if cut_short is not None:
        return "unfinished", (cut_short,)
    if out_of_reach is not None or search is None:
        return "inconclusive", (out_of_reach or "nothing was measured",)
    if search.outcome == "already_broken":
        return "failed", (search_sentence(search),)
    missed = why_missed(search)
    if search.outcome == "inconclusive":
        # Whatever is not known, a value that is shown to be broken is.
        if missed is not None and _is_shown_to_break(search):
            return "failed", (missed, search.reason)
        idle = [f"{fault.written} never acted" for fault in faults if not fault.injected]
        return (
            ("not exercised", (*idle, search.reason))
            if idle
            else ("inconclusive", (search_sentence(search),))
        )
    if missed is not None:
        return "failed", (missed,)
    idle = [f"{fault.written} never acted" for fault in faults if not fault.injected]
    return ("not exercised", tuple(idle)) if idle else ("passed", ())


def why_missed(search: SearchReport) -> str | None:
    """Return why the guaranteed bound is not what was expected; None if it is."""
    least = search.breaks_above
    if least is None or (search.held is not None and search.harm(search.held) >= search.harm(least)):
        return None
    shown = "shown to hold nowhere"
    if search.held is not None:
        shown = f"shown to hold only up to {setting_value(search, search.held)}"
    return f"{shown}, and {setting_value(search, least)} was expected"


def _is_shown_to_break(search: SearchReport) -> bool:
    least = search.breaks_above
    return (
        least is not None and search.broken is not None and search.harm(search.broken) <= search.harm(least)
    )


def reported_search(
    strategy: SearchStrategy, slos: Sequence[Slo], point: BreakingPoint, spent_s: float, late_ms: float
) -> SearchReport:
    """Return the result for the report, without digits that mean nothing."""
    varied, rate = strategy.varied, lowest_rate(strategy)
    scale, titles = varied.scale, tuple(slo_title(slo) for slo in slos)
    goals = goals_of(slos)
    if point.held is not None and point.broken is not None:
        # Lateness beyond that is in the width of the bracket already.
        late_ms = min(late_ms, abs(point.broken - point.held) / 4)
    at_break = next((level for level in point.levels if level.value == point.broken), None)
    goal = point.goal if point.estimate or point.is_cliff or at_break is None else at_break.goal
    to_harmful = scale.harmful > scale.harmless
    low, high = (None, None)
    if point.estimate is not None:
        low = rounded_to(varied, point.estimate.interval.low, late_ms, upwards=False)
        high = rounded_to(varied, point.estimate.interval.high, late_ms, upwards=True)

    def level(each: LevelResult) -> SearchLevel:
        share = 100 * goals[each.goal].share
        low, high = 100 * each.bounds.low, 100 * each.bounds.high
        title = titles[each.goal]
        return SearchLevel(each.value, each.decision, each.requests, each.good, low, high, title, share)

    return SearchReport(
        setting=varied.path,
        unit=varied.unit,
        harmless=scale.harmless,
        harmful=scale.harmful,
        spacing=scale.spacing,
        whole=scale.whole,
        outcome=point.outcome,
        reason=point.reason,
        held=rounded_to(varied, point.held, late_ms, upwards=not to_harmful),
        broken=rounded_to(varied, point.broken, late_ms, upwards=to_harmful),
        estimate=None if point.estimate is None else rounded_to(varied, point.estimate.value, late_ms),
        low=low,
        high=high,
        is_cliff=point.is_cliff,
        objectives=titles,
        broken_objective=titles[goal] if point.broken is not None else None,
        levels=tuple(level(each) for each in point.levels),
        requests=point.requests,
        budget_requests=budget_of(strategy),
        budget_s=strategy.budget_s,
        spent_s=spent_s,
        wanted_requests=point.wanted,
        wanted_s=None if point.wanted is None else point.wanted / rate,
        breaks_above=strategy.breaks_above,
    )


def rounded_to(
    varied: VariedSetting, value: float | None, late_ms: float, upwards: bool | None = None
) -> float | None:
    """Return a value without the digits below the step of its scale, and below the lateness of the proxy.

    `upwards`: to the next number above or below; None: to the nearest. Never beyond the range."""
    scale = varied.scale
    if value is None or scale.whole:
        return value
    if scale.spacing == "log":
        grain = _RELATIVE * abs(value)
    else:
        grain = abs(scale.harmful - scale.harmless) / STEPS / _PARTS
    if varied.unit == "ms":
        grain = max(grain, scale.resolution, late_ms)
    grain = round_step(grain)
    # A quotient that is whole but for the last bits is whole.
    count = round(value / grain, 6)
    count = round(count) if upwards is None else ceil(count) if upwards else floor(count)
    ends = sorted((scale.harmless, scale.harmful))
    return min(max(float(f"{count * grain:.12g}"), ends[0]), ends[1])
