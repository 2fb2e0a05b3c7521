"""A search whose trials are yes or no: checks of an experiment, or runs of an agent. Pure.

The method is that of loads: a trial that passed is a good request, one that did not is a failed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from typing import Any

from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint, Goal, Measured
from faultkit.scenario.report.search_model import SearchLevel, SearchReport
from faultkit.scenario.report.search_wording import search_sentence

_DOCUMENT_KEYS = (
    *("setting", "unit", "harmless", "harmful", "outcome", "reason", "held", "broken", "estimate", "low"),
    *("high", "is_cliff", "levels"),
)
_ANSWERED = 1.0


def goal_of_trials(share: float) -> Goal:
    """Return the goal that so large a share of the trials passes, between 0 and 1."""
    return Goal(share)


def measured_trials(passed: Sequence[bool]) -> Measured:
    """Return trials as a search takes them."""
    return Measured(([_ANSWERED if each else inf for each in passed],), len(passed))


def trials_report(
    point: BreakingPoint,
    *,
    setting: str,
    unit: str,
    scale: Scale,
    objective: str,
    share: float,
    budget: int,
    spent_s: float = 0.0,
    at_least: float | None = None,
) -> SearchReport:
    """Return the result of a search by trials; `objective` says in words what a trial must do."""
    levels = (
        SearchLevel(
            each.value,
            each.decision,
            each.requests,
            each.good,
            100 * each.bounds.low,
            100 * each.bounds.high,
            objective,
            100 * share,
        )
        for each in point.levels
    )
    estimate = point.estimate
    return SearchReport(
        setting=setting,
        unit=unit,
        harmless=scale.harmless,
        harmful=scale.harmful,
        spacing=scale.spacing,
        whole=scale.whole,
        outcome=point.outcome,
        reason=point.reason,
        held=point.held,
        broken=point.broken,
        estimate=None if estimate is None else estimate.value,
        low=None if estimate is None else estimate.interval.low,
        high=None if estimate is None else estimate.interval.high,
        is_cliff=point.is_cliff,
        objectives=(objective,),
        broken_objective=None if point.broken is None else objective,
        levels=tuple(levels),
        requests=point.requests,
        budget_requests=budget,
        budget_s=None,
        spent_s=spent_s,
        wanted_requests=point.wanted,
        breaks_above=at_least,
    )


def search_document(search: SearchReport, subject: str, trials: str) -> dict[str, Any]:
    """Return a search for a journal: its sentence, with `subject` as what breaks, and its figures."""
    document = asdict(search)
    return {
        "sentence": search_sentence(search, subject, trials),
        **{key: document[key] for key in _DOCUMENT_KEYS},
        "trials": search.requests,
        "at_least": search.breaks_above,
    }
