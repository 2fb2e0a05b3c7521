"""Tables of keys: each mapping of a document format is declared once, as a list of its keys.

`MappingReader` parses a mapping by its table, `schema_of` gives the JSON Schema (draft 2020-12) for editors,
and `markdown_of` gives the table of keys for the docs. So the three cannot disagree. Own code instead of
pydantic, because users get every mistake of a file at once, each with its line and "did you mean", and
because commands must start fast. This module knows no format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

OR_NOTHING = "-or-nothing"
"""Definitions whose names end so take a missing value themselves: editors then show errors inside them."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping."""

    name: str
    read: Callable[[object], Any] | None = None
    """Returns the checked value; raises InputError without a path. None: the parser reads it by itself."""
    schema: Schema | KeyTable | Callable[[], Schema] | None = None
    """JSON Schema of the value. A table stands for a mapping with those keys. A function is called
    only when a schema is wanted, so that parsing does not pay for it."""
    default: Any = None
    """The value if the key is not given."""
    help: str = ""
    """The meaning in a sentence, for editors and docs."""
    required: str = ""
    """What was expected, for the error if the key is missing. Empty: the key may be missing."""
    docs_help: str = ""
    """The meaning for the docs alone, where editors find it elsewhere: behind a `$ref`, or in a long enum."""


class KeyTable:
    """The keys of one mapping, in the order of the docs."""

    __slots__ = ("_keys", "has_nulls", "help", "rules", "unsupported")

    def __init__(
        self,
        *keys: Key,
        help: str = "",
        rules: Schema | Callable[[], Schema] | None = None,
        has_nulls: bool = True,
        unsupported: Mapping[str, str] | None = None,
    ) -> None:
        self._keys = {key.name: key for key in keys}
        self.help = help
        self.rules = rules
        """Further rules of the JSON Schema, such as keys that exclude each other."""
        self.has_nulls = has_nulls
        """True: a key without a value counts as not given. False: null is a value like any other."""
        self.unsupported = unsupported or {}
        """Keys that other programs know in such a mapping, each with the error message for it."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys.values())

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __getitem__(self, name: str) -> Key:
        return self._keys[name]


def schema_of(table: KeyTable) -> Schema:
    """Return the JSON Schema of a mapping with these keys and no others."""
    required = {key.name: value_schema(key) for key in table if key.required}
    optional = {key.name: value_schema(key) for key in table if not key.required}
    if table.has_nulls:
        optional = {name: maybe(schema) for name, schema in optional.items()}
    schema: Schema = {"description": table.help} if table.help else {}
    schema |= {"type": "object", "properties": {**required, **optional}}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    rules = table.rules() if callable(table.rules) else table.rules or {}
    return schema | rules


def value_schema(key: Key) -> Schema:
    """Return the JSON Schema of a key's value, with its help and default."""
    if isinstance(key.schema, KeyTable):
        schema = schema_of(key.schema)
    else:
        schema = dict(key.schema() if callable(key.schema) else key.schema or {})
    if key.help:
        schema["description"] = key.help
    # The default is the parsed value. It is written as in the file only for these types: a duration, for
    # example, is text there and seconds here.
    is_scalar = "enum" in schema or schema.get("type") in ("integer", "number", "boolean")
    if is_scalar and not key.required and key.default not in (None, ""):
        schema["default"] = key.default
    return schema


def markdown_of(table: KeyTable, title: str = "key") -> str:
    """Return a Markdown table with a row for each key; keys of mappings below have dotted names."""
    rows = [f"| {title} | meaning | default |", "|---|---|---|"]
    rows += [f"| `{name}` | {meaning} | {default} |" for name, meaning, default in _rows(table, "")]
    return "\n".join(rows) + "\n"


def _rows(table: KeyTable, prefix: str) -> Iterator[tuple[str, str, str]]:
    for key in table:
        if isinstance(key.schema, KeyTable):
            yield from _rows(key.schema, f"{prefix}{key.name}.")
            continue
        schema = value_schema(key)
        meaning = key.docs_help or schema.get("description", "")
        if len(schema.get("enum", ())) > 1 and not key.docs_help:
            meaning = f"{meaning} One of {', '.join(f'`{each}`' for each in schema['enum'])}.".lstrip()
        default = f"`{json.dumps(schema['default'])}`" if schema.get("default", []) not in ([], {}) else ""
        yield f"{prefix}{key.name}", meaning.replace("|", "\\|"), "required" if key.required else default


def maybe(schema: Schema) -> Schema:
    """Return the schema of the same value or null, for a key that is written without a value."""
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
    """Return the schema of an object whose other keys depend on the value of one key."""
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
    """Return a schema that holds if each of these keys has a value."""
    return {"properties": {key: {"not": {"type": "null"}} for key in keys}, "required": list(keys)}


def never_both(first: str, second: str) -> Schema:
    """Return a schema that holds unless both keys have a value."""
    return {"not": given(first, second)}


def sentence(expected: str) -> str:
    """Return what an error message expects ("a number") as help ("A number.")."""
    return f"{expected[0].upper()}{expected[1:]}."
