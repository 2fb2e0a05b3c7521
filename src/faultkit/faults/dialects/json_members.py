"""Members of JSON documents by path: find by pattern, set, remove. Documents are never changed in place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from faultkit.faults.dialects.llm_events import Path

_decode = json.JSONDecoder().decode
_BEGINS_OF_OBJECTS = (b'{"', b"{}", b"{\n", b"{ ")

Pattern = tuple[str, ...]
"""Keys that lead to a member; `*` is every element of a list."""


class _Removed:
    pass


REMOVED: Final = _Removed()
"""In place of a value: the member is removed."""


def pattern_of(text: str) -> Pattern:
    """Return the pattern of a text such as `choices.*.delta.content`."""
    return tuple(text.split("."))


def find_members(document: object, pattern: Pattern) -> Iterator[tuple[Path, Any, tuple[Any, ...]]]:
    """Yield path, value and parents of each member that fits; members that are null are left out."""
    yield from _find(document, pattern, (), ())


def _find(
    value: Any, pattern: Pattern, path: Path, parents: tuple[Any, ...]
) -> Iterator[tuple[Path, Any, tuple[Any, ...]]]:
    if not pattern:
        if value is not None:
            yield path, value, parents
        return
    key, rest = pattern[0], pattern[1:]
    if key == "*":
        if isinstance(value, list):
            for index, element in enumerate(value):
                yield from _find(element, rest, (*path, index), (*parents, value))
    elif isinstance(value, dict) and key in value:
        yield from _find(value[key], rest, (*path, key), (*parents, value))


def with_members(document: Any, changes: Mapping[Path, Any]) -> Any:
    """Return the document with other members; a value REMOVED takes one away."""
    # From the last to the first, so that removing an element does not move those that are still to change.
    for path in sorted(changes, key=_order, reverse=True):
        document = _with_member(document, path, changes[path])
    return document


def _order(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in path)


def _with_member(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    copy = list(document) if isinstance(document, list) else dict(document)
    if not rest and value is REMOVED:
        del copy[key]  # type: ignore[arg-type]
    elif isinstance(copy, list):
        assert isinstance(key, int)
        copy[key] = _with_member(copy[key], rest, value)
    else:
        copy[key] = _with_member(copy.get(key), rest, value) if rest else value
    return copy


def parse_json(text: bytes) -> Any:
    """Return a JSON document, or None if the text is none."""
    try:
        if text.startswith(_BEGINS_OF_OBJECTS):  # Nearly all: the search for its encoding is left out.
            return _decode(text.decode("utf-8", "surrogatepass"))
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def write_json(document: object) -> bytes:
    """Return JSON on one line; a lone surrogate, which UTF-8 cannot have, is escaped."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":")).encode()
