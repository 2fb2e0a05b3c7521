"""Which codemods there are for a language. Those for Python come with libcst, when they are wanted."""

from __future__ import annotations

from faultkit.code.changes.change import Codemod
from faultkit.code.changes.go import GO
from faultkit.code.changes.javascript import JAVASCRIPT

_BY_LANGUAGE: dict[str, tuple[Codemod, ...]] = {
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "tsx": JAVASCRIPT,
    "go": GO,
}


def codemods_for(language: str) -> tuple[Codemod, ...]:
    """By the name of the language; empty if there are none."""
    if language == "python":
        from faultkit.code.changes.python.table import PYTHON

        return PYTHON
    return _BY_LANGUAGE.get(language, ())
