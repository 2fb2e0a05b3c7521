"""The relay: HTTP in front and HTTP behind. Requests and responses pass unchanged, with sessions and streams.

Only the body of a POST is parsed, and only the response to a call that a rule acts on is taken apart.
Hop-by-hop headers are dropped in both directions (RFC 9110 §7.6.1, see `forwarding`).

                   +- no rule acts --> _forward_unchanged: the response is copied byte for byte
    handle -> _serve -> judge
                   +- a verdict ----> RelayedExchange: the reply is taken out of the response, and the
                                      client gets what the verdict makes of it

Sessions and resumption are between the client and the upstream. The relay knows a session only by the
Mcp-Session-Id of its requests, and only for as long as a fault has something to remember about it: that it is
frozen, its open calls, replies that wait to be overtaken. A stream that passes unchanged keeps its event ids,
so the client can resume it with Last-Event-ID (MCP 2025-11-25, Transports, Resumability and Redelivery); a
stream that a fault makes has no ids and cannot be resumed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from functools import partial

from faultkit.base.address import Verify
from faultkit.base.http.callers import has_token, is_allowed_caller, refuse_without_token
from faultkit.base.http.http_client import ConnectionLost, HttpClient, HttpReply
from faultkit.base.http.http_exchange import Headers, HttpRequest, ResponseWriter, prepared_head
from faultkit.base.tasks import TaskSet
from faultkit.faults.call_fault import Era, Verdict
from faultkit.mcp.gateway.forwarding import (
    ListeningStream,
    MessageTee,
    copy_as_it_comes,
    copy_response,
    copy_whole_response,
    end_to_end_headers,
    redirect_past_gateway,
    response_headers,
    send_body,
)
from faultkit.mcp.gateway.interception import Interception
from faultkit.mcp.gateway.link import TOOLS_CHANGED, tools_changed_for
from faultkit.mcp.gateway.oauth_metadata import (
    MOST_BYTES,
    is_metadata_request,
    with_own_challenge,
    with_own_resource,
)
from faultkit.mcp.gateway.recorder import TrafficObserver
from faultkit.mcp.gateway.relayed_exchange import RelayedExchange, find_reply
from faultkit.mcp.injector import Injector
from faultkit.mcp.interpreter import AskServer, count_reply
from faultkit.mcp.wire.era import BATCH_VERSIONS, SESSION_HEADER, STATUS_OF, VERSION_HEADER, era_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.http_exchange import HttpBatchExchange, http_batch
from faultkit.mcp.wire.message import Incoming, cancelled_id, encode, read
from faultkit.plan import Plan

_MOST_SESSIONS = 10_000
_OK = 200
_OF_REQUEST = frozenset(("location", "www-authenticate"))
"""Headers of a response that are not the same for all requests."""


class HttpRelay:
    """An HTTP request handler that forwards to one upstream."""

    def __init__(
        self,
        url: str,
        injector: Injector,
        *,
        server: str = "",
        observer: TrafficObserver | None = None,
        elapsed: Callable[[], float] | None = None,
        headers: Iterable[tuple[str, str]] = (),
        verify: Verify = True,
        hosts: tuple[str, ...] | None = None,
        token: str | None = None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`hosts`: names that Host and Origin may have; None allows any Host, and pages of that host
        only. `token`: bearer token that clients must send, which is not forwarded; None allows all. `headers`
        replace those of the same name on each request to the upstream. `elapsed`: the clock of
        schedules. `warn` gets problems that no response can report."""
        self._client = HttpClient(url, verify=verify)
        self._url = url
        self._warn = warn
        self._interception = Interception(injector, server, observer, elapsed, warn)
        self._added_headers = list(headers)
        self._dropped_names = {name.lower() for name, _ in self._added_headers}
        if token is not None:
            self._dropped_names.add("authorization")
        self._token = token
        self._hosts = hosts
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._listening: dict[ListeningStream, bytes] = {}
        """Open streams for notifications, each with the one that says that the list of tools has changed."""
        self._tasks = TaskSet[None]()

    @property
    def path(self) -> str:
        """Path that is served: that of the upstream."""
        return self._client.target.partition("?")[0]

    async def stop(self) -> None:
        await self._tasks.cancel()
        self._client.close()

    def on_plan(self, plan: Plan) -> None:
        """Notify all clients that listen if a new plan changes their lists of tools."""
        if self._interception.changes_tool_list(plan):
            for stream, notification in tuple(self._listening.items()):
                stream.put(notification)

    def handle(self, request: HttpRequest, answer: ResponseWriter) -> None:
        """Serve one request."""
        head: bytes | None = request.memo.get(self)
        if head is None:  # Otherwise requests with this head were let in before.
            if not is_allowed_caller(request, self._hosts, ()):
                answer.respond(403, [("content-type", "text/plain")], b"this host or origin may not call")
                return
            if self._token is not None and not has_token(request, self._token):
                refuse_without_token(answer)
                return
        if request.method != "POST" or not request.body:
            self._serve_in_task(request, None, answer)
            return
        if head is None:
            headers = self._request_headers(request, is_read=False)
            head = request.memo[self] = self._client.head_of("POST", headers, self._target(request))
        if not self._forward_at_once(request, head, answer):
            self._serve_in_task(request, read(request.body), answer)

    def _serve_in_task(self, request: HttpRequest, incoming: Incoming | None, answer: ResponseWriter) -> None:
        task = self._tasks.start(self._serve(request, incoming, answer))
        # Cancelling the task closes the upstream connection, so the server sees its client disconnect.
        answer.on_disconnect(task.cancel)

    async def _serve(self, request: HttpRequest, incoming: Incoming | None, answer: ResponseWriter) -> None:
        era: Era = "legacy" if incoming is None else era_of(incoming, request.headers)
        session = self._session(request.headers.get(SESSION_HEADER, era), era)
        try:
            await self._serve_in(session, request, incoming, answer)
        finally:
            # Session ids are chosen by clients. Keep a session only if it has state, so random ids cannot
            # exhaust memory.
            has_state = session.frozen or session.exchanges or any(session.info.values())
            if not has_state and self._sessions.get(session.id) is session:
                del self._sessions[session.id]

    async def _serve_in(
        self, session: Session, request: HttpRequest, incoming: Incoming | None, answer: ResponseWriter
    ) -> None:
        if incoming is not None:
            if self._interception.is_recording:
                self._interception.record(session, "client", incoming)
                answer.on_disconnect(partial(self._record_closed, session, incoming, answer))
            if incoming.method == "initialize" and session.id == session.era:
                # The server assigns no session ids (MCP 2025-11-25, Transports, Session Management: it MAY),
                # so only `initialize` shows that a new session begins.
                session.frozen = False
        if session.frozen:
            return
        if incoming is not None and self._cancels_local_call(session, incoming):
            answer.respond(202)
        elif incoming is not None and self._is_split(request, incoming):
            await self._serve_batch(session, request, incoming, answer)
        elif is_metadata_request(request.method, request.path):
            await self._forward_metadata(request, answer)
        elif incoming is None or incoming.kind != "request" or incoming.id is None:
            await self._forward_unchanged(request, None, answer, session)
        elif (verdict := self._interception.judge(session, incoming)) is None:
            await self._forward_unchanged(request, incoming, answer, session)
            count_reply(session)
        else:
            await self._execute_on_call(verdict, request, incoming, answer, session)

    async def _execute_on_call(
        self,
        verdict: Verdict,
        request: HttpRequest,
        incoming: Incoming,
        answer: ResponseWriter,
        session: Session,
    ) -> None:
        statuses = STATUS_OF if session.era == "modern" else {}
        exchange = RelayedExchange(session, incoming, request.headers, answer, statuses)
        on_message = partial(self._interception.on_server_message, session)
        warn_unable = partial(self._warn_unable, verdict, incoming)

        async def ask() -> Incoming | None:
            reply = await self._forward(request, answer, is_read=True)
            if reply is None:
                return None
            return await exchange.take(reply, self._response_headers(reply, request), on_message, warn_unable)

        await self._execute(verdict, exchange, ask)

    async def _execute(self, verdict: Verdict, exchange: Exchange, ask: AskServer) -> None:
        try:
            await self._interception.execute(verdict, exchange, ask)
        finally:
            exchange.close()

    def _record_closed(self, session: Session, incoming: Incoming, answer: ResponseWriter) -> None:
        # In the legacy era a client may resume a stream that has begun.
        if session.era == "modern" or not answer.began:
            self._interception.record_closed(session, incoming)

    def _warn_unable(self, verdict: Verdict, incoming: Incoming, why: str) -> None:
        """Warn that a fault had no reply to act on."""
        if verdict.frames is not None or verdict.overtaken_by:
            self._warn(f"{verdict.effect or 'a fault'} could not act on {incoming.method}: {why}")

    # --- batches ------------------------------------------------------------------------------

    def _is_split(self, request: HttpRequest, incoming: Incoming) -> bool:
        """Return whether the messages of a batch are sent one by one, because a rule acts on one call."""
        version = request.headers.get(VERSION_HEADER)
        return (
            incoming.kind == "batch"
            and self._interception.has_rules
            and (version is None or version in BATCH_VERSIONS)
            and any(item.kind == "request" for item in incoming.items)
        )

    async def _serve_batch(
        self, session: Session, request: HttpRequest, incoming: Incoming, answer: ResponseWriter
    ) -> None:
        """Send each message of a batch to the upstream by itself."""
        batch = http_batch(session, answer)
        work: list[Coroutine[object, object, None]] = []

        def dispatch(item: Incoming) -> None:
            alone = replace(request, body=encode(item.message))
            if item.kind != "request":
                work.append(self._forward_notification(alone, answer))
                return
            exchange = HttpBatchExchange(session, item, request.headers, answer, batch)
            verdict = self._interception.judge(session, item) or Verdict()
            work.append(self._execute(verdict, exchange, partial(self._ask, alone, exchange, answer)))

        batch.take(incoming.items, dispatch)
        await asyncio.gather(*work)

    async def _forward_notification(self, request: HttpRequest, answer: ResponseWriter) -> None:
        reply = await self._forward(request, answer, is_read=True)
        if reply is not None:
            reply.close()

    async def _ask(self, request: HttpRequest, exchange: Exchange, answer: ResponseWriter) -> Incoming | None:
        reply = await self._forward(request, answer, is_read=True)
        if reply is None:
            return None
        return await find_reply(
            reply,
            exchange,
            answer,
            self._response_headers(reply, request),
            partial(self._interception.on_server_message, exchange.session),
        )

    # --- forwarding ---------------------------------------------------------------------------

    def _forward_at_once(self, request: HttpRequest, head: bytes, answer: ResponseWriter) -> bool:
        """Forward a POST request that nothing acts on, and its response, without a task; return False if that
        is not possible, and nothing was done. `head` is that of the request to the upstream.

        A task costs as much as all the rest: it begins and goes on in turns of the event loop of its own."""
        interception = self._interception
        if (
            self._sessions  # One of them may be frozen, or count replies.
            or interception.has_rules
            or interception.is_recording
            or (_may_concern_relay(request.body) and self._concerns_relay(read(request.body)))
        ):
            return False
        give_up = self._client.start(head, request.body, partial(self._arrived, request, answer))
        if give_up is None:
            return False
        answer.on_disconnect(give_up)
        return True

    def _concerns_relay(self, incoming: Incoming) -> bool:
        """Return whether the response is read too, or the relay may add to it."""
        wants_reply = self._interception.wants_reply_to(incoming.method)
        return wants_reply or tools_changed_for(incoming) is not None

    def _arrived(
        self, request: HttpRequest, answer: ResponseWriter, reply: HttpReply | ConnectionLost
    ) -> None:
        """Pass on a response whose head has arrived."""
        if isinstance(reply, ConnectionLost):
            answer.abort(reply.reset)
            return
        if (head := reply.memo.get(self)) is not None and (body := reply.whole()) is not None:
            answer.respond_prepared(head, body)
            reply.close()
            return
        self._check_redirect(reply, self._target(request))
        lines = self._response_headers(reply, request)
        if reply.status == _OK and not answer.extra_headers and _OF_REQUEST.isdisjoint(reply.headers):
            reply.memo[self] = prepared_head(_OK, lines)
        if copy_whole_response(request, reply, lines, answer):
            reply.close()
            return
        if copy_as_it_comes(reply, lines, answer):
            return
        incoming = read(request.body)
        era = era_of(incoming, request.headers)
        session = Session(request.headers.get(SESSION_HEADER, era), "http", era, lambda raw: None)
        task = self._tasks.start(self._copy_reply(request, incoming, answer, session, reply, is_read=False))
        answer.on_disconnect(task.cancel)

    async def _forward_unchanged(
        self, request: HttpRequest, incoming: Incoming | None, answer: ResponseWriter, session: Session
    ) -> None:
        """Forward a request and copy its response byte for byte."""
        is_read = self._interception.is_recording or (
            incoming is not None and self._interception.wants_reply_to(incoming.method)
        )
        reply = await self._forward(request, answer, is_read=is_read)
        if reply is not None:
            await self._copy_reply(request, incoming, answer, session, reply, is_read=is_read)

    async def _copy_reply(
        self,
        request: HttpRequest,
        incoming: Incoming | None,
        answer: ResponseWriter,
        session: Session,
        reply: HttpReply,
        *,
        is_read: bool,
    ) -> None:
        on_message = partial(self._interception.on_server_message, session)
        messages = MessageTee(reply.is_stream, on_message) if is_read else None
        tee: MessageTee | ListeningStream | None = messages
        # Servers send notifications on the stream of a GET or, in the modern era, of a request that listens.
        changed = TOOLS_CHANGED if request.method == "GET" else None
        if incoming is not None:
            changed = tools_changed_for(incoming)
        is_plain = "content-length" not in reply.headers and "content-encoding" not in reply.headers
        if changed is not None and reply.is_stream and is_plain:
            tee = ListeningStream(answer, messages)
            self._listening[tee] = changed
        try:
            await copy_response(request, reply, self._response_headers(reply, request), answer, tee)
            if incoming is not None and messages is not None and not messages.has_reply:
                self._interception.record_status(session, incoming, reply.status, reply.headers)
        except ConnectionLost as lost:
            answer.abort(lost.reset)
        finally:
            reply.close()
            if isinstance(tee, ListeningStream):
                del self._listening[tee]

    async def _forward_metadata(self, request: HttpRequest, answer: ResponseWriter) -> None:
        """Forward a request for OAuth metadata; put the relay's address in place of the upstream's."""
        reply = await self._forward(request, answer, is_read=True)
        if reply is None:
            return
        try:
            body = await reply.body(MOST_BYTES)
        except ConnectionLost as lost:
            answer.abort(lost.reset)
            return
        finally:
            reply.close()
        renamed = with_own_resource(body, self._client.address, _own_origin(request))
        send_body(answer, reply.status, self._response_headers(reply, request), renamed or body)

    async def _forward(
        self, request: HttpRequest, answer: ResponseWriter, *, is_read: bool
    ) -> HttpReply | None:
        """Send a request on and return the upstream's response; None if it failed and the client was
        answered.

        `is_read`: the response is parsed here, so compression must not be negotiated."""
        headers, target = self._request_headers(request, is_read), self._target(request)
        try:
            reply = await self._client.request(request.method, headers, request.body, target)
        except ConnectionLost as lost:
            answer.abort(lost.reset)
        except (OSError, TimeoutError) as error:
            text = f"cannot reach {self._url}: {error or 'it does not answer'}".encode()
            answer.respond(502, [("content-type", "text/plain; charset=utf-8")], text)
        else:
            self._check_redirect(reply, target)
            return reply
        return None

    def _request_headers(self, request: HttpRequest, is_read: bool) -> Headers:
        dropped = self._dropped_names
        if is_read:
            dropped = {*dropped, "accept-encoding"}
        kept = end_to_end_headers(request.lines, dropped)
        return [*kept, *self._added_headers] if self._added_headers else kept

    def _check_redirect(self, reply: HttpReply, target: str) -> None:
        location = redirect_past_gateway(reply, self._client.address, target)
        if location is not None:
            self._warn(f"sends its client on to {location}, past this gateway; give that as --upstream")

    def _target(self, request: HttpRequest) -> str:
        # Other paths, such as those of OAuth metadata, are forwarded unchanged.
        return self._client.target if request.target == self.path else request.target

    def _response_headers(self, reply: HttpReply, request: HttpRequest) -> Headers:
        lines = response_headers(reply.lines, self._client.address, self._target(request))
        if "www-authenticate" not in reply.headers:
            return lines
        return with_own_challenge(lines, self._client.address, _own_origin(request))

    def _session(self, id: str, era: Era) -> Session:
        """Return the session with this id. Requests without one share a session per era, named after it."""
        session = self._sessions.get(id)
        if session is None:
            session = self._sessions[id] = Session(id, "http", era, lambda raw: None)
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def _cancels_local_call(self, session: Session, incoming: Incoming) -> bool:
        """Cancel the call that a message names, if any; return whether the server must not get the
        message."""
        cancelled = cancelled_id(incoming)
        if cancelled is None:
            return False
        is_local = self._interception.local_calls.is_cancellation(session, incoming)
        session.cancel(cancelled)
        return is_local


def _may_concern_relay(body: bytes) -> bool:
    """Return whether a message without rules may concern the relay: it asks for a list, or listens. Only two
    kinds of escapes in a JSON text can hide the name of a method (RFC 8259 §7)."""
    return b"/list" in body or b"\\u" in body or b"\\/" in body


def _own_origin(request: HttpRequest) -> str:
    """Return the origin by which the client calls the relay, which speaks plain HTTP."""
    return f"http://{request.headers.get('host', '')}"
