"""An example of a schema for a request: the author's own example, else the smallest valid value.

Read-only properties are left out. A schema that contains itself ends where it may: an optional property is
left out, a list stays empty, another branch is taken. Own code, because hypothesis-jsonschema gives random
values. `faultkit.base.documents.schema_example` builds other examples: the smallest value, without formats,
patterns and checks. Mocks and probes send those, so their bytes must not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

from faultkit.scenario.openapi.flat_schema import (
    MOST_CHECKS,
    FlatSchema,
    SchemaChoice,
    Schemas,
    fits,
    flat_fits,
    merge_schemas,
    names_in,
    number_fits,
)
from faultkit.scenario.openapi.openapi_document import ReferenceResolver
from faultkit.scenario.openapi.scalar_example import number_for, string_for

_DEEPEST = 40
_MOST_STEPS = 5_000
_MOST_ITEMS = 100
_SCALARS = frozenset({"string", "number", "integer", "boolean"})

Trail: TypeAlias = tuple[str, ...]
"""The references that were followed; an empty text for a step without one."""

_HINTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("object", ("properties", "required", "additionalProperties", "minProperties", "discriminator")),
    ("array", ("items", "prefixItems", "minItems", "uniqueItems", "contains")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
"""The type of a schema without `type`, by the keywords that it has; without any of these, a string."""


class _Endless(Exception):
    """The schema leads in a circle, or too deep."""


class Examples:
    """Builds examples of the schemas of one document, and keeps those of references."""

    def __init__(self, resolver: ReferenceResolver) -> None:
        self._schemas = Schemas(resolver)
        self._by_ref: dict[str, Any] = {}
        self._steps_left = 0

    def of(self, schema: Any) -> Any:
        """Return an example of a schema."""
        self._steps_left = _MOST_STEPS
        self._schemas.checks_left = MOST_CHECKS
        try:
            return self._value(schema, ())
        except _Endless:
            return {"object": {}, "array": []}.get(_kind(self._schemas.flat(schema)))

    def flat(self, schema: Any) -> FlatSchema:
        """Return the flat form of a schema."""
        return self._schemas.flat(schema)

    def _value(self, schema: Any, trail: Trail) -> Any:
        self._steps_left -= 1
        ref = _ref(schema)
        if self._steps_left < 0 or len(trail) > _DEEPEST or (ref and ref in trail):
            raise _Endless
        if ref in self._by_ref and len(schema) == 1:
            return self._by_ref[ref]
        made = self._of_flat(self._schemas.flat(schema), (*trail, ref))
        if ref and len(schema) == 1:
            self._by_ref[ref] = made
        return made

    def _of_flat(self, flat: FlatSchema, trail: Trail) -> Any:
        for value in _author_examples(flat):
            if flat_fits(value, flat, self._schemas):
                return self._writable(value, flat)
        if flat.get("choices"):
            return self._of_choice(flat, trail)
        flat, subtype = self._with_tag(flat, trail)
        if subtype is not None:
            return self._value(subtype, trail)
        return _MAKERS[_kind(flat)](self, flat, trail)

    def _writable(self, value: Any, flat: FlatSchema) -> Any:
        """Return the author's example without its read-only properties."""
        properties = flat.get("properties")
        if not isinstance(value, dict) or not isinstance(properties, Mapping):
            return value
        flats = {name: self._schemas.flat(properties.get(name)) for name in value}
        return {
            name: self._writable(each, flats[name])
            for name, each in value.items()
            if not flats[name].get("readOnly")
        }

    def _of_choice(self, flat: FlatSchema, trail: Trail) -> Any:
        """Return an example of the first branch that ends and, for `oneOf`, that fits no other branch."""
        choice: SchemaChoice = flat["choices"][0]
        base = {**flat, "choices": flat["choices"][1:]}
        second_best: list[Any] = []
        # Null is rarely meant as an example, and False allows nothing: they come last.
        for branch in sorted(
            choice.branches,
            key=lambda each: each is False or self._schemas.flat(each).get("type") == ["null"],
        ):
            ref = _ref(branch)
            if ref and ref in trail:
                continue
            self._steps_left -= 1
            if self._steps_left < 0:
                break
            narrowed = merge_schemas(base, self._schemas.flat(branch))
            if choice.discriminator is not None and ref:
                narrowed["discriminator"] = choice.discriminator
            try:
                value = self._of_flat(narrowed, (*trail, ref))
            except _Endless:
                continue
            others = (other for other in choice.branches if other is not branch)
            if not choice.exactly_one or not any(fits(value, other, self._schemas) for other in others):
                return value
            second_best.append(value)
        if not second_best:
            raise _Endless
        return second_best[0]

    def _with_tag(self, flat: FlatSchema, trail: Trail) -> tuple[FlatSchema, Any]:
        """Set the discriminator's property to the name of this schema; or return a subtype of it."""
        discriminator = flat.get("discriminator")
        name = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
        here = next((ref for ref in reversed(trail) if ref), "")
        if not isinstance(discriminator, Mapping) or not isinstance(name, str) or not here:
            return flat, None
        given = discriminator.get("mapping")
        mapping = {
            key: target if any(mark in target for mark in "#/.") else f"#/components/schemas/{target}"
            for key, target in (given.items() if isinstance(given, Mapping) else ())
            if isinstance(target, str)
        }
        tag = next((key for key, target in mapping.items() if target == here), None)
        if tag is None and mapping:
            subtype = next((target for target in mapping.values() if target not in trail), None)
            if subtype is not None:
                return flat, {"$ref": subtype}
        tag = unquote(here.rpartition("/")[2]) if tag is None else tag
        properties = flat.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        if name in properties and not fits(tag, properties[name], self._schemas):
            return flat, None
        return merge_schemas(flat, {"properties": {name: {"const": tag}}, "required": [name]}), None

    def _object(self, flat: FlatSchema, trail: Trail) -> dict[str, Any]:
        properties = flat.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        additional = flat.get("additionalProperties")
        required = _required_names(flat)
        most = flat["maxProperties"] if isinstance(flat.get("maxProperties"), int) else len(properties)
        result: dict[str, Any] = {}
        for name in (*properties, *(name for name in required if name not in properties)):
            schema = properties.get(name, additional if isinstance(additional, Mapping) else {})
            member = self._schemas.flat(schema)
            if member.get("readOnly"):
                continue
            if name in required:
                result[name] = self._value(schema, (*trail, ""))
            else:
                missing = sum(each not in result for each in required)
                if len(result) + missing < max(most, 0) and _is_cheap(member, not required):
                    self._add(result, name, schema, trail)
        self._fill(result, flat, properties, additional, trail)
        return result

    def _fill(
        self,
        result: dict[str, Any],
        flat: FlatSchema,
        properties: Mapping[str, Any],
        additional: Any,
        trail: Trail,
    ) -> None:
        """Add properties up to `minProperties`, and one to a map, to show its values."""
        least = flat.get("minProperties")
        least = min(least, _MOST_ITEMS) if isinstance(least, int) else 0
        for name, schema in properties.items():
            if len(result) < least and name not in result and not self._schemas.flat(schema).get("readOnly"):
                self._add(result, name, schema, trail)
        if not properties and isinstance(additional, Mapping) and flat.get("maxProperties") != 0:
            least = max(least, 1)
        if additional is not False:
            values = additional if isinstance(additional, Mapping) else {}
            for number in range(1, least - len(result) + 1):
                self._add(result, f"property{number}", values, trail)

    def _add(self, result: dict[str, Any], name: str, schema: Any, trail: Trail) -> None:
        try:
            result[name] = self._value(schema, (*trail, ""))
        except _Endless:
            return

    def _array(self, flat: FlatSchema, trail: Trail) -> list[Any]:
        least = flat["minItems"] if isinstance(flat.get("minItems"), int) else 0
        most = flat["maxItems"] if isinstance(flat.get("maxItems"), int) else least + 1
        count = min(max(least, 1), max(most, 0), _MOST_ITEMS)
        deeper = (*trail, "")
        first = flat.get("prefixItems")
        items = [self._value(each, deeper) for each in (first[:count] if isinstance(first, list) else ())]
        if "contains" in flat and len(items) < count:
            items.append(self._value(flat["contains"], deeper))
        rest = flat.get("items", {})
        if rest is False or len(items) >= count:
            return items
        try:
            item = self._value(rest, deeper)
        except _Endless:
            if least > len(items):
                raise
            return items
        if not flat.get("uniqueItems"):
            return [*items, *([item] * (count - len(items)))]
        for value in _variants(item, self._schemas.flat(rest)):
            if len(items) >= count:
                break
            if value not in items:
                items.append(value)
        return items


