"""Facts by a name or another key, and those of several names together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from faultkit.code.facts.nesting import P, Placed

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return items by their keys, in the order of the items."""
    found: dict[_Key, list[_Item]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def merged(groups: dict[str, list[P]], names: tuple[str, ...]) -> tuple[P, ...]:
    """Return the facts of some groups, in the order of the text, in which those of each group are."""
    if len(names) == 1:
        return tuple(groups.get(names[0], ()))
    known = groups.keys() & names
    if len(known) < 2:
        return tuple(groups[known.pop()]) if known else ()
    return tuple(sorted((each for name in known for each in groups[name]), key=order_of))


def order_of(item: Placed) -> tuple[int, int]:
    """Return what facts are sorted by: outer ones before those inside them."""
    return item.span.start, -item.span.end
