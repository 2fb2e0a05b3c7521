"""Examples of schemas: the author's own, else the smallest valid value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.scenario.openapi.scalar_example import FORMATS
from tests.scenario.openapi.documents import example

OBJECT: dict[str, Any] = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "example": "a", "default": "b", "enum": ["c", "a", "b"]}, "a"),
        ({"type": "string", "examples": ["a"], "default": "b"}, "a"),
        ({"type": "string", "default": "b", "enum": ["a", "b"]}, "b"),
        ({"const": "c"}, "c"),
        ({"const": None}, None),
        ({"enum": [None, "e"]}, "e"),
        ({"enum": [None]}, None),
        ({"type": "integer", "example": "not one"}, 1),
        ({"type": "integer", "example": 0, "minimum": 5}, 5),
        ({"type": "string", "default": None}, "string"),
        ({"type": "boolean", "example": False}, False),
        ({"type": "integer", "default": 0}, 0),
        (True, "string"),
        ({}, "string"),
    ],
)
def test_a_valid_example_of_the_author_goes_first(schema: Any, value: object) -> None:
    assert example(schema) == value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 1),
        ({"type": "integer", "maximum": 0}, 0),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "exclusiveMinimum": 4, "multipleOf": 5}, 5),
        ({"type": "integer", "minimum": 7, "multipleOf": 1.5}, 9),
        ({"type": "integer", "exclusiveMinimum": 6, "minimum": 6}, 7),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "exclusiveMinimum": 10}, 11),
        ({"type": "number", "minimum": 0.15, "maximum": 0.2, "multipleOf": 0.1}, 0.2),
        ({"minimum": 3}, 3),
        ({"type": "string", "minLength": 8}, "stringaa"),
        ({"type": "string", "maxLength": 2}, "st"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "AA"),
        ({"type": "string", "pattern": "(?=x)y"}, "string"),
        ({"type": "string", "format": "date"}, "2024-01-15"),
        ({"type": "string", "format": "uuid", "pattern": "^[0-9a-f-]+$"}, FORMATS["uuid"]),
        ({"type": "string", "format": "unheard-of"}, "string"),
        ({"type": "string", "format": "email", "minLength": 18}, "uuuser@example.com"),
        ({"type": "string", "format": "byte", "minLength": 13}, "ZXhhZXhhbXBsZXM="),
        ({"type": "string", "contentEncoding": "base64"}, "ZXhhbXBsZXM="),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "null"}, None),
        ({"type": "file"}, "string"),
    ],
)
def test_single_values_are_the_least_that_is_valid(schema: Any, value: object) -> None:
    assert example(schema) == value


def test_the_bounds_of_3_0_are_booleans_beside_the_number() -> None:
    schema = {
        "type": "integer",
        "minimum": 3,
        "exclusiveMinimum": True,
        "maximum": 4,
        "exclusiveMaximum": False,
    }
    assert example(schema, minor=0) == 4
    assert example({"type": "integer", "nullable": True}, minor=0) == 1


def test_optional_properties_are_left_out_unless_they_have_an_example() -> None:
    schema = {
        **OBJECT,
        "required": ["a", "undeclared"],
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string"},
            "c": {"type": "string", "example": "see"},
            "d": {"type": "string", "example": "old", "deprecated": True},
        },
    }
    assert example(schema) == {"a": 1, "c": "see", "undeclared": "string"}


def test_where_nothing_is_required_single_values_go_along() -> None:
    schema = {
        **OBJECT,
        "properties": {"a": {"type": "integer"}, "b": {"type": "array"}, "c": {"type": "object"}},
    }
    assert example(schema) == {"a": 1}
    assert example({**schema, "maxProperties": 0}) == {}


def test_read_only_properties_are_not_sent() -> None:
    schema = {
        **OBJECT,
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "at": {"$ref": "#/components/schemas/At"},
        },
    }
    at = {"type": "string", "readOnly": True, "example": "now"}
    assert example(schema, At=at) == {"name": "string"}
    given = {"id": 5, "name": "n", "at": "x", "more": 1}
    assert example({**schema, "example": given}, At=at) == {"name": "n", "more": 1}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 2, 3]),
        ({"type": "array", "items": {"maximum": 1}, "minItems": 3, "uniqueItems": True}, [1, 0, -1]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True}, ["a", "b"]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True}, [True, False]),
        (
            {
                "type": "array",
                "items": {"type": "string", "maxLength": 2},
                "minItems": 2,
                "uniqueItems": True,
            },
            ["st", "s2"],
        ),
        ({"type": "array", "prefixItems": [{"const": 1}], "items": False}, [1]),
        ({"type": "array", "contains": {"const": 4}}, [4]),
        ({"type": "array"}, ["string"]),
        ({"items": {"type": "integer"}}, [1]),
    ],
)
def test_lists_have_one_item_or_as_many_as_they_must(schema: Any, value: object) -> None:
    assert example(schema) == value


def test_a_map_shows_one_value_and_an_object_has_as_many_as_it_must() -> None:
    assert example({**OBJECT, "additionalProperties": {"type": "integer"}}) == {"property1": 1}
    assert example({**OBJECT, "additionalProperties": True}) == {}
    assert example({**OBJECT, "minProperties": 2}) == {"property1": "string", "property2": "string"}
    schema = {**OBJECT, "required": ["a"], "minProperties": 2, "properties": {"a": {}, "b": OBJECT}}
    assert example({**schema, "additionalProperties": False}) == {"a": "string", "b": {}}


def test_dependents_of_a_required_property_are_required() -> None:
    schema = {**OBJECT, "required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c", "a"]}}
    assert example(schema) == {"a": "string", "b": "string", "c": "string"}


def test_all_of_is_merged() -> None:
    schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"properties": {"n": {"maximum": 9}}, "required": ["x"]},
        ],
        "properties": {"x": {"type": "integer", "multipleOf": 4}},
    }
    base = {
        **OBJECT,
        "required": ["n"],
        "properties": {"n": {"type": "integer", "minimum": 8}, "x": {"multipleOf": 6, "minimum": 13}},
        "example": {"n": 8},
    }
    assert example(schema, Base=base) == {"n": 8, "x": 24}


def test_a_wrapping_all_of_keeps_the_example_of_what_it_wraps() -> None:
    size = {"type": "string", "enum": ["s", "m"], "example": "m"}
    whole = {**OBJECT, "required": ["a"], "example": {"a": 5}}
    assert example({"allOf": [{"$ref": "#/components/schemas/Size"}]}, Size=size) == "m"
    assert example({"allOf": [{"$ref": "#/components/schemas/Whole"}], "title": "t"}, Whole=whole) == {"a": 5}


def test_beside_a_reference_3_1_may_narrow_it_and_3_0_may_not() -> None:
    schema = {"$ref": "#/components/schemas/Text", "maxLength": 1}
    assert example(schema, 1, Text={"type": "string"}) == "s"
    assert example(schema, 0, Text={"type": "string"}) == "string"


def test_the_first_branch_that_is_not_null_is_taken() -> None:
    assert example({"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]}) == 1
    assert example({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}], "minimum": 3}) == 3


def test_one_of_prefers_a_value_that_fits_one_branch_only() -> None:
    loose = {**OBJECT, "properties": {"a": {"type": "integer"}}}
    strict = {**OBJECT, "required": ["b"], "properties": {"b": {"const": 1}}}
    assert example({"oneOf": [strict, loose]}) == {"a": 1}
    assert example({"oneOf": [strict, OBJECT]}) == {}
    assert example({"oneOf": [strict, {**OBJECT, "required": ["b"]}]}) == {"b": "string"}
    assert example({"oneOf": [strict, strict]}) == {"b": 1}
    schema = {"oneOf": [{"type": "number"}, {"type": "integer"}, {"type": "string"}]}
    assert example(schema) == "string"


def test_a_discriminator_names_the_branch() -> None:
    cat = {**OBJECT, "required": ["kind"], "properties": {"kind": {"type": "string"}}}
    one_of = {"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind"}}
    assert example(one_of, Cat=cat) == {"kind": "Cat"}
    mapped = {**one_of, "discriminator": {"propertyName": "kind", "mapping": {"c": "Cat"}}}
    assert example(mapped, Cat=cat) == {"kind": "c"}
    fixed = {**cat, "properties": {"kind": {"enum": ["felis"]}}}
    assert example(one_of, Cat=fixed) == {"kind": "felis"}


def test_a_base_with_a_discriminator_becomes_its_first_subtype() -> None:
    pet = {
        **OBJECT,
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
        "discriminator": {"propertyName": "kind", "mapping": {"d": "#/components/schemas/Dog"}},
    }
    dog = {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["bark"]}]}
    expected = {"kind": "d", "bark": "string"}
    assert example({"$ref": "#/components/schemas/Pet"}, Pet=pet, Dog=dog) == expected
    assert example({"$ref": "#/components/schemas/Dog"}, Pet=pet, Dog=dog) == expected


def test_schemas_that_contain_themselves_come_to_an_end() -> None:
    node = {"$ref": "#/components/schemas/Node"}
    optional = {
        **OBJECT,
        "required": ["v", "kids"],
        "properties": {"v": {}, "kids": {"items": node}, "up": node},
    }
    assert example(node, Node=optional) == {"v": "string", "kids": []}
    tree = {"oneOf": [{**OBJECT, "required": ["l"], "properties": {"l": node}}, {"type": "integer"}]}
    assert example(node, Node=tree) == 1
    assert example({**OBJECT, "required": ["t"], "properties": {"t": node}}, Node=tree) == {"t": 1}
    assert example(node, Node={"anyOf": [node, {"type": "integer"}]}) == 1
    assert example(node, Node={"allOf": [node, {"type": "integer"}]}) == 1


def test_an_endless_schema_gives_the_nearest_value() -> None:
    node = {"$ref": "#/components/schemas/Node"}
    assert example(node, Node={**OBJECT, "required": ["next"], "properties": {"next": node}}) == {}
    assert example(node, Node={"type": "array", "minItems": 1, "items": node}) == []
    assert example(node, Node=node) == "string"


def test_many_ways_that_all_lead_in_circles_do_not_take_forever() -> None:
    names = [f"N{number}" for number in range(30)]
    branches = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    schema = {
        **OBJECT,
        "required": ["a", "b"],
        "properties": {"a": {"anyOf": branches}, "b": {"anyOf": branches}},
    }
    assert example(branches[0], 1, **dict.fromkeys(names, schema)) == {}


LEAVES: list[tuple[dict[str, Any], object]] = [
    ({"type": "string"}, "string"),
    ({**OBJECT, "required": ["p"], "properties": {"p": {"type": "string"}}}, {"p": "string"}),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1),
    ({"type": "array", "items": {**OBJECT, "properties": {"q": {"type": "integer"}}}}, [{"q": 1}]),
    ({**OBJECT, "additionalProperties": {"type": "integer"}}, {"property1": 1}),
]


def named(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize("minor", [0, 1])
@pytest.mark.parametrize(("leaf", "value"), LEAVES, ids=["string", "object", "choice", "array", "map"])
def test_parts_that_double_with_each_level_do_not_take_forever(
    leaf: dict[str, Any], value: object, minor: int
) -> None:
    levels = range(30)
    same = {f"A{n}": {"allOf": [named(f"A{n + 1}"), named(f"A{n + 1}")]} for n in levels}
    assert example(named("A0"), minor, **same, A30=leaf) == value
    assert example(named("A0"), minor, **same, A30={"allOf": [named("A0"), named("A1"), leaf]}) == value
    two = {
        f"{letter}{n}": {"allOf": [named(f"A{n + 1}"), named(f"B{n + 1}")]} for n in levels for letter in "AB"
    }
    assert example(named("A0"), minor, **two, A30=leaf, B30=leaf) == value


@pytest.mark.parametrize("kind", ["oneOf", "anyOf"])
def test_branches_that_double_with_each_level_do_not_take_forever(kind: str) -> None:
    levels = {f"A{n}": {kind: [named(f"A{n + 1}"), named(f"A{n + 1}")]} for n in range(30)}
    assert example(named("A0"), 1, **levels, A30={"type": "string"}) == "string"


def test_a_long_row_of_references_is_followed_up_to_a_limit() -> None:
    row: dict[str, Any] = {f"A{n}": {"allOf": [named(f"A{n + 1}")]} for n in range(3000)}
    assert example(named("A0"), **row, A3000={"type": "integer"}) == "string"
    assert example(named("A2950"), **row, A3000={"type": "integer"}) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5, "properties": [], "required": "x", "allOf": {}, "oneOf": 3, "enum": "abc"},
        {"type": "object", "properties": {"a": 5, "b": None}, "required": ["a", "b", 7]},
        {"type": "string", "minLength": "x", "pattern": "(", "format": 4},
        {"type": "integer", "minimum": "x", "multipleOf": 0},
        {"type": "array", "minItems": -1, "maxItems": "x", "items": [1]},
        {"discriminator": {"propertyName": 5}, "allOf": [5, None, {"minimum": "a"}, {"minimum": 3}]},
        {"type": "object", "minProperties": 10**9, "additionalProperties": {"type": "integer"}},
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**12},
    ],
)
def test_schemas_that_are_wrong_give_something(schema: Any) -> None:
    assert len(repr(example(schema))) < 10_000


# Every generated example is valid

PATTERNS = [
    r"^\d{3}-\d{4}$",
    r"^[A-Z]{2}[0-9]+$",
    r"^(red|green|blue)$",
    r"^[^0-9]{2,4}$",
    r"ab?c*",
    r"^\w+@\w+\.[a-z]{2,}$",
    r"^(?:[a-f0-9]{2}:){5}[a-f0-9]{2}$",
    r"^v\d+(\.\d+){0,2}$",
]


def whole_numbers(bounds: tuple[int, int, bool]) -> dict[str, Any]:
    low, step, exclusive = bounds
    key = "exclusiveMinimum" if exclusive else "minimum"
    return {"type": "integer", key: low, "maximum": low + 2 * step, "multipleOf": step}


def numbers(bounds: tuple[int, float, bool, bool]) -> dict[str, Any]:
    low, step, low_open, high_open = bounds
    return {
        "type": "number",
        "exclusiveMinimum" if low_open else "minimum": low,
        "exclusiveMaximum" if high_open else "maximum": low + 2 * step,
        **({"multipleOf": step} if step != 0.125 else {}),
    }


def lengths(bounds: tuple[int, int]) -> dict[str, Any]:
    return {"type": "string", "minLength": bounds[0], "maxLength": sum(bounds)}


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def build(
        properties: dict[str, Any], required: set[str], more: Any, least: int, kinds: Any
    ) -> dict[str, Any]:
        names = sorted(required & properties.keys())
        open_ = more is not False
        return {
            "type": kinds,
            "properties": properties,
            "required": names,
            "additionalProperties": more,
            "minProperties": least if open_ else min(least, len(properties)),
        }

    names = st.sampled_from("abcdef")
    return st.builds(
        build,
        st.dictionaries(names, inner, max_size=4),
        st.sets(names),
        st.one_of(st.just(False), st.just(True), inner),
        st.integers(0, 3),
        st.sampled_from(["object", ["object", "null"], ["null", "object"]]),
    )


def merged_objects(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return parts that do not conflict: each has names of its own."""
    renamed = [
        {
            "type": "object",
            "properties": {f"{name}{number}": each for name, each in part["properties"].items()},
            "required": [f"{name}{number}" for name in part["required"]],
        }
        for number, part in enumerate(parts)
    ]
    return {"allOf": renamed}


