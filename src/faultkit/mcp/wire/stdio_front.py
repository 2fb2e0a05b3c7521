"""The server side of the stdio transport: lines from stdin go to a service, its messages to stdout.

Messages are delimited by newlines, and the server must not write anything else to stdout (MCP 2025-11-25,
Transports, stdio). The replies to all lines of one read are written together.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import ClassVar

from faultkit.base.framing import LineReader, OversizedLine
from faultkit.faults.call_fault import Cut, Disconnect, Drip, Frame, Send, Transport
from faultkit.mcp.wire.era import BATCH_VERSIONS, NEWEST, era_of, version_in
from faultkit.mcp.wire.exchange import Batch, Exchange, Service, Session
from faultkit.mcp.wire.json_text import visible_members
from faultkit.mcp.wire.message import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Incoming,
    bytes_of,
    cancelled_id,
    error_of,
    read,
)
from faultkit.mcp.wire.pipes import PipeReader, StdoutWriter, can_poll, claim_descriptor, open_stdout

_READ_BYTES = 1 << 18
MOST_DRAIN_S = 10.0
"""Longest time that pending replies may take after the client has closed its end."""


async def serve_stdio(
    service: Service,
    stdin_fd: int = 0,
    stdout_fd: int = 1,
    *,
    on_non_message: Callable[[Session, Incoming], bool] | None = None,
    at_end: Callable[[Session], Awaitable[None]] | None = None,
) -> None:
    """Serve one client until it closes its end of the pipe, or a fault closes this one.

    `on_non_message` gets batches and invalid lines and returns whether it handled them. `at_end` is awaited
    after the client has closed its end, while replies can still be written."""
    out = await open_stdout(stdout_fd)
    session = Session("stdio", "stdio", "legacy", out.line)
    reader = StdioReader(service, session, out, on_non_message)
    out.on_lost = reader.ended.cancel

    def on_full(is_full: bool) -> None:
        reader.pause("client", is_full)
        session.on_full(is_full)

    out.on_full = on_full
    session.pause_client = lambda on: reader.pause("service", on)
    service.opened(session)
    try:
        if can_poll(stdin_fd):
            pipe = os.fdopen(claim_descriptor(stdin_fd, os.open(os.devnull, os.O_RDONLY)), "rb", 0)
            reader.pipe = PipeReader(pipe, reader.feed, reader.end)
            try:
                await reader.ended
            finally:
                reader.pipe.close()
        else:
            await _read_file(reader, stdin_fd)
        if at_end is not None:
            await _drain(at_end(session), out)
    except asyncio.CancelledError:
        if not out.closed:
            raise
    finally:
        service.closed(session)
        await out.finish()


async def _drain(ending: Awaitable[None], out: StdoutWriter) -> None:
    """Wait for the service's last replies, unless the client stops reading."""
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    out.on_lost = lambda: None if lost.done() else lost.set_result(None)
    draining = asyncio.ensure_future(ending)
    try:
        # Some calls are never answered, and a client that is gone must not keep this process alive.
        await asyncio.wait([draining, lost], timeout=MOST_DRAIN_S, return_when="FIRST_COMPLETED")
    finally:
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)


async def _read_file(reader: StdioReader, fd: int) -> None:
    """Read a regular file, which cannot be polled, in a thread."""
    loop = asyncio.get_running_loop()
    while data := await loop.run_in_executor(None, os.read, fd, _READ_BYTES):
        reader.feed(data)
    reader.end()


