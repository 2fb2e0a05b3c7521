"""Standard output, line by line: a pipe that can be dripped into, may be full, and may be closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from faultkit.mcp.wire.descriptors import can_poll, taken


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


async def output_to(fd: int) -> Output:
    if not can_poll(fd):
        return Output(lambda data: _write_all(fd, data))
    flow = _WriteFlow()
    pipe = os.fdopen(taken(fd, os.open(os.devnull, os.O_WRONLY)), "wb", 0)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: flow, pipe)
    out = Output(transport.write)
    out.transport = transport
    flow.out = out
    return out


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
