"""The demo's sockets: the service, and its upstream on a port of its own, which answers at once."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.demo.demo_service import Service, reported
from faultkit.proxy.sockets import listen

DEFAULT_TIMEOUT_S = 10.0
_GRACE_S = 2
_ANY_HOST = {"0.0.0.0": LOOPBACK, "::": "::1"}


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller: two servers share the process."""
        yield


class DemoServer:
    """All ports are taken at once. `run` blocks until `stop` is called, from any thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        upstream: str | None = None,
        upstream_port: int = 0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._listeners: list[socket.socket] = []
        try:
            if upstream is not None:
                _check(upstream)
            self.endpoint = self._listen("demo", endpoint)
            # Also if the service calls another URL: that may be a proxy which leads back to ours.
            self.upstream = self._listen("upstream", Endpoint(LOOPBACK, upstream_port))
            self.upstream_url = upstream or f"http://{self.upstream}/"
        except BaseException:
            self.close()
            raise
        reachable = Endpoint(_ANY_HOST.get(self.endpoint.host, self.endpoint.host), self.endpoint.port)
        service = Service(self.upstream_url, f"http://{reachable}/", timeout_s)
        # One app for each listener, in their order.
        apps: list[ASGIApp] = [reported(service.app(), report), build_upstream()]
        self._servers = [_server(app) for app in apps]

    def run(self) -> None:
        asyncio.run(self._run())

    def stop(self) -> None:
        """The service first: what it has under way may still need the upstream."""
        self._servers[0].should_exit = True

    def close(self) -> None:
        """Give the ports back. Call it when `run` has returned."""
        for listener in self._listeners:
            listener.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for server, listener in zip(self._servers, self._listeners, strict=True):
                group.create_task(self._serve(server, listener))

    async def _serve(self, server: _Server, listener: socket.socket) -> None:
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


def _server(app: ASGIApp) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            ws="none",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
    )


def _check(upstream: str) -> None:
    try:
        parts = urlsplit(upstream)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise InputError("upstream", f"expected an http or https URL, got {shown(upstream)}")


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
