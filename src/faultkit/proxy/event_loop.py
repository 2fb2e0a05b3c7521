"""The event loop of the proxy and of the load engine: descriptors, timers, calls from other threads.

It knows neither of the two, and no asyncio.

Two pollers have one interface. `EpollPoller` (Linux) is edge-triggered: a descriptor is registered once for
input, and once more if its peer is ever slow to read. `SelectorsPoller` (everywhere) imitates edges: it drops
an interest when it has reported it, and the owner asks again when the socket is dry.

Timers never fire early, and are late by some tens of microseconds only. asyncio and `epoll.poll` round up to
the millisecond; `select` takes microseconds, so the last stretch of a wait is spent in it: the epoll
descriptor is itself one that `select` can wait for. Code that moves many bytes yields with `call_soon`, so
that a bulk transfer cannot delay the bytes of another connection.

Every piece of work names what to do if it raises (`on_failure`), because a defect in one connection must end
that connection and no other: a stream with a hole in it would look like an answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import itertools
import logging
import select
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

from faultkit.proxy.native import native

# The values of epoll's own flags, so that the fast poller need not translate.
READABLE = 0x1
WRITABLE = 0x4
FAILED = 0x8
"""The socket has an error, a reset for example."""
ENDED = 0x2010
"""The peer has closed its sending side, or everything: read on until the end comes."""

_SELECT_LIMIT = 1024
"""`select` cannot wait for descriptors from here on."""
_MOST_EVENTS = 512
_NEAR_S = 0.01


class Poller(Protocol):
    """Reports what happens at descriptors."""

    await_input: Callable[[int], None] | None
    """To be called when a socket has nothing to read; None where that is not necessary."""

    awaiting_output: set[int]
    """Where `direct_epoll` is one: descriptors that are registered for output too. Closed sockets leave their
    numbers here."""

    def await_output(self, fd: int) -> None:
        """Report once a full socket is WRITABLE again."""

    def add(self, fd: int, output: bool = False) -> None:
        """Report what comes in at a stream socket, and with `output` also when it is WRITABLE."""

    def add_listener(self, fd: int) -> None:
        """Report READABLE for as long as it lasts."""

    def remove(self, fd: int) -> None: ...

    def wait(self, seconds: float | None) -> list[tuple[int, int]]:
        """Return pairs of descriptor and flags. With None, wait until there is one."""

    def direct_epoll(self) -> int | None:
        """Return the epoll descriptor that compiled code may wait for itself; None if there is none."""

    def close(self) -> None: ...


def new_poller() -> Poller:
    """Return the best poller for this platform."""
    return EpollPoller() if sys.platform == "linux" else SelectorsPoller()


if sys.platform == "linux":
    _INPUT = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
    _BOTH = _INPUT | select.EPOLLOUT

    class EpollPoller:
        """Linux: edge-triggered epoll."""

        def __init__(self) -> None:
            self.await_input: Callable[[int], None] | None = None
            self.awaiting_output: set[int] = set()
            self._epoll = select.epoll()
            fd = self._epoll.fileno()
            self._precise = [fd] if fd < _SELECT_LIMIT else None

        def add(self, fd: int, output: bool = False) -> None:
            # Most sockets are never full: without interest in output, each saves an event.
            if output:
                self.awaiting_output.add(fd)
                self._epoll.register(fd, _BOTH)
            else:
                if fd in self.awaiting_output:
                    self.awaiting_output.remove(fd)  # A closed socket has left its number here.
                self._epoll.register(fd, _INPUT)

        def await_output(self, fd: int) -> None:
            if fd not in self.awaiting_output:
                self.awaiting_output.add(fd)
                self._epoll.modify(fd, _BOTH)

        def add_listener(self, fd: int) -> None:
            self._epoll.register(fd, select.EPOLLIN)

        def remove(self, fd: int) -> None:
            with contextlib.suppress(OSError, ValueError):
                self._epoll.unregister(fd)

        def wait(self, seconds: float | None) -> list[tuple[int, int]]:
            if seconds is None:
                return self._epoll.poll(-1, _MOST_EVENTS)
            if seconds <= 0:
                return self._epoll.poll(0, _MOST_EVENTS)
            # For a long wait, first a coarse one that ends early; a precise one follows.
            if seconds > _NEAR_S:
                return self._epoll.poll(seconds - _NEAR_S / 2, _MOST_EVENTS)
            if self._precise is None:
                return self._epoll.poll(seconds, _MOST_EVENTS)
            select.select(self._precise, (), (), seconds)
            return self._epoll.poll(0, _MOST_EVENTS)

        def direct_epoll(self) -> int | None:
            return self._epoll.fileno()

        def close(self) -> None:
            self._epoll.close()


class SelectorsPoller:
    """Any platform: edges imitated on the standard library's selector."""

    def __init__(self) -> None:
        self.await_input: Callable[[int], None] | None = self._await_input
        self.awaiting_output: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._interest: dict[int, int] = {}

    def add(self, fd: int, output: bool = False) -> None:
        self._interest[fd] = 0
        self._set_interest(fd, READABLE | WRITABLE if output else READABLE)

    def add_listener(self, fd: int) -> None:
        self._selector.register(fd, selectors.EVENT_READ)

    def remove(self, fd: int) -> None:
        self._interest.pop(fd, None)
        with contextlib.suppress(KeyError, ValueError, OSError):
            self._selector.unregister(fd)

    def wait(self, seconds: float | None) -> list[tuple[int, int]]:
        happened = []
        for key, events in self._selector.select(seconds):
            flags = (READABLE if events & selectors.EVENT_READ else 0) | (
                WRITABLE if events & selectors.EVENT_WRITE else 0
            )
            happened.append((key.fd, flags))
            if key.fd in self._interest:
                self._set_interest(key.fd, self._interest[key.fd] & ~flags)
        return happened

    def direct_epoll(self) -> int | None:
        return None

    def close(self) -> None:
        self._selector.close()

    def _await_input(self, fd: int) -> None:
        if fd in self._interest:
            self._set_interest(fd, self._interest[fd] | READABLE)

    def await_output(self, fd: int) -> None:
        if fd in self._interest:
            self._set_interest(fd, self._interest[fd] | WRITABLE)

    def _set_interest(self, fd: int, interest: int) -> None:
        before = self._interest[fd]
        if interest == before:
            return
        self._interest[fd] = interest
        events = (selectors.EVENT_READ if interest & READABLE else 0) | (
            selectors.EVENT_WRITE if interest & WRITABLE else 0
        )
        if not before:
            self._selector.register(fd, events)
        elif events:
            self._selector.modify(fd, events)
        else:
            self._selector.unregister(fd)


