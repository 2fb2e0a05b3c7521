"""What clients that look for a token are told, as RFC 9728 and RFC 6750 say. Pure."""

from __future__ import annotations

import re
from typing import Any

from faultkit.audit.access.identity import SCOPES, Scope
from faultkit.audit.access.settings import AccessSettings
from faultkit.base.http.server import Request

METADATA_PATH = "/.well-known/oauth-protected-resource"
_REALM = "faultkit"
_UNQUOTABLE = re.compile(r"[^\x20-\x5b\x5d-\x7e]")
_AUTHORITY = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)


def metadata_of(request: Request, settings: AccessSettings) -> dict[str, Any] | None:
    """The document at METADATA_PATH, alone or before a path at which tools are served; None elsewhere."""
    path = request.path.removeprefix(METADATA_PATH)
    if path == request.path or path not in ("", *settings.mcp_paths):
        return None
    document: dict[str, Any] = {"resource": _base(request, settings) + path}
    if settings.issuer:
        document["authorization_servers"] = [settings.issuer]
    return document | {"bearer_methods_supported": ["header"], "scopes_supported": list(SCOPES)}


def challenge(request: Request, settings: AccessSettings, scope: Scope, error: str, why: str) -> str:
    """The value of WWW-Authenticate. `error` is empty for who brought nothing: they did nothing wrong."""
    parts = {"realm": _REALM, "error": error, "error_description": why if error else "", "scope": scope}
    path = request.path if request.path in settings.mcp_paths and request.path != "/" else ""
    parts["resource_metadata"] = _base(request, settings) + METADATA_PATH + path
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in parts.items() if value)


def _quotable(text: str) -> str:
    """RFC 6750 lets no quotes, backslashes or controls into these, not even escaped."""
    return _UNQUOTABLE.sub("?", text.replace('"', "'"))


def _base(request: Request, settings: AccessSettings) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    # It goes into a header and a document as it is, so it has to be what it should be.
    host = request.headers.get("host", "")
    return f"http://{host if _AUTHORITY.fullmatch(host) else 'localhost'}"
