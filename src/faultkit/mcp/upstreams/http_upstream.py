"""A server reached over streamable HTTP, for a peer that deals in messages.

`HttpUpstream` keeps the state of a client of that transport. Legacy (MCP 2025-11-25, Transports):

    Session Management             Mcp-Session-Id on every request after `initialize`, DELETE at the end
    Protocol Version Header        Mcp-Protocol-Version on every request after `initialize`
    Listening for Messages ...     the GET stream for messages that belong to no call
    Resumability and Redelivery    a broken stream is resumed by GET with Last-Event-ID

Modern (MCP 2026-07-28, Streamable HTTP): the headers of Request Metadata repeat the body, closing the
response cancels the call, and there is neither a session nor resumption.

Order: the peer sends messages one after the other, but each is an HTTP request of its own, and these run
concurrently. Notifications, responses and `initialize` therefore form a chain (`_in_order`): each message
waits until the last of them has been answered. Requests wait for the chain but do not extend it, so that they
run concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from faultkit.base.address import Verify
from faultkit.base.framing import MOST_MESSAGE_BYTES, SseEvent, SseReader, SseTooLong
from faultkit.base.http.http_client import ConnectionLost, HttpClient, HttpReply
from faultkit.base.http.http_exchange import Headers
from faultkit.base.http.http_url import check_no_credentials, parse_url
from faultkit.base.tasks import TaskSet
from faultkit.mcp.upstreams.upstream import UPSTREAM_FAILED, UpstreamListener
from faultkit.mcp.wire.era import HEADER_MISMATCH, ParameterHeaders, era_of, headers_of
from faultkit.mcp.wire.message import CANCELLED, Id, Incoming, encode, error_of, read

_CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
_RETRY_S = 1.0
"""Seconds before a stream is resumed if the server sends no `retry` field."""
_LEAST_RETRY_S, _MOST_RETRY_S = 0.1, 60.0
"""Bounds for the server's `retry` field."""
_MOST_EMPTY_STREAMS = 10
"""GET streams in a row that closed soon and without events, after which no more are opened."""
_USEFUL_S = 5.0
"""A stream that stayed open for this long counts as useful even without events."""
_MOST_REDIRECTS = 5
_MOST_ATTEMPTS = 5
"""Failed attempts in a row after which resuming a stream is given up."""
_LATE_S = 5.0
"""Seconds for which a reply may still come after its cancellation, in the legacy era."""
_MOST_PAGES = 100
_NEWLINES_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")


@dataclass(slots=True)
class _StreamPosition:
    """The point from which a stream can be resumed."""

    last_event_id: str | None = None
    retry_s: float = _RETRY_S
    """Seconds to wait before the stream is resumed."""
    events: int = 0
    """Number of events received."""

    def note(self, event: SseEvent) -> None:
        self.events += 1
        if event.id is not None:
            self.last_event_id = event.id or None
        if event.retry_ms is not None:
            self.retry_s = min(max(event.retry_ms / 1000, _LEAST_RETRY_S), _MOST_RETRY_S)


