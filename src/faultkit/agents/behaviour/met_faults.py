"""The faults that the calls of a recording met, and how the agent got past each. Pure.

An agent is past a fault with the first sound answer of the same tool to a call that it began when it knew of
the failure. Other arguments count only if there was something to repair: after an error, or of a read-only
tool after no answer. A write that took effect though its answer was lost needs no repetition, only a look.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from faultkit.agents.behaviour.recorded_run import RecordedCall, RecordedRun
from faultkit.agents.execute.virtual_toolbox import intended_effect
from faultkit.agents.recovery.metrics import RecoveryPath
from faultkit.agents.recovery.trace import CallOutcome

_ERRORS: tuple[CallOutcome, ...] = ("tool_error", "protocol_error")


@dataclass(frozen=True, slots=True)
class MetFault:
    """A fault that a call met, and how the agent got past it."""

    call: int
    rule: str
    kind: str
    tool: str
    outcome: CallOutcome
    """What the agent got: `ok` for a fault that did not make the call fail."""
    took_ms: float | None
    """Until the agent knew the outcome; None if never."""
    recovery_ms: float | None
    """From the start of the call until the agent had what it was for; None if that is not to be seen."""
    steps: int | None
    """Calls after the faulted one, up to and with that success."""
    path: RecoveryPath | None
    is_misleading: bool
    """The answer looked sound, but a fault had changed values in it."""

    @property
    def needs_recovery(self) -> bool:
        """True if the agent did not get the server's answer. A fault that only delays needs none."""
        return self.outcome != "ok" or self.is_misleading


def met_faults(run: RecordedRun) -> list[MetFault]:
    """Return the faults that calls met, in the order of the calls."""
    later = _SoundCalls()
    found = []
    # From the last call to the first, so that `later` has the calls after each one.
    for index in range(len(run.calls) - 1, -1, -1):
        call = run.calls[index]
        if call.traced.fault:
            found.append(_met_fault(run, index, later))
        if call.traced.is_sound:
            later.add(call, index)
    return found[::-1]


@dataclass(slots=True)
class _SoundCalls:
    """Indexes of the calls with sound answers, the last call first."""

    by_tool: dict[str, list[int]] = field(default_factory=dict)
    by_effect: dict[str, list[int]] = field(default_factory=dict)
    reads: list[int] = field(default_factory=list)

    def add(self, call: RecordedCall, index: int) -> None:
        self.by_tool.setdefault(call.traced.aim, []).append(index)
        self.by_effect.setdefault(_effect(call), []).append(index)
        if call.facts.tool.read_only:
            self.reads.append(index)


def _met_fault(run: RecordedRun, index: int, later: _SoundCalls) -> MetFault:
    call = run.calls[index]
    traced, tool = call.traced, call.facts.tool
    took_ms = None if traced.end_ms is None else traced.end_ms - traced.start_ms
    recovery_ms: float | None = None
    steps: int | None = None
    path: RecoveryPath | None = None
    if not traced.is_sound and traced.end_ms is not None:
        may_differ = traced.outcome in _ERRORS or (traced.failed and tool.read_only)
        same = later.by_tool.get(traced.aim, []) if may_differ else later.by_effect.get(_effect(call), [])
        past = _first_from(run.calls, same, traced.end_ms)
        look = _first_from(run.calls, later.reads, traced.end_ms)
        if past is None and traced.failed and traced.effect:
            past = look
        ended_ms = None if past is None else run.calls[past].traced.end_ms
        if past is not None and ended_ms is not None:
            recovery_ms, steps = ended_ms - traced.start_ms, past - index
            has_looked = look is not None and (look < past or run.calls[past].traced.tool != traced.tool)
            path = _path(call, run.calls[past], has_looked=has_looked)
    return MetFault(
        call.number,
        traced.fault,
        run.rules.get(traced.fault, ""),
        traced.tool,
        traced.outcome,
        took_ms,
        recovery_ms,
        steps,
        path,
        traced.misleading,
    )


def _path(call: RecordedCall, past: RecordedCall, *, has_looked: bool) -> RecoveryPath:
    if has_looked:
        return "verified_first"
    return "retry" if _effect(call) == _effect(past) else "repaired_arguments"


def _first_from(calls: Sequence[RecordedCall], places: Sequence[int], at_ms: float) -> int | None:
    """Return the first of these places, which are in falling order, with a call that began then or later."""
    # A call that began before the agent knew of the failure is no answer to it.
    end = bisect_right(places, -at_ms, key=lambda place: -calls[place].traced.start_ms)
    return places[end - 1] if end else None


def _effect(call: RecordedCall) -> str:
    """Return a text that is equal for calls that are to do the same."""
    return intended_effect(call.facts.tool, call.traced.arguments)
