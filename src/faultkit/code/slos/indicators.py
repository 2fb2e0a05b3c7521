"""Service level indicators as PromQL over one table of metrics, and as Cloud Monitoring resources. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultkit.code.slos.costs import EntryKind, EntryPoint


@dataclass(frozen=True, slots=True)
class Metrics:
    """Names of the metrics and labels of one kind of entry."""

    duration: str
    """A histogram in seconds, without `_bucket`."""
    total: str
    """A counter of everything that was answered or done."""
    label: str
    """The label that distinguishes functions."""
    good: str
    """The matcher for successes."""
    bad: str
    received: str = ""
    """A counter of everything that was received, done or not."""
    by_method: bool = False
    """Whether the label alone does not identify a function, so that the method is needed as well."""


LONGEST_PROMQL = 2000
"""Characters of an expression that `promql_problem` parses."""
_DONE = ('outcome="success"', 'outcome="failure"')
METRICS: dict[EntryKind, Metrics] = {
    "request": Metrics(
        "http_request_duration_seconds", "http_requests_total", "handler", 'status!~"5.."', 'status=~"[45].."'
    ),
    "stream": Metrics(
        "http_time_to_first_byte_seconds",
        "http_requests_total",
        "handler",
        'status!~"5.."',
        'status=~"[45].."',
    ),
    "message": Metrics(
        "message_processing_seconds",
        "messages_processed_total",
        "function",
        *_DONE,
        "messages_received_total",
    ),
    "job": Metrics("job_duration_seconds", "job_runs_total", "function", *_DONE),
    "function": Metrics("function_duration_seconds", "function_calls_total", "function", *_DONE),
}
SPRING = Metrics(
    "http_server_requests_seconds",
    "http_server_requests_seconds_count",
    "uri",
    'status!~"5.."',
    'status=~"[45].."',
    by_method=True,
)
"""The names of Micrometer."""
UNNAMED = "snippet"
"""Placeholder for a name that the code does not state."""


def metrics_of(entry: EntryPoint) -> Metrics:
    """Return the metrics for a kind of entry and framework."""
    return (
        SPRING
        if entry.framework == "spring" and entry.kind == "request" and entry.path
        else METRICS[entry.kind]
    )


def label_value(entry: EntryPoint) -> str:
    """Return the function's name; its route if it has no name, or if the framework counts by routes."""
    if metrics_of(entry) is SPRING:
        return entry.path
    return entry.name or entry.path or UNNAMED


def selected(entry: EntryPoint) -> str:
    """Return the matchers for this function."""
    metrics = metrics_of(entry)
    matchers = f"{metrics.label}={quoted(label_value(entry))}"
    if (metrics.by_method or label_value(entry) == entry.path) and entry.method != "ANY" and entry.path:
        matchers += f",method={quoted(entry.method)}"
    return matchers


def quoted(text: str) -> str:
    """Return a text as a PromQL string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def range_of(window_s: int) -> str:
    """Return a window as a PromQL range."""
    for length_s, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if window_s % length_s == 0:
            return f"{window_s // length_s}{unit}"
    return f"{window_s}s"


def quantile(entry: EntryPoint, share: float, window_s: int) -> str:
    """Return PromQL for a latency quantile."""
    bucket = f"{metrics_of(entry).duration}_bucket{{{selected(entry)}}}[{range_of(window_s)}]"
    return f"histogram_quantile({share:g}, sum(rate({bucket})) by (le))"


def good_share(entry: EntryPoint, window_s: int) -> str:
    """Return PromQL for the share of successes in percent."""
    metrics = metrics_of(entry)
    good = _rate(metrics.total, f"{selected(entry)},{metrics.good}", window_s)
    return f"{good}/{_rate(metrics.total, selected(entry), window_s)}*100"


def bad_share(entry: EntryPoint, window_s: int) -> str:
    """Return PromQL for the share of failures in percent; 0 instead of no result if nothing failed."""
    metrics = metrics_of(entry)
    bad = _rate(metrics.total, f"{selected(entry)},{metrics.bad}", window_s)
    return f"({bad} or vector(0))/{_rate(metrics.total, selected(entry), window_s)}*100"


def done_share(entry: EntryPoint, window_s: int) -> str:
    """Return PromQL for the share of received work that was done."""
    metrics = metrics_of(entry)
    done = _rate(metrics.total, selected(entry), window_s)
    return f"{done}/{_rate(metrics.received, selected(entry), window_s)}*100"


def _rate(metric: str, matchers: str, window_s: int) -> str:
    return f"sum(rate({metric}{{{matchers}}}[{range_of(window_s)}]))"


# Objectives as resources of Google Cloud Monitoring (`services.serviceLevelObjectives`): `windowsBased`
# with `goodTotalRatioThreshold`. Latency and server errors of a whole service use the metrics of Cloud Run;
# the rest is read from the metrics of the function as managed Prometheus stores them.


PERIOD = "MONTH"
"""The API requires DAY, WEEK, FORTNIGHT or MONTH."""
_REQUESTS = 'metric.type="run.googleapis.com/request_count" resource.type="cloud_run_revision"'


def cloud_run_latency(
    entry: EntryPoint, title: str, share: float, threshold_s: float, window_s: int
) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for latency."""
    if entry.kind == "request":
        measured: dict[str, Any] = {"basicSliPerformance": {"latency": {"threshold": f"{threshold_s:g}s"}}}
    else:
        histogram = _own(entry, f"{metrics_of(entry).duration}/histogram")
        cut = {"distributionFilter": histogram, "range": {"min": 0, "max": threshold_s}}
        measured = {"performance": {"distributionCut": cut}}
    return _objective(title, share, measured, window_s)


def cloud_run_availability(entry: EntryPoint, title: str, share: float, window_s: int) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for availability."""
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


def cloud_run_errors(entry: EntryPoint, title: str, share: float, window_s: int) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for errors."""
    if entry.is_http:
        bad = f'{_REQUESTS} metric.labels.response_code_class=one_of("4xx","5xx")'
        return _objective(title, share, _ratio(_REQUESTS, badServiceFilter=bad), window_s)
    total = _own(entry, f"{metrics_of(entry).total}/counter")
    bad = f'{total} metric.labels.outcome="failure"'
    return _objective(title, share, _ratio(total, badServiceFilter=bad), window_s)


def _own(entry: EntryPoint, metric: str) -> str:
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


# PromQL from elsewhere, such as a language model.


def promql_problem(expression: str) -> str | None:
    """Return what is wrong with a PromQL expression; None if Prometheus would parse it.

    Metrics and labels that do not exist are not found: that shows only when a query runs.
    """
    # The parser recurses without a limit: tens of thousands of nested expressions overflow its stack.
    if len(expression) > LONGEST_PROMQL:
        return f"expected at most {LONGEST_PROMQL} characters, got {len(expression)}"
    import promql_parser

    try:
        promql_parser.parse(expression)
    except (ValueError, OverflowError) as error:
        return str(error)
    return None
