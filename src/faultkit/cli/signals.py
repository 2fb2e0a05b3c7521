"""Waiting until somebody says stop: SIGINT, SIGTERM or SIGHUP, without a thread and without a busy wait.

The first signal ends the wait in good order. A second one is for a run that hangs: it interrupts.
"""

from __future__ import annotations

import select
import signal
import socket
import threading
from types import FrameType
from typing import Any

REASONS: dict[int, str] = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminate", signal.SIGHUP: "hangup"}


class StopSignal:
    """A context manager; the handlers that were there before come back at its end."""

    def __init__(self, flag: threading.Event | None = None) -> None:
        """`flag` is set by the first signal, for whoever watches that instead of waiting here."""
        self.reason: str | None = None
        self._flag = flag
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignal:
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._wakeup_before = signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        for number in REASONS:
            # Under nohup, SIGHUP is ignored on purpose.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._wake_out.close()
        self._wake_in.close()

    def wait(self, seconds: float) -> bool:
        """Whether to stop, known after at most so many seconds."""
        if self.reason is None:
            ready, _, _ = select.select([self._wake_out], [], [], max(0.0, seconds))
            if ready:
                self._wake_out.recv(64)
        return self.reason is not None

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self.reason is not None:
            raise KeyboardInterrupt
        self.reason = REASONS[number]
        if self._flag is not None:
            self._flag.set()
