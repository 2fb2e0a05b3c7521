"""The Toxiproxy API over HTTP: routes, guard against browsers, metrics, and the server that runs them."""

from __future__ import annotations

import json
import secrets
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit import __version__
from faultkit.base.address import LOOPBACK, Endpoint, is_local_name
from faultkit.base.errors import InputError, TargetError
from faultkit.base.http.asgi_server import AsgiServer, uvicorn_config
from faultkit.proxy.plane import Plane
from faultkit.proxy.toxiproxy.registry import Registry, Traffic
from faultkit.proxy.toxiproxy.request_fields import Refusal, parse_json

DEFAULT_HOST, DEFAULT_PORT = "localhost", 8474
_GRACE_S, _KEEP_ALIVE_S = 2, 60


class ToxiproxyServer:
    """The plane, the registry and the API. `run` blocks until `stop` is called, from any thread."""

    def __init__(
        self,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        seed: int | str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls`: None: the API speaks clear text."""
        host = LOOPBACK if host == "localhost" else host
        self.seed = secrets.randbelow(2**32) if seed is None else seed
        self._listener = _listen(host, port)
        bound_host, bound_port = self._listener.getsockname()[:2]
        self.endpoint = Endpoint(bound_host, bound_port)
        self._plane = Plane()
        self._plane.start()
        self._registry = Registry(self._plane, self.seed)
        app = build_app(self._registry, local_only=is_local_name(bound_host))
        config = uvicorn_config(app, grace_s=_GRACE_S, lifespan="off", timeout_keep_alive=_KEEP_ALIVE_S)
        self._server = AsgiServer(config, tls)
        self.url = f"{'http' if tls is None else 'https'}://{self.endpoint}"

    def populate(self, config: Path) -> int:
        """Open the proxies of a file, a JSON list as the API's /populate takes, with the toxics that it has;
        returns how many."""
        try:
            raw = config.read_bytes()
        except OSError as error:
            raise InputError(str(config), f"cannot be read: {error.strerror}") from None
        try:
            return len(self._registry.configure(parse_json(raw)))
        except Refusal as refusal:
            if refusal.status >= 500:
                raise TargetError(f"{config}: {refusal.message}") from None
            raise InputError(str(config), refusal.message.removeprefix("bad request body: ")) from None

    def run(self) -> None:
        """Serve until `stop` is called."""
        self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Let `run` return. Any thread may call."""
        self._server.should_exit = True

    def close(self) -> None:
        """Close all ports. Call it after `run` has returned."""
        self._plane.close()
        self._listener.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Not create_server: it would let two servers share the port on some systems.
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise TargetError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. asyncio sets it only for sockets that were made with the protocol's number;
        # without it, a body behind its head waits for a delayed acknowledgement, 40 ms a request.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise TargetError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listener


API_VERSION = f"2.12.0+faultkit.{__version__}"
"""The version of the original whose API this is; some clients compare it."""

_MOST_BYTES = 4 << 20

Work = Callable[[dict[str, str], Callable[[], object]], object]
"""Takes the names in the path and a function that parses the body; returns the document of the answer."""
Handler = Callable[[Request], Awaitable[Response]]


def build_app(registry: Registry, *, local_only: bool = True) -> Starlette:
    """Return the API of a registry as an ASGI application."""

    def route(path: str, method: str, work: Work, status: int = 200) -> Route:
        return Route(path, _endpoint(work, status), methods=[method])

    def both(path: str, work: Work) -> list[Route]:
        """Return routes for POST, which older clients use for updates, and PATCH, which newer ones use."""
        return [route(path, "POST", work), route(path, "PATCH", work)]

    a_proxy, a_toxic = "/proxies/{proxy}", "/proxies/{proxy}/toxics/{toxic}"
    toxics = "/proxies/{proxy}/toxics"
    routes = [
        route("/proxies", "GET", lambda at, body: registry.proxies()),
        route("/proxies", "POST", lambda at, body: registry.add_proxy(body()), 201),
        route("/populate", "POST", lambda at, body: {"proxies": registry.populate(body())}, 201),
        route("/reset", "POST", lambda at, body: registry.reset(), 204),
        route(a_proxy, "GET", lambda at, body: registry.proxy(at["proxy"])),
        *both(a_proxy, lambda at, body: registry.update_proxy(at["proxy"], body())),
        route(a_proxy, "DELETE", lambda at, body: registry.delete_proxy(at["proxy"]), 204),
        route(toxics, "GET", lambda at, body: registry.toxics(at["proxy"])),
        route(toxics, "POST", lambda at, body: registry.add_toxic(at["proxy"], body())),
        route(a_toxic, "GET", lambda at, body: registry.toxic(at["proxy"], at["toxic"])),
        *both(a_toxic, lambda at, body: registry.update_toxic(at["proxy"], at["toxic"], body())),
        route(a_toxic, "DELETE", lambda at, body: registry.delete_toxic(at["proxy"], at["toxic"]), 204),
        route("/version", "GET", lambda at, body: {"version": API_VERSION}),
        Route("/metrics", _metrics(registry), methods=["GET"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, local_only=local_only)],
        exception_handlers={HTTPException: _no_such_route},
    )


def _endpoint(work: Work, status: int) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            raw = await _body(request)
            document = await run_in_threadpool(work, request.path_params, lambda: parse_json(raw))
        except Refusal as refusal:
            return _json(refusal.document(), refusal.status)
        return Response(status_code=204) if status == 204 else _json(document, status)

    return answer


def _metrics(registry: Registry) -> Handler:
    async def answer(request: Request) -> Response:
        traffic = await run_in_threadpool(registry.traffic)
        return Response(render(traffic), headers={"content-type": CONTENT_TYPE})

    return answer


async def _body(request: Request) -> bytes:
    """Return the body. It is read to its end even if too long, or the client would not see the answer."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size <= _MOST_BYTES:
            pieces.append(piece)
    if size > _MOST_BYTES:
        raise Refusal(413, f"body: expected at most {_MOST_BYTES} bytes, got {size}")
    return b"".join(pieces)


def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(Refusal(error.status_code, error.detail).document(), error.status_code)


def _json(document: object, status: int) -> Response:
    # Escaped: a name may hold characters that have no UTF-8.
    return Response(json.dumps(document), status, media_type="application/json")


class Guard:
    """Refuses browsers and, where the server is for this machine only, foreign host names."""

    def __init__(self, app: ASGIApp, *, local_only: bool) -> None:
        self._app = app
        self._local_only = local_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self.refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await JSONResponse(refusal.document(), refusal.status)(scope, receive, send)

    def refusal(self, headers: Headers) -> Refusal | None:
        """Return why a request with these headers is refused; None if it is served."""
        # A page cannot hide its origin. Only browsers send Sec-Fetch-Site, and every modern one does.
        if (
            headers.get("user-agent", "").startswith("Mozilla/")
            or "origin" in headers
            or "sec-fetch-site" in headers
        ):
            return Refusal(403, "User agent not allowed")
        # A page can make its own name lead to 127.0.0.1, but it cannot make the browser hide that name.
        if self._local_only and not is_local_name(host_of(headers.get("host", "localhost"))):
            return Refusal(403, "Host not allowed")
        return None


def host_of(header: str) -> str:
    """Return the host of a Host header, without port and without the brackets of an IPv6 address."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FAMILIES = (
    ("toxiproxy_proxy_received_bytes_total", "Bytes that came in and were passed on."),
    ("toxiproxy_proxy_sent_bytes_total", "Bytes that were passed on."),
)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def render(traffic: Iterable[Traffic]) -> str:
    """Return the counters in the text format of Prometheus."""
    rows = list(traffic)
    lines: list[str] = []
    for family, help in _FAMILIES:
        lines += (f"# HELP {family} {help}", f"# TYPE {family} counter")
        for row in rows:
            for direction, moved in (
                ("upstream", row.to_upstream_bytes),
                ("downstream", row.to_client_bytes),
            ):
                labels = {
                    "direction": direction,
                    "listener": row.listener,
                    "proxy": row.proxy,
                    "upstream": row.upstream,
                }
                pairs = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
                lines.append(f"{family}{{{pairs}}} {moved}")
    return "\n".join(lines) + "\n"
