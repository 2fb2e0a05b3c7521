"""Keys that are pressed while a live view is on the terminal, read without waiting.

The terminal delivers each key at once while this is open; Ctrl-C stays a signal. A process in the background
reads nothing: the kernel would stop it.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from typing import Any


class Keys:
    """The keyboard of the terminal on stdin. Without one, no key is ever pressed."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        """The settings of the terminal, while it is open."""

    def open(self) -> None:
        """Let keys arrive at once, and not be shown."""
        with contextlib.suppress(OSError, ValueError, termios.error):
            fd = sys.stdin.fileno()
            if _is_in_foreground(fd):
                self._before = termios.tcgetattr(fd)  # First, as a signal may end the process at once.
                tty.setcbreak(fd, termios.TCSANOW)

    def pressed(self) -> str:
        """Return the keys since the last call."""
        if self._before is None:
            return ""
        with contextlib.suppress(OSError, ValueError):
            fd = sys.stdin.fileno()
            if _is_in_foreground(fd) and select.select([fd], [], [], 0)[0]:
                return os.read(fd, 1024).decode("latin-1")
        return ""

    def close(self) -> None:
        """Restore the terminal."""
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(OSError, ValueError, termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)


def _is_in_foreground(fd: int) -> bool:
    return os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp()
