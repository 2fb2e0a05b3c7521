"""The stdio transport, on the server's side: lines from stdin to a service, and what it says to stdout.

Whatever the lines of one read ask for is written at once when they have all been looked at.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar

from faultkit.faults.call.call import Cut, Disconnect, Drip, Frame, Send, Transport
from faultkit.mcp.wire.era import era_of
from faultkit.mcp.wire.exchange import Exchange, Service, Session
from faultkit.mcp.wire.lines import LineReader, TooLong
from faultkit.mcp.wire.message import INVALID_REQUEST, Incoming, cancelled_id, encode, error_of, read

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
    loop = asyncio.get_running_loop()
    out = await _output(stdout_fd)
    session = Session("stdio", "stdio", "legacy", out.line)
    reader = StdioReader(service, session, out, foreign)
    out.on_lost = reader.ended.cancel
    out.on_full = lambda full: _full(reader, session, full)
    session.hold = lambda on: reader.hold("service", on)
    service.opened(session)
    try:
        if _can_poll(stdin_fd):
            pipe = os.fdopen(_taken(stdin_fd, os.open(os.devnull, os.O_RDONLY)), "rb", 0)
            transport, _ = await loop.connect_read_pipe(lambda: reader, pipe)
            reader.transport = transport
            try:
                await reader.ended
            finally:
                transport.close()
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
        reader.data_received(data)


def _taken(fd: int, instead: int) -> int:
    """The pipe under a number of its own. Whoever else prints or reads at the old one does not meet the wire,
    and when we close ours, the client sees the end."""
    own = os.dup(fd)
    os.dup2(instead, fd)
    os.close(instead)
    return own


def _can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)):
        return False
    # A terminal can be waited for; /dev/null, which is a device as well, cannot.
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ)
        except OSError:
            return False
    return True


class StdioReader(asyncio.Protocol):
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
        self.transport: asyncio.ReadTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._out.hold()
        try:
            for line in self._lines.feed(data):
                self._take(line)
        finally:
            self._out.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def hold(self, who: str, on: bool) -> None:
        """Takes no more of the client while anybody wants it so."""
        held = bool(self._held_by)
        self._held_by.add(who) if on else self._held_by.discard(who)
        if self.transport is not None and held != bool(self._held_by) and not self.transport.is_closing():
            self.transport.pause_reading() if on else self.transport.resume_reading()

    def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._refuse(None, INVALID_REQUEST, f"Invalid request: a line of {line.size} bytes is too long")
            return
        incoming = read(line)
        if (
            self._foreign is not None
            and incoming.kind in ("batch", "invalid")
            and self._foreign(self._session, incoming)
        ):
            return
        if incoming.kind == "batch":
            # Each is answered by itself, which a client of that version must be able to take as well.
            for item in incoming.items:
                self._dispatch(item)
        else:
            self._dispatch(incoming)

    def _dispatch(self, incoming: Incoming) -> None:
        session = self._session
        if incoming.kind == "request":
            if not self._knows_era:
                self._knows_era = True
                session.era = era_of(incoming)
            elif incoming.method == "initialize":
                # Its client has tried the modern way first, and has been told that there is none.
                session.era = "legacy"
            if not session.frozen:
                self._service.request(StdioExchange(session, incoming, self._out))
        elif incoming.kind == "notification":
            if (called_off := cancelled_id(incoming)) is not None:
                session.cancel(called_off)
            self._service.notification(session, incoming)
        elif incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.problem is not None and not session.frozen:
            self._refuse(incoming.id, *incoming.problem)

    def _refuse(self, id: str | int | None, code: int, message: str) -> None:
        self._out.line(error_of(id, code, message))


class StdioExchange(Exchange):
    transport: ClassVar[Transport] = "stdio"
    __slots__ = ("_out",)

    def __init__(self, session: Session, request: Incoming, out: Output) -> None:
        super().__init__(session, request)
        self._out = out

    def write_note(self, raw: bytes) -> None:
        self._out.line(raw)

    def write_reply(self, raw: bytes) -> None:
        self._out.line(raw)

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


def bytes_of(message: dict[str, object] | bytes) -> bytes:
    return message if isinstance(message, bytes) else encode(message)


class Output:
    """Stdout. While a frame drips, all others wait behind it, as in any pipe."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._held: list[bytes] | None = None
        self._behind: list[bytes] = []
        self._dripping = 0
        self._drip_done: asyncio.Future[None] | None = None
        self.closed = False
        self.on_lost: Callable[[], object] = lambda: None
        self.on_full: Callable[[bool], None] = lambda full: None
        """Whoever makes us write has to wait while nobody reads it."""
        self.transport: asyncio.WriteTransport | None = None
        self._writable: asyncio.Future[None] | None = None
        """While the pipe is full."""

    def pause(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()
        self.on_full(True)

    def resume(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self.on_full(False)

    async def drained(self) -> None:
        """Returns when the client has read enough for more to be sent, or will never read again."""
        if self._writable is not None and not self.closed:
            await asyncio.shield(self._writable)

    def line(self, raw: bytes) -> None:
        if self.closed:
            return
        if self._dripping:
            self._behind.append(raw)
        elif self._held is not None:
            self._held.append(raw)
        else:
            self._write(raw + b"\n")

    def hold(self) -> None:
        self._held = []

    def flush(self) -> None:
        held, self._held = self._held, None
        if held:
            held.append(b"")
            self._write(b"\n".join(held))

    async def drip(self, raw: bytes, chunk_bytes: int, every_s: float) -> None:
        while self._dripping:
            assert self._drip_done is not None
            await asyncio.shield(self._drip_done)
        self.flush()
        self._dripping = 1
        self._drip_done = asyncio.get_running_loop().create_future()
        sent = 0
        try:
            while sent < len(raw) and not self.closed:
                self._write(raw[sent : sent + chunk_bytes])
                sent += chunk_bytes
                await self.drained()
                if sent < len(raw):
                    await asyncio.sleep(every_s)
        finally:
            # Half a line would swallow the one behind it: a drip that is given up ends its line.
            if sent < len(raw) and not self.closed:
                self._write(b"\n")
            self._dripping = 0
            self._drip_done.set_result(None)
            behind, self._behind = self._behind, []
            for each in behind:
                self.line(each)

    def close(self) -> None:
        """Our end of the pipe is shut."""
        if not self.closed:
            self.flush()
            self.closed = True
            if self.transport is not None:
                self.transport.close()
            self.on_lost()

    async def finish(self) -> None:
        """What was said is out, as far as somebody reads it."""
        self.flush()
        self.closed = True
        if self.transport is not None:
            self.transport.close()
            # The pipe may be full and its reader gone to sleep: our end must not hang on that. One that is
            # merely slow gets it all.
            left, idle = self.transport.get_write_buffer_size(), 0
            while left and idle < 50:
                await asyncio.sleep(0.02)
                before, left = left, self.transport.get_write_buffer_size()
                idle = 0 if left < before else idle + 1
            if left:
                self.transport.abort()


class _WriteFlow(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.out: Output | None = None

    def pause_writing(self) -> None:
        if self.out is not None:
            self.out.pause()

    def resume_writing(self) -> None:
        if self.out is not None:
            self.out.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.out is None:
            return
        lost = not self.out.closed
        self.out.closed = True
        self.out.resume()
        if lost:
            self.out.on_lost()


async def _output(fd: int) -> Output:
    if not _can_poll(fd):
        return Output(lambda data: _write_all(fd, data))
    flow = _WriteFlow()
    pipe = os.fdopen(_taken(fd, os.open(os.devnull, os.O_WRONLY)), "wb", 0)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: flow, pipe)
    out = Output(transport.write)
    out.transport = transport
    flow.out = out
    return out


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
