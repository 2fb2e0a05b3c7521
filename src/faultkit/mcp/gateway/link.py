"""One session of a client and its server behind the gateway: who waits for which reply.

A client of modern HTTP shares its server with others, whose requests may have the same ids and progress
tokens: theirs are replaced by numbers of ours on the way in, and put back on the way out. Everybody else's
messages stay as they are, byte for byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import FaultkitError
from faultkit.mcp.carry import replied
from faultkit.mcp.gateway.splice import splice
from faultkit.mcp.upstreams.upstream import Connect, Upstream
from faultkit.mcp.wire.era import LOG_LEVEL_KEY, SUBSCRIPTION_KEY, meta_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.lines import TooLong
from faultkit.mcp.wire.members import plain_members
from faultkit.mcp.wire.message import CANCELLED, Id, Incoming, encode, error_of, notification_of, read

UPSTREAM_FAILED = -32000
MOST_UNREAD_BYTES = 64 << 20
"""What a server may leave unread before it gets no more."""
LOG = "notifications/message"
_LISTEN = "subscriptions/listen"
_TAIL_BYTES = 1024


@dataclass(slots=True)
class _Asked:
    """A request that the server has, and who wants its reply."""

    exchange: Exchange
    reply: asyncio.Future[Incoming | None] | None
    """Of a call with a verdict, which decides what becomes of the reply."""
    token: Any = None
    """As its client knows it."""
    sent_token: Any = None
    """As the server knows it."""


class Link:
    """Hears the server as a `Listener`."""

    def __init__(
        self,
        session: Session,
        connect: Connect,
        heard: Callable[[Session, Incoming], None],
        gone: Callable[[Session, str, int | None], None],
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`heard` gets what the server says, as its client gets to see it; `note` what nobody is told."""
        self.session = session
        self.ended = False
        self._heard = heard
        self._gone = gone
        self._note = note
        self._asked: dict[Id, _Asked] = {}
        self._tokens: dict[Id, Exchange] = {}
        self._questions: dict[Id, Exchange] = {}
        """Requests of the server, and the calls with which they went to the client."""
        self._batched: set[Id | None] = set()
        """Ids out of batches that were handed on whole: the server owes these replies, too."""
        self._has_strayed = False
        self._shares = session.transport == "http" and session.era == "modern"
        self._count = 0
        self._answered = asyncio.Event()
        self._upstream: Upstream = connect(self)
        session.on_full = self._upstream.pause
        self._waiting: list[Incoming] | None = []
        """What came before the server was up; None when it is."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        try:
            await self._upstream.start()
        except FaultkitError as error:
            for id, asked in tuple(self._asked.items()):
                if self.session.transport == "http":
                    self.hear(read(error_of(id, UPSTREAM_FAILED, str(error))))
                asked.exchange.close()
            self.gone(str(error), None)
            return
        waiting, self._waiting = self._waiting or [], None
        for incoming in waiting:
            self._upstream.send(incoming)

    async def stop(self, *, urgent: bool = False) -> None:
        self.ended = True
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        await self._upstream.stop(urgent=urgent)

    async def last_words(self) -> None:
        """Returns when the server has answered what it has been asked, or has left."""
        await asyncio.wait([self._starting])
        self._upstream.close_input()
        while not self.ended and self._owes_replies():
            self._answered.clear()
            await self._answered.wait()

    def _owes_replies(self) -> bool:
        asked = (asked.exchange.request.method for asked in self._asked.values())
        return bool(self._batched) or any(method != _LISTEN for method in asked)

    # From the client.

    def tell(self, incoming: Incoming) -> None:
        """Whatever is no request."""
        if incoming.kind == "response" and incoming.id is not None:
            self._questions.pop(incoming.id, None)
        self._batched.update(item.id for item in incoming.items if item.kind == "request")
        self._send(incoming)

    def pass_on(self, exchange: Exchange) -> None:
        """A request that nothing acts on: the reply goes to the client as it comes."""
        id = self._ask(exchange, None)
        if id is not None:
            exchange.on_cancel(lambda: self._cancel(id))

    async def ask(self, exchange: Exchange, *, deaf: bool = False) -> Incoming | None:
        """The reply to a request, for somebody to act on; None if the server left. `deaf`: the server is not
        told that the client has cancelled the call."""
        reply: asyncio.Future[Incoming | None] = asyncio.get_running_loop().create_future()
        id = self._ask(exchange, reply)
        if id is not None and not deaf:
            exchange.on_cancel(lambda: self._cancel(id))
        try:
            return await reply
        finally:
            if id is not None:
                self._forget(id)

    def _ask(self, exchange: Exchange, reply: asyncio.Future[Incoming | None] | None) -> Id | None:
        """The id that the server knows the request by; None if it does not get it."""
        request = exchange.request
        assert request.id is not None
        id = request.id
        token = meta_of(request.params).get("progressToken")
        # A client may send anything as a token; what is none is handed on and not kept.
        asked = _Asked(exchange, reply, token, token if isinstance(token, str | int) else None)
        if self._shares:
            self._count += 1
            id = self._count
            asked.sent_token = None if token is None else id
            values = {("id",): id, ("params", "_meta", "progressToken"): id}
            request = read(splice(_raw(request), values))
        if self._waiting is None and self._upstream.unread_bytes > MOST_UNREAD_BYTES:
            refusal = error_of(exchange.request.id, UPSTREAM_FAILED, "the server does not read")
            self._answer_with(asked, read(refusal))
            return None
        if isinstance(asked.sent_token, str | int):
            self._tokens[asked.sent_token] = exchange
        self._asked[id] = asked
        self._send(request)
        return id

    def _cancel(self, id: Id) -> None:
        asked = self._forget(id)
        if asked is None:
            return
        if self._shares:
            # Its client has closed the answer; to a server on pipes this has to be said.
            self._send(read(notification_of(CANCELLED, {"requestId": id})))
        self._upstream.abandon(id)
        if asked.reply is None:
            asked.exchange.finish()

    def _forget(self, id: Id) -> _Asked | None:
        asked = self._asked.pop(id, None)
        if asked is not None:
            if self._tokens.get(asked.sent_token) is asked.exchange:
                del self._tokens[asked.sent_token]
            if self._questions:
                for question in [each for each, own in self._questions.items() if own is asked.exchange]:
                    del self._questions[question]
            self._answered.set()
        return asked

    def _send(self, incoming: Incoming) -> None:
        if not incoming.raw:
            incoming = read(_raw(incoming))
        if self._waiting is not None:
            self._waiting.append(incoming)
        elif self._upstream.unread_bytes <= MOST_UNREAD_BYTES:
            self._upstream.send(incoming)

    # From the server.

    def hear(self, incoming: Incoming) -> None:
        if incoming.kind == "response" and incoming.id is not None:
            self._answer(incoming, incoming.id)
            return
        if incoming.kind == "notification":
            self._notify(incoming)
            return
        if incoming.kind == "batch":
            self._batched.difference_update(item.id for item in incoming.items)
            self._answered.set()
        elif incoming.kind != "request" and self._is_broken_reply(incoming):
            return
        self._heard(self.session, incoming)
        if incoming.kind == "request":
            self._ask_client(incoming)
            return
        # What is no message is handed on as well: the client is to see what its server does.
        self.session.push(incoming.raw)
        if self._shares:
            self._note_stray("the server said what is no message, which nobody gets", incoming)

    def hear_too_long(self, line: TooLong) -> None:
        self._note(f"the server said something of {line.size} bytes, which is too long to be passed on")
        known = plain_members(line.head, line.tail)
        id = known.get("id")
        if "method" not in known and id is not None and id in self._asked:
            self.hear(read(error_of(id, UPSTREAM_FAILED, f"the server's reply has {line}")))

    def _is_broken_reply(self, incoming: Incoming) -> bool:
        """Whether it was meant as the reply to a call; that call has got it then."""
        known = plain_members(incoming.raw, incoming.raw[-_TAIL_BYTES:])
        id = known.get("id")
        if "method" in known or id is None or id not in self._asked:
            return False
        _, why = incoming.problem or (0, "it has no id")
        self._answer_broken(id, incoming, f"cannot be read: {why}")
        return True

    def _answer_broken(self, id: Id, incoming: Incoming, what: str) -> None:
        """Its client gets it as it is; where ids are ours, an error that it can read."""
        asked = self._forget(id)
        assert asked is not None
        self._heard(self.session, incoming)
        own = asked.exchange.request
        if asked.reply is not None:
            self._note(f"a fault could not act on {own.method}: the server's reply {what}")
            if not asked.reply.done():
                asked.reply.set_result(None)
        elif self.session.transport == "http":
            self._note(f"the server's reply to {own.method} {what}")
        told = (
            error_of(own.id, UPSTREAM_FAILED, f"the server's reply {what}") if self._shares else incoming.raw
        )
        asked.exchange.reply(told)
        replied(self.session)

    def _note_stray(self, what: str, incoming: Incoming) -> None:
        """Some servers log to their stdout: one line of it is enough to see that."""
        if not self._has_strayed:
            self._has_strayed = True
            self._note(f"{what}: {incoming.raw[:100].decode('utf-8', 'replace')}")

    def full(self, is_full: bool) -> None:
        self.session.hold(is_full)

    def gone(self, why: str, code: int | None) -> None:
        if self.ended:
            return
        self.ended = True
        self._answered.set()
        self.session.hold(False)
        for asked in [self._forget(id) for id in tuple(self._asked)]:
            if asked is not None:
                if asked.reply is not None and not asked.reply.done():
                    asked.reply.set_result(None)
                asked.exchange.sever()
        self._gone(self.session, why, code)

    def _answer(self, incoming: Incoming, id: Id) -> None:
        asked = self._forget(id)
        if asked is None and (meant := self._meant(id)) is not None:
            self._answer_broken(meant, incoming, f"has the id {id!r} in place of {meant!r}")
            return
        if asked is None:
            # Too late, or never asked for. Over pipes the client gets it; elsewhere it has nowhere to go.
            self._batched.discard(id)
            self._answered.set()
            self._heard(self.session, incoming)
            if self.session.transport == "stdio":
                self.session.push(incoming.raw)
            return
        if self._shares:
            own = asked.exchange.request.id
            values = {("id",): own, ("result", "_meta", SUBSCRIPTION_KEY): own}
            incoming = read(splice(incoming.raw, values))
        self._heard(self.session, incoming)
        self._answer_with(asked, incoming)

    def _meant(self, id: Id) -> Id | None:
        """The id of another type that a server has made this one of."""
        other: Id = str(id) if isinstance(id, int) else _number(id)
        return other if other in self._asked else None

    def _answer_with(self, asked: _Asked, incoming: Incoming) -> None:
        if asked.reply is None:
            asked.exchange.reply(incoming.raw)
            replied(self.session)
        elif not asked.reply.done():
            asked.reply.set_result(incoming)

    def _notify(self, incoming: Incoming) -> None:
        owner, incoming = self._owner_of(incoming)
        self._heard(self.session, incoming)
        if owner is not None:
            owner.note(incoming.raw)
        else:
            self.session.push(incoming.raw)

    def _owner_of(self, incoming: Incoming) -> tuple[Exchange | None, Incoming]:
        """The call that a notification belongs to, if any, and how its client knows it."""
        params = incoming.params
        token = params.get("progressToken")
        if isinstance(token, str | int) and token in self._tokens:
            asked = self._asked.get(token) if self._shares else None
            if asked is not None:
                incoming = read(splice(incoming.raw, {("params", "progressToken"): asked.token}))
            return self._tokens[token], incoming
        subscription = meta_of(params).get(SUBSCRIPTION_KEY)
        if self._shares and isinstance(subscription, str | int):
            # On pipes the id may have become a text on its way.
            asked = self._asked.get(subscription) or self._asked.get(_number(subscription))
            if asked is None:
                return None, incoming
            own = asked.exchange.request.id
            return asked.exchange, read(splice(incoming.raw, {("params", "_meta", SUBSCRIPTION_KEY): own}))
        if self.session.transport == "http":
            if incoming.method == LOG:
                return self._talking(), incoming
            if incoming.method == CANCELLED and isinstance(id := params.get("requestId"), str | int):
                return self._questions.pop(id, None), incoming
        return None, incoming

    def _talking(self) -> Exchange | None:
        """The call that a server's words are most likely about, where nothing says it: the latest."""
        for asked in reversed(self._asked.values()):
            if not self._shares or LOG_LEVEL_KEY in meta_of(asked.exchange.request.params):
                return asked.exchange
        return None

    def _ask_client(self, incoming: Incoming) -> None:
        """Over HTTP, a server's question goes with the call that it is about."""
        talking = self._talking() if self.session.transport == "http" else None
        if talking is not None and incoming.id is not None:
            self._questions[incoming.id] = talking
            talking.note(incoming.raw)
        else:
            self.session.push(incoming.raw)


def _number(value: str | int) -> int:
    return int(value) if str(value).isdecimal() and len(str(value)) < 16 else -1


def _raw(incoming: Incoming) -> bytes:
    """Its bytes; of one out of a batch, which has none of its own, some that say the same."""
    return incoming.raw or encode(incoming.message)
