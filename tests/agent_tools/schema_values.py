"""Strategies of arguments that fit a tool's schema, and of arguments that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]
_SMALL = 4
_WORDS = st.text(max_size=40)

_ODD: tuple[Any, ...] = (
    *(10**400, -(10**400), 1e308, -0.0, 2**63, 2**64, "1e999", "0x10", "１２", "NaN", "-1", "0.5", "1,5"),
    *("", " ", "\0", "\ud800", "\u202e", "null", "true", "{}", "[]", "%s%n{0}", "'\"`$(id)", "\n" * 1000),
    *("../..", "/", "/etc/passwd", "file:///", "C:\\", "~", "a" * 100_000, [[[[[]]]]], {"": {"": {"": []}}}),
)
_NESTED: st.SearchStrategy[Any] = st.recursive(
    st.none() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=_SMALL,
)


@st.composite
def junk(draw: st.DrawFn) -> Any:
    """Return any JSON value, which fits a schema only by chance."""
    simple = st.none() | st.booleans() | st.integers() | st.floats() | _WORDS
    return draw(st.one_of(simple, st.sampled_from(_ODD), _NESTED))


def from_schema(schema: Schema) -> st.SearchStrategy[Any]:
    """Return a strategy of values that fit a schema. A keyword that our schemas do not use is a KeyError."""
    if "anyOf" in schema:
        return st.one_of(*map(from_schema, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    found: st.SearchStrategy[Any] = _TYPES[schema["type"]](schema)
    return found


def _number(schema: Schema) -> st.SearchStrategy[Any]:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    floats = st.floats(
        least,
        schema.get("maximum"),
        allow_nan=False,
        allow_infinity=False,
        exclude_min="exclusiveMinimum" in schema,
    )
    return floats | floats.map(str)


def _integer(schema: Schema) -> st.SearchStrategy[Any]:
    whole = st.integers(schema.get("minimum"), schema.get("maximum"))
    return whole | whole.map(str)


_TYPES: dict[str, Any] = {
    "string": lambda schema: _WORDS,
    "number": _number,
    "integer": _integer,
    "boolean": lambda schema: st.booleans(),
    "array": lambda schema: st.lists(from_schema(schema["items"]), max_size=min(schema["maxItems"], _SMALL)),
    "object": lambda schema: st.dictionaries(
        _WORDS, from_schema(schema["additionalProperties"]), max_size=_SMALL
    ),
}


def arguments_for(
    schema: Schema,
    good: Mapping[str, st.SearchStrategy[Any]],
    bad: Mapping[str, st.SearchStrategy[Any]],
) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of calls as a model would make them, with some arguments changed, left out or added.

    `good`: arguments that are always given. `bad`: values that the schema allows, but that make no sense."""
    properties: Mapping[str, Schema] = schema["properties"]
    allowed = {name: from_schema(each) for name, each in properties.items()}
    given = {name: each for name, each in good.items() if name in properties}
    rest = {name: each for name, each in allowed.items() if name not in given}
    odd = {name: st.one_of(bad.get(name, each), each, junk()) for name, each in allowed.items()}
    changes = st.one_of(
        *(st.fixed_dictionaries({name: each}) for name, each in odd.items()),
        st.dictionaries(_WORDS, junk(), max_size=1),
    )
    changed = st.tuples(st.fixed_dictionaries(given, optional=rest), st.lists(changes, max_size=2)).map(
        lambda both: {**both[0], **{name: value for each in both[1] for name, value in each.items()}}
    )
    return st.one_of(changed, changed, changed, st.fixed_dictionaries({}, optional=odd))
