"""The reading end of a pipe, in the event loop: no more between it and whoever listens than has to be.

asyncio's own transport asks for 256 KiB at a time, four times what a pipe holds. So big a piece of memory may
come from the kernel and go back to it with each read, which takes longer than what we do with a message.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable

_READ_BYTES = 1 << 16


class PipeReader:
    """`on_data` gets what comes, as it comes. `on_end` is called once, unless we close it ourselves."""

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
        """What comes stays in the pipe, until whoever fills it has to wait as well."""
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
            # A terminal that is gone fails in this way, and there is nothing more to come.
            data = b""
        if data:
            self._on_data(data)
        else:
            self.close()
            self._on_end()
