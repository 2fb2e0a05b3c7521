"""MCP calls over streamable HTTP under load, against a server that counts what it is asked."""

from __future__ import annotations

import socket
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from faultkit.base.errors import TargetError
from faultkit.load.load import Load, McpTarget, Target
from faultkit.load.mcp_target import MOST_RESTARTS
from faultkit.load.response import Failure
from faultkit.load.segment import SingleCalls, call_once
from tests.load.mcp_http_server import McpServer
from tests.load.servers import OK, answering, read_request, serving, url_of
from tests.load.test_mcp_stdio import ENDLESS, Served, loaded


def target_at(url: str, **more: object) -> McpTarget:
    http = Target("POST", url, (("X-Own", "mine"),))
    return McpTarget("add", '{"a": 1}', http=http, **{"timeout_s": 20.0, **more})  # type: ignore[arg-type]


def run(server: McpServer, load: Load, **more: object):  # type: ignore[no-untyped-def]
    with serving(server.serve) as endpoint:
        return loaded(Served(target_at(url_of(endpoint, "/mcp"), **more), Path()), load)


@pytest.mark.parametrize("keep_alive", [True, False])
def test_calls_and_sessions_are_those_that_the_server_counted(keep_alive: bool) -> None:
    server = McpServer()
    rows, summary = run(server, Load(0.2, None, 3, "closed", keep_alive=keep_alive))
    counts = server.counts
    assert counts["initialize"] == counts["notifications/initialized"] == counts["delete"] == 3
    assert counts["tools/call"] == len(rows) == summary.requests > 3
    assert summary.mcp is not None
    assert (summary.mcp.sessions, summary.errors, summary.statuses) == (3, 0, {200: len(rows)})
    by_session = Counter(headers["mcp-session-id"] for headers, _ in server.calls)
    assert set(by_session) == {"s1", "s2", "s3"}
    if keep_alive:
        assert counts["connections"] == 3
    else:
        assert counts["connections"] == len(rows) + 9


def test_a_call_has_the_headers_of_its_session_and_a_new_id() -> None:
    server = McpServer()
    run(server, Load(0.1, None, 1, "closed"))
    headers, message = server.calls[0]
    assert headers["mcp-protocol-version"] == "2025-06-18"
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "application/json, text/event-stream"
    assert headers["x-own"] == "mine"
    assert message["params"] == {"name": "add", "arguments": {"a": 1}}
    assert [message["id"] for _, message in server.calls] == list(range(1, len(server.calls) + 1))


def test_the_modern_era_repeats_the_call_in_its_headers() -> None:
    server = McpServer()
    rows, _ = run(server, Load(0.1, None, 2, "closed"), era="modern")
    headers, message = server.calls[0]
    assert (server.counts["initialize"], server.counts["tools/list"]) == (0, 2)
    assert len(server.calls) == len(rows)
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"], headers["mcp-param-a"]) == ("tools/call", "add", "1")
    assert "mcp-session-id" not in headers
    assert "io.modelcontextprotocol/protocolVersion" in message["params"]["_meta"]


def test_errors_are_counted_by_level() -> None:
    plan = ["tool_error", "rpc_error", "rpc_error 400", "other id", "no reply", "403", "503", "close"]
    server = McpServer(lambda number: plan[number - 1] if number <= len(plan) else "json")
    rows, summary = run(server, Load(0.5, 40.0, 1, keep_alive=False))
    assert summary.failures == {
        "closed": 1,
        "status_5xx": 1,
        "status_4xx": 1,
        "early_end": 1,
        "invalid_reply": 1,
        "rpc_error": 2,
        "tool_error": 1,
    }
    assert summary.mcp is not None
    assert summary.mcp.levels == {"transport": 4, "protocol": 3, "tool": 1}
    assert server.counts["tools/call"] == len(rows) == 20


def test_a_reply_that_comes_as_an_event_ends_the_call_and_its_connection_is_used_again() -> None:
    server = McpServer(lambda number: "events")
    rows, summary = run(server, Load(0.4, 10.0, 1, keep_alive=True))
    assert (len(rows), summary.errors) == (4, 0)
    assert server.counts["connections"] == 1


def test_a_stream_that_stays_open_after_the_reply_does_not_hold_the_call_up() -> None:
    server = McpServer(lambda number: "open stream")
    rows, summary = run(server, Load(0.1, None, 1, "closed", keep_alive=True), timeout_s=600.0)
    assert summary.errors == 0
    assert len(rows) == server.counts["tools/call"] >= 1


def test_a_session_that_the_server_forgot_is_opened_again() -> None:
    server = McpServer(lambda number: "forget" if number == 2 else "json")
    rows, summary = run(server, Load(0.3, None, 1, "closed"))
    assert [row.failure for row in rows[:4]] == [0, 0, Failure.CLIENT_STATUS, 0]
    assert summary.mcp is not None
    assert (summary.mcp.sessions, summary.mcp.restarts) == (2, 1)
    assert summary.mcp.levels == {"transport": 1, "protocol": 0, "tool": 0}
    assert server.counts["initialize"] == 2
    assert server.counts["tools/call"] == len(rows)


