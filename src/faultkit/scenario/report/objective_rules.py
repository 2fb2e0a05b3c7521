"""Rules about objectives and expectations: which were missed, and from which step on."""

from __future__ import annotations

from faultkit.base.text import counted
from faultkit.scenario.report.item_evidence import (
    baseline_misses,
    behind_service,
    hangs_on_chance,
    reasons_text,
)
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.review_model import Remark
from faultkit.scenario.report.wording import slo_limit, slo_measured, slo_title, slo_used


def baseline_misses_slo(item: ItemReport) -> Remark | None:
    """Report objectives that the baseline misses."""
    missed = baseline_misses(item)
    if not missed:
        return None
    return Remark(
        "broken",
        "The service misses its objective without any fault.",
        "; ".join(missed) + ".",
        "This is not the fault's doing: the service is too slow or fails at this load anyway.",
        "Fix the healthy case first, or set an objective that it can keep.",
    )


def slo_missed(item: ItemReport) -> Remark | None:
    """Report missed objectives."""
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
        _slo_advice(item),
    )


def _slo_advice(item: ItemReport) -> str | None:
    if not item.faults:
        return None
    if behind_service(item):
        return (
            "Bound the damage: a timeout and a fallback for the slow or failing call, and retries only where "
            "repeating is safe."
        )
    return (
        "The faults stand between clients and the service: caches close to clients, and clients that give up "
        "in time, hedge, and repeat what is safe to repeat. Or promise less on such a network."
    )


def _slo_cause(item: ItemReport) -> str | None:
    names = ", ".join(dict.fromkeys(fault.written for fault in item.faults))
    if not names:
        return "No fault was applied: this is how the service is."
    if item.baseline is None or baseline_misses_slo(item):
        return None
    return f"The baseline keeps it, so it comes with the fault ({names})."


def slo_margin_small(item: ItemReport) -> Remark | None:
    """Report objectives that were kept with a small margin."""
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


def expectation_missed(item: ItemReport) -> Remark | None:
    """Report missed expectations of calls."""
    if not item.expectation_failures or breaking_point(item) or slo_missed(item):
        return None
    why = [call.why for call in item.calls if call.met is False and call.why]
    reasons = "; ".join(dict.fromkeys(why)) if why else reasons_text(item)
    return Remark(
        "broken",
        f"{counted(item.expectation_failures, 'expectation')} not met.",
        reasons or "See the calls of the item.",
    )


def breaking_point(item: ItemReport) -> Remark | None:
    """Report the step from which on the item fails, or up to which it does.

    A fault that acts by chance has no such point: it may fail at any step.
    """
    steps = [call for call in item.calls if not call.baseline and call.stepped_value is not None]
    broke = [call.met is False or call.failure is not None for call in steps]
    if item.strategy.mode != "repeat" or not any(broke) or hangs_on_chance(item):
        return None
    stepped = item.strategy.stepped or "the fault"
    # Some faults, such as a bandwidth, become milder with each step.
    if broke == sorted(broke):
        first = steps[broke.index(True)]
        held = steps[broke.index(True) - 1] if not broke[0] else None
        what = f"It breaks at {stepped} = {first.stepped_value:g}."
        much = f"It still held at {held.stepped_value:g}" if held else "It did not hold at the first step"
    elif broke == sorted(broke, reverse=True):
        first, held = steps[0], steps[broke.index(False)]
        what = f"It holds only from {stepped} = {held.stepped_value:g} on."
        much = f"It broke at {steps[broke.index(False) - 1].stepped_value:g}"
    else:
        return None
    return Remark(
        "broken",
        what,
        f"{much}; {first.why or first.failure or 'the call failed'}.",
        None,
        "Decide whether this much can occur; if so, find out what fails there.",
    )
