"""Forms of JSON Schema that recur: objects with known keys, keys without a value, keys that bar each other.

Nothing here knows what a scenario is.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

OR_NOTHING = "-or-nothing"
"""Definitions whose names end so take a missing value themselves: editors then show errors inside them."""


def closed_object(required: Schema, optional: Schema) -> Schema:
    """Keys that must be there, and keys that may be, or be there without a value. No others."""
    return {
        "type": "object",
        "properties": {**required, **{key: maybe(schema) for key, schema in optional.items()}},
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def maybe(schema: Schema) -> Schema:
    """The schema, or nothing written behind the key."""
    if "enum" in schema:
        return {key: each for key, each in schema.items() if key != "type"} | {
            "enum": [*schema["enum"], None]
        }
    if "$ref" in schema and schema["$ref"].endswith(OR_NOTHING):
        return schema
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*(name for name in types if name != "null"), "null"]}


def chosen_by(key: str, definitions: dict[str, str]) -> Schema:
    """An object whose other keys depend on the value of one."""
    return {
        "type": "object",
        "properties": {key: {"enum": list(definitions)}},
        "required": [key],
        "allOf": [
            {
                "if": {"type": "object", "properties": {key: {"const": value}}, "required": [key]},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for value, name in definitions.items()
        ],
    }


def given(*keys: str) -> Schema:
    return {"properties": {key: {"not": {"type": "null"}} for key in keys}, "required": list(keys)}


def never_both(first: str, second: str) -> Schema:
    return {"not": given(first, second)}
