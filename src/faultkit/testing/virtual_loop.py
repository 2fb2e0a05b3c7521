"""An asyncio loop with a virtual clock: hours of timers pass at once, and in the same order each time.

When nothing is ready the loop jumps to its next timer. Real sockets work too: `grace` is how many real
seconds the loop waits for them before it jumps.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE_S = 5.0
"""Real seconds to wait if there is no timer to jump to: then only I/O or a thread can wake the loop."""


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the virtual clock where it would wait for a timer."""

    def __init__(self, grace: float) -> None:
        super().__init__()
        self.grace = grace
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = super().select(_PATIENCE_S)
            if not ready:
                raise RuntimeError(
                    f"virtual loop: no timer is set and nothing happened within {_PATIENCE_S:g} s"
                )
            return ready
        if timeout <= 0:
            return super().select(0)
        ready = super().select(self.grace)
        if not ready:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A selector loop that begins at 0 and jumps from timer to timer."""

    def __init__(self, grace: float = 0.0) -> None:
        self._jumping = _JumpingSelector(grace)
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtual(main: Coroutine[Any, Any, T], *, grace: float = 0.0) -> T:
    """Run a coroutine like `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(grace)) as runner:
        return runner.run(main)
