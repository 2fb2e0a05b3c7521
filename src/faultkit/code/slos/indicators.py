"""Service level indicators as PromQL by the names of an exporter, and as Cloud Monitoring resources. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from faultkit.code.slos.costs import EntryKind, EntryPoint
from faultkit.code.slos.exporters import Exporter, sent_path_pattern

LONGEST_PROMQL = 2000
"""Characters of an expression that `promql_problem` parses."""
UNKNOWN_ROUTE = "ROUTE"
"""Stands for a route that the code does not state."""
UNKNOWN_NAME = "FUNCTION"
"""Stands for the name of a function that the code does not state."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on one label."""

    label: str
    operator: str
    """`=`, `!=`, `=~` or `!~`."""
    value: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{quoted(self.value)}"


@dataclass(frozen=True, slots=True)
class Metrics:
    """Names of the metrics of one function, and the labels that select it."""

    duration: str
    """A histogram in seconds, without `_bucket`."""
    total: str
    """A counter of everything that was answered or done."""
    selects: tuple[Matcher, ...]
    """Conditions that select the function."""
    good: Matcher
    bad: Matcher
    received: str = ""
    """A counter of everything that was received, done or not."""

    def counter(self, name: str = "", *more: Matcher) -> str:
        """Return a selector of a counter, by default of everything that was done."""
        return f"{name or self.total}{{{','.join(map(str, (*self.selects, *more)))}}}"

    def within(self, threshold_s: float) -> str:
        """Return a selector of the bucket of a threshold."""
        # Clients for Python, and Prometheus 3, write a whole bound as 1.0, other clients as 1.
        whole = float(threshold_s).is_integer()
        bound = f"{threshold_s:g}"
        le = Matcher("le", "=~", f"{bound}(\\.0)?") if whole else Matcher("le", "=", bound)
        return self.counter(f"{self.duration}_bucket", le)


_DONE = (Matcher("outcome", "=", "success"), Matcher("outcome", "=", "failure"))
_OWN: dict[EntryKind, tuple[str, str, str]] = {
    "message": ("message_processing_seconds", "messages_processed_total", "messages_received_total"),
    "job": ("job_duration_seconds", "job_runs_total", ""),
    "function": ("function_duration_seconds", "function_calls_total", ""),
}
"""Names for what no exporter measures: the histogram, the counter, and the counter of what was received."""
FIRST_BYTE = "http_time_to_first_byte_seconds"
"""A histogram of streams, which no exporter measures either."""


def metrics_of(entry: EntryPoint, exporter: Exporter, counts_429: bool = False) -> Metrics:
    """Return the metrics of a function by the names of an exporter."""
    if not entry.is_http:
        duration, total, received = _OWN[entry.kind]
        return Metrics(
            duration, total, (Matcher("function", "=", entry.name or UNKNOWN_NAME),), *_DONE, received
        )
    codes = f"{exporter.bad}|429" if counts_429 and exporter.method else exporter.bad
    return Metrics(
        FIRST_BYTE if entry.kind == "stream" else exporter.duration,
        exporter.total,
        tuple(_selected(entry, exporter)),
        good=Matcher(exporter.status, "!~", codes),
        bad=Matcher(exporter.status, "=~", codes),
    )


def _selected(entry: EntryPoint, exporter: Exporter) -> Iterator[Matcher]:
    if entry.framework == "grpc":
        yield Matcher(exporter.route, "=", entry.name.rpartition(".")[2])
        return
    pattern = sent_path_pattern(entry.path) if exporter.sees_sent_path else ""
    # Django has no slash before its routes.
    path = entry.path.removeprefix("/") if entry.framework == "django" else entry.path
    if pattern:
        yield Matcher(exporter.route, "=~", pattern)
    else:
        yield Matcher(exporter.route, "=", path if entry.path else UNKNOWN_ROUTE)
    if entry.method != "ANY" and exporter.method:
        method = entry.method.lower() if exporter.has_small_methods else entry.method
        yield Matcher(exporter.method, "=", method)


def needs_of(
    entry: EntryPoint, exporter: Exporter, threshold_s: float | None = None, counts_429: bool = False
) -> str:
    """Say what must be configured for a query of this function to have a result, but for buckets."""
    metrics = metrics_of(entry, exporter)
    if not entry.is_http:
        counter = " and ".join(filter(None, (metrics.total, metrics.received)))
        itself = f"The service must record {metrics.duration} and {counter} with the label function itself."
        unnamed = f"The function has no name here: write it in place of {UNKNOWN_NAME}."
        return itself if entry.name else f"{unnamed} {itself}"
    needs = list[str]()
    if not entry.path and entry.framework != "grpc":
        needs.append(f"The route is not in this text: write it in place of {UNKNOWN_ROUTE}.")
    elif entry.unmounted:
        needs.append(
            f"The prefix of {entry.unmounted} is not in this text: add it to the route, if there is one."
        )
    if exporter.needs:
        needs.append(f"It needs {exporter.needs}.")
    if threshold_s is not None and entry.kind == "stream":
        needs.append(f"No exporter measures {FIRST_BYTE}: the service must record it itself.")
    if counts_429 and threshold_s is None and exporter.by_class:
        needs.append(
            "429 is counted alone only if status codes are not grouped: should_group_status_codes=False."
        )
    return " ".join(needs)


