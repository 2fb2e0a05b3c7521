"""Who was not let in: a row each, and few rows for many.

The first refusal of a kind (peer, status, message) is a row at once. Those that follow within `FOLD_S` are
counted, and become one row at its end. At most `MOST_KINDS` are told apart at a time; the others are counted
together. So an attacker gets two rows in ten seconds, and all attackers together a few hundred.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.audit.access.identity import Category, Refusal
from faultkit.audit.access.peers import address_of
from faultkit.audit.calls import uuid_at
from faultkit.audit.redact import json_text, plain
from faultkit.audit.row import REFUSAL, TIMES, AuditRow, Entry
from faultkit.base.http.server import Request
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
    """For one event loop."""

    def __init__(
        self, add: Callable[[Entry], None] = lambda entry: None, clock: Callable[[], int] = now_us
    ) -> None:
        self._add = add
        self._clock = clock
        self._windows: dict[tuple[str, ...], _Window] = {}
        self.counts: Counter[Category] = Counter()
        """Of all that were refused."""

    def note(self, request: Request, refusal: Refusal) -> None:
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
        self._add(Entry(row))

    def close(self) -> None:
        for kind in tuple(self._windows):
            self._end(kind)

    def _end(self, kind: tuple[str, ...]) -> None:
        window = self._windows.pop(kind)
        window.timer.cancel()
        if not window.more:
            return
        at_us = self._clock()
        row = window.row._replace(id=uuid_at(at_us), at_us=at_us, parameters=_repeated(window))
        self._add(Entry(row if kind is not _OTHERS else _anonymised(row)))


def _row(request: Request, refusal: Refusal, at_us: int) -> AuditRow:
    by = refusal.by
    return AuditRow(
        id=uuid_at(at_us),
        at_us=at_us,
        duration_ms=0.0,
        tool_name="",
        success=False,
        user_subject="" if by is None else _text(by.subject),
        user_email="" if by is None else _text(by.email),
        auth_type="anonymous" if by is None else by.auth_type,
        api_key_name="" if by is None else by.key_name,
        parameters=json_text(_asked(request, refusal)),
        error_message=_BEGINNINGS.get(refusal.status, "") + refusal.message,
        error_category=refusal.category,
        source=REFUSAL,
        remote_addr=request.peer,
        forwarded_for=_text(request.headers.get("x-forwarded-for", "")),
        user_agent=_text(request.headers.get("user-agent", "")),
    )


def _asked(request: Request, refusal: Refusal) -> dict[str, Any]:
    # Without the query: some put keys there.
    asked: dict[str, Any] = {"method": _text(request.method), "path": _text(request.path), TIMES: 1}
    if refusal.category == "origin":
        asked |= {
            name: _text(request.headers[name]) for name in ("host", "origin") if name in request.headers
        }
    return asked


def _repeated(window: _Window) -> str:
    assert window.row.parameters is not None
    return json_text(json.loads(window.row.parameters) | {TIMES: window.more})


def _anonymised(row: AuditRow) -> AuditRow:
    """Of callers who have nothing in common but that there are too many of them."""
    return row._replace(
        user_subject="",
        user_email="",
        auth_type="anonymous",
        api_key_name="",
        error_message="refused: more callers than can be told apart",
        remote_addr="",
        forwarded_for="",
        user_agent="",
    )


def _text(text: str) -> str:
    return plain(text[:_MOST_CHARS])