_MAKERS: dict[str, Callable[[Examples, FlatSchema, Trail], Any]] = {
    "object": Examples._object,
    "array": Examples._array,
    "string": lambda _, flat, __: string_for(flat),
    "integer": lambda _, flat, __: number_for(flat, whole=True),
    "number": lambda _, flat, __: number_for(flat, whole=False),
    "boolean": lambda _, __, ___: True,
    "null": lambda _, __, ___: None,
}


def _ref(schema: Any) -> str:
    ref = schema.get("$ref") if isinstance(schema, Mapping) else None
    return ref if isinstance(ref, str) else ""


def _kind(flat: FlatSchema) -> str:
    kinds = [kind for kind in flat.get("type") or () if kind in _MAKERS]
    if kinds:
        return next((kind for kind in kinds if kind != "null"), "null")
    return next((kind for kind, keys in _HINTS if any(key in flat for key in keys)), "string")


def _author_examples(flat: FlatSchema) -> Iterator[Any]:
    """Yield the author's examples, the best first and null last, which is rarely meant as one."""
    examples, enum = flat.get("examples"), flat.get("enum")
    if isinstance(examples, Mapping):  # The form of media types, which authors use in schemas too.
        examples = [each.get("value") if isinstance(each, Mapping) else each for each in examples.values()]
    for value in (
        flat.get("example"),
        *(examples if isinstance(examples, list) else ()),
        flat.get("default"),
        *([flat["const"]] if "const" in flat else []),
        *(enum if isinstance(enum, list) else ()),
    ):
        if value is not None:
            yield value
    if flat.get("const", "") is None or (isinstance(enum, list) and None in enum):
        yield None


