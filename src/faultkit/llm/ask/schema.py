"""Whether a value fits a JSON schema, and what is wrong where it does not. Pure."""

from __future__ import annotations

from typing import Any

_ANSWER = "answer"
_MOST_PROBLEMS = 8
_MOST_QUOTED = 160


def problems_of(value: Any, schema: dict[str, Any]) -> list[str]:
    """One sentence a problem, each with the path to its place; none if the value fits."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)
    return [f"{error.json_path}: {_short(error.message)}" for error in errors[:_MOST_PROBLEMS]]


def wire_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as providers take it: the outermost value has to be an object."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {_ANSWER: schema},
        "required": [_ANSWER],
        "additionalProperties": False,
    }


def unwrapped(value: Any, schema: dict[str, Any]) -> Any:
    """Undoes `wire_schema` in an answer. A model that left the wrapping out is right as well."""
    wrapped = schema.get("type") != "object" and isinstance(value, dict) and set(value) == {_ANSWER}
    return value[_ANSWER] if wrapped else value


def _short(text: str) -> str:
    return (
        text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED // 2]} … {text[-_MOST_QUOTED // 2 :]}"
    )
