"""What a change is: edits of one text that answer findings. Values only.

A codemod is one value in the table of its language:

    SUBPROCESS_TIMEOUT = Codemod("subprocess-timeout", ("subprocess-without-timeout",), "…", _rewrite)

It receives findings and edits those places only, so that a text without findings is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from faultkit.code.facts import Call, Facts, facts_of
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Node, Span, Syntax
from faultkit.code.rules.rule import Finding
from faultkit.code.snippets import parse_snippet


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of bytes of the old text. An empty span is an insertion."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """Edits of one text, and what they answer."""

    rules: tuple[str, ...]
    """Ids of the rules whose findings it answers."""
    description: str
    """What it does, in one sentence without a full stop."""
    edits: tuple[Edit, ...]
    imports: tuple[str, ...] = ()
    """Import statements that the new text needs and that have no place in it, because it is a part of a
    file."""
    dependencies: tuple[str, ...] = ()
    """Packages that the new code needs, by their name on the index."""


@dataclass(frozen=True)
class Source:
    """A text and its facts. Spans of facts and nodes are `shift` bytes larger than those of the text."""

    text: str
    language: Language

    @cached_property
    def _snippet(self) -> tuple[Syntax, int]:
        found = parse_snippet(self.text, self.language)
        return found.syntax, found.start

    @property
    def syntax(self) -> Syntax:
        return self._snippet[0]

    @property
    def shift(self) -> int:
        return self._snippet[1]

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.syntax)

    def call_at(self, finding: Finding) -> Call | None:
        """Return the call that a finding points at."""
        wanted = Span(finding.span.start + self.shift, finding.span.end + self.shift)
        return next((call for call in self.facts.calls if call.span == wanted), None)

    def node_at(self, span: Span) -> Node | None:
        """Return the outermost node that has exactly this span of the facts."""
        node = self.syntax.root.descendant_for_byte_range(span.start, span.end)
        while node is not None and node.parent is not None:
            outer = node.parent
            if (outer.start_byte, outer.end_byte) != (span.start, span.end):
                break
            node = outer
        return node

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Return an edit that replaces these bytes of the facts."""
        return Edit(Span(start - self.shift, end - self.shift), text)


@dataclass(frozen=True, slots=True)
class Codemod:
    """A rewrite for the findings of some rules."""

    name: str
    slugs: tuple[str, ...]
    """Slugs of the rules whose findings it receives."""
    rewrite: Callable[[Source, tuple[Finding, ...]], Change | None]
    """Pure. Returns None if it can answer none of the findings."""
    stage: int = 0
    """Codemods of a later stage run after all of an earlier one, whatever the severity: they move calls
    to where other codemods do not find them."""


def change_of(
    findings: tuple[Finding, ...], description: str, edits: list[Edit], *, dependencies: tuple[str, ...] = ()
) -> Change | None:
    """Return the change; None if there is nothing to edit."""
    if not edits:
        return None
    rules = tuple(sorted({each.rule.id for each in findings}))
    return Change(rules, description, tuple(sorted({*edits}, key=_order)), dependencies=dependencies)


def _order(edit: Edit) -> tuple[int, int, str]:
    return edit.span.start, edit.span.end, edit.text


# Where text edits go so that the layout around them stays: lines, indentation, lists of keys.
#
# For languages without a tree that can be written back. Offsets are those of `Source.facts`.


_INDENT = re.compile(rb"[ \t]*")


def indent_at(source: Source, offset: int) -> str:
    """Return the white space at the start of the line of this byte."""
    text = source.syntax.source
    start = max(text.rfind(b"\n", 0, offset) + 1, source.shift)
    found = _INDENT.match(text, start)
    assert found is not None
    return found[0].decode()


def newline_of(source: Source) -> str:
    """Return the line end that the text uses."""
    return "\r\n" if "\r\n" in source.text else "\n"


def unit_of(source: Source, usual: str) -> str:
    """Return one level of indentation, as the text has it."""
    for line in source.text.split("\n"):
        found = re.match(r"(\t| {2,8})(?=\S)(?!\*)", line)
        if found:
            return found[1]
    return usual


def insert(source: Source, offset: int, text: str) -> Edit:
    """Return an edit that inserts a text at an offset."""
    return source.edit(offset, offset, text)


def add_key(source: Source, braces: Node, entry: str) -> Edit:
    """Insert the first entry of a literal in braces, on a line of its own if the others are."""
    inner = [each for each in braces.named_children if not each.is_extra]
    if not inner:
        pad = "" if source.language.name == "go" else " "
        return source.edit(braces.start_byte, braces.end_byte, f"{{{pad}{entry}{pad}}}")
    first = inner[0]
    if first.start_point.row == braces.start_point.row:
        return insert(source, first.start_byte, f"{entry}, ")
    return insert(
        source, first.start_byte, f"{entry},{newline_of(source)}{indent_at(source, first.start_byte)}"
    )


def after_statement(source: Source, statement: Node, lines: Iterable[str]) -> Edit:
    """Insert lines below a statement, with its indentation."""
    if _shares_line(source, statement):
        text = source.syntax.source[statement.start_byte : statement.end_byte]
        is_open = source.language.name == "go" or not text.endswith(b";")
        said = " ".join(line.strip() for line in lines)
        return insert(source, statement.end_byte, f"{';' if is_open else ''} {said}")
    indent, end = indent_at(source, statement.start_byte), newline_of(source)
    return insert(source, statement.end_byte, "".join(f"{end}{indent}{line}" for line in lines))


def _shares_line(source: Source, statement: Node) -> bool:
    """Return whether code stands before and after it: `func f() { x := g(); return x }`."""
    text = source.syntax.source
    before = text[text.rfind(b"\n", 0, statement.start_byte) + 1 : statement.start_byte]
    end = text.find(b"\n", statement.end_byte)
    after = text[statement.end_byte : len(text) if end < 0 else end].lstrip(b"; \t\r")
    return bool(before.strip()) and bool(after) and not after.startswith(b"//")


def before_statement(source: Source, statement: Node, lines: Iterable[str]) -> Edit:
    """Return an edit that inserts lines above a statement, with its indentation."""
    indent, end = indent_at(source, statement.start_byte), newline_of(source)
    return insert(source, statement.start_byte, "".join(f"{line}{end}{indent}" for line in lines))


def statement_of(node: Node | None, blocks: Iterable[str]) -> Node | None:
    """Return the statement around a node that stands directly in one of these blocks."""
    wanted = {*blocks}
    while node is not None and node.parent is not None:
        if node.parent.type in wanted:
            return node
        node = node.parent
    return None
