"""A validator of JSON Schema (draft 2020-12) whose patterns take linear time.

Schemas come from servers and suites, values from agents and servers. A `pattern` that RE2 does not support is
reported as a problem of the value: it cannot be checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from faultkit.base.patterns import LinearPattern


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "string"):
        return
    found = _found(pattern, value)
    if found is None:
        yield ValidationError(f"the pattern {pattern!r} cannot be checked: it is none of RE2")
    elif not found:
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, inner in patterns.items():
        for name, each in value.items():
            if _found(pattern, name):
                yield from validator.descend(each, inner, path=name, schema_path=pattern)


def _found(pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches in a text; None if it is no pattern of RE2."""
    try:
        return LinearPattern(pattern).found_in(text)
    except ValueError:
        return None


_KEYWORDS = {"pattern": _pattern, "patternProperties": _pattern_properties}
SchemaValidator = extend(Draft202012Validator, _KEYWORDS)  # type: ignore[no-untyped-call]
