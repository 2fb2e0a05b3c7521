"""Experiments from files and folders, in our short form or as Chaos Toolkit has them.

Every error of the short form says in which file and line it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.seeds import read_seed
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    duration_s,
    line,
    switch,
    text,
)
from faultkit.base.documents.variables import Variables
from faultkit.base.documents.yaml_text import Document, read_document, read_documents
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.chaos.experiment.experiment_model import (
    USUAL_DURATION_S,
    During,
    Experiment,
    Step,
    ToolkitExperiment,
)
from faultkit.chaos.steps.expectations import parse_expect
from faultkit.chaos.steps.fault_steps import PlanChange
from faultkit.chaos.steps.process_steps import Signal, Start
from faultkit.chaos.steps.step_kinds import CHECKS, KINDS, UNDOS

AnyExperiment: TypeAlias = Experiment | ToolkitExperiment
PATTERNS = ("*.yaml", "*.yml", "*.json")


def load_experiment(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> AnyExperiment:
    """Return the experiment of a file. Raises the first error of `validate`."""
    experiment, problems = read_experiment(read_text(path), os.fspath(path), env)
    if problems:
        raise problems[0]
    assert experiment is not None
    return experiment


def validate(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> list[InputError]:
    """Return everything that is wrong with a file, in order of its lines."""
    try:
        return read_experiment(read_text(path), os.fspath(path), env)[1]
    except InputError as error:
        return [error]


def read_experiment(
    text: str, source: str, env: Mapping[str, str] | None = None
) -> tuple[AnyExperiment | None, list[InputError]]:
    """Return the experiment of a text, if it is valid, and everything that is wrong with it."""
    try:
        value, document = _read(text, source)
    except InputError as error:
        return None, [error]
    file = Path(source)
    if isinstance(value, Mapping) and "title" in value and "name" not in value:
        return ToolkitExperiment(str(value["title"]), file, value), []
    problems: list[InputError] = []
    experiment = parse_experiment(value, os.environ if env is None else env, problems, file)
    if document is not None:
        problems.sort(key=lambda error: document.line_of(error.path))
    return experiment, [_placed(error, source, document) for error in problems]


def _read(text: str, source: str) -> tuple[object, Document | None]:
    """What it says, and where: JSON as JSON, since YAML reads some of it in another way."""
    try:
        documents: Sequence[Document] = list(read_documents(text, source, "an experiment"))
    except InputError:
        # JSON may have tabs, for example. If it is none either, this says what is wrong.
        return read_document(text, source), None
    if len(documents) != 1:
        got = "a file without one" if not documents else f"{len(documents)} documents"
        raise InputError(source, f"expected one experiment, got {got}")
    try:
        json.loads(text)
    except ValueError:
        return documents[0].value, documents[0]
    return read_document(text, source), documents[0]


def placed(error: InputError, file: Path) -> InputError:
    """Return an error with its file, and with its line if that is known."""
    try:
        document = _read(read_text(file), str(file))[1]
    except InputError:
        document = None
    return _placed(error, str(file), document)


def _placed(error: InputError, source: str, document: Document | None) -> InputError:
    place = f"line {document.line_of(error.path)}" if document is not None else ""
    return InputError(": ".join(filter(None, (source, place, error.path))), error.problem)


# The keys of experiment files: from a document (YAML or JSON data) to an experiment.
#
# Each mapping is declared once as a table of keys; the keys below the kind of a step belong to the step
# kinds.
# Every mistake is reported with its path; `faultkit.chaos.experiment.experiment_file` adds file and line.


def _environments(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(line(each) for each in listed)


_STEPS: Schema = {"type": "array", "items": {"type": "object"}}

LIMITS = KeyTable(
    Key(
        "max_duration",
        duration_s,
        DURATION_SCHEMA,
        USUAL_DURATION_S,
        "The longest time of everything but the rollback; five minutes by default.",
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
        _environments,
        {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]},
        (),
        "The environments in which alone it may run.",
    ),
    Key("limits", schema=LIMITS),
    Key(
        "seed",
        partial(read_seed, negative=True),
        {"type": ["integer", "string"]},
        help="The seed of all chance in it.",
    ),
    Key("steady_state", schema=_STEPS, help="Checks that hold before and after; at least one."),
    Key("method", schema=_STEPS, help="Actions, checks and pauses, one after the other; may be empty."),
    Key("during", schema=DURING),
    Key("rollback", schema=_STEPS, help="Steps that undo the method, in any case."),
)
PAUSE = KeyTable(
    Key("before", duration_s, DURATION_SCHEMA, 0.0, "A pause before the step."),
    Key("after", duration_s, DURATION_SCHEMA, 0.0, "A pause after the step."),
)
STEP = KeyTable(
    Key("name", line, TEXT_SCHEMA, help="The name of the step; by default what it does."),
    Key("limit", duration_s, DURATION_SCHEMA, help="The longest time of the step."),
    Key("pause", schema=PAUSE),
    Key("expect", help="What a check must find."),
    Key("background", switch, SWITCH_SCHEMA, False, "The method goes on meanwhile, and waits at its end."),
    Key("undo", schema=_STEPS, help="Steps that take the action back."),
)
_CHECK_KEYS = ("name", "limit", "pause", "expect")
_ROLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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
        problem = "expected a list of at least one check: without it nothing can hold or deviate"
        reader.note("steady_state", InputError("", problem))
    method = _steps(reader, written, "method", "action")
    if reader.sound and "method" not in reader.given:
        reader.note("method", InputError("", "expected a list of steps (it may be empty), got nothing"))
    rollback = _steps(reader, written, "rollback", "undo")
    _refuse_repeats(reader, (("steady_state", steady), ("method", method), ("rollback", rollback)))
    _refuse_unstarted(reader, method)
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


def _steps(
    reader: MappingReader, written: Mapping[str, Any], key: str, role: Literal["check", "action", "undo"]
) -> tuple[Step, ...]:
    raw = written.get(key)
    found: list[Step | None] = []
    for index, (path, value) in enumerate(reader.each(key, "steps")):
        as_written = raw[index] if isinstance(raw, list) else {}
        found.append(_step(value, path, reader.problems, role, as_written))
    return tuple(step for step in found if step is not None)


def _step(
    value: object, path: str, problems: list[InputError], role: Literal["check", "action", "undo"], raw: Any
) -> Step | None:
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
    work = KINDS[kind].read(reader.given[kind], join_path(path, kind), problems)
    if role == "action" and KINDS[kind].looks is not None and ("expect" in value or not KINDS[kind].acts):
        role = "check"
    if role == "action" and "expect" in value:
        reader.note("expect", InputError("", f"expected nothing: {kind} is an action, not a check"))
    if role == "check" and ("background" in value or "undo" in value):
        key = "background" if "background" in value else "undo"
        reader.note(key, InputError("", "expected nothing: a check has no effect to undo or to wait for"))
    expect = reader.take("expect", parse_expect, KINDS[kind].looks) if role == "check" else None
    undo = reader.each("undo", "steps") if isinstance(value.get("undo"), list) else _one(reader, "undo")
    undos = [_step(each, where, problems, "undo", each) for where, each in undo]
    pauses = reader.inner("pause", PAUSE)
    limit_s = reader.take("limit")
    if len(problems) > before or work is None:
        return None
    step = Step(
        name=reader.take("name", line, work.says),
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


def _one(reader: MappingReader, key: str) -> list[tuple[str, object]]:
    return [(join_path(reader.path, key), reader.given[key])] if key in reader.given else []


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
    strange = [key for key in value if key not in keys and key not in KINDS]
    if not chosen and strange:
        problem = f"unknown key; {advice(strange[0], (*kinds, *keys))}"
        problems.append(InputError(join_path(path, strange[0]), problem))
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


def _refuse_repeats(reader: MappingReader, parts: Sequence[tuple[str, tuple[Step, ...]]]) -> None:
    """Names tell steps apart in a journal. Those that were not written may be alike."""
    for key, steps in parts:
        seen: set[str] = set()
        for index, step in enumerate(steps):
            if "name" not in step.written:
                continue
            if step.name in seen:
                problem = f'expected a name that no step before it has, got "{step.name}"'
                reader.problems.append(InputError(f"{key}[{index}].name", problem))
            seen.add(step.name)


def _refuse_unstarted(reader: MappingReader, method: tuple[Step, ...]) -> None:
    started: set[str] = set()
    for index, step in enumerate(method):
        if isinstance(step.work, Start):
            started.add(step.name)
        if isinstance(step.work, Signal) and step.work.process not in (None, *started):
            problem = f"expected the name of a start step before it, got {shown(step.work.process)}"
            reader.problems.append(InputError(f"method[{index}].signal.process", problem))
