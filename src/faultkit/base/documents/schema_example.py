"""The smallest value that fits a JSON schema, such as `{"name": "", "count": 0}`. Pure.

Mocks send it as the answer of tools with an output schema, and probes and scripted agents call tools with it,
so its values must not change. `faultkit.scenario.openapi.request_example` is another function: a likely
request, with the author's examples, formats and patterns, and without read-only properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST_DEPTH = 20
_MOST_ITEMS = 1000
_PLAIN: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "null": None}


def smallest_value(schema: object) -> Any:
    """Return the smallest value that fits a schema; None if the schema does not restrict it."""
    return _value(schema, schema, 0)


def _value(schema: object, root: object, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    if isinstance(schema.get("$ref"), str):
        return _value(_target(schema["$ref"], root), root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _value(schema[key][0], root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: object, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object":
        given = schema.get("properties")
        inner = given if isinstance(given, Mapping) else {}
        return {name: _value(each, root, depth + 1) for name, each in inner.items()}
    if kind == "array":
        least = schema.get("minItems")
        count = min(least, _MOST_ITEMS) if isinstance(least, int) else 0
        return [_value(schema.get("items"), root, depth + 1)] * count
    if kind in ("integer", "number") and isinstance(schema.get("minimum"), int | float):
        return schema["minimum"]
    if kind == "string" and isinstance(schema.get("minLength"), int):
        return "x" * min(schema["minLength"], _MOST_ITEMS)
    return _PLAIN.get(str(kind))


def _target(reference: str, root: object) -> object:
    found = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
