"""The keys of experiment files in the short form: from a document (YAML or JSON data) to an experiment.

Each mapping is declared once as a table of keys. KINDS lists the kinds of steps; the keys below a kind are
declared in the module of the kind. Every mistake is reported with its path, not only the first;
`faultkit.chaos.experiment.experiment_file` adds files and lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    duration_s,
    line,
    read_seed,
    switch,
    text,
)
from faultkit.base.documents.variables import Variables
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_model import During, Experiment, Step
from faultkit.chaos.steps.breakpoint_step import BREAKPOINT, build_breakpoint
from faultkit.chaos.steps.expect_keys import parse_expect
from faultkit.chaos.steps.expectations import (
    All,
    Anything,
    Comparison,
    Equals,
    Expectation,
    Statuses,
    Truthy,
    why_never_met,
)
from faultkit.chaos.steps.fault_steps import FAULT, PLAN_CHANGE, PlanChange, build_fault, build_plan_change
from faultkit.chaos.steps.function_steps import PYTHON, build_python
from faultkit.chaos.steps.network_steps import (
    HTTP,
    MCP,
    MCP_STATUSES,
    PROMQL,
    TCP,
    TCP_STATUSES,
    build_http,
    build_mcp,
    build_promql,
    build_tcp,
)
from faultkit.chaos.steps.process_steps import (
    COMMAND,
    SIGNAL,
    Signal,
    Start,
    build_command,
    build_signal,
    build_start,
)
from faultkit.chaos.steps.scenario_step import SCENARIO_STEP, SloCheck, build_scenario
from faultkit.chaos.steps.step_text import step_text

Role: TypeAlias = Literal["check", "action", "undo"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step."""

    keys: KeyTable
    build: Callable[[MappingReader], Any]
    """Returns the work of the step, a `steps.step_work.StepWork`; adds mistakes to the reader's problems."""
    default: Expectation | None = None
    """The default expectation of a check; None: the kind cannot be a check."""
    acts: bool = False
    """True if it may be an action. A kind that may be both is a check where it has an `expect`."""
    undoes: bool = False
    """True if it may be part of a rollback."""
    outputs: tuple[str, ...] = ()
    """The parts of what a check finds, for `target`; empty: any."""
    statuses: Statuses = ()
    """What its part `status` can be; empty: anything."""
    short: tuple[str, tuple[type, ...]] = ("", ())
    """The key that a value of these types stands for, in place of a mapping."""


_build_proxy, _build_gateway = (partial(build_plan_change, of=of) for of in ("proxy", "gateway"))
_COMMAND_SHORT = ("command", (str, list))

KINDS: Mapping[str, Kind] = {
    "http": Kind(
        HTTP,
        build_http,
        Comparison("below", 400, "status"),
        acts=True,
        undoes=True,
        outputs=("status", "headers", "body", "elapsed_ms"),
        statuses=int,
        short=("url", (str,)),
    ),
    "tcp": Kind(
        TCP,
        build_tcp,
        Equals("open"),
        outputs=("status", "reply", "why", "elapsed_ms"),
        statuses=TCP_STATUSES,
        short=("address", (str, int)),
    ),
    "process": Kind(
        COMMAND,
        build_command,
        Equals(0),
        acts=True,
        undoes=True,
        outputs=("status", "stdout", "stderr", "elapsed_ms"),
        statuses=int,
        short=_COMMAND_SHORT,
    ),
    "python": Kind(PYTHON, build_python, Truthy(), acts=True, undoes=True, short=("function", (str,))),
    "mcp": Kind(
        MCP,
        build_mcp,
        Equals("ok"),
        outputs=("status", "text", "structured", "error", "elapsed_ms"),
        statuses=MCP_STATUSES,
    ),
    "slo": Kind(
        SCENARIO_STEP, partial(build_scenario, of=SloCheck), Equals("passed"), short=("file", (str,))
    ),
    "promql": Kind(PROMQL, build_promql, Anything()),
    "fault": Kind(FAULT, build_fault, acts=True, undoes=True),
    "proxy": Kind(PLAN_CHANGE, _build_proxy, acts=True, undoes=True),
    "gateway": Kind(PLAN_CHANGE, _build_gateway, acts=True, undoes=True),
    "breakpoint": Kind(BREAKPOINT, build_breakpoint, acts=True),
    "scenario": Kind(SCENARIO_STEP, build_scenario, acts=True, short=("file", (str,))),
    "start": Kind(COMMAND, build_start, acts=True, short=_COMMAND_SHORT),
    "signal": Kind(SIGNAL, build_signal, acts=True, undoes=True),
}
CHECKS = tuple(name for name, kind in KINDS.items() if kind.default is not None)
ACTIONS = tuple(name for name, kind in KINDS.items() if kind.acts)
UNDOS = tuple(name for name, kind in KINDS.items() if kind.undoes)


