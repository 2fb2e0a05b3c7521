"""The reading end of a pipe in the event loop."""

from __future__ import annotations

import asyncio
import os
import socket

from faultkit.mcp.wire.pipes import PipeReader
from tests.mcp.wire.test_stdio_front import run


class Heard:
    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.ends = 0
        self.changed = asyncio.Event()

    def data(self, data: bytes) -> None:
        self.chunks.append(data)
        self.changed.set()

    def end(self) -> None:
        self.ends += 1
        self.changed.set()

    async def until(self, size: int) -> None:
        while sum(map(len, self.chunks)) < size:
            self.changed.clear()
            await self.changed.wait()


def test_what_comes_is_given_in_pieces_that_cost_no_new_memory() -> None:
    """The allocator gets a piece of 128 KiB or more from the kernel, and returns it, each time."""

    async def main() -> None:
        near, far = socket.socketpair()
        heard = Heard()
        reader = PipeReader(os.fdopen(near.detach(), "rb", 0), heard.data, heard.end)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sent = far.send(bytes(150_000))
        await heard.until(sent)
        assert sent > 1 << 17
        assert max(map(len, heard.chunks)) <= 1 << 16
        reader.close()
        far.close()

    run(main)


def test_it_waits_while_it_is_paused_and_tells_of_the_end_once() -> None:
    async def main() -> None:
        read, write = os.pipe()
        heard = Heard()
        reader = PipeReader(os.fdopen(read, "rb", 0), heard.data, heard.end)
        reader.pause(True)
        os.write(write, b"one")
        os.close(write)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert heard.chunks == []
        reader.pause(False)
        while not heard.ends:
            heard.changed.clear()
            await heard.changed.wait()
        reader.pause(True)
        reader.close()
        assert (heard.chunks, heard.ends) == ([b"one"], 1)

    run(main)


def test_after_close_nothing_more_is_reported() -> None:
    async def main() -> None:
        read, write = os.pipe()
        heard = Heard()
        pipe = os.fdopen(read, "rb", 0)
        reader = PipeReader(pipe, heard.data, heard.end)
        os.write(write, b"one")
        reader.close()
        reader.close()
        reader.pause(False)
        await asyncio.sleep(0)
        os.close(write)
        assert (heard.chunks, heard.ends, pipe.closed) == ([], 0, True)

    run(main)
