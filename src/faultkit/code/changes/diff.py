"""Edits on bytes, and unified diffs: makes those that `git apply` accepts, and applies them. Pure.

A line ends with `\\n` only: a carriage return before it, a form feed or a Unicode break belongs to the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from faultkit.code.changes.change import Edit
from faultkit.code.languages.syntax import Span

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


def edits_between(old: str, new: str) -> tuple[Edit, ...]:
    """Return edits of whole lines that turn the old text into the new one."""
    before, after = lines_of(old), lines_of(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line.encode("utf-8", "surrogatepass")))
    return tuple(
        Edit(Span(starts[first], starts[last]), "".join(after[new_first:new_last]))
        for kind, first, last, new_first, new_last in _Matcher(before, after).get_opcodes()
        if kind != "equal"
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
        middle = before[head : len(before) - tail], after[head : len(after) - tail]
        super().__init__(None, *middle, autojunk=False)

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


# Applying a diff. This shares no code with the half that makes diffs, so that each is a check of the other.


_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PATCH_NO_NEWLINE = "\\ No newline"


def applied(old: str, diff: str) -> str:
    """Return the new text. Raises ValueError if the diff does not fit the old one exactly."""
    before: list[str] = _LINE.findall(old)
    lines: list[str] = _LINE.findall(diff)
    if [line[:4] for line in lines[:2]] != ["--- ", "+++ "]:
        raise ValueError("diff: expected two lines with the names of the files")
    after: list[str] = []
    at, taken = 2, 0
    while at < len(lines):
        head = _HEAD.match(lines[at])
        if head is None:
            raise ValueError(f"diff: expected a hunk on line {at + 1}, got {lines[at][:40]!r}")
        removed, added, at = _patch_hunk(lines, at + 1)
        # An empty range names the line before it.
        start = int(head[1]) - bool(removed)
        after += before[taken:start]
        is_there = start >= taken and before[start : start + len(removed)] == removed
        counts = int(head[2] or 1), int(head[4] or 1)
        if not is_there or len(after) != int(head[3]) - bool(added) or counts != (len(removed), len(added)):
            raise ValueError(f"diff: expected a hunk that fits the text, got {head[0]}")
        after += added
        taken = start + len(removed)
    return "".join([*after, *before[taken:]])


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
