"""Notifications that a call sent before its reply are stored with it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from faultkit.audit.row import Payload, payload_document
from faultkit.mcp.failures.failure_service import (
    FailureService,
    FinishedCall,
    SentNotification,
    ServeSettings,
)
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode, read
from faultkit.testing import run_virtual
from faultkit.web.call_rows import entry_of
from tests.audit.rows import NOON_US


class Heard(Exchange):
    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__(Session("s", "http", "legacy", lambda raw: None), read(encode(message)))
        self.notes: list[Any] = []
        self.answered = asyncio.Event()

    def write_note(self, raw: bytes) -> None:
        self.notes.append(json.loads(raw))

    def write_reply(self, raw: bytes) -> None:
        self.answered.set()


def called(steps: int, token: str | int = "p") -> tuple[FinishedCall, list[Any]]:
    """Call `progress` with pauses of 250 ms, in virtual time."""

    async def main() -> tuple[FinishedCall, list[Any]]:
        found: list[FinishedCall] = []
        arguments = {"steps": steps, "step_ms": 250}
        params = {"name": "progress", "arguments": arguments, "_meta": {"progressToken": token}}
        exchange = Heard({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        FailureService(ServeSettings(), found.append).request(exchange)
        await exchange.answered.wait()
        return found[0], exchange.notes

    return run_virtual(main())


def kept(ended: FinishedCall) -> Payload:
    payload = entry_of(ended, NOON_US).payload
    assert payload is not None
    return payload


def test_what_was_sent_is_kept_with_its_time() -> None:
    ended, sent = called(2)
    said = payload_document(kept(ended))
    params = [{"progressToken": "p", "progress": n, "total": 2, "message": f"step {n}/2"} for n in (1, 2)]
    # It ended at 14:13:20, half a second after it began.
    assert said["notifications"] == [
        {"ts": "2026-09-21T14:13:19.500000Z", "method": "notifications/progress", "params": params[0]},
        {"ts": "2026-09-21T14:13:19.750000Z", "method": "notifications/progress", "params": params[1]},
    ]
    assert [note["params"] for note in sent] == params
    assert "notifications_truncated" not in said


def test_a_call_without_any_has_none() -> None:
    ended, _ = called(1)
    ended.notes = ()
    assert kept(ended).notifications is None
    assert "notifications" not in payload_document(kept(ended))


def test_a_hundred_are_stored_and_more_are_flagged() -> None:
    ended, sent = called(100)
    assert len(payload_document(kept(ended))["notifications"]) == len(sent) == 100
    assert kept(ended).notifications_truncated is False
    ended.notes_left_out = 1
    assert kept(ended).notifications_truncated is True


def test_the_server_passes_on_the_first_hundred_only() -> None:
    async def main() -> FinishedCall:
        found: list[FinishedCall] = []
        server = FailureService(ServeSettings(), found.append)
        exchange = Heard({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})
        from faultkit.mcp.failures.failure_service import (
            _StartedCall,  # No tool sends that many notifications, so they are added here.
        )

        begun = _StartedCall(exchange, server._identify(exchange), server._tools["echo"], "echo", 0.0)
        for number in range(103):
            begun.note("notifications/message", {"n": number})
        server._end(begun, server._tools["echo"].run({}, begun.caller))  # type: ignore[arg-type]
        assert len(exchange.notes) == 103
        return found[0]

    ended = run_virtual(main())
    assert [note.params["n"] for note in ended.notes] == list(range(100))
    assert ended.notes_left_out == 3
    assert kept(ended).notifications_truncated is True


def test_the_last_ones_make_room_if_they_are_too_long() -> None:
    ended, _ = called(1)
    ended.notes = tuple(
        SentNotification(0.0, "notifications/message", {"data": "x" * 20_000, "n": n}) for n in range(5)
    )
    said = kept(ended)
    assert len(said.notifications or "") <= 65_536
    assert [note["params"]["n"] for note in json.loads(said.notifications or "")] == [0, 1, 2]
    assert said.notifications_truncated is True


def test_one_that_is_too_long_is_left_out_and_flagged() -> None:
    ended, _ = called(1)
    ended.notes = (SentNotification(0.0, "notifications/message", {"data": "x" * 70_000}),)
    assert (kept(ended).notifications, kept(ended).notifications_truncated) == ("[]", True)


def test_secrets_are_hidden_and_the_progress_token_is_none() -> None:
    ended, _ = called(1, token="a\0b")
    ended.notes = (
        *ended.notes,
        SentNotification(0.0, "notifications/message", {"password": "hunter2", "token": "x"}),
    )
    first, second = json.loads(kept(ended).notifications or "")
    assert first["params"]["progressToken"] == "a\u2400b"
    assert second["params"] == {"password": "[redacted]", "token": "[redacted]"}
