"""Flat schemas: `$ref` and `allOf` merged into one mapping, and whether a value fits one. Pure.

Differences of OpenAPI 3.0 and 3.1 end here: `type` is a list, `nullable` is the type `null`, exclusive bounds
are numbers, `oneOf` and `anyOf` are entries of `choices`.

`fits` chooses between examples. The library jsonschema checks types and bounds. The rest is own code, because
the library raises on malformed keywords, recurses without end where a branch contains its own schema,
demands required read-only properties in requests, and divides floats for `multipleOf`, so that 0.3 is no
multiple of 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeGuard

from jsonschema import Draft202012Validator

from faultkit.scenario.openapi.openapi_document import ReferenceResolver

FlatSchema: TypeAlias = dict[str, Any]

_SHAPE = frozenset({"properties", "required", "choices", "items"})
"""If a schema has one of these besides `allOf`, the examples of its parts are incomplete and are not used."""
_EXAMPLES = ("example", "examples", "default")
_LONGEST_TRAIL = 100
"""References in a row that are followed."""


@dataclass(frozen=True, slots=True)
class SchemaChoice:
    """The branches of one `oneOf` or `anyOf`."""

    branches: tuple[Any, ...]
    exactly_one: bool
    discriminator: Mapping[str, Any] | None = None


class Schemas:
    """The flat forms of the schemas of one document; each reference is resolved once."""

    def __init__(self, resolver: ReferenceResolver) -> None:
        self._resolver = resolver
        self.checks_left = MOST_CHECKS
        """How many values `fits` may still check; the rest counts as met. To be set for each example."""
        self._known: dict[str, FlatSchema] = {}
        self._met: dict[str, FlatSchema] = {}
        """The references of the present schema. What a circle leaves out of one of them is a part of the
        whole all the same, because all parts are demanded together."""

    def flat(self, schema: Any, seen: frozenset[str] = frozenset()) -> FlatSchema:
        """Return the flat form of a schema. `seen` holds the references that led to it."""
        if not seen:
            self._met = {}
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return self._compose(schema, [], seen)
        alone = len(schema) == 1 or self._resolver.minor == 0
        if alone and ref in self._known:
            return self._known[ref]
        target = {} if ref in seen or len(seen) > _LONGEST_TRAIL else self._target(ref, seen)
        if not alone:
            return self._compose(schema, [target], seen)
        if not seen:
            self._known[ref] = target
        return target

    def _target(self, ref: str, seen: frozenset[str]) -> FlatSchema:
        # Once for all places of a schema that lead to it: they may double with each level.
        if ref not in self._met:
            self._met[ref] = self.flat(self._resolver.at(ref), seen | {ref})
        return self._met[ref]

    def _compose(
        self, schema: Mapping[str, Any], parts: list[FlatSchema], seen: frozenset[str]
    ) -> FlatSchema:
        own = _normalize({key: value for key, value in schema.items() if key not in ("$ref", "allOf")})
        all_of = schema.get("allOf")
        parts = [*parts, *(self.flat(part, seen) for part in (all_of if isinstance(all_of, list) else ()))]
        if len(parts) > 1 or own.keys() & _SHAPE:
            parts = [_without_whole_examples(part) for part in parts]
        result: FlatSchema = {}
        for part in (*parts, own):
            result = merge_schemas(result, part)
        return result


def _without_whole_examples(part: FlatSchema) -> FlatSchema:
    return {
        key: value
        for key, value in part.items()
        if not (key in _EXAMPLES and (key == "examples" or isinstance(value, dict | list)))
    }


def _normalize(schema: FlatSchema) -> FlatSchema:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds]
    elif not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        schema.pop("type", None)
    if schema.pop("nullable", False) is True and isinstance(schema.get("type"), list):
        schema["type"] = [*schema["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return _with_choices(schema)


def _with_choices(schema: FlatSchema) -> FlatSchema:
    discriminator = schema.get("discriminator")
    discriminator = discriminator if isinstance(discriminator, Mapping) else None
    choices = []
    for key in ("oneOf", "anyOf"):
        branches = schema.pop(key, None)
        if isinstance(branches, list) and branches:
            choices.append(SchemaChoice(tuple(branches), key == "oneOf", discriminator))
            schema.pop("discriminator", None)
    return {**schema, "choices": choices} if choices else schema


def merge_schemas(one: FlatSchema, other: FlatSchema) -> FlatSchema:
    """Return a schema that demands both. Where they cannot be combined, the keyword of the other counts."""
    result = dict(one)
    for key, value in other.items():
        combine = _COMBINERS.get(key)
        if key not in one or combine is None:
            result[key] = value
            continue
        try:
            result[key] = combine(one[key], value)
        except (TypeError, AttributeError, ValueError, ZeroDivisionError):
            result[key] = value  # One of the two is malformed.
    return result


def _properties(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: _both(one[name], other[name]) for name in one if name in other}
    return {**one, **other, **both}


def _both(one: Any, other: Any) -> Any:
    """Return a schema that demands both, and each of their parts once: they may double with each level."""
    parts = _distinct([*_parts(one), *_parts(other)])
    return {"allOf": parts} if len(parts) > 1 else parts[0]


def _parts(schema: Any) -> list[Any]:
    only = isinstance(schema, Mapping) and len(schema) == 1 and isinstance(schema.get("allOf"), list)
    return schema["allOf"] or [schema] if only else [schema]


def _distinct(parts: list[Any]) -> list[Any]:
    return list({id(part): part for part in parts}.values())


def _types(one: list[str], other: list[str]) -> list[str]:
    common = [kind for kind in one if kind in other]
    if "integer" not in common and {"integer", "number"} <= {*one, *other}:
        common = ["integer", *common]
    return common or other


def _multiple(one: float, other: float) -> float:
    left, right = Fraction(str(one)), Fraction(str(other))
    top = math.lcm(left.numerator * right.denominator, right.numerator * left.denominator)
    both = Fraction(top, left.denominator * right.denominator)
    return int(both) if both.denominator == 1 else float(both)


def _additional(one: Any, other: Any) -> Any:
    if one is False or other is False:
        return False
    schemas = [each for each in (one, other) if isinstance(each, Mapping)]
    return _both(*schemas) if len(schemas) == 2 else schemas[0] if schemas else True


_COMBINERS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": lambda one, other: [*one, *(name for name in other if name not in one)],
    "type": _types,
    "enum": lambda one, other: [each for each in one if each in other] or other,
    "choices": lambda one, other: _distinct([*one, *other]),
    "items": _both,
    "additionalProperties": _additional,
    "multipleOf": _multiple,
    "dependentRequired": lambda one, other: {**one, **other},
    "uniqueItems": lambda one, other: one or other,
    "readOnly": lambda one, other: one or other,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


_DEEPEST = 12
MOST_CHECKS = 20_000
"""Branches of branches may double with each level."""
_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_NUMBER_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SIZE_BOUNDS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


def fits(value: Any, schema: Any, schemas: Schemas) -> bool:
    """Return whether a value fits a schema. Keywords that are not checked count as met."""
    return schema is not False and _fits(value, schemas.flat(schema), schemas, 0)


def flat_fits(value: Any, flat: FlatSchema, schemas: Schemas) -> bool:
    """Return whether a value fits a flat schema."""
    return _fits(value, flat, schemas, 0)


def _fits(value: Any, flat: FlatSchema, schemas: Schemas, depth: int) -> bool:
    schemas.checks_left -= 1
    if depth > _DEEPEST or schemas.checks_left < 0:
        return True
    kinds = flat.get("type")
    keywords: FlatSchema = {"type": kinds} if isinstance(kinds, list) and _TYPES.issuperset(kinds) else {}
    if not _keeps_bounds(value, flat, _SIZE_BOUNDS, keywords):
        return False
    # By Python's equality: the library raises or iterates over the characters if `enum` is not a list.
    if "const" in flat and value != flat["const"]:
        return False
    if isinstance(flat.get("enum"), list) and value not in flat["enum"]:
        return False
    if _is_number(value) and not number_fits(value, flat):
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


def _object_fits(value: dict[str, Any], flat: FlatSchema, schemas: Schemas, depth: int) -> bool:
    properties = flat.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    for name in names_in(flat.get("required")):
        # A request leaves out read-only properties, required or not.
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
    """Return the names of a list such as `required`."""
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def number_fits(value: float, flat: FlatSchema) -> bool:
    """Return whether a number keeps the bounds and the step of a schema."""
    if not _keeps_bounds(value, flat, _NUMBER_BOUNDS, {}):
        return False
    step = flat.get("multipleOf")
    return not _is_number(step) or step <= 0 or Fraction(str(value)) % Fraction(str(step)) == 0


def _keeps_bounds(value: Any, flat: FlatSchema, bounds: tuple[str, ...], keywords: FlatSchema) -> bool:
    """Return whether a value meets the keywords and those of the bounds that are numbers."""
    checked = keywords | {key: flat[key] for key in bounds if _is_number(flat.get(key))}
    return not checked or Draft202012Validator(checked).is_valid(value)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
