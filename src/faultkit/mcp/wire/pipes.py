"""Stdin and stdout of the stdio transport: a reader of a pipe, and a writer that can drip.

The reader replaces asyncio's pipe transport, which asks for 256 KiB per read, four times what a pipe holds.
The allocator may get that much memory from the kernel and return it with every read, which takes longer than
handling a message.
"""

from __future__ import annotations

import asyncio
import io
import os
import selectors
import stat
from collections.abc import Callable

_READ_BYTES = 1 << 16


class PipeReader:
    """The reading end of a pipe. `on_data` gets each read; `on_end` is called once unless `close` comes
    first."""

    def __init__(self, pipe: io.FileIO, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._fd = pipe.fileno()
        self._on_data = on_data
        self._on_end = on_end
        self._paused = False
        os.set_blocking(self._fd, False)
        self._loop.add_reader(self._fd, self._read)

    def pause(self, paused: bool) -> None:
        """Stop or resume reading. A full pipe makes the writer wait."""
        if paused != self._paused and not self._pipe.closed:
            self._paused = paused
            if paused:
                self._loop.remove_reader(self._fd)
            else:
                self._loop.add_reader(self._fd, self._read)

    @property
    def is_paused(self) -> bool:
        return self._paused

    def close(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._fd)
            self._pipe.close()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # A terminal that was closed fails this way; nothing more will come.
            data = b""
        if data:
            self._on_data(data)
        else:
            self.close()
            self._on_end()


class StdoutWriter:
    """Standard output, line by line. While one line drips, later lines wait behind it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._buffered: list[bytes] | None = None
        """Lines between `begin_batch` and `flush`; None outside."""
        self._delayed: list[bytes] = []
        """Lines that wait for the end of a drip."""
        self._is_dripping = False
        self._drip_done: asyncio.Future[None] | None = None
        self.closed = False
        self.on_lost: Callable[[], object] = lambda: None
        self.on_full: Callable[[bool], None] = lambda full: None
        """Called with True when the pipe is full, with False when it has drained."""
        self.transport: asyncio.WriteTransport | None = None
        self._writable: asyncio.Future[None] | None = None
        """Pending while the pipe is full."""

    def pause(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()
        self.on_full(True)

    def resume(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self.on_full(False)

    async def drained(self) -> None:
        """Wait until the client has read enough for more to be sent, or has closed the pipe."""
        if self._writable is not None and not self.closed:
            await asyncio.shield(self._writable)

    def line(self, raw: bytes) -> None:
        """Write a line, after those that drip."""
        if self.closed:
            return
        if self._is_dripping:
            self._delayed.append(raw)
        elif self._buffered is not None:
            self._buffered.append(raw)
        else:
            self._write(raw + b"\n")

    def begin_batch(self) -> None:
        """Collect lines until `flush`, to write them together."""
        self._buffered = []

    def flush(self) -> None:
        """Write the collected lines."""
        lines, self._buffered = self._buffered, None
        if lines:
            lines.append(b"")
            self._write(b"\n".join(lines))

    async def drip(self, raw: bytes, chunk_bytes: int, every_s: float) -> None:
        """Write bytes in chunks with pauses between them."""
        while self._is_dripping:
            assert self._drip_done is not None
            await asyncio.shield(self._drip_done)
        self.flush()
        self._is_dripping = True
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
            # An unfinished line would swallow the next one, so an abandoned drip ends its line.
            if sent < len(raw) and not self.closed:
                self._write(b"\n")
            self._is_dripping = False
            self._drip_done.set_result(None)
            delayed, self._delayed = self._delayed, []
            for each in delayed:
                self.line(each)

    def close(self) -> None:
        """Close the writing end of the pipe."""
        if not self.closed:
            self.flush()
            self.closed = True
            if self.transport is not None:
                self.transport.close()
            self.on_lost()

    async def finish(self) -> None:
        """Flush and close; wait while the client still reads."""
        self.flush()
        self.closed = True
        if self.transport is not None:
            self.transport.close()
            # The pipe may be full and its reader stuck: give up after one second without progress. A
            # reader that is merely slow gets everything.
            left, idle = self.transport.get_write_buffer_size(), 0
            while left and idle < 50:
                await asyncio.sleep(0.02)
                before, left = left, self.transport.get_write_buffer_size()
                idle = 0 if left < before else idle + 1
            if left:
                self.transport.abort()


class _StdoutProtocol(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.out: StdoutWriter | None = None

    def pause_writing(self) -> None:
        if self.out is not None:
            self.out.pause()

    def resume_writing(self) -> None:
        if self.out is not None:
            self.out.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.out is None:
            return
        is_lost = not self.out.closed
        self.out.closed = True
        self.out.resume()
        if is_lost:
            self.out.on_lost()


async def open_stdout(fd: int) -> StdoutWriter:
    """Return a writer for this descriptor; blocking if it cannot be polled, as for a file."""
    if not can_poll(fd):
        return StdoutWriter(lambda data: _write_all(fd, data))
    protocol = _StdoutProtocol()
    pipe = os.fdopen(claim_descriptor(fd, os.open(os.devnull, os.O_WRONLY)), "wb", 0)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: protocol, pipe)
    out = StdoutWriter(transport.write)
    out.transport = transport
    protocol.out = out
    return out


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def claim_descriptor(fd: int, instead: int) -> int:
    """Return a private duplicate of a descriptor and put `instead` in its place.

    Other code that prints or reads there then does not touch the wire, and closing the duplicate closes the
    pipe for the client."""
    own = os.dup(fd)
    os.dup2(instead, fd)
    os.close(instead)
    return own


def can_poll(fd: int) -> bool:
    """Return whether the event loop can wait for this descriptor."""
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)):
        return False
    # A terminal can be polled; /dev/null, a character device too, cannot.
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ)
        except OSError:
            return False
    return True
