"""MCP over streamable HTTP, for several clients at a time and both eras of the protocol.

On loopback, pages in a browser are kept out by the Host and Origin that they cannot hide. Elsewhere nobody is
let in without a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Callable, Iterator, Mapping

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit.agent_tools.calls import Calls
from faultkit.agent_tools.server import make_server
from faultkit.agent_tools.stopping import Ending, told_by_signals
from faultkit.agent_tools.table import TOOLS
from faultkit.agent_tools.tool import Tool
from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.base.errors import InputError
from faultkit.proxy.proxy import listen
from faultkit.proxy.toxiproxy.guard import is_local

PATH = "/mcp"
_EVERYWHERE = ("0.0.0.0", "::")
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_GRACE_S, _KEEP_ALIVE_S = 1, 60


class HttpServer:
    """Has its port from the start. `run` blocks until a signal comes or `stop` is called, from any thread."""

    def __init__(
        self,
        calls: Calls,
        host: str = LOOPBACK,
        port: int = 0,
        token: str | None = None,
        tools: Mapping[str, Tool] = TOOLS,
        instructions: str | None = None,
        name: str = "fault agent tool",
    ) -> None:
        """`name`: the command, for an error about its port."""
        host = LOOPBACK if host == "localhost" else host.strip("[]")
        check_token(host, token)
        self._calls = calls
        self._ending: Ending = "terminate"
        self._listener = listen(name, Endpoint(host, port))
        bound_host, bound_port = self._listener.getsockname()[:2]
        self.endpoint = Endpoint(bound_host, bound_port)
        self.url = f"http://{self.endpoint}{PATH}"
        app = make_server(calls, tools, instructions).streamable_http_app(
            streamable_http_path=PATH, transport_security=_security(host)
        )
        self._server = _Uvicorn(_config(Guard(app, token, same_origin=host in _EVERYWHERE)))

    def run(self, ready: Callable[[str], None] = lambda url: None) -> Ending:
        """`ready` is told the URL once it is served."""
        try:
            asyncio.run(self._serve(ready))
        finally:
            self._listener.close()
        return self._ending

    def stop(self, why: Ending = "terminate") -> None:
        """Calls are told to end at once; whoever waits for one still hears of it."""
        self._ending = why
        self._calls.stop()
        self._server.should_exit = True

    async def _serve(self, ready: Callable[[str], None]) -> None:
        with told_by_signals(self.stop):
            ready(self.url)
            await self._server.serve(sockets=[self._listener])


class Guard:
    """Lets nobody in without the token, and no page of another site at all."""

    def __init__(self, app: ASGIApp, token: str | None, *, same_origin: bool) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._same_origin = same_origin
        """Where any Host may be meant, an Origin has to be the same; elsewhere, the SDK checks both."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse | None:
        if self._token is not None and not self._is_let_in(headers.get("authorization", "")):
            told = {"WWW-Authenticate": 'Bearer realm="faultkit"'}
            return JSONResponse({"error": "expected a bearer token that is known"}, 401, told)
        origin = headers.get("origin")
        if self._same_origin and origin is not None and not _is_of(origin, headers.get("host", "")):
            return JSONResponse({"error": "expected no Origin, or that of this server"}, 403)
        return None

    def _is_let_in(self, authorization: str) -> bool:
        assert self._token is not None
        scheme, _, token = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def _is_of(origin: str, host: str) -> bool:
    return origin in (f"http://{host}", f"https://{host}")


def check_token(host: str, token: str | None) -> None:
    if token is None:
        if not is_local(host):
            problem = f"expected a token, since {host} can be reached from other machines, got none"
            raise InputError("--token", problem)
    elif not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError("--token", "expected visible ASCII characters, got nothing or others among them")


def _security(host: str) -> TransportSecuritySettings:
    if host in _EVERYWHERE:
        # Whatever this machine is called, it may be meant: the token and the guard see to the rest.
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = f"[{host}]" if ":" in host else host
    names = tuple(dict.fromkeys((*_LOOPBACK_NAMES, own)))
    return TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[form for name in names for form in (f"http://{name}", f"http://{name}:*")],
    )


class _Uvicorn(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours to see to: calls have to end first."""
        yield


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
