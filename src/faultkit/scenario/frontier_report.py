"""The result of a search of two settings for the report, and the verdict on it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.load.search.frontier import Frontier, PairResult
from faultkit.load.slo import Slo
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport, FrontierSetting
from faultkit.scenario.report.frontier_wording import frontier_sentence
from faultkit.scenario.report.report_model import ReportedFault, Verdict
from faultkit.scenario.report.wording import slo_title
from faultkit.scenario.scenario_model import SearchStrategy, VariedSetting
from faultkit.scenario.search_goals import goals_of
from faultkit.scenario.search_setting import budget_of, lowest_rate


def judge_frontier(
    frontier: FrontierReport | None,
    faults: Sequence[ReportedFault],
    *,
    cut_short: str | None = None,
    out_of_reach: str | None = None,
) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict on a search of two settings and its reasons."""
    if cut_short is not None:
        return "unfinished", (cut_short,)
    if out_of_reach is not None or frontier is None:
        return "inconclusive", (out_of_reach or "nothing was measured",)
    if frontier.outcome == "already_broken":
        return "failed", (frontier_sentence(frontier),)
    idle = [f"{fault.written} never acted" for fault in faults if not fault.injected]
    if idle:
        return "not exercised", (*idle, *filter(None, [frontier.reason]))
    if frontier.outcome == "inconclusive":
        return "inconclusive", (frontier_sentence(frontier),)
    return "passed", ()


def reported_frontier(
    strategy: SearchStrategy, slos: Sequence[Slo], found: Frontier, spent_s: float
) -> FrontierReport:
    """Return the result for the report. Its values are those that were asked for, so none is rounded."""
    assert strategy.second is not None
    titles, goals = tuple(slo_title(slo) for slo in slos), goals_of(slos)

    def pair(each: PairResult) -> FrontierPair:
        if (seen := each.seen) is None:
            return FrontierPair(*each.values, each.decision, 0, 0, None, None, None, None)
        return FrontierPair(
            *each.values,
            each.decision,
            seen.requests,
            seen.good,
            100 * seen.bounds.low,
            100 * seen.bounds.high,
            titles[seen.goal],
            100 * goals[seen.goal].share,
        )

    return FrontierReport(
        first=_setting(strategy.varied, found.grid.first),
        second=_setting(strategy.second, found.grid.second),
        outcome=found.outcome,
        reason=found.reason,
        pairs=tuple(pair(each) for row in found.rows for each in row),
        objectives=titles,
        requests=found.requests,
        budget_requests=budget_of(strategy),
        budget_s=strategy.budget_s,
        spent_s=spent_s,
        wanted_requests=found.wanted,
        wanted_s=None if found.wanted is None else found.wanted / lowest_rate(strategy),
    )


def _setting(varied: VariedSetting, values: tuple[float, ...]) -> FrontierSetting:
    return FrontierSetting(varied.path, varied.unit, varied.scale.spacing, values)