def tagged(branches: list[Any]) -> dict[str, Any]:
    return {
        "oneOf": [
            {
                "type": "object",
                "required": ["tag", "value"],
                "properties": {"tag": {"const": number}, "value": branch},
            }
            for number, branch in enumerate(branches)
        ]
    }


single_schemas = st.one_of(
    st.tuples(st.integers(-50, 50), st.integers(1, 7), st.booleans()).map(whole_numbers),
    st.tuples(st.integers(-9, 9), st.sampled_from([0.125, 0.25, 0.5, 2]), st.booleans(), st.booleans()).map(
        numbers
    ),
    st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lengths),
    st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.sampled_from(sorted(FORMATS)).map(lambda name: {"type": "string", "format": name}),
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"const": "c"}, {}, True, {"type": ["null", "string"]}]
    ),
    st.lists(st.one_of(st.integers(), st.text(), st.none()), min_size=1).map(lambda each: {"enum": each}),
)


def larger_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        objects(inner),
        st.builds(
            lambda items, least, more: {
                "type": "array",
                "items": items,
                "minItems": least,
                "maxItems": least + more,
            },
            inner,
            st.integers(0, 3),
            st.integers(0, 2),
        ),
        st.builds(
            lambda least: {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": least,
                "uniqueItems": True,
            },
            st.integers(0, 5),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: {"anyOf": each}),
        st.lists(inner, min_size=1, max_size=3).map(tagged),
        st.lists(objects(inner), min_size=1, max_size=3).map(merged_objects),
        st.sampled_from([{"$ref": "#/components/schemas/Loop"}, {"$ref": "#/components/schemas/Plain"}]),
    )


schemas = st.recursive(single_schemas, larger_schemas, max_leaves=12)


@settings(max_examples=50)
@given(schema=schemas, plain=single_schemas)
def test_an_example_is_valid(schema: Any, plain: Any) -> None:
    loop = {
        "type": "object",
        "required": ["plain", "all"],
        "properties": {
            "plain": {"$ref": "#/components/schemas/Plain"},
            "all": {"type": "array", "items": {"$ref": "#/components/schemas/Loop"}},
            "next": {"$ref": "#/components/schemas/Loop"},
        },
    }
    components = {"schemas": {"Loop": loop, "Plain": plain}}
    made = example(schema, Loop=loop, Plain=plain)
    whole = {"components": components, "allOf": [schema]}
    checker = Draft202012Validator.FORMAT_CHECKER
    errors = list(Draft202012Validator(whole, format_checker=checker).iter_errors(made))
    assert errors == [], made
