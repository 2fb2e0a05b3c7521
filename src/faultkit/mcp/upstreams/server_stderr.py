"""The standard error of a server process, read through a pipe: its last line, or all lines to be shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from faultkit.base.text import escaped_line
from faultkit.mcp.wire.pipes import PipeReader

_PIPE_BYTES = 1 << 16
_MOST_LAST_READS = 16
"""Reads of what is left in the pipe at the end; a process that was detached may write for ever."""
_MOST_LINE_BYTES = 1 << 16
"""A longer line is shown in pieces."""


class StderrPipe:
    """A pipe to give to a process as its standard error."""

    def __init__(self, on_data: Callable[[bytes], None]) -> None:
        fd, writing = os.pipe()
        self.writing = writing
        """The descriptor for the process."""
        self._pipe = os.fdopen(fd, "rb", 0)
        self._on_data = on_data
        self._reader = PipeReader(self._pipe, on_data, lambda: None)

    def read_rest(self) -> None:
        """Read what the process has written so far."""
        with suppress(BlockingIOError):
            for _ in range(_MOST_LAST_READS):
                self._on_data(os.read(self._pipe.fileno(), _PIPE_BYTES))

    def close(self) -> None:
        """Close both ends."""
        self._reader.close()
        os.close(self.writing)


class ShownLines:
    """Lines of another program for a terminal, which they must not control."""

    def __init__(self, show: Callable[[str], None]) -> None:
        """`show` gets each line without its end, with control characters as escape sequences."""
        self._show = show
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Show the lines that end in these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._show_line(line)
        if len(self._rest) > _MOST_LINE_BYTES:
            self.end()

    def end(self) -> None:
        """Show a last line without an end."""
        line, self._rest = self._rest, b""
        if line:
            self._show_line(line)

    def _show_line(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").removesuffix("\r")
        self._show(escaped_line(text.expandtabs()))
