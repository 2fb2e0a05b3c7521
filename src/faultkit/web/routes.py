"""Which handler a method and a path lead to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import unquote

from faultkit.audit.access.identity import Scope

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Route(Generic[T]):
    method: str
    path: str
    """Parts in braces stand for anything: `/tools/{name}`. With `*` at its end, for all that goes on so."""
    scope: Scope | None
    """None: for everybody."""
    handler: T
    streamed: bool = False
    """It has no end that is known at its beginning, and nothing to say to HEAD."""


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    route: Route[T]
    names: dict[str, str]
    """What stands for the parts in braces."""


def find(routes: Sequence[Route[T]], method: str, path: str) -> Found[T] | tuple[str, ...]:
    """If there is none for this method: those that there are for the path. HEAD is answered as GET is."""
    allowed: list[str] = []
    for route in routes:
        names = _match(route.path, path)
        if names is None:
            continue
        if method == route.method or (method == "HEAD" and route.method == "GET" and not route.streamed):
            return Found(route, names)
        allowed.append(route.method)
    return tuple(allowed)


def _match(pattern: str, path: str) -> dict[str, str] | None:
    if pattern.endswith("*"):
        return {} if path == pattern[:-1] or path.startswith(f"{pattern[:-1]}/") else None
    wanted, given = pattern.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    names: dict[str, str] = {}
    for part, said in zip(wanted, given, strict=True):
        if part.startswith("{"):
            if not said:
                return None
            names[part[1:-1]] = unquote(said)
        elif part != said:
            return None
    return names
