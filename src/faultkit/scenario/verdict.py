"""From what was measured to a verdict. Pure.

An expectation speaks of every call: of each of a load, too. A transport failure meets no expectation, however
fast it was. No fault that never acted leads to a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from faultkit.load.failure import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import SloResult
from faultkit.scenario.model import Expect
from faultkit.scenario.report.model import Fault, Verdict
from faultkit.scenario.report.phrases import count_of


def why_not_met(expect: Expect, sample: Sample) -> str | None:
    """What of the expectation one call missed; None if nothing. Of a load, SLOs are judged elsewhere."""
    if expect.status is None and expect.response_time_under_ms is None:
        return None
    if sample.status == 0:
        wanted = "an answer" if expect.status is None else f"status {expect.status}"
        return f"expected {wanted}, got none ({Failure(sample.failure).label})"
    if expect.status is not None and sample.status != expect.status:
        return f"status: expected {expect.status}, got {sample.status}"
    if Failure(sample.failure) not in (Failure.NONE, Failure.STATUS):
        return f"expected a whole answer, got {Failure(sample.failure).label}"
    took_ms = sample.total_s * 1000  # From the real start: that we were late is not the service's doing.
    limit_ms = expect.response_time_under_ms
    if limit_ms is not None and took_ms > limit_ms:
        return f"response time: expected at most {limit_ms:g} ms, got {took_ms:.1f} ms"
    return None


class Misses:
    """Counts the requests that missed an expectation, as they come: a long run keeps none of them."""

    def __init__(self, expect: Expect) -> None:
        self.count = 0
        self.first: str | None = None
        self._expect = expect
        self._is_idle = expect.status is None and expect.response_time_under_ms is None

    def add(self, samples: Iterable[Sample]) -> None:
        if self._is_idle:
            return
        for sample in samples:
            why = why_not_met(self._expect, sample)
            if why is not None:
                self.count += 1
                self.first = self.first or why


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict rests on."""

    expect: Expect
    calls: int
    unmet: int
    first_miss: str | None
    slos: Sequence[SloResult]
    """Those that must hold: all that are given if the expectation says so, and else those of flags."""
    faults: Sequence[Fault]
    doubts: Sequence[str] = ()
    """Why the figures decide nothing."""
    cut_short: str | None = None
    baseline_miss: str | None = None
    """What the baseline call of a repeat missed: the service fails without any fault."""


def judge(evidence: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and its reasons."""
    missed = _missed(evidence)
    idle = [
        f"{fault.written} never acted: no request met it" for fault in evidence.faults if not fault.injected
    ]
    undecided = [
        f'SLO "{result.slo.title}" could not be judged' for result in evidence.slos if result.passed is None
    ]
    if evidence.cut_short is not None:
        return "unfinished", (evidence.cut_short, *missed)
    if idle:
        return "not exercised", (*idle, *missed)
    if evidence.doubts:
        return "inconclusive", (*evidence.doubts, *missed)
    if missed:
        return "failed", tuple(missed)
    if not evidence.calls:
        return "inconclusive", ("no request was made", *undecided)
    return ("inconclusive", tuple(undecided)) if undecided else ("passed", ())


def _missed(evidence: Evidence) -> list[str]:
    missed: list[str] = []
    if evidence.unmet:
        first = f", first: {evidence.first_miss}" if evidence.first_miss else ""
        missed.append(f"{evidence.unmet} of {count_of(evidence.calls, 'call')} missed the expectation{first}")
    if evidence.baseline_miss is not None:
        missed.append(f"the baseline call, without faults, missed it: {evidence.baseline_miss}")
    return missed + [f'SLO "{r.slo.title}" was missed' for r in evidence.slos if r.passed is False]
