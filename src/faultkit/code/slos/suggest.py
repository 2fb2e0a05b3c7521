"""Which objectives a function should have: the set by who calls it, the figures by what it does. Pure."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.base.errors import InputError
from faultkit.code.languages import Language, language_named
from faultkit.code.slos import cloud_run, explain, prometheus
from faultkit.code.slos.costs import Expectation, expectation_of
from faultkit.code.slos.read import work_of
from faultkit.code.slos.suggested import SuggestedSlo
from faultkit.code.slos.work import EntryKind, Work

LONGEST_TEXT = 1_000_000
"""Characters."""
WINDOWS_S: dict[EntryKind, int] = {
    "request": 300,
    "stream": 300,
    "message": 300,
    "job": 86_400,
    "function": 300,
}
"""A job may run once a day. Google's API needs whole fractions of a day."""
_BOM = "\ufeff"


def suggest_slos(text: str, language: str | Language, *, function: str = "") -> tuple[SuggestedSlo, ...]:
    """For the function of this name; without one, for the function of the text that matters most.

    Raises InputError if the text is empty, or the language or the function is not known."""
    known = language_named(language) if isinstance(language, str) else language
    bare = text.removeprefix(_BOM)
    if not bare.strip():
        raise InputError("snippet", "expected source code, got nothing")
    if len(bare) > LONGEST_TEXT:
        raise InputError("snippet", f"expected at most {LONGEST_TEXT} characters, got {len(bare)}")
    work = work_of(bare, known, function.strip())
    expected = expectation_of(work)
    return tuple(make(work, expected) for make in _SETS[work.entry.kind])


def _latency95(work: Work, expected: Expectation) -> SuggestedSlo:
    return _latency(work, 95.0, expected.p95_s, explain.latency95(work, expected))


def _latency99(work: Work, expected: Expectation) -> SuggestedSlo:
    return _latency(work, 99.0, expected.p99_s, explain.latency99(work, expected))


def _latency(work: Work, objective: float, threshold_s: float, why: str) -> SuggestedSlo:
    window_s = WINDOWS_S[work.entry.kind]
    title, share = f"{objective:g}th percentile latency", round(objective / 100, 6)
    return SuggestedSlo(
        type="latency",
        title=title,
        objective=objective,
        explanation=why,
        threshold=threshold_s,
        unit="s",
        window=f"{window_s}s",
        prometheus=prometheus.quantile(work.entry, share, window_s),
        cloud_run=cloud_run.latency(work.entry, title, share, threshold_s, window_s),
    )


def _availability(work: Work, expected: Expectation) -> SuggestedSlo:
    kind, window_s = work.entry.kind, WINDOWS_S[work.entry.kind]
    objective, share = expected.availability, round(expected.availability / 100, 6)
    measure = prometheus.done_share if kind == "message" else prometheus.good_share
    return SuggestedSlo(
        type="availability",
        title=_GOOD[kind],
        objective=objective,
        explanation=explain.availability(work, expected),
        threshold=objective,
        unit="%",
        window=f"{window_s}s",
        prometheus=measure(work.entry, window_s),
        cloud_run=cloud_run.availability(work.entry, f"{objective:g}% availability", share, window_s),
    )


def _error(work: Work, expected: Expectation) -> SuggestedSlo:
    window_s = WINDOWS_S[work.entry.kind]
    objective = round(100 - expected.errors, 2)
    share = round(objective / 100, 6)
    return SuggestedSlo(
        type="error",
        title="Error rate",
        objective=objective,
        explanation=explain.error(work, expected),
        threshold=expected.errors,
        unit="%",
        window=f"{window_s}s",
        prometheus=prometheus.bad_share(work.entry, window_s),
        cloud_run=cloud_run.error(work.entry, f"{objective:g}% error rate", share, window_s),
    )


_GOOD: dict[EntryKind, str] = {
    "request": "Successful request ratio",
    "stream": "Successful request ratio",
    "message": "Messages worked off",
    "job": "Successful runs",
    "function": "Successful calls",
}
_Make = Callable[[Work, Expectation], SuggestedSlo]
_SETS: dict[EntryKind, tuple[_Make, ...]] = {
    "request": (_latency95, _latency99, _availability, _error),
    "stream": (_latency95, _latency99, _availability, _error),
    "message": (_latency95, _latency99, _availability, _error),
    # One run a day has no 99th percentile, and a run that is no success is a failure: that is one objective.
    "job": (_latency95, _availability),
    "function": (_latency95, _latency99, _error),
}
