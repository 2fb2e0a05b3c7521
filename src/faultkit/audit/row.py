"""The values of the audit log: the row of a call, the payload kept beside it, and their JSON and CSV forms.

They are named tuples, which take a third of the time of dataclasses to create: each call creates one of each.
"""

from __future__ import annotations

import json
import secrets
from itertools import count
from typing import Any, NamedTuple

from faultkit.base.times import time_text

MOST_PAYLOAD_BYTES = 65_536
"""Limit for a request, a response, and the notifications of a call. A longer request or response is left out
as a whole and flagged; notifications are kept up to the limit."""
MOST_NOTIFICATIONS = 100
"""Notifications kept per call; more are flagged."""
REFUSAL = "door"
"""`source` of rows that are not calls but refused requests. Their parameters hold under TIMES how many
requests the row stands for."""
TIMES = "times"
MANAGEMENT = "admin"
"""`source` and group of rows that are not calls but actions of administrators, such as a new key."""
ROW_NUMBERS = count(secrets.randbits(61))
"""Numbers for ids. The random start keeps servers that share a log from using the same ones."""


class AuditRow(NamedTuple):
    """One row of the log, with the columns of the table `audit_events`."""

    id: str
    """UUID of version 7: later calls have greater ids."""
    at_us: int
    """Start of the call, in microseconds since 1970."""
    duration_ms: float
    tool_name: str
    success: bool
    tool_group: str = ""
    request_id: str = ""
    """Id of the JSON-RPC request, as JSON."""
    session_id: str = ""
    user_subject: str = ""
    user_email: str = ""
    auth_type: str = "anonymous"
    """oidc, apikey or anonymous."""
    api_key_name: str = ""
    parameters: str | None = None
    """JSON without secrets; None if there are none, or if they are too long."""
    error_message: str = ""
    """First text of the error that the caller got."""
    error_category: str = ""
    """Category that the caller chose, or the kind of failure."""
    request_chars: int = 0
    """Length of the parameters as JSON."""
    response_chars: int = 0
    """Length of the texts of the result."""
    content_blocks: int = 0
    transport: str = "http"
    source: str = "mcp"
    remote_addr: str = ""
    """Peer address of the connection, regardless of any header."""
    forwarded_for: str = ""
    user_agent: str = ""
    era: str = ""
    seq: int = 0
    """Position in the store, which assigns it in the order of writing. It must be the last field: the store
    writes all fields before it."""


class Payload(NamedTuple):
    """The messages of a call. Texts are JSON without secrets."""

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
    """Notifications sent before the reply, in order: objects with `ts`, `method` and `params`."""
    notifications_truncated: bool = False
    """True if some notifications were left out."""
    replayed_from: str = ""


class AuditEntry(NamedTuple):
    """A row with its payload, if it has one."""

    row: AuditRow
    payload: Payload | None = None


ROW_FIELDS = AuditRow._fields
PAYLOAD_FIELDS = Payload._fields
_PAYLOAD_JSON = ("request_params", "request_headers", "response_result", "response_error", "notifications")
_ALWAYS = ("id", "duration_ms", "tool_name", "success")
_CSV_FIELDS = tuple(name for name in ROW_FIELDS if name not in ("seq", "at_us"))
CSV_COLUMNS = ("seq", "timestamp", *_CSV_FIELDS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that a spreadsheet evaluates as a formula."""


def new_row_id(at_us: int) -> str:
    """Return an unused id for a row of this time."""
    return row_id(at_us, next(ROW_NUMBERS))


def row_id(at_us: int, number: int) -> str:
    """Return the UUID of version 7 (RFC 9562, 5.7) for a time and a number.

    Ids sort by time, and by number within a microsecond."""
    ms, us = divmod(at_us, 1000)
    parts = (ms >> 16 & 0xFFFFFFFF, ms & 0xFFFF, us, 0x8000 | number >> 48 & 0x3FFF, number & (1 << 48) - 1)
    return "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}".format(*parts)


def row_document(row: AuditRow) -> dict[str, Any]:
    """Return the JSON form of a row, without empty and zero fields."""
    document: dict[str, Any] = {"seq": row.seq, "timestamp": time_text(row.at_us)}
    for name in ROW_FIELDS:
        value = getattr(row, name)
        if name not in ("seq", "at_us") and (value or name in _ALWAYS):
            document[name] = json.loads(value) if name == "parameters" else value
    return document


def payload_document(payload: Payload) -> dict[str, Any]:
    """Return the JSON form of a payload, without empty and zero fields."""
    document = {name: value for name in PAYLOAD_FIELDS if (value := getattr(payload, name))}
    return {name: _parsed(value) if name in _PAYLOAD_JSON else value for name, value in document.items()}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        # A result wraps its content: arguments just below the nesting limit exceed it when echoed.
        return text


def csv_cells(row: AuditRow) -> list[Any]:
    """Return the cells of a row in the order of CSV_COLUMNS. Texts like formulas get an apostrophe."""
    return [row.seq, time_text(row.at_us), *(_cell(getattr(row, name)) for name in _CSV_FIELDS)]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
