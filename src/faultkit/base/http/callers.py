"""Which callers a local HTTP server accepts: Host and Origin checks, CORS, and the address it listens on.

A web page can make a browser call a server on loopback under a host name of its own (DNS rebinding). Servers
must therefore validate Host and Origin (RFC 6454).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.secrets import has_bearer_token


def is_allowed_caller(
    request: HttpRequest, hosts: tuple[str, ...] | None, origins: tuple[str, ...] | None = None
) -> bool:
    """Return whether Host and Origin name one of `hosts`; None allows any.

    `origins`: further values that Origin may have. If it is not None, a page may otherwise call only the host
    that it came from."""
    origin = request.headers.get("origin")
    if hosts is None and (origins is None or origin is None):
        return True
    host = _host_name(request.headers.get("host", ""))
    if hosts is not None and host not in hosts:
        return False
    if origin is None or (origins is not None and origin in origins):
        return True
    return _origin_name(origin) in ((host,) if hosts is None else hosts)


def has_token(request: HttpRequest, token: str) -> bool:
    """Return whether a request has this bearer token."""
    return has_bearer_token(request.headers.get("authorization", ""), token)


def refuse_without_token(answer: ResponseWriter) -> None:
    """Answer a request that lacks the token."""
    lines = [("content-type", "text/plain"), ("www-authenticate", "Bearer")]
    answer.respond(401, lines, b"expected Authorization: Bearer TOKEN")


def _origin_name(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


def _host_name(authority: str) -> str:
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].lower()


_KEPT_S = 600
"""Seconds for which a browser may cache the answer to a preflight request."""
_READABLE = "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"


def allow_origin(request: HttpRequest, answer: ResponseWriter, origins: tuple[str, ...]) -> bool:
    """Add the CORS headers that let a page of one of these origins read the response; return whether it is
    one."""
    origin = request.headers.get("origin")
    answer.extra_headers.append(("vary", "origin"))
    if origin is None or origin not in origins:
        return False
    answer.extra_headers += [
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", _READABLE),
    ]
    return True


def answer_preflight(request: HttpRequest, answer: ResponseWriter) -> bool:
    """Answer a CORS preflight request, which carries no credentials; return whether it was one."""
    if request.method != "OPTIONS" or "access-control-request-method" not in request.headers:
        return False
    wanted = request.headers.get("access-control-request-headers", "")
    headers = [
        ("access-control-allow-methods", "GET, POST, DELETE"),
        ("access-control-max-age", str(_KEPT_S)),
    ]
    if wanted:
        headers.append(("access-control-allow-headers", wanted))
    answer.respond_without_body(204, headers)
    return True


def allowed_hosts(host: str) -> tuple[str, ...] | None:
    """Return the host names that requests may use: on loopback the loopback names, elsewhere any (None).

    The names by which other machines know this one cannot be known here."""
    return LOOPBACK_NAMES if host in LOOPBACK_NAMES else None