def _read_environments(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(line(each) for each in listed)


_STEPS: Schema = {"type": "array", "items": {"type": "object"}}

LIMITS = KeyTable(
    Key(
        "max_duration",
        duration_s,
        DURATION_SCHEMA,
        None,
        "The longest time of everything but the rollback; by default `5m`, or less if the limits say so.",
    )
)
DURING = KeyTable(
    Key(
        "every",
        duration_s,
        DURATION_SCHEMA,
        1.0,
        "The time between two rounds of checks.",
        'a duration with its unit such as "1s"',
    ),
    Key("stop", switch, SWITCH_SCHEMA, False, "The first deviation ends the method."),
    Key("checks", schema=_STEPS, help="The checks; by default those of steady_state."),
)
EXPERIMENT = KeyTable(
    Key("name", line, TEXT_SCHEMA, "", "The name of the experiment, one line.", "a name"),
    Key("description", text, TEXT_SCHEMA, "", "A text for reports."),
    Key(
        "environment",
        _read_environments,
        {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]},
        (),
        "The only environments in which it may run; by default all that the limits allow.",
    ),
    Key("limits", schema=LIMITS),
    Key(
        "seed",
        partial(read_seed, negative=True),
        {"type": ["integer", "string"]},
        help="The seed of everything random in it.",
    ),
    Key(
        "steady_state",
        schema=_STEPS,
        help="Checks that must hold before the method and after it; at least one.",
        required="a list of at least one check",
    ),
    Key(
        "method",
        schema=_STEPS,
        help="Actions, checks and pauses, one after the other. Without an action, nothing is exercised.",
        required="a list of steps (it may be empty)",
    ),
    Key("during", schema=DURING),
    Key(
        "rollback",
        schema=_STEPS,
        help="Steps that always run at the end, beside what is undone automatically.",
    ),
)
PAUSE = KeyTable(
    Key("before", duration_s, DURATION_SCHEMA, 0.0, "A pause before the step."),
    Key("after", duration_s, DURATION_SCHEMA, 0.0, "A pause after the step."),
)
STEP = KeyTable(
    Key("name", line, TEXT_SCHEMA, help="The name of the step; by default what it does."),
    Key("limit", duration_s, DURATION_SCHEMA, help="The longest time of the step."),
    Key("pause", schema=PAUSE),
    Key("expect", help="What a check must find; by default as the table of checks says."),
    Key(
        "background",
        switch,
        SWITCH_SCHEMA,
        False,
        "Of an action: the method continues meanwhile, and waits at its end.",
    ),
    Key("undo", schema=_STEPS, help="Of an action: a step, or a list of steps, that undoes it."),
)
_CHECK_KEYS = ("name", "limit", "pause", "expect")
_ROLES: dict[Role, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "check": (CHECKS, _CHECK_KEYS),
    "action": (tuple(KINDS), (*_CHECK_KEYS, "background", "undo")),
    "undo": (UNDOS, ("name", "limit")),
}
"""The kinds and the keys that a step may have, by its role."""


