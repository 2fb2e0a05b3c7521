"""Generated arguments are those that a schema allows."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.mcp.probe.servers.tool_arguments import (
    emptiest_arguments,
    invalid_arguments_for,
    is_read_only,
    ordinary_arguments,
    schema_problem,
    with_empty_array,
    with_text,
)


def tool(properties: dict[str, Any], *required: str, **annotations: bool) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": "t", "inputSchema": schema, "annotations": annotations}


TEXT = tool({"text": {"type": "string"}}, "text")
SHORT = tool({"text": {"type": "string", "maxLength": 3}}, "text")
CODED = tool({"code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}}, "code")
CHOICE = tool(
    {"unit": {"enum": ["km", "mi"]}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "unit"
)
LAX = tool({"more": {"type": ["string", "boolean"]}, "text": {"type": "string"}}, "more", "text")
PATH = tool({"path": {"type": "string"}, "note": {"type": "string"}}, "path")
ITEMS = tool({"items": {"type": "array"}, "more": {"type": "array", "minItems": 1}})
ELSEWHERE = tool({"x": {"$ref": "http://127.0.0.1:9/schema.json"}}, "x")


@pytest.mark.parametrize(
    ("made", "arguments"),
    [
        (ordinary_arguments(TEXT), {"text": "faultkit"}),
        (emptiest_arguments(TEXT), {"text": ""}),
        (with_text(TEXT, "ü"), {"text": "ü"}),
        (with_text(SHORT, "long"), None),
        (ordinary_arguments(CODED), None),
        (with_text(CODED, "x"), None),
        (ordinary_arguments(CHOICE), {"unit": "km"}),
        (with_text(CHOICE, "ü"), {"unit": "km", "note": "ü"}),
        (ordinary_arguments(LAX), {"more": False, "text": "faultkit"}),
        (with_text(LAX, "ü"), {"more": False, "text": "ü"}),
        (ordinary_arguments(TEXT, {"text": "x"}), {"text": "x"}),
        (ordinary_arguments(TEXT, {"text": 7}), None),
        (with_text(TEXT, "ü", {"text": "x"}), {"text": "ü"}),
        (with_text(PATH, "ü", {"path": "/x"}), {"path": "/x", "note": "ü"}),
        (with_empty_array(ITEMS), {"items": []}),
        (with_empty_array(TEXT), None),
        (ordinary_arguments(ELSEWHERE), None),
        (ordinary_arguments({"name": "t"}), {}),
        (invalid_arguments_for(TEXT), {"text": {"not": "this"}}),
        (invalid_arguments_for(tool({"any": {}})), None),
    ],
)
def test_arguments_fit_or_there_are_none(
    made: dict[str, Any] | None, arguments: dict[str, Any] | None
) -> None:
    assert made == arguments


def test_what_is_wrong_with_arguments_is_told() -> None:
    assert schema_problem(TEXT, {"text": "x"}) == ""
    assert schema_problem(TEXT, {"text": 7}) == "$.text: 7 is not of type 'string'"
    assert schema_problem(ELSEWHERE, {"x": 1}) == "the schema cannot be used: _WrappedReferencingError"


@pytest.mark.parametrize(
    ("annotations", "read_only"),
    [
        ({}, False),
        ({"readOnlyHint": True}, True),
        ({"readOnlyHint": True, "destructiveHint": True}, True),
        ({"readOnlyHint": False}, False),
        ({"destructiveHint": False}, False),
        ({"destructiveHint": False, "idempotentHint": True}, False),
        ({"destructiveHint": True, "idempotentHint": True}, False),
    ],
)
def test_a_tool_is_read_only_if_it_says_so(annotations: dict[str, bool], read_only: bool) -> None:
    assert is_read_only(tool({}, **annotations)) is read_only
