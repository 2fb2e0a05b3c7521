"""The opening of the sessions of an MCP load: all must be open before the load begins."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.base.errors import TargetError
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.load import McpTarget
from faultkit.proxy.event_loop import Loop

_CHECK_S = 0.1


class SessionOpening:
    """Counts the sessions that were opened. It stops the loop when all are open, and when one cannot be."""

    def __init__(self, target: McpTarget, loop: Loop, sessions: int, figures: FigureRecorder) -> None:
        self._target = target
        self._loop = loop
        self._missing = sessions
        self._figures = figures
        self._refused: str | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether the run waits for its first sessions."""
        return self._missing > 0

    def opened(self, *, again: bool) -> None:
        """Count a session that was opened."""
        self._figures.figures.sessions += 1
        if again:
            self._figures.figures.restarts += 1
            return
        self._missing -= 1
        if not self.is_under_way:
            self._loop.stop()

    def refuse(self, why: str) -> None:
        """End the opening: a session cannot be opened."""
        self._refused = self._refused or why
        self._loop.stop()

    def wait(self, run: Callable[[], None], stopped: Callable[[], bool]) -> bool:
        """Run the loop until all sessions are open; return False soon after `stopped` returns True. Raises
        TargetError if a session cannot be opened."""
        # A session may have been refused at once. The loop would not know: it forgets a stop when it runs.
        if self._refused is None and self.is_under_way:
            self._loop.call_at(self._loop.clock(), lambda at: self._check(stopped), None)
            run()
        if self._refused is not None:
            raise TargetError(f"{self._target}: {self._refused}")
        return not self.is_under_way

    def _check(self, stopped: Callable[[], bool]) -> None:
        if not self.is_under_way:
            return
        if stopped():
            self._loop.stop()
        else:
            self._loop.call_at(self._loop.clock() + _CHECK_S, lambda at: self._check(stopped), None)
