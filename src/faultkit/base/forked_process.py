"""A fork of this process: it runs one function and ends. What is imported here need not be imported there.

It has the methods of `subprocess.Popen` that a parent needs, and does not know what the function does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

_LOOKED_AFTER_S = 0.002
_HIGHEST = 1 << 20
"""More descriptors than a process has."""


def can_fork() -> bool:
    """Return whether a fork of this process works on: only one without other threads, whose locks would stay
    locked in it, and on Linux, since libraries of macOS fail in a fork."""
    return sys.platform == "linux" and threading.active_count() == 1


class ForkedProcess:
    """A child that was forked. Any thread may use it."""

    def __init__(self, run: Callable[[], int], kept: int) -> None:
        """`run` returns the exit code. Of the descriptors, the child keeps standard error and `kept`."""
        self.returncode: int | None = None
        self._waiting = threading.Lock()
        # What is not written yet would be written by both.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if not self.pid:
            _run(run, kept)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        with self._waiting:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code. Raises `subprocess.TimeoutExpired`."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
            time.sleep(_LOOKED_AFTER_S)
        return code

    def kill(self) -> None:
        """End it by SIGKILL, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _run(run: Callable[[], int], kept: int) -> NoReturn:
    """Run the function in the child, and end it without what Python does at its end: that belongs to the
    parent, and to free all that there is takes a second."""
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.closerange(3, kept)
        os.closerange(kept + 1, _HIGHEST)
        code = run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
