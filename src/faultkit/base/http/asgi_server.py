"""Uvicorn as Faultkit uses it: for APIs that need no bytes of their own on the wire.

Servers that must cut, drip or reset responses use `http_server` instead. This module is imported only where
an API is served, because uvicorn is slow to import.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

from faultkit.base.http.accept_errors import handle_accept_errors


def uvicorn_config(app: Any, *, grace_s: int, **settings: Any) -> uvicorn.Config:
    """Return the configuration of a server that logs through `logging` alone and does not name itself.

    `grace_s` is how long requests may take to end after a stop; `settings` are further ones of uvicorn."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_s,
        **settings,
    )


class ServerWithoutSignals(uvicorn.Server):
    """A server that leaves signals to its owner, which may have more to end than this server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers."""
        yield

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end, without a flood of log lines when descriptors run out."""
        handle_accept_errors(asyncio.get_running_loop())
        await super().serve(sockets)
