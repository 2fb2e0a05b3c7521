"""What both transports do for a probe."""

from __future__ import annotations

from typing import Protocol

from faultkit.faults.call.call import Transport
from faultkit.mcp.probe.servers.seen import Seen
from faultkit.mcp.wire.message import METHOD_NOT_FOUND, Id, Incoming, error_of, result_of


class Wire(Protocol):
    transport: Transport
    gone: str
    """Why it cannot be used any more; empty while it can."""
    version: str | None
    """The protocol's, once it is settled in the legacy era."""
    strays: int
    """Replies that nobody had asked for, or had already."""

    async def start(self) -> None:
        """TargetError if nobody is there."""

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> Seen:
        """Sends it and waits for the reply with this id, or without one. Never raises."""
        ...

    async def tell(self, raw: bytes) -> None:
        """Something that has no reply. Never raises."""

    async def leave(self, wait_s: float) -> str:
        """Ends it as a client does. What was not in order, empty if all was."""
        ...

    async def stop(self) -> None:
        """Nothing of it is left, whatever that takes."""


def answer_to(request: Incoming) -> bytes:
    """For what a server asks of us."""
    if request.method == "ping":
        return result_of(request.id, {})
    return error_of(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here")
