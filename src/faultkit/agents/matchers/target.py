"""Targets: paths into the document of a run, such as `tool_calls[0].args.query`. Pure.

    target = root { "." key | "[" number "]" | "[*]" | '["' any key '"]' } [ ".length" ]

A negative number counts from the end, `[*]` stands for all elements, and `length` is the length of a list, a
text, or a mapping without a key of that name. If a target names nothing, the error lists what there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from faultkit.agents.matchers.matcher import quoted
from faultkit.agents.matchers.matcher_table import match
from faultkit.agents.recovery.metrics import Backoff, RecoveryMetrics
from faultkit.agents.recovery.score import RecoveryReport
from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.errors import InputError
from faultkit.base.text import counted

AGENT_ROOTS = (
    "final_response",
    "tool_calls",
    "tool_names",
    "tool_results",
    "model_requests",
    "effects",
    "redundant_tool_calls",
    "truncated",
    "conversation",
    "recovery",
    "metrics",
)
"""Members of the document of an agent's run."""
GOAL_ROOTS = ("final_response", "tool_calls", "tool_names", "tool_results", "effects")
"""Members that may tell whether a task was done. What is computed from that, such as `metrics`, may not."""
CLAIM_ROOTS = ("final_response",)
"""The member that may tell what an agent claims."""
TOOL_ROOTS = ("result", "error", "duration_ms")
"""Members of the document of one call: the server's result or error, and the duration."""

_ELEMENT = "[]"
_CALL = ("name", "args", "server")
_MEMBERS: Mapping[str, Any] = {
    "tool_calls": {_ELEMENT: dict.fromkeys((*_CALL, "outcome", "fault", "start_ms", "end_ms"))},
    "model_requests": {_ELEMENT: dict.fromkeys((*_CALL, "outcome", "fault", "start_ms", "end_ms"))},
    "effects": {_ELEMENT: dict.fromkeys(_CALL)},
    "conversation": {"tokens": {"total": None}, "ending": None},
    "recovery": dict.fromkeys(
        ("verdict", "message", "limit", "detections", *(field.name for field in fields(RecoveryReport)))
    ),
    "metrics": {
        **dict.fromkeys(field.name for field in fields(RecoveryMetrics)),
        "backoff": dict.fromkeys(field.name for field in fields(Backoff)),
    },
}
"""Members of the parts whose members are the same in every run; None below a name: not known beforehand."""

_KEY = r"[A-Za-z_$][\w$-]*"
_STEP = re.compile(rf'\.({_KEY})|\[(-?\d+)\]|\[(\*)\]|\[("(?:[^"\\]|\\.)*")\]')
_ROOT = re.compile(_KEY)
_MOST_NAMES = 20
_ALL_ELEMENTS = object()

TargetStep: TypeAlias = str | int | object
"""A key, a number, or `_ALL_ELEMENTS`."""


class TargetNotFound(LookupError):
    """Raised if a target names nothing in the document of a run."""


@dataclass(frozen=True, slots=True)
class _ResolvedPart:
    """A value in the document, and its path."""

    value: Any
    path: str


