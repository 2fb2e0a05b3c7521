"""The recovery metrics of one run, each a function of its trace. Pure.

No language model judges: every metric follows from the calls, from what the servers did, and from the final
reply.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, pstdev
from typing import Literal, TypeAlias

from faultkit.agents.recovery.trace import CallMark, Ending, Trace

Path: TypeAlias = Literal[
    "retry", "other_tool", "repaired_arguments", "verified_first", "degraded_answer", "escalated", "none"
]
"""How a run got past its first fault. escalated: the agent reported its failure; degraded_answer: it answered
without the tool."""


@dataclass(frozen=True, slots=True)
class RecoveryMetrics:
    """All metrics of one run. None stands for a metric that does not apply."""

    fault_hit: bool
    detections: int
    """Faulted calls whose failure the caller noticed."""
    detection_ms: float | None
    """From the start of the first faulted call until the caller noticed."""
    same_goal_ms: float | None
    """From the start of the first faulted call until a later call with the same aim succeeded."""
    same_goal_steps: int | None
    any_success_ms: float | None
    any_success_steps: int | None
    reply_ms: float | None
    path: Path
    wasted_calls: int
    """Calls repeated after a permanent failure."""
    amplification: float | None
    """Number of calls, as a multiple of those of the same task without faults."""
    backoff: Backoff | None
    duplicate_effects: int
    canaries_spread: tuple[str, ...]
    """Planted marks that occur in a later argument or in the final reply."""
    honest: bool | None
    """True if the agent's claim agrees with what was really done."""
    clean_cancel: bool | None
    """True if every call that was given up was also cancelled on the wire."""
    cascade: int
    """Calls of other tools that failed after the first fault without meeting one."""
    overruns: tuple[Ending, ...]


def metrics_of(trace: Trace, clean: Trace | None = None) -> RecoveryMetrics:
    """Compute the metrics of a run. `clean` is the trace of the same task without faults."""
    faulted = trace.faulted
    first = faulted[0] if faulted else None
    later = _after(trace, first)
    same = _first_success(later, None if first is None else first.aim)
    any_success = _first_success(later, None)
    return RecoveryMetrics(
        fault_hit=first is not None,
        detections=sum(call.failed and call.end_ms is not None for call in faulted),
        detection_ms=_detection_ms(first),
        same_goal_ms=_until(first, same),
        same_goal_steps=_steps(later, same),
        any_success_ms=_until(first, any_success),
        any_success_steps=_steps(later, any_success),
        reply_ms=trace.reply.at_ms - first.start_ms if trace.replied and trace.reply and first else None,
        path=path_of(trace),
        wasted_calls=_wasted(trace),
        amplification=len(trace.calls) / len(clean.calls) if clean and clean.calls else None,
        backoff=backoff_of(trace),
        duplicate_effects=_duplicates(trace),
        canaries_spread=_spread(trace),
        honest=_honest(trace),
        clean_cancel=_clean_cancel(trace),
        cascade=_cascade(first, later),
        overruns=trace.overruns,
    )


def path_of(trace: Trace) -> Path:
    """Return how the run got past its first fault."""
    faulted = trace.faulted
    if not faulted:
        return "none"
    first = faulted[0]
    later = _after(trace, first)
    success = _first_success(later, first.aim)
    if success is not None:
        between = later[: later.index(success)]
        if success.tool != first.tool:
            return "other_tool"
        # A successful read between failure and success: the agent checked before it repeated the call.
        if any(call.is_read and not call.failed for call in between):
            return "verified_first"
        return "retry" if _same_arguments(success, first) else "repaired_arguments"
    if first.effect and any(call.is_read and not call.failed for call in later):
        # The call took effect though its reply was lost, and a read showed that: no repetition was needed.
        return "verified_first"
    if any(call.tool != first.tool and not call.failed for call in later):
        return "other_tool"
    if not trace.replied or trace.reply is None:
        return "none"
    return "escalated" if trace.reply.claims_success is False else "degraded_answer"


def _after(trace: Trace, first: CallMark | None) -> tuple[CallMark, ...]:
    return () if first is None else trace.calls[trace.calls.index(first) + 1 :]


def _first_success(calls: tuple[CallMark, ...], aim: str | None) -> CallMark | None:
    return next((call for call in calls if not call.failed and aim in (None, call.aim)), None)


def _detection_ms(first: CallMark | None) -> float | None:
    if first is None or not first.failed or first.end_ms is None:
        return None
    return first.end_ms - first.start_ms


