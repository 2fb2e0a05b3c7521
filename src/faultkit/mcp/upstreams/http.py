"""A server that is reached by streamable HTTP, for a client that speaks in messages.

It keeps what a client of that transport has to keep: the session, the protocol's version, the stream for what
belongs to no call, streams that are gone on with after a break, and in the modern era the headers that repeat
the body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass

from faultkit.base.http.address import check_no_user, parse_url
from faultkit.base.http.client import HttpClient, Lost, Reply
from faultkit.base.http.server import Headers
from faultkit.mcp.gateway.link import UPSTREAM_FAILED
from faultkit.mcp.gateway.parameter_headers import ParameterHeaders
from faultkit.mcp.upstreams.upstream import Listener
from faultkit.mcp.wire.era import HEADER_MISMATCH, era_of, headers_of
from faultkit.mcp.wire.message import CANCELLED, Id, Incoming, encode, error_of, read
from faultkit.mcp.wire.sse import MOST_BYTES, Event, SseReader, SseTooLong

_CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
_AGAIN_S = 1.0
"""When a stream is gone on with, if the server does not say."""
_LEAST_AGAIN_S, _MOST_AGAIN_S = 0.1, 60.0
"""Whatever the server says."""
_MOST_IN_VAIN = 10
"""Streams in a row that brought nothing and were closed at once, before no other one is asked for."""
_FRUITFUL_S = 5.0
"""A stream that was there for so long is one, though nothing came."""
_MOST_REDIRECTS = 5
_MOST_ATTEMPTS = 5
"""In a row and in vain, before a stream is given up."""
_LATE_S = 5.0
"""So long a reply may come after its cancellation, in the legacy era."""
_MOST_PAGES = 100
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


@dataclass(slots=True)
class _Place:
    """Where a stream can be gone on with."""

    last: str | None = None
    again_s: float = _AGAIN_S
    events: int = 0
    """How many have come."""

    def note(self, event: Event) -> None:
        self.events += 1
        if event.id is not None:
            self.last = event.id or None
        if event.retry_ms is not None:
            self.again_s = min(max(event.retry_ms / 1000, _LEAST_AGAIN_S), _MOST_AGAIN_S)


class HttpUpstream:
    def __init__(
        self,
        url: str,
        listener: Listener,
        *,
        headers: Iterable[tuple[str, str]] = (),
        verify: bool = True,
    ) -> None:
        self._client = HttpClient(url, verify=verify)
        self._url = url
        self._listener = listener
        self._own_headers = list(headers)
        self._session: str | None = None
        self._version: str | None = None
        self._parameters = ParameterHeaders()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[Id, asyncio.Task[None]] = {}
        self._initialize: Id | None = None
        self._is_legacy = False
        self._listening: asyncio.Task[None] | None = None
        self._told: asyncio.Future[None] | None = None
        """The last message that was no request, or the opening of the session: what comes behind waits."""
        self._flow = asyncio.Event()
        self._flow.set()

    async def start(self) -> None:
        """Nothing is sent before the client says something."""

    def send(self, incoming: Incoming) -> None:
        before = self._told
        if incoming.kind == "request" and incoming.id is not None:
            opened: asyncio.Future[None] | None = None
            if incoming.method == "initialize":
                self._is_legacy = True
                self._told = opened = asyncio.get_running_loop().create_future()
            task = self._begin(self._ask(incoming, incoming.id, before, opened))
            self._asking[incoming.id] = task
        elif self._is_legacy or incoming.method != CANCELLED:
            # In the modern era, closing the answer is what cancels.
            self._told = self._begin(self._tell(incoming, before))

    def abandon(self, id: Id) -> None:
        task = self._asking.get(id)
        if task is None:
            return
        if self._is_legacy:
            asyncio.get_running_loop().call_later(_LATE_S, task.cancel)
        else:
            task.cancel()

    def pause(self, paused: bool) -> None:
        self._flow.clear() if paused else self._flow.set()

    @property
    def unread_bytes(self) -> int:
        return 0

    def close_input(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    async def stop(self, *, urgent: bool = False) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            session = self._headers(None)
            self._session = None
            try:
                async with asyncio.timeout(1):
                    (await self._request("DELETE", session)).close()
            except (OSError, Lost, TimeoutError):
                pass
        self._client.close()

    def _begin(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _request(self, method: str, headers: Headers, body: bytes = b"") -> Reply:
        """The head of an answer; of the last one, where the server sends us on to another of its places."""
        address, target = self._client.address, self._client.target
        for _ in range(_MOST_REDIRECTS):
            reply = await self._client.request(method, headers, body, target)
            there = None
            if reply.status in (307, 308):
                there = address.redirected(target, reply.headers.get("location", ""))
            if there is None or there.origin != address.origin:
                return reply
            await reply.body(MOST_BYTES)
            target = there.target
        return await self._client.request(method, headers, body, target)

    def _headers(self, incoming: Incoming | None) -> Headers:
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

    async def _ask(
        self,
        incoming: Incoming,
        id: Id,
        before: asyncio.Future[None] | None,
        opened: asyncio.Future[None] | None,
    ) -> None:
        """`opened`: of a request that opens a session; done when its id is known."""
        kept: tuple[str | None, str | None] | None = None
        try:
            await _after(before)
            if opened is not None:
                kept = self._session, self._version
                self._initialize, self._session, self._version = id, None, None
            reply = await self._request("POST", self._headers(incoming), incoming.raw)
            if opened is not None and reply.status < 300:
                self._session = reply.headers.get("mcp-session-id")
                opened.set_result(None)
            await self._take(reply, incoming, id)
        except Lost as lost:
            self._fail(id, f"the upstream's connection was lost: {lost}", {"reset": lost.reset})
        except (OSError, TimeoutError) as error:
            self._fail(id, f"cannot reach {self._url}: {error}", None)
        finally:
            if opened is not None and not opened.done():
                if kept is not None:
                    # It was refused: whatever session there was is still there.
                    self._session, self._version = kept
                opened.set_result(None)
            if self._asking.get(id) is asyncio.current_task():
                del self._asking[id]

    async def _take(self, reply: Reply, asked: Incoming, id: Id, *, again: bool = True) -> None:
        """Hands on what an answer brings; the one for this id has to be among it."""
        if reply.is_stream:
            if not await self._follow(reply, id, era_of(asked) == "legacy"):
                self._fail(id, "the upstream's stream ended without a reply", None)
            return
        incoming = read(await reply.body(MOST_BYTES))
        if incoming.kind == "response":
            error = incoming.message.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            if again and code == HEADER_MISMATCH and asked.method == "tools/call":
                # A client that speaks in messages knows nothing of headers, and need not have listed the
                # tools. The call has been refused, not served: it can be made again.
                await self._list_tools(asked)
                reply = await self._request("POST", self._headers(asked), asked.raw)
                await self._take(reply, asked, id, again=False)
                return
            if incoming.id is None and isinstance(error, dict):
                # An error may lack the id of what it answers.
                code = code if type(code) is int else UPSTREAM_FAILED
                incoming = read(error_of(id, code, str(error.get("message")), error.get("data")))
            self._heard(incoming)
            if incoming.id != id or type(incoming.id) is not type(id):
                self._fail(id, f"the upstream answered with another id: {incoming.message.get('id')!r}", None)
            return
        self._fail(id, *_refused(reply))

    async def _list_tools(self, asked: Incoming) -> None:
        cursor: object = None
        for _ in range(_MOST_PAGES):
            params = {"_meta": asked.params["_meta"], **({} if cursor is None else {"cursor": cursor})}
            request = read(encode({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params}))
            reply = await self._request("POST", self._headers(request), request.raw)
            body = await reply.body(MOST_BYTES)
            for message in [event.data for event in SseReader().feed(body)] if reply.is_stream else [body]:
                listed = read(message)
                self._parameters.learn(listed)
                result = listed.message.get("result")
                cursor = result.get("nextCursor") if isinstance(result, dict) else None
            if cursor is None:
                return

    async def _follow(self, reply: Reply, id: Id, can_resume: bool) -> bool:
        """Reads the stream of a call to its reply, over breaks if the server allows for that. Whether the
        reply was in it."""
        place = _Place()
        attempts = 0
        while True:
            before = place.last
            try:
                if await self._read(reply, place, id):
                    return True
                lost: Lost | None = None
            except Lost as error:
                lost = error
            attempts = 0 if place.last != before else attempts + 1
            if not can_resume or place.last is None or attempts > _MOST_ATTEMPTS:
                if lost is not None:
                    raise lost
                return False
            await asyncio.sleep(place.again_s)
            resumed = await self._resume(place)
            if resumed is None:
                return False
            reply = resumed

    async def _resume(self, place: _Place) -> Reply | None:
        headers = [*self._headers(None), ("accept", "text/event-stream")]
        if place.last is not None:
            headers.append(("last-event-id", place.last))
        reply = await self._request("GET", headers)
        if reply.status == 200 and reply.is_stream:
            return reply
        reply.close()
        return None

    async def _read(self, reply: Reply, place: _Place, id: Id | None) -> bool:
        """Hands on what a stream brings until it ends; True as soon as the reply to `id` has come."""
        reader = SseReader()
        answered = False
        try:
            while not answered:
                await self._flow.wait()
                chunk = await reply.chunk()
                if not chunk:
                    return False
                for event in reader.feed(chunk):
                    place.note(event)
                    incoming = read(event.data)
                    if incoming.kind == "response" and incoming.id == id:
                        answered = True
                    if event.data:
                        self._heard(incoming)
            # The end of the stream frees its connection; a server that does not end it is left.
            async with asyncio.timeout(0.1):
                await reply.body(MOST_BYTES)
        except SseTooLong as error:
            raise Lost(str(error), began=True) from None
        except (TimeoutError, Lost):
            if not answered:
                raise
        finally:
            reply.close()
        return answered

    async def _tell(self, incoming: Incoming, before: asyncio.Future[None] | None) -> None:
        await _after(before)
        # A notification has no answer that could say what went wrong; the next request will.
        asked = [item.id for item in incoming.items if item.kind == "request" and item.id is not None]
        try:
            reply = await self._request("POST", self._headers(incoming), incoming.raw)
            if reply.is_stream:
                await self._read(reply, _Place(), None)
                return
            body = await reply.body(MOST_BYTES)
        except (OSError, Lost, TimeoutError) as error:
            for id in asked:
                self._fail(id, f"cannot reach {self._url}: {error}", None)
            return
        answered = read(body) if body else None
        if answered is not None and incoming.kind in ("batch", "invalid"):
            self._heard(answered)
        if answered is None or answered.kind == "invalid":
            for id in asked:
                self._fail(id, *_refused(reply))
        if incoming.method == "notifications/initialized":
            if self._listening is not None:
                self._listening.cancel()
            self._listening = self._begin(self._listen())

    async def _listen(self) -> None:
        """What belongs to no call comes on a stream of its own, if the server has one."""
        place = _Place()
        loop = asyncio.get_running_loop()
        in_vain = 0
        while in_vain < _MOST_IN_VAIN:
            before, began_s = place.events, loop.time()
            try:
                reply = await self._resume(place)
                if reply is None:
                    return
                await self._read(reply, place, None)
            except (OSError, Lost, TimeoutError):
                pass
            # A server that only ever closes it must not be asked as fast as it can.
            is_fruitful = place.events > before or loop.time() - began_s > _FRUITFUL_S
            in_vain = 0 if is_fruitful else in_vain + 1
            await asyncio.sleep(min(place.again_s * 2 ** max(0, in_vain - 1), _MOST_AGAIN_S))

    def _heard(self, incoming: Incoming) -> None:
        if incoming.kind == "response":
            self._parameters.learn(incoming)
            if incoming.id is not None and incoming.id == self._initialize:
                self._initialize = None
                result = incoming.message.get("result")
                version = result.get("protocolVersion") if isinstance(result, dict) else None
                self._version = version if isinstance(version, str) else None
        if b"\n" in incoming.raw or b"\r" in incoming.raw:
            # An event may have several lines, a message on pipes may not.
            incoming = read(incoming.raw.translate(_ONE_LINE))
        self._listener.hear(incoming)

    def _fail(self, id: Id, why: str, data: object) -> None:
        self._listener.hear(read(error_of(id, UPSTREAM_FAILED, why, data)))


async def _after(before: asyncio.Future[None] | None) -> None:
    if before is not None and not before.done():
        await asyncio.wait([before])


def _refused(reply: Reply) -> tuple[str, dict[str, object]]:
    """Words and data for an answer that has no message for the client."""
    data: dict[str, object] = {"status": reply.status}
    if "retry-after" in reply.headers:
        data["retryAfter"] = reply.headers["retry-after"]
    what = "something that is no JSON-RPC message, with " if 200 <= reply.status < 300 else ""
    where = ""
    if 300 <= reply.status < 400 and "location" in reply.headers:
        data["location"] = reply.headers["location"]
        where = f": it sends us on to {reply.headers['location']}; give that as --upstream"
    return f"the upstream answered {what}{reply.status}{where}", data


def check_url(url: str) -> None:
    """InputError if it is none of ours."""
    parse_url(url)
    check_no_user(url)
