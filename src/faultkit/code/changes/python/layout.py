"""Line lengths of Python: new lines that are too long are broken as Black and Ruff would break them. Pure.

Only lines that a change made are broken, and only where the last brackets of the line hold something.
"""

from __future__ import annotations

import tokenize
from collections.abc import Iterator

_OPENING, _CLOSING = "([{", ")]}"


def wrapped(text: str, longest: int | None) -> str:
    """Return whole lines with those that are longer than `longest` broken; None breaks nothing."""
    if longest is None:
        return text
    lines = [
        each
        for line in text.split("\n")
        for each in ([line] if len(line.rstrip("\r")) <= longest else _broken(line, longest))
    ]
    return "\n".join(lines)


def _broken(line: str, longest: int) -> list[str]:
    end = "\r" if line.endswith("\r") else ""
    bare = line.removesuffix("\r")
    found = _last_brackets(bare)
    if found is None:
        return [line]
    opening, closing, commas = found
    indent = bare[: len(bare) - len(bare.lstrip())]
    inner = f"{indent}    "
    body = bare[opening + 1 : closing].strip()
    head, tail = bare[: opening + 1], f"{indent}{bare[closing:]}"
    if len(head) > longest:
        return [line]
    if len(inner) + len(body) <= longest:
        middle = [f"{inner}{body}"]
    else:
        parts = list(_split(bare, opening + 1, closing, commas))
        comma = "," if len(parts) > 1 or parts[0].endswith(",") else ""
        middle = [f"{inner}{part}{',' if at < len(parts) - 1 else comma}" for at, part in enumerate(parts)]
    return [f"{each}{end}" for each in (head, *middle, tail)]


def _split(line: str, start: int, end: int, commas: list[int]) -> Iterator[str]:
    for stop in (*commas, end):
        part = line[start:stop].strip()
        if part:
            yield part
        start = stop + 1


def _last_brackets(line: str) -> tuple[int, int, list[int]] | None:
    """Return the places of the last pair of brackets that holds something, and of the commas in it; None if a
    bracket of the line belongs to another line."""
    stack: list[tuple[int, list[int]]] = []
    pairs: list[tuple[int, int, list[int]]] = []
    try:
        text = iter([f"{line.strip()}\n"])
        for token in tokenize.generate_tokens(lambda: next(text, "")):
            at = token.start[1] + len(line) - len(line.lstrip())
            if token.type != tokenize.OP:
                if token.type == tokenize.NAME and token.string in ("for", "lambda") and stack:
                    stack[-1][1].append(-1)
                continue
            if token.string in _OPENING:
                stack.append((at, []))
            elif token.string in _CLOSING:
                if not stack:
                    return None
                opening, commas = stack.pop()
                if not stack and line[opening + 1 : at].strip():
                    pairs.append((opening, at, commas))
            elif token.string == "," and stack:
                stack[-1][1].append(at)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    if stack or not pairs:
        return None
    opening, closing, commas = pairs[-1]
    # A comprehension or a lambda has commas that separate no arguments: it stays on one line.
    return opening, closing, [] if -1 in commas else commas
