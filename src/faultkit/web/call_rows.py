"""Rows of the audit log for calls of the failure tools.

When a call ends, on the event loop's hot path, only a snapshot of it is taken: plain values without
references, which can be queued and passed to another process. The row is built from it later, in the thread
or the process that writes rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from faultkit.audit.redaction import (
    MOST_DEPTH,
    json_text,
    needs_redaction_utf8,
    redacted,
    redacted_json,
    redacted_text,
    storable_text,
)
from faultkit.audit.row import (
    MOST_NOTIFICATIONS,
    MOST_PAYLOAD_BYTES,
    ROW_NUMBERS,
    AuditEntry,
    AuditRow,
    Payload,
    row_id,
)
from faultkit.audit.writer import AuditWriter
from faultkit.base.secret_names import is_secret_name
from faultkit.base.secrets import REDACTED
from faultkit.base.times import now_us, time_text
from faultkit.mcp.failures.failure_service import FinishedCall
from faultkit.mcp.failures.failure_tool import Blocks, ProtocolError, Structured, ToolError, ToolOutcome
from faultkit.mcp.wire.message import encode, value_of

MOST_TEXT_CHARS = 4096
"""Limit for error messages and other texts whose length the caller controls."""
_MOST_HELD_BYTES = 2 * MOST_PAYLOAD_BYTES
"""Limit of the messages of a call whose row is built later."""
_PLAIN_DIGITS = 64
"""Length up to which a number as an id need not be searched for secrets or cut."""
_CALL_BYTES = 2048
"""Approximate memory of a snapshot without its messages."""
# A tuple, since a union in a call of isinstance is created anew each time.
_SUCCESSES = (Structured, Blocks)


class CallSnapshot(NamedTuple):
    """A finished call, as plain values."""

    raw: bytes
    """Bytes of the request."""
    reply: bytes
    """Bytes of the reply; empty if none was sent."""
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


def take_snapshot(
    ended: FinishedCall, now_us: int, headers: tuple[tuple[str, str], ...] | None = None
) -> CallSnapshot:
    """Return the snapshot of a call that ended at `now_us`. `headers`: an equal copy of the caller's."""
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
        caller.headers if headers is None else headers,
    )


def clip(text: str) -> str:
    """Return a text cut to the limit, in a form that databases accept."""
    return storable_text(text[:MOST_TEXT_CHARS]) if text else text


def clip_and_redact(text: str) -> str:
    """Return a text cut to the limit and without secrets; for texts that callers write."""
    return redacted_text(text[:MOST_TEXT_CHARS])[:MOST_TEXT_CHARS] if text else text


def _failure(outcome: ToolOutcome) -> tuple[str, str]:
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


# --- rows -----------------------------------------------------------------------------------------


def call_logger(
    writer: AuditWriter, clock: Callable[[], int] = now_us, *, wait: bool = True
) -> Callable[[FinishedCall], None]:
    """Return a log for the failure service. `wait`: see `AuditWriter.add`."""

    last: tuple[tuple[str, str], ...] = ()
    last_bytes = 0

    def log(ended: FinishedCall) -> None:
        nonlocal last, last_bytes
        try:
            # Clients repeat their headers: rows that wait share one copy, which is less to keep and to send.
            if ended.caller.headers != last:
                last = ended.caller.headers
                last_bytes = sum([len(said) for _, said in last])
            snapshot = take_snapshot(ended, clock(), last)
            held_bytes = len(snapshot.raw) + len(snapshot.reply) + last_bytes
            if held_bytes <= _MOST_HELD_BYTES:
                writer.add_later(entry_of_snapshot, snapshot, _CALL_BYTES + held_bytes, wait=wait)
            else:
                # Long messages are not stored, so the row is built now instead of holding them.
                writer.add(entry_of_snapshot(snapshot), wait=wait)
        except Exception as error:
            # Any error: a call that cannot be logged must still be answered.
            writer.miss(error)

    return log


def entry_of(ended: FinishedCall, now_us: int) -> AuditEntry:
    """Return the entry of a call that ended at `now_us`."""
    return entry_of_snapshot(take_snapshot(ended, now_us))


