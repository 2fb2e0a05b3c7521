"""Routes, and the replies and errors that handlers produce. Pure: nothing here sends anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

from faultkit.audit.access.identity import Scope
from faultkit.base.http.http_exchange import Headers

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Route(Generic[T]):
    """A method and a path pattern with their handler."""

    method: str
    path: str
    """Pattern: a part in braces matches any text (`/tools/{name}`), a `*` at the end every longer path."""
    scope: Scope | None
    """Scope that the request needs; None for public routes."""
    handler: T
    streamed: bool = False
    """True if the response has no known length; HEAD is not supported then."""


@dataclass(frozen=True, slots=True)
class RouteMatch(Generic[T]):
    """A route that fits a request."""

    route: Route[T]
    names: dict[str, str]
    """Values of the parts in braces, by name."""


def find_route(routes: Sequence[Route[T]], method: str, path: str) -> RouteMatch[T] | tuple[str, ...]:
    """Return the route for a request, or the methods that the path allows. HEAD matches GET."""
    allowed: list[str] = []
    for route in routes:
        names = _match(route.path, path)
        if names is None:
            continue
        if method == route.method or (method == "HEAD" and route.method == "GET" and not route.streamed):
            return RouteMatch(route, names)
        allowed.append(route.method)
    return tuple(allowed)


def _match(pattern: str, path: str) -> dict[str, str] | None:
    if pattern.endswith("*"):
        return {} if path == pattern[:-1] or path.startswith(f"{pattern[:-1]}/") else None
    wanted, given = pattern.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    names: dict[str, str] = {}
    for part, text in zip(wanted, given, strict=True):
        if part.startswith("{"):
            if not text:
                return None
            names[part[1:-1]] = unquote(text)
        elif part != text:
            return None
    return names


SAFETY: Headers = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
]
"""Headers of every response: not to be cached, framed, or interpreted as a page."""
JSON_TYPE = "application/json; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class SiteReply:
    """A complete HTTP response."""

    status: int
    body: bytes = b""
    type: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class HttpError(Exception):
    """An error that becomes the response to a request."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.reply = error_reply(status, text, tuple(headers.items()))


def json_reply(document: Any, status: int = 200) -> SiteReply:
    """Return a reply with a JSON document."""
    return SiteReply(status, json_bytes(document), JSON_TYPE)


def text_reply(text: str, status: int = 200, type: str = TEXT_TYPE) -> SiteReply:
    """Return a reply with a text."""
    return SiteReply(status, text.encode(), type)


def error_reply(status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> SiteReply:
    """Return a reply with the JSON form of an error."""
    return SiteReply(status, json_bytes({"error": text}), JSON_TYPE, headers)


def json_bytes(document: Any) -> bytes:
    """Return a document as compact JSON in UTF-8."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
