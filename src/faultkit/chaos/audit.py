"""Everything that chaos does as rows of the audit log: register, inject, remove, run, stop, undo.

To write one never fails and never holds up what it tells of: what could not be written is said in `trouble`.
What was undone is read from the ledger, so that it does not matter who undid it, the owner, its guardian or
`fault chaos recover`: a row has the same id whoever writes it, and is written once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from faultkit.audit.calls import uuid_at
from faultkit.audit.redact import json_text, redacted
from faultkit.audit.row import AuditRow, Entry
from faultkit.audit.store import Store
from faultkit.base.errors import RunError
from faultkit.base.times import now_us, parse_time
from faultkit.chaos.lease_file import Intent, LeaseView
from faultkit.chaos.ledger import Ledger

GROUP = "chaos"
_LONGEST = 2000
"""Characters of an error."""


class Audit:
    """Any thread may use it. The store is the caller's to close."""

    def __init__(self, store: Store, source: str, transport: str = "") -> None:
        """`source`: who asked, such as mcp or cli."""
        self.trouble = ""
        """Why the last row could not be written; empty if it could."""
        self._store = store
        self._source = source
        self._transport = transport
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def add(self, what: str, given: Mapping[str, Any], began_us: int, error: str | None = None) -> None:
        """`what`: register, inject, remove, run, stop or release. Secrets in `given` are left out."""
        self._write([_row(what, given, began_us, error, self._source, self._transport)])

    def add_undone(self, ledger: Ledger) -> None:
        """What the ledger tells and the log does not know yet."""
        rows = [
            _undone(view, intent)
            for view in ledger.views()
            for intent in view.intents
            if intent.result is not None
        ]
        with self._lock:
            fresh = [row for row in rows if row.id not in self._told]
            if self._write(fresh):
                self._told.update(row.id for row in fresh)

    def _write(self, rows: list[AuditRow]) -> bool:
        if not rows:
            return True
        try:
            self._store.append([Entry(row) for row in rows])
        except RunError as error:
            self.trouble = f"not everything is in the audit log: {error}"
            return False
        self.trouble = ""
        return True


def _row(
    what: str,
    given: Mapping[str, Any],
    began_us: int,
    error: str | None,
    source: str,
    transport: str = "",
    id: str | None = None,
    ended_us: int | None = None,
) -> AuditRow:
    parameters = json_text(redacted(dict(given)))
    return AuditRow(
        id=id or uuid_at(began_us),
        at_us=began_us,
        duration_ms=max(0, (now_us() if ended_us is None else ended_us) - began_us) / 1000,
        tool_name=f"{GROUP}.{what}",
        success=error is None,
        tool_group=GROUP,
        parameters=parameters,
        error_message=(error or "")[:_LONGEST],
        request_chars=len(parameters),
        transport=transport,
        source=source,
    )


def _undone(view: LeaseView, intent: Intent) -> AuditRow:
    result = intent.result
    assert result is not None
    at_us = parse_time(intent.at or view.opened_at, 0)
    given = {"lease": view.id, "owner": view.owner, "undo": intent.undo.says, "message": result.message}
    error = None if result.ok else result.message
    id = f"{view.id}-{intent.id}-{'done' if result.ok else 'failed'}"
    return _row("undo", given, at_us, error, intent.by, id=id, ended_us=at_us)
