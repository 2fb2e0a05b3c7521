"""Matchers of formats: JSON, XML, JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from faultkit.agents.matchers.matcher import Matcher, quoted, yes_or_no
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import shortened

_MOST_PROBLEMS = 8


def _schema(wanted: Any, got: Any) -> str | None:
    problems = _problems(wanted, got)
    if not problems:
        return None
    more = [f"… and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
    return "\n".join(["expected what the schema says:", *problems[:_MOST_PROBLEMS], *more])


def _problems(schema: Any, got: Any) -> list[str]:
    # Imported late: it is slow, and most suites have no schema.
    from jsonschema import Draft202012Validator
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    # The registry is empty, so that a `$ref` to another document is an error and nothing is fetched.
    validator = Draft202012Validator(schema, registry=EMPTY_REGISTRY)
    try:
        errors = sorted(validator.iter_errors(got), key=lambda error: error.json_path)
    except Unresolvable as error:
        return [f"the schema refers to {quoted(error.ref)}, which is not in it"]
    return [f"{error.json_path}: {shortened(error.message, 160)}" for error in errors]


def _is_schema(wanted: Any) -> None:
    if isinstance(wanted, bool) or not isinstance(wanted, Mapping):
        raise InputError("", f"expected a JSON schema (a mapping), got {shown(wanted)}")
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(wanted)
    except SchemaError as error:
        path = error.json_path.removeprefix("$").removeprefix(".")
        raise InputError(path, f"expected a JSON schema: {shortened(error.message, 160)}") from None


def _is_json(wanted: Any, got: Any) -> str | None:
    parsed, why = _parsed(got)
    if wanted is False:
        return f"expected a text that is no JSON, got {quoted(got)}" if why is None else None
    if why is not None:
        return f"expected JSON, got {quoted(got)}: {why}"
    return _schema(wanted, parsed) if isinstance(wanted, Mapping) else None


def _parsed(got: Any) -> tuple[Any, str | None]:
    if not isinstance(got, str):
        return None, "not a text"
    try:
        return json.loads(got), None
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _json_or_schema(wanted: Any) -> None:
    if not isinstance(wanted, bool):
        _is_schema(wanted)


def _is_xml(wanted: Any, got: Any) -> str | None:
    why: str | None = "not a text"
    if isinstance(got, str):
        try:
            ElementTree.fromstring(got)
            why = None
        except (ElementTree.ParseError, ValueError) as error:
            why = str(error)
    if wanted:
        return None if why is None else f"expected XML, got {quoted(got)}: {why}"
    return f"expected a text that is no XML, got {quoted(got)}" if why is None else None


FORMAT_MATCHERS = (
    Matcher("schema", "Fits a JSON schema (draft 2020-12).", _schema, _is_schema, {"type": "object"}),
    Matcher(
        "is-json",
        "A text that is JSON, and fits the schema if one is given.",
        _is_json,
        _json_or_schema,
        {"type": ["boolean", "object"]},
    ),
    Matcher("is-xml", "A text that is well-formed XML.", _is_xml, yes_or_no, {"type": "boolean"}),
)
