"""The functions of the chaos tools, which use one ChaosSession. Imported when a tool is called first."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from faultkit.agent_tools.argument_kinds import within_root
from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.documents.checks import advice
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_file import AnyExperiment
from faultkit.chaos.experiment.experiment_model import (
    FAULTKIT_KEY,
    Event,
    Experiment,
    Journal,
    Outcome,
    plan_of,
    result_document,
)
from faultkit.chaos.named_faults.chaos_fault import Effect, FaultState, parse_chaos_fault
from faultkit.chaos.report.journal_report import chaos_report
from faultkit.chaos.session import ChaosSession

MOST_RESULTS = 100
_SMALL_STEP = 0.001
"""Progress of a phase that begins: MCP requires that progress grows."""
_ARGUMENT_NAMES = {"name": "fault_name", "duration_s": "duration_seconds", "ttl_s": "ttl_seconds"}
"""Fields of `faultkit.chaos` whose arguments have other names."""
_ONLY_WITH = {
    "seed": "register",
    "ttl_seconds": "register",
    "targets": "register",
    "metadata": "register",
    "call_id": "inject",
}
"""Arguments that are allowed with one action only."""
_STEP_EVENTS = ("check_ended", "action_ended", "rolled_back")


def inject_fault(call: ToolCall) -> ToolResult:
    """Register, inject or remove a fault."""
    values, session = call.values, call.services.chaos_session()
    action = values["action"]
    for name, wanted in _ONLY_WITH.items():
        if values[name] not in (None, ()) and action != wanted:
            raise InputError(name, f"expected it only with action {wanted}, got it with {action}")
    try:
        found = _ACTIONS[action](call, session)
    except InputError as error:
        raise error.at(_ARGUMENT_NAMES.get(error.path, error.path)) from None
    return _result(_with_warnings(found, session))


def _register(call: ToolCall, session: ChaosSession) -> dict[str, Any]:
    values = call.values
    if values["fault_type"] is None:
        raise InputError("fault_type", "is required with action register, got nothing")
    keys = ("fault_type", "probability", "duration_seconds", "error_message", "seed", "targets")
    settings = {key: values[key] for key in keys}
    _check_folder((values["metadata"] or {}).get("folder"), call.services.root)
    fault = parse_chaos_fault(
        {"name": values["fault_name"], **settings, "metadata": values["metadata"] or {}}
    )
    session.register(fault, values["ttl_seconds"])
    seed = session.registry.seed if fault.seed is None else fault.seed
    return {"status": "registered", "fault_name": fault.name, "fault_type": fault.fault_type, "seed": seed}


def _check_folder(folder: Any, root: str | None) -> None:
    """Raise InputError if the folder of a fault is not in the server's root folder."""
    if not isinstance(folder, str) or root is None:
        return
    try:
        within_root(folder, root)
    except ValueError as error:
        raise InputError("metadata.folder", str(error)) from None


def _inject(call: ToolCall, session: ChaosSession) -> dict[str, Any]:
    values = call.values
    injection = asyncio.run(session.inject(values["fault_name"], values["call_id"], call.cancelled))
    return {
        "status": "injected",
        "fault_name": injection.fault.name,
        "fault_type": injection.fault.fault_type,
        "was_triggered": injection.was_triggered,
        "effect": None if injection.effect is None else _effect(injection.effect),
        "roll": injection.roll,
        "call": injection.call,
    }


def _remove(call: ToolCall, session: ChaosSession) -> dict[str, Any]:
    name = call.values["fault_name"]
    fault = session.registry.get(name)
    if fault is None and call.values["strict"]:
        raise InputError("fault_name", f'there is no fault named "{name}"')
    existed = session.remove(name)
    fault_type = None if fault is None else fault.fault_type
    return {"status": "removed", "fault_name": name, "fault_type": fault_type, "existed": existed}


_ACTIONS: Mapping[str, Callable[[ToolCall, ChaosSession], dict[str, Any]]] = {
    "register": _register,
    "inject": _inject,
    "remove": _remove,
}


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "says": effect.says,
        "raised": effect.raised,
        "message": effect.message,
        "slept_seconds": round(effect.slept_s, 6),
        "lasts_seconds": round(effect.lasts_s, 6),
        "measured": dict(effect.measured),
    }


