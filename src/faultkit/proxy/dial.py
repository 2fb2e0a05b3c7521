"""Reaching an upstream without ever blocking the loop: names in threads, connects in the poller.

The addresses of a name are tried in turn, in the order in which the system's resolver gives them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from faultkit.proxy.eventloop import WRITABLE, Loop
from faultkit.proxy.sockets import NONE, Address, failure_of, has_arrived, set_out


def literal_address(host: str, port: int) -> Address | None:
    """The address that `host` spells, or None if it is a name that must be resolved."""
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

    def resolve(self, host: str, port: int, done: Callable[[list[Address] | str], None]) -> None:
        """Calls `done` in the loop's thread with addresses, or with why there are none."""

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                result: list[Address] | str = [(family, address) for family, _, _, _, address in found]
            except (OSError, UnicodeError) as error:
                result = f"cannot resolve {host}: {getattr(error, 'strerror', None) or error}"
            self._loop.call_from_thread(lambda: done(result))

        try:
            self._threads.submit(look_up)
        except RuntimeError:
            done("the proxy is closing")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Dial:
    """One attempt to reach one of several addresses."""

    __slots__ = ("_addresses", "_done", "_fd", "_loop", "_over", "_why", "deadline")

    def __init__(
        self,
        loop: Loop,
        addresses: list[Address],
        timeout_s: float,
        done: Callable[[int | str], None],
    ) -> None:
        self._loop = loop
        self._addresses = addresses
        self._done = done
        self._fd = NONE
        self._over = False
        self._why = "no address"
        self.deadline = loop.clock() + timeout_s

    def start(self) -> None:
        """Begin with the next address; calls `done` with a connected socket, or with why there is none."""
        while self._addresses and not self._over:
            try:
                upstream = set_out(self._addresses.pop(0))
            except OSError as error:
                self._why = error.strerror or str(error)
                continue
            self.go_on(upstream)
            return
        if not self._over:
            self._end(self._why)

    def go_on(self, upstream: int) -> None:
        """With a socket that has set out: until it is connected, or cannot be."""
        if has_arrived(upstream):
            self._loop.poller.add(upstream)
            self._end(upstream)
            return
        self._fd = upstream
        self._loop.handlers[upstream] = self._ready
        self._loop.poller.add(upstream, output=True)

    def _ready(self, flags: int) -> None:
        upstream = self._fd
        code = failure_of(upstream)
        if code:
            self._why = os.strerror(code)
            self._forget()
            self._loop.again.append(self.start)  # No socket is born while events are gone through.
            return
        self._fd = NONE
        self._end(upstream)
        if flags != WRITABLE:
            # Whoever takes the socket must hear of this edge too: the first bytes may have come with it.
            taker = self._loop.handlers.get(upstream)
            if taker is not None:
                taker(flags)

    def give_up(self, why: str) -> None:
        """Try no further address."""
        self._forget()
        self._end(why)

    def abandon(self) -> None:
        """Nobody wants the connection any more."""
        self._forget()
        self._over = True

    def _end(self, result: int | str) -> None:
        self._over = True
        self._done(result)

    def _forget(self) -> None:
        if self._fd != NONE:
            self._loop.handlers.pop(self._fd, None)
            self._loop.poller.remove(self._fd)
            socket.close(self._fd)
            self._fd = NONE
