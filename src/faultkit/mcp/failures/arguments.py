"""Arguments of a failure tool, checked: what is wrong is told in the words of the original. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.mcp.failures.go_json import go_json
from faultkit.mcp.failures.tool import Argument, FailureTool, Type

_LARGEST = 2**63 - 1
_MOST_DIGITS = 40
"""Of a number that is shown to whoever sent it."""
_USUAL: dict[Type, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}
"""How the types mostly come; a whole number that is written 5.0 does not."""


def problem_of(tool: FailureTool, given: object, *, like_go: bool = False) -> str | None:
    """Why a call cannot be made; None if it can."""
    if type(given) is dict and _fits(tool, given, like_go):
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
    missing = [name for name in tool.required(like_go=like_go) if name not in given]
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


def _fits(tool: FailureTool, given: dict[str, Any], like_go: bool) -> bool:
    """True: there is nothing wrong for certain. Most calls need no more than this one look."""
    left = len(given)
    for name, each in tool.arguments.items():
        if name in given:
            value = given[name]
            if type(value) is not _USUAL[each.type]:
                return False
            if type(value) is int and not -_LARGEST - 1 <= value <= _LARGEST:
                return False
            left -= 1
        elif each.required or (like_go and each.required_in_go):
            return False
    return left == 0


def filled(tool: FailureTool, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """With defaults for what was left out, and whole numbers as such. For arguments without a problem."""
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
    """As Go prints it: a text without its quotes."""
    if isinstance(value, str):
        return value
    try:
        return "<nil>" if value is None else go_json(value)
    except (ValueError, RecursionError):
        # What could just be read cannot always be written: 1e999, or a nest of brackets.
        return "a value that cannot be shown"
