"""The snapshot of a finished call: the least that its row needs, taken on the event loop's hot path.

Plain values without references, so a snapshot can be queued and passed to another process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from faultkit.audit.redaction import json_text, redacted, redacted_text, storable_text
from faultkit.audit.row import MOST_NOTIFICATIONS, MOST_PAYLOAD_BYTES, ROW_NUMBERS
from faultkit.base.times import time_text
from faultkit.mcp.failures.failure_service import FinishedCall
from faultkit.mcp.failures.failure_tool import Blocks, Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.wire.message import encode

MOST_TEXT_CHARS = 4096
"""Limit for error messages and other texts whose length the caller controls."""
# A tuple, since a union in a call of isinstance is created anew each time.
_SUCCESSES = (Structured, Blocks)


class CallSnapshot(NamedTuple):
    """A finished call, as plain values."""

    raw: bytes
    """Bytes of the request."""
    reply: bytes
    request_chars: int
    """Length of the arguments of a request that is too long to be stored; otherwise computed later."""
    number: int
    """Unique number, part of the row's id, so that a row that is built twice has the same id."""
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
    """Length of the texts of the result."""
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
    """Headers as received, with secrets; they are redacted when the row is built."""


def take_snapshot(ended: FinishedCall, now_us: int) -> CallSnapshot:
    """Return the snapshot of a call that ended at `now_us`."""
    request, caller, outcome, tool = ended.request, ended.caller, ended.outcome, ended.tool
    at_us = now_us - round(ended.seconds * 1_000_000)
    success = isinstance(outcome, _SUCCESSES)
    message, category = ("", "") if success else _failure(outcome)
    notes, left_out = notifications_json(ended, at_us) if ended.notes else (None, False)
    # A request in a batch has no bytes of its own.
    raw = request.raw or encode(request.message)
    return CallSnapshot(
        raw,
        ended.reply,
        _chars(request.params.get("arguments")) if len(raw) > MOST_PAYLOAD_BYTES else 0,
        next(ROW_NUMBERS),
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


def clip(text: str) -> str:
    """Return a text cut to the limit, in a form that databases accept."""
    return storable_text(text[:MOST_TEXT_CHARS]) if text else text


def clip_and_redact(text: str) -> str:
    """Return a text cut to the limit and without secrets; for texts that callers write."""
    return redacted_text(text[:MOST_TEXT_CHARS])[:MOST_TEXT_CHARS] if text else text


def _failure(outcome: Outcome) -> tuple[str, str]:
    """Return the message and the category of a failure; a category that the caller chose goes first."""
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


def notifications_json(ended: FinishedCall, began_us: int) -> tuple[str | None, bool]:
    """Return the first notifications of a call as JSON, up to the limits, and whether some were left out."""
    texts: list[str] = []
    size = len("[]")
    for note in ended.notes[:MOST_NOTIFICATIONS]:
        at_us = began_us + round((note.at_s - ended.began_s) * 1_000_000)
        params = redacted(note.params)
        if isinstance(token := note.params.get("progressToken"), str | int):
            # Named like a secret, but chosen by the client to identify the call.
            params["progressToken"] = redacted(token)
        text = json_text({"ts": time_text(at_us), "method": note.method, "params": params})
        size += len(text.encode("utf-8")) + len(",")
        if size > MOST_PAYLOAD_BYTES:
            break
        texts.append(text)
    left_out = ended.notes_left_out > 0 or len(texts) < len(ended.notes)
    return f"[{','.join(texts)}]", left_out
