"""What a call came to, written as the reply to it. Pure.

Most replies are written right into their text: what a tool returns is JSON already, once for people and once
for programs, and need not be gone through again.
"""

from __future__ import annotations

import json
from typing import Any

from faultkit.mcp.failures.go_json import go_json
from faultkit.mcp.failures.outcome import Blocks, Outcome, ProtocolError, Structured
from faultkit.mcp.wire.message import Id, encode, error_of

_quoted = json.JSONEncoder(ensure_ascii=False).encode


def reply_of(id: Id | None, outcome: Outcome, tail: str = "") -> tuple[bytes, tuple[str, ...]]:
    """The reply, and the texts in it. `tail`: of `tail_of`. ValueError or RecursionError for what JSON cannot
    say."""
    if isinstance(outcome, ProtocolError):
        return error_of(id, outcome.code, outcome.message, outcome.data), ()
    texts, more = _parts(outcome)
    content = ",".join([f'{{"type":"text","text":{_quoted(text)}}}' for text in texts])
    own = str(id) if type(id) is int else json.dumps(id)
    reply = f'{{"jsonrpc":"2.0","id":{own},"result":{{"content":[{content}]{more}{tail}}}}}'
    try:
        return reply.encode("utf-8"), texts
    except UnicodeEncodeError:
        # Half a surrogate pair, which a caller may have escaped, stays escaped.
        return json.dumps(json.loads(reply), separators=(",", ":")).encode("ascii"), texts


def _parts(outcome: Outcome) -> tuple[tuple[str, ...], str]:
    """The texts of a result, and what stands in it besides."""
    if isinstance(outcome, Structured):
        value = go_json(outcome.value)
        return (value,), f',"structuredContent":{value}'
    if isinstance(outcome, Blocks):
        return outcome.texts, ""
    assert not isinstance(outcome, ProtocolError)
    value = "" if outcome.value is None else f',"structuredContent":{go_json(outcome.value)}'
    return (outcome.text,), f'{value},"isError":true'


def tail_of(more: dict[str, Any]) -> str:
    """What each result ends with, as it is written."""
    return "".join(f",{_quoted(name)}:{encode(value).decode()}" for name, value in more.items())
