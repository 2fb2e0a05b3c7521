"""Reaching an upstream without blocking the loop: names are resolved in threads, connects end in the poller.

The addresses of a name are tried in turn, in the order in which the system's resolver returns them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from faultkit.base.descriptors import why_not_connected
from faultkit.proxy.event_loop import WRITABLE, Loop, OnFailure
from faultkit.proxy.sockets import NO_SOCKET, Address, is_connected, socket_error, start_connect


def literal_address(host: str, port: int) -> Address | None:
    """Return the address that `host` spells, or None if it is a name that must be resolved."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return (family, (host, port)) if family == socket.AF_INET else (family, (host, port, 0, 0))
    return None


class Resolver:
    """The system's resolver, in a few threads."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="fault-resolve")

    def resolve(
        self,
        host: str,
        port: int,
        done: Callable[[list[Address] | str], None],
        on_failure: OnFailure,
    ) -> None:
        """Call `done` in the loop's thread with addresses, or with the reason why there are none."""

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                result: list[Address] | str = [(family, address) for family, _, _, _, address in found]
            except (OSError, UnicodeError) as error:
                result = f"cannot resolve {host}: {getattr(error, 'strerror', None) or error}"
            self._loop.call_from_thread(lambda: done(result), on_failure)

        try:
            self._threads.submit(look_up)
        except RuntimeError:
            done("the proxy is closing")

    def close(self) -> None:
        """End the threads; look-ups that have not begun are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class DialAttempt:
    """One attempt to reach one of several addresses."""

    __slots__ = ("_addresses", "_done", "_fd", "_loop", "_on_failure", "_over", "_why", "deadline")

    def __init__(
        self,
        loop: Loop,
        addresses: list[Address],
        timeout_s: float,
        done: Callable[[int | str], None],
        on_failure: OnFailure,
    ) -> None:
        """`done` is called once, with a connected socket or with the reason why there is none."""
        self._loop = loop
        self._addresses = addresses
        self._done = done
        self._on_failure = on_failure
        self._fd = NO_SOCKET
        self._over = False
        self._why = "no address"
        self.deadline = loop.clock() + timeout_s
        """When the owner should call `give_up`."""

    def try_next(self) -> None:
        """Try the next address that lets a connection be started."""
        while self._addresses and not self._over:
            try:
                upstream = start_connect(self._addresses.pop(0)).detach()
            except OSError as error:
                self._why = why_not_connected(error)
                continue
            self.wait_for(upstream)
            return
        if not self._over:
            self._end(self._why)

    def wait_for(self, upstream: int) -> None:
        """Wait until a socket whose connect has been started is connected, or cannot be."""
        if is_connected(upstream):
            self._loop.poller.add(upstream)
            self._end(upstream)
            return
        self._fd = upstream
        self._loop.handlers[upstream] = self._ready
        self._loop.poller.add(upstream, output=True)

    def _ready(self, flags: int) -> None:
        upstream = self._fd
        code = socket_error(upstream)
        if code:
            self._why = os.strerror(code)
            self._close()
            # Not now: a socket opened while events are handled may get the number of one that they are for.
            self._loop.call_soon(self.try_next, self._on_failure)
            return
        self._fd = NO_SOCKET
        self._end(upstream)
        if flags != WRITABLE:
            # The new handler of the socket needs this edge too: the first bytes may have come with it.
            taker = self._loop.handlers.get(upstream)
            if taker is not None:
                taker(flags)

    def abort(self) -> None:
        """Report a defect of this attempt to its owner."""
        if self._on_failure is not None:
            self._on_failure()

    def give_up(self, why: str) -> None:
        """Try no further address, and report `why`."""
        self._close()
        self._end(why)

    def cancel(self) -> None:
        """Try no further address, and report nothing."""
        self._close()
        self._over = True

    def _end(self, result: int | str) -> None:
        self._over = True
        self._done(result)

    def _close(self) -> None:
        if self._fd != NO_SOCKET:
            self._loop.handlers.pop(self._fd, None)
            self._loop.poller.remove(self._fd)
            socket.close(self._fd)
            self._fd = NO_SOCKET
