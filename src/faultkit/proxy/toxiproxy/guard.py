"""Who may call the API: programs, not browsers, and no page that has a name of its own for this machine."""

from __future__ import annotations

from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit.proxy.toxiproxy.refusals import Refusal


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
        """Why a request with these headers is not served, if so."""
        if headers.get("user-agent", "").startswith("Mozilla/"):
            return Refusal(403, "User agent not allowed")
        # A page can make its own name lead to 127.0.0.1, but it cannot make the browser hide that name.
        if self._local_only and not is_local(host_of(headers.get("host", "localhost"))):
            return Refusal(403, "Host not allowed")
        return None


def host_of(header: str) -> str:
    """The Host header without its port, and an IPv6 address without its brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def is_local(host: str) -> bool:
    """Whether the name or address can only mean this machine."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
