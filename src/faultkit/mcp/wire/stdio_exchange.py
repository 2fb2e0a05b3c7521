"""One request over stdio, alone on its line or one of a batch."""

from __future__ import annotations

from typing import ClassVar

from faultkit.faults.call.call import Cut, Disconnect, Drip, Frame, Send, Transport
from faultkit.mcp.wire.batch import Batch
from faultkit.mcp.wire.era import version_in
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming, bytes_of
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
            self.session.version = version_in(raw) or self.session.version

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        match frame:
            case Send():
                self._out.line(bytes_of(frame.message))
                await self._out.drained()
            case Cut():
                raw = bytes_of(frame.message)
                self._out.line(raw[: int(len(raw) * frame.share)])
            case Drip():
                await self._out.drip(bytes_of(frame.message) + b"\n", frame.chunk_bytes, frame.every_s)
            case Disconnect():
                self._out.close()
            case _:
                raise AssertionError(f"{type(frame).__name__} was let through for stdio")


class BatchExchange(StdioExchange):
    __slots__ = ("_batch",)

    def __init__(self, session: Session, request: Incoming, out: Output, batch: Batch) -> None:
        super().__init__(session, request, out)
        self._batch = batch
        batch.expect(self)

    def write_reply(self, raw: bytes) -> None:
        self._batch.add(raw)
        self._batch.done(self)

    def write_nothing(self) -> None:
        self._batch.done(self)

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        if not await self._batch.send(frame):
            await super().send(frame, streamed=streamed)
