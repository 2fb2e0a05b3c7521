"""What two versions of a service did under the same fault, and which did better. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from faultkit.scenario.report.model import Item

Judgement: TypeAlias = Literal["improved", "same", "worse", "not exercised", "inconclusive"]

_CRASH = 500
"""What frameworks answer when nobody has handled an error."""
_CLEARLY = 0.8
"""The slowest answer has to come down to this share of what it was to count as faster."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one version under one fault."""

    requests: int
    answered: int
    """Those that got an HTTP answer before their caller gave up."""
    statuses: dict[int, int]
    failures: dict[str, int]
    p50_ms: float
    p95_ms: float
    max_ms: float
    slos_missed: tuple[str, ...]
    injected: int
    upstream_requests: int | None
    """How often the dependency was asked, if it is our own stand-in."""
    doubt: str = ""
    """Why the run decides nothing, if it does not."""

    @property
    def bounded(self) -> bool:
        """Nobody was left without an answer."""
        return 0 < self.requests == self.answered

    @property
    def succeeded(self) -> int:
        return sum(count for status, count in self.statuses.items() if status < 400)

    @property
    def crashed(self) -> int:
        return self.statuses.get(_CRASH, 0)

    def sentence(self) -> str:
        """In a few words."""
        if not self.requests:
            return "no request was made"
        if not self.answered:
            return f"none of {self.requests} calls had an answer in time"
        statuses = ", ".join(f"{count} × {status}" for status, count in sorted(self.statuses.items()))
        whole = "all" if self.bounded else f"{self.answered} of {self.requests}"
        slow = f"the slowest after {self.max_ms / 1000:.1f} s"
        return f"{whole} answered ({statuses}), {slow}"

    def document(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "failures": self.failures,
            "p50_ms": round(self.p50_ms, 1),
            "p95_ms": round(self.p95_ms, 1),
            "max_ms": round(self.max_ms, 1),
            "slos_missed": list(self.slos_missed),
            "injected": self.injected,
            "upstream_requests": self.upstream_requests,
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """Both versions under one fault."""

    fault: str
    """`healthy`, or what was broken: `blackhole`, `latency of 2 s`."""
    before: Figures
    after: Figures
    judgement: Judgement
    reason: str

    def document(self) -> dict[str, Any]:
        return {
            "fault": self.fault,
            "judgement": self.judgement,
            "reason": self.reason,
            "before": self.before.document(),
            "after": self.after.document(),
        }


def figures_of(item: Item, upstream_requests: int | None) -> Figures:
    run = item.run
    at = {each.percent: each.ms for each in run.response.percentiles}
    statuses = {status: count for status, count in run.statuses.items() if status}
    doubt = "; ".join(item.reasons) if item.verdict in ("inconclusive", "unfinished") else ""
    return Figures(
        run.requests,
        sum(statuses.values()),
        statuses,
        dict(run.failures),
        at.get(50.0, 0.0),
        at.get(95.0, 0.0),
        run.response.max_ms,
        tuple(each.slo.title for each in item.slos if each.passed is False),
        sum(fault.injected for fault in item.faults),
        upstream_requests,
        doubt,
    )


def compare(fault: str, before: Figures, after: Figures, *, healthy: bool) -> Compared:
    judgement, why = _judge(before, after, healthy=healthy)
    reason = f"{why}. Before: {before.sentence()}. After: {after.sentence()}."
    return Compared(fault, before, after, judgement, reason)


def _judge(before: Figures, after: Figures, *, healthy: bool) -> tuple[Judgement, str]:
    doubt = before.doubt or after.doubt
    if doubt:
        return "inconclusive", f"The run decides nothing: {doubt}"
    if not before.requests or not after.requests:
        return "inconclusive", "A run without requests decides nothing"
    if not healthy and not (before.injected and after.injected):
        return "not exercised", "The fault never acted: the service did not call through the proxy"
    if healthy and not before.succeeded:
        return "inconclusive", "Without a fault no call succeeds: try another --route or the real --upstream"
    # To fail fast is no gain where the old version would have answered with success.
    answered, succeeded = _gain(before, after, "answered"), _gain(before, after, "succeeded")
    if answered * succeeded < 0:
        return "inconclusive", f"{_MORE[answered > 0]} get an answer, {_MORE[succeeded > 0].lower()} succeed"
    for name, was, now in (
        ("left without an answer", before.requests - before.answered, after.requests - after.answered),
        ("failing", before.requests - before.succeeded, after.requests - after.succeeded),
        ("answered by an unhandled error (500)", before.crashed, after.crashed),
    ):
        old, new = was / before.requests, now / after.requests
        if new < old:
            return "improved", f"Fewer calls are {name}: {was} of {before.requests}, now {now}"
        if new > old:
            return (
                "worse",
                f"More calls are {name}: {was} of {before.requests}, now {now} of {after.requests}",
            )
    if healthy:
        return "same", "Without a fault both answer"
    if after.max_ms < before.max_ms * _CLEARLY:
        return "improved", "The slowest answer comes clearly sooner"
    if before.max_ms < after.max_ms * _CLEARLY:
        return "worse", "The slowest answer comes clearly later"
    return "same", "Both do as well"


_MORE = ("Fewer calls", "More calls")


def _gain(before: Figures, after: Figures, what: str) -> float:
    """How much larger a share of the calls is now; negative if it is smaller."""
    share: float = getattr(after, what) / after.requests - getattr(before, what) / before.requests
    return share


def whole_judgement(compared: tuple[Compared, ...]) -> Judgement:
    """Of all faults: worse if one is, and improved only if all were exercised and at least one is better."""
    found = {each.judgement for each in compared}
    for judgement in ("worse", "inconclusive", "not exercised", "improved"):
        if judgement in found:
            return judgement
    return "same"
