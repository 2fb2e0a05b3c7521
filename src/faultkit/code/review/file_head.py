"""What the context of a file is decided by: its path, its text, and what its manifest says. Values only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

HEAD_BYTES = 8192
"""The first bytes of a file, by which most contexts are judged besides its path."""
_QUOTES = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class FileHead:
    """What a file's context is decided by."""

    path: str
    """Relative to the project, with `/`."""
    language: str
    text: str
    """The first bytes of the file, as text."""
    size: int = 0
    source: bytes = b""
    """The whole file."""
    project: Project = NO_PROJECT

    def says(self, pattern: re.Pattern[bytes] | TextPattern[bytes]) -> bool:
        """Return whether an expression is found anywhere in the file."""
        return pattern.search(self.source or self.text.encode("utf-8", "replace")) is not None


def leading_comment(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the lines of the comments with which a file begins, and whether they stand in a docstring."""
    end = ""
    for line in text.removeprefix("\ufeff").splitlines():
        bare = line.strip()
        if end:
            yield end in _QUOTES, bare
            end = "" if end in bare else end
        elif (begin := bare.lstrip("rR")[:3]) in _QUOTES or bare.startswith("/*"):
            end = begin if begin in _QUOTES else "*/"
            yield end in _QUOTES, bare
            end = "" if end in bare.lstrip("rR")[len(end) :] else end
        elif not bare or bare.startswith(("#", "//", "--")) or bare.strip(";'\"") == "use strict":
            yield False, bare
        else:
            return
