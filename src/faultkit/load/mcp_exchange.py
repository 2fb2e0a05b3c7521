"""One request of MCP over HTTP and its answer: the bytes of requests, the reader of replies, and a connection
that carries one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from faultkit.base.framing import MOST_MESSAGE_BYTES, SseReader
from faultkit.load.connection import Connection, ConnectionOwner
from faultkit.load.engine_base import Requester
from faultkit.load.load import McpTarget
from faultkit.load.mcp_target import CallWriter, http_route, is_reply_to
from faultkit.load.response import Failure, ResponseReader
from faultkit.mcp.wire.era import ParameterHeaders, headers_of
from faultkit.mcp.wire.message import Incoming, read

_LENGTH = b"Content-Length: 0\r\n"


class McpRequests:
    """The requests to one server."""

    def __init__(self, target: McpTarget, *, keep_alive: bool) -> None:
        self.writer = CallWriter(target)
        self.parameters = ParameterHeaders()
        self.is_modern = target.era == "modern"
        self._target = target
        self._keep_alive = keep_alive

    def heads(self, headers: Sequence[tuple[str, str]]) -> RequestHeads:
        """Return the heads of requests with these headers besides the usual ones."""
        return RequestHeads(self, tuple(headers))

    def head(self, method: str, headers: Sequence[tuple[str, str]]) -> bytes:
        """Return a head without its end, and without the length of a body."""
        route = http_route(self._target, keep_alive=self._keep_alive, headers=headers, method=method)
        assert route is not None
        return route.request.replace(_LENGTH, b"", 1).removesuffix(b"\r\n")


class RequestHeads:
    """The heads of one session's requests, each made once."""

    def __init__(self, requests: McpRequests, headers: tuple[tuple[str, str], ...]) -> None:
        self._requests = requests
        self._headers = headers
        self._post: bytes | None = None

    def post(self, body: bytes) -> bytes:
        """Return the request that sends a message."""
        head = self._post
        if head is None:
            head = self._head(read(body))
        return b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)

    def delete(self) -> bytes:
        """Return the request that ends the session."""
        return self._requests.head("DELETE", self._headers) + b"\r\n"

    def for_calls(self) -> RequestHeads:
        """Return heads that are made once for all calls of the tool."""
        fixed = RequestHeads(self._requests, self._headers)
        fixed._post = self._head(read(self._requests.writer.call(0)))
        return fixed

    def _head(self, message: Incoming) -> bytes:
        headers = self._headers
        if self._requests.is_modern and message.kind == "request":
            headers = (*headers, *headers_of(message), *self._requests.parameters.of(message))
        return self._requests.head("POST", headers)


class McpReader(ResponseReader):
    """Reads answers that carry JSON-RPC, as one body or as events."""

    __slots__ = ("_body", "_events", "_size", "asked", "id", "is_stream", "reply", "session")

    def __init__(self) -> None:
        super().__init__()
        self.id = -1
        """The id of the request; -1: of a message that has no reply."""
        self._reset()

    def _reset(self) -> None:
        self._events: SseReader | None = None
        self._body: list[bytes] = []
        self._size = 0
        self.is_stream = False
        self.reply: Incoming | None = None
        """The reply to the request, once it has come."""
        self.session: str | None = None
        """The id of the session that the server gives."""
        self.asked: list[Incoming] = []
        """Requests of the server among the events, which it wants answered before it replies."""

    def _begin(self) -> None:
        super()._begin()
        self.status = 0
        self._reset()

    # --- called by the parser -----------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-type":
            self.is_stream = value.split(b";")[0].strip().lower() == b"text/event-stream"
        elif name == b"mcp-session-id":
            self.session = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        assert self._parser is not None
        if (status := self._parser.get_status_code()) >= 200:
            self.status = status
        if self.is_stream:
            self._events = SseReader()

    def on_body(self, body: bytes) -> None:
        if self._events is None:
            self._size += len(body)
            if self._size > MOST_MESSAGE_BYTES:
                raise ValueError("a body that is too long")
            self._body.append(body)
        elif self.reply is None:
            for event in self._events.feed(body):
                self._take(read(event.data))

    def on_message_complete(self) -> None:
        if self._body:
            self._take(read(b"".join(self._body)))
            self._body = []
        super().on_message_complete()

    def end(self) -> bool:
        has_ended = super().end()
        if has_ended and self._body:
            self._take(read(b"".join(self._body)))
            self._body = []
        return has_ended

    def _take(self, incoming: Incoming) -> None:
        if incoming.kind == "request":
            self.asked.append(incoming)
            return
        # An HTTP error may carry a JSON-RPC error without an id.
        is_error = self.status >= 400 and incoming.kind == "response" and incoming.id is None
        if self.reply is None and self.id >= 0 and (is_reply_to(incoming, self.id) or is_error):
            self.reply = incoming


class CallSession(Protocol):
    """The session that a call belongs to."""

    def take(self, connection: McpConnection) -> None:
        """Send a call, or keep it until the session is open."""

    def forget(self, connection: McpConnection) -> None:
        """Give up a call that waits for the session."""

    def cancel(self, connection: McpConnection) -> None:
        """Cancel a call whose time is over."""

    def note(self, status: int) -> None:
        """Note the status of the answer to a call."""

    def answer(self, request: Incoming) -> None:
        """Answer a request of the server."""


class McpOwner(ConnectionOwner, Protocol):
    """What a connection needs of its engine."""

    def replied(self, connection: McpConnection, now: float) -> None:
        """Handle a reply whose stream has not ended yet."""


class McpConnection(Connection):
    """A connection whose requests differ."""

    __slots__ = ("_mcp_owner", "is_asked", "is_draining", "over_aside", "session")

    session: CallSession
    """The session of the call that is under way."""

    def __init__(self, owner: McpOwner, requester: Requester, intended: float, started: float) -> None:
        super().__init__(owner, requester, intended, started)
        self._mcp_owner = owner
        self.is_asked = False
        """True once the request goes out."""
        self.is_draining = False
        """True if the reply has come, and its stream is read to its end."""
        self.over_aside: Callable[[McpConnection, Failure], None] | None = None
        """Called when a request is over that is no call."""

    @property
    def reader(self) -> McpReader:
        assert isinstance(self.answer, McpReader)
        return self.answer

    @property
    def request(self) -> bytes:
        """The request that it carries."""
        return self._request

    def carry(self, request: bytes) -> None:
        """Send this request next."""
        self._request = request
        self.is_asked = False

    def ask_again(self) -> None:
        """Send the request on this idle connection; its requester and times are set."""
        self.idle = False
        self.received = 0
        self._ask()

    def _ask(self) -> None:
        self.is_asked = True
        super()._ask()

    def _take_part(self, now: float) -> bool:
        asked, self.reader.asked = self.reader.asked, []
        for request in asked if self.over_aside is None else ():
            self.session.answer(request)
        if self.reader.reply is not None and not self.is_draining:
            self._mcp_owner.replied(self, now)
        return self.fd >= 0
