"""The seam between fronts (stdio, HTTP) and services (mock, gateway, failure tools).

A front speaks the wire and creates sessions, exchanges and batches; a service answers them. Neither knows
which kind the other is.

An exchange ends once. Each of these ends it, and nothing is sent after it:

    reply      the reply, or nothing if the client has cancelled the call
    finish     after the last frame of a fault, which may have been the reply, half of it, or none
    sever      the server is gone
    close      by the front or a service that has written to the wire itself
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Any, ClassVar, Protocol

from faultkit.faults.call_fault import Call, Cut, Drip, Era, Frame, Send, Transport
from faultkit.mcp.wire.message import INVALID_REQUEST, Id, Incoming, bytes_of, error_of, target_of

NO_HEADERS: Mapping[str, str] = {}


class Session:
    """One client session. Modern HTTP is stateless, so all its clients share one Session."""

    def __init__(self, id: str, transport: Transport, era: Era, push: Callable[[bytes], None]) -> None:
        """`push` writes a message that belongs to no call."""
        self.id = id
        self.transport: Transport = transport
        self.era: Era = era
        self.version: str | None = None
        """Protocol version that `initialize` negotiated, where the front needs it."""
        self.owner = ""
        """Authenticated caller that opened the session; requests of other callers are refused."""
        self.frozen = False
        """True after a fault froze the session: nothing of it is answered any more."""
        self.info: dict[str, Any] = {}
        """State that a service keeps per session."""
        self.exchanges: dict[Id, Exchange] = {}
        """Open exchanges by the id of their request."""
        self.replies = 0
        """Number of replies sent."""
        self.on_full: Callable[[bool], None] = lambda is_full: None
        """Set by the service. Called with True when the client stops reading, with False when it resumes."""
        self.on_unanswered: Callable[[Incoming], None] = lambda request: None
        """Set by the service. Called with each request that is not handed to it, because the session is
        frozen."""
        self.pause_client: Callable[[bool], None] = lambda is_paused: None
        """Set by the front. Called by the service to stop (True) or resume (False) reading from the
        client."""
        self._push = push

    def push(self, raw: bytes) -> None:
        """Send a message that belongs to no call: a notification or a request of the server."""
        if not self.frozen:
            self._push(raw)

    def cancel(self, id: Id) -> None:
        """Cancel the open exchange with this request id, if there is one."""
        exchange = self.exchanges.get(id)
        if exchange is not None:
            exchange.cancel()


class Exchange:
    """One request and everything that its client gets for it. Each front has its own subclass."""

    transport: ClassVar[Transport]
    __slots__ = (
        "_on_cancel",
        "cancelled",
        "ended",
        "headers",
        "replies_before",
        "request",
        "sender",
        "session",
    )

    def __init__(self, session: Session, request: Incoming, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.session = session
        self.request = request
        self.headers = headers
        self.sender: object = None
        """Value that the check of the HTTP request passed on; None without such a check."""
        self.cancelled = False
        self.ended = False
        self.replies_before = session.replies
        """Replies that the session had sent when the request came."""
        self._on_cancel: list[Callable[[], object]] = []
        if request.id is not None:
            session.exchanges[request.id] = self

    def note(self, raw: bytes) -> None:
        """Send a message that belongs to the call and precedes its reply: progress, a log message."""
        if not self.ended and not self.session.frozen:
            self.write_note(raw)

    def reply(self, raw: bytes) -> None:
        """Send the reply and end the exchange. After a cancellation nothing is sent.

        A server must not send further messages for a cancelled request (MCP 2026-07-28, Streamable HTTP,
        Cancellation; a SHOULD in MCP 2025-11-25, Cancellation, Behavior Requirements)."""
        if not self.ended and not self.session.frozen:
            self.close()
            if not self.cancelled:
                self.write_reply(raw)
            else:
                self.write_nothing()

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        """Send one frame of a fault. `streamed`: it is one of several, or must be an event of a stream."""
        raise NotImplementedError

    def finish(self) -> None:
        """End the exchange after the last frame of a fault."""
        self.close()
        self.write_nothing()

    def cancel(self) -> None:
        """Mark the call as cancelled by its client and run the callbacks of `on_cancel`."""
        if not self.cancelled and not self.ended:
            self.cancelled = True
            callbacks, self._on_cancel = self._on_cancel, []
            for callback in callbacks:
                callback()

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call back once when the client cancels the call; at once if it already has."""
        if self.cancelled:
            callback()
        else:
            self._on_cancel.append(callback)

    def close(self) -> None:
        """Mark the exchange as ended without sending anything."""
        self.ended = True
        id = self.request.id
        if id is not None and self.session.exchanges.get(id) is self:
            del self.session.exchanges[id]

    def sever(self) -> None:
        """End the exchange because the server is gone; the client sees that no reply will come."""
        if not self.ended:
            self.close()
            self.write_end()

    # --- implemented by the fronts ------------------------------------------------------------

    def write_note(self, raw: bytes) -> None:
        """Write a message that precedes the reply."""
        raise NotImplementedError

    def write_reply(self, raw: bytes) -> None:
        """Write the reply."""
        raise NotImplementedError

    def write_nothing(self) -> None:
        """Leave the wire in the right state for a call without a reply."""

    def write_end(self) -> None:
        """Leave the wire in the right state for a call whose server is gone."""


