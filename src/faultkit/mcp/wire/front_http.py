"""The streamable HTTP transport, on the server's side, for both eras.

Legacy: sessions begun by `initialize`, a GET stream for what belongs to no call, streams that can be resumed,
DELETE. Modern: one POST a request, headers that repeat the body, and closing the answer cancels.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable

from faultkit.mcp.wire.era import (
    LEGACY_VERSIONS,
    SESSION_HEADER,
    STATUS_OF,
    VERSION_HEADER,
    era_of,
    refusal_of,
)
from faultkit.mcp.wire.exchange import Service, Session
from faultkit.mcp.wire.http.origin import is_from
from faultkit.mcp.wire.http.server import Answer, Headers, HttpServer, Limits, Request
from faultkit.mcp.wire.http_exchange import JSON, HttpExchange
from faultkit.mcp.wire.message import INVALID_REQUEST, Incoming, cancelled_id, error_of, read
from faultkit.mcp.wire.streams import Streams

MOST_SESSIONS = 10_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_SESSION = -32001


class HttpFront:
    """Serves a service at one path."""

    def __init__(
        self,
        service: Service,
        path: str = "/mcp",
        *,
        limits: Limits | None = None,
        hosts: tuple[str, ...] | None = _LOOPBACK,
        admit: Callable[[Request], Headers | None] | None = None,
        most_sessions: int = MOST_SESSIONS,
        idle_s: float | None = None,
    ) -> None:
        """`hosts`: names that Host and Origin may have, None for any. `admit`: gives the headers of a 401 for
        a request that may not be served. `idle_s`: a session that nobody has used for so long has ended."""
        self._service = service
        self._path = path
        self._hosts = hosts
        self._admit = admit
        self._server = HttpServer(self._handle, limits)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._streams: dict[str, Streams] = {}
        self._most_sessions = most_sessions
        self._idle_s = idle_s
        self._used_s: dict[str, float] = {}
        self._sweep: asyncio.TimerHandle | None = None
        # The modern era has no sessions: what is said to all of its clients is said here.
        self._everybody = Session("modern", "http", "modern", lambda raw: None)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """OSError if it cannot listen there."""
        address = await self._server.start(host, port)
        self._service.opened(self._everybody)
        self._end_idle()
        return address

    async def stop(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for id in tuple(self._sessions):
            self._end(id)
        self._service.closed(self._everybody)
        await self._server.stop()

    def _handle(self, request: Request, answer: Answer) -> None:
        if request.path != self._path:
            _plain(answer, 404, f"expected the path {self._path}")
        elif not is_from(request, self._hosts):
            _plain(answer, 403, "this host or origin may not call")
        elif self._admit is not None and (challenge := self._admit(request)) is not None:
            answer.whole(401, [("content-type", "application/json"), *challenge], b'{"error":"unauthorized"}')
        elif request.method == "POST":
            self._post(request, answer)
        elif request.method == "GET":
            self._get(request, answer)
        elif request.method == "DELETE":
            self._delete(request, answer)
        else:
            answer.whole(405, [("allow", "GET, POST, DELETE")])

    def _post(self, request: Request, answer: Answer) -> None:
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
            self._legacy(request, incoming, answer)

    def _modern(self, request: Request, incoming: Incoming, answer: Answer) -> None:
        if self._everybody.frozen:
            return
        if incoming.kind == "notification":
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

    def _legacy(self, request: Request, incoming: Incoming, answer: Answer) -> None:
        if incoming.kind == "request" and incoming.method == "initialize":
            session = self._open()
            self._request(session, request, incoming, answer, [("mcp-session-id", session.id)])
            return
        found = self._session_of(request, answer)
        if found is None:
            return
        if incoming.kind == "batch" and not any(item.kind == "request" for item in incoming.items):
            for item in incoming.items:
                self._told(found, item)
            _accepted(found, answer)
        elif incoming.kind == "batch":
            raw = error_of(None, INVALID_REQUEST, "Invalid request: batches of requests are not served")
            answer.whole(400, JSON, raw)
        elif incoming.kind == "request":
            self._request(found, request, incoming, answer, [])
        else:
            self._told(found, incoming)
            _accepted(found, answer)

    def _request(
        self, session: Session, request: Request, incoming: Incoming, answer: Answer, headers: Headers
    ) -> None:
        streams = self._streams[session.id]
        exchange = HttpExchange(session, incoming, request.headers, answer, streams, {}, headers)
        if not session.frozen:
            self._service.request(exchange)

    def _told(self, session: Session, incoming: Incoming) -> None:
        if incoming.kind == "response":
            self._service.response(session, incoming)
        elif incoming.kind == "notification":
            if (called_off := cancelled_id(incoming)) is not None:
                session.cancel(called_off)
            self._service.notification(session, incoming)

    def _session_of(self, request: Request, answer: Answer) -> Session | None:
        """The session that a legacy request names; if there is none, it has been answered."""
        version = request.headers.get(VERSION_HEADER)
        if version is not None and version not in LEGACY_VERSIONS:
            _error(answer, 400, f"Bad request: unsupported protocol version {version}")
            return None
        id = request.headers.get(SESSION_HEADER)
        if id is None:
            _error(answer, 400, "Bad request: Mcp-Session-Id is missing; initialize first")
            return None
        session = self._sessions.get(id)
        if session is None:
            _error(answer, 404, "Session not found", _NO_SESSION)
            return None
        self._sessions.move_to_end(id)
        self._used_s[id] = asyncio.get_running_loop().time()
        return session

    def _get(self, request: Request, answer: Answer) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.whole(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer)
        if session is None or session.frozen:
            return
        if "text/event-stream" not in request.headers.get("accept", ""):
            _plain(answer, 406, "expected accept: text/event-stream")
            return
        stream = self._streams[session.id].wanted(request.headers.get("last-event-id"))
        if stream is None or stream.is_read:
            _plain(answer, 409, "this stream is being read already")
            return
        stream.attach(answer, request.headers.get("last-event-id"))

    def _delete(self, request: Request, answer: Answer) -> None:
        if request.headers.get(SESSION_HEADER) is None:
            answer.whole(405, [("allow", "POST")])
            return
        session = self._session_of(request, answer)
        if session is not None and not session.frozen:
            self._end(session.id)
            answer.whole(200)

    def _open(self) -> Session:
        while len(self._sessions) >= self._most_sessions:
            self._end(next(iter(self._sessions)))
        id = secrets.token_hex(16)
        streams = Streams()
        session = Session(id, "http", "legacy", streams.own.send)
        self._sessions[id] = session
        self._streams[id] = streams
        self._used_s[id] = asyncio.get_running_loop().time()
        self._service.opened(session)
        return session

    def forget(self, session: Session) -> None:
        """The server has lost it: its client gets 404 from now on."""
        self._end(session.id)

    def _end(self, id: str) -> None:
        session = self._sessions.pop(id, None)
        if session is not None:
            for exchange in tuple(session.exchanges.values()):
                exchange.cancel()
            self._streams.pop(id).close()
            del self._used_s[id]
            self._service.closed(session)

    def _end_idle(self) -> None:
        if self._idle_s is None:
            return
        loop = asyncio.get_running_loop()
        for id, used_s in tuple(self._used_s.items()):
            is_used = self._sessions[id].exchanges or self._streams[id].own.is_read
            if not is_used and loop.time() - used_s > self._idle_s:
                self._end(id)
        self._sweep = loop.call_later(min(60.0, self._idle_s), self._end_idle)


def _accepted(session: Session, answer: Answer) -> None:
    if not session.frozen:
        answer.whole(202)


def _plain(answer: Answer, status: int, text: str) -> None:
    answer.whole(status, [("content-type", "text/plain; charset=utf-8")], text.encode())


def _error(answer: Answer, status: int, message: str, code: int = INVALID_REQUEST) -> None:
    answer.whole(status, JSON, error_of(None, code, message))