def _required_names(flat: FlatSchema) -> list[str]:
    names = names_in(flat.get("required"))
    depends = flat.get("dependentRequired")
    if isinstance(depends, Mapping):
        for name in names:  # Grows during the loop: dependents may have dependents.
            names.extend(each for each in names_in(depends.get(name)) if each not in names)
    return names


def _is_cheap(member: FlatSchema, nothing_required: bool) -> bool:
    """Return whether to add an optional property: it has an example, or the object would be empty."""
    if member.get("deprecated") or _kind(member) not in _SCALARS:
        return False
    return nothing_required or "example" in member or "examples" in member


def _variants(item: Any, flat: FlatSchema) -> Iterator[Any]:
    """Yield the item and similar ones, for lists of unique items."""
    yield item
    enum = flat.get("enum")
    if isinstance(enum, list):
        yield from enum
    elif isinstance(item, bool):
        yield not item
    elif isinstance(item, int | float):
        yield from _more_numbers(item, flat)
    elif isinstance(item, str) and not {"pattern", "format"} & flat.keys():
        longest = flat.get("maxLength")
        for number in range(2, _MOST_ITEMS + 2):
            base = item if not isinstance(longest, int) else item[: max(0, longest - len(str(number)))]
            yield f"{base}{number}"


def _more_numbers(item: float, flat: FlatSchema) -> Iterator[float]:
    step = flat["multipleOf"] if isinstance(flat.get("multipleOf"), int | float) else 1
    for direction in (1, -1):
        for number in range(1, _MOST_ITEMS + 1):
            value = item + direction * number * step
            if not number_fits(value, flat):
                break
            yield value