def call_of(session: Session, request: Incoming, server: str) -> Call:
    """Return a request in the form in which the rules of a plan see it."""
    assert request.id is not None
    return Call(
        request.method,
        target_of(request.method, request.params),
        request.params,
        request.id,
        server,
        session.transport,
        session.era,
    )


class Service(Protocol):
    """Answers the messages of sessions. No method may block: longer work runs in a task."""

    def opened(self, session: Session) -> None:
        """Handle a new session."""

    def request(self, exchange: Exchange) -> None:
        """Answer a request through its exchange, now or later."""

    def notification(self, session: Session, incoming: Incoming) -> None:
        """Handle a notification of the client."""

    def response(self, session: Session, incoming: Incoming) -> None:
        """Handle the client's reply to a request that was pushed or noted."""

    def closed(self, session: Session) -> None:
        """Handle the end of a session."""


class Batch:
    """A JSON-RPC batch: requests in one array, answered in one array when the last of them is done.

    MCP had batches in versions 2024-11-05 and 2025-03-26 and removed them in 2025-06-18. How the array is
    written is decided by the front."""

    def __init__(self, session: Session, answer: Callable[[bytes | None], None]) -> None:
        """`answer` is called once with the array of all replies, or with None if there are none."""
        self._session = session
        self._answer = answer
        self._ids: set[Id] = set()
        self._replies: list[bytes] = []
        self._waiting: set[Exchange | None] = {None}
        """Exchanges without a reply; None stands for the batch itself until all its items have been read."""

    def take(self, items: Iterable[Incoming], dispatch: Callable[[Incoming], None]) -> None:
        """Dispatch each item that can be served; add an error to the answer for each other one."""
        for item in items:
            refusal = self._refusal_of(item)
            if refusal is not None:
                self.add(error_of(item.id, INVALID_REQUEST, f"Invalid request: {refusal}"))
            elif item.problem is not None:
                self.add(error_of(item.id, *item.problem))
            else:
                dispatch(item)
        self.done(None)

    def expect(self, exchange: Exchange) -> None:
        """Wait for the reply to one more request."""
        self._waiting.add(exchange)

    def add(self, raw: bytes) -> None:
        """Add a reply to the answer."""
        self._replies.append(raw)

    def done(self, exchange: Exchange | None) -> None:
        """Note that an item has its reply or gets none; answer if it was the last."""
        if exchange not in self._waiting:
            return
        self._waiting.discard(exchange)
        if not self._waiting and not self._session.frozen:
            self._answer(b"[" + b",".join(self._replies) + b"]" if self._replies else None)

    async def send(self, frame: Frame) -> bool:
        """Add a frame of a fault as one reply of the batch; return False if a batch cannot hold it."""
        match frame:
            case Send():
                self.add(bytes_of(frame.message))
            case Cut():
                raw = bytes_of(frame.message)
                self.add(raw[: int(len(raw) * frame.share)])
            case Drip():
                # One item of an array cannot drip: it is added whole when its last byte would have come.
                raw = bytes_of(frame.message)
                await asyncio.sleep(frame.every_s * (ceil(len(raw) / frame.chunk_bytes) - 1))
                self.add(raw)
            case _:
                return False
        return True

    def _refusal_of(self, item: Incoming) -> str | None:
        """Return why an item must not stand in a batch, or None."""
        if item.kind != "request" or item.id is None:
            return None
        if item.method == "initialize":
            return "expected initialize by itself, got it in a batch"
        if item.id in self._ids:
            return "expected an id that no other request of the batch has"
        self._ids.add(item.id)
        return None
