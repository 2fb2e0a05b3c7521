"""A batch over HTTP: one JSON array, or a stream that ends with it if something has to be said before."""

from __future__ import annotations

from collections.abc import Mapping

from faultkit.base.http.server import Answer
from faultkit.faults.call.call import EndStream, Frame
from faultkit.mcp.wire.batch import Batch
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_exchange import JSON, HttpExchange
from faultkit.mcp.wire.message import Incoming
from faultkit.mcp.wire.sse import event_of


def http_batch(session: Session, answer: Answer) -> Batch:
    def write(array: bytes | None) -> None:
        if answer.began:
            answer.write(b"" if array is None else event_of(array))
            answer.end()
        elif array is None:
            answer.whole(202)
        else:
            answer.whole(200, JSON, array)

    return Batch(session, write)


class HttpBatchExchange(HttpExchange):
    __slots__ = ("_batch",)

    def __init__(
        self, session: Session, request: Incoming, headers: Mapping[str, str], answer: Answer, batch: Batch
    ) -> None:
        super().__init__(session, request, headers, answer, None, {})
        self._batch = batch
        batch.expect(self)

    def write_reply(self, raw: bytes) -> None:
        self._batch.add(raw)
        self._batch.done(self)

    def write_nothing(self) -> None:
        self._batch.done(self)

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        # What ends one of them does not end the others.
        if not isinstance(frame, EndStream) and not await self._batch.send(frame):
            await super().send(frame, streamed=streamed)
