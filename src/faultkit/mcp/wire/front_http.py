"""The streamable HTTP transport, on the server's side, for both eras.

Legacy: sessions begun by `initialize`, a GET stream for what belongs to no call, streams that can be resumed,
DELETE. Modern: one POST a request, headers that repeat the body, and closing the answer cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from faultkit.base.http.cors import preflight, share
from faultkit.base.http.listening import LOOPBACK
from faultkit.base.http.origin import is_from
from faultkit.base.http.server import Answer, Handler, Headers, HttpServer, Limits, Request
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
from faultkit.mcp.wire.http_batch import HttpBatchExchange, http_batch
from faultkit.mcp.wire.http_exchange import JSON, HttpExchange
from faultkit.mcp.wire.message import INVALID_REQUEST, Incoming, cancelled_id, error_of, read
from faultkit.mcp.wire.sessions import Sessions

MOST_SESSIONS = 10_000
_NO_SESSION = -32001

Admit: TypeAlias = Callable[[Request, Answer, Callable[[str], None]], None]
"""Answers a request that may not be served; for any other it calls on, at once or later, with who sent it."""


class HttpFront:
    """Serves a service at one path."""

    def __init__(
        self,
        service: Service,
        path: str = "/mcp",
        *,
        limits: Limits | None = None,
        hosts: tuple[str, ...] | None = LOOPBACK,
        origins: tuple[str, ...] | None = None,
        foreign: Callable[[Request], None] = lambda request: None,
        admit: Admit | None = None,
        beside: Handler | None = None,
        most_sessions: int = MOST_SESSIONS,
        idle_s: float | None = None,
        gone_cancels: bool = False,
    ) -> None:
        """`hosts`: names that Host and Origin may have, None for any. `origins`: pages from elsewhere that
        may call and read what they get; if not None, no other page from elsewhere may call, whatever `hosts`
        says. `foreign`: is told of each request that is refused for that. `admit`: who else may come in; a
        session is theirs alone who began it. `beside`: gets what is for other paths, and browsers that come
        for a page; with it, the service is at `/` as well. `idle_s`: a session that nobody has used for so
        long has ended. `gone_cancels`: a legacy call ends with its connection, if nobody can come back for
        its reply; the modern ones always do."""
        self._service = service
        self._path = path
        self._beside = beside
        self._hosts = hosts
        self._origins = origins
        self._foreign = foreign
        self._admit = admit
        self._server = HttpServer(self._handle, limits)
        self._sessions = Sessions(service, most_sessions, idle_s)
        self._gone_cancels = gone_cancels
        # The modern era has no sessions: what is said to all of its clients is said here.
        self._everybody = Session("modern", "http", "modern", lambda raw: None)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """OSError if it cannot listen there."""
        address = await self._server.start(host, port)
        self._service.opened(self._everybody)
        self._sessions.start()
        return address

    async def stop(self) -> None:
        self._sessions.stop()
        self._service.closed(self._everybody)
        await self._server.stop()

    def _handle(self, request: Request, answer: Answer) -> None:
        if not is_from(request, self._hosts, self._origins):
            self._foreign(request)
            answer.whole(403, JSON, b'{"error":"this host or origin may not call"}')
            return
        if self._origins and share(request, answer, self._origins) and preflight(request, answer):
            return
        if self._beside is not None and (request.path not in (self._path, "/") or _is_for_page(request)):
            self._beside(request, answer)
        elif self._beside is None and request.path != self._path:
            _plain(answer, 404, f"expected the path {self._path}")
        elif self._admit is None:
            self._serve(request, answer, "")
        else:
            self._admit(request, answer, partial(self._serve, request, answer))

    def _serve(self, request: Request, answer: Answer, who: str) -> None:
        if request.method == "POST":
            self._post(request, answer, who)
        elif request.method == "GET":
            self._get(request, answer, who)
        elif request.method == "DELETE":
            self._delete(request, answer, who)
        else:
            answer.whole(405, [("allow", "GET, POST, DELETE")])

    def _post(self, request: Request, answer: Answer, who: str) -> None:
        content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content != "application/json":
            _plain(answer, 415, "expected content-type: application/json")
            return
        incoming = read(request.body)
        modern = era_of(incoming, request.headers) == "modern"
        if incoming.kind == "invalid":
            assert incoming.problem is not None
            answer.whole(400, JSON, error_of(incoming.id, *incoming.problem))
        elif modern:
            self._modern(request, incoming, answer)
        else:
            self._legacy(request, incoming, answer, who)

    def _modern(self, request: Request, incoming: Incoming, answer: Answer) -> None:
        if self._everybody.frozen:
            return
        if incoming.kind == "notification":
            # Closing the answer is what cancels here: an id alone would not say whose call it is.
            if cancelled_id(incoming) is None:
                self._service.notification(self._everybody, incoming)
            answer.whole(202)
            return
        if incoming.kind != "request":
            answer.whole(400, JSON, error_of(None, INVALID_REQUEST, "Invalid request: expected one request"))
            return
        refusal = refusal_of(incoming, request.headers)
        if refusal is not None:
            raw = error_of(incoming.id, refusal.code, refusal.message, refusal.data)
            answer.whole(refusal.status, JSON, raw)
            return
        exchange = HttpExchange(self._everybody, incoming, request.headers, answer, None, STATUS_OF)
        answer.on_gone(exchange.cancel)
        self._service.request(exchange)

    def _legacy(self, request: Request, incoming: Incoming, answer: Answer, who: str) -> None:
        if incoming.kind == "request" and incoming.method == "initialize":
            session = self._sessions.open(who)
            self._request(session, request, incoming, answer, [("mcp-session-id", session.id)])
            return
        found = self._session_of(request, answer, who)
        if found is None:
            return
        if incoming.kind == "batch":
            self._batch(found, request, incoming, answer)
        elif incoming.kind == "request" and incoming.id in found.exchanges and not found.frozen:
            raw = error_of(incoming.id, INVALID_REQUEST, "Invalid request: a call with this id is under way")
            answer.whole(400, JSON, raw)
        elif incoming.kind == "request":
            self._request(found, request, incoming, answer, [])
        else:
            self._told(found, incoming)
            _accepted(found, answer)

    def _batch(self, session: Session, request: Request, incoming: Incoming, answer: Answer) -> None:
        if session.version is not None and session.version not in BATCH_VERSIONS:
            what = f"expected one message, got a batch, which version {session.version} does not have"
            _error(answer, 400, f"Invalid request: {what}")
            return
        batch = http_batch(session, answer)

        def dispatch(item: Incoming) -> None:
            if item.kind != "request":
                self._told(session, item)
            elif not session.frozen:
                self._service.request(HttpBatchExchange(session, item, request.headers, answer, batch))

        batch.take(incoming.items, dispatch)

    def _request(
        self, session: Session, request: Request, incoming: Incoming, answer: Answer, headers: Headers
    ) -> None:
        streams = self._sessions.streams_of(session)
        exchange = HttpExchange(session, incoming, request.headers, answer, streams, {}, headers)
        if self._gone_cancels:
            # A stream that has begun can be taken up again; of one that has not, nobody knows the name.
            answer.on_gone(lambda: None if answer.began else exchange.cancel())
        if not session.frozen:
            self._service.request(exchange)

    def _told(self, session: Session, incoming: Incoming) -> None:
        if incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.kind == "notification":
            if (called_off := cancelled_id(incoming)) is not None:
                session.cancel(called_off)
            self._service.notification(session, incoming)

    def _session_of(self, request: Request, answer: Answer, who: str) -> Session | None:
        """The session that a legacy request names; if there is none, it has been answered."""
        version = request.headers.get(VERSION_HEADER)
        if version is not None and version not in LEGACY_VERSIONS:
            _error(answer, 400, f"Bad request: unsupported protocol version {version}")
            return None
        id = request.headers.get(SESSION_HEADER)
        if id is None:
            _error(answer, 400, "Bad request: Mcp-Session-Id is missing; initialize first")
            return None
        session = self._sessions.use(id, who)
        if session is None:
            _error(answer, 404, "Session not found", _NO_SESSION)
        return session

    def _get(self, request: Request, answer: Answer, who: str) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.whole(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer, who)
        if session is None or session.frozen:
            return
        if "text/event-stream" not in request.headers.get("accept", ""):
            _plain(answer, 406, "expected accept: text/event-stream")
            return
        stream = self._sessions.streams_of(session).wanted(request.headers.get("last-event-id"))
        if stream is None or stream.is_read:
            _plain(answer, 409, "this stream is being read already")
            return
        stream.attach(answer, request.headers.get("last-event-id"))

    def _delete(self, request: Request, answer: Answer, who: str) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.whole(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer, who)
        if session is not None and not session.frozen:
            self._sessions.end(session.id)
            answer.whole(200)

    @property
    def session_count(self) -> int:
        return len(self._sessions)

    @property
    def connection_count(self) -> int:
        return self._server.connection_count

    def forget(self, session: Session) -> None:
        """The server has lost it: its client gets 404 from now on."""
        self._sessions.end(session.id)


def _is_for_page(request: Request) -> bool:
    """From a browser, whose user has typed our address. Clients of ours want JSON or a stream."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def _accepted(session: Session, answer: Answer) -> None:
    if not session.frozen:
        answer.whole(202)


def _plain(answer: Answer, status: int, text: str) -> None:
    answer.whole(status, [("content-type", "text/plain; charset=utf-8")], text.encode())


def _error(answer: Answer, status: int, message: str, code: int = INVALID_REQUEST) -> None:
    answer.whole(status, JSON, error_of(None, code, message))