def missing_bounds(entry: EntryPoint, exporter: Exporter, threshold_s: float) -> tuple[float, ...]:
    """Return the threshold, if no bucket of the exporter ends there without configuration."""
    is_measured = entry.kind == "request"
    return (threshold_s,) if is_measured and threshold_s not in exporter.buckets else ()


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


def quantile(metrics: Metrics, share: float, window_s: int) -> str:
    """Return PromQL for a latency quantile."""
    bucket = f"{metrics.counter(f'{metrics.duration}_bucket')}[{range_of(window_s)}]"
    return f"histogram_quantile({share:g}, sum(rate({bucket})) by (le))"


def good_share(metrics: Metrics, window_s: int) -> str:
    """Return PromQL for the share of successes in percent."""
    good = summed_rate(metrics.counter(metrics.total, metrics.good), range_of(window_s))
    return f"{good}/{summed_rate(metrics.counter(), range_of(window_s))}*100"


def bad_share(metrics: Metrics, window_s: int) -> str:
    """Return PromQL for the share of failures in percent; 0 instead of no result if nothing failed."""
    bad = summed_rate(metrics.counter(metrics.total, metrics.bad), range_of(window_s))
    return f"({bad} or vector(0))/{summed_rate(metrics.counter(), range_of(window_s))}*100"


def done_share(metrics: Metrics, window_s: int) -> str:
    """Return PromQL for the share of received work that was done."""
    done = summed_rate(metrics.counter(), range_of(window_s))
    return f"{done}/{summed_rate(metrics.counter(metrics.received), range_of(window_s))}*100"


def summed_rate(selector: str, window: str) -> str:
    """Return PromQL for the events of a selector by the second, over a range such as `5m`."""
    return f"sum(rate({selector}[{window}]))"


# Objectives as resources of Google Cloud Monitoring (`services.serviceLevelObjectives`): `windowsBased`
# with `goodTotalRatioThreshold`. Latency and server errors of a whole service use the metrics of Cloud Run;
# the rest is read from the metrics of the function as managed Prometheus stores them.


PERIOD = "MONTH"
"""The API requires DAY, WEEK, FORTNIGHT or MONTH."""
_REQUESTS = 'metric.type="run.googleapis.com/request_count" resource.type="cloud_run_revision"'


def cloud_run_latency(
    entry: EntryPoint, metrics: Metrics, title: str, share: float, threshold_s: float, window_s: int
) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for latency."""
    if entry.kind == "request":
        measured: dict[str, Any] = {"basicSliPerformance": {"latency": {"threshold": f"{threshold_s:g}s"}}}
    else:
        histogram = _own(metrics, f"{metrics.duration}/histogram")
        cut = {"distributionFilter": histogram, "range": {"min": 0, "max": threshold_s}}
        measured = {"performance": {"distributionCut": cut}}
    return _objective(title, share, measured, window_s)


def cloud_run_availability(
    entry: EntryPoint, metrics: Metrics, title: str, share: float, window_s: int
) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for availability."""
    if entry.is_http:
        return _objective(title, share, {"basicSliPerformance": {"availability": {}}}, window_s)
    if metrics.received:
        good = _own(metrics, f"{metrics.total}/counter")
        total = _own(metrics, f"{metrics.received}/counter")
    else:
        total = _own(metrics, f"{metrics.total}/counter")
        good = f'{total} metric.labels.outcome="success"'
    return _objective(title, share, _ratio(total, goodServiceFilter=good), window_s)


def cloud_run_errors(
    entry: EntryPoint, metrics: Metrics, title: str, share: float, window_s: int
) -> dict[str, Any]:
    """Return the Cloud Monitoring objective for errors."""
    if entry.is_http:
        bad = f'{_REQUESTS} metric.labels.response_code_class="5xx"'
        return _objective(title, share, _ratio(_REQUESTS, badServiceFilter=bad), window_s)
    total = _own(metrics, f"{metrics.total}/counter")
    bad = f'{total} metric.labels.outcome="failure"'
    return _objective(title, share, _ratio(total, badServiceFilter=bad), window_s)


def _own(metrics: Metrics, metric: str) -> str:
    # The method is left out: the route identifies a stream, and the name any other function.
    selects = metrics.selects[0]
    value = quoted(selects.value)
    if selects.operator == "=~":
        value = f"monitoring.regex.full_match({value})"
    label = f"metric.labels.{selects.label}={value}"
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
