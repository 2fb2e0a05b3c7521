"""Who may call: pages of the web can make a browser call us by a name of their own, and must not. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from faultkit.base.http.server import Request


def is_from(request: Request, hosts: tuple[str, ...] | None, origins: tuple[str, ...] | None = None) -> bool:
    """Whether Host and Origin name one of `hosts`, None for any. `origins`: what Origin may be besides; if
    there are any such, or none on purpose, a page may otherwise call only the host that it is from."""
    origin = request.headers.get("origin")
    if hosts is None and (origins is None or origin is None):
        return True
    host = _host_name(request.headers.get("host", ""))
    if hosts is not None and host not in hosts:
        return False
    if origin is None or (origins is not None and origin in origins):
        return True
    return _origin_name(origin) in ((host,) if hosts is None else hosts)


def _origin_name(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


def _host_name(authority: str) -> str:
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].lower()
