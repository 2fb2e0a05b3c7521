"""One call that a rule acts on, from HTTP to HTTP: its answer taken apart, and put together again.

Status, headers and events are the upstream's, unless the fault says otherwise.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from faultkit.base.http.client import Lost, Reply
from faultkit.base.http.server import Answer, Headers
from faultkit.faults.call.call import Frame
from faultkit.mcp.gateway.hop import pass_whole
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.http_exchange import HttpExchange
from faultkit.mcp.wire.message import Incoming, read
from faultkit.mcp.wire.sse import MOST_BYTES, SseReader, SseSplitter, SseTooLong
from faultkit.mcp.wire.streams import HEAD

_OF_A_BODY = {"content-type", "cache-control", "content-encoding"}


@dataclass(frozen=True, slots=True)
class _Head:
    """Of the upstream's answer."""

    status: int
    lines: Headers
    is_stream: bool


class RelayedExchange(HttpExchange):
    __slots__ = ("_event", "_head")

    def __init__(
        self,
        session: Session,
        request: Incoming,
        headers: Mapping[str, str],
        answer: Answer,
        statuses: Mapping[int, int],
    ) -> None:
        super().__init__(session, request, headers, answer, None, statuses)
        self._head: _Head | None = None
        """None: the upstream has not answered, and may not have been asked."""
        self._event = b""
        """That of the reply in the upstream's stream, as it came."""

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
        return head.status, [*HEAD, *(line for line in head.lines if line[0].lower() not in _OF_A_BODY)]

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        is_stream = self._head is not None and self._head.is_stream
        await super().send(frame, streamed=streamed or is_stream)

    def write_reply(self, raw: bytes) -> None:
        if self._head is None or not self._head.is_stream:
            super().write_reply(raw)
            return
        self._answer.begin(*self.stream_head())
        self._answer.write(self._event)
        self._answer.end()

    async def take(
        self, reply: Reply, lines: Headers, heard: Callable[[Incoming], None], unable: Callable[[str], None]
    ) -> Incoming | None:
        """The reply out of an answer with these headers; what comes before it goes to the client at once.
        None: there is none, and the client has got what came. `unable` is told why then."""
        self._head = _Head(reply.status, lines, reply.is_stream)
        try:
            take = self._take_event if reply.is_stream else self._take_body
            found = await take(reply, heard)
        except (Lost, SseTooLong) as lost:
            unable(str(lost))
            self.close()
            self._answer.abort(reset=isinstance(lost, Lost) and lost.reset)
            return None
        finally:
            reply.close()
        if found is None:
            why = "ended without the reply" if reply.is_stream else "is no reply to it"
            unable(f"the upstream's answer, with status {reply.status}, {why}")
        return found

    async def _take_body(self, reply: Reply, heard: Callable[[Incoming], None]) -> Incoming | None:
        assert self._head is not None
        body = await reply.body(MOST_BYTES)
        incoming = read(body)
        heard(incoming)
        if _is_reply(incoming, self.request):
            return incoming
        if not self.session.frozen:
            pass_whole(self._answer, reply.status, self._head.lines, body)
        self.close()
        return None

    async def _take_event(self, reply: Reply, heard: Callable[[Incoming], None]) -> Incoming | None:
        splitter, reader = SseSplitter(), SseReader()
        while chunk := await reply.chunk():
            for piece in splitter.feed(chunk):
                for event in reader.feed(piece):
                    if event.data:
                        incoming = read(event.data)
                        heard(incoming)
                        if _is_reply(incoming, self.request):
                            self._event = piece
                            return incoming
                self._pass(piece)
            await self._answer.drained()
        # As it came, without a reply: the client may know where it can have it.
        self._pass(splitter.end())
        self.close()
        if not self.session.frozen:
            self._answer.end()
        return None

    def _pass(self, piece: bytes) -> None:
        if not self.ended and not self.session.frozen:
            self._answer.begin(*self.stream_head())
            self._answer.write(piece)


async def reply_among(
    reply: Reply, exchange: Exchange, answer: Answer, lines: Headers, heard: Callable[[Incoming], None]
) -> Incoming | None:
    """For one call of a batch: the reply out of an answer; what comes before it goes to the client. What is
    no reply is the answer to the whole batch."""
    try:
        async for raw in _messages(reply):
            incoming = read(raw)
            heard(incoming)
            if _is_reply(incoming, exchange.request):
                return incoming
            if reply.is_stream:
                exchange.note(raw)
            else:
                pass_whole(answer, reply.status, lines, raw)
        exchange.finish()
    except (Lost, SseTooLong) as lost:
        answer.abort(reset=isinstance(lost, Lost) and lost.reset)
    finally:
        reply.close()
    return None


async def _messages(reply: Reply) -> AsyncIterator[bytes]:
    """A body, or what comes in the events of a stream, as it comes."""
    if not reply.is_stream:
        yield await reply.body(MOST_BYTES)
        return
    reader = SseReader()
    while chunk := await reply.chunk():
        for event in reader.feed(chunk):
            if event.data:
                yield event.data


def _is_reply(incoming: Incoming, request: Incoming) -> bool:
    """To the letter: an id of another type is that of another call."""
    is_own = type(incoming.id) is type(request.id) and incoming.id == request.id
    return incoming.kind == "response" and is_own
