"""Arguments that the schema of a tool allows, and which tools may be called. Pure.

All arguments made here are validated against the schema; if that is impossible, there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from faultkit.base.documents.schema_example import smallest_value

Tool: TypeAlias = Mapping[str, Any]
Arguments: TypeAlias = dict[str, Any]

TEXT = "faultkit"
_CONSTRAINTS = ("enum", "const", "pattern", "format")


def is_harmless(tool: Tool) -> bool:
    """Return whether a tool declares itself harmless by its annotations.

    Probes call a tool more than once, so one that only adds things must be declared idempotent as well.
    """
    given = tool.get("annotations")
    hints = given if isinstance(given, Mapping) else {}
    if hints.get("readOnlyHint") is True:
        return True
    return hints.get("destructiveHint") is False and hints.get("idempotentHint") is True


def is_read_only(tool: Tool) -> bool:
    """Return whether a tool declares itself read-only."""
    given = tool.get("annotations")
    return isinstance(given, Mapping) and given.get("readOnlyHint") is True


def required_arguments(tool: Tool) -> Arguments | None:
    """Return the required arguments only; None if none can be made."""
    return _fitting(tool, _required(tool, _typical_value))


def emptiest_arguments(tool: Tool) -> Arguments | None:
    """Return the required arguments with the emptiest values that the schema allows."""
    return _fitting(tool, _required(tool, smallest_value))


def with_text(tool: Tool, text: str) -> Arguments | None:
    """Return arguments with this text in the first argument that takes any text."""
    for name, schema in _properties(tool).items():
        if _takes_text(schema) and (found := _fitting(tool, {**_required(tool, _typical_value), name: text})):
            return found
    return None


def with_empty_array(tool: Tool) -> Arguments | None:
    """Return arguments with an empty array in the first argument that takes one."""
    for name, schema in _properties(tool).items():
        if _type_of(schema, "array") and (
            found := _fitting(tool, {**_required(tool, _typical_value), name: []})
        ):
            return found
    return None


def invalid_arguments_for(tool: Tool) -> Arguments | None:
    """Return arguments that the schema does not allow, by a value of another type; None if it allows all."""
    for name in (*_names_required(tool), *_properties(tool)):
        for value in ({"not": "this"}, ["not this"], 7):
            arguments = {**_required(tool, _typical_value), name: value}
            if schema_problem(tool, arguments):
                return arguments
    return None


def first_of(tools: Iterable[Tool], make: Callable[[Tool], Arguments | None]) -> tuple[str, Arguments] | None:
    """Return the first tool for which `make` gives arguments, and these."""
    for tool in tools:
        arguments = make(tool)
        if arguments is not None:
            return str(tool.get("name")), arguments
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


def _required(tool: Tool, make: Callable[[Any], Any]) -> Arguments:
    properties = _properties(tool)
    return {name: make(properties.get(name)) for name in _names_required(tool)}


def _typical_value(schema: Any) -> Any:
    return TEXT if _takes_text(schema) and "default" not in schema else smallest_value(schema)


def _takes_text(schema: Any) -> bool:
    found = _type_of(schema, "string")
    return found is not None and not any(key in found for key in _CONSTRAINTS)


def _type_of(schema: Any, kind: str) -> Mapping[str, Any] | None:
    """Return the schema, or the first of its alternatives, that has this type."""
    if not isinstance(schema, Mapping):
        return None
    types = schema.get("type")
    if types == kind or (isinstance(types, list) and kind in types):
        return schema
    for choice in ("anyOf", "oneOf"):
        for each in schema.get(choice) or ():
            if isinstance(each, Mapping) and each.get("type") == kind:
                return each
    return None


def _schema(tool: Tool) -> Mapping[str, Any]:
    given = tool.get("inputSchema")
    return given if isinstance(given, Mapping) else {}


def _properties(tool: Tool) -> Mapping[str, Any]:
    given = _schema(tool).get("properties")
    return given if isinstance(given, Mapping) else {}


def _names_required(tool: Tool) -> list[str]:
    given = _schema(tool).get("required")
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
