"""The result of an impact run: its figures as data, and advice on how to ask better. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from faultkit.base.address import ProxyMap
from faultkit.faults.stream.latency import Latency
from faultkit.load.summary import Summary
from faultkit.scenario.impact import Impact
from faultkit.scenario.report.baseline import baseline_warning
from faultkit.scenario.report.model import Item

_FEW = 0.5
"""Of the requests: if the fault met fewer, most went over connections that were there before."""


def structured_of(
    item: Item, advice: Sequence[str], markdown: str, document: dict[str, Any], report_id: str
) -> dict[str, Any]:
    return {
        "verdict": item.verdict,
        "reasons": list(item.reasons),
        "warnings": [*_unsound(item), *item.warnings, *_weak(item)],
        "advice": list(advice),
        "injected": sum(fault.injected for fault in item.faults),
        "figures": _figures(item.run),
        "baseline": None if item.baseline is None else _figures(item.baseline),
        "impact": [
            {
                "name": each.name,
                "unit": each.unit,
                "baseline": _finite(each.baseline),
                "fault": _finite(each.fault),
                "difference": _finite(each.difference),
                "shown": each.shown,
            }
            for each in item.impact
        ],
        "slos": [
            {
                "title": result.slo.title,
                "passed": result.passed,
                "measured": _finite(result.measured),
                "over": result.over,
                "total": result.total,
            }
            for result in item.slos
        ],
        "report_id": report_id,
        "markdown": markdown,
        "report": document,
    }


def advice_of(item: Item, impact: Impact) -> tuple[str, ...]:
    """What to make of a run that is sound, and why one told less than it could."""
    return (*_missed(item), *_weaknesses(item, impact))


def _missed(item: Item) -> tuple[str, ...]:
    """A report says that an item passed if it was run as asked: no reader may take that for kept promises."""
    missed = [result.slo.title for result in item.slos if result.passed is False]
    if item.verdict != "passed" or not missed:
        return ()
    named = f"{', '.join(missed)} ({len(missed)} of {len(item.slos)} objectives)"
    return (f"Passed means that the run was sound. Missed under the fault: {named}.",)


def _weaknesses(item: Item, impact: Impact) -> tuple[str, ...]:
    """Where the arguments or the app's settings are the cause."""
    requests, injected = item.run.requests, sum(fault.injected for fault in item.faults)
    connections = item.injection.connections
    if not injected and requests:
        if impact.proxies and not connections:
            ways = " and ".join(_way(given) for given in impact.proxies)
            return (f"No call of the app came through the proxies: start the app so that it calls {ways}.",)
        met = f"{connections} connections passed and the fault spared them all"
        return (f"{met}: ask for a longer duration, more requests or a stronger fault.",)
    fault = impact.rules[0].fault
    keeps = impact.proxies and isinstance(fault, Latency) and fault.per == "connection"
    if keeps and injected < _FEW * requests:
        acted = f"Latency acted {injected} times in {requests} requests"
        return (
            f"{acted}: the app seems to keep its connections open, and each is delayed once. "
            "With per_read_write_op=true every request is delayed.",
        )
    return ()


def _way(given: ProxyMap) -> str:
    scheme = "http://" if given.speaks == "http" else ""
    return f"{scheme}{given.listen} instead of {given.upstream}"


def with_advice(markdown: str, advice: Sequence[str]) -> str:
    if not advice:
        return markdown
    return "\n".join([markdown, "**Advice**:", "", *(f"- {line}" for line in advice), ""])


def _unsound(item: Item) -> list[str]:
    warning = baseline_warning(item)
    return [] if warning is None else [warning]


def _weak(item: Item) -> list[str]:
    return [f"SLO {result.slo.title}: {result.warning}" for result in item.slos if result.warning]


def _figures(run: Summary) -> dict[str, Any]:
    times = run.response
    at = {each.percent: each.ms for each in times.percentiles}
    found = {
        "min_ms": times.min_ms,
        "mean_ms": times.mean_ms,
        **{f"p{percent:g}_ms": at.get(percent) for percent in (50.0, 95.0, 99.0)},
        "max_ms": times.max_ms,
    }
    return {
        "requests": run.requests,
        "errors": run.errors,
        **{name: _finite(ms) if times.count else None for name, ms in found.items()},
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
