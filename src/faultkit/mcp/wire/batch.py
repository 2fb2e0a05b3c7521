"""Requests that came in one array, which versions up to 2025-03-26 have. They are answered in one, when the
last of them is. How that goes out is the front's affair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from math import ceil

from faultkit.faults.call.call import Cut, Drip, Frame, Send
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import INVALID_REQUEST, Id, Incoming, bytes_of, error_of


class Batch:
    def __init__(self, session: Session, answer: Callable[[bytes | None], None]) -> None:
        """`answer` gets the array of all replies, once; None if there are none."""
        self._session = session
        self._answer = answer
        self._ids: set[Id] = set()
        self._replies: list[bytes] = []
        self._waiting: set[Exchange | None] = {None}
        """None: it has not been read to its end."""

    def take(self, items: Iterable[Incoming], dispatch: Callable[[Incoming], None]) -> None:
        """Those that can be served are dispatched; each other one has its error in the answer."""
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
        """One of them has its reply, or gets none."""
        if exchange not in self._waiting:
            return
        self._waiting.discard(exchange)
        if not self._waiting and not self._session.frozen:
            self._answer(b"[" + b",".join(self._replies) + b"]" if self._replies else None)

    async def send(self, frame: Frame) -> bool:
        """A frame of a fault as one reply among others; False if it is more than that."""
        match frame:
            case Send():
                self.add(bytes_of(frame.message))
            case Cut():
                raw = bytes_of(frame.message)
                self.add(raw[: int(len(raw) * frame.share)])
            case Drip():
                # The others do not drip: it comes whole, when its last byte would have come.
                raw = bytes_of(frame.message)
                await asyncio.sleep(frame.every_s * (ceil(len(raw) / frame.chunk_bytes) - 1))
                self.add(raw)
            case _:
                return False
        return True

    def _refusal_of(self, item: Incoming) -> str | None:
        """Why a message cannot be one of a batch; None if it can."""
        if item.kind != "request" or item.id is None:
            return None
        if item.method == "initialize":
            return "expected initialize by itself, got it in a batch"
        if item.id in self._ids:
            return "expected an id that no other request of the batch has"
        self._ids.add(item.id)
        return None
