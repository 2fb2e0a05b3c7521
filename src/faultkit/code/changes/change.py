"""Changes of one text that answer findings: edits, codemods and unified diffs. Pure.

A codemod is one value in the table of its language:

    SUBPROCESS_TIMEOUT = Codemod("subprocess-timeout", ("subprocess-without-timeout",), _rewrite)

It receives findings and edits those places only, so that a text without findings is never changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from functools import cached_property
from typing import Literal, TypeAlias

from faultkit.code.changes.project import NO_PROJECT, Project
from faultkit.code.changes.questions import always
from faultkit.code.facts import Call, Facts, facts_of
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Node, Span, Syntax, parse_snippet
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.call_paths import calls_in_routes


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
    """The effect in one sentence without a full stop."""
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
    project: Project = NO_PROJECT

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
        return next(
            (call for call in self.facts.within(self.facts.calls, wanted) if call.span == wanted), None
        )

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


HANDLER_TIMEOUT_S, TIMEOUT_S = 5, 30
"""Time limits of a call in a request handler, whose own caller waits, and elsewhere: longer than calls that
work take."""


def timeout_of(call: Call, facts: Facts) -> int:
    """Return the time limit for a call in seconds."""
    return HANDLER_TIMEOUT_S if any(calls_in_routes(call, facts)) else TIMEOUT_S


Asks: TypeAlias = Callable[[Source, Finding], str]
"""Returns the question that a change for a finding asks; empty if the change is safe."""
SAFE: Asks = always("")


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
    asks: Asks = SAFE
    """Returns the question that the change for a finding asks; empty if that change is safe."""


def change_of(
    findings: tuple[Finding, ...], description: str, edits: list[Edit], *, dependencies: tuple[str, ...] = ()
) -> Change | None:
    """Return the change; None if there is nothing to edit."""
    if not edits:
        return None
    rules = tuple(sorted({each.rule.id for each in findings}))
    return Change(
        rules,
        description,
        tuple(sorted({*edits}, key=lambda each: (each.span.start, each.span.end, each.text))),
        dependencies=dependencies,
    )


# Edits that keep the layout around them: lines, indentation, lists of keys. They serve languages whose trees
# cannot be written back as text. Offsets are those of `Source.facts`.


_INDENT = re.compile(rb"[ \t]*")
_COMMENT_BESIDE = re.compile(rb";?[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*(?=\r?\n|$))")


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


def indent_unit(source: Source, usual: str) -> str:
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
        joined = " ".join(line.strip() for line in lines)
        return insert(source, statement.end_byte, f"{';' if is_open else ''} {joined}")
    indent, end = indent_at(source, statement.start_byte), newline_of(source)
    place = _end_with_comment(source, statement)
    return insert(source, place, "".join(f"{end}{indent}{line}" for line in lines))


def _end_with_comment(source: Source, statement: Node) -> int:
    """Return the end of a statement, with the comment beside it."""
    found = _COMMENT_BESIDE.match(source.syntax.source, statement.end_byte)
    return statement.end_byte if found is None else found.end()


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


# Edits applied to a text, and unified diffs that `git apply` accepts.
#
# A line ends with `\n` only: a carriage return before it, a form feed or a Unicode break belongs to the line.


CONTEXT_LINES = 3
_DIFF_NO_NEWLINE = "\\ No newline at end of file\n"
_Kind: TypeAlias = Literal["replace", "delete", "insert", "equal"]
_NEEDS_QUOTES = re.compile(r'["\\\x00-\x1f\x7f]')


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits to a text. Insertions at one place keep their order. Raises ValueError if two edits
    overlap."""
    source = text.encode("utf-8", "surrogatepass")
    pieces, at = list[bytes](), 0
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end)):
        if not at <= edit.span.start <= edit.span.end <= len(source):
            raise ValueError(f"edits: expected spans that do not overlap, got {edit.span} after byte {at}")
        pieces += [source[at : edit.span.start], edit.text.encode("utf-8", "surrogatepass")]
        at = edit.span.end
    pieces.append(source[at:])
    return b"".join(pieces).decode("utf-8", "surrogatepass")


