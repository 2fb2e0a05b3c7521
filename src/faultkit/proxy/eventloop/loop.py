"""The loop: descriptors, timers, and calls from other threads. It knows no asyncio.

Timers never fire early. Whoever moves many bytes gives way with `again`, so that a bulk transfer
cannot make another connection's bytes late.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
import socket
import time
from collections import deque
from collections.abc import Callable

from faultkit.proxy.eventloop.poller import Poller, new_poller, sharpen_timers

_SOON_S = 0.01
"""Timers further off are not looked at after a wait; if one has come due, the next round sees it."""

_log = logging.getLogger(__name__)


class Loop:
    __slots__ = (
        "_calls",
        "_running",
        "_timer_count",
        "_timers",
        "_wake_in",
        "_wake_out",
        "again",
        "clock",
        "handlers",
        "on_defect",
        "poller",
    )

    def __init__(self, poller: Poller | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.poller = poller or new_poller()
        self.clock = clock
        self.handlers: dict[int, Callable[[int], None]] = {}
        """What to call with the flags of a descriptor."""
        self.again: deque[Callable[[], None]] = deque()
        """Work that gave way and goes on in the next round."""
        self.on_defect: Callable[[Exception], None] | None = None
        """Who wants to know what a handler raised. None: it is logged, and whose handler it was is told by
        its `abort`."""
        self._timers: list[tuple[float, int, Callable[[float], None]]] = []
        self._timer_count = 0
        self._calls: deque[Callable[[], None]] = deque()
        self._running = False
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self.poller.add_listener(self._wake_out.fileno())
        self.handlers[self._wake_out.fileno()] = self._drain_wake

    def call_at(self, at: float, callback: Callable[[float], None]) -> None:
        """Call `callback(at)` once `at` has come. Nobody cancels: the callee knows whether it still cares."""
        self._timer_count += 1
        heapq.heappush(self._timers, (at, self._timer_count, callback))

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        """Run `callback` in the loop's thread, soon. The only method that other threads may call."""
        self._calls.append(callback)
        # Full: the loop is about to wake anyway. Closed: the loop is gone.
        with contextlib.suppress(OSError):
            self._wake_in.send(b"\0")

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        """Until `stop`. One failing handler does not end the loop."""
        sharpen_timers()
        self._running = True
        wait, handler_of, timers, again, clock = (
            self.poller.wait,
            self.handlers.get,
            self._timers,
            self.again,
            self.clock,
        )
        while self._running:
            if again:
                seconds: float | None = 0.0
            elif timers:
                seconds = timers[0][0] - clock()
            else:
                seconds = None
            for fd, flags in wait(seconds):
                handler = handler_of(fd, _nobody)
                try:
                    handler(flags)
                except Exception as error:
                    self._failed(handler, error)
            if seconds is not None and seconds < _SOON_S and timers:
                now = clock()
                while timers and timers[0][0] <= now:
                    at, _, callback = heapq.heappop(timers)
                    try:
                        callback(at)
                    except Exception as error:
                        self._failed(callback, error)
            for _ in range(len(again)):
                work = again.popleft()
                try:
                    work()
                except Exception as error:
                    self._failed(work, error)

    def close(self) -> None:
        self._wake_out.close()
        self._wake_in.close()
        self.poller.close()

    def _drain_wake(self, flags: int) -> None:
        try:
            while self._wake_out.recv(4096):
                pass
        except BlockingIOError:
            pass
        # After this round's other events: a socket born now may get the number of one that they speak of.
        self.again.append(self._run_calls)

    def _run_calls(self) -> None:
        while self._calls:
            call = self._calls.popleft()
            try:
                call()
            except Exception as error:
                self._failed(call, error)

    def _failed(self, callee: Callable[..., None], error: Exception) -> None:
        """A defect of ours must not take the other connections with it."""
        if self.on_defect is not None:
            self.on_defect(error)
            return
        _log.exception("the loop goes on without what failed here")
        owner = getattr(callee, "__self__", None)
        abort = getattr(owner, "abort", None)
        if abort is not None:
            abort()


def _nobody(flags: int) -> None:
    """The descriptor was closed earlier in the same round."""
