"""Whether the baseline itself is sound: errors and missed objectives without any fault. Every format shows it
first.

If a service fails by itself, the rest of the report proves nothing about faults, however it looks.
"""

from __future__ import annotations

from itertools import pairwise

from faultkit.base.numbers import duration, percentage, share_of
from faultkit.base.text import counted
from faultkit.load.slo import SloResult
from faultkit.load.summary import Distribution, Summary
from faultkit.scenario.report.report_model import Item, Report
from faultkit.scenario.report.wording import slo_limit, slo_title

_NAMED = 3
"""A warning names this many items and counts the others."""


def baseline_errors(item: Item) -> str | None:
    """Return the errors in words: `80 of 80 requests (100 %) failed`; None if there were none."""
    baseline = item.baseline
    errors = baseline.errors if baseline else 0
    # An expected server error is not an error.
    if baseline and item.expectation.status in range(500, 600):
        errors -= baseline.failures.get("status_5xx", 0)
    if baseline is None or errors <= 0:
        return None
    whole = counted(baseline.requests, "request")
    return f"{errors:,} of {whole} ({share_of(errors, baseline.requests)}) failed"


def baseline_misses(item: Item) -> tuple[str, ...]:
    """Return the objectives that the baseline misses: `95% < 5ms: 12.1 ms in the baseline`."""
    baseline = item.baseline
    if baseline is None or not baseline.requests:
        return ()
    return tuple(text for result in item.slos if (text := _missed(baseline, result)))


def _missed(baseline: Summary, result: SloResult) -> str | None:
    slo = result.slo
    if slo.kind == "latency" and slo.threshold is not None:
        # A failed request counts as slower than every answer, however fast it failed.
        answered = 100 - error_percent(baseline)
        if answered < slo.objective:
            return f"{slo_title(slo)}: only {percentage(answered)} answered in the baseline"
        measured = percentile_ms(baseline.response, slo.objective)
        if measured is not None and measured > slo.threshold:
            return f"{slo_title(slo)}: {duration(measured)} in the baseline"
        return None
    # For availability with a time limit, a summary does not hold how many requests were in time.
    if error_percent(baseline) > slo_limit(slo):
        return f"{slo_title(slo)}: {percentage(error_percent(baseline))} errors in the baseline"
    return None


def baseline_warning(item: Item) -> str | None:
    """Return a warning for one item; None if its baseline is sound or there is none."""
    errors, missed = baseline_errors(item), baseline_misses(item)
    parts = [*([errors] if errors else []), *([f"missed {'; '.join(missed)}"] if missed else [])]
    return f"Without any fault: {', '.join(parts)}." if parts else None


def baselines_warning(report: Report) -> str | None:
    """Return a warning for the head of a report; None if all baselines are sound."""
    found = [
        (number, baseline_errors(item) or "misses an objective")
        for number, item in enumerate(report.items, 1)
        if baseline_warning(item)
    ]
    if not found:
        return None
    named = [f"item {number} ({text})" for number, text in found[:_NAMED]]
    rest = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return (
        f"The service fails without any fault already: {', '.join([*named, *rest])}. "
        "The effect of the faults cannot be judged from it."
    )


def percentile_ms(distribution: Distribution, percent: float) -> float | None:
    """Return any percentile, interpolated on the curve; None if nothing was measured."""
    if not distribution.count:
        return None
    known = sorted({*distribution.curve, *((each.percent, each.ms) for each in distribution.percentiles)})
    for (low, low_ms), (high, high_ms) in pairwise(known):
        if low <= percent <= high:
            return low_ms + (high_ms - low_ms) * ((percent - low) / (high - low) if high > low else 0.0)
    return distribution.max_ms if not known or percent > known[-1][0] else known[0][1]


def error_percent(summary: Summary) -> float:
    """Return the share of requests that failed, in percent."""
    return 100 * summary.errors / summary.requests if summary.requests else 0.0
