"""Matchers of texts. Those that look for a part also look into lists and mappings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from faultkit.agents.matchers.matcher import (
    TEXT,
    TEXTS,
    Judge,
    Matcher,
    a_text,
    anything,
    quoted,
    same,
    some_texts,
)
from faultkit.base.documents.checks import mapping, shown
from faultkit.base.errors import InputError


def _holds(wanted: Any, got: Any) -> bool:
    """Return whether a text contains a part, a list an element, or a mapping a text with the part."""
    if isinstance(got, str):
        return isinstance(wanted, str) and wanted in got
    if isinstance(got, list | tuple):
        return any(same(wanted, each) for each in got)
    return isinstance(wanted, str) and any(wanted in each for each in _texts_in(got))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts_in(each)


def _contains(wanted: Any, got: Any) -> str | None:
    if _holds(wanted, got):
        return None
    return f"expected something that contains {quoted(wanted)}, got {quoted(got)}"


def _contains_all(wanted: Any, got: Any) -> str | None:
    missing = [each for each in wanted if not _holds(each, got)]
    if not missing:
        return None
    listed = ", ".join(map(quoted, missing))
    return f"expected something that contains all of them, but {listed} is not in {quoted(got)}"


def _contains_any(wanted: Any, got: Any) -> str | None:
    if any(_holds(each, got) for each in wanted):
        return None
    return f"expected something that contains one of {', '.join(map(quoted, wanted))}, got {quoted(got)}"


def _icontains(wanted: Any, got: Any) -> str | None:
    folded = wanted.casefold()
    if any(folded in each.casefold() for each in _texts_in(got)):
        return None
    return f"expected something that contains {quoted(wanted)} in any case, got {quoted(got)}"


def _of_text(fits: Callable[[str, str], bool], expected: str) -> Judge:
    def judge(wanted: Any, got: Any) -> str | None:
        if isinstance(got, str) and fits(wanted, got):
            return None
        return f"expected a text that {expected} {quoted(wanted)}, got {quoted(got)}"

    return judge


def _has_pattern(wanted: str, got: str) -> bool:
    return _compiled(wanted).search(got) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # A warning that a later Python may read the pattern differently does not belong in a report.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(pattern)


def _pattern(wanted: Any) -> None:
    a_text(wanted)
    try:
        _compiled(wanted)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError("", f"expected a regular expression, got {shown(wanted)}: {error}") from None


def _levenshtein(wanted: Any, got: Any) -> str | None:
    to, most = wanted["to"], wanted["max"]
    if not isinstance(got, str):
        return f"expected a text, got {quoted(got)}"
    found = distance(to, got, most)
    if found <= most:
        return None
    return f"expected a text at most {most} edits away from {quoted(to)}, got {quoted(got)}"


def distance(one: str, other: str, most: int) -> int:
    """Return the Levenshtein distance of two texts, or `most` + 1 if it is larger."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        # Cells further than `most` from the diagonal exceed the limit already.
        begin, end = max(1, row - most), min(len(other), row + most)
        here = [most + 1] * (len(other) + 1)
        here[0] = row
        for column in range(begin, end + 1):
            change = above[column - 1] + (letter != other[column - 1])
            here[column] = min(change, above[column] + 1, here[column - 1] + 1)
        if min(here[begin - 1 : end + 1]) > most:
            return most + 1
        above = here
    return min(above[-1], most + 1)


def _distance(wanted: Any) -> None:
    given = mapping(wanted, ("to", "max"), "")
    try:
        a_text(given.get("to"))
    except InputError as error:
        raise error.within("to") from None
    most = given.get("max")
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise InputError("max", f"expected a whole number of at least 0, got {shown(most)}")


TEXT_MATCHERS = (
    Matcher("contains", "Has it inside: a part of a text, an element of a list.", _contains, anything),
    Matcher("contains-all", "Has all of them inside.", _contains_all, some_texts, TEXTS),
    Matcher("contains-any", "Has one of them inside.", _contains_any, some_texts, TEXTS),
    Matcher("icontains", "Has the text inside, whatever the case.", _icontains, a_text, TEXT),
    Matcher(
        "starts-with",
        "A text that begins so.",
        _of_text(lambda wanted, got: got.startswith(wanted), "starts with"),
        a_text,
        TEXT,
    ),
    Matcher(
        "ends-with",
        "A text that ends so.",
        _of_text(lambda wanted, got: got.endswith(wanted), "ends with"),
        a_text,
        TEXT,
    ),
    Matcher(
        "regex",
        "A text in which the regular expression is found.",
        _of_text(_has_pattern, "matches"),
        _pattern,
        TEXT,
    ),
    Matcher(
        "levenshtein",
        "A text at most so many edits away.",
        _levenshtein,
        _distance,
        {
            "type": "object",
            "properties": {"to": TEXT, "max": {"type": "integer", "minimum": 0}},
            "required": ["to", "max"],
            "additionalProperties": False,
        },
    ),
)