def entry_of_snapshot(snapshot: tuple[Any, ...]) -> AuditEntry:
    """Return the entry of a call. The argument is a plain tuple in the row process."""
    call = CallSnapshot._make(snapshot)
    id = str(call.id) if type(call.id) is int else json.dumps(call.id)
    # Redacted first, since the function caches its argument.
    shown = tuple([(name, REDACTED if is_secret_name(name) else said) for name, said in call.headers])
    headers, forwarded_for, user_agent = _header_texts(shown)
    payload, parameters = _payload_of(call, id, headers)
    row = AuditRow(
        id=row_id(call.at_us, call.number),
        at_us=call.at_us,
        duration_ms=round(call.seconds * 1000, 3),
        tool_name=clip_and_redact(call.tool),
        success=call.success,
        tool_group=call.group,
        request_id=id if type(call.id) is int and len(id) <= _PLAIN_DIGITS else clip_and_redact(id),
        session_id=call.session_id,
        user_subject=clip(call.subject),
        user_email=clip(call.email),
        auth_type=call.auth_type,
        api_key_name=clip(call.key_name),
        parameters=parameters,
        error_message=clip_and_redact(call.message),
        error_category=clip_and_redact(call.category),
        request_chars=call.request_chars if parameters is None else len(parameters),
        response_chars=call.chars,
        content_blocks=call.blocks,
        transport=call.transport,
        remote_addr=call.peer,
        forwarded_for=forwarded_for,
        user_agent=user_agent,
        era=call.era,
    )
    return AuditEntry(row, payload)


@lru_cache(maxsize=128)
def _header_texts(headers: tuple[tuple[str, str], ...]) -> tuple[str | None, str, str]:
    """Return all headers as JSON, X-Forwarded-For and User-Agent. Cached, since clients repeat their
    headers."""
    named = dict(headers)
    text = json_text(redacted(named)) if headers else None
    return (
        text,
        clip_and_redact(named.get("x-forwarded-for", "")),
        clip_and_redact(named.get("user-agent", "")),
    )


def _payload_of(call: CallSnapshot, id: str, headers: str | None) -> tuple[Payload, str | None]:
    """Return the payload, and the arguments of the tool as JSON."""
    raw, reply = call.raw, call.reply
    request_fits, reply_fits = len(raw) <= MOST_PAYLOAD_BYTES, len(reply) <= MOST_PAYLOAD_BYTES
    is_open = request_fits and reply_fits and not needs_redaction_utf8(raw + reply)
    params, parameters = _params(raw, is_open) if request_fits else (None, None)
    said = _response(call, id, is_open) if reply and reply_fits else None
    payload = Payload(
        request_params=params,
        request_size_bytes=len(raw),
        request_truncated=not request_fits,
        request_headers=headers,
        response_result=None if call.is_protocol_error else said,
        response_error=said if call.is_protocol_error else None,
        response_size_bytes=len(reply),
        response_truncated=not reply_fits,
        notifications=call.notifications,
        notifications_truncated=call.notifications_truncated,
    )
    return payload, parameters


def _params(raw: bytes, is_open: bool) -> tuple[str, str | None]:
    """Return all parameters, and the arguments of the tool, as JSON. `is_open`: there is no secret in
    them."""
    params = value_of(raw.decode("utf-8")).get("params", {})
    if is_open and (len(raw) <= 2 * MOST_DEPTH or raw.count(b"{") + raw.count(b"[") <= MOST_DEPTH):
        try:
            return _params_text(params)
        except ValueError:
            # A number beyond floats, which JSON allows and Python cannot write.
            pass
    kept = redacted(params)
    _keep_progress_token(kept, params)
    return _params_text(kept)


def _params_text(params: dict[str, Any]) -> tuple[str, str | None]:
    text, arguments = json_text(params), params.get("arguments")
    if arguments is None:
        return text, None
    if tuple(params) == ("name", "arguments"):
        # The usual case: the arguments are a part of the text, so they need not be encoded twice.
        return text, text[len(f'{{"name":{json_text(params["name"])},"arguments":') : -1]
    return text, json_text(arguments)


def _keep_progress_token(kept: dict[str, Any], params: dict[str, Any]) -> None:
    """Restore the progress token, which is named like a secret but identifies the call."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, str | int):
        kept["_meta"]["progressToken"] = redacted(token)


def _response(call: CallSnapshot, id: str, is_open: bool) -> str:
    """Return the result or the error as it is in the reply, since encoding it again costs as much as
    before."""
    part = "error" if call.is_protocol_error else "result"
    head = f'{{"jsonrpc":"2.0","id":{id},"{part}":'.encode()
    if not call.reply.startswith(head):
        return json_text(redacted(json.loads(call.reply)[part]))
    text = call.reply[len(head) : -1].decode("utf-8")
    return text if is_open else redacted_json(text)
