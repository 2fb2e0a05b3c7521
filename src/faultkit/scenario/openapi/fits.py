"""Whether a value fits a schema, as far as is cheap to tell: used to prefer one example over another. Pure.

It leans to yes: what it does not know (formats, patterns, `not`, conditions) is taken to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from faultkit.scenario.openapi.schema import Flat, Schemas

_DEEPEST = 12

_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": lambda value: _is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

_SIZES: tuple[tuple[type[str] | type[list[Any]] | type[dict[str, Any]], str, str], ...] = (
    (str, "minLength", "maxLength"),
    (list, "minItems", "maxItems"),
    (dict, "minProperties", "maxProperties"),
)


def fits(value: Any, schema: Any, schemas: Schemas) -> bool:
    return schema is not False and _fits(value, schemas.flat(schema), schemas, 0)


def flat_fits(value: Any, flat: Flat, schemas: Schemas) -> bool:
    return _fits(value, flat, schemas, 0)


def _fits(value: Any, flat: Flat, schemas: Schemas, depth: int) -> bool:
    if depth > _DEEPEST:
        return True
    kinds = flat.get("type")
    if isinstance(kinds, list) and not any(_KINDS.get(kind, lambda _: True)(value) for kind in kinds):
        return False
    if "const" in flat and value != flat["const"]:
        return False
    if isinstance(flat.get("enum"), list) and value not in flat["enum"]:
        return False
    if _is_number(value) and not number_fits(value, flat):
        return False
    if any(isinstance(value, kind) and not _size_fits(len(value), flat, *keys) for kind, *keys in _SIZES):
        return False
    if isinstance(value, dict) and not _object_fits(value, flat, schemas, depth):
        return False
    items = flat.get("items")
    if isinstance(value, list) and isinstance(items, Mapping) and "prefixItems" not in flat:
        item_flat = schemas.flat(items)
        if not all(_fits(item, item_flat, schemas, depth + 1) for item in value):
            return False
    return all(
        any(
            branch is not False and _fits(value, schemas.flat(branch), schemas, depth + 1)
            for branch in choice.branches
        )
        for choice in flat.get("choices", ())
    )


def _size_fits(size: int, flat: Flat, least: str, most: str) -> bool:
    return _at_least(size, flat.get(least)) and _at_least(flat.get(most), size)


def _object_fits(value: dict[str, Any], flat: Flat, schemas: Schemas, depth: int) -> bool:
    properties = flat.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    for name in names_in(flat.get("required")):
        # A request leaves out what only the server may set, required or not.
        if name not in value and not schemas.flat(properties.get(name)).get("readOnly"):
            return False
    closed = flat.get("additionalProperties") is False and "patternProperties" not in flat and properties
    if closed and not value.keys() <= properties.keys():
        return False
    return all(
        _fits(each, schemas.flat(properties[name]), schemas, depth + 1)
        for name, each in value.items()
        if name in properties
    )


def names_in(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def number_fits(value: float, flat: Flat) -> bool:
    step = flat.get("multipleOf")
    return (
        _at_least(value, flat.get("minimum"))
        and _at_least(flat.get("maximum"), value)
        and not _at_least(flat.get("exclusiveMinimum"), value, unknown=False)
        and not _at_least(value, flat.get("exclusiveMaximum"), unknown=False)
        and (not _is_number(step) or _is_multiple(value, step))
    )


def _is_multiple(value: float, step: Any) -> bool:
    return step <= 0 or Fraction(str(value)) % Fraction(str(step)) == 0


def _at_least(value: Any, least: Any, *, unknown: bool = True) -> bool:
    if not _is_number(value) or not _is_number(least):
        return unknown
    return bool(value >= least)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
