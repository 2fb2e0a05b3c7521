"""Forwarding of HTTP messages by the relay: hop-by-hop headers, redirects, bodies.

It does not know what a response means; `MessageTee` only parses messages for an observer.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from faultkit.base.framing import MOST_MESSAGE_BYTES, SseReader, SseTooLong
from faultkit.base.http.http_client import ConnectionLost, HttpReply
from faultkit.base.http.http_exchange import Headers, HttpRequest, ResponseWriter
from faultkit.base.http.http_url import HttpUrl
from faultkit.mcp.wire.message import Incoming, read

_HOP_HEADERS = {
    # RFC 9110 §7.6.1 lists most of these: they are about one connection and must not be forwarded. The HTTP
    # server and client of the relay frame messages (RFC 9112 §6), write Host and answer Expect themselves.
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_SHORT_BYTES = 64 << 10
"""Length of a response that is buffered for a client that does not read."""
_STATUSES_WITHOUT_BODY = (204, 304)
"""RFC 9112 §6.3: responses with these statuses end after their headers, as do those to HEAD."""


def end_to_end_headers(lines: Headers, dropped: Set[str] = frozenset()) -> Headers:
    """Return the headers that may be forwarded: all but those of one connection, those that this side writes
    itself, and the `dropped`, in lower case."""
    return [line for line in lines if (name := line[0].lower()) not in _HOP_HEADERS and name not in dropped]


def response_headers(lines: Headers, upstream: HttpUrl, target: str) -> Headers:
    """Return the response headers to forward; a redirect within the upstream's origin is made relative, so
    that the client stays with the relay."""
    kept = end_to_end_headers(lines)
    for place, (name, value) in enumerate(kept):
        if name.lower() == "location":
            destination = upstream.redirected(target, value)
            if destination is not None and destination.origin == upstream.origin:
                kept[place] = (name, destination.target)
    return kept


def redirect_past_gateway(reply: HttpReply, upstream: HttpUrl, target: str) -> str | None:
    """Return where a redirect sends the client if that is another origin, past the relay; else None."""
    location = reply.headers.get("location")
    if location is None or not 300 <= reply.status < 400:
        return None
    destination = upstream.redirected(target, location)
    return location if destination is None or destination.origin != upstream.origin else None


def send_body(answer: ResponseWriter, status: int, lines: Headers, body: bytes) -> None:
    """Send a response whose body has been read."""
    if status in _STATUSES_WITHOUT_BODY:
        answer.respond_without_body(status, lines)
    else:
        answer.respond(status, lines, body)


async def copy_response(
    request: HttpRequest,
    reply: HttpReply,
    lines: Headers,
    answer: ResponseWriter,
    tee: MessageTee | ListeningStream | None,
) -> None:
    """Copy a response byte for byte as it arrives; `tee` gets the bytes too.

    A Content-Length of the upstream is kept, so that a body that is cut short is cut short for the client
    too (RFC 9112 §8)."""
    size = reply.headers.get("content-length")
    if reply.status in _STATUSES_WITHOUT_BODY or request.method == "HEAD":
        answer.respond_without_body(
            reply.status, lines if size is None else [*lines, ("content-length", size)]
        )
        return
    if copy_whole_response(request, reply, lines, answer, tee):
        return
    is_sized = size is not None and size.isdecimal()
    # Most bodies begin to arrive together with the head and go out with it.
    chunk = reply.ready()
    if is_sized and size is not None:
        answer.begin_sized(reply.status, lines, int(size), chunk)
    else:
        answer.begin(reply.status, lines, chunk)
    write = answer.write_sized if is_sized else answer.write
    if tee is not None:
        tee.feed(chunk)
    while chunk := await reply.chunk():
        write(chunk)
        if tee is not None:
            tee.feed(chunk)
        if not answer.is_open:
            return
        await answer.drained()
    if tee is not None:
        tee.end()
    if is_sized:
        answer.end_sized()
    else:
        answer.end()


def copy_whole_response(
    request: HttpRequest,
    reply: HttpReply,
    lines: Headers,
    answer: ResponseWriter,
    tee: MessageTee | ListeningStream | None = None,
) -> bool:
    """Copy a response at once if all of it has arrived, as most do; return False otherwise."""
    if reply.status in _STATUSES_WITHOUT_BODY or request.method == "HEAD":
        return False
    body = reply.whole()
    if body is None:
        return False
    size = reply.headers.get("content-length")
    if tee is not None:
        tee.feed(body)
        tee.end()
    if size is not None and size.isdecimal():
        answer.begin_sized(reply.status, lines, int(size), body)
        answer.end_sized()
    else:
        answer.begin(reply.status, lines, body)
        answer.end()
    return True


def copy_as_it_comes(reply: HttpReply, lines: Headers, answer: ResponseWriter) -> bool:
    """Copy a short response, of which a part has arrived, without a task; return False if it may be long, or
    is without a length.

    Some servers send the head and the body one after the other."""
    size = reply.headers.get("content-length", "")
    if reply.status in _STATUSES_WITHOUT_BODY or not size.isdecimal() or int(size) > _SHORT_BYTES:
        return False

    def copy(part: bytes | ConnectionLost | None) -> None:
        if isinstance(part, bytes):
            answer.write_sized(part)
            return
        reply.close()
        if part is None:
            answer.end_sized()
        else:
            answer.abort(part.reset)

    reply.on_more(copy)
    answer.begin_sized(reply.status, lines, int(size), reply.ready())
    return True


class ListeningStream:
    """A stream of events that is copied, and into which the relay may put events of its own, between two of
    the upstream's."""

    def __init__(self, answer: ResponseWriter, tee: MessageTee | None) -> None:
        """`tee` gets the bytes as without this object."""
        self._answer = answer
        self._tee = tee
        self._tail = b""
        """The last bytes that were copied, which show whether an event has ended."""
        self._waiting: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Note bytes that were copied; write what waited for the end of an event."""
        self._tail = (self._tail + chunk)[-_LONGEST_END:]
        if self._tee is not None:
            self._tee.feed(chunk)
        self._write_waiting()

    def end(self) -> None:
        if self._tee is not None:
            self._tee.end()

    def put(self, message: bytes) -> None:
        """Send a message as an event, now or after the event that is being copied."""
        self._waiting.append(b"event: message\ndata: %b\n\n" % message)
        self._write_waiting()

    def _write_waiting(self) -> None:
        if not self._tail or self._tail.endswith(_ENDS_OF_EVENTS):
            waiting, self._waiting = self._waiting, []
            for event in waiting:
                self._answer.write(event)


_ENDS_OF_EVENTS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_LONGEST_END = 4


class MessageTee:
    """Parses the messages of a response while it is copied, for recordings and lists."""

    def __init__(self, is_stream: bool, on_message: Callable[[Incoming], None]) -> None:
        self._on_message = on_message
        self._reader: SseReader | None = SseReader() if is_stream else None
        self._parts: list[bytes] | None = None if is_stream else []
        self._size = 0
        self.has_reply = False
        """True once a reply to a request has come."""

    def feed(self, chunk: bytes) -> None:
        """Take bytes of the body; report the events that end in them."""
        if self._reader is not None:
            try:
                events = self._reader.feed(chunk)
            except SseTooLong:
                # Too long to be recorded; the client may accept it, so copying goes on.
                self._reader = None
                return
            for event in events:
                if event.data:
                    self._report(event.data)
        elif self._parts is not None:
            self._size += len(chunk)
            if self._size > MOST_MESSAGE_BYTES:
                self._parts = None
            else:
                self._parts.append(chunk)

    def end(self) -> None:
        """Report the message of a body that is no stream."""
        if self._parts:
            self._report(b"".join(self._parts))

    def _report(self, raw: bytes) -> None:
        incoming = read(raw)
        self.has_reply |= incoming.kind == "batch" or (
            incoming.kind == "response" and incoming.id is not None
        )
        self._on_message(incoming)