def sharpen_timers() -> None:
    """Ask the kernel not to round this thread's waits (by default it may add 50 µs to each)."""
    if sys.platform == "linux":
        set_timer_slack = 29
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_timer_slack, 1, 0, 0, 0)


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
        self.handlers: dict[int, Callable[[int], None]] = {}
        """By descriptor: the function that is called with the poller's flags. If it is a method and raises,
        `abort` of its object is called, where there is one: a second reference beside each handler would
        add a third to the memory of an idle connection."""
        self.on_defect: Callable[[Exception], None] | None = None
        """Receives every exception instead of the log and `on_failure`, for an owner that stops on any
        defect."""
        self._timers: list[tuple[float, int, Callable[[float], None], OnFailure]] = []
        self._timer_count = itertools.count()
        self._soon: deque[tuple[Callable[[], None], OnFailure]] = deque()
        self._calls: deque[tuple[Callable[[], None], OnFailure]] = deque()
        self._running = False
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self.poller.add_listener(self._wake_out.fileno())
        self.handlers[self._wake_out.fileno()] = self._drain_wake

    def call_at(self, at: float, callback: Callable[[float], None], on_failure: OnFailure) -> None:
        """Call `callback(at)` once `at` has come. A timer cannot be cancelled: the callback checks whether it
        still has something to do."""
        heapq.heappush(self._timers, (at, next(self._timer_count), callback, on_failure))

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

    def failed(self, error: Exception, on_failure: OnFailure) -> None:
        """Treat an exception that is being handled as that of a piece of work of its own."""
        self._failed(error, on_failure)

    def stop(self) -> None:
        """End `run` after the present round."""
        self._running = False

    def run(self) -> None:
        """Run until `stop`. Work that raises does not end the loop."""
        sharpen_timers()
        self._running = True
        epoll = self.poller.direct_epoll() if self.clock is time.monotonic else None
        if native is None or epoll is None:
            self._run_rounds()
        else:
            native.run_rounds(self, epoll, self.handlers, self._timers, self._soon)

    def _run_rounds(self) -> None:
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
                handler = handler_of(fd, _ignore)
                try:
                    handler(flags)
                except Exception as error:
                    self._failed(error, getattr(getattr(handler, "__self__", None), "abort", None))
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
        _log.error("the loop goes on without what failed here", exc_info=error)
        if on_failure is not None:
            try:
                on_failure()
            except Exception:  # Whatever is left of one connection, the others go on.
                _log.exception("what failed could not be cleaned up")


def _ignore(flags: int) -> None:
    """Handle an event whose descriptor was closed earlier in the same round."""
