"""Unified diffs, applied to a text as strictly as `git apply` does. Pure.

It is written apart from what makes our diffs, so that one can be held against the other.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline"


def applied(old: str, diff: str) -> str:
    """The new text. Raises ValueError if the diff does not fit the old one to the letter."""
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
        removed, added, at = _hunk(lines, at + 1)
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


def _hunk(lines: list[str], at: int) -> tuple[list[str], list[str], int]:
    """Its old lines, its new ones, and where it ends."""
    removed: list[str] = []
    added: list[str] = []
    while at < len(lines) and lines[at][0] in " -+":
        is_last = at + 1 < len(lines) and lines[at + 1].startswith(_NO_NEWLINE)
        text = lines[at][1:].removesuffix("\n") if is_last else lines[at][1:]
        for sign, side in (("-", removed), ("+", added)):
            if lines[at][0] in (" ", sign):
                side.append(text)
        at += 1 + is_last
    return removed, added, at
