"""From a document (what YAML or JSON gave) to an experiment. Every mistake is noted with its path.

In which file and line a path stands is told by `faultkit.chaos.experiment.file`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.documents.values import duration_s, line, switch, text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.expect import parse_expect
from faultkit.chaos.experiment.model import USUAL_DURATION_S, During, Experiment, Step
from faultkit.chaos.experiment.variables import filled
from faultkit.chaos.experiment.work.plans import PlanChange
from faultkit.chaos.experiment.work.processes import Signal, Start
from faultkit.chaos.experiment.work.table import CHECKS, KINDS, UNDOS

KEYS = (
    "name",
    "description",
    "environment",
    "limits",
    "seed",
    "steady_state",
    "method",
    "during",
    "rollback",
)
LIMIT_KEYS = ("max_duration",)
DURING_KEYS = ("every", "stop", "checks")
STEP_KEYS = ("name", "limit", "pause")
PAUSE_KEYS = ("before", "after")
_CHECK_KEYS = (*STEP_KEYS, "expect")
_METHOD_KEYS = (*STEP_KEYS, "expect", "background", "undo")


def parse_experiment(
    document: object, env: Mapping[str, str], problems: list[InputError], file: Path | None = None
) -> Experiment | None:
    """None if there are problems; these are added to the list."""
    before = len(problems)
    reading = Reading(filled(document, env, problems), KEYS, "", problems)
    written = document if isinstance(document, Mapping) else {}
    name = reading.need("name", line, "", "a name")
    description = reading.take("description", text, "")
    limits = reading.inner("limits", LIMIT_KEYS)
    steady = _steps(reading, written, "steady_state", "check")
    if reading.sound and not reading.given.get("steady_state"):
        problem = "expected a list of at least one check: without it nothing can hold or deviate"
        reading.note("steady_state", InputError("", problem))
    method = _steps(reading, written, "method", "action")
    if reading.sound and "method" not in reading.given:
        reading.note("method", InputError("", "expected a list of steps (it may be empty), got nothing"))
    rollback = _steps(reading, written, "rollback", "undo")
    _refuse_repeats(reading, (("steady_state", steady), ("method", method), ("rollback", rollback)))
    _refuse_unstarted(reading, method)
    experiment = Experiment(
        name=name,
        description=description,
        environments=reading.take("environment", _environments, ()),
        max_duration_s=limits.take("max_duration", duration_s, USUAL_DURATION_S),
        seed=reading.take("seed", _seed, None),
        steady_state=steady,
        method=method,
        during=_during(reading, written, steady),
        rollback=rollback,
        file=file,
        written=written,
    )
    return experiment if len(problems) == before else None


def _environments(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(line(each) for each in listed)


def _seed(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise InputError("", f"expected a whole number or a text, got {shown(value)}")
    return value


def _during(reading: Reading, written: Mapping[str, Any], steady: tuple[Step, ...]) -> During | None:
    if "during" not in reading.given:
        return None
    inner = reading.inner("during", DURING_KEYS)
    every_s = inner.need("every", duration_s, 1.0, 'a duration with its unit such as "1s"')
    stop = inner.take("stop", switch, False)
    own = written.get("during")
    checks = _steps(inner, own if isinstance(own, Mapping) else {}, "checks", "check")
    return During(every_s, checks or steady, stop)


def _steps(
    reading: Reading, written: Mapping[str, Any], key: str, role: Literal["check", "action", "undo"]
) -> tuple[Step, ...]:
    raw = written.get(key)
    found: list[Step | None] = []
    for index, (path, value) in enumerate(reading.each(key, "steps")):
        as_written = raw[index] if isinstance(raw, list) else {}
        found.append(_step(value, path, reading.problems, role, as_written))
    return tuple(step for step in found if step is not None)


def _step(
    value: object, path: str, problems: list[InputError], role: Literal["check", "action", "undo"], raw: Any
) -> Step | None:
    if not isinstance(value, Mapping):
        problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
        return None
    if role == "action" and set(value) == {"pause"}:
        return _pause(value["pause"], path, problems, raw)
    kinds, keys = _ALLOWED[role]
    if not _has_one_kind(value, kinds, keys, path, problems):
        return None
    before = len(problems)
    kind = next(key for key in value if key in KINDS)
    reading = Reading(value, (*keys, kind), path, problems)
    if kind not in reading.given:
        problems.append(InputError(joined(path, kind), "expected something, got nothing"))
        return None
    work = KINDS[kind].read(reading.given[kind], joined(path, kind), problems)
    if role == "action" and KINDS[kind].looks is not None and ("expect" in value or not KINDS[kind].acts):
        role = "check"
    if role == "action" and "expect" in value:
        reading.note("expect", InputError("", f"expected nothing: {kind} is an action, not a check"))
    if role == "check" and ("background" in value or "undo" in value):
        key = "background" if "background" in value else "undo"
        reading.note(key, InputError("", "expected nothing: a check has no effect, and nobody waits for it"))
    expect = reading.take("expect", parse_expect, KINDS[kind].looks) if role == "check" else None
    undo = reading.each("undo", "steps") if isinstance(value.get("undo"), list) else _one(reading, "undo")
    undos = [_step(each, where, problems, "undo", each) for where, each in undo]
    pauses = reading.inner("pause", PAUSE_KEYS)
    limit_s = reading.take("limit", duration_s, None)
    if len(problems) > before or work is None:
        return None
    step = Step(
        name=reading.take("name", line, work.says),
        role=role,
        kind=kind,
        work=work,
        limit_s=work.usual_limit_s if limit_s is None else limit_s,
        expect=expect,
        before_s=pauses.take("before", duration_s, 0.0),
        after_s=pauses.take("after", duration_s, 0.0),
        background=reading.take("background", switch, False),
        undo=tuple(each for each in undos if each is not None),
        written=raw,
    )
    if isinstance(work, Start):
        step = replace(step, work=replace(work, name=step.name))
    if role == "undo":
        _refuse_what_cannot_undo(step, joined(path, kind), problems)
    return step if len(problems) == before else None


_ALLOWED = {
    "check": (CHECKS, _CHECK_KEYS),
    "action": (tuple(KINDS), _METHOD_KEYS),
    "undo": (UNDOS, ("name", "limit")),
}


def _one(reading: Reading, key: str) -> list[tuple[str, object]]:
    return [(joined(reading.path, key), reading.given[key])] if key in reading.given else []


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
        problems.append(InputError(joined(path, chosen[0]), problem))
        return False
    strange = [key for key in value if key not in keys and key not in KINDS]
    if not chosen and strange:
        problem = f"unknown key; {advice(strange[0], (*kinds, *keys))}"
        problems.append(InputError(joined(path, strange[0]), problem))
        return False
    got = " and ".join(chosen) or "none"
    problems.append(InputError(path, f"expected one of {', '.join(kinds)}, got {got}"))
    return False


def _pause(value: object, path: str, problems: list[InputError], raw: Any) -> Step | None:
    try:
        seconds = duration_s(value)
    except InputError as error:
        problems.append(error.within(joined(path, "pause")))
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


def _refuse_repeats(reading: Reading, parts: Sequence[tuple[str, tuple[Step, ...]]]) -> None:
    """Names tell steps apart in a journal. Those that were not written may be alike."""
    for key, steps in parts:
        seen: set[str] = set()
        for index, step in enumerate(steps):
            if "name" not in step.written:
                continue
            if step.name in seen:
                problem = f'expected a name that no step before it has, got "{step.name}"'
                reading.problems.append(InputError(f"{key}[{index}].name", problem))
            seen.add(step.name)


def _refuse_unstarted(reading: Reading, method: tuple[Step, ...]) -> None:
    started: set[str] = set()
    for index, step in enumerate(method):
        if isinstance(step.work, Start):
            started.add(step.name)
        if isinstance(step.work, Signal) and step.work.process not in (None, *started):
            problem = f"expected the name of a start step before it, got {shown(step.work.process)}"
            reading.problems.append(InputError(f"method[{index}].signal.process", problem))
