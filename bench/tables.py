"""Tables as text: aligned for a terminal, or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Row: TypeAlias = Sequence[str]
Table: TypeAlias = tuple[Row, Sequence[Row]]


def aligned_table(head: Row, rows: Sequence[Row]) -> str:
    """Return the lines of a table: the first column aligned left, figures right."""
    everything = [head, *rows]
    widths = [max(len(row[column]) for row in everything) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in everything
    ]
    return "\n".join([lines[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *lines[1:]])


def markdown(head: Row, rows: Sequence[Row]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def figure(value: float | None) -> str:
    """Return a figure with three significant digits: 12,345 · 234 · 12.3 · 1.23 · 0.123."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"
