"""Entries of the audit log for tests."""

from __future__ import annotations

from typing import Any

from faultkit.audit.row import AuditEntry, AuditRow, Payload

NOON_US = 1_790_000_000_000_000


def entry(number: int, **fields: Any) -> AuditEntry:
    """Return an entry that began `number` milliseconds after NOON_US; `fields` replace those of its row."""
    known: dict[str, Any] = {
        "id": f"00000000-0000-7000-8000-{number:012d}",
        "at_us": NOON_US + number * 1000,
        "duration_ms": float(number),
        "tool_name": "echo",
        "success": True,
    }
    return AuditEntry(AuditRow(**{**known, **fields}), Payload(request_params=f'{{"n":{number}}}'))
