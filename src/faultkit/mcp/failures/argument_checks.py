"""Checks of a failure tool's arguments, with the messages of the original Go server. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.mcp.failures.failure_tool import Argument, FailureTool, Type
from faultkit.mcp.failures.go_json import go_json

_LARGEST = 2**63 - 1
_MOST_DIGITS = 40
"""Most digits of a number that are repeated in a message."""
_USUAL: dict[Type, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}
"""Usual Python types of arguments; an integer written as 5.0 is an exception."""


def problem_of(tool: FailureTool, given: object) -> str | None:
    """Return why a call is refused, or None."""
    if type(given) is dict and _fits(tool, given):
        return None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return (
            'validating "arguments": unmarshaling arguments: json: cannot unmarshal '
            f'"{_plain(given)}" into Go value of type map[string]interface {{}}'
        )
    for name, each in tool.arguments.items():
        if name in given and (wrong := _wrong_type(each, given[name])) is not None:
            return f'validating "arguments": validating root: validating /properties/{name}: {wrong}'
    missing = [name for name in tool.required() if name not in given]
    if missing:
        names = " ".join(f'"{name}"' for name in missing)
        return f'validating "arguments": validating root: required: missing properties: [{names}]'
    extra = [name for name in given if name not in tool.arguments]
    if extra:
        names = " ".join(f'"{name}"' for name in extra)
        return f'validating "arguments": validating root: unexpected additional properties [{names}]'
    for name, each in tool.arguments.items():
        if each.type == "integer" and name in given and not -_LARGEST - 1 <= given[name] <= _LARGEST:
            shown = str(int(given[name]))
            shown = shown if len(shown) <= _MOST_DIGITS else f"{shown[:_MOST_DIGITS]}…"
            return f"json: cannot unmarshal number {shown} into {name}: it is beyond 64 bits"
    return None


def _fits(tool: FailureTool, given: dict[str, Any]) -> bool:
    """Return True if the arguments are certainly right: the fast path of most calls."""
    left = len(given)
    for name, each in tool.arguments.items():
        if name in given:
            value = given[name]
            if type(value) is not _USUAL[each.type]:
                return False
            if type(value) is int and not -_LARGEST - 1 <= value <= _LARGEST:
                return False
            left -= 1
        elif each.required:
            return False
    return left == 0


def filled(tool: FailureTool, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return checked arguments with defaults added and integral floats converted to int."""
    values: dict[str, Any] = {}
    for name, each in tool.arguments.items():
        value = (given or {}).get(name, each.default)
        values[name] = int(value) if each.type == "integer" and isinstance(value, float) else value
    return values


def _wrong_type(argument: Argument, value: Any) -> str | None:
    type_ = _type_of(value)
    if type_ == argument.type or (type_ == "integer" and argument.type == "number"):
        return None
    return f'type: {_plain(value)} has type "{type_}", want "{argument.type}"'


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {str: "string", int: "integer", dict: "object", list: "array", type(None): "null"}
    return names[type(value)]


def _plain(value: Any) -> str:
    """Return a value as Go prints it: a string without quotes."""
    if isinstance(value, str):
        return value
    try:
        return "<nil>" if value is None else go_json(value)
    except (ValueError, RecursionError):
        # Some values can be parsed but not encoded: 1e999, or deeply nested brackets.
        return "a value that cannot be shown"
