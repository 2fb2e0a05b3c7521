"""JSON paths of expectations: `$.items[*].name`, `$..id`, `$.rows[-1]["a b"]`, `$.rows[0:2]`. Pure.

What a path finds, and in which order, is what `jsonpath2` finds, the library of Chaos Toolkit. Filters and
functions (`[?(…)]`, `.length()`) are left to that library, which the extra `toolkit` brings: few files use
them, and they mean something else there than in RFC 9535.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

Selector = Callable[[Any], Iterable[Any]]
"""Returns the values below a value that one part of a path selects."""

_NAME = re.compile(r"[_A-Za-z]\w*", re.ASCII)
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_QUOTED = re.compile(rf"{_TEXT.pattern}|'[^']*'")
_NUMBER = r"-?(?:0|[1-9]\d*)"
_SLICE = re.compile(rf"({_NUMBER})?:({_NUMBER})?(?::({_NUMBER})?)?", re.ASCII)
_INDEX = re.compile(_NUMBER, re.ASCII)
_NEEDS_LIBRARY = re.compile(r"\?|\(")
_SPACE = re.compile(r"[ \t\n\r]*")


def find(path: str, value: Any) -> list[Any]:
    """Return the values at a JSON path. Raises ValueError for a bad path.

    Raises ImportError for a path with a filter or a function if the extra `toolkit` is not installed."""
    if _NEEDS_LIBRARY.search(_QUOTED.sub("", path)):
        return [match.current_value for match in _library_path(path).match(value)]
    try:
        return list(_found(_parse(path), value))
    except RecursionError:
        raise ValueError(f"expected a value with fewer levels for {path!r}") from None


def _library_path(path: str) -> Any:
    from jsonpath2 import parser
    from jsonpath2.path import Path

    # ANTLR prints each error of syntax to stderr, in its own words; jsonpath2 raises it as well.
    listeners = parser.antlr4.error.ErrorListener
    listeners.ConsoleErrorListener.INSTANCE = listeners.ErrorListener()
    return Path.parse_str(path)


def _found(parts: tuple[tuple[bool, Selector], ...], value: Any) -> Iterator[Any]:
    if not parts:
        yield value
        return
    is_deep, selector = parts[0]
    for each in selector(value):
        yield from _found(parts[1:], each)
    if is_deep:
        for each in _children(value):
            yield from _found(parts, each)


@lru_cache(maxsize=256)
def _parse(path: str) -> tuple[tuple[bool, Selector], ...]:
    """Return the parts of a path: whether each is asked for at any depth, and what it selects."""
    at = _skip(path, 0)
    if not path.startswith("$", at):
        raise ValueError(f"expected a path that begins with $, got {path!r}")
    at = _skip(path, at + 1)
    parts: list[tuple[bool, Selector]] = []
    while at < len(path):
        is_deep = path.startswith("..", at)
        dots = 2 if is_deep else int(path[at] == ".")
        at = _skip(path, at + dots)
        selector: Selector
        if dots and path.startswith("*", at):
            selector, at = _children, at + 1
        elif dots and (name := _NAME.match(path, at)):
            selector, at = _member(name[0]), name.end()
        elif dots != 1 and path.startswith("[", at):
            selector, at = _bracket(path, at)
        else:
            raise ValueError(f"expected a name, * or [ at character {at + 1} of {path!r}")
        parts.append((is_deep, selector))
        at = _skip(path, at)
    return tuple(parts)


def _skip(path: str, at: int) -> int:
    """Return the place of the next character that is no space."""
    found = _SPACE.match(path, at)
    return at if found is None else found.end()


def _bracket(path: str, at: int) -> tuple[Selector, int]:
    """Parse `[…]` from its bracket on; return what it selects and the place after it."""
    chosen: list[Selector] = []
    selector: Selector
    while True:
        at = _skip(path, at + 1)
        if path.startswith("*", at):
            selector, end = _children, at + 1
        elif (text := _TEXT.match(path, at)) is not None:
            try:
                selector, end = _member(json.loads(text[0])), text.end()
            except ValueError:
                raise ValueError(f"expected a JSON text at character {at + 1} of {path!r}") from None
        elif (cut := _SLICE.match(path, at)) is not None:
            first, after, step = (None if each is None else int(each) for each in cut.groups())
            selector, end = _slice(first, after, step), cut.end()
        elif (index := _INDEX.match(path, at)) is not None:
            selector, end = _item(int(index[0])), index.end()
        else:
            raise ValueError(f'expected *, a number or a text in " at character {at + 1} of {path!r}')
        chosen.append(selector)
        at = _skip(path, end)
        if path.startswith("]", at):
            break
        if not path.startswith(",", at):
            raise ValueError(f"expected , or ] at character {at + 1} of {path!r}")
    return (chosen[0] if len(chosen) == 1 else _union(tuple(chosen))), at + 1


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _member(name: str) -> Selector:
    return lambda value: (value[name],) if isinstance(value, Mapping) and name in value else ()


def _item(index: int) -> Selector:
    def select(value: Any) -> Iterable[Any]:
        is_there = isinstance(value, list | tuple) and -len(value) <= index < len(value)
        return (value[index],) if is_there else ()

    return select


def _slice(first: int | None, after: int | None, step: int | None) -> Selector:
    if step is not None and step < 1:
        raise ValueError(f"expected a step above 0 in a slice, got {step}")
    return lambda value: value[first:after:step] if isinstance(value, list | tuple) else ()


def _union(selectors: tuple[Selector, ...]) -> Selector:
    return lambda value: [each for selector in selectors for each in selector(value)]
