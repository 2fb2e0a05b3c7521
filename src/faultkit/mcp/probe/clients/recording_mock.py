"""The mock server of a profile: it records what the client opens, requests and cancels, and which calls were
hit.

As `python -m faultkit.mcp.probe.clients.recording_mock PATH`, which a client starts as its server on stdio,
it connects to the profile's Unix socket, reads from it which server to be, and writes each journal entry to
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from faultkit.base.signals import wait_for_stop
from faultkit.faults.call_fault import Call, Era, Verdict
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.probe.clients.fault_battery import manifest_of, plan_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import CANCELLED, METHOD_NOT_FOUND, Incoming, cancelled_id, error_of
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.plan import Plan, Rule

EventKind: TypeAlias = Literal["opened", "closed", "request", "cancelled", "injected"]
CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event of a run, as the server saw it."""

    kind: EventKind
    session: str = ""
    era: Era = "legacy"
    method: str = ""
    id: str | int | None = None
    call: str = ""
    """The tool and arguments of a call as JSON: equal for a call and its retry."""
    at_ms: float = 0.0
    """When the server received it, since the start of the client."""

    def line(self) -> bytes:
        """Return the entry as a line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def entry_of(line: bytes, session: str, at_ms: float) -> JournalEntry:
    """Return the entry that another process wrote as a line."""
    return JournalEntry(**{**json.loads(line), "session": session, "at_ms": at_ms})


def call_of(params: Mapping[str, Any]) -> str:
    """Return the identity of a call: its tool and arguments."""
    identity = {"name": params.get("name"), "arguments": params.get("arguments")}
    return json.dumps(identity, sort_keys=True, ensure_ascii=False)


Record = Callable[[JournalEntry], None]


class RecordingMock:
    """A mock service that reports every event to `record`."""

    def __init__(self, manifest: Manifest, plan: Plan, era: Era | None, record: Record) -> None:
        """`era`: the only era that the server speaks; None for both."""
        self._mock = MockService(manifest, Injector(plan, manifest.name, self._injected))
        self._era = era
        self._record = record
        self._exchanges: list[Exchange] = []

    async def stop(self) -> None:
        await self._mock.stop()

    @property
    def calls_open(self) -> int:
        """Number of calls with neither an answer nor a cancellation."""
        return sum(not each.ended and not each.cancelled for each in self._exchanges)

    # --- Service ------------------------------------------------------------------------------

    def opened(self, session: Session) -> None:
        if session.era == "legacy":
            self._record(JournalEntry("opened", session.id))
        self._mock.opened(session)

    def closed(self, session: Session) -> None:
        if session.era == "legacy":
            self._record(JournalEntry("closed", session.id))
        self._mock.closed(session)

    def request(self, exchange: Exchange) -> None:
        session, request = exchange.session, exchange.request
        call = call_of(request.params) if request.method == CALL else ""
        self._record(JournalEntry("request", session.id, session.era, request.method, request.id, call))
        if call:
            self._exchanges.append(exchange)
        if self._era is not None and session.era != self._era:
            exchange.reply(error_of(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here"))
            return
        if session.transport == "http" and session.era == "modern":
            # In the modern era over HTTP, closing the response is the cancellation.
            entry = JournalEntry("cancelled", session.id, session.era, request.method, request.id)
            exchange.on_cancel(lambda: self._record(entry))
        self._mock.request(exchange)

    def notification(self, session: Session, incoming: Incoming) -> None:
        if incoming.method == CANCELLED:
            id = cancelled_id(incoming)
            self._record(JournalEntry("cancelled", session.id, session.era, CANCELLED, id))
        self._mock.notification(session, incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._mock.response(session, incoming)

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        identity = call_of(call.params) if call.method == CALL else ""
        self._record(JournalEntry("injected", "", call.era, call.method, call.id, identity))


# --- as a process -----------------------------------------------------------------------------------


def main(path: str) -> None:
    """Serve on stdin and stdout as the profile at the socket asks."""
    with socket.socket(socket.AF_UNIX) as profile:
        profile.connect(path)
        profile.sendall(f"{os.getpid()}\n".encode())
        with profile.makefile("rb") as lines:
            job = json.loads(lines.readline())
        asyncio.run(_serve(job, profile))


async def _serve(job: dict[str, Any], profile: socket.socket) -> None:
    def record(entry: JournalEntry) -> None:
        # If the profile has ended, the client still has its server.
        with suppress(OSError):
            profile.sendall(entry.line())

    service = RecordingMock(
        manifest_of(job["tools_from"]), plan_of(job["spec"], job["seed"]), job["era"], record
    )
    try:
        await wait_for_stop(serve_stdio(service))
    finally:
        await service.stop()


if __name__ == "__main__":
    main(sys.argv[1])
