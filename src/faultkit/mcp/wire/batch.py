"""JSON-RPC batches: requests in one array, answered in one array when the last of them is done.

MCP had batches in versions 2024-11-05 and 2025-03-26 and removed them in 2025-06-18. How the array is written
is decided by the front.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from math import ceil

from faultkit.faults.call.call import Cut, Drip, Frame, Send
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import INVALID_REQUEST, Id, Incoming, bytes_of, error_of


class Batch:
    """A JSON-RPC batch that waits for the replies to its requests."""

    def __init__(self, session: Session, answer: Callable[[bytes | None], None]) -> None:
        """`answer` is called once with the array of all replies, or with None if there are none."""
        self._session = session
        self._answer = answer
        self._ids: set[Id] = set()
        self._replies: list[bytes] = []
        self._waiting: set[Exchange | None] = {None}
        """Exchanges without a reply; None stands for the batch itself until all its items have been read."""

    def take(self, items: Iterable[Incoming], dispatch: Callable[[Incoming], None]) -> None:
        """Dispatch each item that can be served; add an error to the answer for each other one."""
        for item in items:
            refusal = self._refusal_of(item)
            if refusal is not None:
                self.add(error_of(item.id, INVALID_REQUEST, f"Invalid request: {refusal}"))
            elif item.problem is not None:
                self.add(error_of(item.id, *item.problem))
            else:
                dispatch(item)
        self.done(None)

    def expect(self, exchange: Exchange) -> None:
        self._waiting.add(exchange)

    def add(self, raw: bytes) -> None:
        self._replies.append(raw)

    def done(self, exchange: Exchange | None) -> None:
        """Note that an item has its reply or gets none; answer if it was the last."""
        if exchange not in self._waiting:
            return
        self._waiting.discard(exchange)
        if not self._waiting and not self._session.frozen:
            self._answer(b"[" + b",".join(self._replies) + b"]" if self._replies else None)

    async def send(self, frame: Frame) -> bool:
        """Add a frame of a fault as one reply of the batch; return False if a batch cannot hold it."""
        match frame:
            case Send():
                self.add(bytes_of(frame.message))
            case Cut():
                raw = bytes_of(frame.message)
                self.add(raw[: int(len(raw) * frame.share)])
            case Drip():
                # One item of an array cannot drip: it is added whole when its last byte would have come.
                raw = bytes_of(frame.message)
                await asyncio.sleep(frame.every_s * (ceil(len(raw) / frame.chunk_bytes) - 1))
                self.add(raw)
            case _:
                return False
        return True

    def _refusal_of(self, item: Incoming) -> str | None:
        """Return why an item must not stand in a batch, or None."""
        if item.kind != "request" or item.id is None:
            return None
        if item.method == "initialize":
            return "expected initialize by itself, got it in a batch"
        if item.id in self._ids:
            return "expected an id that no other request of the batch has"
        self._ids.add(item.id)
        return None
