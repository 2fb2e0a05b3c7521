"""A report of experiments as values, read from their journals, which are plain JSON. It renders nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

JOURNAL_KEY = "faultkit"
"""The member of a journal that holds what Faultkit records."""


@dataclass(frozen=True, slots=True)
class PhaseRun:
    """A phase of an experiment, in seconds since its start."""

    name: str
    began_s: float
    ended_s: float
    met: bool | None
    left_out: bool = False
    """True if nothing of it was executed, because a flag leaves it out."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One evaluation of a check."""

    phase: str
    name: str
    met: bool | None
    """None: the check was not judged by itself, only its phase was."""
    why: str | None
    began_s: float
    ended_s: float
    measured: str = ""
    """The figures of its output, such as "status 200, elapsed_ms 12"."""


@dataclass(frozen=True, slots=True)
class ActionRun:
    """One action of the method."""

    name: str
    ok: bool | None
    """None: the action did not end."""
    why: str | None
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class FaultRun:
    """One fault of the method, and how often it has acted."""

    name: str
    fault: str
    settings: Mapping[str, Any]
    place: str
    hits: int | None
    """None: not known."""
    why: str = ""
    """Why it is not known."""


@dataclass(frozen=True, slots=True)
class RollbackStep:
    """One change that was undone, or could not be."""

    says: str
    ok: bool
    message: str
    at_s: float


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One experiment from start to rollback."""

    name: str
    outcome: str
    success: bool
    before: bool | None
    """Whether the steady state was met; None: not checked."""
    after: bool | None
    rollback_ok: bool
    duration_s: float
    started_at: str
    error: str | None
    dry_run: bool
    description: str = ""
    file: str = ""
    seed: str = ""
    stopped: str = ""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    plan: tuple[Mapping[str, Any], ...] = ()
    phases: tuple[PhaseRun, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    acts: tuple[ActionRun, ...] = ()
    faults: tuple[FaultRun, ...] = ()
    undone: tuple[RollbackStep, ...] = ()
    breaking_points: tuple[str, ...] = ()
    """The sentences of its searches."""
    has_rollbacks: bool = False
    """Whether the file has rollbacks. A strategy, a dry run or a gate that is not met may leave them out."""

    def rollback_word(self, done: str, failed: str = "FAILED") -> str:
        """Return what came of the rollback; `done` stands also for nothing to roll back."""
        if not self.rollback_ok:
            return failed
        return "not played" if self.has_rollbacks and not self.undone else done

    @property
    def broken_s(self) -> tuple[float, float] | None:
        """The time in which something may have been broken: from the first action to the last rollback
        step."""
        if not self.acts:
            return None
        begins = min(act.began_s for act in self.acts)
        ends = [each.at_s for each in self.undone] or [phase.ended_s for phase in self.phases]
        return begins, max([begins, *(act.ended_s for act in self.acts), *ends])


@dataclass(frozen=True, slots=True)
class ChaosReport:
    """All experiments of a run or a game day."""

    title: str
    runs: tuple[ExperimentRun, ...]
    tool: str
    not_run: tuple[str, ...] = ()
    """Planned experiments that were not started."""

    @property
    def held(self) -> bool:
        """Whether every planned experiment was run and held."""
        return bool(self.runs) and not self.not_run and all(run.outcome == "held" for run in self.runs)


OUTCOMES = {
    "held": "The steady state held",
    "deviated": "The steady state deviated",
    "invalid": "The experiment is not valid",
    "gate_not_met": "The system was not in its steady state to begin with",
    "aborted": "The experiment did not finish",
    "not_checked": "No steady state was checked after the method, so nothing is proven",
    "not_exercised": "Not exercised: a fault touched nothing, or there was none, so nothing is proven",
    "rollback_failed": "Something is still broken: a rollback failed",
}
"""Each outcome in a few words for people."""


def chaos_report(
    title: str, journals: Sequence[Mapping[str, Any]], tool: str, planned: Iterable[str] = ()
) -> ChaosReport:
    """Return the report of the journals; `planned` names all experiments that were to be run."""
    runs = tuple(_run(journal) for journal in journals)
    done = {run.name for run in runs}
    return ChaosReport(title, runs, tool, tuple(name for name in planned if name not in done))


def _run(journal: Mapping[str, Any]) -> ExperimentRun:
    ours = journal[JOURNAL_KEY]
    events: Sequence[Mapping[str, Any]] = ours.get("events") or ()
    written = journal.get("experiment")
    written = written if isinstance(written, Mapping) else {}
    seed = ours.get("seed")
    return ExperimentRun(
        name=ours["experiment_name"],
        outcome=ours["outcome"],
        success=ours["success"],
        before=_state(journal, "before"),
        after=_state(journal, "after"),
        rollback_ok=ours["rollback_ok"],
        duration_s=ours["duration_seconds"],
        started_at=ours["started_at"],
        error=ours["error"],
        dry_run=ours["dry_run"],
        description=str(written.get("description") or ""),
        file=str(ours.get("file") or ""),
        seed="" if seed is None else str(seed),
        stopped=next((str(event["why"]) for event in events if event["kind"] == "stopping"), ""),
        reasons=tuple(ours.get("reasons") or ()),
        warnings=tuple(ours.get("warnings") or ()),
        plan=tuple(ours.get("plan") or ()),
        phases=_phases(events, ours["duration_seconds"]),
        checks=tuple(_check(event) for event in events if event["kind"] == "check_ended"),
        acts=_acts(events, ours["duration_seconds"]),
        faults=tuple(FaultRun(**each) for each in ours.get("faults") or ()),
        undone=tuple(
            RollbackStep(event["says"], event["ok"], str(event["message"]), event["at_s"])
            for event in events
            if event["kind"] == "rolled_back"
        ),
        breaking_points=tuple(str(each["sentence"]) for each in ours.get("breaking_points") or ()),
        has_rollbacks=bool(written.get("rollbacks") or written.get("rollback")),
    )


_PHASES = {"before": "gate", "after": "recheck"}


def _state(journal: Mapping[str, Any], when: str) -> bool | None:
    states = journal.get("steady_states")
    state = states.get(when) if isinstance(states, Mapping) else None
    if "steady_states" in journal and not (isinstance(state, Mapping) and state.get("probes")):
        return None  # Not checked, or a control of Chaos Toolkit has removed what was found.
    events = journal[JOURNAL_KEY].get("events") or ()
    if any(event.get("left_out") and event.get("phase") == _PHASES[when] for event in events):
        return None  # `--dry` left the probes out.
    return bool(journal[JOURNAL_KEY][f"steady_state_{when}"])


def _phases(events: Sequence[Mapping[str, Any]], end_s: float) -> tuple[PhaseRun, ...]:
    found: list[PhaseRun] = []
    began: tuple[str, float, bool] | None = None
    for event in events:
        if event["kind"] not in ("phase_began", "phase_ended", "run_ended"):
            continue
        ends_it = event["kind"] == "phase_ended" and began is not None and began[0] == event["phase"]
        if began is not None and (ends_it or event["kind"] != "phase_ended"):
            found.append(PhaseRun(began[0], began[1], event["at_s"], event.get("met"), began[2]))
            began = None
        if event["kind"] == "phase_began":
            began = (event["phase"], event["at_s"], bool(event.get("left_out")))
    return (*found, *([PhaseRun(began[0], began[1], end_s, None, began[2])] if began is not None else []))


def _check(event: Mapping[str, Any]) -> CheckRun:
    at_s, took_s = event["at_s"], event.get("duration_s") or 0.0
    return CheckRun(
        event["phase"],
        event["name"],
        event["met"],
        event.get("why"),
        max(0.0, at_s - took_s),
        at_s,
        event.get("measured") or "",
    )


def _acts(events: Sequence[Mapping[str, Any]], end_s: float) -> tuple[ActionRun, ...]:
    found: list[ActionRun] = []
    began: dict[str, float] = {}
    for event in events:
        if event["kind"] == "action_began":
            began[event["name"]] = event["at_s"]
        elif event["kind"] == "action_ended":
            begins = began.pop(event["name"], event["at_s"])
            found.append(ActionRun(event["name"], event["ok"], event.get("why"), begins, event["at_s"]))
    cut_short = [ActionRun(name, None, None, begins, max(begins, end_s)) for name, begins in began.items()]
    return tuple(sorted((*found, *cut_short), key=lambda act: act.began_s))
