"""Matchers of any value: equality, subset, type, length, number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.agents.matchers.matcher import Matcher, anything, difference, quoted, same
from faultkit.base.documents.checks import advice, mapping, shown
from faultkit.base.errors import InputError


def _exact(wanted: Any, got: Any) -> str | None:
    return None if same(wanted, got) else f"expected exactly this:\n{difference(wanted, got)}"


def _snapshot(wanted: Any, got: Any) -> str | None:
    return None if same(wanted, got) else f"expected what the snapshot holds:\n{difference(wanted, got)}"


def _snapshot_name(wanted: Any) -> None:
    if wanted is not True and (not isinstance(wanted, str) or not wanted):
        raise InputError("", f"expected true or the name of a snapshot, got {shown(wanted)}")


# --- part of --------------------------------------------------------------------------------------


def _subset(wanted: Any, got: Any) -> str | None:
    if _is_within(wanted, got):
        return None
    return f"expected at least this:\n{difference(wanted, _seen_as(wanted, got))}"


def _is_within(wanted: Any, got: Any) -> bool:
    """Return whether `got` has at least what is wanted: mappings may have more keys, lists more elements."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return all(key in got and _is_within(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        rest = iter(got)
        return all(any(_is_within(each, other) for other in rest) for each in wanted)
    return same(wanted, got)


def _seen_as(wanted: Any, got: Any) -> Any:
    """Return `got` without the keys that were not asked for, so that a difference shows only what is
    wrong."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return {key: _seen_as(wanted[key], got[key]) for key in wanted if key in got}
    return got


# --- of a type, of a length -----------------------------------------------------------------------

TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda got: isinstance(got, str),
    "integer": lambda got: _is_number(got) and float(got).is_integer(),
    "number": lambda got: _is_number(got),
    "boolean": lambda got: isinstance(got, bool),
    "array": lambda got: isinstance(got, list | tuple),
    "object": lambda got: isinstance(got, Mapping),
    "null": lambda got: got is None,
}


def _is_number(got: Any) -> bool:
    return isinstance(got, int | float) and not isinstance(got, bool) and math.isfinite(got)


def _type(wanted: Any, got: Any) -> str | None:
    names = wanted if isinstance(wanted, list) else [wanted]
    if any(TYPES[name](got) for name in names):
        return None
    return f"expected a value of type {' or '.join(names)}, got {quoted(got)}"


def _type_name(wanted: Any) -> None:
    names = wanted if isinstance(wanted, list) and wanted else [wanted]
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise InputError("", f"expected a type, got {shown(name)}; {advice(name, tuple(TYPES))}")


def _length(wanted: Any, got: Any) -> str | None:
    if not isinstance(got, str | list | tuple | Mapping):
        return f"expected a text, a list or a mapping, which have a length, got {quoted(got)}"
    problem = _numeric(wanted, len(got))
    return None if problem is None else f"of its length: {problem}; it is {quoted(got)}"


# --- a number within limits -----------------------------------------------------------------------

_LIMITS = ("gt", "ge", "lt", "le")
_CONDITIONS: dict[str, tuple[str, Callable[[float, Any], bool]]] = {
    "gt": ("> {0}", lambda number, limit: number > limit),
    "ge": (">= {0}", lambda number, limit: number >= limit),
    "lt": ("< {0}", lambda number, limit: number < limit),
    "le": ("<= {0}", lambda number, limit: number <= limit),
    "between": ("from {0[0]} to {0[1]}", lambda number, pair: pair[0] <= number <= pair[1]),
    "close": (
        "within {0[within]} of {0[to]}",
        lambda number, close: abs(number - close["to"]) <= close["within"],
    ),
}
"""Wording and test of each condition."""
NUMERIC_KEYS = tuple(_CONDITIONS)


def _numeric(wanted: Any, got: Any) -> str | None:
    number = _number(got)
    if number is None:
        return f"expected a number, got {quoted(got)}"
    if not isinstance(wanted, Mapping):
        return None if number == wanted else f"expected the number {wanted}, got {quoted(got)}"
    broken = [
        words.format(limit)
        for key, limit in wanted.items()
        for words, fits in (_CONDITIONS[key],)
        if not fits(number, limit)
    ]
    return f"expected a number {' and '.join(broken)}, got {quoted(got)}" if broken else None


def _number(got: Any) -> float | None:
    """Return a number, also from a text that is one, because models answer in text."""
    if isinstance(got, str):
        try:
            got = float(got.strip())
        except ValueError:
            return None
    return got if _is_number(got) else None


def _limits(wanted: Any) -> None:
    if _is_number(wanted):
        return
    if not isinstance(wanted, Mapping):
        raise InputError("", f"expected a number or limits ({', '.join(NUMERIC_KEYS)}), got {shown(wanted)}")
    given: Any = mapping(wanted, NUMERIC_KEYS, "")
    if not given:
        raise InputError("", f"expected at least one of {', '.join(NUMERIC_KEYS)}, got none")
    for key in _LIMITS:
        if key in given:
            _need_number(given[key], key)
    if "between" in given:
        _need_pair(given["between"])
    if "close" in given:
        close: Any = mapping(given["close"], ("to", "within"), "close")
        _need_number(close.get("to"), "close.to")
        _need_number(close.get("within"), "close.within")


def _need_pair(pair: Any) -> None:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InputError("between", f"expected two numbers, got {shown(pair)}")
    for index, each in enumerate(pair):
        _need_number(each, f"between[{index}]")
    if pair[0] > pair[1]:
        raise InputError("between", f"expected the lower number first, got {pair[0]} and {pair[1]}")


def _need_number(value: Any, path: str) -> None:
    if not _is_number(value):
        raise InputError(path, f"expected a number, got {shown(value)}")


_NUMBER = {"type": "number"}
_LIMITS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        _NUMBER,
        {
            "type": "object",
            "minProperties": 1,
            "properties": {
                **dict.fromkeys(_LIMITS, _NUMBER),
                "between": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
                "close": {
                    "type": "object",
                    "properties": {"to": _NUMBER, "within": _NUMBER},
                    "required": ["to", "within"],
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    ]
}
_TYPE_SCHEMA: dict[str, Any] = {
    "anyOf": [{"enum": list(TYPES)}, {"type": "array", "minItems": 1, "items": {"enum": list(TYPES)}}]
}
_SNAPSHOT_SCHEMA: dict[str, Any] = {"anyOf": [{"const": True}, {"type": "string", "minLength": 1}]}

VALUE_MATCHERS = (
    Matcher("exact", "Equal to it.", _exact, anything),
    Matcher(
        "subset",
        "Has at least this: mappings may have more keys, lists more elements.",
        _subset,
        anything,
    ),
    Matcher(
        "snapshot",
        "Equal to what was stored when it was first seen.",
        _snapshot,
        _snapshot_name,
        _SNAPSHOT_SCHEMA,
    ),
    Matcher("numeric", "A number, or a number within limits.", _numeric, _limits, _LIMITS_SCHEMA),
    Matcher("type", "Of a type of JSON.", _type, _type_name, _TYPE_SCHEMA),
    Matcher("length", "Of so many characters, elements or keys.", _length, _limits, _LIMITS_SCHEMA),
)
