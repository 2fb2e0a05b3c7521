"""One client session and the server behind it: which reply belongs to which call.

A link forwards messages in both directions. It does not judge calls (`interception` does) and it does not
know how the server is reached (`mcp.upstreams` does).

                 forward_request / request                     Upstream.send
    Exchange  ------------------------------->  Link  ---------------------------->  server
              <-------------------------------        <----------------------------
                 Exchange.reply / .note                  UpstreamListener.on_message

A link works in one of two modes, fixed when the session opens:

    mode      sessions                    ids and progress tokens       bytes of a message
    own       stdio, legacy HTTP: the     as the client chose them      unchanged
              server has one client
    shared    modern HTTP (2026-07-28):   replaced on the way in,       unchanged but for
              no sessions, so all         restored on the way out       these values
              clients share one server

Why `shared` rewrites: ids have to be unique only among the open requests of one sender (MCP 2026-07-28,
Overview, Requests), and so do progress tokens (MCP 2025-11-25, Progress, Progress Flow). Two HTTP clients may
both send id 1 with token "a". The server behind sees one peer, so each request gets a number that is unique
on this link, used as its id and as its progress token.

The life of a call:

    _open_call     the request is sent, or kept in `_unsent` until the server is up
    _on_reply      the reply arrives: to the client, or to the verdict that awaits it (`_OpenCall.reply`)
    _cancel        the client has cancelled it; a late reply finds no call and is treated as a stray one
    on_exit        the server has exited: the client sees that no reply will come
    _close_call    every one of these ends here: the call, its token and its server requests are forgotten

State, all keyed by what the *server* knows:

    _calls            id -> call that the server has not answered
    _token_owners     progress token -> exchange that gets the notifications for it
    _server_requests  id of a request that the server sent -> exchange that carried it to the client
    _batch_ids        ids out of batches that were forwarded unparsed; the server owes these replies too

Cancellation: over stdio and legacy HTTP the client sends `notifications/cancelled`, which is forwarded like
any other message. Over modern HTTP it closes the response instead (MCP 2026-07-28, Streamable HTTP,
Cancellation), so a link in `shared` mode sends the notification itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import FaultkitError
from faultkit.base.framing import OversizedLine
from faultkit.mcp.interpreter import count_reply
from faultkit.mcp.upstreams.upstream import UPSTREAM_FAILED, Connect, Upstream
from faultkit.mcp.wire.era import LOG_LEVEL_KEY, SUBSCRIPTION_KEY, meta_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.json_text import replace_values, visible_members
from faultkit.mcp.wire.message import CANCELLED, Id, Incoming, encode, error_of, notification_of, read

MOST_UNREAD_BYTES = 64 << 20
"""Bytes that a server may leave unread; above that, requests are refused and other messages dropped."""
LOG = "notifications/message"
_LIST_CHANGED = "notifications/tools/list_changed"
TOOLS_CHANGED = notification_of(_LIST_CHANGED, {})
_LISTEN = "subscriptions/listen"
_TAIL_BYTES = 1024
"""Bytes at the end of a broken reply in which its id is looked for."""


@dataclass(slots=True)
class _OpenCall:
    """A request that the server has not answered."""

    exchange: Exchange
    reply: asyncio.Future[Incoming | None] | None
    """Resolved with the reply if a verdict decides what becomes of it; None if it goes to the client as
    is."""
    client_token: Any = None
    """Progress token that the client sent; any JSON value, since clients may send anything."""
    server_token: Any = None
    """Progress token that the server was sent; None if there is none to keep."""


class Link:
    """A session's connection to its server, and the `UpstreamListener` of that server."""

    def __init__(
        self,
        session: Session,
        connect: Connect,
        observe: Callable[[Session, Incoming], None],
        on_lost: Callable[[Session, str, int | None], None],
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`observe` gets each message of the server in the form in which its client gets it. `on_lost` is
        called once if the server exits by itself. `warn` gets problems that no message can report."""
        self.session = session
        self.ended = False
        self._observe = observe
        self._on_lost = on_lost
        self._warn = warn
        self._calls: dict[Id, _OpenCall] = {}
        self._token_owners: dict[Id, Exchange] = {}
        self._server_requests: dict[Id, Exchange] = {}
        self._batch_ids: set[Id | None] = set()
        self._has_warned_of_stray = False
        self._is_shared = session.transport == "http" and session.era == "modern"
        self._last_number = 0
        """In shared mode: the id and token of the newest call."""
        self._call_ended = asyncio.Event()
        self._upstream: Upstream = connect(self)
        session.on_full = self._upstream.pause
        self._unsent: list[Incoming] | None = []
        """Messages that came before the server was up; None once it is."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        try:
            await self._upstream.start()
        except FaultkitError as error:
            for id, call in tuple(self._calls.items()):
                if self.session.transport == "http":
                    self.on_message(read(error_of(id, UPSTREAM_FAILED, str(error))))
                call.exchange.close()
            self.on_exit(str(error), None)
            return
        unsent, self._unsent = self._unsent or [], None
        for incoming in unsent:
            self._upstream.send(incoming)

    async def stop(self, *, urgent: bool = False) -> None:
        """End the server and wait until it is gone."""
        self.ended = True
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        await self._upstream.stop(urgent=urgent)

    async def drain(self) -> None:
        """Close the server's input and wait until it has answered every call, or has exited."""
        await asyncio.wait([self._starting])
        self._upstream.close_input()
        while not self.ended and self._owes_replies():
            self._call_ended.clear()
            await self._call_ended.wait()

    def _owes_replies(self) -> bool:
        # A subscription is open for as long as its client listens (MCP 2026-07-28, Streamable HTTP, Receiving
        # Messages), so its reply is not awaited.
        methods = (call.exchange.request.method for call in self._calls.values())
        return bool(self._batch_ids) or any(method != _LISTEN for method in methods)

    # --- from the client ----------------------------------------------------------------------

    def forward(self, incoming: Incoming) -> None:
        """Send on a message that is not a request: a notification, a response, a batch, or invalid bytes."""
        if incoming.kind == "response" and incoming.id is not None:
            self._server_requests.pop(incoming.id, None)
        self._batch_ids.update(item.id for item in incoming.items if item.kind == "request")
        self._send(incoming)

    def forward_request(self, exchange: Exchange) -> None:
        """Send on a request that no rule acts on. Its reply goes to the client as it comes."""
        id = self._open_call(exchange, None)
        if id is not None:
            exchange.on_cancel(lambda: self._cancel(id))

    async def request(self, exchange: Exchange, *, ignores_cancel: bool = False) -> Incoming | None:
        """Send on a request and return the reply for a verdict to act on; None if the server exited.

        With `ignores_cancel`, the server is not notified that the client cancelled the call."""
        reply: asyncio.Future[Incoming | None] = asyncio.get_running_loop().create_future()
        id = self._open_call(exchange, reply)
        if id is not None and not ignores_cancel:
            exchange.on_cancel(lambda: self._cancel(id))
        try:
            return await reply
        finally:
            if id is not None:
                self._close_call(id)

    def _open_call(self, exchange: Exchange, reply: asyncio.Future[Incoming | None] | None) -> Id | None:
        """Send a request; return the id by which the server knows it, or None if it was refused here."""
        request = exchange.request
        assert request.id is not None
        id = request.id
        token = meta_of(request.params).get("progressToken")
        # Tokens are strings or integers (MCP 2025-11-25, Progress, Progress Flow). Other values are
        # forwarded, but notifications with them are not assigned to the call.
        call = _OpenCall(exchange, reply, token, token if isinstance(token, str | int) else None)
        if self._is_shared:
            # Replace the values in the text, so that all other bytes pass unchanged.
            self._last_number += 1
            id = self._last_number
            call.server_token = None if token is None else id
            values = {("id",): id, ("params", "_meta", "progressToken"): id}
            request = read(replace_values(_bytes_of(request), values))
        if self._unsent is None and self._upstream.unread_bytes > MOST_UNREAD_BYTES:
            refusal = error_of(exchange.request.id, UPSTREAM_FAILED, "the server does not read")
            self._deliver_reply(call, read(refusal))
            return None
        if isinstance(call.server_token, str | int):
            self._token_owners[call.server_token] = exchange
        self._calls[id] = call
        self._send(request)
        return id

    def _close_call(self, id: Id) -> _OpenCall | None:
        """Forget a call with its token and the server's requests that belong to it; return it if it was
        open."""
        call = self._calls.pop(id, None)
        if call is not None:
            # The same token may have been sent again with a later call, which owns it now.
            if self._token_owners.get(call.server_token) is call.exchange:
                del self._token_owners[call.server_token]
            if self._server_requests:
                for request in [each for each, own in self._server_requests.items() if own is call.exchange]:
                    del self._server_requests[request]
            self._call_ended.set()
        return call

    def _cancel(self, id: Id) -> None:
        call = self._close_call(id)
        if call is None:
            return
        if self._is_shared:
            # The client closed its response, which a stdio server cannot see: there, cancelling takes a
            # notification (MCP 2026-07-28, stdio, Cancellation).
            self._send(read(notification_of(CANCELLED, {"requestId": id})))
        self._upstream.abandon(id)
        if call.reply is None:
            call.exchange.finish()

    def _send(self, incoming: Incoming) -> None:
        if not incoming.raw:
            incoming = read(_bytes_of(incoming))
        if self._unsent is not None:
            self._unsent.append(incoming)
        elif self._upstream.unread_bytes <= MOST_UNREAD_BYTES:
            self._upstream.send(incoming)

    # --- from the server: UpstreamListener ----------------------------------------------------

    def on_message(self, incoming: Incoming) -> None:
        if incoming.kind == "response" and incoming.id is not None:
            self._on_reply(incoming, incoming.id)
            return
        if incoming.kind == "notification":
            self._on_notification(incoming)
            return
        if incoming.kind == "batch":
            self._batch_ids.difference_update(item.id for item in incoming.items)
            self._call_ended.set()
        elif incoming.kind != "request" and self._is_broken_reply(incoming):
            return
        self._observe(self.session, incoming)
        if incoming.kind == "request":
            self._on_server_request(incoming)
            return
        # Invalid bytes are forwarded too: the client is meant to see what its server does.
        self.session.push(incoming.raw)
        if self._is_shared and not self._has_warned_of_stray:
            # Some servers log to stdout. One line is enough to notice it.
            self._has_warned_of_stray = True
            start = incoming.raw[:100].decode("utf-8", "replace")
            self._warn(f"the server sent a line that is not a message; no client receives it: {start}")

    def on_oversized_line(self, line: OversizedLine) -> None:
        self._warn(f"the server sent a message of {line.size} bytes, which is too long to forward")
        known = visible_members(line.head, line.tail)
        id = known.get("id")
        if "method" not in known and id is not None and id in self._calls:
            self.on_message(read(error_of(id, UPSTREAM_FAILED, f"the server's reply has {line}")))

    def on_input_full(self, is_full: bool) -> None:
        self.session.pause_client(is_full)

    def on_exit(self, why: str, code: int | None) -> None:
        if self.ended:
            return
        self.ended = True
        self._call_ended.set()
        self.session.pause_client(False)
        for call in [self._close_call(id) for id in tuple(self._calls)]:
            if call is not None:
                if call.reply is not None and not call.reply.done():
                    call.reply.set_result(None)
                call.exchange.sever()
        self._on_lost(self.session, why, code)

    # --- replies ------------------------------------------------------------------------------

    def _on_reply(self, incoming: Incoming, id: Id) -> None:
        call = self._close_call(id)
        if call is None and (intended := self._id_of_other_type(id)) is not None:
            self._deliver_broken_reply(intended, incoming, f"has the id {id!r} in place of {intended!r}")
            return
        if call is None:
            # Late, or never requested. A stdio client sees it; over HTTP no response is open for it.
            self._batch_ids.discard(id)
            self._call_ended.set()
            self._observe(self.session, incoming)
            if self.session.transport == "stdio":
                self.session.push(incoming.raw)
            return
        if self._is_shared:
            own = call.exchange.request.id
            values = {("id",): own, ("result", "_meta", SUBSCRIPTION_KEY): own}
            incoming = read(replace_values(incoming.raw, values))
        self._observe(self.session, incoming)
        self._deliver_reply(call, incoming)

    def _deliver_reply(self, call: _OpenCall, incoming: Incoming) -> None:
        if call.reply is None:
            call.exchange.reply(incoming.raw)
            count_reply(self.session)
        elif not call.reply.done():
            call.reply.set_result(incoming)

    def _id_of_other_type(self, id: Id) -> Id | None:
        """Return the open call whose id a server turned from a number into a string, or the reverse.

        The reply must have the id of the request (JSON-RPC 2.0, section 5); some servers change its type."""
        other: Id = str(id) if isinstance(id, int) else _number(id)
        return other if other in self._calls else None

    def _is_broken_reply(self, incoming: Incoming) -> bool:
        """Return whether invalid bytes were meant as the reply to a call, which has then received them."""
        known = visible_members(incoming.raw, incoming.raw[-_TAIL_BYTES:])
        id = known.get("id")
        if "method" in known or id is None or id not in self._calls:
            return False
        _, why = incoming.problem or (0, "it has no id")
        self._deliver_broken_reply(id, incoming, f"cannot be read: {why}")
        return True

    def _deliver_broken_reply(self, id: Id, incoming: Incoming, what: str) -> None:
        """End a call with a reply that is not a valid one: the bytes themselves or, in shared mode, where
        they hold an id that the client does not know, an error in their place."""
        call = self._close_call(id)
        assert call is not None
        self._observe(self.session, incoming)
        request = call.exchange.request
        if call.reply is not None:
            self._warn(f"a fault could not act on {request.method}: the server's reply {what}")
            if not call.reply.done():
                call.reply.set_result(None)
        elif self.session.transport == "http":
            self._warn(f"the server's reply to {request.method} {what}")
        if self._is_shared:
            call.exchange.reply(error_of(request.id, UPSTREAM_FAILED, f"the server's reply {what}"))
        else:
            call.exchange.reply(incoming.raw)
        count_reply(self.session)

    # --- notifications and requests of the server ---------------------------------------------

    def _on_notification(self, incoming: Incoming) -> None:
        owner, incoming = self._owner_of(incoming)
        self._observe(self.session, incoming)
        if owner is not None:
            owner.note(incoming.raw)
        else:
            self.session.push(incoming.raw)

    def _owner_of(self, incoming: Incoming) -> tuple[Exchange | None, Incoming]:
        """Return the call that a notification belongs to, if any, and the notification as its client knows
        it.

        Over HTTP the owner decides on which stream the notification goes out: the response stream of a
        request carries only notifications that relate to it (MCP 2026-07-28, Streamable HTTP, Receiving
        Messages; a SHOULD in MCP 2025-11-25, Transports, Sending Messages to the Server). The owner is found,
        in this order, by
          - the progress token;
          - the id of the subscription, in shared mode;
          - a guess, for log messages: the newest open call;
          - the call that carried a request of the server, if the notification cancels that request."""
        params = incoming.params
        token = params.get("progressToken")
        if isinstance(token, str | int) and token in self._token_owners:
            call = self._calls.get(token) if self._is_shared else None
            if call is not None:
                incoming = read(
                    replace_values(incoming.raw, {("params", "progressToken"): call.client_token})
                )
            return self._token_owners[token], incoming
        subscription = meta_of(params).get(SUBSCRIPTION_KEY)
        if self._is_shared and isinstance(subscription, str | int):
            # The subscription's id is the id of the `subscriptions/listen` call; servers may send it as text.
            call = self._calls.get(subscription) or self._calls.get(_number(subscription))
            if call is None:
                return None, incoming
            own = call.exchange.request.id
            restored = replace_values(incoming.raw, {("params", "_meta", SUBSCRIPTION_KEY): own})
            return call.exchange, read(restored)
        if self.session.transport == "http":
            if incoming.method == LOG:
                return self._newest_open_call(), incoming
            if incoming.method == CANCELLED and isinstance(id := params.get("requestId"), str | int):
                return self._server_requests.pop(id, None), incoming
        return None, incoming

    def _newest_open_call(self) -> Exchange | None:
        """Return the newest open call: the fallback for messages that name no call.

        In shared mode only calls that asked for log messages qualify: other clients must not get them."""
        for call in reversed(self._calls.values()):
            if not self._is_shared or LOG_LEVEL_KEY in meta_of(call.exchange.request.params):
                return call.exchange
        return None

    def _on_server_request(self, incoming: Incoming) -> None:
        """Send a request of the server to the client; over HTTP on the stream of the newest open call.

        A server that asks for sampling or input does so while it serves a call, and on such a stream requests
        should relate to the call (MCP 2025-11-25, Transports, Sending Messages to the Server). Without an
        open call the request goes to the session's GET stream."""
        carrier = self._newest_open_call() if self.session.transport == "http" else None
        if carrier is not None and incoming.id is not None:
            self._server_requests[incoming.id] = carrier
            carrier.note(incoming.raw)
        else:
            self.session.push(incoming.raw)

    # --- from the gateway itself ---------------------------------------------------------------

    def announce_tools_changed(self) -> None:
        """Notify the client that its list of tools, as the rules let it appear, is another one."""
        if self.session.era == "legacy":
            self.session.push(TOOLS_CHANGED)
            return
        for call in tuple(self._calls.values()):
            if (notification := tools_changed_for(call.exchange.request)) is not None:
                call.exchange.note(notification)


def tools_changed_for(request: Incoming) -> bytes | None:
    """Return the notification of changed tools for a request that listens for it; None for any other.

    In the modern era only a client that listens gets it, in the stream of its subscription (MCP 2026-07-28,
    Subscriptions)."""
    wanted = request.params.get("notifications") if request.method == _LISTEN else None
    if not isinstance(wanted, dict) or wanted.get("toolsListChanged") is not True:
        return None
    return notification_of(_LIST_CHANGED, {"_meta": {SUBSCRIPTION_KEY: request.id}})


def _number(value: str | int) -> int:
    """Return the number that a text holds; -1, which is never an id here, if it holds none."""
    return int(value) if str(value).isdecimal() and len(str(value)) < 16 else -1


def _bytes_of(incoming: Incoming) -> bytes:
    """Return the bytes of a message. One out of a batch has none of its own and is encoded."""
    return incoming.raw or encode(incoming.message)
