"""Makes rows of the calls of failure tools.

What is known of a call is taken down as it ends; its row is made behind it, where rows are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from faultkit.audit.noted import NUMBERS, Noted, cut, noted_of, open_cut
from faultkit.audit.redact import MOST_DEPTH, hides, json_text, may_hide, redacted, redacted_json
from faultkit.audit.row import MOST_PAYLOAD_BYTES, AuditRow, Entry, Payload
from faultkit.audit.writer import Writer
from faultkit.base.times import now_us
from faultkit.mcp.failures.identity import REDACTED
from faultkit.mcp.failures.service import Ended
from faultkit.mcp.wire.message import read

_MOST_HELD_BYTES = 2 * MOST_PAYLOAD_BYTES
"""Of what was said in a call whose row is made later."""
_CALL_BYTES = 2048
"""What it takes besides that."""


def log_to(
    writer: Writer, clock: Callable[[], int] = now_us, *, wait: bool = True
) -> Callable[[Ended], None]:
    """A log for the failure server. `wait`: as of the writer."""

    def log(ended: Ended) -> None:
        try:
            noted = noted_of(ended, clock())
            held_bytes = len(noted.raw) + len(noted.reply) + sum([len(said) for _, said in noted.headers])
            if held_bytes <= _MOST_HELD_BYTES:
                writer.add_later(entry_of_noted, noted, _CALL_BYTES + held_bytes, wait=wait)
            else:
                # What is too long is left out of the row, and should not be held until it is made.
                writer.add(entry_of_noted(noted), wait=wait)
        except Exception as error:
            # Whatever a caller sent: that it cannot be kept must not break their call.
            writer.miss(error)

    return log


def entry_of(ended: Ended, now_us: int) -> Entry:
    """`now_us`: when it ended."""
    return entry_of_noted(noted_of(ended, now_us))


def entry_of_noted(noted: tuple[Any, ...]) -> Entry:
    """Of the values of `Noted`."""
    call = Noted._make(noted)
    id = str(call.id) if type(call.id) is int else json.dumps(call.id)
    # Without what is secret, which must not be remembered.
    shown = tuple([(name, REDACTED if hides(name) else said) for name, said in call.headers])
    headers, forwarded_for, user_agent = _of_headers(shown)
    payload, parameters = _said(call, id, headers)
    row = AuditRow(
        id=uuid_of(call.at_us, call.number),
        at_us=call.at_us,
        duration_ms=round(call.seconds * 1000, 3),
        tool_name=open_cut(call.tool),
        success=call.success,
        tool_group=call.group,
        request_id=open_cut(id),
        session_id=call.session_id,
        user_subject=cut(call.subject),
        user_email=cut(call.email),
        auth_type=call.auth_type,
        api_key_name=cut(call.key_name),
        parameters=parameters,
        error_message=open_cut(call.message),
        error_category=open_cut(call.category),
        request_chars=call.request_chars if parameters is None else len(parameters),
        response_chars=call.chars,
        content_blocks=call.blocks,
        transport=call.transport,
        remote_addr=call.peer,
        forwarded_for=forwarded_for,
        user_agent=user_agent,
        era=call.era,
    )
    return Entry(row, payload)


def uuid_at(at_us: int) -> str:
    """For a row that is no call's."""
    return uuid_of(at_us, next(NUMBERS))


def uuid_of(at_us: int, number: int) -> str:
    """Of version 7, in the order of time, and of numbers within a microsecond."""
    ms, us = divmod(at_us, 1000)
    time, variant = f"{ms & (1 << 48) - 1:012x}", 0x8000 | number >> 48 & 0x3FFF
    return f"{time[:8]}-{time[8:]}-7{us:03x}-{variant:04x}-{number & (1 << 48) - 1:012x}"


@lru_cache(maxsize=128)
def _of_headers(headers: tuple[tuple[str, str], ...]) -> tuple[str | None, str, str]:
    """As JSON, and two of them alone. A client sends the same with all of its calls, or nearly so."""
    named = dict(headers)
    text = json_text(redacted(named)) if headers else None
    return text, open_cut(named.get("x-forwarded-for", "")), open_cut(named.get("user-agent", ""))


def _said(call: Noted, id: str, headers: str | None) -> tuple[Payload, str | None]:
    """What was said, and the parameters alone."""
    raw, reply = call.raw, call.reply
    request_fits, reply_fits = len(raw) <= MOST_PAYLOAD_BYTES, len(reply) <= MOST_PAYLOAD_BYTES
    is_open = request_fits and reply_fits and not may_hide((raw + reply).decode("utf-8"))
    params, parameters = _params(raw, is_open) if request_fits else (None, None)
    said = _response(call, id, is_open) if reply_fits else None
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
    """All of them, and the arguments of the tool alone: as JSON. `is_open`: there is nothing to hide."""
    params = read(raw).params
    if is_open and (len(raw) <= 2 * MOST_DEPTH or raw.count(b"{") + raw.count(b"[") <= MOST_DEPTH):
        try:
            return _params_text(params)
        except ValueError:
            # A number beyond floats, which JSON can say and Python cannot write.
            pass
    kept = redacted(params)
    _keep_progress_token(kept, params)
    return _params_text(kept)


def _params_text(params: dict[str, Any]) -> tuple[str, str | None]:
    text, arguments = json_text(params), params.get("arguments")
    if arguments is None:
        return text, None
    if tuple(params) == ("name", "arguments"):
        # Nearly all are like this, and need not be written twice.
        return text, text[len(f'{{"name":{json_text(params["name"])},"arguments":') : -1]
    return text, json_text(arguments)


def _keep_progress_token(kept: dict[str, Any], params: dict[str, Any]) -> None:
    """Named like a secret, but none: the client's own name for the call."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, str | int):
        kept["_meta"]["progressToken"] = redacted(token)


def _response(call: Noted, id: str, is_open: bool) -> str:
    """The result, or the error, as it stands in the reply: writing it once more would cost as much again."""
    part = "error" if call.is_protocol_error else "result"
    head = f'{{"jsonrpc":"2.0","id":{id},"{part}":'.encode()
    if not call.reply.startswith(head):
        return json_text(redacted(json.loads(call.reply)[part]))
    text = call.reply[len(head) : -1].decode("utf-8")
    return text if is_open else redacted_json(text)
