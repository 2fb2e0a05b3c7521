"""Waiting for sockets, and for points in time to within some tens of microseconds.

Two pollers have one interface. `EpollPoller` (Linux) is edge-triggered: a descriptor is registered once
for input, and once more if ever its peer is slow to read. `SelectorsPoller` (everywhere) imitates
edges: it drops an interest when it has reported it, and the relay asks again when the socket is dry.

Timers: asyncio and `epoll.poll` round up to the millisecond. `select` takes microseconds, so the
last stretch of a wait is spent in it: the epoll descriptor is itself one that `select` can wait for.
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import selectors
import sys
from collections.abc import Callable
from typing import Protocol

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

    def await_output(self, fd: int) -> None:
        """Report once a full socket is WRITABLE again."""

    def add(self, fd: int, output: bool = False) -> None:
        """Report what comes in at a stream socket, and with `output` also when it is WRITABLE."""

    def add_listener(self, fd: int) -> None:
        """Report READABLE for as long as it lasts."""

    def remove(self, fd: int) -> None: ...

    def wait(self, seconds: float | None) -> list[tuple[int, int]]:
        """Return pairs of descriptor and flags. With None, wait until there is one."""

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
            self._both: set[int] = set()
            self._epoll = select.epoll()
            fd = self._epoll.fileno()
            self._precise = [fd] if fd < _SELECT_LIMIT else None

        def add(self, fd: int, output: bool = False) -> None:
            # Most sockets are never full: without interest in output, each saves an event.
            if output:
                self._both.add(fd)
                self._epoll.register(fd, _BOTH)
            else:
                if fd in self._both:
                    self._both.remove(fd)  # A closed socket has left its number here.
                self._epoll.register(fd, _INPUT)

        def await_output(self, fd: int) -> None:
            if fd not in self._both:
                self._both.add(fd)
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

        def close(self) -> None:
            self._epoll.close()


class SelectorsPoller:
    """Any platform: edges imitated on the standard library's selector."""

    def __init__(self) -> None:
        self.await_input: Callable[[int], None] | None = self._await_input
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
