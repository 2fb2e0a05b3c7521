"""What the audit log knows of one call: a row, and beside it what was said. Values only.

They are tuples, which are made in a third of the time: there is one of each for every call.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from faultkit.base.times import time_text

MOST_PAYLOAD_BYTES = 65_536
"""Of a request, and of a response: a longer one is left out whole, and flagged. Of the notifications of a
call as well: they are kept up to there."""
MOST_NOTIFICATIONS = 100
"""That are kept of one call; more are flagged."""


REFUSAL = "door"
"""The source of rows that are no calls: of requests that were not let in. Their parameters say how many of
them a row stands for, by the name of TIMES."""
TIMES = "times"


class AuditRow(NamedTuple):
    id: str
    """A UUID of version 7: later calls have greater ones."""
    at_us: int
    """When the call began."""
    duration_ms: float
    tool_name: str
    success: bool
    tool_group: str = ""
    request_id: str = ""
    """The id of the JSON-RPC request, as JSON."""
    session_id: str = ""
    user_subject: str = ""
    user_email: str = ""
    auth_type: str = "anonymous"
    """oidc, apikey or anonymous."""
    api_key_name: str = ""
    parameters: str | None = None
    """JSON without secrets; None if there are none, or if they are too long."""
    error_message: str = ""
    """The first text of what the caller was told."""
    error_category: str = ""
    """The caller's own, if they named one."""
    request_chars: int = 0
    """Of the parameters as JSON."""
    response_chars: int = 0
    """Of the texts of the result."""
    content_blocks: int = 0
    transport: str = "http"
    source: str = "mcp"
    remote_addr: str = ""
    """The peer of the connection, whatever it says of itself."""
    forwarded_for: str = ""
    user_agent: str = ""
    era: str = ""
    seq: int = 0
    """Its place in the store, which gives it: the order in which rows were written. The last field, so that
    all others are what is written."""


class Payload(NamedTuple):
    """What was said in a call. Texts are JSON without secrets."""

    jsonrpc_method: str = "tools/call"
    request_params: str | None = None
    request_size_bytes: int = 0
    request_truncated: bool = False
    request_headers: str | None = None
    response_result: str | None = None
    response_error: str | None = None
    response_size_bytes: int = 0
    response_truncated: bool = False
    notifications: str | None = None
    """What was sent before the reply, in its order: objects with `ts`, `method` and `params`."""
    notifications_truncated: bool = False
    """There were more of them, or longer ones."""
    replayed_from: str = ""


class Entry(NamedTuple):
    """What is written of one call."""

    row: AuditRow
    payload: Payload | None = None


ROW_FIELDS = AuditRow._fields
PAYLOAD_FIELDS = Payload._fields
_PAYLOAD_JSON = ("request_params", "request_headers", "response_result", "response_error", "notifications")
_ALWAYS = ("id", "duration_ms", "tool_name", "success")


def row_document(row: AuditRow) -> dict[str, Any]:
    """For JSON: what is empty or zero is left out."""
    document: dict[str, Any] = {"seq": row.seq, "timestamp": time_text(row.at_us)}
    for name in ROW_FIELDS:
        value = getattr(row, name)
        if name not in ("seq", "at_us") and (value or name in _ALWAYS):
            document[name] = json.loads(value) if name == "parameters" else value
    return document


def payload_document(payload: Payload) -> dict[str, Any]:
    document = {name: value for name in PAYLOAD_FIELDS if (value := getattr(payload, name))}
    return {name: _parsed(value) if name in _PAYLOAD_JSON else value for name, value in document.items()}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        # A result wraps what it holds: what could just be read when it came is too deep now.
        return text
