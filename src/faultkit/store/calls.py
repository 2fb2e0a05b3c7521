"""Makes rows of the calls of failure tools. It alone knows both."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from uuid import UUID

from faultkit.mcp.failures.outcome import Blocks, Outcome, ProtocolError, Structured, ToolError
from faultkit.mcp.failures.service import Ended
from faultkit.mcp.wire.message import encode
from faultkit.store.redact import json_text, plain, redacted, redacted_json
from faultkit.store.row import MOST_PAYLOAD_BYTES, AuditRow, Entry, Payload
from faultkit.store.times import now_us
from faultkit.store.writer import Writer

MOST_TEXT_CHARS = 4096
"""Of an error's message and of anything else that a caller may make as long as they like."""


def log_to(writer: Writer, clock: Callable[[], int] = now_us) -> Callable[[Ended], None]:
    """A log for the failure server."""

    def log(ended: Ended) -> None:
        try:
            entry = entry_of(ended, clock())
        except Exception as error:
            # Whatever a caller sent: that it cannot be kept must not break their call.
            writer.miss(f"{type(error).__name__}: {error}")
        else:
            writer.add(entry)

    return log


def entry_of(ended: Ended, now_us: int) -> Entry:
    """`now_us`: when it ended."""
    exchange, caller, outcome = ended.exchange, ended.caller, ended.outcome
    request, session, headers = exchange.request, exchange.session, exchange.headers
    at_us = now_us - round(ended.seconds * 1_000_000)
    message, category = _failure(outcome)
    payload, parameters = _said(ended)
    content = [] if ended.result is None else ended.result["content"]
    row = AuditRow(
        id=uuid_at(at_us),
        at_us=at_us,
        duration_ms=round(ended.seconds * 1000, 3),
        tool_name=_text(ended.name),
        success=isinstance(outcome, Structured | Blocks),
        tool_group="" if ended.tool is None else ended.tool.group,
        request_id=_text(_id_text(request.id)),
        session_id="" if session.era == "modern" and session.transport == "http" else _text(session.id),
        user_subject=_text(caller.subject),
        user_email=_text(caller.email),
        auth_type=caller.auth_type,
        parameters=parameters,
        error_message=_text(message),
        error_category=_text(category),
        request_chars=len(parameters) if parameters is not None else 0,
        response_chars=sum(len(block["text"].encode("utf-8", "surrogatepass")) for block in content),
        content_blocks=len(content),
        transport=session.transport,
        remote_addr=caller.peer,
        forwarded_for=_text(headers.get("x-forwarded-for", "")),
        user_agent=_text(headers.get("user-agent", "")),
        era=session.era,
    )
    return Entry(row, payload)


def uuid_at(at_us: int) -> str:
    """Of version 7, and in the order of time to the microsecond."""
    ms, us = divmod(at_us, 1000)
    return str(UUID(int=(ms & (1 << 48) - 1) << 80 | 7 << 76 | us << 64 | 2 << 62 | secrets.randbits(62)))


def _failure(outcome: Outcome) -> tuple[str, str]:
    if isinstance(outcome, ToolError):
        return outcome.text, outcome.category
    if isinstance(outcome, ProtocolError):
        return outcome.message, outcome.category
    return "", ""


def _said(ended: Ended) -> tuple[Payload, str | None]:
    """What was said, and the parameters alone."""
    request = ended.exchange.request
    # What came in a batch has no bytes of its own.
    request_bytes = len(request.raw) or len(encode(request.message))
    request_fits = request_bytes <= MOST_PAYLOAD_BYTES
    params = parameters = None
    if request_fits:
        kept = redacted(request.params)
        _keep_progress_token(kept, request.params)
        params = json_text(kept)
        parameters = json_text(kept["arguments"]) if kept.get("arguments") is not None else None
    response_fits = len(ended.reply) <= MOST_PAYLOAD_BYTES
    said = _response(ended) if response_fits else None
    failed = isinstance(ended.outcome, ProtocolError)
    payload = Payload(
        jsonrpc_method=request.method,
        request_params=params,
        request_size_bytes=request_bytes,
        request_truncated=not request_fits,
        request_headers=_headers_text(tuple(ended.exchange.headers.items())),
        response_result=None if failed else said,
        response_error=said if failed else None,
        response_size_bytes=len(ended.reply),
        response_truncated=not response_fits,
    )
    return payload, parameters


def _keep_progress_token(kept: dict[str, Any], params: dict[str, Any]) -> None:
    """Named like a secret, but none: the client's own name for the call."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, str | int):
        kept["_meta"]["progressToken"] = plain(token) if isinstance(token, str) else token


def _response(ended: Ended) -> str:
    """The result, or the error, as it stands in the reply: writing it once more would cost as much again."""
    part = "error" if isinstance(ended.outcome, ProtocolError) else "result"
    head = f'{{"jsonrpc":"2.0","id":{_id_text(ended.exchange.request.id)},"{part}":'.encode()
    if ended.reply.startswith(head):
        return redacted_json(ended.reply[len(head) : -1].decode("utf-8"))
    return json_text(redacted(json.loads(ended.reply)[part]))


def _id_text(id: str | int | None) -> str:
    return str(id) if type(id) is int else json.dumps(id)


@lru_cache(maxsize=64)
def _headers_text(headers: tuple[tuple[str, str], ...]) -> str | None:
    """A client sends the same with all of its calls, or nearly so."""
    return json_text(redacted(dict(headers))) if headers else None


def _text(text: str) -> str:
    return plain(text[:MOST_TEXT_CHARS])
