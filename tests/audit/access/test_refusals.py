"""Many refusals make few rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faultkit.audit.access import refusals as refusals_module
from faultkit.audit.access.identity import Identity, Refusal
from faultkit.audit.access.refusals import MOST_KINDS, Refusals
from faultkit.audit.row import AuditEntry, AuditRow
from faultkit.base.http.http_exchange import HttpRequest
from tests.audit.rows import NOON_US

WRONG = Refusal(401, "auth", "unknown key")
LATE = Refusal(429, "rate", "too many requests", by=Identity("ci", "apikey", frozenset(), key_name="ci"))


def request(peer: str = "10.0.0.1:5", target: str = "/mcp?key=fk_secret", **headers: str) -> HttpRequest:
    return HttpRequest("POST", target, headers, list(headers.items()), b"x" * 1000, peer)


def rows_of(test: Callable[[Refusals], Coroutine[Any, Any, None]]) -> list[AuditRow]:
    rows: list[AuditRow] = []

    def add(entry: AuditEntry) -> None:
        assert entry.payload is None
        rows.append(entry.row)

    async def bounded() -> None:
        refusals = Refusals(add, clock=lambda: NOON_US)
        async with asyncio.timeout(20):
            await test(refusals)
        refusals.close()

    asyncio.run(bounded())
    return rows


def times(row: AuditRow) -> int:
    return int(json.loads(row.parameters or "")["times"])


def test_a_row_has_the_caller_and_the_reason_but_no_secret() -> None:
    async def test(refusals: Refusals) -> None:
        headers = {"x-api-key": "fk_secret", "user-agent": "x" * 999, "x-forwarded-for": "1.2.3.4\0"}
        refusals.note(request(**headers), LATE)

    (row,) = rows_of(test)
    assert (row.remote_addr, row.forwarded_for, row.user_agent) == ("10.0.0.1:5", "1.2.3.4␀", "x" * 200)
    assert (row.user_subject, row.auth_type, row.api_key_name) == ("ci", "apikey", "ci")
    assert (row.at_us, row.success, row.error_category) == (NOON_US, False, "rate")
    assert row.parameters == '{"method":"POST","path":"/mcp","times":1}'
    assert "fk_secret" not in str(row)


def test_a_secret_in_the_path_or_the_name_of_a_client_is_not_kept() -> None:
    async def test(refusals: Refusals) -> None:
        key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
        refusals.note(request(target=f"/mcp/{key}", **{"user-agent": f"agent password=hunter2 {key}"}), WRONG)

    (row,) = rows_of(test)
    assert row.parameters == '{"method":"POST","path":"/mcp/[redacted]","times":1}'
    assert row.user_agent == "agent password=[redacted] [redacted]"


def test_the_first_is_a_row_at_once_and_the_others_are_one_at_the_end() -> None:
    async def test(refusals: Refusals) -> None:
        for port in range(1000):
            refusals.note(request(f"10.0.0.1:{port}"), WRONG)
        assert refusals.counts == {"auth": 1000}

    first, more = rows_of(test)
    assert (times(first), times(more)) == (1, 999)
    assert first.id != more.id
    assert first.error_message == more.error_message == "not authenticated: unknown key"


def test_other_peers_and_other_reasons_are_rows_of_their_own() -> None:
    async def test(refusals: Refusals) -> None:
        for _ in range(2):
            refusals.note(request("10.0.0.1:5"), WRONG)
            refusals.note(request("10.0.0.2:5"), WRONG)
            refusals.note(request("10.0.0.1:5"), LATE)

    assert [times(row) for row in rows_of(test)] == [1] * 6


def test_after_a_while_it_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals_module, "FOLD_S", 0.01)

    async def test(refusals: Refusals) -> None:
        for _ in range(2):
            for _ in range(3):
                refusals.note(request(), WRONG)
            # Timers of the loop fire in order.
            await asyncio.sleep(0.02)

    assert [times(row) for row in rows_of(test)] == [1, 2, 1, 2]


def test_peers_beyond_the_limit_are_counted_together() -> None:
    async def test(refusals: Refusals) -> None:
        for number in range(5000):
            refusals.note(request(f"10.1.{number // 250}.{number % 250}:5"), WRONG)

    rows = rows_of(test)
    assert len(rows) == MOST_KINDS + 2
    assert times(rows[-1]) == 5000 - MOST_KINDS - 1
    assert rows[-1].error_message == "refused: too many different callers to count each"
    assert rows[-1].remote_addr == ""
    assert sum(times(row) for row in rows) == 5000


def test_a_whole_network_of_ipv6_is_one_peer() -> None:
    async def test(refusals: Refusals) -> None:
        for number in range(100):
            refusals.note(request(f"2001:db8::{number:x}:5"), WRONG)

    assert [times(row) for row in rows_of(test)] == [1, 99]
