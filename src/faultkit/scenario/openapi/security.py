"""What a call must show to be let in: placeholders, for the user to replace by real tokens.

No secret is ever made up that could pass for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit.scenario.openapi.parameters import header_text, is_header_name
from faultkit.scenario.openapi.resolve import Resolver
from faultkit.scenario.openapi.styles import encoded, one_line

PLACEHOLDER = "REPLACE_ME"
_SCHEMES = {"bearer": "Bearer", "basic": "Basic", "digest": "Digest"}


@dataclass(slots=True)
class Credentials:
    headers: dict[str, str] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[tuple[str, str]] = field(default_factory=list)
    placeholders: dict[str, str] = field(default_factory=dict)
    """Each placeholder, and what should stand there."""


def credentials(requirements: object, schemes: object, resolver: Resolver) -> Credentials:
    """For the first way in, or none if there is one that needs nothing."""
    found = Credentials()
    ways = [way for way in requirements if isinstance(way, Mapping)] if isinstance(requirements, list) else []
    if not ways or any(not way for way in ways):
        return found
    for name in ways[0]:
        scheme = resolver.follow(schemes.get(name)) if isinstance(schemes, Mapping) else None
        if isinstance(scheme, Mapping):
            _add(found, str(name), scheme)
    return found


def _add(found: Credentials, name: str, scheme: Mapping[str, Any]) -> None:
    placeholder = f"{PLACEHOLDER}_{re.sub(r'[^A-Za-z0-9_]+', '_', name).strip('_') or 'TOKEN'}"
    kind, key, place = scheme.get("type"), scheme.get("name"), scheme.get("in")
    if kind == "apiKey" and isinstance(key, str) and key:
        found.placeholders[placeholder] = one_line(f"the key for {key} ({place})")
        if place == "query":
            found.query.append((encoded(key), placeholder))
        elif place == "cookie":
            found.cookies.append((encoded(key), placeholder))
        elif is_header_name(key):
            found.headers[key] = placeholder
    elif kind == "http":
        word = str(scheme.get("scheme", "bearer")).strip()
        prefix = _SCHEMES.get(word.lower(), header_text(word))
        found.headers["Authorization"] = f"{prefix} {placeholder}"
        what = "user:password in base64" if prefix == "Basic" else "the token"
        found.placeholders[placeholder] = f"{what} after Authorization: {prefix}"
    elif kind in ("oauth2", "openIdConnect"):
        found.headers["Authorization"] = f"Bearer {placeholder}"
        found.placeholders[placeholder] = "an access token"
