"""The indicators as PromQL, over metrics that are named in one table. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.slos.work import Entry, EntryKind


@dataclass(frozen=True, slots=True)
class Metrics:
    duration: str
    """A histogram in seconds, without `_bucket`."""
    total: str
    """A counter of all that were answered or done."""
    label: str
    """That which tells functions apart."""
    good: str
    """The matcher for what went well."""
    bad: str
    received: str = ""
    """A counter of all that came in, done or not."""
    by_method: bool = False
    """The label alone does not tell one function from another."""


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
"""As Micrometer names them."""
UNNAMED = "snippet"
"""In place of a name that the text does not tell."""


def metrics_of(entry: Entry) -> Metrics:
    return (
        SPRING
        if entry.framework == "spring" and entry.kind == "request" and entry.path
        else METRICS[entry.kind]
    )


def label_value(entry: Entry) -> str:
    """The name of the function. Only where it has none, or the framework counts by routes, its route."""
    if metrics_of(entry) is SPRING:
        return entry.path
    return entry.name or entry.path or UNNAMED


def selected(entry: Entry) -> str:
    """The matchers for this function."""
    metrics = metrics_of(entry)
    matchers = f"{metrics.label}={quoted(label_value(entry))}"
    if (metrics.by_method or label_value(entry) == entry.path) and entry.method != "ANY" and entry.path:
        matchers += f",method={quoted(entry.method)}"
    return matchers


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def range_of(window_s: int) -> str:
    for length_s, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if window_s % length_s == 0:
            return f"{window_s // length_s}{unit}"
    return f"{window_s}s"


def quantile(entry: Entry, share: float, window_s: int) -> str:
    bucket = f"{metrics_of(entry).duration}_bucket{{{selected(entry)}}}[{range_of(window_s)}]"
    return f"histogram_quantile({share:g}, sum(rate({bucket})) by (le))"


def good_share(entry: Entry, window_s: int) -> str:
    metrics = metrics_of(entry)
    good = _rate(metrics.total, f"{selected(entry)},{metrics.good}", window_s)
    return f"{good}/{_rate(metrics.total, selected(entry), window_s)}*100"


def bad_share(entry: Entry, window_s: int) -> str:
    """Nothing failed means 0, and not that there is no figure."""
    metrics = metrics_of(entry)
    bad = _rate(metrics.total, f"{selected(entry)},{metrics.bad}", window_s)
    return f"({bad} or vector(0))/{_rate(metrics.total, selected(entry), window_s)}*100"


def done_share(entry: Entry, window_s: int) -> str:
    """Of what came in."""
    metrics = metrics_of(entry)
    done = _rate(metrics.total, selected(entry), window_s)
    return f"{done}/{_rate(metrics.received, selected(entry), window_s)}*100"


def _rate(metric: str, matchers: str, window_s: int) -> str:
    return f"sum(rate({metric}{{{matchers}}}[{range_of(window_s)}]))"
