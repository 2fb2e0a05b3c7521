"""Changes that answer findings: edits of a text, diffs that apply, and codemods that make them. Pure."""

from faultkit.code.changes.change import Change, Codemod, Edit, Source
from faultkit.code.changes.diff import apply_edits, edits_between, unified_diff
from faultkit.code.changes.table import codemods_for

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
