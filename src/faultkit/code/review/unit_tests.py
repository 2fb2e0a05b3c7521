"""Code for tests that stands in the same file as the code they test.

    unit tests      of Rust: `#[cfg(test)] mod tests { … }`, and what only builds for tests or debugging have
    test doubles    classes that are named so: `QueueForTests`, `MockClock`, `FakeStore`
    debug builds    of C#: `#if DEBUG … #endif`

Tests in files of their own are found by their paths; see `context`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.languages.syntax import Node, Span, Syntax

_MARKS = lazy_regex(
    rb"#\[\s*(?:cfg\s*\(\s*(?:test|(?:all|any)\s*\(\s*test\b|debug_assertions\b"
    rb'|feature\s*=\s*"[\w-]*(?:test|mock|dev)[\w-]*")|(?:\w+::)*(?:test|rstest|bench)\b)'
)
_DOUBLE_WORDS = (b"ForTest", b" Mock", b" Fake")
"""One of them is in each text that `_DOUBLES` matches; they are found faster."""
_DOUBLES = lazy_regex(
    rb"^[^\n/#*'\"]*?\b(?:class|struct|object|impl(?:<[^>\n]*>)?(?: [^\n{]+? for)?)"
    rb" (?:\w+ForTest(?:s|ing)?|(?:Mock|Mocked|Fake)[A-Z]\w*)\b",
    re.MULTILINE,
)
_TYPES = frozenset(
    {
        "class_definition", "class_declaration", "class_specifier", "struct_item", "struct_declaration",
        "impl_item", "object_declaration", "record_declaration",
    }
)  # fmt: skip
_DEBUG = lazy_regex(rb"^[ \t]*#if[ \t]+DEBUG\b.*?^[ \t]*#(?:else|elif|endif)\b", re.MULTILINE | re.DOTALL)


class UnitTests:
    """The code for tests in a text."""

    def __init__(self, syntax: Syntax) -> None:
        self._spans = _outermost(_spans(syntax))
        self._starts = [each.start for each in self._spans]

    def hold(self, place: Span) -> bool:
        """Return whether a place stands in code for tests."""
        before = bisect_right(self._starts, place.start) - 1
        return before >= 0 and place.end <= self._spans[before].end


def _outermost(spans: Iterator[Span]) -> list[Span]:
    """Return spans in the order of the text; what stands inside another one is left out."""
    found: list[Span] = []
    for each in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not found or each.start >= found[-1].end:
            found.append(each)
    return found


def _spans(syntax: Syntax) -> Iterator[Span]:
    source, language = syntax.source, syntax.language.name
    if language == "rust":
        yield from _marked(syntax)
    if language != "go" and any(word in source for word in _DOUBLE_WORDS):
        yield from _doubles(syntax)
    if language == "csharp" and b"#if DEBUG" in source:
        yield from (Span(found.start(), found.end()) for found in _DEBUG.finditer(source))


def _marked(syntax: Syntax) -> Iterator[Span]:
    for mark in _MARKS.finditer(syntax.source):
        node = _around(syntax, mark.start(), frozenset({"attribute_item"}))
        item = None if node is None else node.next_named_sibling
        while item is not None and (item.type == "attribute_item" or item.is_extra):
            item = item.next_named_sibling
        if item is not None:
            yield Span(item.start_byte, item.end_byte)


def _doubles(syntax: Syntax) -> Iterator[Span]:
    for found in _DOUBLES.finditer(syntax.source):
        node = _around(syntax, found.end() - 1, _TYPES)
        if node is not None:
            yield Span(node.start_byte, node.end_byte)


def _around(syntax: Syntax, offset: int, types: frozenset[str]) -> Node | None:
    """Return the innermost node of some types around a place."""
    node: Node | None = syntax.root.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.type not in types:
        node = node.parent
    return node
