"""The objectives as resources of Google's Cloud Monitoring (`services.serviceLevelObjectives`). Pure.

The nesting is that of `windowsBased` with `goodTotalRatioThreshold`. What Cloud Run measures itself is used
where it can be: latency and server errors of a whole service. The rest is read from the function's own
metrics as Google's managed Prometheus stores them.
"""

from __future__ import annotations

from typing import Any

from faultkit.code.slos.prometheus import label_value, metrics_of, quoted
from faultkit.code.slos.work import Entry

PERIOD = "MONTH"
"""The API takes DAY, WEEK, FORTNIGHT and MONTH, and needs one of them."""
_REQUESTS = 'metric.type="run.googleapis.com/request_count" resource.type="cloud_run_revision"'


def latency(entry: Entry, title: str, share: float, threshold_s: float, window_s: int) -> dict[str, Any]:
    if entry.kind == "request":
        measured: dict[str, Any] = {"basicSliPerformance": {"latency": {"threshold": f"{threshold_s:g}s"}}}
    else:
        histogram = _own(entry, f"{metrics_of(entry).duration}/histogram")
        cut = {"distributionFilter": histogram, "range": {"min": 0, "max": threshold_s}}
        measured = {"performance": {"distributionCut": cut}}
    return _objective(title, share, measured, window_s)


def availability(entry: Entry, title: str, share: float, window_s: int) -> dict[str, Any]:
    if entry.is_http:
        return _objective(title, share, {"basicSliPerformance": {"availability": {}}}, window_s)
    metrics = metrics_of(entry)
    if metrics.received:
        good = _own(entry, f"{metrics.total}/counter")
        total = _own(entry, f"{metrics.received}/counter")
    else:
        total = _own(entry, f"{metrics.total}/counter")
        good = f'{total} metric.labels.outcome="success"'
    return _objective(title, share, _ratio(total, goodServiceFilter=good), window_s)


def error(entry: Entry, title: str, share: float, window_s: int) -> dict[str, Any]:
    if entry.is_http:
        bad = f'{_REQUESTS} metric.labels.response_code_class=one_of("4xx","5xx")'
        return _objective(title, share, _ratio(_REQUESTS, badServiceFilter=bad), window_s)
    total = _own(entry, f"{metrics_of(entry).total}/counter")
    bad = f'{total} metric.labels.outcome="failure"'
    return _objective(title, share, _ratio(total, badServiceFilter=bad), window_s)


def _own(entry: Entry, metric: str) -> str:
    label = f"metric.labels.{metrics_of(entry).label}={quoted(label_value(entry))}"
    return f'metric.type="prometheus.googleapis.com/{metric}" resource.type="prometheus_target" {label}'


def _ratio(total: str, **other: str) -> dict[str, Any]:
    return {"performance": {"goodTotalRatio": {**other, "totalServiceFilter": total}}}


def _objective(title: str, share: float, measured: dict[str, Any], window_s: int) -> dict[str, Any]:
    return {
        "displayName": f"{title} - {_window(window_s)}",
        "goal": share,
        "calendarPeriod": PERIOD,
        "serviceLevelIndicator": {
            "windowsBased": {
                "windowPeriod": f"{window_s}s",
                "goodTotalRatioThreshold": {**measured, "threshold": share},
            }
        },
    }


def _window(window_s: int) -> str:
    return f"{window_s // 3600}h" if window_s % 3600 == 0 else f"{window_s // 60}min"