def parse_experiment(
    document: object, env: Mapping[str, str], problems: list[InputError], file: Path | None = None
) -> Experiment | None:
    """Return the experiment of a document; None if it has problems, which are added to the list."""
    before = len(problems)
    reader = MappingReader(Variables({}, env, problems).fill(document), EXPERIMENT, "", problems)
    written = document if isinstance(document, Mapping) else {}
    name, description = reader.take("name"), reader.take("description")
    steady = _steps(reader, written, "steady_state", "check")
    if reader.sound and not reader.given.get("steady_state"):
        expected = EXPERIMENT["steady_state"].required
        problem = f"expected {expected}: without it nothing can hold or deviate"
        reader.note("steady_state", InputError("", problem))
    method = _steps(reader, written, "method", "action")
    reader.require("method", EXPERIMENT["method"].required)
    rollback = _steps(reader, written, "rollback", "undo")
    for key, steps in (("steady_state", steady), ("method", method), ("rollback", rollback)):
        _refuse_repeated_names(reader, key, steps)
    _refuse_signals_before_start(reader, method)
    if "during" in reader.given and any(step.kind == "breakpoint" for step in method):
        problem = "expected none beside a breakpoint, which goes on until the steady state is not met"
        reader.note("during", InputError("", problem))
    experiment = Experiment(
        name=name,
        description=description,
        environments=reader.take("environment"),
        max_duration_s=reader.inner("limits").take("max_duration"),
        seed=reader.take("seed"),
        steady_state=steady,
        method=method,
        during=_during(reader, written, steady),
        rollback=rollback,
        file=file,
        written=written,
    )
    return experiment if len(problems) == before else None


def _during(reader: MappingReader, written: Mapping[str, Any], steady: tuple[Step, ...]) -> During | None:
    if "during" not in reader.given:
        return None
    inner = reader.inner("during")
    every_s, stop = inner.take("every"), inner.take("stop")
    own = written.get("during")
    checks = _steps(inner, own if isinstance(own, Mapping) else {}, "checks", "check")
    return During(every_s, checks or steady, stop)


def _steps(reader: MappingReader, written: Mapping[str, Any], key: str, role: Role) -> tuple[Step, ...]:
    raw = written.get(key)
    steps: list[Step | None] = []
    for index, (path, value) in enumerate(reader.each(key, "steps")):
        as_written = raw[index] if isinstance(raw, list) else {}
        steps.append(_step(value, path, reader.problems, role, as_written))
    return tuple(step for step in steps if step is not None)


def _step(value: object, path: str, problems: list[InputError], role: Role, raw: Any) -> Step | None:
    if not isinstance(value, Mapping):
        problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
        return None
    if role == "action" and set(value) == {"pause"}:
        return _pause(value["pause"], path, problems, raw)
    kinds, keys = _ROLES[role]
    if not _has_one_kind(value, kinds, keys, path, problems):
        return None
    before = len(problems)
    kind = next(key for key in value if key in KINDS)
    reader = MappingReader(value, KeyTable(*(STEP[key] for key in keys), Key(kind)), path, problems)
    if kind not in reader.given:
        problems.append(InputError(join_path(path, kind), "expected something, got nothing"))
        return None
    work = _work(KINDS[kind], reader.given[kind], join_path(path, kind), problems)
    default = KINDS[kind].default
    if role == "action" and default is not None and ("expect" in value or not KINDS[kind].acts):
        role = "check"
    if role == "action" and "expect" in value:
        reader.note("expect", InputError("", f"expected nothing: {kind} is an action, not a check"))
    if role == "check" and ("background" in value or "undo" in value):
        key = "background" if "background" in value else "undo"
        reader.note(key, InputError("", "expected nothing: a check has no effect to undo or to wait for"))
    if kind == "breakpoint" and value.get("background"):
        problem = "expected nothing: steps that run meanwhile would change what a breakpoint measures"
        reader.note("background", InputError("", problem))
    expect = reader.take("expect", parse_expect, default) if role == "check" else None
    if expect is not None and KINDS[kind].outputs:
        _refuse_what_is_never_met(reader, expect, KINDS[kind])
    given_undos = reader.given.get("undo", [])
    if isinstance(given_undos, list):
        undo_steps = reader.each("undo", "steps")
    else:
        undo_steps = [(join_path(path, "undo"), given_undos)]
    raw_undos = raw.get("undo") if isinstance(raw, Mapping) else None
    raw_undos = raw_undos if isinstance(raw_undos, list) else [raw_undos]
    undos = [
        _step(each, place, problems, "undo", as_written)
        for (place, each), as_written in zip(undo_steps, raw_undos, strict=False)
    ]
    pauses = reader.inner("pause", PAUSE)
    limit_s = reader.take("limit")
    if len(problems) > before or work is None:
        return None
    as_written = raw if isinstance(raw, Mapping) else {}
    step = Step(
        name=reader.take("name", line, step_text(kind, as_written, work.says)),
        role=role,
        kind=kind,
        work=work,
        limit_s=work.usual_limit_s if limit_s is None else limit_s,
        expect=expect,
        before_s=pauses.take("before"),
        after_s=pauses.take("after"),
        background=reader.take("background") if role == "action" else False,
        undo=tuple(each for each in undos if each is not None),
        written=raw,
    )
    if isinstance(work, Start):
        step = replace(step, work=replace(work, name=step.name))
    if role == "undo":
        _refuse_what_cannot_undo(step, join_path(path, kind), problems)
    return step if len(problems) == before else None


