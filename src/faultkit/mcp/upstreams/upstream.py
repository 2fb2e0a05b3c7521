"""What stands behind the gateway for one session, whichever way it is reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from faultkit.mcp.wire.lines import TooLong
from faultkit.mcp.wire.message import Id, Incoming


class Listener(Protocol):
    """Whoever wants to know what a server does."""

    def hear(self, incoming: Incoming) -> None:
        """It has said something."""

    def hear_too_long(self, line: TooLong) -> None:
        """It has said something that was too long to be kept."""

    def full(self, is_full: bool) -> None:
        """It does not read as fast as it is spoken to; or does again."""

    def gone(self, why: str, code: int | None) -> None:
        """Once: it has left, and this is the exit code of its process if it was one."""


class Upstream(Protocol):
    """A server, as one session sees it."""

    async def start(self) -> None:
        """Raises TargetError if it cannot be had."""

    def send(self, incoming: Incoming) -> None:
        """Hands on a message of the client, byte for byte, in the order of the calls."""

    def abandon(self, id: Id) -> None:
        """Nobody waits for the reply to this request any more."""

    def pause(self, paused: bool) -> None:
        """The client does not read: nothing more is taken from the server meanwhile."""

    @property
    def unread_bytes(self) -> int:
        """What it was sent and has not read."""

    def close_input(self) -> None:
        """The client has said its last word; the server may still answer."""

    async def stop(self, *, urgent: bool = False) -> None:
        """Nothing of it is left when this returns. `urgent`: somebody counts the seconds."""


Connect: TypeAlias = Callable[[Listener], Upstream]
