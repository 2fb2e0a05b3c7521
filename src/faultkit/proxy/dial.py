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

from faultkit.eventloop import WRITABLE, Loop

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


def begin_connect(address: Address) -> tuple[SocketType, bool]:
    """A socket on its way to `address`, and whether it is there already, as on loopback it mostly is.

    Raises OSError if it cannot even set out.
    """
    family, target = address
    upstream = SocketType(family, _STREAM)
    try:
        if not _BORN_NONBLOCKING:
            upstream.setblocking(False)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = upstream.connect_ex(target)
        if code not in _IN_PROGRESS:
            raise OSError(code, os.strerror(code))
    except BaseException:
        upstream.close()
        raise
    try:
        upstream.getpeername()
    except OSError:
        return upstream, False
    return upstream, True


class Dial:
    """One attempt to reach one of several addresses."""

    __slots__ = ("_addresses", "_done", "_loop", "_socket", "_why", "deadline")

    def __init__(
        self,
        loop: Loop,
        addresses: list[Address],
        timeout_s: float,
        done: Callable[[SocketType | str], None],
    ) -> None:
        self._loop = loop
        self._addresses = addresses
        self._done = done
        self._socket: SocketType | None = None
        self._why = "no address"
        self.deadline = loop.clock() + timeout_s

    def start(self) -> None:
        """Begin with the next address; calls `done` with a connected socket, or with why there is none."""
        while self._addresses:
            try:
                upstream, connected = begin_connect(self._addresses.pop(0))
            except OSError as error:
                self._why = error.strerror or str(error)
                continue
            if connected:
                self._loop.poller.add(upstream.fileno())
                self._done(upstream)
            else:
                self.wait_for(upstream)
            return
        self._done(self._why)

    def wait_for(self, upstream: SocketType) -> None:
        """Until it is connected, or cannot be."""
        self._socket = upstream
        self._loop.handlers[upstream.fileno()] = self._ready
        self._loop.poller.add(upstream.fileno(), output=True)

    def _ready(self, flags: int) -> None:
        upstream = self._socket
        assert upstream is not None
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
