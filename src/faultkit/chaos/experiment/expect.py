"""From what is written under `expect` to an expectation. Errors have paths below it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from faultkit.base.documents.shape import advice, joined, reject_unknown_keys, shown, text, whole
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.tolerance import (
    COMPARISONS,
    All,
    Among,
    Asked,
    Compared,
    Equals,
    Expectation,
    JsonPath,
    Matches,
    Pair,
    Range,
    find,
)
from faultkit.chaos.experiment.work.python import FUNCTION_FORM, find_function, read_arguments, read_function

TYPES = ("range", "regex", "jsonpath", "probe")
WORDS = (*COMPARISONS, "between", "matches")
SHORT_KEYS = ("target", "all", *WORDS)
EXPECT_FORM = "a value, a list, or a mapping such as {target: elapsed_ms, below: 300}"
_NUMBERS = ("above", "at_least", "below", "at_most")


def parse_expect(value: object) -> Expectation:
    if isinstance(value, Mapping):
        return _of_type(value) if "type" in value else _short(value)
    if isinstance(value, list):
        return _listed(value)
    return Equals(_scalar(value, ""))


def is_plain_number(value: object) -> bool:
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
    """As Chaos Toolkit writes it, or with `function`. The function is looked for when the value is there."""
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
    return Asked(f"{module}:{name}", _Later(module, name), arguments)


class _Later:
    """A function that is found when it is called: what is written is checked without running anything."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, **arguments: Any) -> Any:
        return find_function(self.module, self.name, Path())(**arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Later) and (self.module, self.name) == (other.module, other.name)

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
            raise InputError(joined("", key), f"unknown key; {advice(key, (*SHORT_KEYS, 'type'))}")
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
    """InputError for a function that is not there."""
    parts = expectation.parts if isinstance(expectation, All) else (expectation,)
    for part in parts:
        if isinstance(part, Asked) and isinstance(part.function, _Later):
            find_function(part.function.module, part.function.name, folder)
        elif part is not expectation:
            resolve_expectation(part, folder)
