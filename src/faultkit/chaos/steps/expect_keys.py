"""The keys of `expect`: tables of keys, and the parser of what a check expects.

The forms are those of Chaos Toolkit (a value, a list, and mappings of type range, regex, jsonpath and probe)
and comparisons, such as `below: 300`. A pair of numbers is a range, ends included; any other list contains
the allowed values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.documents.checks import shown, text, whole_number
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice, read_pattern
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern
from faultkit.chaos.steps.expectations import (
    All,
    Comparison,
    Equals,
    Expectation,
    FunctionExpectation,
    JsonPath,
    NumberPair,
    OneOf,
    Range,
    RegexMatch,
)
from faultkit.chaos.steps.function_steps import FUNCTION_FORM, read_arguments, read_function
from faultkit.chaos.steps.json_path import find
from faultkit.chaos.steps.step_work import ANY_MAPPING_SCHEMA

TYPES = ("range", "regex", "jsonpath", "probe")
EXPECT_FORM = "a value, a list, or a mapping such as {target: elapsed_ms, below: 300}"
_JSON_PATH_FORM = "a JSON path such as $.items[*].name"
_NUMBER_SCHEMA: Schema = {"type": "number"}
_ENDS_SCHEMA: Schema = {"type": "array", "items": _NUMBER_SCHEMA, "minItems": 2, "maxItems": 2}


def _read_any(value: object) -> object:
    return value


def _read_values(value: object) -> tuple[object, ...]:
    if not isinstance(value, list) or not value:
        raise InputError("", f"expected a list of values, got {shown(value)}")
    return tuple(value)


def _read_number(value: object) -> object:
    if not _is_plain_number(value):
        raise InputError("", f"expected a number, got {shown(value)}")
    return value


def _is_plain_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _read_length(value: object) -> int:
    length = whole_number(value, "a whole number of at least 0", "")
    if length < 0:
        raise InputError("", f"expected a whole number of at least 0, got {shown(value)}")
    return length


def _read_count(value: object) -> int:
    return whole_number(value, "a whole number", "")


def _read_ends(value: object) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2 or not all(map(_is_plain_number, value)):
        raise InputError("", f"expected a list of two numbers, got {shown(value)}")
    low, high = value
    if low > high:
        raise InputError("", f"expected the smaller number first, got {low} and {high}")
    return low, high


def _read_pattern(value: object) -> LinearPattern:
    return read_pattern(text(value, "a regular expression", ""))


def _read_json_path(value: object) -> str:
    path = text(value, _JSON_PATH_FORM, "").strip()
    try:
        find(path, None)
    except ValueError:
        raise InputError("", f"expected {_JSON_PATH_FORM}, got {shown(path)}") from None
    return path


def _read_all(value: object) -> list[Expectation]:
    if not isinstance(value, list) or not value:
        raise InputError("", f"expected a list of expectations, got {shown(value)}")
    return [_within(f"[{index}]", parse_expect, each) for index, each in enumerate(value)]


_TYPE = Key("type", choice(TYPES), {"enum": list(TYPES)}, help="The form, as in Chaos Toolkit.")
_TARGET = Key(
    "target",
    lambda value: text(value, "the name of a part", ""),
    TEXT_SCHEMA,
    help="The part of the value that is compared, such as `status`, or `body.items` by a dotted path.",
)

COMPARISON = KeyTable(
    _TARGET,
    Key("all", _read_all, {"type": "array"}, help="A list of expectations that must all be met."),
    Key("equals", _read_any, help="Equal to this."),
    Key("not", _read_any, help="Anything but this."),
    Key("one_of", _read_values, {"type": "array"}, help="One of these."),
    Key("above", _read_number, _NUMBER_SCHEMA, help="More than this."),
    Key("at_least", _read_number, _NUMBER_SCHEMA, help="This or more."),
    Key("below", _read_number, _NUMBER_SCHEMA, help="Less than this."),
    Key("at_most", _read_number, _NUMBER_SCHEMA, help="This or less."),
    Key("contains", _read_any, help="A text with this part, or a list with this element."),
    Key("length", _read_length, {"type": "integer", "minimum": 0}, help="Of this length."),
    Key("between", _read_ends, _ENDS_SCHEMA, help="A number in this range, ends included."),
    Key("matches", _read_pattern, TEXT_SCHEMA, help="A text in which this regular expression is found."),
    Key("type", _TYPE.read, _TYPE.schema, help="Another form: the table below."),
    has_nulls=False,
)
"""The comparisons by their words. A mapping with a `type` is one of EXPECT_TYPES instead."""
WORDS = tuple(name for name in COMPARISON.names if name not in ("target", "all", "type"))

EXPECT_TYPES: Mapping[str, KeyTable] = {
    "range": KeyTable(
        _TYPE,
        Key("range", _read_ends, _ENDS_SCHEMA, help="Both ends.", required="a list of two numbers"),
        _TARGET,
        has_nulls=False,
    ),
    "regex": KeyTable(
        _TYPE,
        Key("pattern", _read_pattern, TEXT_SCHEMA, None, "The pattern.", "a regular expression"),
        _TARGET,
        has_nulls=False,
    ),
    "jsonpath": KeyTable(
        _TYPE,
        Key(
            "path",
            _read_json_path,
            TEXT_SCHEMA,
            help="The path, such as `$.items[*].name`. Filters and functions need the extra `toolkit`.",
            required=_JSON_PATH_FORM,
        ),
        Key("expect", _read_any, help="The value, or a list of all values, that the path must find."),
        Key("count", _read_count, {"type": "integer"}, help="How many values the path must find."),
        _TARGET,
        has_nulls=False,
    ),
    "probe": KeyTable(
        _TYPE,
        Key("name", _read_any, help="A name for people; it has no effect."),
        Key(
            "function",
            read_function,
            TEXT_SCHEMA,
            help="module:function. It gets `value` and returns whether it is as expected.",
            required=FUNCTION_FORM,
        ),
        Key("arguments", read_arguments, ANY_MAPPING_SCHEMA, {}, "Further keyword arguments."),
        has_nulls=False,
    ),
}
"""The forms of Chaos Toolkit by their `type`."""


# --- parser ----------------------------------------------------------------------------------------


def parse_expect(value: object) -> Expectation:
    """Return the expectation of a document. Raises InputError with a path relative to it."""
    if isinstance(value, Mapping):
        return _parse_type(value) if "type" in value else _parse_comparison(value)
    if not isinstance(value, list):
        return Equals(_read_scalar(value))
    if not value:
        raise InputError("", f"expected {EXPECT_FORM}, got an empty list")
    if len(value) == 2 and all(map(_is_plain_number, value)):
        return NumberPair(*_read_ends(value))
    return OneOf(tuple(_within(f"[{index}]", _read_scalar, each) for index, each in enumerate(value)))


def _read_scalar(value: object) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError("", f"expected {EXPECT_FORM}, got {shown(value)}")
    if not isinstance(value, str | int | float):
        raise InputError("", f"expected a text, a number or a truth value, got {shown(value)}")
    return value


def _parse_comparison(given: Mapping[str, object]) -> Expectation:
    reader = MappingReader(given, COMPARISON)
    target = reader.take("target")
    parts: list[Expectation] = []
    for word in WORDS:
        if word not in given:
            continue
        wanted = reader.take(word)
        if word == "between":
            low, high = wanted
            parts.append(Range(low, high, target))
        elif word == "matches":
            parts.append(RegexMatch(wanted, target))
        else:
            parts.append(Comparison(word, wanted, target))
    parts += reader.take("all") or []
    if not parts:
        raise InputError("", f"expected one of {', '.join((*WORDS, 'all'))}, got none")
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_type(given: Mapping[str, object]) -> Expectation:
    kind = _within("type", choice(TYPES), given["type"])
    if kind == "probe" and "function" not in given and "provider" in given:
        return _parse_toolkit_probe(given["provider"])
    reader = MappingReader(given, EXPECT_TYPES[kind])
    if kind == "range":
        low, high = reader.take("range")
        return Range(low, high, reader.take("target"))
    if kind == "regex":
        return RegexMatch(reader.take("pattern"), reader.take("target"))
    if kind == "probe":
        module, name = reader.take("function")
        return FunctionExpectation(module, name, reader.take("arguments"))
    path, count, wanted = reader.take("path"), reader.take("count"), None
    if "expect" in given:
        listed = given["expect"]
        wanted = tuple(listed) if isinstance(listed, list) else (listed,)
    return JsonPath(path, reader.take("target"), count, wanted)


def _parse_toolkit_probe(provider: object) -> Expectation:
    """Parse a probe as Chaos Toolkit writes it, which may have keys that only Chaos Toolkit knows."""
    if not isinstance(provider, Mapping) or provider.get("type") != "python":
        raise InputError("function", f"expected {FUNCTION_FORM}, got nothing")
    module = text(provider.get("module"), "a module", "provider.module")
    name = text(provider.get("func"), "a function", "provider.func")
    arguments = _within("arguments", read_arguments, provider.get("arguments", {}))
    return FunctionExpectation(module, name, arguments)


def _within(path: str, read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except InputError as error:
        raise error.within(path) from None
