"""Accepts the connections of an asyncio server, no more than a limit, and rests when descriptors run out.

asyncio's own accept loop knows no limit. When descriptors run out, it tries as often as its backlog is long,
logs each failure with a traceback, and starts again: megabytes of log a second, and most of a processor,
before any request is read. Here a listener that cannot accept is not watched for a while; connections wait in
the kernel's queue.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
import ssl
from collections.abc import Callable, Iterable
from time import monotonic

MOST_CONNECTIONS = 8192
"""Open connections of one listener, however many descriptors the process may have."""
TELL_EVERY_S = 60.0
_LEAST_CONNECTIONS = 8
_MOST_AT_ONCE = 64
"""Connections accepted in one turn, so that those that are open get theirs."""
_HANDSHAKE_S = 20.0
_FULL_REST_S, _FAILURE_REST_S = 0.05, 1.0
_log = logging.getLogger("faultkit.http")


def most_connections() -> int:
    """Return how many connections a listener may have open: three quarters of the descriptors of the process.

    The rest is for files, and for connections that a request makes."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(_LEAST_CONNECTIONS, min(MOST_CONNECTIONS, descriptors * 3 // 4))


class Listener:
    """Sockets that listen, and the protocols of their connections. Used from the thread of its event loop."""

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        make_protocol: Callable[[], asyncio.BaseProtocol],
        most: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`most`: connections that may be open at once; by default what the process can afford. `tls`: None
        for clear text."""
        self._sockets = tuple(sockets)
        self._make_protocol = make_protocol
        self._most = most_connections() if most is None else most
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._open = 0
        self._rest: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_closed = False
        self._tell_at_s = 0.0

    def start(self, backlog: int) -> None:
        """Begin to accept connections."""
        for sock in self._sockets:
            sock.setblocking(False)
            sock.listen(backlog)
        self._watch()

    def close(self) -> None:
        """Accept no more. Open connections stay, and the sockets too: they are closed by their owner."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._rest is not None:
            self._rest.cancel()
        self._unwatch()

    def _watch(self) -> None:
        self._rest = None
        for sock in self._sockets:
            self._loop.add_reader(sock.fileno(), self._accept, sock)

    def _unwatch(self) -> None:
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())

    def _pause(self, seconds: float, why: str) -> None:
        if monotonic() >= self._tell_at_s:
            self._tell_at_s = monotonic() + TELL_EVERY_S
            _log.warning("new connections wait: %s", why)
        self._unwatch()
        if self._rest is None:
            self._rest = self._loop.call_later(seconds, self._watch)

    def _accept(self, sock: socket.socket) -> None:
        for _ in range(_MOST_AT_ONCE):
            if self._open >= self._most:
                self._pause(_FULL_REST_S, f"{self._open} are open")
                return
            try:
                accepted, _ = sock.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._pause(_FAILURE_REST_S, os.strerror(error.errno or errno.EIO).lower())
                return
            self._open += 1
            connection = _Accepted(accepted, self._closed)
            connection.setblocking(False)
            task = self._loop.create_task(self._connect(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self, connection: _Accepted) -> None:
        try:
            transport, _ = await self._loop.connect_accepted_socket(
                self._make_protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE_S,
            )
        except OSError:
            connection.close()  # The client has gone already, or its certificate is not trusted.
            return
        if self._is_closed:
            transport.abort()

    def _closed(self) -> None:
        self._open -= 1


class _Accepted(socket.socket):
    """An accepted connection that says when it is closed."""

    def __init__(self, accepted: socket.socket, on_close: Callable[[], None]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._on_close: Callable[[], None] | None = on_close

    def close(self) -> None:
        super().close()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()
