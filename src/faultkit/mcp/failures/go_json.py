"""Replies of failure tools, with JSON as Go writes it: sorted keys, `<` escaped, Go's number format. Pure.

The text of a result holds JSON and is compared byte by byte with recordings of the original. Replies are
assembled as text, because the value is needed twice (as text and as structured content) and is encoded once.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from faultkit.mcp.failures.failure_tool import Blocks, Outcome, ProtocolError, Structured
from faultkit.mcp.wire.message import Id, encode, error_of

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_quoted = json.JSONEncoder(ensure_ascii=False).encode
_EXPONENT = re.compile(r"e([+-])0+(\d)")


def go_json(value: Any) -> str:
    """Encode a value as Go's encoding/json does."""
    text = _written(value)
    # In JSON these characters occur only inside strings.
    return text.translate(_ESCAPES) if _ESCAPED.search(text) else text


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        pairs = [f"{_quoted(str(key))}:{_written(value[key])}" for key in sorted(value)]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return go_number(value)
    if isinstance(value, int):
        return str(value)
    return "[" + ",".join([_written(each) for each in value]) + "]"


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


# Replies. A tool's result is JSON text already, once for people and once for programs, so it is inserted into
# the reply as it is and not encoded a second time.


def reply_of(id: Id | None, outcome: Outcome, tail: str = "") -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of the reply and its text blocks. `tail` comes from `tail_of`.

    Raises ValueError or RecursionError for a value that cannot be encoded."""
    if isinstance(outcome, ProtocolError):
        return error_of(id, outcome.code, outcome.message, outcome.data), ()
    texts, more = _parts(outcome)
    content = ",".join([f'{{"type":"text","text":{_quoted(text)}}}' for text in texts])
    own = str(id) if type(id) is int else json.dumps(id)
    reply = f'{{"jsonrpc":"2.0","id":{own},"result":{{"content":[{content}]{more}{tail}}}}}'
    try:
        return reply.encode("utf-8"), texts
    except UnicodeEncodeError:
        # A lone surrogate, which a caller may have escaped, stays escaped.
        return json.dumps(json.loads(reply), separators=(",", ":")).encode("ascii"), texts


def _parts(outcome: Outcome) -> tuple[tuple[str, ...], str]:
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
