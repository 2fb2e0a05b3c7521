"""Pieces of code that stand alone: a method without its class, a function without its file.

Most grammars read them as they are. Where one does not, the piece is read as if it stood in a class or an
object, all on its own lines, so that line numbers stay what they are in the piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.code.languages import Language
from faultkit.code.syntax import Syntax, parse

_CLASS = ("class _ { ", "\n}")
_SURROUNDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "javascript": (_CLASS, ("_ = { ", "\n}")),
    "typescript": (_CLASS, ("_ = { ", "\n}")),
    "tsx": (_CLASS, ("_ = { ", "\n}")),
    "java": (_CLASS,),
    "csharp": (_CLASS,),
    "php": (_CLASS,),
    "kotlin": (_CLASS,),
    "swift": (_CLASS,),
    "cpp": (("class _ { ", "\n};"),),
}


@dataclass(frozen=True, slots=True)
class Snippet:
    syntax: Syntax
    start: int
    """Where the piece begins in the text of `syntax`; 0 if nothing was put around it."""


def parse_snippet(text: str, language: Language) -> Snippet:
    """The piece as it is if it can be read so, and if it cannot be read in any way."""
    if not text.strip():
        raise InputError("snippet", "expected source code, got nothing")
    as_is = parse(text.encode("utf-8", "replace"), language)
    if as_is.has_errors:
        for before, after in _SURROUNDINGS.get(language.name, ()):
            inside = parse(f"{before}{text}{after}".encode("utf-8", "replace"), language)
            if not inside.has_errors:
                return Snippet(inside, len(before))
    return Snippet(as_is, 0)
