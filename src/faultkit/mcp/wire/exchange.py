"""The seam between fronts (stdio, HTTP) and services (mock, gateway, failure tools).

A front speaks the wire and creates sessions and exchanges; a service answers them. Neither knows which kind
the other is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from faultkit.faults.call.call import Call, Era, Frame, Transport
from faultkit.mcp.wire.message import Id, Incoming, target_of

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
        self.on_full: Callable[[bool], None] = _ignore
        """Set by the service. Called with True when the client stops reading, with False when it resumes."""
        self.pause_client: Callable[[bool], None] = _ignore
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


def _ignore(is_on: bool) -> None:
    pass


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

        MCP 2026-07-28 forbids further messages for a cancelled request."""
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

    # Implemented by the fronts.

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
