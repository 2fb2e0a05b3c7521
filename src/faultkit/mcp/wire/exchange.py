"""What a front (stdio, HTTP) and a service (mock, gateway, failure tools) have in common.

A front speaks the wire and makes sessions and exchanges; a service answers them. Neither knows what kind the
other is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from faultkit.faults.call.call import Call, Era, Frame, Transport
from faultkit.mcp.wire.message import Id, Incoming, target_of

NO_HEADERS: Mapping[str, str] = {}


class Session:
    """One client, from its first message to its end. Over modern HTTP, which has none: all clients."""

    def __init__(self, id: str, transport: Transport, era: Era, push: Callable[[bytes], None]) -> None:
        self.id = id
        self.transport: Transport = transport
        self.era: Era = era
        self.version: str | None = None
        """As `initialize` has settled it, where the front has to know."""
        self.owner = ""
        """Who began it, if the front knows: nobody else may use it."""
        self.frozen = False
        """Nothing of it is answered any more."""
        self.info: dict[str, Any] = {}
        """For the service, which may keep here what belongs to the session."""
        self.exchanges: dict[Id, Exchange] = {}
        """Those not ended yet, by the id of their request."""
        self.replies = 0
        """How many have gone out."""
        self.on_full: Callable[[bool], None] = _nobody
        """For the service, which may want to know when the client does not read, and when it does again."""
        self.hold: Callable[[bool], None] = _nobody
        """For the service, which may ask the front to take no more of the client for a while."""
        self._push = push

    def push(self, raw: bytes) -> None:
        """A message that belongs to no call: a notification or a request of the server's own."""
        if not self.frozen:
            self._push(raw)

    def cancel(self, id: Id) -> None:
        exchange = self.exchanges.get(id)
        if exchange is not None:
            exchange.cancel()


def _nobody(on: bool) -> None:
    pass


class Exchange:
    """One request and what its client gets for it. A front has its own kind of it."""

    transport: ClassVar[Transport]
    __slots__ = ("_on_cancel", "cancelled", "ended", "headers", "replies_before", "request", "session")

    def __init__(self, session: Session, request: Incoming, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.session = session
        self.request = request
        self.headers = headers
        self.cancelled = False
        self.ended = False
        self.replies_before = session.replies
        """Of the session, when the request came."""
        self._on_cancel: list[Callable[[], object]] = []
        if request.id is not None:
            session.exchanges[request.id] = self

    def note(self, raw: bytes) -> None:
        """A message that goes before the reply and belongs to it: progress, a log line."""
        if not self.ended and not self.session.frozen:
            self.write_note(raw)

    def reply(self, raw: bytes) -> None:
        """The reply, which ends the exchange. After a cancellation nobody wants it, and nobody gets it."""
        if not self.ended and not self.session.frozen:
            self.close()
            if not self.cancelled:
                self.write_reply(raw)
            else:
                self.write_nothing()

    async def send(self, frame: Frame, *, streamed: bool) -> None:
        """One frame of a fault. `streamed`: it is not the only one, or has to be an event of a stream."""
        raise NotImplementedError

    def finish(self) -> None:
        """The last frame of a fault was sent."""
        self.close()
        self.write_nothing()

    def cancel(self) -> None:
        """The client wants no reply any more."""
        if not self.cancelled and not self.ended:
            self.cancelled = True
            callbacks, self._on_cancel = self._on_cancel, []
            for callback in callbacks:
                callback()

    def on_cancel(self, callback: Callable[[], object]) -> None:
        if self.cancelled:
            callback()
        else:
            self._on_cancel.append(callback)

    def close(self) -> None:
        """It is over, whether or not anything was sent."""
        self.ended = True
        id = self.request.id
        if id is not None and self.session.exchanges.get(id) is self:
            del self.session.exchanges[id]

    def sever(self) -> None:
        """Whoever was to answer is gone: the client gets to see that nobody will."""
        if not self.ended:
            self.close()
            self.write_end()

    # What a front does.

    def write_note(self, raw: bytes) -> None:
        raise NotImplementedError

    def write_reply(self, raw: bytes) -> None:
        raise NotImplementedError

    def write_nothing(self) -> None:
        """There is no reply: leave the wire as it has to be then."""

    def write_end(self) -> None:
        """There will never be a reply, and not on purpose."""


def call_of(session: Session, request: Incoming, server: str) -> Call:
    """A request as the rules of a plan see it."""
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
    """Answers. None of these may block: what takes time is a task of its own."""

    def opened(self, session: Session) -> None: ...

    def request(self, exchange: Exchange) -> None: ...

    def notification(self, session: Session, incoming: Incoming) -> None: ...

    def response(self, session: Session, incoming: Incoming) -> None:
        """To a request that was pushed or noted."""

    def closed(self, session: Session) -> None: ...
