"""Reaching an upstream without ever blocking the loop: names in threads, connects in the poller.

The addresses of a name are tried in turn, in the order in which the system's resolver gives them.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from socket import SocketType
from typing import TypeAlias

from faultkit.proxy.loop import Loop
from faultkit.proxy.poller import ENDED, FAILED, WRITABLE

Address: TypeAlias = tuple[int, tuple[object, ...]]
"""Family and socket address."""

_IN_PROGRESS = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)
_BORN_NONBLOCKING = hasattr(socket, "SOCK_NONBLOCK")
_STREAM = socket.SOCK_STREAM | (socket.SOCK_NONBLOCK if _BORN_NONBLOCKING else 0)


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

    __slots__ = ("_addresses", "_done", "_loop", "_socket", "_why", "deadline")

    def __init__(
        self,
        loop: Loop,
        addresses: list[Address],
        deadline: float,
        done: Callable[[SocketType | str], None],
    ) -> None:
        self._loop = loop
        self._addresses = addresses
        self._done = done
        self._socket: SocketType | None = None
        self._why = "no address"
        self.deadline = deadline

    def start(self) -> None:
        """Begin with the next address; calls `done` with a connected socket, or with why there is none."""
        while self._addresses:
            family, address = self._addresses.pop(0)
            try:
                upstream = SocketType(family, _STREAM)
            except OSError as error:
                self._why = os.strerror(error.errno or 0)
                break
            if not _BORN_NONBLOCKING:
                upstream.setblocking(False)
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                code = upstream.connect_ex(address)
            except OSError as error:  # For example an address that this family does not take.
                code = error.errno or errno.EINVAL
            if code in _IN_PROGRESS:
                self._socket = upstream
                self._loop.handlers[upstream.fileno()] = self._ready
                self._loop.poller.add(upstream.fileno())
                return
            upstream.close()
            self._why = os.strerror(code)
        self._done(self._why)

    def _ready(self, flags: int) -> None:
        upstream = self._socket
        assert upstream is not None
        if flags & (FAILED | ENDED):
            code = upstream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._why = os.strerror(code)
                self._forget()
                self.start()
                return
        self._socket = None
        self._done(upstream)
        if flags != WRITABLE:
            # Whoever takes the socket must hear of this edge too: the first bytes may have come with it.
            taker = self._loop.handlers.get(upstream.fileno())
            if taker is not None:
                taker(flags)

    def give_up(self, why: str) -> None:
        """Try no further address."""
        self._forget()
        self._addresses = []
        self._done(why)

    def abandon(self) -> None:
        """Nobody wants the connection any more."""
        self._forget()
        self._addresses = []

    def _forget(self) -> None:
        if self._socket is not None:
            fd = self._socket.fileno()
            self._loop.handlers.pop(fd, None)
            self._loop.poller.remove(fd)
            self._socket.close()
            self._socket = None
