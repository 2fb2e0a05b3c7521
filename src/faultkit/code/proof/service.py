"""A service in a file: how it is run, which route is called, and what it depends on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.base.errors import InputError

Interface: TypeAlias = Literal["asgi", "wsgi", "node"]

_URL = re.compile(r"https?://[^/\s\"'`?#]+")
_PARAMETER = re.compile(r"<[^<>]*>|\{[^{}]*\}|:\w+(?:\([^()]*\))?[?*+]?|\*\w*")
"""In the path of a route: `<int:id>`, `{id}`, `:id`, `*`."""
_NAMED = 3
"""Routes that a message names at most."""


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
    notes: tuple[str, ...] = ()
    """What a user should know about the choice of the route."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route in the text of a service."""

    path: str
    calls_out: bool
    """Whether its handler is known to call a dependency, directly or through others."""
    reach: int = 0
    """How much of a change it reaches."""
    method: str = "GET"

    @property
    def needs_value(self) -> bool:
        """Whether its path has a parameter."""
        return _PARAMETER.search(self.path) is not None

    @property
    def hint(self) -> str:
        """How to name it, if its path has a parameter."""
        return f"{self.path} needs a value: --route {_PARAMETER.sub('1', self.path)}"


@dataclass(frozen=True, slots=True)
class ChosenRoute:
    """The route to call, and what a user should know about the choice."""

    path: str
    notes: tuple[str, ...] = ()


def chosen_route(given: str | None, routes: Sequence[Route], file: str) -> ChosenRoute:
    """Return the route to call: the given one; or of those that take a GET without a value, one that calls
    out and reaches most of the change. Raises InputError if there is none, or only one that is known to show
    nothing."""
    if given is not None:
        return ChosenRoute(checked_route(given))
    of_get = [each for each in routes if each.method == "GET"]
    plain = [each for each in of_get if not each.needs_value]
    with_value = [each for each in of_get if each.needs_value and each.calls_out]
    others = [each for each in routes if each.method != "GET" and each.calls_out]
    chosen = max(plain, key=lambda each: (each.calls_out, each.reach), default=None)
    if chosen is None or not (chosen.calls_out or chosen.reach):
        if with_value or (chosen is None and of_get):
            hints = "; ".join(each.hint for each in (with_value or of_get)[:_NAMED])
            raise InputError(file, f"expected a route that calls out without a value in its path: {hints}")
        if others or (chosen is None and routes):
            names = ", ".join(f"{each.method} {each.path}" for each in (others or list(routes))[:_NAMED])
            raise InputError(
                file, f"expected a route that calls out for GET, found {names}: a proof sends GET only"
            )
    if chosen is None:
        raise InputError(
            file,
            "expected a route that a plain GET can ask for, found none: name one with --route /PATH (for a "
            "tool call, its argument route)",
        )
    notes = [
        f"Not called: {each.hint}" for each in with_value if each.reach > chosen.reach or not chosen.calls_out
    ][:_NAMED]
    if not chosen.calls_out:
        where = f"No handler in {Path(file).name}"
        notes.append(f"{where} is known to call out: {chosen.path} is called; --route names another")
    return ChosenRoute(chosen.path, tuple(notes))


def checked_route(given: str) -> str:
    """Return a route that a user has given. Raises InputError if it is no path."""
    if not given.startswith("/"):
        raise InputError("--route", f'expected a path such as /items, got "{given}"')
    return given