def line_differences(old: str, new: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the first and last lines, in the old and in the new text, of each part that differs; from 0, the
    last ones excluded."""
    for kind, *places in _Matcher(lines_of(old), lines_of(new)).get_opcodes():
        if kind != "equal":
            first, last, new_first, new_last = places
            yield first, last, new_first, new_last


def edits_between(old: str, new: str) -> tuple[Edit, ...]:
    """Return edits of whole lines that turn the old text into the new one."""
    before, after = lines_of(old), lines_of(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line.encode("utf-8", "surrogatepass")))
    return tuple(
        Edit(Span(starts[first], starts[last]), "".join(after[new_first:new_last]))
        for first, last, new_first, new_last in line_differences(old, new)
    )


def unified_diff(old: str, new: str, path: str = "snippet", *, context: int = CONTEXT_LINES) -> str:
    """Return the diff; empty if nothing differs. `path` is relative to where the diff is applied."""
    before, after = lines_of(old), lines_of(new)
    hunks = [
        "".join(_diff_hunk(group, before, after))
        for group in _Matcher(before, after).get_grouped_opcodes(context)
        if any(kind != "equal" for kind, *_ in group)
    ]
    if not hunks:
        return ""
    return "".join((f"--- {_named('a/', path)}\n", f"+++ {_named('b/', path)}\n", *hunks))


def lines_of(text: str) -> list[str]:
    """Return lines with their ends; only the last may have none."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


class _Matcher(SequenceMatcher[str]):
    """Compares only what lies between the first and the last difference: files are long, changes are
    short."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        fewer = min(len(before), len(after))
        head = next((at for at in range(fewer) if before[at] != after[at]), fewer)
        fewer -= head
        tail = next((at for at in range(fewer) if before[-1 - at] != after[-1 - at]), fewer)
        self._head, self._tail = head, tail
        self._middle = before[head : len(before) - tail], after[head : len(after) - tail]
        super().__init__(None, *self._middle, autojunk=False)

    def get_matching_blocks(self) -> list[Match]:
        old, new = self._middle
        if len(old) + len(new) > _MANY_LINES:
            return _blocks_between_anchors(old, new)
        return super().get_matching_blocks()

    def get_opcodes(self) -> list[tuple[_Kind, int, int, int, int]]:
        head, tail = self._head, self._tail
        moved = [
            (kind, first + head, last + head, new_first + head, new_last + head)
            for kind, first, last, new_first, new_last in super().get_opcodes()
        ]
        before: list[tuple[_Kind, int, int, int, int]] = [("equal", 0, head, 0, head)] if head else []
        _, _, end, _, new_end = (moved or before or [("equal", 0, 0, 0, 0)])[-1]
        after: list[tuple[_Kind, int, int, int, int]] = (
            [("equal", end, end + tail, new_end, new_end + tail)] if tail else []
        )
        return [*before, *moved, *after]


_MANY_LINES = 400
"""From here on, texts are compared in parts: the time for a part grows with the square of equal lines."""


def _blocks_between_anchors(before: Sequence[str], after: Sequence[str]) -> list[Match]:
    """Return the equal parts: lines that stand once in both texts, and what is equal between them."""
    blocks = list[Match]()
    at, new_at = 0, 0
    for anchor, new_anchor in [*_anchors(before, after), (len(before), len(after))]:
        between = SequenceMatcher(None, before[at:anchor], after[new_at:new_anchor], autojunk=False)
        found = [Match(a + at, b + new_at, size) for a, b, size in between.get_matching_blocks() if size]
        for each in (*found, Match(anchor, new_anchor, int(anchor < len(before)))):
            last = blocks[-1] if blocks else Match(-1, -1, 0)
            if each.size and (last.a + last.size, last.b + last.size) == each[:2]:
                blocks[-1] = Match(last.a, last.b, last.size + each.size)
            else:
                blocks.append(each)
        at, new_at = anchor + 1, new_anchor + 1
    return blocks


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of lines that stand once in both texts, as many as are in the same order in both."""
    counts, new_counts = Counter(before), Counter(after)
    places = {line: at for at, line in enumerate(after) if new_counts[line] == 1}
    ends, ends_at = list[int](), list[int]()
    chain = dict[int, tuple[int, int]]()
    for at, line in enumerate(before):
        if line not in places or counts[line] > 1:
            continue
        length = bisect_left(ends, places[line])
        chain[at] = places[line], ends_at[length - 1] if length else -1
        ends[length : length + 1], ends_at[length : length + 1] = [places[line]], [at]
    found, last = list[tuple[int, int]](), ends_at[-1] if ends_at else -1
    while last >= 0:
        place, earlier = chain[last]
        found.append((last, place))
        last = earlier
    return found[::-1]


def _diff_hunk(
    group: Sequence[tuple[str, int, int, int, int]], before: Sequence[str], after: Sequence[str]
) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for kind, start, end, new_start, new_end in group:
        if kind == "equal":
            yield from (_line(" ", line) for line in before[start:end])
        else:
            yield from (_line("-", line) for line in before[start:end])
            yield from (_line("+", line) for line in after[new_start:new_end])


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_DIFF_NO_NEWLINE}"


