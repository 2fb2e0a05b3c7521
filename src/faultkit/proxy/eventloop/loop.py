"""The event loop: descriptors, timers, and calls from other threads. It knows no asyncio.

Timers never fire early. Code that moves many bytes yields with `call_soon`, so that a bulk transfer cannot
delay the bytes of another connection.

Every piece of work names what to do if it raises (`on_failure`), because a defect in one connection must end
that connection and no other: a stream with a hole in it would look like an answer.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from faultkit.proxy.eventloop.poller import Poller, new_poller, sharpen_timers

OnFailure: TypeAlias = Callable[[], None] | None
"""Called after the work it was given with has raised; None where nothing has to be cleaned up."""

_SOON_S = 0.01
"""Timers further off are not looked at after a wait; if one has come due, the next round sees it."""

_log = logging.getLogger(__name__)


class Loop:
    """One thread's event loop. Only `call_from_thread` may be called from other threads."""

    __slots__ = (
        "_calls",
        "_running",
        "_soon",
        "_timer_count",
        "_timers",
        "_wake_in",
        "_wake_out",
        "clock",
        "handlers",
        "on_defect",
        "poller",
    )

    def __init__(self, poller: Poller | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.poller = poller or new_poller()
        self.clock = clock
        self.handlers: dict[int, tuple[Callable[[int], None], OnFailure]] = {}
        """By descriptor: the function that is called with the poller's flags, and what to do if it raises."""
        self.on_defect: Callable[[Exception], None] | None = None
        """Receives every exception instead of the log and `on_failure`, for an owner that stops on any
        defect."""
        self._timers: list[tuple[float, int, Callable[[float], None], OnFailure]] = []
        self._timer_count = 0
        self._soon: deque[tuple[Callable[[], None], OnFailure]] = deque()
        self._calls: deque[tuple[Callable[[], None], OnFailure]] = deque()
        self._running = False
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self.poller.add_listener(self._wake_out.fileno())
        self.handlers[self._wake_out.fileno()] = (self._drain_wake, None)

    def call_at(self, at: float, callback: Callable[[float], None], on_failure: OnFailure) -> None:
        """Call `callback(at)` once `at` has come. A timer cannot be cancelled: the callback checks whether it
        still has something to do."""
        self._timer_count += 1
        heapq.heappush(self._timers, (at, self._timer_count, callback, on_failure))

    def call_soon(self, work: Callable[[], None], on_failure: OnFailure) -> None:
        """Run `work` at the end of this round, after its events and timers; from such work, in the next
        round."""
        self._soon.append((work, on_failure))

    def call_from_thread(self, work: Callable[[], None], on_failure: OnFailure = None) -> None:
        """Run `work` in the loop's thread, soon. The only method that other threads may call."""
        self._calls.append((work, on_failure))
        # Full: the loop is about to wake anyway. Closed: the loop has ended.
        with contextlib.suppress(OSError):
            self._wake_in.send(b"\0")

    def stop(self) -> None:
        """End `run` after the present round."""
        self._running = False

    def run(self) -> None:
        """Run until `stop`. Work that raises does not end the loop."""
        sharpen_timers()
        self._running = True
        wait, handler_of, timers, soon, clock = (
            self.poller.wait,
            self.handlers.get,
            self._timers,
            self._soon,
            self.clock,
        )
        while self._running:
            if soon:
                seconds: float | None = 0.0
            elif timers:
                seconds = timers[0][0] - clock()
            else:
                seconds = None
            for fd, flags in wait(seconds):
                handler, on_failure = handler_of(fd, _CLOSED)
                try:
                    handler(flags)
                except Exception as error:
                    self._failed(error, on_failure)
            if seconds is not None and seconds < _SOON_S and timers:
                now = clock()
                while timers and timers[0][0] <= now:
                    at, _, callback, on_failure = heapq.heappop(timers)
                    try:
                        callback(at)
                    except Exception as error:
                        self._failed(error, on_failure)
            for _ in range(len(soon)):
                work, on_failure = soon.popleft()
                try:
                    work()
                except Exception as error:
                    self._failed(error, on_failure)

    def close(self) -> None:
        """Close the loop's own descriptors."""
        self._wake_out.close()
        self._wake_in.close()
        self.poller.close()

    def _drain_wake(self, flags: int) -> None:
        try:
            while self._wake_out.recv(4096):
                pass
        except BlockingIOError:
            pass
        # After this round's other events: a socket opened now may get the number of one that they are for.
        self._soon.append((self._run_calls, None))

    def _run_calls(self) -> None:
        while self._calls:
            work, on_failure = self._calls.popleft()
            try:
                work()
            except Exception as error:
                self._failed(error, on_failure)

    def _failed(self, error: Exception, on_failure: OnFailure) -> None:
        if self.on_defect is not None:
            self.on_defect(error)
            return
        _log.exception("the loop goes on without what failed here")
        if on_failure is not None:
            on_failure()


def _ignore(flags: int) -> None:
    pass


_CLOSED: tuple[Callable[[int], None], OnFailure] = (_ignore, None)
"""For an event whose descriptor was closed earlier in the same round."""
