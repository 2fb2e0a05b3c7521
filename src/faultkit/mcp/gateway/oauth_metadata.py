"""OAuth metadata of a server behind the relay: where it names the server's own address, it names the relay's.

A client refuses metadata whose `resource` is not the URL that it calls (RFC 9728 §3.3), and finds the
metadata by `resource_metadata` of a `WWW-Authenticate` challenge (§5.1). The authorization server is left as
it is: the client talks to it directly. Pure.
"""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from faultkit.base.errors import InputError
from faultkit.base.http.http_exchange import Headers
from faultkit.base.http.http_url import HttpUrl, parse_url

_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_PARAMETER = re.compile(r'(\bresource_metadata\s*=\s*)("([^"]*)"|[^\s,"]+)', re.IGNORECASE)
MOST_BYTES = 1 << 20
"""Largest metadata that are rewritten."""


def is_metadata_request(method: str, path: str) -> bool:
    """Return whether a request asks for the metadata of a protected resource."""
    return method == "GET" and (path == _WELL_KNOWN or path.startswith(f"{_WELL_KNOWN}/"))


def with_own_challenge(lines: Headers, upstream: HttpUrl, own_origin: str) -> Headers:
    """Return response headers whose challenges name the metadata by the relay's address."""

    def renamed(found: re.Match[str]) -> str:
        url = found[3] if found[3] is not None else found[2]
        return f'{found[1]}"{own_url(url, upstream, own_origin)}"'

    return [
        (name, _PARAMETER.sub(renamed, value) if name.lower() == "www-authenticate" else value)
        for name, value in lines
    ]


def with_own_resource(body: bytes, upstream: HttpUrl, own_origin: str) -> bytes | None:
    """Return metadata whose `resource` is at the relay; None if it is not at the upstream, or unreadable."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    resource = document.get("resource") if isinstance(document, dict) else None
    if not isinstance(resource, str):
        return None
    own = own_url(resource, upstream, own_origin)
    return None if own == resource else json.dumps({**document, "resource": own}).encode()


def own_url(url: str, upstream: HttpUrl, own_origin: str) -> str:
    """Return a URL of the upstream as one of the relay; any other URL unchanged."""
    try:
        if parse_url(url).origin != upstream.origin:
            return url
    except InputError:
        return url
    parts = urlsplit(url)
    return f"{own_origin}{parts.path}{f'?{parts.query}' if parts.query else ''}"
