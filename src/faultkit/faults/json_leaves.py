"""The leaves of a JSON value, and what a JSON Schema allows in their places. Pure.

It reads only the parts of a schema that are needed to replace a leaf by a value that still validates: types,
choices, bounds and lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_MOST_LEAVES = 10_000
_SHORTEST = 8
"""A marker of fewer characters would not be unique."""
_BINDING = ("enum", "const", "pattern", "format")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value that is neither an object nor a list."""

    path: Path
    schema: Mapping[str, Any]

    @property
    def bound(self) -> bool:
        """Whether the schema restricts the value."""
        longest = self.schema.get("maxLength")
        return any(key in self.schema for key in _BINDING) or (
            isinstance(longest, int) and longest < _SHORTEST
        )

    def other_text(self, text: str, marker: str) -> str:
        """Return the marker, or another text that the schema allows; the same text if there is none."""
        choices = self.schema.get("enum")
        if isinstance(choices, list):
            others = [choice for choice in choices if isinstance(choice, str) and choice != text]
            return others[0] if others else text
        if self.bound:
            return text
        shortest, longest = (_whole(self.schema.get(key)) for key in ("minLength", "maxLength"))
        return marker.ljust(shortest or 0, "-")[:longest]

    def other_number(self, value: float, wanted: int) -> float:
        """Return another number of the same JSON type within the bounds, or the same if there is none."""
        lowest, highest = _bounds(self.schema, whole=isinstance(value, int))
        if self.bound or "multipleOf" in self.schema or lowest > highest:
            return value
        other: float = wanted if isinstance(value, int) else wanted + 0.5
        if other > highest:
            other = max(lowest, highest - wanted)
        if other < lowest:
            other = min(highest, lowest + wanted)
        if other == value:
            other = next((end for end in (lowest, highest) if end != value and math.isfinite(end)), value)
        return other if isinstance(value, int) else float(other)


def leaves_of(value: Any, schema: Mapping[str, Any] | None) -> list[Leaf]:
    """Return the values that may be changed: free texts or, if there are none, all others."""
    found: list[tuple[Leaf, object]] = []
    waiting: list[tuple[Any, Path, Any]] = [(value, (), schema)]
    while waiting and len(found) < _MOST_LEAVES:
        here, path, facts = waiting.pop()
        known = facts if isinstance(facts, Mapping) else {}
        if isinstance(here, dict):
            properties = known.get("properties")
            inner = properties if isinstance(properties, Mapping) else {}
            waiting += [(each, (*path, key), inner.get(key)) for key, each in reversed(here.items())]
        elif isinstance(here, list):
            numbered = list(enumerate(here))
            waiting += [(each, (*path, index), known.get("items")) for index, each in reversed(numbered)]
        elif here is not None:
            found.append((Leaf(path, known), here))
    texts = [leaf for leaf, here in found if isinstance(here, str) and not leaf.bound]
    numbers = [leaf for leaf, here in found if not isinstance(here, str | bool) and not leaf.bound]
    return texts or numbers or [leaf for leaf, _ in found]


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path of keys and indexes."""
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: Path, new: object) -> Any:
    """Return a copy of the value with another one at `path`."""
    parents = []
    for step in path:
        parents.append(value)
        value = value[step]
    for step, parent in zip(reversed(path), reversed(parents), strict=True):
        copy: Any = dict(parent) if isinstance(parent, dict) else list(parent)
        copy[step] = new
        new = copy
    return new


def _bounds(schema: Mapping[str, Any], *, whole: bool) -> tuple[float, float]:
    """Return the least and the greatest allowed number, infinite where the schema has no bound."""
    lowest, highest = -math.inf, math.inf
    for key, room in (("minimum", 0), ("exclusiveMinimum", 1)):
        given = _number(schema.get(key), -math.inf)
        lowest = max(lowest, (math.ceil(given) if whole and math.isfinite(given) else given) + room)
    for key, room in (("maximum", 0), ("exclusiveMaximum", 1)):
        given = _number(schema.get(key), math.inf)
        highest = min(highest, (math.floor(given) if whole and math.isfinite(given) else given) - room)
    return lowest, highest


def _number(value: object, otherwise: float) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
