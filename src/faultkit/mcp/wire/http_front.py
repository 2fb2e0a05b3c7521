"""The server side of the streamable HTTP transport, for both eras of MCP.

    legacy (up to 2025-11-25)                           modern (2026-07-28)
    POST   one message; `initialize` opens a session    POST   one request, answered in its own response;
           (Mcp-Session-Id in the response)                    headers repeat the body; closing the
    GET    stream of messages that belong to no call,          response cancels the call
           or resumes a stream (Last-Event-ID)          GET, DELETE   405: there are no sessions
    DELETE ends the session

Session rules (MCP 2025-11-25, Transports, Session Management): a request without Mcp-Session-Id is answered
with 400, one with an unknown id with 404, on which a client has to initialize again. Host and Origin are
validated against DNS rebinding (same page, Security Warning; `base/http/callers`). Section names below, if
they come without a page, are of that page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.http.callers import allow_origin, answer_preflight, is_allowed_caller
from faultkit.base.http.http_exchange import Headers, HttpRequest, ResponseWriter
from faultkit.base.http.http_server import Handler, HttpServer, RequestLimits
from faultkit.mcp.wire.era import (
    BATCH_VERSIONS,
    LEGACY_VERSIONS,
    SESSION_HEADER,
    STATUS_OF,
    VERSION_HEADER,
    era_of,
    refusal_of,
)
from faultkit.mcp.wire.exchange import Service, Session
from faultkit.mcp.wire.http_exchange import JSON, HttpBatchExchange, HttpExchange, http_batch
from faultkit.mcp.wire.http_sessions import HttpSessions
from faultkit.mcp.wire.message import INVALID_REQUEST, Incoming, cancelled_id, error_of, read

MOST_SESSIONS = 10_000
_NO_SESSION = -32001
"""JSON-RPC code of the error for an unknown session id; the specification names none."""


class Continuation(Protocol):
    """Serves an admitted request. `caller` owns the sessions that it opens; `sender` goes to its
    exchanges."""

    def __call__(self, caller: str, sender: object = None) -> None: ...


Admit: TypeAlias = Callable[[HttpRequest, ResponseWriter, Continuation], None]
"""Answers a request that is not admitted; otherwise calls back, now or later, with the caller's name."""


