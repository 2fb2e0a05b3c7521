"""What a server behind the gateway or a client is, whichever transport reaches it.

`StdioUpstream` and `HttpUpstream` implement `Upstream`; the gateway's `Link` and `McpClient` implement
`UpstreamListener`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from faultkit.base.framing import OversizedLine
from faultkit.mcp.wire.message import Id, Incoming

UPSTREAM_FAILED = -32000
"""JSON-RPC code of errors that are made here because the server gave no usable reply."""


class UpstreamListener(Protocol):
    """Receives what a server sends and how it ends."""

    def on_message(self, incoming: Incoming) -> None:
        """Handle one message of the server."""

    def on_oversized_line(self, line: OversizedLine) -> None:
        """Handle a message that was dropped because it was too long."""

    def on_input_full(self, is_full: bool) -> None:
        """Called with True when the server's input buffer is full, with False when it has drained."""

    def on_exit(self, why: str, code: int | None) -> None:
        """Called once if the server ends by itself; `code` is the exit code of its process, if it was one."""


class Upstream(Protocol):
    """A server as one session sees it."""

    async def start(self) -> None:
        """Make the server ready to receive messages. Raises TargetError if it is unavailable."""

    def send(self, incoming: Incoming) -> None:
        """Send a message of the client, byte for byte, in the order of the calls of this method."""

    def abandon(self, id: Id) -> None:
        """Stop waiting for the reply to this request."""

    def pause(self, paused: bool) -> None:
        """Stop or resume reading from the server, because the client does not read."""

    @property
    def unread_bytes(self) -> int:
        """Bytes sent to the server that it has not read."""

    def close_input(self) -> None:
        """Tell the server that no more messages will come; it may still answer."""

    async def stop(self, *, urgent: bool = False) -> None:
        """End the server and wait until it is gone; with `urgent`, without a grace period."""


Connect: TypeAlias = Callable[[UpstreamListener], Upstream]
