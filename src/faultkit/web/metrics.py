"""Counters of the server, and their Prometheus text format.

Written by hand instead of with prometheus_client because each call is counted on the hot path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from faultkit import __version__
from faultkit.audit.writer import WriterState
from faultkit.mcp.failures.failure_service import FinishedCall
from faultkit.mcp.failures.failure_tool import ProtocolError, ToolError

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OUTCOMES = ("success", "tool_error", "protocol_error", "cancelled")
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
UNKNOWN = "unknown"
"""Label of all unknown tools: callers must not be able to create any number of series."""


class Metrics:
    """Counters of one server."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._calls = {(tool, outcome): 0 for tool in tools for outcome in OUTCOMES}
        self._times: dict[str, list[int]] = {}
        self._sums_s: defaultdict[str, float] = defaultdict(float)
        self.running = 0
        self.requests: Counter[tuple[str, int]] = Counter()
        """Requests by route and status."""
        self.live_readers = 0
        self.live_dropped = 0

    def called(self, ended: FinishedCall) -> None:
        """Count a finished call."""
        tool = UNKNOWN if ended.tool is None else ended.tool.name
        which = (tool, _outcome_of(ended))
        self._calls[which] = self._calls.get(which, 0) + 1
        times = self._times.get(tool)
        if times is None:
            times = self._times[tool] = [0] * (len(BOUNDS_S) + 1)
        times[bisect_left(BOUNDS_S, ended.seconds)] += 1
        self._sums_s[tool] += ended.seconds

    def text(self, now: MetricsSnapshot) -> str:
        """Return all metrics in the Prometheus text format, version 0.0.4."""
        return "".join(f"{line}\n" for line in self._lines(now))

    def _lines(self, now: MetricsSnapshot) -> Iterator[str]:
        yield from _family("faultkit_calls_total", "counter", "Calls of tools, by outcome.")
        for (tool, outcome), count in self._calls.items():
            yield _line("faultkit_calls_total", count, tool=tool, outcome=outcome)
        yield from self._histogram("faultkit_call_duration_seconds")
        yield from _one("faultkit_calls_running", "gauge", "Calls that are running.", self.running)
        yield from _one("faultkit_sessions", "gauge", "Open MCP sessions.", now.sessions)
        yield from _family("faultkit_refusals_total", "counter", "Refused requests.")
        for category in ("auth", "rate", "origin"):
            yield _line("faultkit_refusals_total", now.refusals.get(category, 0), category=category)
        if now.audit is not None:
            yield from _audit(now.audit)
        yield from _family(
            "faultkit_http_requests_total", "counter", "HTTP requests other than those of MCP."
        )
        for (route, status), count in sorted(self.requests.items()):
            yield _line("faultkit_http_requests_total", count, route=route, status=str(status))
        yield from _one(
            "faultkit_live_readers", "gauge", "Clients connected to the live audit stream.", self.live_readers
        )
        yield from _one(
            "faultkit_live_rows_dropped_total",
            "counter",
            "Rows dropped for slow readers of the live stream.",
            self.live_dropped,
        )
        yield from _one("faultkit_draining", "gauge", "1 after a stop signal.", int(now.draining))
        yield from _family("faultkit_build_info", "gauge", "Version of the server.")
        yield _line("faultkit_build_info", 1, version=__version__)
        yield from _one(
            "process_start_time_seconds",
            "gauge",
            "Start time of the process, in seconds since 1970.",
            now.started_s,
        )

    def _histogram(self, name: str) -> Iterator[str]:
        yield from _family(name, "histogram", "Duration of calls of tools.")
        for tool, times in self._times.items():
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), accumulate(times), strict=True):
                yield _line(f"{name}_bucket", count, tool=tool, le=bound)
            yield _line(f"{name}_sum", self._sums_s[tool], tool=tool)
            yield _line(f"{name}_count", sum(times), tool=tool)


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """Values that are read when metrics are requested, instead of counted."""

    sessions: int
    audit: WriterState | None
    refusals: Mapping[Any, int]
    """Refusals by category."""
    draining: bool
    started_s: float


def _outcome_of(ended: FinishedCall) -> str:
    if ended.cancelled:
        return "cancelled"
    if isinstance(ended.outcome, ToolError):
        return "tool_error"
    return "protocol_error" if isinstance(ended.outcome, ProtocolError) else "success"


def _audit(state: WriterState) -> Iterator[str]:
    rows = "faultkit_audit_rows"
    yield from _one(f"{rows}_written_total", "counter", "Rows written to the log.", state.written)
    yield from _one(f"{rows}_waiting", "gauge", "Rows waiting to be written.", state.waiting)
    yield from _one(
        f"{rows}_dropped_total", "counter", "Rows dropped because the queue was full.", state.dropped
    )
    yield from _one(f"{rows}_refused_total", "counter", "Rows that the database refused.", state.refused)
    yield from _one(
        "faultkit_audit_store_replaced_total",
        "counter",
        "Times that the file of the log was replaced by another.",
        state.replaced,
    )
    yield from _one(
        "faultkit_audit_store_up", "gauge", "0 while the database is unavailable.", int(not state.away)
    )


def _one(name: str, type: str, help: str, value: float) -> Iterator[str]:
    yield from _family(name, type, help)
    yield _line(name, value)


def _family(name: str, type: str, help: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {type}"


def _line(name: str, value: float, **labels: str) -> str:
    return f"{name}{_labels(labels)} {value!r}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
