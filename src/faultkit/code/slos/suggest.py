"""Suggested objectives for functions, with explanations. Pure.

How the function is called decides which objectives there are; what it does decides their figures; the
exporter decides the names in their queries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from faultkit.base.errors import InputError
from faultkit.code.languages import Language, language_named
from faultkit.code.slos import indicators
from faultkit.code.slos.budget import PERIOD, budget_words
from faultkit.code.slos.costs import EntryKind, EntryPoint, FunctionProfile, FunctionPromise, promise_of
from faultkit.code.slos.explanations import (
    explain_availability,
    explain_errors,
    explain_latency95,
    explain_latency99,
)
from faultkit.code.slos.exporters import ExporterChoice, buckets_needed, choose_exporter, exporter_named
from faultkit.code.slos.indicators import Metrics
from faultkit.code.slos.profile import profile_of, profiles_of, unread_routes

LONGEST_TEXT = 1_000_000
"""Characters of a text."""
WINDOWS_S: dict[EntryKind, int] = {
    "request": 300,
    "stream": 300,
    "message": 300,
    "job": 86_400,
    "function": 300,
}
"""Seconds of the query by kind of entry. A job may run once a day. Google's API needs whole fractions of a
day."""
_UNREAD = "the path is not a literal, or the handler is not a function of this text"
_BOM = "\ufeff"


SloType: TypeAlias = Literal["latency", "availability", "error"]


@dataclass(frozen=True, slots=True)
class Events:
    """Selectors of the counters by which an objective is kept or missed."""

    total: str
    bad: str = ""
    good: str = ""
    """Given instead of `bad` where only good events are counted."""


@dataclass(frozen=True, slots=True)
class SuggestedSlo:
    """A suggested objective with its indicators."""

    type: SloType
    title: str
    objective: float
    """In percent, below 100."""
    explanation: str
    threshold: float
    unit: str
    window: str
    """`300s`: the range of the query, not the period of the objective."""
    prometheus: str
    """The indicator as a PromQL expression."""
    cloud_run: Mapping[str, Any]
    """The objective as a resource of Google's Cloud Monitoring."""
    entry: EntryPoint
    events: Events
    error_budget: str
    """What the objective allows over its period, in words."""
    exporter: str
    """The name of the exporter whose names the query has; empty if the service must record the metrics."""
    setup: str
    """What must be configured for the query to have a result, but for buckets."""
    bounds_s: tuple[float, ...] = ()
    """Bounds of buckets to add: its own, and those of the objectives that are suggested with it."""

    @property
    def needs(self) -> str:
        """Return what the query needs to have a result."""
        if not self.bounds_s:
            return self.setup
        return f"{self.setup} {buckets_needed(exporter_named(self.exporter), self.bounds_s)}"

    def document(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "title": self.title,
            "objective": self.objective,
            "explanation": self.explanation,
            "threshold": self.threshold,
            "unit": self.unit,
            "window": self.window,
            "sli": {"prometheus": self.prometheus, "gcp/cloudrun": dict(self.cloud_run)},
            "period": PERIOD,
            "error_budget": self.error_budget,
            "exporter": self.exporter,
            "needs": self.needs,
            "function": self.entry.name,
            "route": route_of(self.entry),
            "line": self.entry.line,
        }


@dataclass(frozen=True, slots=True)
class FunctionObjectives:
    """The objectives of one function, or the reason why there are none."""

    entry: EntryPoint
    slos: tuple[SuggestedSlo, ...]
    reason: str = ""
    """Why there are none; empty if there are some."""


@dataclass(frozen=True, slots=True)
class MetricChoice:
    """What users may choose of the metrics."""

    exporter: str = ""
    """A key of EXPORTERS; empty to choose by the code."""
    declared: Collection[str] = ()
    """Dependencies that the project declares."""
    counts_429: bool = False
    """Whether an answer with 429 is a failure."""


BY_CODE = MetricChoice()


def suggest_slos(
    text: str, language: str | Language, *, function: str = "", metrics: MetricChoice = BY_CODE
) -> tuple[SuggestedSlo, ...]:
    """Return objectives for the function of this name; without one, for the most important function.

    Empty if the text has no function and calls nothing outside. Raises InputError if the text is empty, or
    the language, the function or the exporter is not known.
    """
    return objectives_of(text, language, function=function, metrics=metrics).slos


