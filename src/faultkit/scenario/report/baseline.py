"""Whether the baseline itself is sound: what fails without any fault. Every renderer says it first.

A service that fails by itself tells nothing about faults, however good or bad the rest looks.
"""

from __future__ import annotations

from faultkit.base.figures import counted, duration, percentage, share
from faultkit.load.slo import SloResult
from faultkit.load.summary import Summary
from faultkit.scenario.report.model import Item, Report
from faultkit.scenario.report.readings import error_percent, percentile_ms
from faultkit.scenario.report.slos import slo_limit, slo_title

_NAMED = 3
"""So many items are named in a warning over all, and the others counted."""


def baseline_errors(item: Item) -> str | None:
    """`80 of 80 requests (100 %) failed`; None if none did."""
    baseline = item.baseline
    errors = baseline.errors if baseline else 0
    # A server error that is expected is none.
    if baseline and item.expectation.status in range(500, 600):
        errors -= baseline.failures.get("status_5xx", 0)
    if baseline is None or errors <= 0:
        return None
    whole = counted(baseline.requests, "request")
    return f"{errors:,} of {whole} ({share(errors, baseline.requests)}) failed"


def baseline_misses(item: Item) -> tuple[str, ...]:
    """The objectives that it misses: `95% < 5ms: 12.1 ms in the baseline`."""
    baseline = item.baseline
    if baseline is None or not baseline.requests:
        return ()
    return tuple(text for result in item.slos if (text := _missed(baseline, result)))


def _missed(baseline: Summary, result: SloResult) -> str | None:
    slo = result.slo
    if slo.kind == "latency" and slo.threshold is not None:
        # A request that failed keeps no promise, however fast it was: so many lie above every answer.
        answered = 100 - error_percent(baseline)
        if answered < slo.objective:
            return f"{slo_title(slo)}: only {percentage(answered)} answered in the baseline"
        measured = percentile_ms(baseline.response, slo.objective)
        if measured is not None and measured > slo.threshold:
            return f"{slo_title(slo)}: {duration(measured)} in the baseline"
        return None
    # Of availability with a limit of time a summary does not tell how many were in time.
    if error_percent(baseline) > slo_limit(slo):
        return f"{slo_title(slo)}: {percentage(error_percent(baseline))} errors in the baseline"
    return None


def baseline_warning(item: Item) -> str | None:
    """One sentence for an item; None if its baseline is sound, or there is none."""
    errors, missed = baseline_errors(item), baseline_misses(item)
    parts = [*([errors] if errors else []), *([f"missed {'; '.join(missed)}"] if missed else [])]
    return f"Without any fault: {', '.join(parts)}." if parts else None


def baselines_warning(report: Report) -> str | None:
    """One sentence for the head of a report."""
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
        "What the faults add cannot be told from that."
    )
