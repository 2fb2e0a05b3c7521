"""The API of rows: pages, filters, one call, export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from faultkit.audit.row import AuditEntry, AuditRow, Payload
from faultkit.audit.store import StoreUnavailable
from faultkit.base.times import time_text
from tests.audit.rows import NOON_US, entry
from tests.web.served import AUDIT, Served, served

EVENTS = f"{AUDIT}/events"


def said(number: int, payload: Payload, **fields: Any) -> AuditEntry:
    return AuditEntry(entry(number, **fields).row, payload)


@pytest.fixture(scope="module")
def log() -> Iterator[Served]:
    """Yield a server with five calls of a past day."""
    with served() as running:
        running.store.append(
            [
                said(
                    1,
                    Payload(
                        request_params='{"name":"flaky"}',
                        request_headers='{"user-agent":"curl/8","x-team":"5"}',
                        response_error='{"code":-31002,"data":{"roll":0.25,"failed":true}}',
                    ),
                    tool_name="flaky",
                    success=False,
                    error_category="tool",
                    session_id="s1",
                    parameters='{"seed":"abc","call_id":5}',
                ),
                said(
                    2,
                    Payload(response_result='{"content":[{"type":"text","text":"5"}],"isError":true}'),
                    tool_name="flaky",
                    success=False,
                    error_message="100% broken",
                    user_subject="bob",
                ),
                said(
                    3,
                    Payload(response_result='{"content":[]}', replayed_from="0198"),
                    source="portal-replay",
                    parameters='{"message":"5"}',
                ),
                said(4, Payload(notifications='[{"method":"x"}]'), auth_type="apikey", api_key_name="ci"),
                AuditEntry(entry(5, tool_name="slow").row, None),
            ]
        )
        yield running


def numbers(document: Any) -> list[int]:
    return [int(row["id"][-12:]) for row in document["events"]]


FILTERS: tuple[tuple[dict[str, str], list[int]], ...] = (
    ({}, [5, 4, 3, 2, 1]),
    ({"tool": "flaky"}, [2, 1]),
    ({"user": "bob"}, [2]),
    ({"session": "s1"}, [1]),
    ({"success": "false"}, [2, 1]),
    ({"category": "tool"}, [1]),
    ({"source": "portal-replay"}, [3]),
    ({"auth_type": "apikey"}, [4]),
    ({"key": "ci"}, [4]),
    ({"q": "BROK"}, [2]),
    ({"q": "%"}, [2]),
    ({"from": time_text(NOON_US + 3000)}, [5, 4, 3]),
    ({"from": time_text(NOON_US + 2000), "to": time_text(NOON_US + 4000)}, [3, 2]),
    ({"param.seed": "abc"}, [1]),
    ({"param.call_id": "5.0"}, [1]),
    ({"param.message": "5"}, []),
    ({"param.message": '"5"'}, [3]),
    ({"response.isError": "true"}, [2]),
    ({"response.content.0.text": '"5"'}, [2]),
    ({"response.code": "-31002"}, [1]),
    ({"response.data.roll": "0.25"}, [1]),
    ({"response.data.roll": "0.2500001"}, []),
    ({"header.User-Agent": "curl/8"}, [1]),
    ({"header.x-team": "5"}, [1]),
    ({"header.x-team": '"5"'}, []),
    ({"has": "request_headers"}, [1]),
    ({"has": "response_result"}, [3, 2]),
    ({"has": "response_error"}, [1]),
    ({"has": "notifications"}, [4]),
    ({"has": "replayed_from"}, [3]),
    ({"has": "request_params", "success": "true"}, []),
    ({"tool": "flaky", "response.isError": "true", "header.x-team": "5"}, []),
    ({"limit": "2", "offset": "1"}, [4, 3]),
)


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=lambda value: str(value)[:60])
def test_a_filter_selects_the_rows_that_it_describes(
    log: Served, filters: dict[str, str], expected: list[int]
) -> None:
    assert numbers(log.json(EVENTS, **filters)) == expected


def test_filters_of_one_kind_add_up(log: Served) -> None:
    both = log.client.get(f"{EVENTS}?has=response_result&has=replayed_from&param.message=%225%22")
    assert numbers(both.json()) == [3]


BAD: tuple[tuple[str, str], ...] = (
    ("colour=red", "colour: expected one of the filters tool, user,"),
    ("limit=0", 'limit: expected a whole number from 1 to 1000, got "0"'),
    ("limit=1001", "limit: expected a whole number from 1 to 1000"),
    ("offset=-1", "offset: expected a whole number from 0 to"),
    ("offset=99999999999999999999", "offset: expected a whole number from 0 to"),
    ("success=yes", 'success: expected true or false, got "yes"'),
    ("from=yesterday", 'from: expected a time such as "2026-01-31T12:00:00Z"'),
    ("from=99999999d", "from: expected a time of the years 1900 to 9998"),
    ("to=0001-01-01T00:00:00Z", "to: expected a time of the years 1900 to 9998"),
    ("from=1m&to=2m", "to: expected a time after `from`, got one before it"),
    ("tool=", "tool: expected a text, got nothing"),
    ("tool=a&tool=b", "tool: expected once, got it twice"),
    ("q=a%00", "q: expected a text without NUL"),
    ("has=wings", "has: expected one of request_params, request_headers,"),
    ("param.=1", "param.: expected a path such as param.seed"),
    ("response.a..b=1", "response.a..b: expected a path such as response.isError"),
    ("header.=1", "header.: expected the name of a header"),
    ("cursor=x", 'cursor: expected the `next` of another page, got "x"'),
    ("cursor=1-2-3", "cursor: expected the `next` of another page"),
    ("cursor=1-2&offset=5", "cursor: expected without `offset`, got both"),
)


@pytest.mark.parametrize(("query", "problem"), BAD)
def test_a_bad_filter_is_an_error_that_names_it(log: Served, query: str, problem: str) -> None:
    answer = log.client.get(f"{EVENTS}?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(problem)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("stream?from=1m", "from: expected one of the filters tool,"),
        ("stream?after=x", 'after: expected a whole number from 0 to 9223372036854775807, got "x"'),
        ("export?format=xml", 'format: expected one of jsonl, csv, got "xml"'),
        ("export?offset=1", "offset: expected one of the filters tool,"),
        ("export?limit=0", "limit: expected a whole number from 1 to"),
        ("export?format=csv&format=csv", "format: expected once, got it twice"),
        ("meta?x=1", "x: expected no parameters here"),
    ],
)
def test_each_path_knows_its_own_parameters(log: Served, path: str, problem: str) -> None:
    answer = log.client.get(f"{AUDIT}/{path}")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(problem)


def test_a_text_that_a_spreadsheet_would_take_for_a_formula_is_none_in_csv() -> None:
    with served() as running:
        texts = ("=1+1", "+1", "-1", "@a", "\tb", "a=1")
        running.store.append([entry(n, error_message=text) for n, text in enumerate(texts)])
        table = csv.DictReader(io.StringIO(running.get(f"{AUDIT}/export", format="csv").text, newline=""))
        assert [line["error_message"] for line in table] == ["'=1+1", "'+1", "'-1", "'@a", "'\tb", "a=1"]


def test_pages_by_cursor_show_each_call_once_though_others_come() -> None:
    with served() as running:
        running.store.append([entry(number, at_us=NOON_US + number // 2) for number in range(7)])
        first = running.json(EVENTS, limit="3")
        assert (numbers(first), first["total"]) == ([6, 5, 4], 7)
        running.store.append([entry(number) for number in (7, 8)])
        second = running.json(EVENTS, limit="3", cursor=first["next"])
        assert (numbers(second), second["total"]) == ([3, 2, 1], 9)
        third = running.json(EVENTS, limit="3", cursor=second["next"])
        assert (numbers(third), third["next"]) == ([0], None)
        last = running.json(EVENTS, limit="1", cursor=running.json(EVENTS, limit="8")["next"])
        assert (numbers(last), last["next"]) == ([0], None)


def test_one_call_has_its_request_and_response(log: Served) -> None:
    row = log.json(f"{EVENTS}/{entry(1).row.id}")
    assert row["payload"]["response_error"] == {"code": -31002, "data": {"roll": 0.25, "failed": True}}
    assert row["parameters"] == {"seed": "abc", "call_id": 5}
    assert "payload" not in log.json(f"{EVENTS}/{entry(5).row.id}")
    missing = log.get(f"{EVENTS}/absent")
    assert (missing.status_code, missing.json()) == (
        404,
        {"error": 'expected the id of a call, got "absent"'},
    )


def test_meta_lists_the_filters(log: Served) -> None:
    meta = log.json(f"{AUDIT}/meta")
    assert (meta["tools"], meta["users"]) == (["echo", "flaky", "slow"], ["bob"])
    assert (meta["sources"], meta["keys"]) == (["mcp", "portal-replay"], ["ci"])
    assert meta["has"] == [
        "request_params",
        "request_headers",
        "response_result",
        "response_error",
        "notifications",
        "replayed_from",
    ]
    for name in meta["filters"]:
        assert name in log.get(EVENTS, nosuch="1").json()["error"]


def test_an_export_has_all_rows_in_their_order(log: Served) -> None:
    answer = log.get(f"{AUDIT}/export")
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["seq"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0] == {
        key: value for key, value in log.json(f"{EVENTS}/{rows[0]['id']}").items() if key != "payload"
    }
    few = log.get(f"{AUDIT}/export", success="true", limit="2").text
    assert [json.loads(line)["seq"] for line in few.splitlines()] == [3, 4]
    assert log.get(f"{AUDIT}/export", tool="nosuch").text == ""


def test_an_export_can_be_a_table(log: Served) -> None:
    answer = log.get(f"{AUDIT}/export", format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["tool_name"] for row in rows] == ["flaky", "flaky", "echo", "echo", "slow"]
    assert (rows[0]["timestamp"], rows[0]["success"]) == (time_text(NOON_US + 1000), "false")
    assert json.loads(rows[0]["parameters"]) == {"seed": "abc", "call_id": 5}


def test_an_export_of_very_many_rows_is_whole_and_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"message": "x" * 2000})
    with served(str(tmp_path / "audit.db")) as running:
        for first in range(0, 2_000, 1000):
            rows = [entry(number, parameters=text) for number in range(first, first + 1000)]
            running.store.append(rows)
        most_rows = 0
        after = running.store.after

        def counted(*args: Any) -> tuple[AuditRow, ...]:
            nonlocal most_rows
            page = after(*args)
            most_rows = max(most_rows, len(page))
            return page

        monkeypatch.setattr(running.store, "after", counted)
        with running.client.stream("GET", f"{AUDIT}/export") as answer:
            assert answer.headers["transfer-encoding"] == "chunked"
            found = [json.loads(line)["seq"] for line in answer.iter_lines()]
    assert found == list(range(1, 2_001))
    assert most_rows == 500


def test_an_export_that_cannot_go_on_does_not_look_whole(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.store.append([entry(number) for number in range(600)])
    after = server.store.after

    def once(seq: int, *rest: Any) -> tuple[AuditRow, ...]:
        if seq:
            raise StoreUnavailable("it has just gone")
        return after(seq, *rest)

    monkeypatch.setattr(server.store, "after", once)
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        server.get(f"{AUDIT}/export")


def test_an_unavailable_log_is_a_503_while_calls_continue(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with served(str(path)) as running:
        running.call("echo", {"message": "before"})
        for part in tmp_path.iterdir():
            part.unlink()
        path.mkdir()
        reply = running.client.post(
            "/api/v1/admin/tryit/echo",
            json={"arguments": {"message": "on"}},
            headers={"x-requested-with": "x"},
        )
        assert reply.json()["result"]["structuredContent"] == {"message": "on"}
        _until(lambda: running.json("/api/v1/portal/server")["audit"]["away"] != "")
        for part_of_it in ("audit/events", "audit/meta", "dashboard", "audit/export", "audit/timeseries"):
            answer = running.get(f"/api/v1/portal/{part_of_it}")
            assert answer.status_code == 503
            assert answer.json()["error"].startswith("the database is unavailable: ")
        assert "faultkit_audit_store_up 0\n" in running.get("/metrics").text
        assert running.get("/readyz").text == "ready"
        path.rmdir()
        _until(lambda: running.get(EVENTS).status_code == 200 and running.json(EVENTS)["total"] == 1)
        assert running.json(EVENTS)["events"][0]["parameters"] == {"message": "on"}


def _until(holds: Any) -> None:
    from time import monotonic

    end_s = monotonic() + 10.0
    while not holds():
        assert monotonic() < end_s