def objectives_of(
    text: str, language: str | Language, *, function: str = "", metrics: MetricChoice = BY_CODE
) -> FunctionObjectives:
    """Return the objectives as `suggest_slos` does, or the reason why there are none."""
    bare, known = _checked(text, language, metrics)
    return with_common_buckets([_objectives(profile_of(bare, known, function.strip()), metrics)])[0]


def all_objectives(
    text: str, language: str | Language, *, metrics: MetricChoice = BY_CODE
) -> tuple[FunctionObjectives, ...]:
    """Return the objectives of each function that answers requests, processes messages or runs as a job.

    A handler with several routes has objectives for each. A handler whose route is not in the text, and a
    registration that is not understood, have a reason instead. What only a name suggests is left out.
    """
    bare, known = _checked(text, language, metrics)
    found = list[FunctionObjectives]()
    for each in profiles_of(bare, known):
        entry = each.entry
        if entry.kind == "function" or entry.by_name:
            continue
        if entry.is_http and not entry.path and entry.framework != "grpc":
            found.append(FunctionObjectives(entry, (), "its route is not in this text"))
        else:
            found.append(_objectives(each, metrics))
    found.extend(FunctionObjectives(each, (), _UNREAD) for each in unread_routes(bare, known))
    return with_common_buckets(found)


def with_common_buckets(found: Sequence[FunctionObjectives]) -> tuple[FunctionObjectives, ...]:
    """Return objectives that all name the same buckets: an exporter has one list of them for all routes."""
    bounds: dict[str, set[float]] = {}
    for slo in (slo for each in found for slo in each.slos):
        bounds.setdefault(slo.exporter, set()).update(slo.bounds_s)
    return tuple(
        replace(
            each,
            slos=tuple(
                replace(slo, bounds_s=tuple(sorted(bounds[slo.exporter]))) if slo.bounds_s else slo
                for slo in each.slos
            ),
        )
        for each in found
    )


def route_of(entry: EntryPoint) -> str:
    """Return the method and the path of an entry, `GET /orders`; empty if it has no path."""
    if not entry.path:
        return ""
    return entry.path if entry.method == "ANY" else f"{entry.method} {entry.path}"


def _checked(text: str, language: str | Language, metrics: MetricChoice) -> tuple[str, Language]:
    known = language_named(language) if isinstance(language, str) else language
    if metrics.exporter:
        exporter_named(metrics.exporter)
    bare = text.removeprefix(_BOM)
    if not bare.strip():
        raise InputError("snippet", "expected source code, got nothing")
    if len(bare) > LONGEST_TEXT:
        raise InputError("snippet", f"expected at most {LONGEST_TEXT} characters, got {len(bare)}")
    return bare, known


def _objectives(profile: FunctionProfile, choice: MetricChoice) -> FunctionObjectives:
    entry = profile.entry
    # A text that cannot be parsed may have a function all the same.
    if not (entry.name or entry.path or profile.dependencies or profile.broken_line):
        reason = "the text has no function, and no call that is known to leave its process"
        return FunctionObjectives(entry, (), reason)
    exporter = choose_exporter(entry.framework, profile.exporter, choice.declared, choice.exporter)
    metrics = indicators.metrics_of(entry, exporter.exporter, choice.counts_429)
    suggestion = _Suggestion(profile, promise_of(profile), exporter, metrics, choice.counts_429)
    return FunctionObjectives(entry, tuple(make(suggestion) for make in _SETS[entry.kind]))


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """What the objectives of one function are made of."""

    profile: FunctionProfile
    expected: FunctionPromise
    exporter: ExporterChoice
    metrics: Metrics
    counts_429: bool

    @property
    def entry(self) -> EntryPoint:
        return self.profile.entry

    @property
    def window_s(self) -> int:
        return WINDOWS_S[self.entry.kind]

    def setup(self, threshold_s: float | None = None) -> str:
        needs = indicators.needs_of(self.entry, self.exporter.exporter, threshold_s, self.counts_429)
        if not self.entry.is_http:
            return needs
        return f"Names of {self.exporter.exporter.title} ({self.exporter.why}). {needs}".strip()

    @property
    def exporter_name(self) -> str:
        return self.exporter.exporter.name if self.entry.is_http else ""