def _refuse_what_is_never_met(reader: MappingReader, expect: Expectation, kind: Kind) -> None:
    for part in expect.parts if isinstance(expect, All) else (expect,):
        if isinstance(part, All):
            _refuse_what_is_never_met(reader, part, kind)
            continue
        target = getattr(part, "target", None)
        if target and target.partition(".")[0] not in kind.outputs:
            problem = f"unknown target {shown(target)}; {advice(target, kind.outputs)}"
            reader.note("expect", InputError("", problem))
        elif kind.statuses and (why := why_never_met(part, kind.statuses)) is not None:
            reader.note("expect", InputError("", why))


def _work(kind: Kind, value: object, path: str, problems: list[InputError]) -> Any:
    """Return the work of a step, or None after adding its mistakes to the problems."""
    before = len(problems)
    key, types = kind.short
    if isinstance(value, types) and not isinstance(value, bool):
        value = {key: value}
    work = kind.build(MappingReader(value, kind.keys, path, problems))
    return work if len(problems) == before else None


def _has_one_kind(
    value: Mapping[str, object],
    kinds: Sequence[str],
    keys: Sequence[str],
    path: str,
    problems: list[InputError],
) -> bool:
    chosen = [key for key in value if key in KINDS]
    if len(chosen) == 1 and chosen[0] in kinds:
        return True
    if len(chosen) == 1:
        problem = f"expected one of {', '.join(kinds)} here, got {chosen[0]}"
        problems.append(InputError(join_path(path, chosen[0]), problem))
        return False
    unknown = [key for key in value if key not in keys and key not in KINDS]
    if not chosen and unknown:
        problem = f"unknown key; {advice(unknown[0], (*kinds, *keys))}"
        problems.append(InputError(join_path(path, unknown[0]), problem))
        return False
    got = " and ".join(chosen) or "none"
    problems.append(InputError(path, f"expected one of {', '.join(kinds)}, got {got}"))
    return False


def _pause(value: object, path: str, problems: list[InputError], raw: Any) -> Step | None:
    try:
        seconds = duration_s(value)
    except InputError as error:
        problems.append(error.within(join_path(path, "pause")))
        return None
    return Step(f"pause {value}", "pause", "pause", None, seconds, before_s=seconds, written=raw)


def _refuse_what_cannot_undo(step: Step, path: str, problems: list[InputError]) -> None:
    work = step.work
    problem = None
    if isinstance(work, PlanChange) and work.add is not None:
        problem = "expected remove or plan: to add a rule undoes nothing"
    elif isinstance(work, Signal) and (work.number.name != "SIGCONT" or work.process is not None):
        problem = (
            "expected SIGCONT to a pid or pid_file: processes that the experiment starts are ended anyway"
        )
    elif step.kind == "fault" and work.change != "remove":
        problem = "expected remove: nothing else undoes a fault"
    if problem is not None:
        problems.append(InputError(path, problem))


def _refuse_repeated_names(reader: MappingReader, key: str, steps: tuple[Step, ...]) -> None:
    """Report names that are given twice: a journal identifies steps by name. Default names may repeat."""
    names: set[str] = set()
    for index, step in enumerate(steps):
        if "name" not in step.written:
            continue
        if step.name in names:
            problem = f'expected a name that no step before it has, got "{step.name}"'
            reader.problems.append(InputError(f"{key}[{index}].name", problem))
        names.add(step.name)


def _refuse_signals_before_start(reader: MappingReader, method: tuple[Step, ...]) -> None:
    started: set[str] = set()
    for index, step in enumerate(method):
        if isinstance(step.work, Start):
            started.add(step.name)
        if isinstance(step.work, Signal) and step.work.process not in (None, *started):
            problem = f"expected the name of a start step before it, got {shown(step.work.process)}"
            reader.problems.append(InputError(f"method[{index}].signal.process", problem))
