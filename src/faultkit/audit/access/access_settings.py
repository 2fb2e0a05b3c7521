"""The operator's access settings, and the metadata that clients discover (RFC 9728, RFC 6750). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from faultkit.audit.access.identity import SCOPES, Scope
from faultkit.audit.access.rate_limits import Rate
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.http.http_exchange import HttpRequest
from faultkit.base.http.http_server import RequestLimits

MOST_BODY_BYTES = 4 << 20
METADATA_PATH = "/.well-known/oauth-protected-resource"
_REALM = "faultkit"
_UNQUOTABLE = re.compile(r"[^\x20-\x5b\x5d-\x7e]")
_AUTHORITY = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who may call, how often, and from where."""

    anonymous: bool = True
    """True to admit requests without a credential, with the scopes `read` and `call`. A wrong credential is
    always refused."""
    rate: Rate | None = None
    """Rate limit per key or user; for anonymous requests per address."""
    hosts: tuple[str, ...] | None = LOOPBACK_NAMES
    """Accepted names in Host and Origin; None for any."""
    origins: tuple[str, ...] = ()
    """Origins of other sites whose pages may call."""
    most_body_bytes: int = MOST_BODY_BYTES
    public_url: str = ""
    """URL of the server as clients see it, if it differs from the address that it listens on."""
    issuer: str = ""
    """Issuer of tokens; empty if tokens are not accepted."""
    scope_prefix: str = ""
    """Begins the names of scopes in tokens, and so in what clients are asked for."""
    mcp_paths: tuple[str, ...] = ("/mcp",)

    @property
    def limits(self) -> RequestLimits:
        """Limits of the HTTP server."""
        return RequestLimits(body_bytes=self.most_body_bytes)


def metadata_of(request: HttpRequest, settings: AccessSettings) -> dict[str, Any] | None:
    """Return the metadata document for METADATA_PATH, with or without the path of the tools; None elsewhere.

    RFC 9728, 3.1: the path of the resource is appended to the well-known path."""
    path = request.path.removeprefix(METADATA_PATH)
    if path == request.path or path not in ("", *settings.mcp_paths):
        return None
    document: dict[str, Any] = {"resource": _base(request, settings) + path}
    if settings.issuer:
        document["authorization_servers"] = [settings.issuer]
    scopes = [settings.scope_prefix + scope for scope in SCOPES]
    return document | {"bearer_methods_supported": ["header"], "scopes_supported": scopes}


def challenge(request: HttpRequest, settings: AccessSettings, scope: Scope, error: str, why: str) -> str:
    """Return the value of WWW-Authenticate.

    RFC 6750, 3.1: a request without a credential gets no error code, so `error` is empty then."""
    parts = {"realm": _REALM, "error": error, "error_description": why if error else ""}
    parts["scope"] = settings.scope_prefix + scope
    path = request.path if request.path in settings.mcp_paths and request.path != "/" else ""
    parts["resource_metadata"] = _base(request, settings) + METADATA_PATH + path
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in parts.items() if value)


def _quotable(text: str) -> str:
    # RFC 6750, 3: no quotes, backslashes or control characters, not even escaped.
    return _UNQUOTABLE.sub("?", text.replace('"', "'"))


def _base(request: HttpRequest, settings: AccessSettings) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    # The Host header is copied into a header and a document, so it is validated first.
    host = request.headers.get("host", "")
    return f"http://{host if _AUTHORITY.fullmatch(host) else 'localhost'}"
