"""The stdio transport, on the server's side: lines from stdin to a service, and what it says to stdout.

Whatever the lines of one read ask for is written at once when they have all been looked at.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial

from faultkit.mcp.wire.batch import Batch
from faultkit.mcp.wire.descriptors import can_poll, taken
from faultkit.mcp.wire.era import BATCH_VERSIONS, NEWEST, era_of
from faultkit.mcp.wire.exchange import Service, Session
from faultkit.mcp.wire.lines import LineReader, TooLong
from faultkit.mcp.wire.members import plain_members
from faultkit.mcp.wire.message import INVALID_REQUEST, Id, Incoming, cancelled_id, error_of, read
from faultkit.mcp.wire.output import Output, output_to
from faultkit.mcp.wire.pipe import PipeReader
from faultkit.mcp.wire.stdio_exchange import BatchExchange, StdioExchange

_READ_BYTES = 1 << 18
LAST_WORDS_S = 10.0
"""So long may replies take that are still owed when the client has hung up."""


async def serve_stdio(
    service: Service,
    stdin_fd: int = 0,
    stdout_fd: int = 1,
    *,
    foreign: Callable[[Session, Incoming], bool] | None = None,
    at_end: Callable[[Session], Awaitable[None]] | None = None,
) -> None:
    """Serves one client until its end of the pipe is closed, or a fault closes ours.

    `foreign` is shown what is no single message, and says whether that is dealt with. `at_end` is waited for
    when the client has said its last word, while it can still be answered."""
    out = await output_to(stdout_fd)
    session = Session("stdio", "stdio", "legacy", out.line)
    reader = StdioReader(service, session, out, foreign)
    out.on_lost = reader.ended.cancel
    out.on_full = lambda full: _full(reader, session, full)
    session.hold = lambda on: reader.hold("service", on)
    service.opened(session)
    try:
        if can_poll(stdin_fd):
            pipe = os.fdopen(taken(stdin_fd, os.open(os.devnull, os.O_RDONLY)), "rb", 0)
            reader.pipe = PipeReader(pipe, reader.feed, reader.end)
            try:
                await reader.ended
            finally:
                reader.pipe.close()
        else:
            await _read_file(reader, stdin_fd)
        if at_end is not None:
            await _last_words(at_end(session), out)
    except asyncio.CancelledError:
        if not out.closed:
            raise
    finally:
        service.closed(session)
        await out.finish()


def _full(reader: StdioReader, session: Session, full: bool) -> None:
    reader.hold("client", full)
    session.on_full(full)


async def _last_words(ending: Awaitable[None], out: Output) -> None:
    """The service says what it still has to say, unless the client goes for good meanwhile."""
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    out.on_lost = partial(_settle, lost)
    saying = asyncio.ensure_future(ending)
    try:
        # Some calls are never answered: whoever hung up must not leave us behind for ever.
        await asyncio.wait([saying, lost], timeout=LAST_WORDS_S, return_when="FIRST_COMPLETED")
    finally:
        saying.cancel()
        await asyncio.gather(saying, return_exceptions=True)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _read_file(reader: StdioReader, fd: int) -> None:
    """A regular file cannot be polled; it is always ready."""
    loop = asyncio.get_running_loop()
    while data := await loop.run_in_executor(None, os.read, fd, _READ_BYTES):
        reader.feed(data)
    reader.end()


class StdioReader:
    """What the client says, line by line."""

    def __init__(
        self,
        service: Service,
        session: Session,
        out: Output,
        foreign: Callable[[Session, Incoming], bool] | None = None,
    ) -> None:
        self._service = service
        self._session = session
        self._out = out
        self._foreign = foreign
        self._held_by: set[str] = set()
        self._lines = LineReader()
        self._knows_era = False
        self.pipe: PipeReader | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def feed(self, data: bytes) -> None:
        self._take_all(self._lines.feed(data))

    def end(self) -> None:
        """The client has said its last word, with or without the end of its line."""
        self._take_all(self._lines.end())
        if not self.ended.done():
            self.ended.set_result(None)

    def hold(self, who: str, on: bool) -> None:
        """Takes no more of the client while anybody wants it so."""
        self._held_by.add(who) if on else self._held_by.discard(who)
        if self.pipe is not None:
            self.pipe.pause(bool(self._held_by))

    def _take_all(self, lines: list[bytes | TooLong]) -> None:
        self._out.hold()
        try:
            for line in lines:
                self._take(line)
        finally:
            self._out.flush()

    def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            why = f"Invalid request: a line of {line}"
            self._refuse(_id_of_request(line), INVALID_REQUEST, why)
            return
        incoming = read(line)
        if incoming.kind in ("batch", "invalid") and self._is_foreign(incoming):
            return
        if incoming.kind == "batch":
            self._take_batch(incoming)
        else:
            self._dispatch(incoming, None)

    def _is_foreign(self, incoming: Incoming) -> bool:
        return self._foreign is not None and self._foreign(self._session, incoming)

    def _take_batch(self, incoming: Incoming) -> None:
        version = self._version_without_batches(incoming)
        if version is not None:
            why = f"expected one message, got a batch, which version {version} does not have"
            self._refuse(None, INVALID_REQUEST, f"Invalid request: {why}")
            return
        batch = Batch(self._session, lambda array: None if array is None else self._out.line(array))
        batch.take(incoming.items, lambda item: self._dispatch(item, batch))

    def _version_without_batches(self, batch: Incoming) -> str | None:
        """The one that is spoken; None if it has them, or if nobody has said yet which one it is."""
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
                # Its client has tried the modern way first, and has been told that there is none.
                session.era = "legacy"
            if session.frozen:
                return
            self._service.request(
                StdioExchange(session, incoming, self._out)
                if batch is None
                else BatchExchange(session, incoming, self._out, batch)
            )
        elif incoming.kind == "notification":
            if (called_off := cancelled_id(incoming)) is not None:
                session.cancel(called_off)
            self._service.notification(session, incoming)
        elif incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.problem is not None:
            self._refuse(incoming.id, *incoming.problem)

    def _refuse(self, id: Id | None, code: int, message: str) -> None:
        if not self._session.frozen:
            self._out.line(error_of(id, code, message))


def _id_of_request(line: TooLong) -> Id | None:
    """None if it may as well be no request."""
    known = plain_members(line.head, line.tail)
    return known.get("id") if "method" in known else None
