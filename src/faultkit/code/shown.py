"""Paths as people are shown them. Pure."""

from __future__ import annotations


def one_line(path: str) -> str:
    """A path for people: a line end or an escape sequence in a name is shown and not acted on."""
    return path if path.isprintable() else repr(path)[1:-1]
