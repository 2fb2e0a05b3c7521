"""Match: where a rule acts. It answers yes or no about a proxy or a request, and knows no fault.

Proxy names, paths and header values are globs (`*`, `?`, `[abc]`), matched whole and with case.
Header names and methods are compared without case.

A path glob sees the path of the request target only: never the query, since `?` is a wildcard in a
glob, and never the scheme and host of a proxy request, which the proxy's name already stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import get_args

from faultkit.plan.flow import Direction, Flow, Side, flows
from faultkit.plan.shape import shown

_GLOB_CHARACTER = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


@dataclass(frozen=True, slots=True)
class Match:
    proxy: str = "*"
    side: Side = "server"
    direction: Direction = "ingress"
    method: str | tuple[str, ...] | None = None
    path: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Pairs of a name and a glob. Each must be met; one of several values of a name is enough."""

    def __post_init__(self) -> None:
        if not self.proxy:
            raise ValueError('proxy: expected a name or a glob, got ""')
        for name, value, choices in (
            ("side", self.side, get_args(Side)),
            ("direction", self.direction, get_args(Direction)),
        ):
            if value not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {shown(value)}")
        if self.method is not None and not self.methods:
            raise ValueError("method: expected at least one method, got none")
        for method in self.methods:
            if not _TOKEN.fullmatch(method):
                raise ValueError(f"method: expected an HTTP method such as GET, got {shown(method)}")
        if self.path == "":
            raise ValueError('path: expected a glob such as "/api/*", got ""')
        names: set[str] = set()
        for header, _ in self.headers:
            if not _TOKEN.fullmatch(header):
                raise ValueError(f"headers: expected a header name, got {shown(header)}")
            if header.lower() in names:
                raise ValueError(f"headers: expected each name once, got {shown(header)} again")
            names.add(header.lower())

    @classmethod
    def only(cls, proxy_name: str, side: Side = "server", direction: Direction = "ingress") -> Match:
        """Exactly the proxy of this name, whatever characters the name has."""
        return cls(escape_glob(proxy_name), side, direction)

    @property
    def flows(self) -> tuple[Flow, ...]:
        return flows(self.side, self.direction)

    @property
    def methods(self) -> tuple[str, ...]:
        if self.method is None:
            return ()
        return (self.method,) if isinstance(self.method, str) else self.method

    @property
    def needs_http(self) -> bool:
        """True if it asks about requests, so that it can hold only where HTTP is understood."""
        return self.method is not None or self.path is not None or bool(self.headers)

    def covers_proxy(self, name: str) -> bool:
        return fnmatchcase(name, self.proxy)

    def covers_request(self, method: str, target: str, headers: Iterable[tuple[str, str]]) -> bool:
        """Whether a request is meant; `target` is what the request line says, query and all."""
        if self.method is not None and method.upper() not in {m.upper() for m in self.methods}:
            return False
        if self.path is not None and not fnmatchcase(path_of(target), self.path):
            return False
        if not self.headers:
            return True
        given = [(name.lower(), value) for name, value in headers]
        return all(
            any(name == wanted.lower() and fnmatchcase(value, glob) for name, value in given)
            for wanted, glob in self.headers
        )


def escape_glob(text: str) -> str:
    """The glob that matches `text` and nothing else."""
    return _GLOB_CHARACTER.sub(r"[\g<0>]", text)


def path_of(target: str) -> str:
    """The path of a request target in any of its forms; `*` and `host:port` stay as they are."""
    absolute = _ABSOLUTE.match(target)
    rest = target[absolute.end() :] if absolute else target
    path = rest.partition("?")[0].partition("#")[0]
    return path or "/"
