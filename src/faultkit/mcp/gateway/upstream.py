"""What stands behind the gateway for one session, whichever way it is reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from faultkit.mcp.wire.message import Id, Incoming

Hear: TypeAlias = Callable[[Incoming], None]
"""Gets whatever the server says."""
Gone: TypeAlias = Callable[[str, int | None], None]
"""Told once that the server has left: why, and the exit code of its process if it was one."""


class Upstream(Protocol):
    """A server, as one session sees it."""

    async def start(self) -> None:
        """Raises TargetError if it cannot be had."""

    def send(self, incoming: Incoming) -> None:
        """Hands on a message of the client, byte for byte, in the order of the calls."""

    def abandon(self, id: Id) -> None:
        """Nobody waits for the reply to this request any more."""

    async def stop(self) -> None:
        """Nothing of it is left when this returns."""


Connect: TypeAlias = Callable[[Hear, Gone], Upstream]
