"""TOML text as plain data, with the line of each path. Pure.

`tomllib` gives no lines. They are found by parsing beginnings of the text, which happens only for the message
about a mistake.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.checks import join_path
from faultkit.base.errors import InputError

_LINE = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)$")


def read_toml_document(text: str, source: str) -> dict[str, Any]:
    """Return the data of TOML text. Raises InputError with the file and the line of a mistake."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        found = _LINE.search(said)
        line = found[1] if found is not None and found[1] else len(text.splitlines())
        place = f"{source}: line {line}"
        said = _LINE.sub("", said).strip()
        raise InputError(place, f"expected TOML, got something else: {said[:1].lower()}{said[1:]}") from None
    except RecursionError:
        raise InputError(source, "expected TOML, got values that are nested too deeply") from None


def toml_line_of(text: str, path: str) -> int | None:
    """Return the line on which the value of a path, such as `a.b[2]`, is given; None if there is none.

    Of a list that has a line for each element, the line of the element."""
    lines = text.splitlines()
    before = 0
    for end in range(1, len(lines) + 1):
        begun = _parsed("\n".join(lines[:end]))
        if begun is None:
            continue
        if _holds(begun, path):
            return _element_line(lines, before, end, path)
        before = end
    return None


def _element_line(lines: list[str], before: int, end: int, path: str) -> int:
    """Return the first line, of those of a statement, after which the path has a value."""
    for line in range(before + 1, end):
        begun = _parsed("\n".join(lines[:line]) + "\n]")
        if begun is not None and _holds(begun, path):
            return line
    return end if re.search(r"\[\d+\]$", path) else before + 1


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _holds(value: object, path: str) -> bool:
    if not path:
        return True
    if isinstance(value, Mapping):
        for key, child in value.items():
            name = join_path("", key)
            if path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "["):
                return _holds(child, path[len(name) :].removeprefix("."))
    if isinstance(value, list) and (index := re.match(r"\[(\d+)\]\.?", path)):
        return int(index[1]) < len(value) and _holds(value[int(index[1])], path[index.end() :])
    return False
