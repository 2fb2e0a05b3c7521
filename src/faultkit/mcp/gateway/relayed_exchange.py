"""A call on the HTTP relay that a rule acts on: its reply is taken out of the upstream's response.

The client's response is then built by the verdict. Status, headers and events are those of the upstream
unless the fault changes them. A server may answer a request with a JSON body or with an event stream that
ends with the reply (MCP 2025-11-25, Transports, Sending Messages to the Server); both are taken apart here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from faultkit.base.framing import MOST_MESSAGE_BYTES, SseReader, SseSplitter, SseTooLong
from faultkit.base.http.http_client import ConnectionLost, HttpReply
from faultkit.base.http.http_exchange import Headers, ResponseWriter
from faultkit.faults.call_fault import Frame
from faultkit.mcp.gateway.forwarding import send_body
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.http_exchange import HttpExchange
from faultkit.mcp.wire.http_sessions import EVENT_STREAM_HEADERS
from faultkit.mcp.wire.message import Incoming, read

_BODY_HEADERS = {"content-type", "cache-control", "content-encoding"}
"""Headers of a JSON body that do not fit the stream which a fault makes of it."""


@dataclass(frozen=True, slots=True)
class _ResponseHead:
    """The head of the upstream's response."""

    status: int
    lines: Headers
    is_stream: bool


class RelayedExchange(HttpExchange):
    """An exchange whose response is built from the upstream's response."""

    __slots__ = ("_head", "_reply_event")

    def __init__(
        self,
        session: Session,
        request: Incoming,
        headers: Mapping[str, str],
        answer: ResponseWriter,
        statuses: Mapping[int, int],
    ) -> None:
        super().__init__(session, request, headers, answer, None, statuses)
        self._head: _ResponseHead | None = None
        """Head of the upstream's response; None before it has answered."""
        self._reply_event = b""
        """The bytes of the event with the reply, as it stood in the upstream's stream."""

    # --- the response to the client, in the form of the upstream's ----------------------------

    def body_head(self, raw: bytes) -> tuple[int, Headers]:
        status, headers = super().body_head(raw)
        head = self._head
        if head is None or head.is_stream:
            return status, headers
        return (status if head.status == 200 else head.status), head.lines

    def stream_head(self) -> tuple[int, Headers]:
        head = self._head
        if head is None:
            return super().stream_head()
        if head.is_stream:
            return head.status, head.lines
        return head.status, [
            *EVENT_STREAM_HEADERS,
            *(line for line in head.lines if line[0].lower() not in _BODY_HEADERS),
        ]

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        is_stream = self._head is not None and self._head.is_stream
        await super().send(frame, streamed=streamed or is_stream)

    def write_reply(self, raw: bytes) -> None:
        if self._head is None or not self._head.is_stream:
            super().write_reply(raw)
            return
        self._answer.begin(*self.stream_head())
        self._answer.write(self._reply_event)
        self._answer.end()

    # --- the response of the upstream ---------------------------------------------------------

    async def take(
        self,
        reply: HttpReply,
        lines: Headers,
        on_message: Callable[[Incoming], None],
        warn_unable: Callable[[str], None],
    ) -> Incoming | None:
        """Return the reply in a response with these headers; earlier messages go to the client at once.
        `on_message` gets every message.

        None: there is no reply, the client has got the response as it came, and `warn_unable` was called with
        the reason."""
        self._head = _ResponseHead(reply.status, lines, reply.is_stream)
        try:
            take = self._take_event if reply.is_stream else self._take_body
            found = await take(reply, on_message)
        except (ConnectionLost, SseTooLong) as lost:
            warn_unable(str(lost))
            self.close()
            self._answer.abort(reset=isinstance(lost, ConnectionLost) and lost.reset)
            return None
        finally:
            reply.close()
        if found is None:
            why = "ended without the reply" if reply.is_stream else "is no reply to it"
            warn_unable(f"the upstream's answer, with status {reply.status}, {why}")
        return found

    async def _take_body(self, reply: HttpReply, on_message: Callable[[Incoming], None]) -> Incoming | None:
        assert self._head is not None
        body = await reply.body(MOST_MESSAGE_BYTES)
        incoming = read(body)
        on_message(incoming)
        if _is_reply(incoming, self.request):
            return incoming
        if not self.session.frozen:
            send_body(self._answer, reply.status, self._head.lines, body)
        self.close()
        return None

    async def _take_event(self, reply: HttpReply, on_message: Callable[[Incoming], None]) -> Incoming | None:
        splitter, reader = SseSplitter(), SseReader()
        while chunk := await reply.chunk():
            for piece in splitter.feed(chunk):
                for event in reader.feed(piece):
                    if event.data:
                        incoming = read(event.data)
                        on_message(incoming)
                        if _is_reply(incoming, self.request):
                            self._reply_event = piece
                            return incoming
                self._forward(piece)
            await self._answer.drained()
        # A stream without a reply is forwarded unchanged, because the client may resume it (MCP 2025-11-25,
        # Transports, Resumability and Redelivery).
        self._forward(splitter.end())
        self.close()
        if not self.session.frozen:
            self._answer.end()
        return None

    def _forward(self, piece: bytes) -> None:
        if not self.ended and not self.session.frozen:
            self._answer.begin(*self.stream_head())
            self._answer.write(piece)


async def find_reply(
    reply: HttpReply,
    exchange: Exchange,
    answer: ResponseWriter,
    lines: Headers,
    on_message: Callable[[Incoming], None],
) -> Incoming | None:
    """Return the reply for one call of a batch; earlier messages go to the client.

    A response without a reply becomes the response to the whole batch."""
    try:
        async for raw in _messages(reply):
            incoming = read(raw)
            on_message(incoming)
            if _is_reply(incoming, exchange.request):
                return incoming
            if reply.is_stream:
                exchange.note(raw)
            else:
                send_body(answer, reply.status, lines, raw)
        exchange.finish()
    except (ConnectionLost, SseTooLong) as lost:
        answer.abort(reset=isinstance(lost, ConnectionLost) and lost.reset)
    finally:
        reply.close()
    return None


async def _messages(reply: HttpReply) -> AsyncIterator[bytes]:
    """Yield the body, or the data of each event of a stream."""
    if not reply.is_stream:
        yield await reply.body(MOST_MESSAGE_BYTES)
        return
    reader = SseReader()
    while chunk := await reply.chunk():
        for event in reader.feed(chunk):
            if event.data:
                yield event.data


def _is_reply(incoming: Incoming, request: Incoming) -> bool:
    """Return whether a message answers the request; `"1"` is not `1` (JSON-RPC 2.0, section 5)."""
    is_own = type(incoming.id) is type(request.id) and incoming.id == request.id
    return incoming.kind == "response" and is_own
