"""The control API of a running data plane over HTTP: `control_core.py` on starlette.

It listens on loopback only, or elsewhere with mutual TLS. It requires a bearer token, and refuses web pages
(Host and Origin are checked), because a page in a browser can reach loopback too. Every change expires after
`ttl` seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit.base.address import Endpoint
from faultkit.base.certificates import MutualTls
from faultkit.base.errors import InputError
from faultkit.base.http.asgi_server import AsgiServer, uvicorn_config
from faultkit.plan import Plan
from faultkit.proxy.control.control_core import (
    EVENTS_BEGIN,
    EVENTS_KEEP_ALIVE,
    KEEP_ALIVE_S,
    MOST_BODY_BYTES,
    ROUTES,
    ControlCore,
    Problem,
    Reply,
    check_caller,
    check_loopback,
    document_bytes,
    event_line,
    headers_of,
    own_hosts,
)
from faultkit.proxy.data_plane import DataPlane, ProxySpec, snapshot_document
from faultkit.proxy.idle_rules import idle_warnings
from faultkit.proxy.plane_events import PlaneEvent, event_document
from faultkit.proxy.sockets import listen

_MOST_WAITING_EVENTS = 10_000


class ControlServer:
    """The running API, in a thread of its own. Use it as a context manager."""

    def __init__(
        self,
        plane: DataPlane,
        listen_on: Endpoint,
        token: str,
        clock: Callable[[], float] = time.monotonic,
        began: float | None = None,
        proxies: Sequence[ProxySpec] = (),
        tls: MutualTls | None = None,
    ) -> None:
        """`proxies`: those of the plane, for warnings about rules that touch none of them. `tls`: None for
        clear text, on loopback only."""
        if tls is None:
            check_loopback(listen_on.host, listen_on.port)
        self._plane = plane
        self._began = time.monotonic() if began is None else began
        self._core = ControlCore(
            _SteeredPlane(plane, self._began),
            plane.plan,
            clock,
            lambda rules: idle_warnings(rules, proxies) if proxies else [],
        )
        self._lock = threading.Lock()
        """Guards the core: requests run in the API's thread, expiries in the thread that calls `tick`."""
        self._readers: set[asyncio.Queue[PlaneEvent | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket = listen("control", listen_on)
        host, port = self._socket.getsockname()[:2]
        self.bound = Endpoint(host, port)
        hosts = own_hosts(host, port, () if tls is None else tls.names)
        app = _Guard(self._app(), hosts, token, "http" if tls is None else "https")
        config = uvicorn_config(app, grace_s=1, http="h11", lifespan="off")
        self._server = AsgiServer(config, None if tls is None else tls.context)
        self._thread = threading.Thread(target=self._serve, name="fault-control", daemon=True)

    def __enter__(self) -> ControlServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._send_to_readers([None])
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @property
    def is_watched(self) -> bool:
        """True while a client reads `/events`, so the plane should record every event."""
        return bool(self._readers)

    def publish(self, events: list[PlaneEvent]) -> None:
        """Send events to the clients that read `/events`. Any thread may call."""
        if events and self._readers:
            self._send_to_readers(list(events))

    def tick(self) -> None:
        """Undo the changes that have expired. Call it a few times a second."""
        with self._lock:
            self._core.expire()

    # --- the API's thread ---------------------------------------------------------------------

    def _app(self) -> Starlette:
        routes = [
            Route(
                f"{path}{{name:path}}" if path.endswith("/") else path,
                self._events if path == "/events" else self._handle,
                methods=[method],
            )
            for method, path in ROUTES
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _show_http_exception})

    def _serve(self) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await self._server.serve(sockets=[self._socket])

        asyncio.run(serve())

    async def _handle(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        body = await _read_body(request) if method in ("PUT", "POST", "PATCH") else b""
        with self._lock:
            return _response(self._core.handle(method, request.scope["path"], request.query_params, body))

    async def _events(self, request: Request) -> Response:
        headers = {"cache-control": "no-store"}
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=headers)

    async def _stream(self) -> AsyncIterator[str]:
        events: asyncio.Queue[PlaneEvent | None] = asyncio.Queue(_MOST_WAITING_EVENTS)
        self._readers.add(events)
        self._plane.observed = True
        try:
            yield EVENTS_BEGIN
            while True:
                try:
                    event = await asyncio.wait_for(events.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield EVENTS_KEEP_ALIVE
                    continue
                if event is None:
                    return
                yield event_line(event_document(event, self._began))
        finally:
            self._readers.discard(events)

    def _send_to_readers(self, events: list[Any]) -> None:
        def send() -> None:
            for reader in tuple(self._readers):
                for event in events:
                    if reader.full():
                        reader.get_nowait()  # A slow reader loses the oldest event; it never blocks the run.
                    reader.put_nowait(event)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(send)


class _SteeredPlane:
    """A data plane as the control core sees it."""

    def __init__(self, plane: DataPlane, began: float) -> None:
        self._plane = plane
        self._began = began
        self.check_rule = plane.check_rule

    def check_plan(self, plan: Plan) -> None:
        """Raise InputError for a rule that cannot act; the plane itself does not know its place in the
        plan."""
        for index, rule in enumerate(plan.rules):
            try:
                self._plane.check_rule(rule)
            except InputError as error:
                raise error.within(f"rules[{index}]") from None

    def set_plan(self, plan: Plan, begin_in_s: float = 0.0) -> None:
        origin = time.monotonic() + begin_in_s if begin_in_s else None
        self._plane.set_plan(plan, origin=origin)

    def check_alive(self) -> None:
        self._plane.check()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def counters(self) -> dict[str, Any]:
        snapshot, lateness = self._plane.measured()
        return {**snapshot_document(snapshot), "late_releases": lateness.counts()}


class _Guard:
    """Refuses callers with a wrong Host, a foreign Origin or a wrong token."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str, scheme: str) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        self._scheme = scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        headers = request.headers
        try:
            check_caller(
                request.url.path,
                headers.get("host", ""),
                headers.getlist("origin"),
                headers.get("authorization", ""),
                hosts=self._hosts,
                token=self._token,
                scheme=self._scheme,
            )
        except Problem as problem:
            await _response((problem.status, problem.document))(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def _read_body(request: Request) -> bytes:
    """Return the body; reads no further once it is too long, and the core refuses it then."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            break
    return bytes(body)


def _response(reply: Reply) -> Response:
    status, document = reply
    return Response(document_bytes(document), status, dict(headers_of(status)), "application/json")


async def _show_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _response(
        (error.status_code, Problem(error.status_code, error.detail, request.url.path).document)
    )
    response.headers.update(error.headers or {})
    return response
