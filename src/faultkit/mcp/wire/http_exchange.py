"""One request over streamable HTTP: a JSON body if only the reply is sent, otherwise an event stream.

A server may answer a request with `application/json` or `text/event-stream` (MCP 2025-11-25, Transports,
Sending Messages to the Server, 5). The choice is made by the first message: if it is the reply, a body; if
anything precedes the reply, a stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import ClassVar

from faultkit.base.framing import COMMENT, event_of
from faultkit.base.http.http_exchange import Headers, ResponseWriter
from faultkit.faults.call_fault import (
    Cut,
    Disconnect,
    Drip,
    EndStream,
    Frame,
    KeepAlive,
    Send,
    Status,
    Transport,
)
from faultkit.mcp.wire.era import version_in
from faultkit.mcp.wire.exchange import Batch, Exchange, Session
from faultkit.mcp.wire.http_sessions import (
    EVENT_STREAM_HEADERS,
    MOST_UNREAD_BYTES,
    EventStream,
    SessionStreams,
)
from faultkit.mcp.wire.message import Incoming, bytes_of

JSON: Headers = [("content-type", "application/json")]


class HttpExchange(Exchange):
    """One request over HTTP and the response that it gets."""

    transport: ClassVar[Transport] = "http"
    __slots__ = ("_answer", "_headers", "_statuses", "_stream", "_streams")

    def __init__(
        self,
        session: Session,
        request: Incoming,
        headers: Mapping[str, str],
        answer: ResponseWriter,
        streams: SessionStreams | None,
        statuses: Mapping[int, int],
        own_headers: Headers | None = None,
    ) -> None:
        """`streams`: the session's resumable streams; None where streams cannot be resumed. `statuses`: HTTP
        statuses of JSON-RPC errors by code."""
        super().__init__(session, request, headers)
        self._answer = answer
        self._streams = streams
        self._stream: EventStream | None = None
        self._statuses = statuses
        self._headers = own_headers or []

    def write_note(self, raw: bytes) -> None:
        self._begin_stream()
        if self._stream is not None:
            self._stream.send(raw)
        elif self._answer.unread_bytes > MOST_UNREAD_BYTES:
            # A stream without ids cannot be resumed, so a reader this slow is treated as one that cancelled.
            self._answer.abort(reset=True)
            self.cancel()
        else:
            self._answer.write(event_of(raw))

    def write_reply(self, raw: bytes) -> None:
        if self.request.method == "initialize":
            self.session.version = version_in(raw)
        if self._answer.began:
            self.write_note(raw)
            self._end_stream()
        else:
            self._answer.respond(*self.body_head(raw), raw)

    def write_nothing(self) -> None:
        if self._answer.began:
            self._end_stream()
        elif self._answer.is_open:
            # A complete response keeps the connection usable for the next request (RFC 9112 §9.3).
            self._answer.respond(202, self._headers)

    def write_end(self) -> None:
        self._answer.abort()

    def body_head(self, raw: bytes) -> tuple[int, Headers]:
        """Return status and headers of a response whose body is this message."""
        return self._status_of(raw), [*JSON, *self._headers]

    def stream_head(self) -> tuple[int, Headers]:
        """Return status and headers of a response that is an event stream."""
        return 200, [*EVENT_STREAM_HEADERS, *self._headers]

    def _status_of(self, raw: bytes) -> int:
        if not self._statuses or b'"error"' not in raw:
            return 200
        try:
            error = json.loads(raw).get("error")
            return self._statuses.get(error["code"], 200)
        except (ValueError, TypeError, KeyError, AttributeError):
            return 200

    def _begin_stream(self) -> None:
        if self._answer.began:
            return
        if self._streams is not None:
            self._stream = self._streams.for_call()
            self._stream.attach(self._answer, None, self._headers)
        else:
            self._answer.begin(*self.stream_head())

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.end()
        else:
            self._answer.end()

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        answer = self._answer
        if streamed and not isinstance(frame, Status | Disconnect):
            self._begin_stream()
        in_stream = answer.began
        match frame:
            case Send():
                raw = bytes_of(frame.message)
                if in_stream:
                    self.write_note(raw)
                else:
                    answer.respond(*self.body_head(raw), raw)
                await answer.drained()
            case Cut():
                self._cut(bytes_of(frame.message), frame.share, in_stream)
            case Drip():
                await self._drip(bytes_of(frame.message), frame, in_stream)
            case KeepAlive():
                await self._keep_alive(frame)
            case EndStream():
                answer.end()
            case Disconnect():
                answer.abort(frame.reset)
            case Status():
                self._status(frame)

    def _status(self, frame: Status) -> None:
        if self._answer.began:
            # The status line has been sent already; a server that fails then can only close the connection.
            self._answer.abort()
            return
        body = bytes_of(frame.body)
        has_type = any(name.lower() == "content-type" for name, _ in frame.headers)
        content_type = [] if has_type or isinstance(frame.body, bytes) else JSON
        self._answer.respond(frame.status, [*content_type, *frame.headers], body)

    def _cut(self, raw: bytes, share: float, in_stream: bool) -> None:
        answer = self._answer
        if in_stream:
            event = event_of(raw)
            answer.write(event[: int(len(event) * share)])
        else:
            answer.begin_sized(*self.body_head(raw), len(raw))
            answer.write_sized(raw[: int(len(raw) * share)])
        answer.abort()

    async def _drip(self, raw: bytes, frame: Drip, in_stream: bool) -> None:
        answer = self._answer
        if not in_stream:
            answer.begin_sized(*self.body_head(raw), len(raw))
        data = event_of(raw) if in_stream else raw
        write = answer.write if in_stream else answer.write_sized
        for start in range(0, len(data), frame.chunk_bytes):
            if start:
                await asyncio.sleep(frame.every_s)
            if not answer.is_open:
                return
            write(data[start : start + frame.chunk_bytes])
            await answer.drained()
        if not in_stream:
            answer.end_sized()

    async def _keep_alive(self, frame: KeepAlive) -> None:
        left_s = frame.for_s
        while left_s > 0 and self._answer.is_open:
            self._answer.write(COMMENT)
            await self._answer.drained()
            await asyncio.sleep(min(frame.every_s, left_s))
            left_s -= frame.every_s


def http_batch(session: Session, answer: ResponseWriter) -> Batch:
    """Return a batch that is answered with one JSON array, or with a stream that ends with the array."""

    def write(array: bytes | None) -> None:
        if answer.began:
            answer.write(b"" if array is None else event_of(array))
            answer.end()
        elif array is None:
            answer.respond(202)
        else:
            answer.respond(200, JSON, array)

    return Batch(session, write)


class HttpBatchExchange(HttpExchange):
    """One request of a batch over HTTP."""

    __slots__ = ("_batch",)

    def __init__(
        self,
        session: Session,
        request: Incoming,
        headers: Mapping[str, str],
        answer: ResponseWriter,
        batch: Batch,
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
        # The end of one item's stream must not end the whole batch.
        if not isinstance(frame, EndStream) and not await self._batch.send(frame):
            await super().send(frame, streamed=streamed)
