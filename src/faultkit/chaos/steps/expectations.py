"""Expectations of checks: whether a value is as expected. Pure, except for functions of the user's.

The forms are those of Chaos Toolkit: a value, a list, and objects of type range, regex, jsonpath and probe;
and comparisons by a word: `below: 300`. If a value is a mapping with a `status`, a plain value or a list is
compared with the status. A pair of numbers is a range, ends included; any other list contains the allowed
values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from faultkit.base.documents.checks import advice, join_path, reject_unknown_keys, shown, text, whole
from faultkit.base.errors import InputError
from faultkit.base.text import shortened
from faultkit.chaos.steps.process_steps import FUNCTION_FORM, find_function, read_arguments, read_function

_LONGEST = 120


class Expectation(Protocol):
    """What a check expects of a value."""

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
class Among:
    """One of several values."""

    wanted: tuple[Any, ...]

    def why_not(self, value: Any) -> str | None:
        given = _status_of(value)
        listed = ", ".join(map(brief, self.wanted))
        return None if given in self.wanted else f"expected one of {listed}, got {brief(given)}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numbers in a list: a range; for a status, the two allowed values."""

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
class Matches:
    """A text that matches a regular expression."""

    pattern: re.Pattern[str]
    target: str | None = None

    def why_not(self, value: Any) -> str | None:
        given = pick(value, self.target)
        if isinstance(given, str) and self.pattern.search(given):
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
class Asked:
    """A function of the user's that gets the value and returns whether it is as expected."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def why_not(self, value: Any) -> str | None:
        answer = self.function(**{**self.arguments, "value": value})
        return None if answer else f"{self.name} says {brief(answer)} of {brief(value)}"


@dataclass(frozen=True, slots=True)
class Compared:
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


def find(path: str, value: Any) -> list[Any]:
    """Return the values at a JSON path. Raises ValueError for a bad path."""
    from jsonpath2.path import Path

    return [match.current_value for match in Path.parse_str(path).match(value)]


def brief(value: Any) -> str:
    """Return a short text of a value for an error; small containers with their content."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
        try:
            text = json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError):
            return shown(value)
        return shortened(text, _LONGEST)
    return shown(value)


# Parses what is written under `expect`. Errors have paths relative to it.


TYPES = ("range", "regex", "jsonpath", "probe")
WORDS = (*COMPARISONS, "between", "matches")
SHORT_KEYS = ("target", "all", *WORDS)
EXPECT_FORM = "a value, a list, or a mapping such as {target: elapsed_ms, below: 300}"
_NUMBERS = ("above", "at_least", "below", "at_most")


def parse_expect(value: object) -> Expectation:
    """Return the expectation of a document. Raises InputError."""
    if isinstance(value, Mapping):
        return _of_type(value) if "type" in value else _short(value)
    if isinstance(value, list):
        return _listed(value)
    return Equals(_scalar(value, ""))


