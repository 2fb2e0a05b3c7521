"""Matchers of texts, and of formats: JSON, XML and JSON Schema. Pure.

The matchers that search for a part of a text also search lists and mappings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from faultkit.agents.matchers.matcher import (
    TEXT,
    TEXTS,
    Judge,
    Matcher,
    check_boolean,
    check_nothing,
    check_text,
    check_texts,
    quoted,
    same,
)
from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import read_pattern
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern
from faultkit.base.text import shortened


def _contains_part(wanted: Any, got: Any) -> bool:
    """Return whether a text has a part, a list an element, or a mapping a text with that part."""
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
    if _contains_part(wanted, got):
        return None
    return f"expected something that contains {quoted(wanted)}, got {quoted(got)}"


def _contains_all(wanted: Any, got: Any) -> str | None:
    missing = [each for each in wanted if not _contains_part(each, got)]
    if not missing:
        return None
    listed = ", ".join(map(quoted, missing))
    return f"expected something that contains all of them, but {listed} is not in {quoted(got)}"


def _contains_any(wanted: Any, got: Any) -> str | None:
    if any(_contains_part(each, got) for each in wanted):
        return None
    return f"expected something that contains one of {', '.join(map(quoted, wanted))}, got {quoted(got)}"


def _icontains(wanted: Any, got: Any) -> str | None:
    folded = wanted.casefold()
    if any(folded in each.casefold() for each in _texts_in(got)):
        return None
    return f"expected something that contains {quoted(wanted)} in any case, got {quoted(got)}"


def _text_judge(fits: Callable[[str, str], bool], expected: str) -> Judge:
    def judge(wanted: Any, got: Any) -> str | None:
        if isinstance(got, str) and fits(wanted, got):
            return None
        return f"expected a text that {expected} {quoted(wanted)}, got {quoted(got)}"

    return judge


def _has_pattern(wanted: str, got: str) -> bool:
    return LinearPattern(wanted).found_in(got)


_ASSERTIONS = re.compile(r"[\^$]|\\[AzbB]")
"""What makes the place of a match matter."""


def matches_any_text(pattern: str) -> bool:
    """Return whether a regular expression is known to match somewhere in every text: `.*`."""
    # An empty match at the start, or at the end, is in every text.
    bare = pattern[1:] if pattern.startswith("^") else pattern.removesuffix("$")
    return not _ASSERTIONS.search(bare) and LinearPattern(bare).found_in("")


def _check_pattern(wanted: Any) -> None:
    check_text(wanted)
    read_pattern(wanted)


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


def _need_count(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError("", f"expected {_COUNT}, got {shown(value)}")


_COUNT = "a whole number of at least 0"
DISTANCE = KeyTable(
    Key("to", check_text, TEXT, required="a text"),
    Key("max", _need_count, {"type": "integer", "minimum": 0}, required=_COUNT),
    has_nulls=False,
)


def _check_distance(wanted: Any) -> None:
    reader = MappingReader(wanted, DISTANCE)
    for key in DISTANCE.names:
        reader.take(key)


TEXT_MATCHERS = (
    Matcher("contains", "Contains this part of a text or element of a list.", _contains, check_nothing),
    Matcher("contains-all", "Contains all of these texts.", _contains_all, check_texts, TEXTS),
    Matcher("contains-any", "Contains one of these texts.", _contains_any, check_texts, TEXTS),
    Matcher("icontains", "Contains the text in any case.", _icontains, check_text, TEXT),
    Matcher(
        "starts-with",
        "A text that starts with this one.",
        _text_judge(lambda wanted, got: got.startswith(wanted), "starts with"),
        check_text,
        TEXT,
    ),
    Matcher(
        "ends-with",
        "A text that ends with this one.",
        _text_judge(lambda wanted, got: got.endswith(wanted), "ends with"),
        check_text,
        TEXT,
    ),
    Matcher(
        "regex",
        "A text in which the regular expression (of RE2) matches.",
        _text_judge(_has_pattern, "matches"),
        _check_pattern,
        TEXT,
    ),
    Matcher(
        "levenshtein",
        "A text that is at most `max` edits away from `to`.",
        _levenshtein,
        _check_distance,
        schema_of(DISTANCE),
    ),
)


# Formats: JSON, XML, JSON Schema

_MOST_PROBLEMS = 8


def _judge_schema(wanted: Any, got: Any) -> str | None:
    problems = _schema_problems(wanted, got)
    if not problems:
        return None
    more = [f"… and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
    return "\n".join(["expected what the schema says:", *problems[:_MOST_PROBLEMS], *more])


def _schema_problems(schema: Any, got: Any) -> list[str]:
    # Imported here because it is slow, and most suites have no schema.
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    from faultkit.agents.matchers.schema_validator import SchemaValidator

    # The registry is empty, so that a `$ref` to another document is an error and nothing is fetched.
    validator = SchemaValidator(schema, registry=EMPTY_REGISTRY)
    try:
        errors = sorted(validator.iter_errors(got), key=lambda error: error.json_path)
    except Unresolvable as error:
        return [f"the schema refers to {quoted(error.ref)}, which is not in it"]
    return [f"{error.json_path}: {shortened(error.message, 160)}" for error in errors]


def _check_schema(wanted: Any) -> None:
    if isinstance(wanted, bool) or not isinstance(wanted, Mapping):
        raise InputError("", f"expected a JSON schema (a mapping), got {shown(wanted)}")
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(wanted)
    except SchemaError as error:
        path = error.json_path.removeprefix("$").removeprefix(".")
        raise InputError(path, f"expected a JSON schema: {shortened(error.message, 160)}") from None


def _judge_json(wanted: Any, got: Any) -> str | None:
    parsed, why = _parsed(got)
    if wanted is False:
        return f"expected a text that is no JSON, got {quoted(got)}" if why is None else None
    if why is not None:
        return f"expected JSON, got {quoted(got)}: {why}"
    return _judge_schema(wanted, parsed) if isinstance(wanted, Mapping) else None


def _parsed(got: Any) -> tuple[Any, str | None]:
    if not isinstance(got, str):
        return None, "not a text"
    try:
        return json.loads(got), None
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _check_json(wanted: Any) -> None:
    if not isinstance(wanted, bool):
        _check_schema(wanted)


def _judge_xml(wanted: Any, got: Any) -> str | None:
    why: str | None = "not a text"
    if isinstance(got, str):
        try:
            ElementTree.fromstring(got)
            why = None
        except (ElementTree.ParseError, ValueError) as error:
            why = str(error)
    if wanted:
        return None if why is None else f"expected XML, got {quoted(got)}: {why}"
    return f"expected a text that is no XML, got {quoted(got)}" if why is None else None


FORMAT_MATCHERS = (
    Matcher(
        "schema", "Fits a JSON schema (draft 2020-12).", _judge_schema, _check_schema, {"type": "object"}
    ),
    Matcher(
        "is-json",
        "A text that is JSON, and fits the schema if one is given.",
        _judge_json,
        _check_json,
        {"type": ["boolean", "object"]},
    ),
    Matcher("is-xml", "A text that is well-formed XML.", _judge_xml, check_boolean, {"type": "boolean"}),
)
