"""What is taken down of a call as it ends, in the thread of the calls: as little as will do for its row.

Plain values that hold on to nothing: they may wait, and be handed to another process.
"""

from __future__ import annotations

import secrets
from itertools import count
from typing import Any, NamedTuple

from faultkit.audit.notes import notes_text
from faultkit.audit.redact import json_text, plain, redacted, redacted_text
from faultkit.audit.row import MOST_PAYLOAD_BYTES
from faultkit.mcp.failures.outcome import Blocks, Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.failures.service import Ended
from faultkit.mcp.wire.message import encode

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
    request_chars: int
    """Of the arguments of a request that is too long to be kept; of others, that is counted later."""
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
    headers: tuple[tuple[str, str], ...]
    """As they came, secrets and all: to look through them is for later."""


def noted_of(ended: Ended, now_us: int) -> Noted:
    """`now_us`: when it ended."""
    request, caller, outcome, tool = ended.request, ended.caller, ended.outcome, ended.tool
    at_us = now_us - round(ended.seconds * 1_000_000)
    success = isinstance(outcome, _SUCCESSES)
    message, category = ("", "") if success else _failure(outcome)
    notes, left_out = notes_text(ended, at_us) if ended.notes else (None, False)
    # What came in a batch has no bytes of its own.
    raw = request.raw or encode(request.message)
    return Noted(
        raw,
        ended.reply,
        _chars(request.params.get("arguments")) if len(raw) > MOST_PAYLOAD_BYTES else 0,
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
        caller.headers,
    )


def cut(text: str) -> str:
    return plain(text[:MOST_TEXT_CHARS]) if text else text


def open_cut(text: str) -> str:
    """As `cut`, of what a caller has written: they may have quoted a secret there."""
    return redacted_text(text[:MOST_TEXT_CHARS])[:MOST_TEXT_CHARS] if text else text


def _failure(outcome: Outcome) -> tuple[str, str]:
    """What was said, and which kind of failure it was: the caller's own word goes first."""
    if isinstance(outcome, ToolError):
        return outcome.text[:MOST_TEXT_CHARS], outcome.category[:MOST_TEXT_CHARS] or "tool"
    assert isinstance(outcome, ProtocolError)
    return outcome.message[:MOST_TEXT_CHARS], outcome.category[:MOST_TEXT_CHARS] or "protocol"


def _chars(arguments: Any) -> int:
    if arguments is None:
        return 0
    try:
        return len(json_text(arguments))
    except (ValueError, RecursionError):
        return len(json_text(redacted(arguments)))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
