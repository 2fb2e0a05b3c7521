"""A table as lines of plain text that fit a page: aligned columns if there is room, otherwise transposed, or
one paragraph for each row.

It knows text and widths, and no report. Own code instead of a library, because none transposes and wraps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from faultkit.base.text import printable_line

_GAP = "  "
_LEAST_CELL = 8
_LONGEST_WORD = 24
"""A longer word, such as a URL, may be cut."""
_FEW_ROWS = 3
"""A table with at most this many rows may be transposed."""
_TALLEST = 4
"""The most lines that a cell may take."""
_GLUE = "\u00a0"
_UNIT = re.compile(r"(?<=\d) (?=ms\b|s\b|%)")
_NUMERIC = re.compile(r"[+\-]?[\d.,]+(\s?(ms|%|/s|\(.*%\)))?|-")


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table. Numbers are aligned right, words left; long cells wrap."""
    # A no-break space keeps a figure and its unit on one line.
    cells = [[_UNIT.sub(_GLUE, printable_line(cell)) for cell in row] for row in (columns, *rows)]
    if _fits(cells, width):
        return _align(cells, width)
    turned = [list(row) for row in zip(*cells, strict=True)]
    if len(rows) <= _FEW_ROWS and _fits(turned, width):
        return _align(turned, width)
    return [line for row in cells[1:] for line in _paragraph(columns, row, width)]


def _wrap_text(text: str, width: int, indent: str = "") -> list[str]:
    return [line.replace(_GLUE, " ") for line in wrap(text, width, subsequent_indent=indent)]


def _fits(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the rows fit without cutting a word and without a cell of too many lines."""
    if sum(_floors(rows)) + len(_GAP) * (len(rows[0]) - 1) > width:
        return False
    widths = _widths(rows, width)
    return all(len(wrap(cell, widths[i])) <= _TALLEST for row in rows for i, cell in enumerate(row))


def _floors(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of the longest word of each column."""
    return [
        min(max((len(word) for row in rows for word in row[i].split(" ")), default=0) or 1, _LONGEST_WORD)
        for i in range(len(rows[0]))
    ]


def _align(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    right = [all(_NUMERIC.fullmatch(row[i]) for row in rows[1:]) for i in range(len(rows[0]))]
    widths = _widths(rows, width)
    return [line for row in rows for line in _cells(row, widths, right)]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of the columns; where the page is too narrow, the widest column shrinks first."""
    # An empty column is one blank wide, the least width that text can be wrapped to.
    widths = [max(1, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    floors = [max(floor, _LEAST_CELL) for floor in _floors(rows)]
    room = width - len(_GAP) * (len(widths) - 1)
    for least in (floors, _floors(rows)):
        while sum(widths) > room:
            yielding = [i for i, each in enumerate(widths) if each > least[i]]
            if not yielding:
                break
            widths[max(yielding, key=widths.__getitem__)] -= 1
    return widths


def _cells(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    folded = [_wrap_text(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, folded))):
        cells = (lines[number] if number < len(lines) else "" for lines in folded)
        placed = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        yield _GAP.join(placed).rstrip()


def _paragraph(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """Return one row as wrapped text: `Call 5, Step 500, Status 200, …`."""
    text = ", ".join(f"{name} {cell}" for name, cell in zip(columns, row, strict=True) if cell)
    return _wrap_text(text, width, _GAP)
