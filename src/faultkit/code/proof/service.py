"""A service in a file: how it is run, which route is called, and what it depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.errors import InputError

Interface: TypeAlias = Literal["asgi", "wsgi", "node"]

_URL = re.compile(r"https?://[^/\s\"'`?#]+")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A dependency that an environment variable names, or a URL in the text."""

    name: str
    """The variable, or the beginning of the URL: `https://api.example.com`."""
    default: str
    """The value if the variable is not set; empty if it is required."""
    where: str = ""
    """The file that reads it."""

    @property
    def is_text(self) -> bool:
        """Whether it is a URL in the text instead of a variable."""
        return _URL.fullmatch(self.name) is not None

    @property
    def path(self) -> str:
        """The path of the default, which stays when the host is replaced."""
        return _URL.sub("", self.default, count=1) if _URL.match(self.default) else ""


@dataclass(frozen=True, slots=True)
class Service:
    """How to run a file as a service."""

    interface: Interface
    root: str
    """The folder in which it runs."""
    route: str
    """A path for GET."""
    upstreams: tuple[Upstream, ...]
    module: str = ""
    """The name of a Python module, from the root."""
    application: str = ""
    """The name of the object in the module."""


def checked_route(given: str | None, found: str | None, file: str) -> str:
    """Return the route to call. Raises InputError if there is none."""
    chosen = given or found
    if chosen is None:
        raise InputError(
            file,
            "expected a route that a plain GET can ask for, found none: name one with --route /PATH (for a "
            "tool call, its argument route)",
        )
    if not chosen.startswith("/"):
        raise InputError("--route", f'expected a path such as /items, got "{chosen}"')
    return chosen
