"""A way round a flaw of the Python grammar.

Inside brackets it loses its way where a line ends with a dot and the next is indented less. The same text
with the dot at the start of the next line is as long, means the same, and is read.
"""

from __future__ import annotations

import tokenize


def with_leading_dots(source: bytes) -> bytes:
    """The text with such dots moved; unchanged if there are none, or if Python could not read it either."""
    lines = source.splitlines(keepends=True)
    moved = bytearray(source)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    dot: tuple[int, int] | None = None
    try:
        for token in tokenize.tokenize(iter(lines).__next__):
            row, column = token.start
            if token.type in (tokenize.NL, tokenize.COMMENT) or row == 0:
                continue
            # Columns count characters, and only the text before them says where that is in bytes.
            at = starts[row - 1] + len(token.line[:column].encode())
            if dot is not None and row > dot[0] and column > 0:
                moved[dot[1]], moved[at - 1] = ord(" "), ord(".")
            dot = (row, at) if token.string == "." else None
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        return source
    return bytes(moved)
