"""Signals during an experiment: the first rolls back and ends it. More of them hurry nothing: rollbacks have
limits of their own, and what is left to a guardian by kill -9 takes longer."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """A context manager; the handlers that were there before come back at its end."""

    def __init__(self) -> None:
        self.flag = threading.Event()
        self.number: int | None = None
        """The first signal that came."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        for number in _WATCHED:
            # Under nohup, SIGHUP is ignored on purpose.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def exit_code(self) -> int | None:
        """As a shell has it: 130 for SIGINT, 143 for SIGTERM."""
        return None if self.number is None else 128 + self.number

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        again = self.number is not None
        if not again:
            self.number = number
        self.flag.set()
        print("rolling back: please wait" if again else "stopping: rolling back", file=sys.stderr, flush=True)
