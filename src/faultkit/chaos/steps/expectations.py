"""Expectations of checks: whether a value is as expected. Pure, except for functions of the user.

If a value is a mapping with a `status`, a plain value or a list is compared with the status. `expect_keys`
parses what is written under `expect`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from faultkit.base.documents.checks import shown
from faultkit.base.patterns import LinearPattern
from faultkit.base.text import shortened
from faultkit.chaos.steps.function_steps import find_function
from faultkit.chaos.steps.json_path import find

_LONGEST = 120


class Expectation(Protocol):
    """The expectation of a check."""

    def why_not(self, value: Any) -> str | None:
        """Return what is wrong with the value, or None. May raise, which counts as not met."""


@dataclass(frozen=True, slots=True)
class Equals:
    """One value."""

    wanted: Any

    def why_not(self, value: Any) -> str | None:
        given = value if isinstance(self.wanted, bool) else _status_of(value)
        return None if given == self.wanted else f"expected {brief(self.wanted)}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values."""

    wanted: tuple[Any, ...]

    def why_not(self, value: Any) -> str | None:
        given = _status_of(value)
        listed = ", ".join(map(brief, self.wanted))
        return None if given in self.wanted else f"expected one of {listed}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class NumberPair:
    """Two numbers in a list: a range; for a status, the two allowed values."""

    low: float
    high: float

    def why_not(self, value: Any) -> str | None:
        if has_status(value):
            return OneOf((self.low, self.high)).why_not(value)
        if self.low <= value <= self.high:
            return None
        return f"expected {self.low:g} to {self.high:g}, got {brief(value)}"


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers. A text that is a number counts as that number."""

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
class RegexMatch:
    """A text that matches a regular expression."""

    pattern: LinearPattern
    target: str | None = None

    def why_not(self, value: Any) -> str | None:
        given = pick(value, self.target)
        if isinstance(given, str) and self.pattern.found_in(given):
            return None
        return f"expected a text that matches {self.pattern.pattern}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """Values at a JSON path."""

    path: str
    target: str | None = None
    count: int | None = None
    wanted: tuple[Any, ...] | None = None
    """All values that the path must find, in this order."""

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
class FunctionExpectation:
    """A function of the user that gets the value and returns whether it is as expected.

    It is imported when it is called, because a file is checked without running anything."""

    module: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def why_not(self, value: Any) -> str | None:
        function = find_function(self.module, self.name, Path())
        verdict = function(**{**self.arguments, "value": value})
        if verdict:
            return None
        return f"{self.module}:{self.name} says {brief(verdict)} of {brief(value)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison by a word, such as `below: 300`."""

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
    """Several expectations at once."""

    parts: tuple[Expectation, ...]

    def why_not(self, value: Any) -> str | None:
        return "; ".join(why for part in self.parts if (why := part.why_not(value))) or None


@dataclass(frozen=True, slots=True)
class Anything:
    """Accepts every value."""

    def why_not(self, value: Any) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Truthy:
    """A value that is true in Python."""

    def why_not(self, value: Any) -> str | None:
        return None if value else f"expected something true, got {brief(value)}"


def _holds(given: Any, wanted: Any, fits: Callable[[Any, Any], bool]) -> bool:
    # In Python, True is the number 1. In an experiment it is not a number.
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
"""The comparisons by their words: the test, and the words of its failure."""


def has_status(value: Any) -> bool:
    """Return whether the value is a mapping with a `status`."""
    return isinstance(value, Mapping) and "status" in value


def _status_of(value: Any) -> Any:
    return value["status"] if has_status(value) else value


def pick(value: Any, target: str | None) -> Any:
    """Return a part of a mapping by a name or a dotted path; the whole value if there is no such part."""
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
    """Return a text that is JSON as its value; any other value unchanged."""
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def brief(value: Any) -> str:
    """Return a short text of a value for an error; small containers with their content."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
        try:
            text = json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError):
            return shown(value)
        return shortened(text, _LONGEST)
    return shown(value)


Statuses: TypeAlias = type[int] | tuple[str, ...]
"""The statuses that a check can find: whole numbers, or these texts."""
_NUMBER_WORDS = ("above", "at_least", "below", "at_most")


def why_never_met(part: Expectation, statuses: Statuses) -> str | None:
    """Return why no status that a check can find decides over this expectation, or None."""
    target = getattr(part, "target", None)
    if target not in (None, "status"):
        return None
    wanted: tuple[Any, ...] = ()
    if isinstance(part, Equals):
        wanted = (part.wanted,)
    elif isinstance(part, OneOf):
        wanted = part.wanted
    elif isinstance(part, NumberPair):
        wanted = (part.low, part.high)
    elif isinstance(part, Comparison) and part.word in ("equals", "not"):
        wanted = (part.wanted,)
    elif isinstance(part, Comparison) and part.word == "one_of":
        wanted = part.wanted
    elif isinstance(part, Range) or (isinstance(part, Comparison) and part.word in _NUMBER_WORDS):
        if target is None:
            return "expected a target, the number that is compared, got none"
        return None if statuses is int else f"expected a status, one of {_listed(statuses)}, got a range"
    impossible = [each for each in wanted if not _is_status(each, statuses)]
    form = "a whole number" if statuses is int else f"one of {_listed(statuses)}"
    return f"expected a status, {form}, got {brief(impossible[0])}" if impossible else None


def _is_status(value: Any, statuses: Statuses) -> bool:
    if isinstance(statuses, tuple):
        return value in statuses
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _listed(statuses: Statuses) -> str:
    return ", ".join(statuses) if isinstance(statuses, tuple) else ""


def resolve_expectation(expectation: Expectation, folder: Path) -> None:
    """Import the functions of an expectation. Raises InputError for one that does not exist."""
    if isinstance(expectation, All):
        for part in expectation.parts:
            resolve_expectation(part, folder)
    elif isinstance(expectation, FunctionExpectation):
        find_function(expectation.module, expectation.name, folder)