class HttpUpstream:
    """An `Upstream` over streamable HTTP."""

    def __init__(
        self,
        url: str,
        listener: UpstreamListener,
        *,
        headers: Iterable[tuple[str, str]] = (),
        verify: Verify = True,
    ) -> None:
        self._client = HttpClient(url, verify=verify)
        self._url = url
        self._listener = listener
        self._added_headers = list(headers)
        self._session: str | None = None
        """Mcp-Session-Id that the server assigned; None if it assigned none."""
        self._version: str | None = None
        """Protocol version that `initialize` negotiated."""
        self._parameters = ParameterHeaders()
        self._tasks: TaskSet[None] = TaskSet()
        self._requests: dict[Id, asyncio.Task[None]] = {}
        """Tasks of open requests by id."""
        self._initialize_id: Id | None = None
        """Id of an open `initialize`."""
        self._is_legacy = False
        self._get_stream: asyncio.Task[None] | None = None
        self._in_order: asyncio.Future[None] | None = None
        """The newest notification, response or `initialize`, until it is answered; later messages wait for
        it."""
        self._may_read = asyncio.Event()
        self._may_read.set()

    async def start(self) -> None:
        """Do nothing: the first message opens the connection."""

    def send(self, incoming: Incoming) -> None:
        before = self._in_order
        if incoming.kind == "request" and incoming.id is not None:
            opened: asyncio.Future[None] | None = None
            if incoming.method == "initialize":
                self._is_legacy = True
                self._in_order = opened = asyncio.get_running_loop().create_future()
            task = self._tasks.start(self._send_request(incoming, incoming.id, before, opened))
            self._requests[incoming.id] = task
        elif self._is_legacy or incoming.method != CANCELLED:
            # In the modern era no cancellation is sent: closing the response cancels the call (MCP
            # 2026-07-28, Streamable HTTP, Cancellation). `abandon` closes it.
            self._in_order = self._tasks.start(self._send_other(incoming, before))

    def abandon(self, id: Id) -> None:
        task = self._requests.get(id)
        if task is None:
            return
        if self._is_legacy:
            # Disconnection is no cancellation here (MCP 2025-11-25, Transports, Sending Messages to the
            # Server): `notifications/cancelled` has been sent, and the reply may still come.
            asyncio.get_running_loop().call_later(_LATE_S, task.cancel)
        else:
            task.cancel()

    def pause(self, paused: bool) -> None:
        self._may_read.clear() if paused else self._may_read.set()

    @property
    def unread_bytes(self) -> int:
        return 0

    def close_input(self) -> None:
        if self._get_stream is not None:
            self._get_stream.cancel()

    async def stop(self, *, urgent: bool = False) -> None:
        await self._tasks.cancel()
        if self._session is not None:
            session = self._headers(None)
            self._session = None
            try:
                async with asyncio.timeout(1):
                    (await self._request("DELETE", session)).close()
            except (OSError, ConnectionLost, TimeoutError):
                pass
        self._client.close()

    async def _request(self, method: str, headers: Headers, body: bytes = b"") -> HttpReply:
        """Send a request and follow 307 and 308 redirects within the origin."""
        address, target = self._client.address, self._client.target
        for _ in range(_MOST_REDIRECTS):
            reply = await self._client.request(method, headers, body, target)
            there = None
            if reply.status in (307, 308):
                there = address.redirected(target, reply.headers.get("location", ""))
            if there is None or there.origin != address.origin:
                return reply
            await reply.body(MOST_MESSAGE_BYTES)
            target = there.target
        return await self._client.request(method, headers, body, target)

    def _headers(self, incoming: Incoming | None) -> Headers:
        headers = [*self._added_headers]
        if incoming is not None:
            headers += _CONTENT
            if incoming.kind == "request" and era_of(incoming) == "modern":
                return [*headers, *headers_of(incoming), *self._parameters.of(incoming)]
        if self._session is not None:
            headers.append(("mcp-session-id", self._session))
        if self._version is not None:
            headers.append(("mcp-protocol-version", self._version))
        return headers

    async def _send_request(
        self,
        incoming: Incoming,
        id: Id,
        before: asyncio.Future[None] | None,
        opened: asyncio.Future[None] | None,
    ) -> None:
        """Send a request and deliver its reply. `opened`: set for `initialize`; resolved when the session id
        is known."""
        former: tuple[str | None, str | None] | None = None
        try:
            await _wait_for(before)
            if opened is not None:
                former = self._session, self._version
                self._initialize_id, self._session, self._version = id, None, None
            reply = await self._request("POST", self._headers(incoming), incoming.raw)
            if opened is not None and reply.status < 300:
                self._session = reply.headers.get("mcp-session-id")
                opened.set_result(None)
            await self._deliver_response(reply, incoming, id)
        except ConnectionLost as lost:
            self._deliver_error(id, f"the upstream's connection was lost: {lost}", {"reset": lost.reset})
        except (OSError, TimeoutError) as error:
            self._deliver_error(id, f"cannot reach {self._url}: {error}", None)
        finally:
            if opened is not None and not opened.done():
                if former is not None:
                    # It was refused: the earlier session, if any, still exists.
                    self._session, self._version = former
                opened.set_result(None)
            if self._requests.get(id) is asyncio.current_task():
                del self._requests[id]

    async def _deliver_response(
        self, reply: HttpReply, asked: Incoming, id: Id, *, again: bool = True
    ) -> None:
        """Deliver the messages of a response; report an error if the reply for this id is not among them."""
        if reply.is_stream:
            if not await self._follow_stream(reply, id, era_of(asked) == "legacy"):
                self._deliver_error(id, "the upstream's stream ended without a reply", None)
            return
        incoming = read(await reply.body(MOST_MESSAGE_BYTES))
        if incoming.kind == "response":
            error = incoming.message.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            if again and code == HEADER_MISMATCH and asked.method == "tools/call":
                # The peer may not have listed the tools, so their header marks are unknown. The call was
                # refused, not served: list the tools and send it again (MCP 2026-07-28, Streamable HTTP,
                # Client Behavior).
                await self._list_tools(asked)
                reply = await self._request("POST", self._headers(asked), asked.raw)
                await self._deliver_response(reply, asked, id, again=False)
                return
            if incoming.id is None and isinstance(error, dict):
                # An HTTP error may carry a JSON-RPC error without an id.
                code = code if type(code) is int else UPSTREAM_FAILED
                incoming = read(error_of(id, code, str(error.get("message")), error.get("data")))
            self._deliver(incoming)
            if incoming.id != id or type(incoming.id) is not type(id):
                self._deliver_error(
                    id, f"the upstream answered with another id: {incoming.message.get('id')!r}", None
                )
            return
        self._deliver_error(id, *_error_of(reply))

    async def _list_tools(self, asked: Incoming) -> None:
        """Read all pages of `tools/list`, to learn which arguments of tools are repeated in headers."""
        cursor: object = None
        for _ in range(_MOST_PAGES):
            params = {"_meta": asked.params["_meta"], **({} if cursor is None else {"cursor": cursor})}
            request = read(encode({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params}))
            reply = await self._request("POST", self._headers(request), request.raw)
            body = await reply.body(MOST_MESSAGE_BYTES)
            for message in [event.data for event in SseReader().feed(body)] if reply.is_stream else [body]:
                listed = read(message)
                self._parameters.learn(listed)
                result = listed.message.get("result")
                cursor = result.get("nextCursor") if isinstance(result, dict) else None
            if cursor is None:
                return

    async def _follow_stream(self, reply: HttpReply, id: Id, can_resume: bool) -> bool:
        """Read the stream of a call until its reply, resuming it after breaks; return whether the reply
        came.

        A stream can be resumed once an event with an id has come, however often it breaks; attempts that
        bring no new event are limited."""
        position = _StreamPosition()
        attempts = 0
        while True:
            before = position.last_event_id
            try:
                if await self._read_stream(reply, position, id):
                    return True
                lost: ConnectionLost | None = None
            except ConnectionLost as error:
                lost = error
            attempts = 0 if position.last_event_id != before else attempts + 1
            if not can_resume or position.last_event_id is None or attempts > _MOST_ATTEMPTS:
                if lost is not None:
                    raise lost
                return False
            await asyncio.sleep(position.retry_s)
            resumed = await self._open_get_stream(position)
            if resumed is None:
                return False
            reply = resumed

    async def _open_get_stream(self, position: _StreamPosition) -> HttpReply | None:
        """Return a new stream, resumed from the last event id if there is one; None if the server offers
        none."""
        headers = [*self._headers(None), ("accept", "text/event-stream")]
        if position.last_event_id is not None:
            headers.append(("last-event-id", position.last_event_id))
        reply = await self._request("GET", headers)
        if reply.status == 200 and reply.is_stream:
            return reply
        reply.close()
        return None

    async def _read_stream(self, reply: HttpReply, position: _StreamPosition, id: Id | None) -> bool:
        """Deliver the messages of a stream; return True once the reply to `id` has come, False at its end."""
        reader = SseReader()
        answered = False
        try:
            while not answered:
                await self._may_read.wait()
                chunk = await reply.chunk()
                if not chunk:
                    return False
                for event in reader.feed(chunk):
                    position.note(event)
                    incoming = read(event.data)
                    if incoming.kind == "response" and incoming.id == id:
                        answered = True
                    if event.data:
                        self._deliver(incoming)
            # Reading to the end frees the connection; a server that keeps the stream open is abandoned.
            async with asyncio.timeout(0.1):
                await reply.body(MOST_MESSAGE_BYTES)
        except SseTooLong as error:
            raise ConnectionLost(str(error), began=True) from None
        except (TimeoutError, ConnectionLost):
            if not answered:
                raise
        finally:
            reply.close()
        return answered

    async def _send_other(self, incoming: Incoming, before: asyncio.Future[None] | None) -> None:
        """Send a message that is not a single request: a notification, a response, a batch, invalid bytes."""
        await _wait_for(before)
        # A notification has no reply that could report a failure; the next request will.
        request_ids = [item.id for item in incoming.items if item.kind == "request" and item.id is not None]
        try:
            reply = await self._request("POST", self._headers(incoming), incoming.raw)
            if reply.is_stream:
                await self._read_stream(reply, _StreamPosition(), None)
                return
            body = await reply.body(MOST_MESSAGE_BYTES)
        except (OSError, ConnectionLost, TimeoutError) as error:
            for id in request_ids:
                self._deliver_error(id, f"cannot reach {self._url}: {error}", None)
            return
        answered = read(body) if body else None
        if answered is not None and incoming.kind in ("batch", "invalid"):
            self._deliver(answered)
        if answered is None or answered.kind == "invalid":
            for id in request_ids:
                self._deliver_error(id, *_error_of(reply))
        if incoming.method == "notifications/initialized":
            if self._get_stream is not None:
                self._get_stream.cancel()
            self._get_stream = self._tasks.start(self._listen())

    async def _listen(self) -> None:
        """Read the GET stream for messages that belong to no call, if the server offers one."""
        position = _StreamPosition()
        loop = asyncio.get_running_loop()
        empty_streams = 0
        while empty_streams < _MOST_EMPTY_STREAMS:
            before, began_s = position.events, loop.time()
            try:
                reply = await self._open_get_stream(position)
                if reply is None:
                    return
                await self._read_stream(reply, position, None)
            except (OSError, ConnectionLost, TimeoutError):
                pass
            # The server may close the stream at any time; the client then waits as `retry` says and opens it
            # again. Back off from a server that closes it each time without having sent anything.
            is_useful = position.events > before or loop.time() - began_s > _USEFUL_S
            empty_streams = 0 if is_useful else empty_streams + 1
            await asyncio.sleep(min(position.retry_s * 2 ** max(0, empty_streams - 1), _MOST_RETRY_S))

    def _deliver(self, incoming: Incoming) -> None:
        """Hand a message of the server to the listener."""
        if incoming.kind == "response":
            self._parameters.learn(incoming)
            if incoming.id is not None and incoming.id == self._initialize_id:
                self._initialize_id = None
                result = incoming.message.get("result")
                version = result.get("protocolVersion") if isinstance(result, dict) else None
                self._version = version if isinstance(version, str) else None
        if b"\n" in incoming.raw or b"\r" in incoming.raw:
            # An event may have several data lines; a message on stdio must not contain newlines (MCP
            # 2025-11-25, Transports, stdio).
            incoming = read(incoming.raw.translate(_NEWLINES_TO_SPACES))
        self._listener.on_message(incoming)

    def _deliver_error(self, id: Id, why: str, data: object) -> None:
        self._listener.on_message(read(error_of(id, UPSTREAM_FAILED, why, data)))


async def _wait_for(before: asyncio.Future[None] | None) -> None:
    if before is not None and not before.done():
        await asyncio.wait([before])


def _error_of(reply: HttpReply) -> tuple[str, dict[str, object]]:
    """Return text and data of the error for a response without a JSON-RPC message."""
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
    """Raise InputError for a URL that cannot be an upstream."""
    parse_url(url)
    check_no_credentials(url)
