"""Who may call: pages of the web can make a browser call us by a name of their own, and must not. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from faultkit.mcp.wire.http.server import Request


def is_from(request: Request, hosts: tuple[str, ...] | None) -> bool:
    """Whether Host and Origin name one of these; None for any."""
    if hosts is None:
        return True
    origin = request.headers.get("origin")
    if origin is not None and _origin_name(origin) not in hosts:
        return False
    return _host_name(request.headers.get("host", "")) in hosts


def _origin_name(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


def _host_name(authority: str) -> str:
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].lower()
