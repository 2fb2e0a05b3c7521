"""Markdown: escaping of text from outside, code, and tables. It knows no report.

Which characters a report escapes is part of its format, because scripts read some of these reports; therefore
`escape` takes them as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from faultkit.base.text import printable_line

_ACTIVE = re.compile(r"[\\`*\[|]|<(?=[A-Za-z/!?])|(?<![^\W_])_|_(?![^\W_])")
_BLOCK_START = re.compile(r"^(?=[#>]|[-+] )")
_UNSAFE_IN_URL = re.compile(r"[|`<>\\\s()*!]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: str, characters: str = "\\`*_[]|#~!", entities: str = "&<>") -> str:
    """Return the text on one line, as text that neither Markdown nor HTML interprets.

    The `characters` get a backslash, the `entities` become HTML entities.
    """
    replaced = {ord(sign): f"\\{sign}" for sign in characters}
    replaced |= {ord(sign): _ENTITIES[sign] for sign in entities}
    return printable_line(text).translate(replaced)


def escape_lightly(text: str) -> str:
    """Return the text on one line, with a backslash only where Markdown would act: `a_b` and `1 < 2` stay."""
    return _ACTIVE.sub(r"\\\g<0>", printable_line(text))


def escape_line_start(line: str) -> str:
    """Return escaped text that does not begin a heading, a quotation or a list."""
    return _BLOCK_START.sub(r"\\", line)


def escape_url(url: str) -> str:
    """Return a URL whose unsafe characters are percent-encoded, so that it still works when it is copied."""
    printable = "".join(c if c.isprintable() or c.isspace() else "" for c in url)
    return _UNSAFE_IN_URL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), printable)


def code_span(text: str) -> str:
    """Return a code span, for use outside of tables; nothing for empty text.

    The fence is longer than any run of backticks in the text, as CommonMark 6.1 asks.
    """
    line = printable_line(text)
    if not line:
        return ""
    fence = "`" * (1 + _longest_run_of_backticks(line))
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def code_cell(text: str) -> str:
    """Return a code span for a table cell. A backtick cannot be escaped there, so it becomes an
    apostrophe."""
    return "`" + text.replace("`", "'").replace("|", "\\|").replace("\n", " ") + "`"


def code_block(text: str, language: str = "") -> list[str]:
    """Return the lines of a fenced block; its fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + _longest_run_of_backticks(text))
    return [f"{fence}{language}", *text.split("\n"), fence]


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def table_row(cells: Iterable[str]) -> str:
    """Return one row of a table. The cells are escaped already."""
    return f"| {' | '.join(cells)} |"


def table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()
) -> list[str]:
    """Return the lines of a table. The cells are escaped already; columns in `numeric` are aligned right."""
    right = set(numeric)
    rule = "".join("---:|" if index in right else "---|" for index in range(len(heads)))
    return [table_row(heads), f"|{rule}", *map(table_row, rows)]


def bullets(lines: Iterable[str]) -> list[str]:
    """Return the lines of a list. The lines are escaped already."""
    return [f"- {line}" for line in lines]
