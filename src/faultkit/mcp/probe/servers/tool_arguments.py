"""Arguments that the schema of a tool allows, and which tools may be called. Pure.

All arguments made here are validated against the schema; if that is impossible, there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from faultkit.base.documents.schema_example import smallest_value

Tool: TypeAlias = Mapping[str, Any]
Arguments: TypeAlias = dict[str, Any]

TEXT = "faultkit"
_CONSTRAINTS = ("enum", "const", "pattern", "format")


def is_read_only(tool: Tool) -> bool:
    """Return whether a tool declares itself read-only."""
    given = tool.get("annotations")
    return isinstance(given, Mapping) and given.get("readOnlyHint") is True


Given: TypeAlias = Mapping[str, Any] | None
"""The user's own arguments for a tool; None if there are none."""


def ordinary_arguments(tool: Tool, given: Given = None) -> Arguments | None:
    """Return the arguments of an ordinary call: the user's own, or else the required ones; None if none can
    be made."""
    return _fitting(tool, _ordinary(tool, given))


def emptiest_arguments(tool: Tool, given: Given = None) -> Arguments | None:
    """Return the required arguments with the emptiest values that the schema allows."""
    return _fitting(tool, _required(tool, smallest_value))


def with_text(tool: Tool, text: str, given: Given = None) -> Arguments | None:
    """Return arguments with this text in the first argument that takes any text, if possible one for which
    the user gave no value."""
    ordinary = _ordinary(tool, given)
    names = [name for name, schema in _properties(tool).items() if _takes_text(schema)]
    for name in sorted(names, key=lambda name: name in (given or ())):
        if found := _fitting(tool, {**ordinary, name: text}):
            return found
    return None


def with_empty_array(tool: Tool, given: Given = None) -> Arguments | None:
    """Return arguments with an empty array in the first argument that takes one."""
    for name, schema in _properties(tool).items():
        if _type_of(schema, "array") and (found := _fitting(tool, {**_ordinary(tool, given), name: []})):
            return found
    return None


def invalid_arguments_for(tool: Tool, given: Given = None) -> Arguments | None:
    """Return arguments that the schema does not allow, by a value of another type; None if it allows all."""
    for name in (*_names_required(tool), *_properties(tool)):
        for value in ({"not": "this"}, ["not this"], 7):
            arguments = {**_ordinary(tool, given), name: value}
            if schema_problem(tool, arguments):
                return arguments
    return None


def schema_problem(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the arguments by the schema of the tool; empty if nothing is."""
    # Imported here because they are slow to import, and not every run calls tools.
    from jsonschema import Draft202012Validator
    from referencing.jsonschema import EMPTY_REGISTRY

    schema = _schema(tool)
    try:
        # The registry is empty so that a `$ref` to somewhere else is an error, and nothing is fetched.
        errors = list(Draft202012Validator(schema, registry=EMPTY_REGISTRY).iter_errors(dict(arguments)))
    except Exception as error:
        # The schema comes from the server and may be anything.
        return f"the schema cannot be used: {type(error).__name__}"
    return "" if not errors else f"{errors[0].json_path}: {errors[0].message}"[:200]


def _fitting(tool: Tool, arguments: Arguments) -> Arguments | None:
    return None if schema_problem(tool, arguments) else arguments


def _ordinary(tool: Tool, given: Given) -> Arguments:
    return _required(tool, _typical_value) if given is None else dict(given)


def _required(tool: Tool, make: Callable[[Any], Any]) -> Arguments:
    properties = _properties(tool)
    return {name: make(properties.get(name)) for name in _names_required(tool)}


def _typical_value(schema: Any) -> Any:
    if isinstance(schema, Mapping) and not any(key in schema for key in ("default", *_CONSTRAINTS)):
        if _takes_text(schema):
            return TEXT
        if _type_of(schema, "boolean") is not None:
            # Where a text may stand as well, it is likely to be the word for one.
            return False
    return smallest_value(schema)


def _takes_text(schema: Any) -> bool:
    """Return whether a schema takes any text, and nothing else but null: where a boolean or a number may
    stand as well, a text is likely to be refused."""
    found = _type_of(schema, "string")
    if found is None or not isinstance(schema, Mapping):
        return False
    types = [kind for each in _alternatives(schema) for kind in _types(each)]
    return all(kind in ("string", "null") for kind in types) and not any(key in found for key in _CONSTRAINTS)


def _alternatives(schema: Mapping[str, Any]) -> list[Any]:
    return [schema, *(each for choice in ("anyOf", "oneOf") for each in schema.get(choice) or ())]


def _types(schema: Any) -> list[Any]:
    given = schema.get("type", []) if isinstance(schema, Mapping) else []
    return given if isinstance(given, list) else [given]


def _type_of(schema: Any, kind: str) -> Mapping[str, Any] | None:
    """Return the schema, or the first of its alternatives, that has this type."""
    if not isinstance(schema, Mapping):
        return None
    return next((each for each in _alternatives(schema) if kind in _types(each)), None)


def _schema(tool: Tool) -> Mapping[str, Any]:
    given = tool.get("inputSchema")
    return given if isinstance(given, Mapping) else {}


def _properties(tool: Tool) -> Mapping[str, Any]:
    given = _schema(tool).get("properties")
    return given if isinstance(given, Mapping) else {}


def _names_required(tool: Tool) -> list[str]:
    given = _schema(tool).get("required")
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
