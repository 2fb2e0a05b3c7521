"""From the journal of Chaos Toolkit to our outcome, and to the fields of the seed. Pure.

The journal is left as it is: where our word is another one, docs/chaos-toolkit.md says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faultkit.chaos.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    before: bool
    after: bool
    success: bool
    errors: tuple[str, ...] = ()
    action_error: str | None = None
    reasons: tuple[str, ...] = field(default=())


def verdict_of(
    journal: Mapping[str, Any],
    *,
    stopped: str | None,
    rollback_failures: Sequence[str],
    dry_run: bool = False,
) -> Verdict:
    states = journal["steady_states"]
    gate, recheck, during = states["before"], states["after"], states["during"]
    is_cut_short = stopped is not None or journal["status"] in ("interrupted", "aborted")
    # Without a hypothesis there, nothing speaks against it.
    before = gate is None or bool(gate["steady_state_met"])
    missed_during = any(not state["steady_state_met"] for state in during if state is not None)
    deviated = bool(journal["deviated"]) or missed_during
    # A state that was to be looked at and was not, because the run was cut short, is not known to hold.
    after = before and not is_cut_short if recheck is None else bool(recheck["steady_state_met"])
    outcome = _outcome(before, deviated, is_cut_short, bool(rollback_failures))
    failed = _failed_action(journal["run"])
    errors = [*_gate_error(gate), *([f"Action failed: {failed}"] if failed else [])]
    errors += _after_error(recheck)
    if stopped is not None:
        errors.append(f"Stopped: {stopped}")
    elif is_cut_short:
        errors.append(f"Stopped: the experiment was {journal['status']}")
    return Verdict(
        outcome=outcome,
        before=before,
        after=before if dry_run else after,
        success=before if dry_run else after and before and not deviated,
        errors=tuple(errors),
        action_error=failed,
        reasons=tuple(_reasons(gate, during, recheck)),
    )


def _outcome(before: bool, deviated: bool, is_cut_short: bool, rollback_failed: bool) -> Outcome:
    if rollback_failed:
        return Outcome.ROLLBACK_FAILED
    if is_cut_short:
        return Outcome.ABORTED
    if not before:
        return Outcome.GATE_NOT_MET
    return Outcome.DEVIATED if deviated else Outcome.HELD


def rollback_failures_of(journal: Mapping[str, Any]) -> list[str]:
    return [
        f"{run['activity'].get('name')}: {why_of(run) or 'it did not end'}"
        for run in journal["rollbacks"]
        if run.get("status") != "succeeded"
    ]


def why_of(run: Mapping[str, Any]) -> str | None:
    lines = run.get("exception")
    return str(lines[-1]).strip() if lines else None


def _failed_action(runs: Sequence[Mapping[str, Any]]) -> str | None:
    for run in runs:
        if run["activity"].get("type") == "action" and run.get("status") == "failed":
            return f"{run['activity'].get('name')}: {why_of(run)}"
    return None


def _missed(state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The last one: with it, Chaos Toolkit stops looking."""
    if state is None or state["steady_state_met"] or not state["probes"]:
        return None
    last: Mapping[str, Any] = state["probes"][-1]
    return last


def _gate_error(state: Mapping[str, Any] | None) -> list[str]:
    probe = _missed(state)
    if probe is None:
        return []
    if probe.get("status") == "failed":
        name = probe["activity"]["name"]
        return [f"Failed to verify initial steady state: {name}: {why_of(probe)}"]
    return ["System not in steady state before experiment"]


def _after_error(state: Mapping[str, Any] | None) -> list[str]:
    probe = _missed(state)
    if probe is None or probe.get("status") != "failed":
        return []
    return [f"Failed to verify steady state after: {probe['activity']['name']}: {why_of(probe)}"]


def _reasons(
    gate: Mapping[str, Any] | None,
    during: Sequence[Mapping[str, Any] | None],
    recheck: Mapping[str, Any] | None,
) -> list[str]:
    found = []
    for phase, state in (("gate", gate), *(("during", each) for each in during), ("recheck", recheck)):
        probe = _missed(state)
        if probe is not None:
            why = why_of(probe) or "its tolerance is not met"
            found.append(f"{phase}: {probe['activity']['name']}: {why}")
    return found
