"""Errors of the core that speak of a path or a function, as errors that name the argument."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faultkit.base.errors import InputError

_FUNCTION = "function"


@contextmanager
def about(argument: str, path: str) -> Iterator[None]:
    """For whatever reads the file or folder at `path`, which `argument` gave."""
    try:
        yield
    except InputError as error:
        if error.path.rpartition(": ")[2] == _FUNCTION:
            raise InputError("func", f"{error.problem} (in {path})") from None
        if error.path in (path, argument, "folder"):
            raise InputError(argument, f"{error.problem} ({path})") from None
        raise
