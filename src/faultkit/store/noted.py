"""What is taken down of a call as it ends, in the thread of the calls: as little as will do for its row.

Plain values that hold on to nothing: they may wait, and be handed to another process.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from faultkit.mcp.failures.outcome import Blocks, Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.failures.service import Ended
from faultkit.mcp.wire.message import encode
from faultkit.store.notes import notes_text
from faultkit.store.redact import json_text, plain, redacted

MOST_TEXT_CHARS = 4096
"""Of an error's message and of anything else that a caller may make as long as they like."""
# A union in a call of isinstance is made anew each time.
_SUCCESSES = (Structured, Blocks)
NUMBERS = count(secrets.randbits(61))
"""Begun by chance, so that no two servers that share a log count alike."""


class Noted(NamedTuple):
    raw: bytes
    """The request."""
    reply: bytes
    number: int
    """No other call has the same. It becomes part of the row's id: made again, a row is the same row."""
    at_us: int
    seconds: float
    id: str | int | None
    tool: str
    group: str
    success: bool
    is_protocol_error: bool
    message: str
    category: str
    blocks: int
    chars: int
    """Of the texts of the result."""
    notifications: str | None
    notifications_truncated: bool
    session_id: str
    transport: str
    era: str
    subject: str
    email: str
    auth_type: str
    key_name: str
    peer: str
    headers: str | None
    forwarded_for: str
    user_agent: str


def noted_of(ended: Ended, now_us: int) -> Noted:
    """`now_us`: when it ended."""
    request, caller, outcome, tool = ended.request, ended.caller, ended.outcome, ended.tool
    at_us = now_us - round(ended.seconds * 1_000_000)
    success = isinstance(outcome, _SUCCESSES)
    message, category = ("", "") if success else _failure(outcome)
    notes, left_out = notes_text(ended, at_us) if ended.notes else (None, False)
    return Noted(
        # What came in a batch has no bytes of its own.
        request.raw or encode(request.message),
        ended.reply,
        next(NUMBERS),
        at_us,
        ended.seconds,
        request.id,
        ended.name,
        "" if tool is None else tool.group,
        success,
        isinstance(outcome, ProtocolError),
        message,
        category,
        len(ended.texts),
        sum([_size(text) for text in ended.texts]),
        notes,
        left_out,
        "" if ended.era == "modern" and ended.transport == "http" else ended.session_id,
        ended.transport,
        ended.era,
        caller.subject,
        caller.email,
        caller.auth_type,
        caller.key_name,
        caller.peer,
        *_of_headers(caller.headers),
    )


def cut(text: str) -> str:
    return plain(text[:MOST_TEXT_CHARS]) if text else text


def _failure(outcome: Outcome) -> tuple[str, str]:
    if isinstance(outcome, ToolError):
        return outcome.text[:MOST_TEXT_CHARS], outcome.category[:MOST_TEXT_CHARS]
    assert isinstance(outcome, ProtocolError)
    return outcome.message[:MOST_TEXT_CHARS], outcome.category[:MOST_TEXT_CHARS]


@lru_cache(maxsize=1024)
def _of_headers(headers: tuple[tuple[str, str], ...]) -> tuple[str | None, str, str]:
    """As JSON, and two of them alone. A client sends the same with all of its calls, or nearly so."""
    named = dict(headers)
    text = json_text(redacted(named)) if headers else None
    return text, cut(named.get("x-forwarded-for", "")), cut(named.get("user-agent", ""))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