def _range(start: int, end: int) -> str:
    """Return the range of a hunk. Lines count from 1; an empty range names the line before it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _named(side: str, path: str) -> str:
    """Return a path as git writes it: quoted if it would break the line, with a tab after it if it holds
    a blank."""
    name = (
        f"{side}{path.replace(chr(92), '/').lstrip('/')}" if not _NEEDS_QUOTES.search(path) else side + path
    )
    if _NEEDS_QUOTES.search(name):
        escaped = _NEEDS_QUOTES.sub(lambda found: _escape(found[0]), name)
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name


def _escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\{ord(character):03o}"


# Applying a diff. This shares no code with the functions above, so that each half checks the other.


_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PATCH_NO_NEWLINE = "\\ No newline"


def apply_diff(old: str, diff: str) -> str:
    """Return the new text. Raises ValueError if the diff does not fit the old one exactly."""
    before: list[str] = _LINE.findall(old)
    lines: list[str] = _LINE.findall(diff)
    if [line[:4] for line in lines[:2]] != ["--- ", "+++ "]:
        raise ValueError("diff: expected two lines with the names of the files")
    after: list[str] = []
    at, consumed = 2, 0
    while at < len(lines):
        head = _HEAD.match(lines[at])
        if head is None:
            raise ValueError(f"diff: expected a hunk on line {at + 1}, got {lines[at][:40]!r}")
        removed, added, at = _patch_hunk(lines, at + 1)
        # An empty range names the line before it.
        start = int(head[1]) - bool(removed)
        after += before[consumed:start]
        fits = start >= consumed and before[start : start + len(removed)] == removed
        counts = int(head[2] or 1), int(head[4] or 1)
        if not fits or len(after) != int(head[3]) - bool(added) or counts != (len(removed), len(added)):
            raise ValueError(f"diff: expected a hunk that fits the text, got {head[0]}")
        after += added
        consumed = start + len(removed)
    return "".join([*after, *before[consumed:]])


def _patch_hunk(lines: list[str], at: int) -> tuple[list[str], list[str], int]:
    """Return the old lines and new lines of a hunk, and where it ends."""
    removed: list[str] = []
    added: list[str] = []
    while at < len(lines) and lines[at][0] in " -+":
        is_last = at + 1 < len(lines) and lines[at + 1].startswith(_PATCH_NO_NEWLINE)
        text = lines[at][1:].removesuffix("\n") if is_last else lines[at][1:]
        for sign, side in (("-", removed), ("+", added)):
            if lines[at][0] in (" ", sign):
                side.append(text)
        at += 1 + is_last
    return removed, added, at
