"""One request over HTTP: a JSON body if there is nothing but the reply, else a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import ClassVar

from faultkit.base.http.server import Answer, Headers
from faultkit.faults.call.call import (
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
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming, bytes_of
from faultkit.mcp.wire.sse import COMMENT, event_of
from faultkit.mcp.wire.streams import HEAD, MOST_UNREAD_BYTES, EventStream, Streams

JSON: Headers = [("content-type", "application/json")]


class HttpExchange(Exchange):
    transport: ClassVar[Transport] = "http"
    __slots__ = ("_answer", "_headers", "_statuses", "_stream", "_streams")

    def __init__(
        self,
        session: Session,
        request: Incoming,
        headers: Mapping[str, str],
        answer: Answer,
        streams: Streams | None,
        statuses: Mapping[int, int],
        own_headers: Headers | None = None,
    ) -> None:
        """`streams`: of a session whose readers may come back; None where they cannot. `statuses`: of errors
        by their code."""
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
            # In the modern era nobody can come back for the rest: this is the client's way to cancel.
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
            self._answer.whole(*self.body_head(raw), raw)

    def write_nothing(self) -> None:
        if self._answer.began:
            self._end_stream()
        elif self._answer.is_open:
            # Nobody waits for it any more, but an answer in good order keeps the connection usable.
            self._answer.whole(202, self._headers)

    def write_end(self) -> None:
        self._answer.abort()

    def body_head(self, raw: bytes) -> tuple[int, Headers]:
        """Status and headers of an answer whose body is this message."""
        return self._status_of(raw), [*JSON, *self._headers]

    def stream_head(self) -> tuple[int, Headers]:
        return 200, [*HEAD, *self._headers]

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
                    answer.whole(*self.body_head(raw), raw)
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
            # Its status is out. A server that fails then can only hang up.
            self._answer.abort()
            return
        body = bytes_of(frame.body)
        named = any(name.lower() == "content-type" for name, _ in frame.headers)
        kind = [] if named or isinstance(frame.body, bytes) else JSON
        self._answer.whole(frame.status, [*kind, *frame.headers], body)

    def _cut(self, raw: bytes, share: float, in_stream: bool) -> None:
        answer = self._answer
        if in_stream:
            event = event_of(raw)
            answer.write(event[: int(len(event) * share)])
        else:
            answer.begin_sized(*self.body_head(raw), len(raw))
            answer.write_plain(raw[: int(len(raw) * share)])
        answer.abort()

    async def _drip(self, raw: bytes, frame: Drip, in_stream: bool) -> None:
        answer = self._answer
        if not in_stream:
            answer.begin_sized(*self.body_head(raw), len(raw))
        whole = event_of(raw) if in_stream else raw
        write = answer.write if in_stream else answer.write_plain
        for start in range(0, len(whole), frame.chunk_bytes):
            if start:
                await asyncio.sleep(frame.every_s)
            if not answer.is_open:
                return
            write(whole[start : start + frame.chunk_bytes])
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
