"""Matchers of any value: equality, snapshots, subset, type, length, number. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.agents.matchers.matcher import Matcher, check_nothing, difference, quoted, same
from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.key_tables import Key, KeyTable, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError


def _exact(wanted: Any, got: Any) -> str | None:
    return None if same(wanted, got) else f"expected exactly this:\n{difference(wanted, got)}"


def _snapshot(wanted: Any, got: Any) -> str | None:
    return None if same(wanted, got) else f"expected what the snapshot holds:\n{difference(wanted, got)}"


def _check_snapshot(wanted: Any) -> None:
    if wanted is not True and (not isinstance(wanted, str) or not wanted):
        raise InputError("", f"expected true or the name of a snapshot, got {shown(wanted)}")


# Subset


def _subset(wanted: Any, got: Any) -> str | None:
    if _is_within(wanted, got):
        return None
    return f"expected at least this:\n{difference(wanted, _without_other_keys(wanted, got))}"


def _is_within(wanted: Any, got: Any) -> bool:
    """Return whether `got` has at least what is wanted: mappings may have more keys, lists more elements."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return all(key in got and _is_within(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        rest = iter(got)
        return all(any(_is_within(each, other) for other in rest) for each in wanted)
    return same(wanted, got)


def _without_other_keys(wanted: Any, got: Any) -> Any:
    """Return `got` with the wanted keys only, so that a difference shows only what is wrong."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return {key: _without_other_keys(wanted[key], got[key]) for key in wanted if key in got}
    return got


# Type and length

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


def _check_type(wanted: Any) -> None:
    names = wanted if isinstance(wanted, list) and wanted else [wanted]
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise InputError("", f"expected a type, got {shown(name)}; {advice(name, tuple(TYPES))}")


def _length(wanted: Any, got: Any) -> str | None:
    if not isinstance(got, str | list | tuple | Mapping):
        return f"expected a text, a list or a mapping, which have a length, got {quoted(got)}"
    problem = _numeric(wanted, len(got))
    return None if problem is None else f"of its length: {problem}; it is {quoted(got)}"


# Numbers within limits

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
"""The wording and the test of each condition."""


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


def _need_number(value: Any) -> None:
    if not _is_number(value):
        raise InputError("", f"expected a number, got {shown(value)}")


def _need_pair(pair: Any) -> None:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InputError("", f"expected two numbers, got {shown(pair)}")
    for index, each in enumerate(pair):
        try:
            _need_number(each)
        except InputError as error:
            raise error.within(f"[{index}]") from None
    if pair[0] > pair[1]:
        raise InputError("", f"expected the lower number first, got {pair[0]} and {pair[1]}")


_NUMBER = {"type": "number"}
CLOSE = KeyTable(
    Key("to", _need_number, _NUMBER, required="a number"),
    Key("within", _need_number, _NUMBER, required="a number"),
    has_nulls=False,
)


def _need_close(value: Any) -> None:
    close = MappingReader(value, CLOSE)
    for key in CLOSE.names:
        close.take(key)


LIMITS = KeyTable(
    *(Key(name, _need_number, _NUMBER) for name in ("gt", "ge", "lt", "le")),
    Key("between", _need_pair, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}),
    Key("close", _need_close, CLOSE),
    rules={"minProperties": 1},
    has_nulls=False,
)


def _check_limits(wanted: Any) -> None:
    if _is_number(wanted):
        return
    names = ", ".join(LIMITS.names)
    if not isinstance(wanted, Mapping):
        raise InputError("", f"expected a number or limits ({names}), got {shown(wanted)}")
    limits = MappingReader(wanted, LIMITS)
    if not limits.given:
        raise InputError("", f"expected at least one of {names}, got none")
    limits.values()


_LIMITS_SCHEMA: dict[str, Any] = {"anyOf": [_NUMBER, schema_of(LIMITS)]}
_TYPE_SCHEMA: dict[str, Any] = {
    "anyOf": [{"enum": list(TYPES)}, {"type": "array", "minItems": 1, "items": {"enum": list(TYPES)}}]
}
_SNAPSHOT_SCHEMA: dict[str, Any] = {"anyOf": [{"const": True}, {"type": "string", "minLength": 1}]}

VALUE_MATCHERS = (
    Matcher("exact", "Equal to this value.", _exact, check_nothing),
    Matcher(
        "subset",
        "Has at least this: mappings may have more keys, lists more elements.",
        _subset,
        check_nothing,
    ),
    Matcher(
        "snapshot",
        "Equal to the stored value, which --update-snapshots writes.",
        _snapshot,
        _check_snapshot,
        _SNAPSHOT_SCHEMA,
    ),
    Matcher("numeric", "A number, or a number within limits.", _numeric, _check_limits, _LIMITS_SCHEMA),
    Matcher("type", "Has this JSON type.", _type, _check_type, _TYPE_SCHEMA),
    Matcher("length", "Has so many characters, elements or keys.", _length, _check_limits, _LIMITS_SCHEMA),
)
