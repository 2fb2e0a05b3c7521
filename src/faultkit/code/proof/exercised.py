"""Which parts of a change have run, and under which faults. Pure.

A part is a run of changed lines within one function. Lines that a change only removes are looked for in the
old version. A line inside a constant (a text of several lines, a list of numbers) has run when its statement
has. Lines that no interpreter runs (comments, blank lines, closing brackets) belong to no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from faultkit.code.changes.change import line_differences
from faultkit.code.functions import list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Node, Syntax, parse, walk

Version: TypeAlias = Literal["before", "after"]

START = "start"
"""Stands for the time before the first call, beside the names of faults."""


@dataclass(frozen=True, slots=True)
class RanLines:
    """Lines of a file, as its interpreter numbers them."""

    executable: frozenset[int] = frozenset()
    ran: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A part of a change, and what of it has run."""

    version: Version
    """`before` for lines that the change removes."""
    lines: tuple[int, ...]
    function: str
    """The function that the lines belong to; empty outside of functions."""
    exercised_by: tuple[str, ...]
    """The faults under which a line of it ran, or `start` if it ran before the first call only."""
    not_run: tuple[int, ...]
    """Lines of it that never ran."""

    @property
    def place(self) -> str:
        """The lines and the function, as text."""
        of_old = " of the old version" if self.version == "before" else ""
        return f"{ranges_text(self.lines)}{of_old}{f' ({self.function})' if self.function else ''}"

    @property
    def only_at_start(self) -> bool:
        """Whether no line of it ran in a call."""
        return self.exercised_by in ((), (START,))

    def document(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "lines": ranges_text(self.lines),
            "function": self.function,
            "exercised_by": list(self.exercised_by),
            "not_run": ranges_text(self.not_run),
        }


LinesByCase: TypeAlias = Mapping[str, RanLines]
"""The lines that ran, by name of the fault, and those before the first call by `START`."""


def changed_parts(
    old: str, new: str, language: Language, ran: Mapping[Version, LinesByCase]
) -> tuple[ChangedPart, ...]:
    """Return the parts of a change."""
    removed: list[int] = []
    added: list[int] = []
    for first, last, new_first, new_last in line_differences(old, new):
        added += range(new_first + 1, new_last + 1)
        if new_first == new_last:
            removed += range(first + 1, last + 1)
    return (
        *_parts("after", added, new, language, ran["after"]),
        *_parts("before", removed, old, language, ran["before"]),
    )


def touched_lines(old: str, new: str) -> frozenset[int]:
    """Return the lines of the old text that a change replaces or removes, or after which it inserts some."""
    return frozenset(
        line
        for first, last, _, _ in line_differences(old, new)
        for line in (range(first + 1, last + 1) if first < last else (first,))
    )


def _parts(
    version: Version, changed: Sequence[int], text: str, language: Language, ran: LinesByCase
) -> Iterator[ChangedPart]:
    # If the service has not said which lines it has, none is known to have run.
    executable = frozenset().union(*(each.executable for each in ran.values())) or frozenset(changed)
    syntax = parse(text.encode(), language)
    functions = list_functions(syntax)
    stands_for = {line: _run_as(line, syntax, executable) for line in changed}
    part: dict[int, int] = {}
    name, last = "", 0
    for line in [*(each for each in changed if stands_for[each]), 0]:
        inside = [each for each in functions if each.start_line <= line <= each.end_line]
        own = max(inside, key=lambda each: each.start_line).qualified_name if inside else ""
        # Lines between two changed ones that nothing runs do not end a part.
        apart = any(each in executable for each in range(last + 1, line)) or own != name or not line
        if part and apart:
            yield _part(version, part, name, ran)
            part = {}
        part[line] = stands_for.get(line, 0)
        name, last = own, line


def _run_as(line: int, syntax: Syntax, executable: frozenset[int]) -> int:
    """Return the line that the interpreter runs for a line: itself, or an earlier one of its statement; 0 if
    there is none."""
    if line in executable:
        return line
    node: Node | None = _first_word(line, syntax)
    while node is not None and node.type not in _BLOCKS:
        above = [each for each in range(node.start_point.row + 1, line) if each in executable]
        if above:
            return above[-1]
        node = node.parent
    return 0


_BLOCKS = {"module", "block", "program", "statement_block"}


def _first_word(line: int, syntax: Syntax) -> Node | None:
    """Return the first name, number or text on a line; None if it has only comments, brackets, keywords."""
    on_line = walk(syntax.root, lambda node: node.start_point.row < line <= node.end_point.row + 1)
    words = (each for each in on_line if each.is_named and each.type != "comment")
    return next((each for each in words if not each.child_count or each.type == "string_content"), None)


def _part(version: Version, lines: Mapping[int, int], function: str, ran: LinesByCase) -> ChangedPart:
    """Return the part with these lines, each with the one that the interpreter runs for it."""
    at_start = ran[START].ran if START in ran else frozenset()
    # What ran at the start says nothing of the calls.
    by = tuple(
        name
        for name, each in ran.items()
        if name != START and any(line in each.ran - at_start for line in lines.values())
    )
    everywhere = frozenset().union(*(each.ran for each in ran.values()))
    not_run = tuple(line for line, run_as in lines.items() if run_as not in everywhere)
    if not by and len(not_run) < len(lines):
        by = (START,)
    return ChangedPart(version, tuple(lines), function, by, not_run)


def ranges_text(lines: Sequence[int]) -> str:
    """Return line numbers as text: `3-5, 9`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    return ", ".join(str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in parts)