def holds(target: str, matcher: str, wanted: Any, document: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the value of a target, or None. A target that names nothing is wrong."""
    try:
        got = resolve(target, document)
    except TargetNotFound as error:
        return str(error)
    problem = match(matcher, wanted, got)
    return None if problem is None else f"{target}: {problem}"


def resolve(target: str, document: Mapping[str, Any]) -> Any:
    """Return the value of a target. Raises TargetNotFound, which lists what there is instead."""
    return _walk(_ResolvedPart(document, ""), steps_of(target), target).value


def check_target(target: object, roots: tuple[str, ...]) -> str:
    """Return the target if its syntax is valid and its names can be in a run. Raises InputError."""
    if not isinstance(target, str) or not target:
        raise InputError("", f"expected a target such as {roots[0]}, got {shown(target)}")
    root, *steps = steps_of(target)
    if root not in roots:
        raise InputError("", f"no target begins with {shown(root)}; {advice(root, roots)}")
    _check_members(str(root), steps)
    return target


def _check_members(path: str, steps: Sequence[TargetStep]) -> None:
    """Raise InputError for a name that no run has, whatever happens in it."""
    known = _MEMBERS.get(path)
    for index, step in enumerate(steps):
        if known is None:
            return
        if not isinstance(step, str):
            known, path = known.get(_ELEMENT), f"{path}[*]"
        elif step in known:
            known, path = known[step], join_path(path, step)
        elif _ELEMENT in known or (step == "length" and index == len(steps) - 1):
            return
        else:
            raise InputError("", f"{path} has no {shown(step)}; {advice(step, list(known))}")


def steps_of(target: str) -> tuple[TargetStep, ...]:
    """Parse a target. Raises InputError."""
    found = _ROOT.match(target)
    if found is None:
        raise InputError("", f"expected a target such as tool_calls[0].name, got {shown(target)}")
    steps: list[TargetStep] = [found[0]]
    place = found.end()
    while place < len(target):
        found = _STEP.match(target, place)
        if found is None:
            raise InputError(
                "", f'expected .key, [number], [*] or ["key"] at character {place + 1} of {shown(target)}'
            )
        try:
            steps.append(_step(*found.groups()))
        except ValueError as error:
            raise InputError("", f"expected a target, got {shown(target)}: {error}") from None
        place = found.end()
    return tuple(steps)


def _step(key: str | None, number: str | None, each: str | None, quoted_key: str | None) -> TargetStep:
    """Return one step. Raises ValueError if a quoted key is no JSON string, or a number is too long."""
    if key is not None:
        return key
    if number is not None:
        return int(number)
    return _ALL_ELEMENTS if each else str(json.loads(quoted_key or ""))


def _walk(here: _ResolvedPart, steps: tuple[TargetStep, ...], target: str) -> _ResolvedPart:
    for index, step in enumerate(steps):
        if step is _ALL_ELEMENTS:
            if not isinstance(here.value, list | tuple):
                raise _missing(target, f"{here.path} is no list but {_kind(here.value)}")
            rest = steps[index + 1 :]
            inner = [_ResolvedPart(each, f"{here.path}[{n}]") for n, each in enumerate(here.value)]
            return _ResolvedPart([_walk(each, rest, target).value for each in inner], target)
        here = _take_step(here, step, is_last=index == len(steps) - 1, target=target)
    return here


def _take_step(here: _ResolvedPart, step: TargetStep, *, is_last: bool, target: str) -> _ResolvedPart:
    value, path = here.value, here.path
    if isinstance(step, int):
        if not isinstance(value, list | tuple):
            raise _missing(target, f"{path} is no list but {_kind(value)}")
        if not -len(value) <= step < len(value):
            raise _missing(target, f"{path} has {counted(len(value), 'element') if value else 'no elements'}")
        return _ResolvedPart(value[step], f"{path}[{step}]")
    if isinstance(value, Mapping) and step in value:
        return _ResolvedPart(value[step], join_path(path, step))
    if step == "length" and is_last and isinstance(value, list | tuple | str | Mapping):
        return _ResolvedPart(len(value), f"{path}.length")
    if not isinstance(value, Mapping):
        raise _missing(target, f"{path} is no mapping but {_kind(value)}")
    names = ", ".join(map(str, list(value)[:_MOST_NAMES])) or "nothing"
    more = ", …" if len(value) > _MOST_NAMES else ""
    if not path and "error" in value:
        more += f" (error: {quoted(value['error'])})"
    raise _missing(target, f"{path or 'this run'} has {names}{more}")


def _missing(target: str, why: str) -> TargetNotFound:
    return TargetNotFound(f"{target}: there is none: {why}")


def _kind(value: Any) -> str:
    return quoted(value) if value is None or isinstance(value, str | int | float) else shown(value)
