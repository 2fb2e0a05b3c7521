"""Changes that answer findings: text edits, unified diffs, and the codemods that produce them. Pure."""

from __future__ import annotations

from faultkit.code.changes.change import (
    Change,
    Codemod,
    Edit,
    Source,
    apply_edits,
    edits_between,
    unified_diff,
)
from faultkit.code.changes.go import GO
from faultkit.code.changes.javascript import JAVASCRIPT

__all__ = [
    "Change",
    "Codemod",
    "Edit",
    "Source",
    "apply_edits",
    "codemods_for",
    "edits_between",
    "unified_diff",
]

_BY_LANGUAGE: dict[str, tuple[Codemod, ...]] = {
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "tsx": JAVASCRIPT,
    "go": GO,
}


def codemods_for(language: str) -> tuple[Codemod, ...]:
    """Return the codemods for a language by its name; empty if there are none."""
    if language == "python":
        # Imported on first use: libcst takes a few hundred milliseconds to load.
        from faultkit.code.changes.python import PYTHON

        return PYTHON
    return _BY_LANGUAGE.get(language, ())
