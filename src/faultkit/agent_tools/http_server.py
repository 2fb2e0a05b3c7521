"""MCP over streamable HTTP, for several clients at a time and both eras of the protocol.

Every request needs the token, on loopback too: other users, containers and sandboxed programs of this machine
can connect there. The Host and Origin headers keep web pages out: a browser does not let a page change them
(MCP specification, Transports, "Security Warning").
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit.agent_tools.mcp_server import make_server
from faultkit.agent_tools.tool import Tool
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.base.address import LOOPBACK, LOOPBACK_HOSTS, Endpoint, is_local_name
from faultkit.base.errors import InputError
from faultkit.base.http.asgi_server import ServerWithoutSignals, uvicorn_config
from faultkit.base.network import new_token
from faultkit.base.secrets import has_bearer_token
from faultkit.base.signals import REASONS, StopReason, handle_signals
from faultkit.proxy.sockets import listen

PATH = "/mcp"
_EVERYWHERE = ("0.0.0.0", "::")
_GRACE_S, _KEEP_ALIVE_S = 1, 60


class HttpServer:
    """A server whose port is bound from the start. `run` blocks until a signal arrives or `stop` is
    called."""

    def __init__(
        self,
        calls: ToolRunner,
        token: str,
        host: str = LOOPBACK,
        port: int = 0,
        tools: Mapping[str, Tool] = TOOLS,
        instructions: str | None = None,
        name: str = "fault agent tool",
    ) -> None:
        """`name`: the command, for an error about its port. Raises InputError for a bad token."""
        host = LOOPBACK if host == "localhost" else host.strip("[]")
        check_token(token)
        self._calls = calls
        self._ending: StopReason = "terminate"
        self._listener = listen(name, Endpoint(host, port))
        bound_host, bound_port = self._listener.getsockname()[:2]
        self.endpoint = Endpoint(bound_host, bound_port)
        self.url = f"http://{self.endpoint}{PATH}"
        app = make_server(calls, tools, instructions).streamable_http_app(
            streamable_http_path=PATH, transport_security=_security(host)
        )
        config = uvicorn_config(
            Guard(app, token, same_origin=host in _EVERYWHERE),
            grace_s=_GRACE_S,
            lifespan="on",
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        # Signals are left to this class, which cancels the calls first.
        self._server = ServerWithoutSignals(config)

    def run(self, ready: Callable[[str], None] = lambda url: None) -> StopReason:
        """Serve until the end; return why it ended. `ready` gets the URL once it is served."""
        try:
            asyncio.run(self._serve(ready))
        finally:
            self._listener.close()
        return self._ending

    def stop(self, why: StopReason = "terminate") -> None:
        """Cancel all calls and stop; their clients still get the results. Thread-safe."""
        self._ending = why
        self._calls.stop()
        self._server.should_exit = True

    async def _serve(self, ready: Callable[[str], None]) -> None:
        with handle_signals(lambda number: self.stop(REASONS[number]), once=True):
            ready(self.url)
            await self._server.serve(sockets=[self._listener])


class Guard:
    """Refuses requests without the token, and all requests of web pages of other sites."""

    def __init__(self, app: ASGIApp, token: str, *, same_origin: bool) -> None:
        self._app = app
        self._token = token
        self._same_origin = same_origin
        """True where every Host is accepted: then an Origin has to equal it. Elsewhere the SDK checks
        both."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse | None:
        if not has_bearer_token(headers.get("authorization", ""), self._token):
            challenge = {"WWW-Authenticate": 'Bearer realm="faultkit"'}
            return JSONResponse({"error": "expected a bearer token that is known"}, 401, challenge)
        origin = headers.get("origin")
        host = headers.get("host", "")
        own_origins = (f"http://{host}", f"https://{host}")
        if self._same_origin and origin is not None and origin not in own_origins:
            return JSONResponse({"error": "expected no Origin, or that of this server"}, 403)
        return None


def token_for(host: str, given: str | None) -> str:
    """Return the given token; without one, a random one on loopback, and an InputError elsewhere."""
    if given is not None:
        return given
    if not is_local_name(host):
        problem = f"expected a token, since {host} can be reached from other machines, got none"
        raise InputError("--token", problem)
    return new_token()


def check_token(token: str) -> None:
    """Raise InputError if the token cannot be sent in a header."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError("--token", "expected visible ASCII characters, got nothing or others among them")


def _security(host: str) -> TransportSecuritySettings:
    if host in _EVERYWHERE:
        # Any name of this machine may be used as Host. The token and the guard protect it.
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = f"[{host}]" if ":" in host else host
    names = tuple(dict.fromkeys((*LOOPBACK_HOSTS, own)))
    return TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[form for name in names for form in (f"http://{name}", f"http://{name}:*")],
    )
