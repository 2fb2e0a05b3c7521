"""The verdict on a run of a Chaos Toolkit experiment, from the library's journal. Pure.

docs/chaos-toolkit.md lists where it differs from that of `chaos run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.chaos.experiment.experiment_model import NO_ACTION, Outcome

_LEFT_OUT = {"probes": ("probe",), "actions": ("action",), "activities": ("probe", "action")}


def left_out_by(dry: str | None) -> tuple[str, ...]:
    """Return the types of activities that a value of `--dry` leaves out, though the library says done."""
    return _LEFT_OUT.get(dry or "", ())


def activity_of(run: object) -> Mapping[str, Any] | None:
    """Return the activity of an entry of a journal; None for what a control has added to the list."""
    activity = run.get("activity") if isinstance(run, Mapping) else None
    return activity if isinstance(activity, Mapping) else None


def why_of(run: Mapping[str, Any]) -> str | None:
    """Return the last line of an activity's exception."""
    lines = run.get("exception")
    if isinstance(lines, list | tuple):
        lines = lines[-1] if lines else None
    return str(lines).strip() if lines else None


def name_of(activity: Mapping[str, Any]) -> str:
    """Return the name of an activity, which a control may have changed to anything."""
    return str(activity.get("name") or activity.get("ref") or "")


def activity_failure(run: Mapping[str, Any]) -> str | None:
    """Return why an action or a rollback failed, or None.

    For Chaos Toolkit, a process that ends with any exit code and an HTTP reply of any status have succeeded.
    An action that says in this way that it changed nothing has failed."""
    if run.get("status") != "succeeded":
        return why_of(run) or "it did not end"
    provider, output = (activity_of(run) or {}).get("provider"), run.get("output")
    kind = provider.get("type") if isinstance(provider, Mapping) else None
    status = output.get("status") if isinstance(output, Mapping) else None
    if not isinstance(status, int):
        return None
    if kind == "process" and status != 0:
        return f"it ended with exit code {status}"
    return f"it was answered with status {status}" if kind == "http" and status >= 400 else None


@dataclass(frozen=True, slots=True)
class ToolkitVerdict:
    """The outcome and the fields of a result that follow from the library's journal."""

    outcome: Outcome
    before: bool
    after: bool
    success: bool
    errors: tuple[str, ...] = ()
    action_error: str | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def verdict_of(
    journal: Mapping[str, Any],
    *,
    stopped: str | None,
    rollback_failures: Sequence[str],
    dry_run: bool = False,
    dry: str | None = None,
) -> ToolkitVerdict:
    """Return the verdict on a journal. `stopped`: why the run was stopped early, if it was; `dry`: what was
    not executed."""
    states, runs = _mapping_at(journal, "steady_states"), _list_at(journal, "run")
    gate, recheck = _state_of(states.get("before")), _state_of(states.get("after"))
    during = [_state_of(each) for each in _list_at(states, "during")]
    is_cut_short = stopped is not None or journal.get("status") in ("interrupted", "aborted")
    # An experiment may have no hypothesis, or not check it before the method: then it may start.
    may_start = gate is None or bool(gate["steady_state_met"])
    states_during = [state for state in during if state is not None and _is_checked(state)]
    unseen = None if dry_run or _is_checked(recheck) else _unseen_action(runs, states_during)
    is_checked = _is_checked(gate if dry_run else recheck)
    is_checked = is_checked or (not dry_run and bool(states_during) and unseen is None)
    executes_probes = "probe" not in left_out_by(dry)
    # The tolerances of probes that are not executed count as met.
    is_checked = is_checked and executes_probes
    missed_during = any(not state["steady_state_met"] for state in during if state is not None)
    deviated = bool(journal.get("deviated")) or missed_during
    # What was not checked is not met: neither before nor after.
    after = recheck is not None and _is_checked(recheck) and bool(recheck["steady_state_met"])
    after = after and may_start and executes_probes
    outcome = _outcome(may_start, deviated, is_cut_short, bool(rollback_failures))
    if outcome is Outcome.HELD and not is_checked:
        outcome = Outcome.NOT_CHECKED
    failed = _failed_actions(runs)
    idle = None if dry_run else _why_not_exercised(runs, failed, dry)
    if outcome is Outcome.HELD and idle is not None:
        outcome = Outcome.NOT_EXERCISED
    before = _is_checked(gate) and may_start and executes_probes
    errors = list(_gate_error(gate))
    if outcome is Outcome.NOT_EXERCISED:
        errors.append(f"Not exercised: {idle}")
    elif failed:
        errors.append(f"Action failed: {failed[0]}")
    if outcome is Outcome.NOT_CHECKED and states_during and unseen is not None:
        errors.append(
            f"Not checked: no check of the hypothesis began after the action {unseen}: "
            "a pause after it, or the strategy continuously, leaves time for one"
        )
    errors += _after_error(recheck)
    if stopped is not None:
        errors.append(f"Stopped: {stopped}")
    elif is_cut_short:
        errors.append(f"Stopped: the experiment was {journal.get('status')}")
    replaced = [] if stopped is not None else _replaced_by_controls(journal)
    return ToolkitVerdict(
        outcome=outcome,
        before=before,
        after=before if dry_run else after,
        success=outcome.is_success,
        errors=tuple(errors),
        action_error=failed[0] if failed else None,
        reasons=tuple(_reasons(gate, during, recheck)),
        warnings=(
            *replaced,
            *(
                f"action failed, so it may have broken nothing: {each}"
                for each in failed
                if outcome is not Outcome.NOT_EXERCISED
            ),
        ),
    )


