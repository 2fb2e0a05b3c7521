"""A matcher: a judge of one value, and a check of its own argument before anything runs. Pure.

Also the comparison of values, and differences in a few lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any, TypeAlias

from faultkit.base.documents.checks import join_path, shown
from faultkit.base.errors import InputError
from faultkit.base.text import shortened

Judge: TypeAlias = Callable[[Any, Any], str | None]
"""Takes the wanted and the actual value; returns what is wrong, or None."""
Check: TypeAlias = Callable[[Any], None]
"""Raises InputError, with a path below the matcher's argument, if the argument is invalid."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A row of the matcher table."""

    name: str
    summary: str
    judge: Judge
    check: Check
    schema: dict[str, Any] = field(default_factory=dict)
    """JSON Schema of the matcher's argument."""


def check_text(wanted: Any) -> None:
    """Check for a text that is not empty."""
    if not isinstance(wanted, str) or not wanted:
        raise InputError("", f"expected a text, got {shown(wanted)}")


def check_texts(wanted: Any) -> None:
    """Check for a list of texts."""
    if not isinstance(wanted, list) or not wanted:
        got = "an empty list" if wanted == [] else shown(wanted)
        raise InputError("", f"expected a list of texts, got {got}")
    for index, each in enumerate(wanted):
        try:
            check_text(each)
        except InputError as error:
            raise error.within(f"[{index}]") from None


def check_nothing(wanted: Any) -> None:
    """Accept any JSON value."""


def check_boolean(wanted: Any) -> None:
    """Check for true or false."""
    if not isinstance(wanted, bool):
        raise InputError("", f"expected true or false, got {shown(wanted)}")


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
TEXTS: dict[str, Any] = {"type": "array", "minItems": 1, "items": TEXT}


_MOST_LINES = 12
_LONGEST_LINE = 120
_CONTEXT = 30
_ABSENT = object()


def quoted(value: Any) -> str:
    """Return a value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return shortened(text, _LONGEST_LINE)


def same(wanted: Any, got: Any) -> bool:
    """Return whether two values are equal in JSON, where true is not 1 and 1 is 1.0."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return wanted.keys() == got.keys() and all(same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    return bool(wanted == got)


def difference(wanted: Any, got: Any) -> str:
    """Return the lines in which two values differ, `- ` before the wanted and `+ ` before the actual one."""
    if isinstance(wanted, str) and isinstance(got, str):
        return _text_difference(wanted, got)
    lines = list(_value_difference(wanted, got, ""))
    more = len(lines) - _MOST_LINES
    return "\n".join(lines[:_MOST_LINES] + ([f"… and {more} more"] if more > 0 else []))


def _text_difference(wanted: str, got: str) -> str:
    if "\n" in wanted or "\n" in got:
        diff = unified_diff(wanted.splitlines(), got.splitlines(), "wanted", "got", n=1, lineterm="")
        # The two header lines with the names of the sides are not needed here.
        lines = [shortened(line, _LONGEST_LINE) for line in list(diff)[2:]] or [
            "they differ in how their lines end only"
        ]
        return "\n".join(lines[:_MOST_LINES] + (["…"] if len(lines) > _MOST_LINES else []))
    place = next((i for i, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), None)
    place = min(len(wanted), len(got)) if place is None else place
    return f"- {_around(wanted, place)}\n+ {_around(got, place)}\n  they differ from character {place + 1} on"


def _around(text: str, place: int) -> str:
    begin, end = max(0, place - _CONTEXT), place + _CONTEXT
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return json.dumps(f"{before}{text[begin:end]}{after}", ensure_ascii=False)


def _value_difference(wanted: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        for key in [*wanted, *(key for key in got if key not in wanted)]:
            yield from _value_difference(
                wanted.get(key, _ABSENT), got.get(key, _ABSENT), join_path(path, key)
            )
    elif isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        for index in range(max(len(wanted), len(got))):
            expected, actual = (each[index] if index < len(each) else _ABSENT for each in (wanted, got))
            yield from _value_difference(expected, actual, f"{path}[{index}]")
    elif wanted is _ABSENT or got is _ABSENT or not same(wanted, got):
        where = f"{path}: " if path else ""
        if wanted is not _ABSENT:
            yield f"- {where}{quoted(wanted)}"
        if got is not _ABSENT:
            yield f"+ {where}{quoted(got)}"
