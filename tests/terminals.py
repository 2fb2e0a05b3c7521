"""Programs on a terminal of their own, for tests of what they leave behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 60.0


class Terminal:
    """A program in the foreground of a pseudo-terminal."""

    def __init__(self, program: Sequence[str], cwd: Path | None) -> None:
        self._near, self.far = pty.openpty()
        self.shown = b""
        """All that the program has written."""
        self.process = subprocess.Popen(
            program,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
            stdin=self.far,
            stdout=self.far,
            stderr=self.far,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def read_until(self, text: bytes) -> None:
        """Read until the program has written this text."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert self.process.poll() is None, self.shown
            assert time.monotonic() < deadline, self.shown
            self.read()

    def read(self) -> None:
        """Read what there is, and wait a little if there is nothing."""
        if select.select([self._near], [], [], 0.05)[0]:
            self.shown += os.read(self._near, 65536)

    def press(self, keys: bytes) -> None:
        """Type these keys."""
        os.write(self._near, keys)

    def ended(self) -> int:
        """Wait for the program's end, and return its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            self.read()
        return self.process.returncode

    def hang_up(self) -> int:
        """Let the terminal go away, as with a lost SSH session, and return the program's exit code."""
        os.close(self.far)
        os.close(self._near)
        self._near = self.far = -1
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Kill the program if it still runs, and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self._near, self.far):
            if fd >= 0:
                os.close(fd)


@contextmanager
def on_terminal(program: Sequence[str], cwd: Path | None = None) -> Iterator[Terminal]:
    """Run a program on a terminal of its own, and end it."""
    terminal = Terminal(program, cwd)
    try:
        yield terminal
    finally:
        terminal.close()
