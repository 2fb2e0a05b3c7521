"""Names in answers, what becomes a result, and samples of schemas."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from faultkit.base.documents.schema_example import smallest_value
from faultkit.mcp.mock.answer_template import filled, has_names, unknown_name
from faultkit.mcp.mock.mock_model import mock_result

NAMES = {"args": {"q": "tea", "n": 2, "deep": {"list": ["a", {"b": True}]}, "a-b": 1, "no": None}, "call": 4}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("found ${args.q}", "found tea"),
        ("${ args.q }${call}", "tea4"),
        ("${args.q}", "tea"),
        ("${args.n}", 2),
        ("n=${args.n}", "n=2"),
        ("${args.deep}", {"list": ["a", {"b": True}]}),
        ("d=${args.deep.list}", 'd=["a", {"b": true}]'),
        ("${args.deep.list.1.b}", True),
        ("${args.deep.list.9}", None),
        ("${args.q.x}", None),
        ("[${args.missing}]", "[]"),
        ("${args.missing}", None),
        ("[${args.no}]", "[]"),
        ("${args.a-b}", 1),
        ("$args.q {args.q} ${} ${args.q", "$args.q {args.q} ${} ${args.q"),
        ({"${args.q}": ["${args.n}", 5, None]}, {"${args.q}": [2, 5, None]}),
        ({"a": {"b": "${args.q}!"}}, {"a": {"b": "tea!"}}),
    ],
)
def test_names_are_filled_in(value: Any, expected: Any) -> None:
    assert filled(value, NAMES) == expected


@pytest.mark.parametrize(
    ("value", "has", "unknown"),
    [
        ("plain", False, None),
        ("${args.q}", True, None),
        (["x", {"a": "${tool}"}], True, None),
        ({"${args.q}": "x"}, False, None),
        (5, False, None),
        ("${arg.q}", True, "arg"),
        ({"a": ["${args.x}", "${foo}"]}, True, "foo"),
    ],
)
def test_names_are_seen_beforehand(value: Any, has: bool, unknown: str | None) -> None:
    assert (has_names(value), unknown_name(value)) == (has, unknown)


def test_an_argument_is_never_taken_for_a_template() -> None:
    assert filled("${args.q}", {"args": {"q": "${call}"}, "call": 1}) == "${call}"
    assert filled("<${args.q}>", {"args": {"q": "${call}"}, "call": 1}) == "<${call}>"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("hi", {"content": [{"type": "text", "text": "hi"}]}),
        (5, {"content": [{"type": "text", "text": "5"}]}),
        (None, {"content": [{"type": "text", "text": "null"}]}),
        ([1, "é"], {"content": [{"type": "text", "text": '[1, "é"]'}]}),
        ([], {"content": [{"type": "text", "text": "[]"}]}),
        ({"a": 1}, {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}),
        ({"content": "x"}, {"content": [{"type": "text", "text": "x"}]}),
        ({"content": []}, {"content": []}),
        ({"content": [{"type": "image", "data": ""}]}, {"content": [{"type": "image", "data": ""}]}),
        ([{"type": "text", "text": "a"}], {"content": [{"type": "text", "text": "a"}]}),
        ({"structuredContent": {"a": 1}}, {"content": [], "structuredContent": {"a": 1}}),
        (
            {"content": "no", "isError": True, "_meta": {"k": 1}},
            {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {"k": 1}},
        ),
    ],
)
def test_what_is_written_becomes_a_result(value: Any, result: dict[str, Any]) -> None:
    assert mock_result(value).document({}) == result


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": {"type": "boolean"}}, "required": ["a"]},
    {"type": "array", "items": {"type": "number", "minimum": 3}, "minItems": 2},
    {"type": "string", "minLength": 3},
    {"type": ["integer", "null"]},
    {"enum": ["x", "y"]},
    {"const": 7},
    {"anyOf": [{"type": "null"}, {"type": "string"}]},
    {
        "type": "object",
        "properties": {"inner": {"$ref": "#/$defs/inner"}},
        "required": ["inner"],
        "$defs": {"inner": {"type": "object", "properties": {"x": {"default": 1.5}}, "required": ["x"]}},
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_sample_fits_its_schema(schema: dict[str, Any]) -> None:
    jsonschema.validate(smallest_value(schema), schema)


def test_a_schema_without_end_has_a_sample_all_the_same() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert set(smallest_value(node)) == {"next"}
    assert smallest_value({"$ref": "#/nowhere"}) is None
    assert smallest_value("nonsense") is None
    assert smallest_value({"type": "array", "minItems": 10**9, "items": {}}) == [None] * 1000
