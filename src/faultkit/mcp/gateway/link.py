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

from faultkit.errors import FaultkitError
from faultkit.mcp.carry import replied
from faultkit.mcp.gateway.upstream import Connect, Upstream
from faultkit.mcp.wire.era import SUBSCRIPTION_KEY, meta_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Id, Incoming, encode, notification_of, read


@dataclass(slots=True)
class _Asked:
    """A request that the server has, and who wants its reply."""

    exchange: Exchange
    reply: asyncio.Future[Incoming | None] | None
    """Of a call with a verdict, which decides what becomes of the reply."""
    token: Any = None


class Link:
    def __init__(
        self,
        session: Session,
        connect: Connect,
        heard: Callable[[Session, Incoming], None],
        gone: Callable[[Session, str, int | None], None],
    ) -> None:
        self.session = session
        self._heard = heard
        self._gone = gone
        self._asked: dict[Id, _Asked] = {}
        self._tokens: dict[Id, Exchange] = {}
        self._shares = session.transport == "http" and session.era == "modern"
        self._count = 0
        self._upstream: Upstream = connect(self._hear, self._lost)
        self._waiting: list[Incoming] | None = []
        """What came before the server was up; None when it is."""
        self._starting = asyncio.get_running_loop().create_task(self._start())
        self.ended = False

    async def _start(self) -> None:
        try:
            await self._upstream.start()
        except FaultkitError as error:
            self._lost(str(error), None)
            return
        waiting, self._waiting = self._waiting or [], None
        for incoming in waiting:
            self._upstream.send(incoming)

    async def stop(self) -> None:
        self.ended = True
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        await self._upstream.stop()

    # From the client.

    def tell(self, incoming: Incoming) -> None:
        """A notification, or a response to a request of the server."""
        self._send(incoming)

    def pass_on(self, exchange: Exchange) -> None:
        """A request that nothing acts on: the reply goes to the client as it comes."""
        self._ask(exchange, None)

    async def ask(self, exchange: Exchange) -> Incoming | None:
        """The reply to a request, for somebody to act on; None if the server left."""
        reply: asyncio.Future[Incoming | None] = asyncio.get_running_loop().create_future()
        self._ask(exchange, reply)
        return await reply

    def _ask(self, exchange: Exchange, reply: asyncio.Future[Incoming | None] | None) -> None:
        request = exchange.request
        assert request.id is not None
        asked = _Asked(exchange, reply)
        id = request.id
        token = meta_of(request.params).get("progressToken")
        if self._shares:
            self._count += 1
            id, asked.token = self._count, token
            request = _with_ids(request, id, None if token is None else id)
            token = None if token is None else id
        if isinstance(token, str | int):
            self._tokens[token] = exchange
        self._asked[id] = asked
        exchange.on_cancel(lambda: self._cancel(id))
        self._send(request)

    def _cancel(self, id: Id) -> None:
        asked = self._asked.get(id)
        if asked is None:
            return
        if self._shares:
            # Its client has closed the answer; to a server on pipes this has to be said.
            del self._asked[id]
            self._send(read(notification_of("notifications/cancelled", {"requestId": id})))
        self._upstream.abandon(id)

    def _send(self, incoming: Incoming) -> None:
        if self._waiting is not None:
            self._waiting.append(incoming)
        else:
            self._upstream.send(incoming)

    # From the server.

    def _hear(self, incoming: Incoming) -> None:
        self._heard(self.session, incoming)
        if incoming.kind == "response" and incoming.id is not None:
            self._answer(incoming, incoming.id)
        elif incoming.kind == "notification":
            self._notify(incoming)
        elif incoming.kind == "request":
            self._ask_client(incoming)
        else:
            # What is no message is handed on as well: the client is to see what its server does.
            self.session.push(incoming.raw)

    def _answer(self, incoming: Incoming, id: Id) -> None:
        asked = self._asked.pop(id, None)
        if asked is None:
            # Too late, or never asked for. Over pipes the client gets it; elsewhere it has nowhere to go.
            if self.session.transport == "stdio":
                self.session.push(incoming.raw)
            return
        self._forget_token(asked.exchange)
        if self._shares:
            incoming = read(encode({**incoming.message, "id": asked.exchange.request.id}))
        if asked.reply is None:
            asked.exchange.reply(incoming.raw)
            replied(self.session)
        elif not asked.reply.done():
            asked.reply.set_result(incoming)

    def _forget_token(self, exchange: Exchange) -> None:
        for token in [token for token, owner in self._tokens.items() if owner is exchange]:
            del self._tokens[token]

    def _notify(self, incoming: Incoming) -> None:
        token = incoming.params.get("progressToken")
        subscription = meta_of(incoming.params).get(SUBSCRIPTION_KEY)
        if isinstance(token, str | int) and token in self._tokens:
            owner = self._tokens[token]
            asked = self._asked.get(token) if self._shares else None
            if asked is not None:
                params = {**incoming.params, "progressToken": asked.token}
                incoming = read(encode({**incoming.message, "params": params}))
            owner.note(incoming.raw)
        elif self._shares and isinstance(subscription, str | int):
            # On pipes the id may have become a text on its way.
            asked = self._asked.get(subscription) or self._asked.get(_number(subscription))
            if asked is not None:
                meta = {**meta_of(incoming.params), SUBSCRIPTION_KEY: asked.exchange.request.id}
                params = {**incoming.params, "_meta": meta}
                asked.exchange.note(encode({**incoming.message, "params": params}))
        else:
            self.session.push(incoming.raw)

    def _ask_client(self, incoming: Incoming) -> None:
        """Over HTTP, a server's question goes with the call that it is about: we take the latest."""
        if self.session.transport == "http" and self._asked:
            next(reversed(self._asked.values())).exchange.note(incoming.raw)
        else:
            self.session.push(incoming.raw)

    def _lost(self, why: str, code: int | None) -> None:
        if self.ended:
            return
        self.ended = True
        asked, self._asked = self._asked, {}
        for each in asked.values():
            if each.reply is not None and not each.reply.done():
                each.reply.set_result(None)
            each.exchange.sever()
        self._gone(self.session, why, code)


def _number(value: str | int) -> int:
    return int(value) if str(value).isdecimal() and len(str(value)) < 16 else -1


def _with_ids(request: Incoming, id: int, token: int | None) -> Incoming:
    message = {**request.message, "id": id}
    if token is not None:
        meta = {**meta_of(request.params), "progressToken": token}
        message["params"] = {**request.params, "_meta": meta}
    return read(encode(message))