def test_a_tool_error_is_an_answer_so_the_session_may_be_opened_again() -> None:
    server = McpServer(lambda number: "forget, tool_error")
    with serving(server.serve) as endpoint:
        target = target_at(url_of(endpoint, "/mcp"))
        rows, summary = loaded(
            Served(target, Path()), ENDLESS, until=lambda rows: len(rows) > 4 * MOST_RESTARTS
        )
    assert {row.failure for row in rows} == {Failure.TOOL_ERROR, Failure.CLIENT_STATUS}
    assert summary.mcp is not None
    assert summary.mcp.restarts > MOST_RESTARTS


@dataclass
class ClosesIdleConnections(McpServer):
    """Opens a session for the second time only after it has closed the other connections."""

    open: list[socket.socket] = field(default_factory=list)

    def serve(self, connection: socket.socket, number: int) -> None:
        self.open.append(connection)
        super().serve(connection, number)

    def _reply(self, connection: socket.socket, id: object, result: object, headers: str = "") -> None:
        if headers and self.counts["initialize"] == 2:
            time.sleep(0.2)  # The next calls come, and the first of them takes the idle connection.
            for each in self.open:
                if each is not connection:
                    with suppress(OSError):  # It may be closed already.
                        each.shutdown(socket.SHUT_RDWR)
            time.sleep(0.1)
        super()._reply(connection, id, result, headers)


def test_a_connection_that_is_closed_while_its_call_waits_for_the_session_is_replaced() -> None:
    server = ClosesIdleConnections(lambda number: "forget" if number == 2 else "json")
    rows, _ = run(server, Load(0.7, 20.0, 1, keep_alive=True), timeout_s=2.0)
    assert server.counts["initialize"] == 2
    assert {row.failure for row in rows} == {Failure.NONE, Failure.CLIENT_STATUS}
    assert server.counts["tools/call"] == len(rows)
    assert all(0 < row.first_byte_s <= row.total_s for row in rows)


def test_an_open_load_deals_its_calls_to_all_sessions() -> None:
    server = McpServer()
    rows, _ = run(server, Load(0.3, 40.0, 3, keep_alive=True))
    by_session = Counter(headers["mcp-session-id"] for headers, _ in server.calls)
    assert sorted(by_session.values()) == [4, 4, 4]
    assert len(rows) == 12


def test_a_call_times_out() -> None:
    server = McpServer(lambda number: "open stream" if number > 1 else "json")

    def serve(connection, number):  # type: ignore[no-untyped-def]
        if number < 2:
            server.serve(connection, number)
        else:
            read_request(connection)
            connection.recv(1)

    with serving(serve) as endpoint:
        sample = call_once(target_at(url_of(endpoint), timeout_s=0.2))
    assert (sample.failure, sample.status) == (Failure.TIMEOUT, 0)


def test_a_call_that_times_out_is_cancelled_in_its_session() -> None:
    server = McpServer(lambda number: "json" if number == 2 else "silence")
    with serving(server.serve) as endpoint, SingleCalls(target_at(url_of(endpoint), timeout_s=0.3)) as calls:
        assert calls.open()
        failures = [sample.failure for _ in range(3) if (sample := calls.make()) is not None]
    assert failures == [Failure.TIMEOUT, Failure.NONE, Failure.TIMEOUT]
    assert server.cancelled == [("s1", 1), ("s1", 3)]
    assert (server.counts["initialize"], server.counts["delete"]) == (1, 1)


def test_in_the_modern_era_the_end_of_the_connection_cancels_a_call() -> None:
    server = McpServer(lambda number: "silence")
    with serving(server.serve) as endpoint:
        sample = call_once(target_at(url_of(endpoint), timeout_s=0.2, era="modern"))
    assert sample.failure == Failure.TIMEOUT
    assert server.counts["notifications/cancelled"] == 0


def test_calls_of_a_load_that_time_out_are_cancelled() -> None:
    server = McpServer(lambda number: "silence" if number % 2 else "json")
    rows, summary = run(server, Load(0.5, 20.0, 2, keep_alive=True), timeout_s=0.3)
    assert summary.requests == 10
    silent = [message["id"] for _, message in server.calls[::2]]
    assert sorted(id for _, id in server.cancelled) == sorted(silent)
    assert [row.failure for row in rows].count(Failure.TIMEOUT) == len(silent) == 5


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, "the server opens no session: status 200"),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "the server opens no session: status 401"),
        (b"nonsense\r\n\r\n", "the server opens no session: protocol"),
    ],
)
def test_a_session_that_cannot_be_opened_is_no_result(answer: bytes, expected: str) -> None:
    with serving(answering(answer)) as endpoint, pytest.raises(TargetError, match=expected):
        call_once(target_at(url_of(endpoint)))


def test_a_server_that_is_not_there_is_no_result(closed_port: int) -> None:
    with pytest.raises(TargetError, match="the server opens no session: refused"):
        call_once(target_at(f"http://127.0.0.1:{closed_port}/mcp"))


def test_a_connection_that_fails_at_once_is_no_result() -> None:
    with pytest.raises(TargetError, match="the server opens no session: unreachable"):
        call_once(target_at("http://255.255.255.255/mcp"))


def test_the_opening_can_be_stopped() -> None:
    with serving(answering(b"")) as endpoint:
        assert call_once(target_at(url_of(endpoint)), lambda: True) is None


def test_requests_of_the_server_are_answered_within_a_call() -> None:
    server = McpServer(lambda number: "ask")
    rows, summary = run(server, Load(0.1, None, 1, "closed", keep_alive=True))
    assert summary.errors == 0
    assert server.counts["answer"] == server.counts["tools/call"] == len(rows)
