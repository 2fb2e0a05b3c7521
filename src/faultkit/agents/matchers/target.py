"""Targets: paths into the document of a run, such as `tool_calls[0].args.query`. Pure.

    target = root { "." key | "[" number "]" | "[*]" | '["' any key '"]' } [ ".length" ]

A negative number counts from the end, `[*]` stands for all elements, and `length` is that of a list, a text
or a mapping which has no such key. A target that does not resolve is an error that lists what there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.agents.matchers.matcher import quoted
from faultkit.agents.matchers.matcher_table import match
from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.errors import InputError

AGENT_ROOTS = (
    "final_response",
    "tool_calls",
    "tool_names",
    "tool_results",
    "redundant_tool_calls",
    "truncated",
    "conversation",
    "recovery",
    "metrics",
)
"""Members of the document of an agent's run."""
TOOL_ROOTS = ("result", "error", "duration_ms")
"""Members of the document of one call: the server's result or error, and the duration."""

_KEY = r"[A-Za-z_$][\w$-]*"
_STEP = re.compile(rf'\.({_KEY})|\[(-?\d+)\]|\[(\*)\]|\[("(?:[^"\\]|\\.)*")\]')
_ROOT = re.compile(_KEY)
_MOST_NAMED = 20
_EACH = object()

Step: TypeAlias = str | int | object
"""A key, a number, or `_EACH`."""


class NotThere(LookupError):
    """The target names nothing in this run."""


@dataclass(frozen=True, slots=True)
class _Reached:
    value: Any
    path: str


def holds(target: str, matcher: str, wanted: Any, document: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the target's value, or None. A target that names nothing is wrong."""
    try:
        got = resolve(target, document)
    except NotThere as error:
        return str(error)
    problem = match(matcher, wanted, got)
    return None if problem is None else f"{target}: {problem}"


def resolve(target: str, document: Mapping[str, Any]) -> Any:
    """Return the value of a target. Raises NotThere, which lists what there is instead."""
    root, *steps = steps_of(target)
    return _walked(_Reached(document, ""), (root, *steps), target).value


def check_target(target: object, roots: tuple[str, ...]) -> str:
    """Return a target with valid syntax and a known root. Raises InputError."""
    if not isinstance(target, str) or not target:
        raise InputError("", f"expected a target such as {roots[0]}, got {shown(target)}")
    root = steps_of(target)[0]
    if root not in roots:
        raise InputError("", f"no target begins with {shown(root)}; {advice(root, roots)}")
    return target


def steps_of(target: str) -> tuple[Step, ...]:
    """Parse a target. Raises InputError."""
    found = _ROOT.match(target)
    if found is None:
        raise InputError("", f"expected a target such as tool_calls[0].name, got {shown(target)}")
    steps: list[Step] = [found[0]]
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


def _step(key: str | None, number: str | None, each: str | None, quoted_key: str | None) -> Step:
    """Return one step. Raises ValueError if a quoted key is no JSON string, or a number is too long."""
    if key is not None:
        return key
    if number is not None:
        return int(number)
    return _EACH if each else str(json.loads(quoted_key or ""))


def _walked(here: _Reached, steps: tuple[Step, ...], target: str) -> _Reached:
    for index, step in enumerate(steps):
        if step is _EACH:
            if not isinstance(here.value, list | tuple):
                raise _missing(target, f"{here.path} is no list but {_kind(here.value)}")
            rest = steps[index + 1 :]
            inner = [_Reached(each, f"{here.path}[{n}]") for n, each in enumerate(here.value)]
            return _Reached([_walked(each, rest, target).value for each in inner], target)
        here = _stepped(here, step, is_last=index == len(steps) - 1, target=target)
    return here


def _stepped(here: _Reached, step: Step, *, is_last: bool, target: str) -> _Reached:
    value, path = here.value, here.path
    if isinstance(step, int):
        if not isinstance(value, list | tuple):
            raise _missing(target, f"{path} is no list but {_kind(value)}")
        if not -len(value) <= step < len(value):
            raise _missing(target, f"{path} has {_count(len(value))}")
        return _Reached(value[step], f"{path}[{step}]")
    if isinstance(value, Mapping) and step in value:
        return _Reached(value[step], join_path(path, step))
    if step == "length" and is_last and isinstance(value, list | tuple | str | Mapping):
        return _Reached(len(value), f"{path}.length")
    if not isinstance(value, Mapping):
        raise _missing(target, f"{path} is no mapping but {_kind(value)}")
    names = ", ".join(map(str, list(value)[:_MOST_NAMED])) or "nothing"
    more = ", …" if len(value) > _MOST_NAMED else ""
    if not path and "error" in value:
        more += f" (error: {quoted(value['error'])})"
    raise _missing(target, f"{path or 'this run'} has {names}{more}")


def _missing(target: str, why: str) -> NotThere:
    return NotThere(f"{target}: there is none: {why}")


def _count(number: int) -> str:
    return "no elements" if number == 0 else "1 element" if number == 1 else f"{number} elements"


def _kind(value: Any) -> str:
    return quoted(value) if value is None or isinstance(value, str | int | float) else shown(value)