def run_experiment(call: ToolCall) -> ToolResult:
    """Run an experiment of the experiments folder."""
    values, session = call.values, call.services.chaos_session()
    experiment = session.catalog().experiment(values["experiment_name"])
    progress = _Progress(experiment, call.progress)
    journal = asyncio.run(
        session.run(
            experiment,
            on_event=progress.on_event,
            seed=values["seed"],
            dry_run=values["dry_run"],
            stop=call.cancelled,
        )
    )
    result, ours = journal.result, journal.document[FAULTKIT_KEY]
    if result.outcome is Outcome.INVALID:
        raise InputError("experiment_name", f'"{result.experiment_name}" cannot be run: {result.error}')
    found = result_document(result)
    found |= {key: ours[key] for key in ("faults", "reasons", "undone", "warnings")}
    found["warnings"] = [*found["warnings"], *_unchecked_states(journal)]
    if result.dry_run:
        found["plan"] = ours["plan"]
    return _result(found)


def _unchecked_states(journal: Journal) -> list[str]:
    """Return a warning for each state that was not checked: the specification's type is a boolean, so it
    cannot be null."""
    [run] = chaos_report("", [journal.document], "").runs
    states = {"before": run.before, "after": run.after}
    if journal.result.dry_run:
        return ["steady_state_after was not checked: in a dry run it repeats steady_state_before"]
    return [
        f"steady_state_{when} is false because the steady state was not checked then"
        for when, met in states.items()
        if met is None
    ]


class _Progress:
    """Progress of an experiment in steps."""

    def __init__(self, experiment: AnyExperiment, report: Callable[[float, float | None, str], None]) -> None:
        self._of: float | None = None
        """Number of steps of the plan; None for an experiment of Chaos Toolkit."""
        if isinstance(experiment, Experiment):
            steps = [step for step in plan_of(experiment) if step["kind"] != "pause"]
            self._of = float(sum(step["phase"] != "during" for step in steps))
        self._report = report
        self._done = 0.0
        self._phase = "begins"

    def on_event(self, event: Event) -> None:
        data = event.data
        if event.kind == "phase_began":
            self._phase = data["phase"]
            self._advance(_SMALL_STEP, self._phase)
        elif event.kind in _STEP_EVENTS and data.get("phase") != "during":
            name = data.get("name") or data.get("says") or ""
            self._advance(1.0, f"{data.get('phase', self._phase)}: {name}")
        elif event.kind == "run_ended":
            self._report(self._of or self._done + _SMALL_STEP, self._of, f"done: {data['outcome']}")

    def _advance(self, steps: float, message: str) -> None:
        # More may be undone than the file has rollbacks, so the total is reached at the end only.
        most = math.inf if self._of is None else self._of - _SMALL_STEP
        self._done = min(self._done + steps, most)
        self._report(self._done, self._of, message)


def status(call: ToolCall) -> ToolResult:
    """Return registered faults, experiments and results."""
    session, name = call.services.chaos_session(), call.values["experiment_name"]
    catalog = session.catalog()
    names = [each for each in catalog.experiments if name is None or each == name]
    totals = session.history.totals(name)
    stop = session.kill_switch.pulled()
    found: dict[str, Any] = {
        "active_faults": [_fault(state) for state in session.registry.states()],
        "registered_experiments": len(names),
        "total_runs": totals.runs,
        "proven_runs": totals.proven,
        # The specification says that it is a number, so it is 0 where there is no share yet.
        "success_rate": totals.success_rate or 0.0,
        "success_percent": None if totals.success_rate is None else 100 * totals.success_rate,
        "stopped": None if stop is None else stop.why,
        "environment": session.settings.limits.environment,
        "problems": [str(problem) for problem in catalog.problems],
    }
    if call.values["include_results"]:
        stored = [each.result for each in session.history.results(name, MOST_RESULTS)]
        found["results"] = [{**asdict(each), "outcome": str(each.outcome)} for each in stored]
    unknown = []
    if name is not None and not names and not totals.runs:
        known = advice(name, list(catalog.experiments)) if catalog.experiments else "there are none"
        unknown.append(f'there is no experiment named "{name}"; {known}')
    return _result(_with_warnings(found, session, unknown))


def _fault(state: FaultState) -> dict[str, Any]:
    return {
        "name": state.fault.name,
        "fault_type": state.fault.fault_type,
        "probability": state.fault.probability,
        "active": state.active,
        "calls": state.calls,
        "times_triggered": state.times_triggered,
        "last_triggered_at": state.last_triggered_at,
        "ends_in_seconds": state.ends_in_s,
        "expires_in_seconds": state.expires_in_s,
        "trouble": state.trouble,
    }


def _with_warnings(
    found: dict[str, Any], session: ChaosSession, others: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the result with its warnings, if any; one of them if the audit log cannot be written."""
    warnings = [*others, *([session.audit.trouble] if session.audit.trouble else [])]
    return {**found, "warnings": warnings} if warnings else found


def _result(found: dict[str, Any]) -> ToolResult:
    return ToolResult(json.dumps(found, ensure_ascii=False), found)
