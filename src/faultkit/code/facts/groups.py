"""Facts by a name or another key, and the calls of several names together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from faultkit.code.facts.fact_values import Call

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return items by their keys, in the order of the items."""
    found: dict[_Key, list[_Item]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def merged(groups: dict[str, list[Call]], names: tuple[str, ...]) -> tuple[Call, ...]:
    """Return the calls of some groups, in the order of the text, in which those of each group are."""
    if len(names) == 1:
        return tuple(groups.get(names[0], ()))
    known = groups.keys() & names
    if len(known) < 2:
        return tuple(groups[known.pop()]) if known else ()
    return tuple(sorted((call for name in known for call in groups[name]), key=_order))


def _order(call: Call) -> tuple[int, int]:
    return call.span.start, -call.span.end
