"""One request over stdio, alone on its line or one of a batch."""

from __future__ import annotations

import asyncio
from math import ceil
from typing import ClassVar

from faultkit.faults.call.call import Cut, Disconnect, Drip, Frame, Send, Transport
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Id, Incoming, bytes_of, read
from faultkit.mcp.wire.output import Output


class StdioExchange(Exchange):
    transport: ClassVar[Transport] = "stdio"
    __slots__ = ("_out",)

    def __init__(self, session: Session, request: Incoming, out: Output) -> None:
        super().__init__(session, request)
        self._out = out

    def write_note(self, raw: bytes) -> None:
        self._out.line(raw)

    def write_reply(self, raw: bytes) -> None:
        self._out.line(raw)
        if self.request.method == "initialize":
            self.session.version = _version_in(raw) or self.session.version

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        match frame:
            case Send():
                self._out.line(bytes_of(frame.message))
                await self._out.drained()
            case Cut():
                self._out.line(_cut(frame))
            case Drip():
                await self._out.drip(bytes_of(frame.message) + b"\n", frame.chunk_bytes, frame.every_s)
            case Disconnect():
                self._out.close()
            case _:
                raise AssertionError(f"{type(frame).__name__} was let through for stdio")


class Batch:
    """Requests that came in one array. They are answered in one, when the last of them is."""

    def __init__(self, session: Session, out: Output) -> None:
        self._session = session
        self._out = out
        self._ids: set[Id] = set()
        self._replies: list[bytes] = []
        self._waiting: set[Exchange | None] = {None}
        """None: it has not been read to its end."""

    def exchange(self, request: Incoming) -> Exchange:
        exchange = _BatchExchange(self._session, request, self._out, self)
        self._waiting.add(exchange)
        return exchange

    def refusal_of(self, item: Incoming) -> str | None:
        """Why a message cannot be one of a batch; None if it can."""
        if item.kind != "request" or item.id is None:
            return None
        if item.method == "initialize":
            return "expected initialize by itself, got it in a batch"
        if item.id in self._ids:
            return "expected an id that no other request of the batch has"
        self._ids.add(item.id)
        return None

    def add(self, raw: bytes) -> None:
        self._replies.append(raw)

    def done(self, exchange: Exchange | None) -> None:
        """One of them has its reply, or gets none."""
        self._waiting.discard(exchange)
        if not self._waiting and self._replies and not self._session.frozen:
            replies, self._replies = self._replies, []
            self._out.line(b"[" + b",".join(replies) + b"]")


class _BatchExchange(StdioExchange):
    __slots__ = ("_batch",)

    def __init__(self, session: Session, request: Incoming, out: Output, batch: Batch) -> None:
        super().__init__(session, request, out)
        self._batch = batch

    def write_reply(self, raw: bytes) -> None:
        self._batch.add(raw)
        self._batch.done(self)

    def write_nothing(self) -> None:
        self._batch.done(self)

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        match frame:
            case Send():
                self._batch.add(bytes_of(frame.message))
            case Cut():
                self._batch.add(_cut(frame))
            case Drip():
                # The others do not drip: it comes whole, when its last byte would have come.
                raw = bytes_of(frame.message)
                await asyncio.sleep(frame.every_s * (ceil(len(raw) / frame.chunk_bytes) - 1))
                self._batch.add(raw)
            case _:
                await super().send(frame, streamed=streamed)


def _cut(frame: Cut) -> bytes:
    raw = bytes_of(frame.message)
    return raw[: int(len(raw) * frame.share)]


def _version_in(reply: bytes) -> str | None:
    result = read(reply).message.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None
