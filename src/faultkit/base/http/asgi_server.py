"""Uvicorn as Faultkit uses it: for APIs that need no bytes of their own on the wire.

Servers that must cut, drip or reset responses use `http_server` instead. This module is imported only where
an API is served, because uvicorn is slow to import.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import uvicorn

from faultkit.base.http.listener import Listener

FIRST_REQUEST_S = 20.0
"""Seconds in which something must arrive on a new connection."""
REQUEST_S = 20.0
"""Seconds in which the rest of a request must arrive after its first part."""


def uvicorn_config(app: Any, *, grace_s: int, **settings: Any) -> uvicorn.Config:
    """Return the configuration of a server that does not name itself, and whose log has failures of the app.

    Uvicorn's own log is off: it has a line or a traceback for each client that breaks off or breaks HTTP.
    `grace_s` is how long requests may take to end after a stop; `settings` are further ones of uvicorn."""
    return uvicorn.Config(
        _Logged(app),
        loop="asyncio",
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_s,
        **settings,
    )


_BY_CLIENTS = frozenset({"ClientDisconnect", "LocalProtocolError"})
"""Exceptions of Starlette and h11 for clients that break off, or that break HTTP and got status 400."""


class _Logged:
    """An application whose failures are logged, one line each."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if type(error).__name__ in _BY_CLIENTS:
                return
            where = scope.get("path", scope["type"])
            _log.error("%s failed: %s: %s", where, type(error).__name__, error, exc_info=_shown(error))
            raise  # Uvicorn answers with status 500.


def _shown(error: Exception) -> Exception | None:
    return error if _log.isEnabledFor(logging.DEBUG) else None


class AsgiServer(uvicorn.Server):
    """A server on sockets that are bound already, with as many connections as a `Listener` accepts."""

    _listener: Listener | None = None

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None = None) -> None:
        """`tls`: None for clear text."""
        super().__init__(config)
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup([])
        self._listener = Listener(sockets or (), self._make_protocol, tls=self._tls)
        self._listener.start(self.config.backlog)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and end those that are open."""
        if self._listener is not None:
            self._listener.close()
        await super().shutdown(sockets)

    def _make_protocol(self) -> Any:
        protocol: Any = self.config.http_protocol_class
        make = _closing_when_silent(protocol)
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


@lru_cache
def _closing_when_silent(protocol: Any) -> Any:
    """Return a protocol of uvicorn that closes a connection on which nothing, or half a request, arrives.

    Uvicorn has a timer only between two requests; it cancels the timer when data arrive."""

    class ClosingWhenSilent(protocol):  # type: ignore[misc]
        _request_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.timeout_keep_alive_task = self.loop.call_later(
                FIRST_REQUEST_S, self.timeout_keep_alive_handler
            )

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle = self.cycle
            # Without a cycle under way, this was a part of a request's head.
            is_complete = cycle is not None and not cycle.response_complete and not cycle.more_body
            if is_complete:
                self._cancel_timer()
            elif self._request_timer is None and not self.transport.is_closing():
                self._request_timer = self.loop.call_later(REQUEST_S, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            super().connection_lost(exc)

        def _cancel_timer(self) -> None:
            if self._request_timer is not None:
                self._request_timer.cancel()
                self._request_timer = None

    return ClosingWhenSilent


class ServerWithoutSignals(AsgiServer):
    """A server that leaves signals to its owner, which may have more to end than this server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers."""
        yield


_log = logging.getLogger("faultkit.http")
