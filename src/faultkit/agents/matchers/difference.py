"""How two values differ, in a few lines that a person reads. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from faultkit.base.documents.shape import joined

_MOST_LINES = 12
_LONGEST = 120
_AROUND = 30
_NOTHING = object()


def quoted(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def same(wanted: Any, got: Any) -> bool:
    """As JSON has it: true is not 1, and 1 is 1.0."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return wanted.keys() == got.keys() and all(same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    return bool(wanted == got)


def difference(wanted: Any, got: Any) -> str:
    """Where they differ, `- ` before what was wanted and `+ ` before what came."""
    if isinstance(wanted, str) and isinstance(got, str):
        return _of_texts(wanted, got)
    lines = list(_of_values(wanted, got, ""))
    more = len(lines) - _MOST_LINES
    return "\n".join(lines[:_MOST_LINES] + ([f"… and {more} more"] if more > 0 else []))


def _of_texts(wanted: str, got: str) -> str:
    if "\n" in wanted or "\n" in got:
        diff = unified_diff(wanted.splitlines(), got.splitlines(), "wanted", "got", n=1, lineterm="")
        # The two lines with the names of the sides say nothing here.
        lines = [_cut(line) for line in list(diff)[2:]] or ["they differ in how their lines end only"]
        return "\n".join(lines[:_MOST_LINES] + (["…"] if len(lines) > _MOST_LINES else []))
    place = next((i for i, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), None)
    place = min(len(wanted), len(got)) if place is None else place
    return f"- {_around(wanted, place)}\n+ {_around(got, place)}\n  they differ from character {place + 1} on"


def _around(text: str, place: int) -> str:
    begin, end = max(0, place - _AROUND), place + _AROUND
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return json.dumps(f"{before}{text[begin:end]}{after}", ensure_ascii=False)


def _of_values(wanted: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        for key in [*wanted, *(key for key in got if key not in wanted)]:
            yield from _of_values(wanted.get(key, _NOTHING), got.get(key, _NOTHING), joined(path, key))
    elif isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        for index in range(max(len(wanted), len(got))):
            one, other = _at(wanted, index), _at(got, index)
            yield from _of_values(one, other, f"{path}[{index}]")
    elif wanted is _NOTHING or got is _NOTHING or not same(wanted, got):
        where = f"{path}: " if path else ""
        if wanted is not _NOTHING:
            yield f"- {where}{quoted(wanted)}"
        if got is not _NOTHING:
            yield f"+ {where}{quoted(got)}"


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else _NOTHING


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