def _latency95(of: _Suggestion) -> SuggestedSlo:
    return _latency(of, 95.0, of.expected.p95_s, explain_latency95(of.profile, of.expected))


def _latency99(of: _Suggestion) -> SuggestedSlo:
    return _latency(of, 99.0, of.expected.p99_s, explain_latency99(of.profile, of.expected))


def _latency(of: _Suggestion, objective: float, threshold_s: float, why: str) -> SuggestedSlo:
    title, share = f"{objective:g}th percentile latency", round(objective / 100, 6)
    return SuggestedSlo(
        type="latency",
        title=title,
        objective=objective,
        explanation=why,
        threshold=threshold_s,
        unit="s",
        window=f"{of.window_s}s",
        prometheus=indicators.quantile(of.metrics, share, of.window_s),
        cloud_run=indicators.cloud_run_latency(of.entry, of.metrics, title, share, threshold_s, of.window_s),
        entry=of.entry,
        events=Events(
            of.metrics.counter(f"{of.metrics.duration}_count"), good=of.metrics.within(threshold_s)
        ),
        error_budget=budget_words(objective, of.entry.kind, f"take longer than {threshold_s:g} s"),
        exporter=of.exporter_name,
        setup=of.setup(threshold_s),
        bounds_s=indicators.missing_bounds(of.entry, of.exporter.exporter, threshold_s),
    )


def _availability(of: _Suggestion) -> SuggestedSlo:
    kind, metrics = of.entry.kind, of.metrics
    objective, share = of.expected.availability, round(of.expected.availability / 100, 6)
    measure = indicators.done_share if kind == "message" else indicators.good_share
    events = Events(metrics.counter(), bad=metrics.counter(metrics.total, metrics.bad))
    if metrics.received:
        events = Events(metrics.counter(metrics.received), good=metrics.counter())
    return SuggestedSlo(
        type="availability",
        title=_GOOD[kind],
        objective=objective,
        explanation=explain_availability(of.profile, of.expected),
        threshold=objective,
        unit="%",
        window=f"{of.window_s}s",
        prometheus=measure(metrics, of.window_s),
        cloud_run=indicators.cloud_run_availability(
            of.entry, metrics, f"{objective:g}% availability", share, of.window_s
        ),
        entry=of.entry,
        events=events,
        error_budget=budget_words(objective, kind, "fail"),
        exporter=of.exporter_name,
        setup=of.setup(),
    )


def _error(of: _Suggestion) -> SuggestedSlo:
    objective, metrics = round(100 - of.expected.errors, 2), of.metrics
    share = round(objective / 100, 6)
    return SuggestedSlo(
        type="error",
        title="Error rate",
        objective=objective,
        explanation=explain_errors(of.profile, of.expected),
        threshold=of.expected.errors,
        unit="%",
        window=f"{of.window_s}s",
        prometheus=indicators.bad_share(metrics, of.window_s),
        cloud_run=indicators.cloud_run_errors(
            of.entry, metrics, f"{objective:g}% error rate", share, of.window_s
        ),
        entry=of.entry,
        events=Events(metrics.counter(), bad=metrics.counter(metrics.total, metrics.bad)),
        error_budget=budget_words(objective, of.entry.kind, "fail"),
        exporter=of.exporter_name,
        setup=of.setup(),
    )


_GOOD: dict[EntryKind, str] = {
    "request": "Successful request ratio",
    "stream": "Successful request ratio",
    "message": "Messages worked off",
    "job": "Successful runs",
    "function": "Successful calls",
}
_Make = Callable[[_Suggestion], SuggestedSlo]
_SETS: dict[EntryKind, tuple[_Make, ...]] = {
    "request": (_latency95, _latency99, _availability, _error),
    "stream": (_latency95, _latency99, _availability, _error),
    "message": (_latency95, _latency99, _availability, _error),
    # One run a day has no 99th percentile, and a run that is no success is a failure: that is one objective.
    "job": (_latency95, _availability),
    "function": (_latency95, _latency99, _error),
}
