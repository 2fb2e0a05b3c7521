"""Schemas made flat: `$ref` and `allOf` gone, one mapping that says everything a value must satisfy.

Differences of OpenAPI 3.0 and 3.1 end here: `type` is a list, `nullable` is the type `null`, exclusive bounds
are numbers, `oneOf` and `anyOf` are entries of `choices`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from faultkit.scenario.openapi.resolve import Resolver

Flat: TypeAlias = dict[str, Any]

_SHAPE = frozenset({"properties", "required", "choices", "items"})
"""With one of these beside it, a part no longer says all: its own example would be too small."""
_EXAMPLES = ("example", "examples", "default")


@dataclass(frozen=True, slots=True)
class Choice:
    """One `oneOf` or `anyOf`."""

    branches: tuple[Any, ...]
    exactly_one: bool
    discriminator: Mapping[str, Any] | None = None


class Schemas:
    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[str, Flat] = {}

    def flat(self, schema: Any, seen: frozenset[str] = frozenset()) -> Flat:
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return self._composed(schema, [], seen)
        alone = len(schema) == 1 or self._resolver.minor == 0
        if alone and ref in self._known:
            return self._known[ref]
        target = {} if ref in seen else self.flat(self._resolver.at(ref), seen | {ref})
        if not alone:
            return self._composed(schema, [target], seen)
        if not seen:
            self._known[ref] = target
        return target

    def _composed(self, schema: Mapping[str, Any], parts: list[Flat], seen: frozenset[str]) -> Flat:
        own = _normal({key: value for key, value in schema.items() if key not in ("$ref", "allOf")})
        all_of = schema.get("allOf")
        parts = [*parts, *(self.flat(part, seen) for part in (all_of if isinstance(all_of, list) else ()))]
        if len(parts) > 1 or own.keys() & _SHAPE:
            parts = [_without_whole_examples(part) for part in parts]
        result: Flat = {}
        for part in (*parts, own):
            result = joined(result, part)
        return result


def _without_whole_examples(part: Flat) -> Flat:
    return {
        key: value
        for key, value in part.items()
        if not (key in _EXAMPLES and (key == "examples" or isinstance(value, dict | list)))
    }


def _normal(schema: Flat) -> Flat:
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


def _with_choices(schema: Flat) -> Flat:
    discriminator = schema.get("discriminator")
    discriminator = discriminator if isinstance(discriminator, Mapping) else None
    choices = []
    for key in ("oneOf", "anyOf"):
        branches = schema.pop(key, None)
        if isinstance(branches, list) and branches:
            choices.append(Choice(tuple(branches), key == "oneOf", discriminator))
            schema.pop("discriminator", None)
    return {**schema, "choices": choices} if choices else schema


def joined(one: Flat, other: Flat) -> Flat:
    """What satisfies both. Where that cannot be said, the other's word holds."""
    result = dict(one)
    for key, value in other.items():
        join = _JOINS.get(key)
        if key not in one or join is None:
            result[key] = value
            continue
        try:
            result[key] = join(one[key], value)
        except (TypeError, AttributeError, ValueError, ZeroDivisionError):
            result[key] = value  # Not what a schema may hold there.
    return result


def _properties(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: {"allOf": [one[name], other[name]]} for name in one if name in other}
    return {**one, **other, **both}


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
    return {"allOf": schemas} if len(schemas) == 2 else schemas[0] if schemas else True


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": lambda one, other: [*one, *(name for name in other if name not in one)],
    "type": _types,
    "enum": lambda one, other: [each for each in one if each in other] or other,
    "choices": lambda one, other: [*one, *other],
    "items": lambda one, other: {"allOf": [one, other]},
    "additionalProperties": _additional,
    "multipleOf": _multiple,
    "dependentRequired": lambda one, other: {**one, **other},
    "uniqueItems": lambda one, other: one or other,
    "readOnly": lambda one, other: one or other,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