class HttpFront:
    """A service at one path of an HTTP server."""

    def __init__(
        self,
        service: Service,
        path: str = "/mcp",
        *,
        limits: RequestLimits | None = None,
        hosts: tuple[str, ...] | None = LOOPBACK_NAMES,
        origins: tuple[str, ...] | None = None,
        on_foreign_caller: Callable[[HttpRequest], None] = lambda request: None,
        admit: Admit | None = None,
        other_handler: Handler | None = None,
        most_sessions: int = MOST_SESSIONS,
        idle_s: float | None = None,
        disconnect_cancels: bool = False,
    ) -> None:
        """`hosts`: names that Host and Origin may have; None allows any. `origins`: origins of other sites
        whose pages may call; if not None, no other cross-origin page may, whatever `hosts` says.
        `on_foreign_caller`: called with each request that is refused for its host or origin. `admit`: decides
        which callers are served; a session belongs to the caller that opened it. `other_handler`: handles
        other paths, and browsers that want a page; with it, the service is also at `/`. `idle_s`: time after
        which an unused session ends. `disconnect_cancels`: a legacy call is cancelled when its connection
        closes before a stream that could be resumed has begun; modern calls always are."""
        self._service = service
        self._path = path
        self._other_handler = other_handler
        self._hosts = hosts
        self._origins = origins
        self._on_foreign_caller = on_foreign_caller
        self._admit = admit
        self._server = HttpServer(self._handle, limits)
        self._sessions = HttpSessions(service, most_sessions, idle_s)
        self._disconnect_cancels = disconnect_cancels
        # Shared by all modern clients, because that era is stateless (MCP 2026-07-28, Overview,
        # Statelessness).
        self._modern_session = Session("modern", "http", "modern", lambda raw: None)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen and return the bound address. Raises OSError if that fails."""
        address = await self._server.start(host, port)
        self._service.opened(self._modern_session)
        self._sessions.start()
        return address

    async def stop(self) -> None:
        """End every session, stop listening and close every connection."""
        self._sessions.stop()
        self._service.closed(self._modern_session)
        await self._server.stop()

    def _handle(self, request: HttpRequest, answer: ResponseWriter) -> None:
        if self in request.memo:  # A request with the same head has passed these checks, and is JSON.
            self._let_in(request, answer)
            return
        if not is_allowed_caller(request, self._hosts, self._origins):
            self._on_foreign_caller(request)
            answer.respond(403, JSON, b'{"error":"this host or origin may not call"}')
            return
        if (
            self._origins
            and allow_origin(request, answer, self._origins)
            and answer_preflight(request, answer)
        ):
            return
        if self._other_handler is not None and (
            request.path not in (self._path, "/") or _is_for_page(request)
        ):
            self._other_handler(request, answer)
        elif self._other_handler is None and request.path != self._path:
            _respond_text(answer, 404, f"expected the path {self._path}")
        else:
            if not self._origins and _is_json(request):  # With origins, each response has headers of its own.
                request.memo[self] = True
            self._let_in(request, answer)

    def _let_in(self, request: HttpRequest, answer: ResponseWriter) -> None:
        if self._admit is None:
            self._serve(request, answer, "")
        else:
            self._admit(request, answer, partial(self._serve, request, answer))

    def _serve(
        self, request: HttpRequest, answer: ResponseWriter, caller: str, sender: object = None
    ) -> None:
        if request.method == "POST":
            self._post(request, answer, caller, sender)
        elif request.method == "GET":
            self._get(request, answer, caller)
        elif request.method == "DELETE":
            self._delete(request, answer, caller)
        else:
            answer.respond(405, [("allow", "GET, POST, DELETE")])

    def _post(self, request: HttpRequest, answer: ResponseWriter, caller: str, sender: object) -> None:
        if self not in request.memo and not _is_json(request):
            _respond_text(answer, 415, "expected content-type: application/json")
            return
        incoming = read(request.body)
        modern = era_of(incoming, request.headers) == "modern"
        if incoming.kind == "invalid":
            assert incoming.problem is not None
            answer.respond(400, JSON, error_of(incoming.id, *incoming.problem))
        elif modern:
            self._post_modern(request, incoming, answer, sender)
        else:
            self._post_legacy(request, incoming, answer, caller, sender)

    # --- modern -------------------------------------------------------------------------------

    def _post_modern(
        self, request: HttpRequest, incoming: Incoming, answer: ResponseWriter, sender: object
    ) -> None:
        if self._modern_session.frozen:
            if incoming.kind == "request":
                self._modern_session.on_unanswered(incoming)
            return
        if incoming.kind == "notification":
            # Closing the response is what cancels here (MCP 2026-07-28, Streamable HTTP, Cancellation). A
            # request id would not identify the call, because all clients share this session.
            if cancelled_id(incoming) is None:
                self._service.notification(self._modern_session, incoming)
            answer.respond(202)
            return
        if incoming.kind != "request":
            answer.respond(
                400, JSON, error_of(None, INVALID_REQUEST, "Invalid request: expected one request")
            )
            return
        refusal = refusal_of(incoming, request.headers)
        if refusal is not None:
            raw = error_of(incoming.id, refusal.code, refusal.message, refusal.data)
            answer.respond(refusal.status, JSON, raw)
            return
        exchange = HttpExchange(self._modern_session, incoming, request.headers, answer, None, STATUS_OF)
        exchange.sender = sender
        answer.on_disconnect(exchange.cancel)
        self._service.request(exchange)

    # --- legacy -------------------------------------------------------------------------------

    def _post_legacy(
        self, request: HttpRequest, incoming: Incoming, answer: ResponseWriter, caller: str, sender: object
    ) -> None:
        if incoming.kind == "request" and incoming.method == "initialize":
            # Every `initialize` opens a session; its id is in the response (Session Management, 1).
            session = self._sessions.open(caller)
            self._start_call(session, request, incoming, answer, [("mcp-session-id", session.id)], sender)
            return
        found = self._session_of(request, answer, caller)
        if found is None:
            return
        if incoming.kind == "batch":
            self._start_batch(found, request, incoming, answer, sender)
        elif incoming.kind == "request" and incoming.id in found.exchanges and not found.frozen:
            raw = error_of(incoming.id, INVALID_REQUEST, "Invalid request: a call with this id is under way")
            answer.respond(400, JSON, raw)
        elif incoming.kind == "request":
            self._start_call(found, request, incoming, answer, [], sender)
        else:
            self._dispatch_other(found, incoming)
            if not found.frozen:
                # Sending Messages to the Server, 4: notifications and responses are answered with 202.
                answer.respond(202)

    def _start_batch(
        self,
        session: Session,
        request: HttpRequest,
        incoming: Incoming,
        answer: ResponseWriter,
        sender: object,
    ) -> None:
        if session.version is not None and session.version not in BATCH_VERSIONS:
            what = f"expected one message, got a batch, which version {session.version} does not have"
            _respond_error(answer, 400, f"Invalid request: {what}")
            return
        batch = http_batch(session, answer)

        def dispatch(item: Incoming) -> None:
            if item.kind != "request":
                self._dispatch_other(session, item)
            elif session.frozen:
                session.on_unanswered(item)
            else:
                exchange = HttpBatchExchange(session, item, request.headers, answer, batch)
                exchange.sender = sender
                self._service.request(exchange)

        batch.take(incoming.items, dispatch)

    def _start_call(
        self,
        session: Session,
        request: HttpRequest,
        incoming: Incoming,
        answer: ResponseWriter,
        headers: Headers,
        sender: object,
    ) -> None:
        streams = self._sessions.streams_of(session)
        exchange = HttpExchange(session, incoming, request.headers, answer, streams, {}, headers)
        exchange.sender = sender
        if self._disconnect_cancels:
            # Disconnection should not count as cancellation (Sending Messages to the Server, 6), because the
            # client may resume the stream. Before a stream has begun it has no event id to resume from.
            answer.on_disconnect(lambda: None if answer.began else exchange.cancel())
        if session.frozen:
            session.on_unanswered(incoming)
        else:
            self._service.request(exchange)

    def _dispatch_other(self, session: Session, incoming: Incoming) -> None:
        """Hand a notification or response of the client to the service."""
        if incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.kind == "notification":
            if (cancelled := cancelled_id(incoming)) is not None:
                session.cancel(cancelled)
            self._service.notification(session, incoming)

    def _session_of(self, request: HttpRequest, answer: ResponseWriter, caller: str) -> Session | None:
        """Return the session that a legacy request names; None if there is none and the request was
        answered."""
        version = request.headers.get(VERSION_HEADER)
        if version is not None and version not in LEGACY_VERSIONS:
            # Protocol Version Header: an unsupported version MUST be answered with 400.
            _respond_error(answer, 400, f"Bad request: unsupported protocol version {version}")
            return None
        id = request.headers.get(SESSION_HEADER)
        if id is None:
            _respond_error(answer, 400, "Bad request: Mcp-Session-Id is missing; initialize first")
            return None
        session = self._sessions.use(id, caller)
        if session is None:
            _respond_error(answer, 404, "Session not found", _NO_SESSION)
        return session

    def _get(self, request: HttpRequest, answer: ResponseWriter, caller: str) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.respond(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer, caller)
        if session is None or session.frozen:
            return
        if "text/event-stream" not in request.headers.get("accept", ""):
            # Listening for Messages from the Server, 2.
            _respond_text(answer, 406, "expected accept: text/event-stream")
            return
        # Resumability and Redelivery, 2: a stream is resumed by GET, whichever request began it.
        last_id = request.headers.get("last-event-id")
        stream = self._sessions.streams_of(session).stream_of(last_id)
        if stream is None or stream.is_read:
            _respond_text(answer, 409, "this stream is being read already")
            return
        stream.attach(answer, last_id)

    def _delete(self, request: HttpRequest, answer: ResponseWriter, caller: str) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.respond(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer, caller)
        if session is not None and not session.frozen:
            self._sessions.end(session.id)
            answer.respond(200)

    @property
    def session_count(self) -> int:
        """Number of open legacy sessions."""
        return len(self._sessions)

    @property
    def connection_count(self) -> int:
        """Number of open connections."""
        return self._server.connection_count

    def forget(self, session: Session) -> None:
        """End a session whose server is gone; later requests for it get 404."""
        self._sessions.end(session.id)


def _is_json(request: HttpRequest) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _is_for_page(request: HttpRequest) -> bool:
    """Return whether a browser asks for a page; MCP clients accept JSON or an event stream."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def _respond_text(answer: ResponseWriter, status: int, text: str) -> None:
    answer.respond(status, [("content-type", "text/plain; charset=utf-8")], text.encode())


def _respond_error(answer: ResponseWriter, status: int, message: str, code: int = INVALID_REQUEST) -> None:
    answer.respond(status, JSON, error_of(None, code, message))
