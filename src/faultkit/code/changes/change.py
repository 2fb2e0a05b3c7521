"""What a change is: edits of one text that answer findings. Values only; finding and applying is elsewhere.

A codemod is written once, lives in a small file of its own, and has one row in the table of its language:

    CODEMOD = Codemod("subprocess-timeout", ("subprocess-without-timeout",), "…", _rewrite)

It is given findings and edits those places only, so a text without findings is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from faultkit.code.facts import Call, Facts, facts_of
from faultkit.code.languages import Language
from faultkit.code.rules.rule import Finding
from faultkit.code.snippet import parse_snippet
from faultkit.code.syntax import Node, Span, Syntax


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes of the old text, and what stands there in the new one. An empty span is an insertion."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    rules: tuple[str, ...]
    """Ids of the rules whose findings it answers."""
    description: str
    """What it does, in one sentence without a full stop."""
    edits: tuple[Edit, ...]
    imports: tuple[str, ...] = ()
    """Statements that the new text needs and that could not be written into it: a method that was given
    without its file has no place for them."""
    dependencies: tuple[str, ...] = ()
    """Packages that the new code needs, by the name on their index."""


@dataclass(frozen=True)
class Source:
    """A text, and what is known of it. Spans of facts and nodes count from `shift` bytes further on."""

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
        """The call that a finding points at."""
        wanted = Span(finding.span.start + self.shift, finding.span.end + self.shift)
        return next((call for call in self.facts.calls if call.span == wanted), None)

    def node_at(self, span: Span) -> Node | None:
        """The outermost node that has exactly this span of the facts."""
        node = self.syntax.root.descendant_for_byte_range(span.start, span.end)
        while node is not None and node.parent is not None:
            outer = node.parent
            if (outer.start_byte, outer.end_byte) != (span.start, span.end):
                break
            node = outer
        return node

    def edit(self, start: int, end: int, text: str) -> Edit:
        """In the place of these bytes of the facts."""
        return Edit(Span(start - self.shift, end - self.shift), text)


@dataclass(frozen=True, slots=True)
class Codemod:
    name: str
    slugs: tuple[str, ...]
    """Of the rules whose findings it is given."""
    rewrite: Callable[[Source, tuple[Finding, ...]], Change | None]
    """Pure. None if it can do nothing about any of them."""
    stage: int = 0
    """Those of a later stage come after all of an earlier one, however grave what they answer: they move
    calls to where other codemods do not see them."""


def change_of(
    findings: tuple[Finding, ...], description: str, edits: list[Edit], *, dependencies: tuple[str, ...] = ()
) -> Change | None:
    """None if there is nothing to edit."""
    if not edits:
        return None
    rules = tuple(sorted({each.rule.id for each in findings}))
    return Change(rules, description, tuple(sorted({*edits}, key=_order)), dependencies=dependencies)


def _order(edit: Edit) -> tuple[int, int, str]:
    return edit.span.start, edit.span.end, edit.text