def _mapping_at(journal: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a part of the journal, empty if a control has replaced it."""
    value = journal.get(key)
    return value if isinstance(value, Mapping) else {}


def _list_at(journal: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = journal.get(key)
    return value if isinstance(value, list | tuple) else []


def _state_of(value: object) -> Mapping[str, Any] | None:
    """Return a checked state; None if the hypothesis was not checked, or a control has replaced the state."""
    if not isinstance(value, Mapping):
        return None
    return {"steady_state_met": value.get("steady_state_met"), "probes": _list_at(value, "probes")}


def _replaced_by_controls(journal: Mapping[str, Any]) -> list[str]:
    """Return a warning for each part of the journal that a control has removed or replaced."""
    kinds = {"steady_states": Mapping, "run": list, "rollbacks": list}
    return [
        f"a control has removed or replaced {key} in the journal: what was there does not count"
        for key, kind in kinds.items()
        if not isinstance(journal.get(key), kind)
    ]


def _is_checked(state: Mapping[str, Any] | None) -> bool:
    """Return whether a hypothesis was there to be checked, and was."""
    return state is not None and bool(state["probes"])


def _unseen_action(runs: Sequence[Any], states: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the last action of the method, if no check of these states began after it did.

    Entries without a time, which a control may have changed, are left out."""
    actions = [(start, run) for run in _actions_of(runs) if (start := _start_of(run)) is not None]
    checks = [
        start for state in states for probe in state["probes"] if (start := _start_of(probe)) is not None
    ]
    if not actions or not checks:
        return None
    began, last = max(actions, key=lambda action: action[0])
    return None if max(checks) >= began else name_of(last["activity"])


def _start_of(run: object) -> str | None:
    """Return when an activity began. The library writes all times in one form, so that texts compare."""
    start = run.get("start") if isinstance(run, Mapping) else None
    return start if isinstance(start, str) else None


def _outcome(before: bool, deviated: bool, is_cut_short: bool, rollback_failed: bool) -> Outcome:
    if rollback_failed:
        return Outcome.ROLLBACK_FAILED
    if is_cut_short:
        return Outcome.ABORTED
    if not before:
        return Outcome.GATE_NOT_MET
    return Outcome.DEVIATED if deviated else Outcome.HELD


def rollback_failures_of(journal: Mapping[str, Any]) -> list[str]:
    """Return each failed rollback, and why."""
    return [
        f"{name_of(activity)}: {why}"
        for run in _list_at(journal, "rollbacks")
        if (activity := activity_of(run)) is not None and (why := activity_failure(run)) is not None
    ]


def _actions_of(runs: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return the entries of actions that ended: an interruption is no failure of its action."""
    return [
        run
        for run in runs
        if (activity_of(run) or {}).get("type") == "action" and run.get("status") in ("succeeded", "failed")
    ]


def _failed_actions(runs: Sequence[Any]) -> list[str]:
    """Return each action that failed, and why."""
    return [
        f"{name_of(run['activity'])}: {why}"
        for run in _actions_of(runs)
        if (why := activity_failure(run)) is not None
    ]


def _why_not_exercised(runs: Sequence[Any], failed: Sequence[str], dry: str | None) -> str | None:
    """Return why the method can have broken nothing; None if one of its actions was executed and worked."""
    if "action" in left_out_by(dry):
        return f"the actions were left out (--dry {dry})"
    actions = _actions_of(runs)
    if not actions:
        return NO_ACTION
    if len(failed) < len(actions):
        return None
    return f"{'the' if len(actions) == 1 else 'every'} action of the method failed: {'; '.join(failed)}"


def _missed(state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the probe that was not met: the last one, because Chaos Toolkit stops there."""
    if state is None or state["steady_state_met"]:
        return None
    probes = [probe for probe in state["probes"] if activity_of(probe) is not None]
    return probes[-1] if probes else None


def _gate_error(state: Mapping[str, Any] | None) -> list[str]:
    probe = _missed(state)
    if probe is None:
        return []
    if probe.get("status") == "failed":
        name = name_of(probe["activity"])
        return [f"Failed to verify initial steady state: {name}: {why_of(probe)}"]
    return ["System not in steady state before experiment"]


def _after_error(state: Mapping[str, Any] | None) -> list[str]:
    probe = _missed(state)
    if probe is None or probe.get("status") != "failed":
        return []
    return [f"Failed to verify steady state after: {name_of(probe['activity'])}: {why_of(probe)}"]


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
            found.append(f"{phase}: {name_of(probe['activity'])}: {why}")
    return found