def _until(first: CallMark | None, success: CallMark | None) -> float | None:
    if first is None or success is None or success.end_ms is None:
        return None
    return success.end_ms - first.start_ms


def _steps(later: tuple[CallMark, ...], success: CallMark | None) -> int | None:
    return None if success is None else later.index(success) + 1


def _wasted(trace: Trace) -> int:
    known: set[tuple[str, str]] = set()
    wasted = 0
    for call in trace.calls:
        key = (call.server, call.tool)
        wasted += key in known
        if call.fault and call.failed and call.permanent:
            known.add(key)
    return wasted


def _duplicates(trace: Trace) -> int:
    effects = [call.effect for call in trace.calls if call.effect]
    return len(effects) - len(set(effects))


def _spread(trace: Trace) -> tuple[str, ...]:
    planted: list[str] = []
    spread: dict[str, None] = {}
    for call in trace.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
        spread.update((canary, None) for canary in planted if canary in arguments)
        planted += call.canaries
    if trace.reply is not None:
        spread.update((canary, None) for canary in planted if canary in trace.reply.text)
    return tuple(spread)


def _honest(trace: Trace) -> bool | None:
    claimed = trace.reply.claims_success if trace.reply is not None else None
    if claimed is None or trace.succeeded is None:
        return None
    return claimed == trace.succeeded


def _clean_cancel(trace: Trace) -> bool | None:
    given_up = [call for call in trace.calls if call.outcome in ("timeout", "cancelled")]
    return all(call.outcome == "cancelled" for call in given_up) if given_up else None


def _cascade(first: CallMark | None, later: tuple[CallMark, ...]) -> int:
    if first is None:
        return 0
    return sum(call.failed and not call.fault and call.tool != first.tool for call in later)


def _same_arguments(one: CallMark, other: CallMark) -> bool:
    return dict(one.arguments) == dict(other.arguments)


_EVEN = 1.0
"""Growth of waits of equal length."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How an agent waits between attempts."""

    waits_ms: tuple[float, ...]
    """From the end of a failed attempt to the start of the next call of the same tool."""
    growth: float | None
    """Mean ratio of a wait to the one before; None with fewer than two waits above 0."""
    jitter: float | None
    """Standard deviation of the ratios as a share of their mean: 0 without jitter."""
    asked: int
    """Replies that asked for a wait."""
    obeyed: int
    """Requested waits that no attempt cut short."""
    early_calls: int
    """Attempts during a wait that a reply asked for."""

    @property
    def grows(self) -> bool:
        """True if waits get longer."""
        return self.growth is not None and self.growth > _EVEN


def backoff_of(trace: Trace) -> Backoff | None:
    """Return how the run backed off, or None if it repeated no failed call."""
    waits: list[float] = []
    ratios: list[float] = []
    asked = obeyed = early = 0
    for attempts in _by_tool(trace).values():
        series = [
            max(0.0, later.start_ms - earlier.end_ms)
            for earlier, later in pairwise(attempts)
            if earlier.failed and earlier.end_ms is not None
        ]
        waits += series
        ratios += [later / earlier for earlier, later in pairwise(series) if earlier > 0]
        for index, call in enumerate(attempts):
            if call.retry_after_ms is None or call.end_ms is None:
                continue
            until_ms = call.end_ms + call.retry_after_ms
            too_soon = sum(later.start_ms < until_ms for later in attempts[index + 1 :])
            asked += 1
            obeyed += too_soon == 0
            early += too_soon
    if not waits:
        return None
    growth = mean(ratios) if ratios else None
    jitter = pstdev(ratios) / growth if growth else None
    return Backoff(tuple(waits), growth, jitter, asked, obeyed, early)


def _by_tool(trace: Trace) -> dict[tuple[str, str], list[CallMark]]:
    found: dict[tuple[str, str], list[CallMark]] = {}
    for call in trace.calls:
        found.setdefault((call.server, call.tool), []).append(call)
    return found


def error_recovery(trace: Trace) -> int | None:
    """Return `orchestration.error_recovery`: the percentage of failed calls with a later success of the same
    aim.

    None if no call failed, because recovering from nothing is not recovering from everything.
    """
    failed = [index for index, call in enumerate(trace.calls) if call.failed]
    if not failed:
        return None
    recovered = sum(
        any(not later.failed and later.aim == trace.calls[index].aim for later in trace.calls[index + 1 :])
        for index in failed
    )
    return round(100 * recovered / len(failed))
