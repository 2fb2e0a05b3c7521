"""A log that cannot keep up delays calls, and no other requests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

import pytest

from faultkit.audit.row import AuditEntry
from faultkit.audit.store import Store
from faultkit.audit.writer import WriterState
from tests.web.served import OURS, PATIENCE_S, Served, served


class Shut:
    """Blocks every write of rows until `opened` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()
        usual = Store.append

        def append(store: Store, entries: Sequence[AuditEntry]) -> None:
            assert self.opened.wait(PATIENCE_S)
            usual(store, entries)

        monkeypatch.setattr(Store, "append", append)
        monkeypatch.setattr("faultkit.audit.writer.MOST_BEHIND", 3)


@pytest.fixture
def shut(monkeypatch: pytest.MonkeyPatch) -> Any:
    shut = Shut(monkeypatch)
    yield shut
    shut.opened.set()


def called(server: Served, done: list[int]) -> threading.Thread:
    def call() -> None:
        for number in range(5):
            body = {"arguments": {"message": f"{number}"}}
            # Not with `call`, which waits for the log.
            assert server.client.post("/api/v1/admin/tryit/echo", json=body, headers=OURS).status_code == 200
        for number in range(3):
            message = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": {}}
            server.client.post("/mcp", json=message)
            done.append(number)

    thread = threading.Thread(target=call)
    thread.start()
    return thread


def test_calls_wait_for_the_log_while_other_requests_are_served(shut: Shut) -> None:
    done: list[int] = []
    with served() as server:
        thread = called(server, done)
        until(lambda: server.state.waiting == 5)
        assert server.get("/healthz").text == "ok"
        assert "faultkit_audit_rows_waiting 5\n" in server.get("/metrics").text
        assert done == []
        shut.opened.set()
        thread.join(PATIENCE_S)
        assert done == [0, 1, 2]
        server.flush()
        assert server.state == WriterState(written=5)


def test_calls_wait_only_a_while_for_a_blocked_log(shut: Shut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.audit.writer.AuditWriter.block_s", 0.02)
    done: list[int] = []
    with served() as server:
        thread = called(server, done)
        thread.join(PATIENCE_S)
        assert done == [0, 1, 2]
        assert server.state == WriterState(waiting=5, away="memory:: no row was taken for 5 s")
        shut.opened.set()
        server.flush()
        assert server.state == WriterState(written=5)


def until(holds: Any) -> None:
    end_s = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < end_s
