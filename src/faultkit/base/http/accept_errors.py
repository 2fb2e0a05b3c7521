"""Errors of asyncio's accept loop, told once instead of thousands of times.

When descriptors run out, asyncio tries to accept as many connections as its backlog holds, once a second, and
reports each failure with a traceback: megabytes of log a second, before any request is read.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import Any

TELL_EVERY_S = 60.0
_MESSAGE = "socket.accept() out of system resource"
"""The message of asyncio's accept loop (asyncio.selector_events)."""
_log = logging.getLogger("faultkit.http")


class AcceptErrors:
    """An exception handler of an event loop: counts failed accepts, and logs one line a minute."""

    def __init__(self) -> None:
        self.count = 0
        self._told = 0
        self._tell_at_s = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle a failed accept; anything else is handled as usual."""
        if context.get("message") != _MESSAGE:
            loop.default_exception_handler(context)
            return
        self.count += 1
        if monotonic() < self._tell_at_s:
            return
        self._tell_at_s = monotonic() + TELL_EVERY_S
        reason = getattr(context.get("exception"), "strerror", None) or "out of resources"
        _log.warning(
            "new connections wait: %s (%d attempts to accept failed)", reason.lower(), self.count - self._told
        )
        self._told = self.count


def handle_accept_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Install the handler, unless the loop has one of its own."""
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(AcceptErrors())