def is_plain_number(value: object) -> bool:
    """Return whether the value is a finite number, not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _scalar(value: object, path: str) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(path, f"expected {EXPECT_FORM}, got {shown(value)}")
    if not isinstance(value, str | int | float):
        raise InputError(path, f"expected a text, a number or a truth value, got {shown(value)}")
    return value


def _listed(values: list[object]) -> Expectation:
    if not values:
        raise InputError("", f"expected {EXPECT_FORM}, got an empty list")
    if len(values) == 2 and all(map(is_plain_number, values)):
        return Pair(*_ends(values, ""))
    return Among(tuple(_scalar(value, f"[{index}]") for index, value in enumerate(values)))


def _ends(value: object, path: str) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_plain_number, value)):
        raise InputError(path, f"expected a list of two numbers, got {shown(value)}")
    low, high = value
    if low > high:
        raise InputError(path, f"expected the smaller number first, got {low} and {high}")
    return low, high


def _of_type(given: Mapping[str, object]) -> Expectation:
    kind = given["type"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise InputError("type", f"expected one of {', '.join(TYPES)}, got {shown(kind)}")
    return _READERS[kind](given)


def _target(given: Mapping[str, object]) -> str | None:
    return text(given["target"], "the name of a part", "target") if "target" in given else None


def _range(given: Mapping[str, object]) -> Expectation:
    reject_unknown_keys(given, ("type", "range", "target"), "")
    return Range(*_ends(given.get("range"), "range"), _target(given))


def _regex(given: Mapping[str, object]) -> Expectation:
    reject_unknown_keys(given, ("type", "pattern", "target"), "")
    return Matches(_pattern(given.get("pattern"), "pattern"), _target(given))


def _pattern(value: object, path: str) -> re.Pattern[str]:
    written = text(value, "a regular expression", path)
    try:
        return re.compile(written)
    except re.error as error:
        raise InputError(path, f"expected a regular expression, got {shown(written)}: {error}") from None


def _jsonpath(given: Mapping[str, object]) -> Expectation:
    reject_unknown_keys(given, ("type", "path", "expect", "count", "target"), "")
    path = text(given.get("path"), "a JSON path such as $.items[*].name", "path").strip()
    try:
        find(path, None)
    except ValueError:
        raise InputError("path", f"expected a JSON path such as $.items[*].name, got {shown(path)}") from None
    count = whole(given["count"], "a whole number", "count") if "count" in given else None
    wanted = None
    if "expect" in given:
        listed = given["expect"]
        wanted = tuple(listed) if isinstance(listed, list) else (listed,)
    return JsonPath(path, _target(given), count, wanted)


def _probe(given: Mapping[str, object]) -> Expectation:
    """Parse the form of Chaos Toolkit, or one with `function`. The function is imported when it is called."""
    if "function" in given:
        reject_unknown_keys(given, ("type", "name", "function", "arguments"), "")
        module, name = _at("function", read_function, given["function"])
        written = given.get("arguments", {})
    else:
        provider = given.get("provider")
        if not isinstance(provider, Mapping) or provider.get("type") != "python":
            raise InputError("function", f"expected {FUNCTION_FORM}, got nothing")
        module = text(provider.get("module"), "a module", "provider.module")
        name = text(provider.get("func"), "a function", "provider.func")
        written = provider.get("arguments", {})
    arguments = _at("arguments", read_arguments, written)
    return Asked(f"{module}:{name}", _ImportedLater(module, name), arguments)


class _ImportedLater:
    """A function that is imported when it is called, because a file is checked without running anything."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, **arguments: Any) -> Any:
        return find_function(self.module, self.name, Path())(**arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ImportedLater) and (self.module, self.name) == (other.module, other.name)

    def __hash__(self) -> int:
        return hash((self.module, self.name))


_READERS: Mapping[str, Callable[[Mapping[str, object]], Expectation]] = {
    "range": _range,
    "regex": _regex,
    "jsonpath": _jsonpath,
    "probe": _probe,
}


def _short(given: Mapping[str, object]) -> Expectation:
    for key in given:
        if key not in SHORT_KEYS:
            raise InputError(join_path("", key), f"unknown key; {advice(key, (*SHORT_KEYS, 'type'))}")
    target = _target(given)
    parts = [_compared(word, given[word], target) for word in WORDS if word in given]
    if "all" in given:
        listed = given["all"]
        if not isinstance(listed, list) or not listed:
            raise InputError("all", f"expected a list of expectations, got {shown(listed)}")
        parts += [_at(f"all[{index}]", parse_expect, each) for index, each in enumerate(listed)]
    if not parts:
        raise InputError("", f"expected one of {', '.join((*WORDS, 'all'))}, got none")
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _compared(word: str, wanted: object, target: str | None) -> Expectation:
    if word == "between":
        return Range(*_ends(wanted, "between"), target)
    if word == "matches":
        return Matches(_pattern(wanted, "matches"), target)
    if word in _NUMBERS and not is_plain_number(wanted):
        raise InputError(word, f"expected a number, got {shown(wanted)}")
    if word == "length" and whole(wanted, "a whole number of at least 0", word) < 0:
        raise InputError(word, f"expected a whole number of at least 0, got {shown(wanted)}")
    if word == "one_of" and (not isinstance(wanted, list) or not wanted):
        raise InputError(word, f"expected a list of values, got {shown(wanted)}")
    return Compared(word, tuple(wanted) if isinstance(wanted, list) and word == "one_of" else wanted, target)


def _at(path: str, read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except InputError as error:
        raise error.within(path) from None


def resolve_expectation(expectation: Expectation, folder: Path) -> None:
    """Import the functions of an expectation. Raises InputError for one that does not exist."""
    parts = expectation.parts if isinstance(expectation, All) else (expectation,)
    for part in parts:
        if isinstance(part, Asked) and isinstance(part.function, _ImportedLater):
            find_function(part.function.module, part.function.name, folder)
        elif part is not expectation:
            resolve_expectation(part, folder)
