"""Rows of refused requests, folded so that an attacker cannot fill the log.

The first refusal of a kind (peer, status, message) is logged at once. Further ones within `FOLD_S` are
counted and logged as one row at the end. At most `MOST_KINDS` kinds are counted separately at a time, the
rest together. So one attacker causes two rows in ten seconds, and all attackers together a few hundred.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.audit.access.identity import Category, Refusal
from faultkit.audit.access.rate_limits import address_of
from faultkit.audit.redaction import json_text, redacted_text
from faultkit.audit.row import REFUSAL, TIMES, AuditEntry, AuditRow, new_row_id
from faultkit.base.http.http_exchange import HttpRequest
from faultkit.base.times import now_us

FOLD_S = 10.0
MOST_KINDS = 256
_MOST_CHARS = 200
_BEGINNINGS = {401: "not authenticated: ", 403: "not allowed: "}
_OTHERS = ("others",)


@dataclass(slots=True)
class _Window:
    row: AuditRow
    timer: asyncio.TimerHandle
    more: int = 0


class Refusals:
    """Counts and logs refusals. It belongs to one event loop."""

    def __init__(
        self, add: Callable[[AuditEntry], None] = lambda entry: None, clock: Callable[[], int] = now_us
    ) -> None:
        self._add = add
        self._clock = clock
        self._windows: dict[tuple[str, ...], _Window] = {}
        self.counts: Counter[Category] = Counter()
        """Number of all refusals, by category."""

    def note(self, request: HttpRequest, refusal: Refusal) -> None:
        """Count a refusal, and log it unless one of its kind was logged recently."""
        self.counts[refusal.category] += 1
        kind: tuple[str, ...] = (address_of(request.peer), str(refusal.status), refusal.message)
        if kind not in self._windows and len(self._windows) >= MOST_KINDS:
            kind = _OTHERS
        window = self._windows.get(kind)
        if window is not None:
            window.more += 1
            return
        row = _row(request, refusal, self._clock())
        timer = asyncio.get_running_loop().call_later(FOLD_S, self._end, kind)
        self._windows[kind] = _Window(row, timer)
        self._add(AuditEntry(row))

    def close(self) -> None:
        """Log the refusals that were only counted so far."""
        for kind in tuple(self._windows):
            self._end(kind)

    def _end(self, kind: tuple[str, ...]) -> None:
        window = self._windows.pop(kind)
        window.timer.cancel()
        if not window.more:
            return
        at_us = self._clock()
        row = window.row._replace(id=new_row_id(at_us), at_us=at_us, parameters=_repeated(window))
        self._add(AuditEntry(row if kind is not _OTHERS else _anonymised(row)))


def _row(request: HttpRequest, refusal: Refusal, at_us: int) -> AuditRow:
    by = refusal.by
    return AuditRow(
        id=new_row_id(at_us),
        at_us=at_us,
        duration_ms=0.0,
        tool_name="",
        success=False,
        user_subject="" if by is None else _text(by.subject),
        user_email="" if by is None else _text(by.email),
        auth_type="anonymous" if by is None else by.auth_type,
        api_key_name="" if by is None else by.key_name,
        parameters=json_text(_request_facts(request, refusal)),
        error_message=_BEGINNINGS.get(refusal.status, "") + refusal.message,
        error_category=refusal.category,
        source=REFUSAL,
        remote_addr=request.peer,
        forwarded_for=_text(request.headers.get("x-forwarded-for", "")),
        user_agent=_text(request.headers.get("user-agent", "")),
    )


def _request_facts(request: HttpRequest, refusal: Refusal) -> dict[str, Any]:
    # Without the query, which may contain a key.
    facts: dict[str, Any] = {"method": _text(request.method), "path": _text(request.path), TIMES: 1}
    if refusal.category == "origin":
        facts |= {
            name: _text(request.headers[name]) for name in ("host", "origin") if name in request.headers
        }
    return facts


def _repeated(window: _Window) -> str:
    assert window.row.parameters is not None
    return json_text(json.loads(window.row.parameters) | {TIMES: window.more})


def _anonymised(row: AuditRow) -> AuditRow:
    """Return the row for refusals of callers that are not counted separately."""
    return row._replace(
        user_subject="",
        user_email="",
        auth_type="anonymous",
        api_key_name="",
        error_message="refused: too many different callers to count each",
        remote_addr="",
        forwarded_for="",
        user_agent="",
    )


def _text(text: str) -> str:
    return redacted_text(text[:_MOST_CHARS])[:_MOST_CHARS]
