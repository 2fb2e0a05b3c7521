"""A table as lines of plain text that fit a page: aligned if there is room, turned or told in rows if not.

It knows text and widths, and nothing of reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from faultkit.base.numerals import flat

_GAP = "  "
_LEAST_CELL = 8
_LONGEST_WORD = 24
"""A longer one, such as a URL, may be cut."""
_FEW_ROWS = 3
"""So many may stand beside each other, if a table is turned."""
_TALLEST = 4
"""Lines that a cell may take."""
_GLUE = "\u00a0"
_UNIT = re.compile(r"(?<=\d) (?=ms\b|s\b|%)")
_NUMERIC = re.compile(r"[+\-]?[\d.,]+(\s?(ms|%|/s|\(.*%\)))?|-")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Numbers to the right, words to the left; cells too long for the page go on in the next line."""
    whole = [[_glued(cell) for cell in row] for row in (columns, *rows)]
    if _fits(whole, width):
        return _aligned(whole, width)
    turned = [list(row) for row in zip(*whole, strict=True)]
    if len(rows) <= _FEW_ROWS and _fits(turned, width):
        return _aligned(turned, width)
    return [line for row in whole[1:] for line in _told(columns, row, width)]


def _glued(cell: str) -> str:
    """A figure and its unit stay on one line."""
    return _UNIT.sub(_GLUE, flat(cell))


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return [line.replace(_GLUE, " ") for line in wrap(text, width, subsequent_indent=indent)]


def _fits(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Without a cut through a word, and without a tower of words."""
    if sum(_floors(rows)) + len(_GAP) * (len(rows[0]) - 1) > width:
        return False
    widths = _widths(rows, width)
    return all(len(wrap(cell, widths[i])) <= _TALLEST for row in rows for i, cell in enumerate(row))


def _floors(rows: Sequence[Sequence[str]]) -> list[int]:
    """For each column, the width of its longest word."""
    return [
        min(max((len(word) for row in rows for word in row[i].split(" ")), default=0) or 1, _LONGEST_WORD)
        for i in range(len(rows[0]))
    ]


def _aligned(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    right = [all(_NUMERIC.fullmatch(row[i]) for row in rows[1:]) for i in range(len(rows[0]))]
    widths = _widths(rows, width)
    return [line for row in rows for line in _cells(row, widths, right)]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """As wide as the cells are; if that is more than the page, the widest column gives way first."""
    # An empty column has the width of a blank, which is the least that text can be wrapped to.
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
    folded = [_wrapped(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, folded))):
        cells = (lines[number] if number < len(lines) else "" for lines in folded)
        placed = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        yield _GAP.join(placed).rstrip()


def _told(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """`Call 5, Step 500, Status 200, …`, going on below itself."""
    text = ", ".join(f"{name} {cell}" for name, cell in zip(columns, row, strict=True) if cell)
    return _wrapped(text, width, _GAP)
