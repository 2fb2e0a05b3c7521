"""Unit tests that stand in the same file as the code they test, as in Rust: `#[cfg(test)] mod tests { … }`.

Tests in files of their own are found by their paths; see `context`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from faultkit.code.languages.syntax import Node, Span, Syntax

_MARKS = re.compile(rb"#\[\s*(?:cfg\s*\(\s*(?:test|all\s*\(\s*test\b)|(?:\w+::)*(?:test|rstest|bench)\b)")


class UnitTests:
    """The unit tests of a text."""

    def __init__(self, syntax: Syntax) -> None:
        self._spans = _spans(syntax) if syntax.language.name == "rust" else []
        self._starts = [each.start for each in self._spans]

    def hold(self, place: Span) -> bool:
        """Return whether a place stands in a unit test."""
        before = bisect_right(self._starts, place.start) - 1
        return before >= 0 and place.end <= self._spans[before].end


def _spans(syntax: Syntax) -> list[Span]:
    """Return the marked items, in the order of the text; what stands inside another one is left out."""
    found: list[Span] = []
    for mark in _MARKS.finditer(syntax.source):
        node: Node | None = syntax.root.descendant_for_byte_range(mark.start(), mark.start() + 1)
        while node is not None and node.type != "attribute_item":
            node = node.parent
        item = None if node is None else node.next_named_sibling
        while item is not None and (item.type == "attribute_item" or item.is_extra):
            item = item.next_named_sibling
        if item is not None and (not found or item.start_byte >= found[-1].end):
            found.append(Span(item.start_byte, item.end_byte))
    return found
