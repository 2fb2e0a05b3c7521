"""Rules: what was promised, and where it gave way."""

from __future__ import annotations

from faultkit.load.slo import SloResult
from faultkit.report.figures import counted, duration, percentage
from faultkit.report.finding import Remark
from faultkit.report.model import Item
from faultkit.report.rules.clues import error_percent, percentile_ms, reasons_text
from faultkit.report.slos import slo_limit, slo_measured, slo_title, slo_used


def baseline_misses_slo(item: Item) -> Remark | None:
    if item.baseline is None or not item.baseline.requests:
        return None
    missed = [text for result in item.slos if (text := _missed_by_baseline(item, result))]
    if not missed:
        return None
    return Remark(
        "risk",
        "The service misses its objective without any fault.",
        "; ".join(missed) + ".",
        "This is not the fault's doing: the service is too slow or fails at this load anyway.",
        "Mend the healthy case first, or set an objective that it can keep.",
    )


def _missed_by_baseline(item: Item, result: SloResult) -> str | None:
    slo, baseline = result.slo, item.baseline
    assert baseline is not None
    if slo.kind == "latency" and slo.threshold is not None:
        measured = percentile_ms(baseline.response, slo.objective)
        if measured is not None and measured > slo.threshold:
            return f"{slo_title(slo)}: {duration(measured)} in the baseline"
        return None
    # Of availability with a limit of time a summary does not tell how many were good.
    by_errors = slo.kind == "error" or slo.threshold is None
    if by_errors and error_percent(baseline) > slo_limit(slo):
        return f"{slo_title(slo)}: {percentage(error_percent(baseline))} errors in the baseline"
    return None


def slo_missed(item: Item) -> Remark | None:
    missed = [result for result in item.slos if result.passed is False]
    if not missed:
        return None
    return Remark(
        "broken",
        f"{len(missed)} of {counted(len(item.slos), 'objective')} missed."
        if len(item.slos) > 1
        else "The objective was missed.",
        "; ".join(f"{slo_title(each.slo)}: {slo_measured(each)}" for each in missed) + ".",
        _slo_cause(item),
        "Bound the damage: a timeout and a fallback for the slow or failing call, and retries only where "
        "repeating is safe.",
    )


def _slo_cause(item: Item) -> str | None:
    names = ", ".join(dict.fromkeys(fault.written for fault in item.faults))
    if not names:
        return "No fault was applied: this is how the service is."
    if item.baseline is None or baseline_misses_slo(item):
        return None
    return f"The baseline keeps it, so it comes with the fault ({names})."


def slo_margin_small(item: Item) -> Remark | None:
    near = [
        result
        for result in item.slos
        if result.passed and (used := slo_used(result)) is not None and used > 0.9 * slo_limit(result.slo)
    ]
    if not near:
        return None
    return Remark(
        "risk",
        "An objective was kept, but only just.",
        "; ".join(f"{slo_title(each.slo)}: {slo_measured(each)}" for each in near) + ".",
        None,
        "A little more of the same fault breaks it: step the fault up to find where.",
    )


def expectation_missed(item: Item) -> Remark | None:
    if not item.expectation_failures or breaking_point(item) or slo_missed(item):
        return None
    why = [call.why for call in item.calls if call.met is False and call.why]
    said = "; ".join(dict.fromkeys(why)) if why else reasons_text(item)
    return Remark(
        "broken",
        f"{counted(item.expectation_failures, 'expectation')} not met.",
        said or "See the calls of the item.",
    )


def breaking_point(item: Item) -> Remark | None:
    steps = [call for call in item.calls if not call.baseline and call.stepped_value is not None]
    bad = [call for call in steps if call.met is False or call.failure is not None]
    if item.strategy.mode != "repeat" or not steps or not bad:
        return None
    first = bad[0]
    held = [call.stepped_value for call in steps if call.number < first.number]
    stepped = item.strategy.stepped or "the fault"
    return Remark(
        "broken",
        f"It breaks at {stepped} = {first.stepped_value:g}.",
        (f"It still held at {held[-1]:g}; " if held else "It did not hold at the first step; ")
        + (first.why or first.failure or "the call failed")
        + ".",
        None,
        "Decide whether the service will ever meet as much; if so, look at what gives way there.",
    )
