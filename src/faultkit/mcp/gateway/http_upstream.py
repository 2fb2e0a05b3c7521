"""A server that is reached by streamable HTTP, for a client that speaks in messages.

It keeps what a client of that transport has to keep: the session, the protocol's version, the stream for what
belongs to no call, and in the modern era the headers that repeat the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable

from faultkit.mcp.gateway.parameter_headers import ParameterHeaders
from faultkit.mcp.gateway.upstream import Gone, Hear
from faultkit.mcp.wire.era import era_of, headers_of
from faultkit.mcp.wire.http.client import HttpClient, Lost, Reply
from faultkit.mcp.wire.message import Id, Incoming, error_of, read
from faultkit.mcp.wire.sse import MOST_BYTES, SseReader, SseTooLong

UPSTREAM_FAILED = -32000
_CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
_LISTEN_AGAIN_S = 1.0


class HttpUpstream:
    def __init__(
        self,
        url: str,
        hear: Hear,
        gone: Gone,
        *,
        headers: Iterable[tuple[str, str]] = (),
        verify: bool = True,
    ) -> None:
        self._client = HttpClient(url, verify=verify)
        self._url = url
        self._hear = hear
        self._own_headers = list(headers)
        self._session: str | None = None
        self._version: str | None = None
        self._parameters = ParameterHeaders()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[Id, asyncio.Task[None]] = {}
        self._initialize: Id | None = None
        self._told: asyncio.Task[None] | None = None
        """The last message that was no request: what comes behind it waits for it."""

    async def start(self) -> None:
        """Nothing is sent before the client says something."""

    def send(self, incoming: Incoming) -> None:
        before = self._told
        if incoming.kind == "request" and incoming.id is not None:
            task = self._begin(self._ask(incoming, incoming.id, before))
            self._asking[incoming.id] = task
        else:
            self._told = self._begin(self._tell(incoming, before))

    def abandon(self, id: Id) -> None:
        task = self._asking.get(id)
        if task is not None:
            task.cancel()

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            try:
                async with asyncio.timeout(1):
                    (await self._client.request("DELETE", self._headers(None), b"")).close()
            except (OSError, Lost, TimeoutError):
                pass
        self._client.close()

    def _begin(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _headers(self, incoming: Incoming | None) -> list[tuple[str, str]]:
        headers = [*self._own_headers]
        if incoming is not None:
            headers += _CONTENT
            if incoming.kind == "request" and era_of(incoming) == "modern":
                return [*headers, *headers_of(incoming), *self._parameters.of(incoming)]
        if self._session is not None:
            headers.append(("mcp-session-id", self._session))
        if self._version is not None:
            headers.append(("mcp-protocol-version", self._version))
        return headers

    async def _ask(self, incoming: Incoming, id: Id, before: asyncio.Task[None] | None) -> None:
        try:
            await _after(before)
            if incoming.method == "initialize":
                self._initialize, self._session, self._version = id, None, None
            reply = await self._client.request("POST", self._headers(incoming), incoming.raw)
            if incoming.method == "initialize":
                self._session = reply.headers.get("mcp-session-id")
            await self._take(reply, id)
        except Lost as lost:
            self._fail(id, f"the upstream's connection was lost: {lost}", {"reset": lost.reset})
        except (OSError, TimeoutError) as error:
            self._fail(id, f"cannot reach {self._url}: {error}", None)
        finally:
            if self._asking.get(id) is asyncio.current_task():
                del self._asking[id]

    async def _take(self, reply: Reply, id: Id) -> None:
        """Hands on what an answer brings; the one for this id has to be among it."""
        if reply.is_stream:
            if not await self._take_stream(reply, id):
                self._fail(id, "the upstream's stream ended without a reply", None)
            return
        body = await reply.body(MOST_BYTES)
        incoming = read(body)
        if incoming.kind == "response":
            # An error may lack the id of what it answers.
            if incoming.id is None and "error" in incoming.message:
                error = incoming.message["error"]
                if isinstance(error, dict):
                    code, text = error.get("code"), error.get("message")
                    code = code if type(code) is int else UPSTREAM_FAILED
                    self._heard(read(error_of(id, code, str(text), error.get("data"))))
                    return
            self._heard(incoming)
            return
        data: dict[str, object] = {"status": reply.status}
        if "retry-after" in reply.headers:
            data["retryAfter"] = reply.headers["retry-after"]
        self._fail(id, f"the upstream answered {reply.status}", data)

    async def _take_stream(self, reply: Reply, id: Id | None) -> bool:
        """Whether the reply to `id` was in it."""
        reader = SseReader()
        answered = False
        try:
            while chunk := await reply.chunk():
                for event in reader.feed(chunk):
                    incoming = read(event.data)
                    if incoming.kind == "response" and incoming.id == id:
                        answered = True
                    self._heard(incoming)
        except SseTooLong as error:
            reply.close()
            raise Lost(str(error), began=True) from None
        finally:
            if not answered:
                reply.close()
        return answered

    async def _tell(self, incoming: Incoming, before: asyncio.Task[None] | None) -> None:
        await _after(before)
        try:
            reply = await self._client.request("POST", self._headers(incoming), incoming.raw)
            await reply.body(MOST_BYTES)
        except (OSError, Lost, TimeoutError):
            # A notification has no answer that could say so; the next request will.
            return
        if incoming.method == "notifications/initialized":
            self._begin(self._listen())

    async def _listen(self) -> None:
        """What belongs to no call comes on a stream of its own, if the server has one."""
        last: str | None = None
        while True:
            headers = [*self._headers(None), ("accept", "text/event-stream")]
            if last is not None:
                headers.append(("last-event-id", last))
            try:
                reply = await self._client.request("GET", headers, b"")
                if reply.status != 200 or not reply.is_stream:
                    reply.close()
                    return
                reader = SseReader()
                while chunk := await reply.chunk():
                    for event in reader.feed(chunk):
                        last = event.id or last
                        self._heard(read(event.data))
            except (OSError, Lost, TimeoutError, SseTooLong):
                pass
            await asyncio.sleep(_LISTEN_AGAIN_S)

    def _heard(self, incoming: Incoming) -> None:
        if incoming.kind == "response":
            self._parameters.learn(incoming)
            if incoming.id is not None and incoming.id == self._initialize:
                self._initialize = None
                result = incoming.message.get("result")
                version = result.get("protocolVersion") if isinstance(result, dict) else None
                self._version = version if isinstance(version, str) else None
        if incoming.kind != "invalid":
            self._hear(incoming)

    def _fail(self, id: Id, why: str, data: object) -> None:
        self._hear(read(error_of(id, UPSTREAM_FAILED, why, data)))


async def _after(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        await asyncio.wait([task])


def check_url(url: str) -> None:
    """InputError if it is none of ours."""
    HttpClient(url).close()
