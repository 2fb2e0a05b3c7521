"""Objectives as a share of what they allow. For the HTML report and the review."""

from __future__ import annotations

from faultkit.base.figures import duration, percentage, percentile_name
from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.phrases import objective_text


def slo_title(slo: Slo) -> str:
    """Its own title, or what it asks."""
    asks = objective_text(slo) if slo.kind == "latency" else f"{slo.kind} {objective_text(slo)}"
    return slo.title.strip() or asks


def slo_limit(slo: Slo) -> float:
    """What is allowed: ms of a latency, else percent of bad requests."""
    if slo.kind == "latency":
        return slo.threshold or 0.0
    if slo.kind == "error":
        return min(100.0 if slo.threshold is None else slo.threshold, 100 - slo.objective)
    return 100 - slo.objective


def slo_used(result: SloResult) -> float | None:
    """What was used of it: ms, or percent of bad requests."""
    if result.measured is None:
        return None
    return 100 - result.measured if result.slo.kind == "availability" else result.measured


def slo_measured(result: SloResult) -> str:
    """`p95 269 ms`, `2.4 % errors`, `97.1 % good`; `p95 without answer` if too many failed."""
    if result.measured is None:
        none = result.total == 0
        return "nothing to judge" if none else f"{percentile_name(result.slo.objective)} without answer"
    return {
        "latency": f"{percentile_name(result.slo.objective)} {duration(result.measured)}",
        "error": f"{percentage(result.measured)} errors",
        "availability": f"{percentage(result.measured)} good",
    }[result.slo.kind]