class StdioReader:
    """Reads the client's lines and dispatches them to the service."""

    def __init__(
        self,
        service: Service,
        session: Session,
        out: StdoutWriter,
        on_non_message: Callable[[Session, Incoming], bool] | None = None,
    ) -> None:
        self._service = service
        self._session = session
        self._out = out
        self._on_non_message = on_non_message
        self._paused_by: set[str] = set()
        self._lines = LineReader()
        self._knows_era = False
        self.pipe: PipeReader | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def feed(self, data: bytes) -> None:
        self._take_all(self._lines.feed(data))

    def end(self) -> None:
        """Handle the end of the client's input; its last line may lack a newline."""
        self._take_all(self._lines.end())
        if not self.ended.done():
            self.ended.set_result(None)

    def pause(self, party: str, on: bool) -> None:
        """Stop reading from the client while at least one party asks for it."""
        self._paused_by.add(party) if on else self._paused_by.discard(party)
        if self.pipe is not None:
            self.pipe.pause(bool(self._paused_by))

    def _take_all(self, lines: list[bytes | OversizedLine]) -> None:
        self._out.begin_batch()
        try:
            for line in lines:
                self._take(line)
        finally:
            self._out.flush()

    def _take(self, line: bytes | OversizedLine) -> None:
        if isinstance(line, OversizedLine):
            why = f"Invalid request: a line of {line}"
            self._refuse(_id_of_request(line), INVALID_REQUEST, why)
            return
        incoming = read(line)
        try:
            if incoming.kind in ("batch", "invalid") and self._is_handled(incoming):
                return
            if incoming.kind == "batch":
                self._take_batch(incoming)
            else:
                self._dispatch(incoming, None)
        except Exception as error:
            # A defect that one line shows must not lose the lines behind it, and its sender must not wait.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a line from the client could not be handled", "exception": error}
            )
            if incoming.kind in ("request", "batch"):
                self._refuse(incoming.id, INTERNAL_ERROR, f"Internal error: {type(error).__name__}")

    def _is_handled(self, incoming: Incoming) -> bool:
        """Return whether `on_non_message` has handled a batch or invalid line."""
        return self._on_non_message is not None and self._on_non_message(self._session, incoming)

    def _take_batch(self, incoming: Incoming) -> None:
        version = self._version_without_batches(incoming)
        if version is not None:
            why = f"expected one message, got a batch, which version {version} does not have"
            self._refuse(None, INVALID_REQUEST, f"Invalid request: {why}")
            return
        batch = Batch(self._session, lambda array: None if array is None else self._out.line(array))
        batch.take(incoming.items, lambda item: self._dispatch(item, batch))

    def _version_without_batches(self, batch: Incoming) -> str | None:
        """Return the version in use if it has no batches; None if it has, or if it is not negotiated yet."""
        modern = self._session.era == "modern" or any(era_of(item) == "modern" for item in batch.items)
        version = NEWEST if modern else self._session.version
        return None if version in BATCH_VERSIONS else version

    def _dispatch(self, incoming: Incoming, batch: Batch | None) -> None:
        session = self._session
        if incoming.kind == "request":
            if not self._knows_era:
                self._knows_era = True
                session.era = era_of(incoming)
            elif incoming.method == "initialize":
                # The client tried the modern era first and fell back to the legacy one (MCP 2026-07-28,
                # stdio, Backward Compatibility).
                session.era = "legacy"
            if session.frozen:
                session.on_unanswered(incoming)
                return
            self._service.request(
                StdioExchange(session, incoming, self._out)
                if batch is None
                else BatchExchange(session, incoming, self._out, batch)
            )
        elif incoming.kind == "notification":
            if (cancelled := cancelled_id(incoming)) is not None:
                session.cancel(cancelled)
            self._service.notification(session, incoming)
        elif incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.problem is not None:
            self._refuse(incoming.id, *incoming.problem)

    def _refuse(self, id: Id | None, code: int, message: str) -> None:
        if not self._session.frozen:
            self._out.line(error_of(id, code, message))


def _id_of_request(line: OversizedLine) -> Id | None:
    """Return the id of an oversized request; None if it need not be a request."""
    known = visible_members(line.head, line.tail)
    return known.get("id") if "method" in known else None


class StdioExchange(Exchange):
    """One request over stdio."""

    transport: ClassVar[Transport] = "stdio"
    __slots__ = ("_out",)

    def __init__(self, session: Session, request: Incoming, out: StdoutWriter) -> None:
        super().__init__(session, request)
        self._out = out

    def write_note(self, raw: bytes) -> None:
        self._out.line(raw)

    def write_reply(self, raw: bytes) -> None:
        self._out.line(raw)
        if self.request.method == "initialize":
            self.session.version = version_in(raw) or self.session.version

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        match frame:
            case Send():
                self._out.line(bytes_of(frame.message))
                await self._out.drained()
            case Cut():
                raw = bytes_of(frame.message)
                self._out.line(raw[: int(len(raw) * frame.share)])
            case Drip():
                await self._out.drip(bytes_of(frame.message) + b"\n", frame.chunk_bytes, frame.every_s)
            case Disconnect():
                self._out.close()
            case _:
                raise AssertionError(f"{type(frame).__name__} was let through for stdio")


class BatchExchange(StdioExchange):
    """One request of a batch over stdio."""

    __slots__ = ("_batch",)

    def __init__(self, session: Session, request: Incoming, out: StdoutWriter, batch: Batch) -> None:
        super().__init__(session, request, out)
        self._batch = batch
        batch.expect(self)

    def write_reply(self, raw: bytes) -> None:
        self._batch.add(raw)
        self._batch.done(self)

    def write_nothing(self) -> None:
        self._batch.done(self)

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        if not await self._batch.send(frame):
            await super().send(frame, streamed=streamed)
