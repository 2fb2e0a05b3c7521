"""What a check expects, and whether a value is that. Pure, but for functions that the user wrote.

The forms are those of Chaos Toolkit: a value, a list, and objects of type range, regex, jsonpath and probe;
and comparisons in a word: `below: 300`. Where a value is a mapping with a `status`, a plain value or a list
is held against that. A pair of numbers is a range, its ends included; any other list names what may be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Protocol

from faultkit.base.documents.shape import shown

_LONGEST = 120


class Expectation(Protocol):
    def why_not(self, value: Any) -> str | None:
        """What is wrong with the value; None if it is as expected. May raise: then it is not."""


@dataclass(frozen=True, slots=True)
class Equals:
    wanted: Any

    def why_not(self, value: Any) -> str | None:
        given = value if isinstance(self.wanted, bool) else _status_of(value)
        return None if given == self.wanted else f"expected {brief(self.wanted)}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class Among:
    wanted: tuple[Any, ...]

    def why_not(self, value: Any) -> str | None:
        given = _status_of(value)
        listed = ", ".join(map(brief, self.wanted))
        return None if given in self.wanted else f"expected one of {listed}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numbers in a list: a range, but of statuses the two that may be."""

    low: float
    high: float

    def why_not(self, value: Any) -> str | None:
        if has_status(value):
            return Among((self.low, self.high)).why_not(value)
        if self.low <= value <= self.high:
            return None
        return f"expected {self.low:g} to {self.high:g}, got {brief(value)}"


@dataclass(frozen=True, slots=True)
class Range:
    """Texts that hold a number count as that number."""

    low: float
    high: float
    target: str | None = None

    def why_not(self, value: Any) -> str | None:
        given = pick(value, self.target)
        try:
            number = Decimal(given)
        except (InvalidOperation, TypeError, ValueError):
            return f"expected a number, got {brief(given)}"
        if Decimal(self.low) <= number <= Decimal(self.high):
            return None
        return f"expected {self.low:g} to {self.high:g}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class Matches:
    pattern: re.Pattern[str]
    target: str | None = None

    def why_not(self, value: Any) -> str | None:
        given = pick(value, self.target)
        if isinstance(given, str) and self.pattern.search(given):
            return None
        return f"expected a text that matches {self.pattern.pattern}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class JsonPath:
    path: str
    target: str | None = None
    count: int | None = None
    wanted: tuple[Any, ...] | None = None
    """What the path must find, all of it and in this order."""

    def why_not(self, value: Any) -> str | None:
        found = find(self.path, as_json(pick(value, self.target)))
        if self.wanted is not None:
            if found == list(self.wanted):
                return None
            return f"expected {self.path} to give {brief(list(self.wanted))}, got {brief(found)}"
        if self.count is not None:
            if len(found) == self.count:
                return None
            return f"expected {self.path} to find {self.count}, got {len(found)}"
        return None if found else f"expected {self.path} to find something, got nothing"


@dataclass(frozen=True, slots=True)
class Asked:
    """A function of the user's that gets the value."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def why_not(self, value: Any) -> str | None:
        answer = self.function(**{**self.arguments, "value": value})
        return None if answer else f"{self.name} says {brief(answer)} of {brief(value)}"


@dataclass(frozen=True, slots=True)
class Compared:
    word: str
    """A key of COMPARISONS."""
    wanted: Any
    target: str | None = None

    def why_not(self, value: Any) -> str | None:
        given = pick(value, self.target)
        if self.target is None:
            given = _status_of(given) if self.word in ("equals", "not", "one_of") else given
        fits, says = COMPARISONS[self.word]
        try:
            if fits(given, self.wanted):
                return None
        except TypeError:
            pass
        place = f"{self.target} " if self.target else ""
        return f"expected {place}{says} {brief(self.wanted)}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Expectation, ...]

    def why_not(self, value: Any) -> str | None:
        return "; ".join(why for part in self.parts if (why := part.why_not(value))) or None


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever it is, it came."""

    def why_not(self, value: Any) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Truthy:
    def why_not(self, value: Any) -> str | None:
        return None if value else f"expected something true, got {brief(value)}"


def _holds(given: Any, wanted: Any, fits: Callable[[Any, Any], bool]) -> bool:
    # True is a number to Python, and to nobody who reads a report.
    return not isinstance(given, bool) and fits(given, wanted)


COMPARISONS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "equals": (lambda given, wanted: bool(given == wanted), "to be"),
    "not": (lambda given, wanted: bool(given != wanted), "to be anything but"),
    "one_of": (lambda given, wanted: given in wanted, "to be one of"),
    "above": (partial(_holds, fits=lambda given, wanted: given > wanted), "above"),
    "at_least": (partial(_holds, fits=lambda given, wanted: given >= wanted), "of at least"),
    "below": (partial(_holds, fits=lambda given, wanted: given < wanted), "below"),
    "at_most": (partial(_holds, fits=lambda given, wanted: given <= wanted), "of at most"),
    "contains": (lambda given, wanted: wanted in given, "to contain"),
    "length": (lambda given, wanted: len(given) == wanted, "of length"),
}
"""The word, whether a value fits, and how to say it."""


def has_status(value: Any) -> bool:
    return isinstance(value, Mapping) and "status" in value


def _status_of(value: Any) -> Any:
    return value["status"] if has_status(value) else value


def pick(value: Any, target: str | None) -> Any:
    """A part of a mapping by its name, or by names with dots between them; all of it if there is none."""
    if not target or not isinstance(value, Mapping):
        return value
    if target in value:
        return value[target]
    inner: Any = value
    for name in target.split("."):
        if not isinstance(inner, Mapping) or name not in inner:
            return value
        inner = inner[name]
    return inner


def as_json(value: Any) -> Any:
    """Text that is JSON as what it says."""
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def find(path: str, value: Any) -> list[Any]:
    from jsonpath2.path import Path

    return [match.current_value for match in Path.parse_str(path).match(value)]


def brief(value: Any) -> str:
    """What came, in a few words, with the insides of what is small."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
        try:
            text = json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError):
            return shown(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return shown(value)
