"""The demo on sockets: the service, and its built-in upstream on another port, which answers at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.http.asgi_server import ServerWithoutSignals, uvicorn_config
from faultkit.demo.demo_service import DemoService, with_request_log
from faultkit.proxy.sockets import listen

DEFAULT_TIMEOUT_S = 10.0
_GRACE_S = 2
_ANY_HOST = {"0.0.0.0": LOOPBACK, "::": "::1"}


class DemoServer:
    """The demo service and its upstream. Both ports are bound from the start.

    `run` blocks until `stop` is called, from any thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        upstream: str | None = None,
        upstream_port: int = 0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        retries: int = 0,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._listeners: list[socket.socket] = []
        try:
            if upstream is not None:
                _check_url(upstream)
            self.endpoint = self._listen("demo", endpoint)
            # Opened also if the service calls another URL, which may be a proxy in front of this upstream.
            self.upstream = self._listen("upstream", Endpoint(LOOPBACK, upstream_port))
            self.upstream_url = upstream or f"http://{self.upstream}/"
        except BaseException:
            self.close()
            raise
        reachable = Endpoint(_ANY_HOST.get(self.endpoint.host, self.endpoint.host), self.endpoint.port)
        service = DemoService(self.upstream_url, f"http://{reachable}/", timeout_s, retries)
        # One app for each listener, in their order.
        apps: list[ASGIApp] = [with_request_log(service.app(), report), build_upstream()]
        self._servers = [_server(app) for app in apps]

    def run(self) -> None:
        """Serve until `stop` is called."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """Stop the service, and then the upstream, which running requests may still need."""
        self._servers[0].should_exit = True

    def close(self) -> None:
        """Close the ports. Call it after `run` has returned."""
        for listener in self._listeners:
            listener.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for server, listener in zip(self._servers, self._listeners, strict=True):
                group.create_task(self._serve(server, listener))

    async def _serve(self, server: ServerWithoutSignals, listener: socket.socket) -> None:
        try:
            await server.serve(sockets=[listener])
        finally:
            for other in self._servers:
                other.should_exit = True

    def _listen(self, name: str, endpoint: Endpoint) -> Endpoint:
        listener = listen(name, endpoint)
        self._listeners.append(listener)
        host, port = listener.getsockname()[:2]
        return Endpoint(host, port)


def _server(app: ASGIApp) -> ServerWithoutSignals:
    return ServerWithoutSignals(uvicorn_config(app, grace_s=_GRACE_S))


def _check_url(upstream: str) -> None:
    try:
        parts = urlsplit(upstream)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise InputError("--upstream", f"expected an http or https URL, got {shown(upstream)}")


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


async def echo(request: Request) -> Response:
    """Return the request as JSON."""
    return JSONResponse(
        {
            "message": "pong",
            "method": request.method,
            "path": request.url.path,
            "query": dict(request.query_params),
        }
    )


def build_upstream() -> Starlette:
    """Return the app of the upstream."""
    return Starlette(routes=[Route("/{path:path}", echo, methods=METHODS)])
