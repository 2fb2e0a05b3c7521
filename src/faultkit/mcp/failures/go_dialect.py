"""The dialect of the original Go server: its JSON, its replies, and its messages on wrong arguments. Pure.

JSON has sorted keys, `<` escaped, and Go's number format. The text of a result holds JSON and is compared
byte by byte with recordings of the original. Replies are assembled as text, because the value is needed twice
(as text and as structured content) and is encoded once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from faultkit.mcp.failures.failure_tool import (
    Argument,
    Blocks,
    FailureTool,
    ProtocolError,
    Structured,
    ToolOutcome,
    Type,
)
from faultkit.mcp.wire.message import Id, encode, error_of

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_quoted = json.JSONEncoder(ensure_ascii=False).encode
_EXPONENT = re.compile(r"e([+-])0+(\d)")


def go_json(value: Any) -> str:
    """Encode a value as Go's encoding/json does."""
    text = _encode_value(value)
    # In JSON these characters occur only inside strings.
    return text.translate(_ESCAPES) if _ESCAPED.search(text) else text


def _encode_value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        pairs = [f"{_quoted(str(key))}:{_encode_value(value[key])}" for key in sorted(value)]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return go_number(value)
    if isinstance(value, int):
        return str(value)
    return "[" + ",".join([_encode_value(each) for each in value]) + "]"


def go_number(value: float) -> str:
    """Return the shortest digits that read back, without an exponent between 1e-6 and 1e21."""
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _EXPONENT.sub(r"e\1\2", repr(value).replace(".0e", "e"))


def go_text(text: str) -> str:
    """Return a text as Go reads it: lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# --- replies --------------------------------------------------------------------------------------
#
# A tool's result is JSON text already, once for people and once for programs, so it is inserted into the
# reply and not encoded a second time.


def reply_of(id: Id | None, outcome: ToolOutcome, tail: str = "") -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of the reply and its text blocks. `tail` comes from `tail_of`.

    Raises ValueError or RecursionError for a value that cannot be encoded."""
    if isinstance(outcome, ProtocolError):
        return error_of(id, outcome.code, outcome.message, outcome.data), ()
    texts, more = _text_and_members(outcome)
    content = ",".join([f'{{"type":"text","text":{_quoted(text)}}}' for text in texts])
    own = str(id) if type(id) is int else json.dumps(id)
    reply = f'{{"jsonrpc":"2.0","id":{own},"result":{{"content":[{content}]{more}{tail}}}}}'
    try:
        return reply.encode("utf-8"), texts
    except UnicodeEncodeError:
        # A lone surrogate, which a caller may have escaped, stays escaped.
        return json.dumps(json.loads(reply), separators=(",", ":")).encode("ascii"), texts


def _text_and_members(outcome: ToolOutcome) -> tuple[tuple[str, ...], str]:
    """Return the text blocks of a result, and its other members as JSON text."""
    if isinstance(outcome, Structured):
        value = go_json(outcome.value)
        return (value,), f',"structuredContent":{value}'
    if isinstance(outcome, Blocks):
        return outcome.texts, ""
    assert not isinstance(outcome, ProtocolError)
    value = "" if outcome.value is None else f',"structuredContent":{go_json(outcome.value)}'
    return (outcome.text,), f'{value},"isError":true'


def tail_of(more: dict[str, Any]) -> str:
    """Return the members that every result ends with, as JSON text."""
    return "".join(f",{_quoted(name)}:{encode(value).decode()}" for name, value in more.items())


# --- checks of arguments --------------------------------------------------------------------------

_MOST_INTEGER = 2**63 - 1
_MOST_DIGITS = 40
"""Most digits of a number that are repeated in a message."""
_PYTHON_TYPES: dict[Type, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
}
"""Usual Python types of arguments; an integer written as 5.0 is an exception."""


def argument_problem(tool: FailureTool, given: object) -> str | None:
    """Return why a call is refused, or None."""
    if type(given) is dict and _is_certainly_right(tool, given):
        return None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return (
            'validating "arguments": unmarshaling arguments: json: cannot unmarshal '
            f'"{_go_value(given)}" into Go value of type map[string]interface {{}}'
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
        if (
            each.type == "integer"
            and name in given
            and not -_MOST_INTEGER - 1 <= given[name] <= _MOST_INTEGER
        ):
            shown = str(int(given[name]))
            shown = shown if len(shown) <= _MOST_DIGITS else f"{shown[:_MOST_DIGITS]}…"
            return f"json: cannot unmarshal number {shown} into {name}: it is beyond 64 bits"
    return None


def _is_certainly_right(tool: FailureTool, given: dict[str, Any]) -> bool:
    """Return True if the arguments are certainly right: the fast path of most calls."""
    left = len(given)
    for name, each in tool.arguments.items():
        if name in given:
            value = given[name]
            if type(value) is not _PYTHON_TYPES[each.type]:
                return False
            if type(value) is int and not -_MOST_INTEGER - 1 <= value <= _MOST_INTEGER:
                return False
            left -= 1
        elif each.required:
            return False
    return left == 0


def with_defaults(tool: FailureTool, given: Mapping[str, Any] | None) -> dict[str, Any]:
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
    return f'type: {_go_value(value)} has type "{type_}", want "{argument.type}"'


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {str: "string", int: "integer", dict: "object", list: "array", type(None): "null"}
    return names[type(value)]


def _go_value(value: Any) -> str:
    """Return a value as Go prints it: a string without quotes."""
    if isinstance(value, str):
        return value
    try:
        return "<nil>" if value is None else go_json(value)
    except (ValueError, RecursionError):
        # Some values can be parsed but not encoded: 1e999, or deeply nested brackets.
        return "a value that cannot be shown"
