"""A server over streamable HTTP, as a probe speaks to it: every answer with its status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from faultkit.base.errors import TargetError
from faultkit.base.http.client import HttpClient, Lost, Reply
from faultkit.base.http.server import Headers
from faultkit.faults.call.call import Transport
from faultkit.mcp.gateway.parameter_headers import ParameterHeaders
from faultkit.mcp.probe.servers.seen import Seen, shortened
from faultkit.mcp.probe.servers.wire.wire import answer_to
from faultkit.mcp.wire.era import era_of, headers_of
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.sse import MOST_BYTES, SseReader, SseTooLong

_CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
_LEAVING_S = 2.0
_MAY_NOT_LEAVE = 405
"""A server need not let its clients end a session."""


class HttpWire:
    transport: Transport = "http"

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._client = HttpClient(url)
        self._own = list(headers.items())
        self._session: str | None = None
        self._parameters = ParameterHeaders()
        self._answers: set[asyncio.Task[None]] = set()
        self.version: str | None = None
        self.gone = ""
        self.strays = 0

    async def start(self) -> None:
        """Nothing is sent before there is something to say; but somebody has to listen there."""
        try:
            async with asyncio.timeout(_LEAVING_S):
                _, writer = await asyncio.open_connection(self._client.host, self._client.port)
        except (OSError, TimeoutError) as error:
            why = (getattr(error, "strerror", None) or str(error) or "no answer").lower()
            raise TargetError(f"cannot reach {self._url}: {why}") from None
        writer.close()

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> Seen:
        status: int | None = None
        replies: list[Mapping[str, Any]] = []
        try:
            async with asyncio.timeout(wait_s):
                reply = await self._client.request("POST", self._headers(raw), raw)
                status = reply.status
                self._session = reply.headers.get("mcp-session-id", self._session)
                trouble = await self._take(reply, replies)
        except TimeoutError:
            trouble = f"no answer within {wait_s:g} s"
        except Lost as lost:
            return Seen(raw, tuple(replies), status, f"the connection was lost: {lost}", gone=True)
        except OSError as error:
            return Seen(raw, (), status, f"cannot reach {self._url}: {error}", gone=True)
        return Seen(raw, tuple(replies), status, "" if replies else trouble)

    async def tell(self, raw: bytes) -> None:
        with suppress(OSError, Lost, TimeoutError):
            async with asyncio.timeout(_LEAVING_S):
                await (await self._client.request("POST", self._headers(raw), raw)).body(MOST_BYTES)

    async def leave(self, wait_s: float) -> str:
        try:
            if self._session is None:
                return ""
            async with asyncio.timeout(wait_s):
                reply = await self._client.request("DELETE", self._headers(b""), b"")
                reply.close()
        except TimeoutError:
            return f"no answer to DELETE within {wait_s:g} s"
        except (OSError, Lost) as error:
            return f"the connection was lost over DELETE: {error}"
        finally:
            self._session = None
            await self.stop()
        is_ended = 200 <= reply.status < 300 or reply.status == _MAY_NOT_LEAVE
        return "" if is_ended else f"DELETE of the session was answered with {reply.status}"

    async def stop(self) -> None:
        for task in tuple(self._answers):
            task.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)
        if self._session is not None:
            with suppress(OSError, Lost, TimeoutError):
                async with asyncio.timeout(_LEAVING_S):
                    (await self._client.request("DELETE", self._headers(b""), b"")).close()
            self._session = None
        self._client.close()

    def _headers(self, raw: bytes) -> Headers:
        headers = [*self._own, *(_CONTENT if raw else ())]
        incoming = read(raw)
        if incoming.kind == "request" and era_of(incoming) == "modern":
            return [*headers, *headers_of(incoming), *self._parameters.of(incoming)]
        if self._session is not None:
            headers.append(("mcp-session-id", self._session))
        if self.version is not None:
            headers.append(("mcp-protocol-version", self.version))
        return headers

    async def _take(self, reply: Reply, replies: list[Mapping[str, Any]]) -> str:
        """Adds the responses that an answer brings. What is wrong if there are none."""
        if reply.is_stream:
            reader = SseReader()
            while not replies and (chunk := await reply.chunk()):
                try:
                    events = reader.feed(chunk)
                except SseTooLong as error:
                    return str(error)
                for event in events:
                    self._hear(read(event.data), replies)
            reply.close()
            return "the stream ended without a reply"
        body = await reply.body(MOST_BYTES)
        self._hear(read(body), replies)
        return f"HTTP {reply.status} with {shortened(body) or 'no body'}"

    def _hear(self, incoming: Incoming, replies: list[Mapping[str, Any]]) -> None:
        if incoming.kind == "response":
            self._parameters.learn(incoming)
            replies.append(incoming.message)
        elif incoming.kind == "request":
            task = asyncio.get_running_loop().create_task(self.tell(answer_to(incoming)))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
