"""Changes that answer findings: edits of a text, diffs that apply, and codemods that make them. Pure."""

from faultkit.source.changes.change import Change, Codemod, Edit, Source
from faultkit.source.changes.diff import apply_edits, edits_between, unified_diff
from faultkit.source.changes.table import codemods_for

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
