"""What a browser must be told before a page from elsewhere may call us and read what it gets."""

from __future__ import annotations

from faultkit.base.http.server import Answer, Request

_KEPT_S = 600
"""How long a browser need not ask again."""
_READABLE = "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"


def share(request: Request, answer: Answer, origins: tuple[str, ...]) -> bool:
    """Lets the page that asks read the answer, if it is one of these."""
    origin = request.headers.get("origin")
    answer.also.append(("vary", "origin"))
    if origin is None or origin not in origins:
        return False
    answer.also += [("access-control-allow-origin", origin), ("access-control-expose-headers", _READABLE)]
    return True


def preflight(request: Request, answer: Answer) -> bool:
    """A browser's question ahead of a call, which carries no key: answered here."""
    if request.method != "OPTIONS" or "access-control-request-method" not in request.headers:
        return False
    wanted = request.headers.get("access-control-request-headers", "")
    headers = [
        ("access-control-allow-methods", "GET, POST, DELETE"),
        ("access-control-max-age", str(_KEPT_S)),
    ]
    if wanted:
        headers.append(("access-control-allow-headers", wanted))
    answer.bodiless(204, headers)
    return True
