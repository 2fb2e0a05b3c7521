"""Responses of a manifest's tool: one, several with conditions, sequences, errors. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from faultkit.base.documents.checks import sequence, shown, text, whole_number
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA
from faultkit.base.errors import InputError
from faultkit.mcp.mock.expressions import NAME_ROOTS, Condition, parse_condition, unknown_name
from faultkit.mcp.mock.mock_model import (
    ConditionalResponse,
    JsonRpcError,
    MockOutcome,
    MockResult,
    mock_result,
)
from faultkit.mcp.wire.message import INTERNAL_ERROR

T = TypeVar("T")

RESPONSE = KeyTable(
    Key("when", help="A condition. Without one, the response is for all calls that no other one is for."),
    Key("default", help="A result without a condition; or true, beside another key, for no condition."),
    Key("result", help="The result."),
    Key("error", help="An error: a mapping, or a text for a result with `isError`."),
    Key(
        "sequence",
        help="The outcomes of successive calls; the last one repeats. Each is a result, `{result: …}` or "
        "`{error: …}`.",
    ),
    has_nulls=False,
)
ERROR = KeyTable(
    Key(
        "code",
        lambda value: whole_number(value, "a whole number", ""),
        {"type": "integer"},
        INTERNAL_ERROR,
        "The code of a JSON-RPC error.",
    ),
    Key(
        "message",
        lambda value: text(value, "a text", ""),
        {**TEXT_SCHEMA, "default": "Internal error"},
        "Internal error",
        "The message of a JSON-RPC error.",
    ),
    Key("data", help="The data of a JSON-RPC error."),
    Key("content", help="The content of a result with `isError`, which excludes the other keys."),
    has_nulls=False,
)


def each_of(entries: object, what: str, parse: Callable[[object], T]) -> list[T]:
    """Parse each entry of a list. The path of an error begins with the place in the list."""
    found = []
    for index, entry in enumerate(sequence(entries, what, what)):
        try:
            found.append(parse(entry))
        except InputError as error:
            raise error.within(f"{what}[{index}]") from None
    return found


def parse_responses(given: Mapping[str, Any], default: MockResult) -> tuple[ConditionalResponse, ...]:
    """Parse `response` or `responses` of a tool; `default` is the answer if neither fits."""
    if "response" in given and "responses" in given:
        raise InputError("responses", "expected only one of response and responses, got both")
    if "response" in given:
        return (ConditionalResponse(None, (_result(given["response"], "response"),)),)
    responses = each_of(given.get("responses", []), "responses", _response)
    if "responses" in given and not responses:
        raise InputError("responses", "expected at least one response, got none")
    unconditional = [index for index, each in enumerate(responses) if each.when is None]
    if len(unconditional) > 1:
        raise InputError(
            f"responses[{unconditional[1]}]",
            f"expected a condition, got none, as in responses[{unconditional[0]}] already",
        )
    # The response without a condition comes last, wherever it stands in the file. Without one, the default
    # answer takes its place.
    last = responses[unconditional[0]] if unconditional else ConditionalResponse(None, (default,))
    return (*(each for each in responses if each.when is not None), last)


def _response(entry: object) -> ConditionalResponse:
    given = MappingReader(entry, RESPONSE).given
    when = _when(given)
    forms: list[str] = [key for key in ("result", "error", "sequence") if key in given]
    if "default" in given and given["default"] is not True:
        forms.append("default")
    if len(forms) != 1:
        raise InputError(
            "", f"expected one of result, error and sequence, got {' and '.join(forms) or 'none'}"
        )
    (form,) = forms
    if form != "sequence":
        return ConditionalResponse(when, (_outcome(given, form, form),))
    outcomes = [
        _step(each, f"sequence[{index}]")
        for index, each in enumerate(sequence(given["sequence"], "answers", "sequence"))
    ]
    if not outcomes:
        raise InputError("sequence", "expected at least one answer, got none")
    return ConditionalResponse(when, tuple(outcomes))


def _when(given: Mapping[str, Any]) -> Condition | None:
    if given.get("when") in (None, "default", "true", True):
        return None
    if "default" in given:
        raise InputError("default", "expected no default beside a condition")
    try:
        return parse_condition(text(given["when"], 'a condition such as args.city == "Oslo"', "when"))
    except ValueError as error:
        raise InputError("when", str(error)) from None


def _step(entry: object, path: str) -> MockOutcome:
    if isinstance(entry, Mapping) and set(entry) in ({"result"}, {"error"}):
        form = next(iter(entry))
        return _outcome(entry, form, f"{path}.{form}")
    return _result(entry, path)


def _outcome(given: Mapping[str, Any], form: str, path: str) -> MockOutcome:
    return _error(given[form], path) if form == "error" else _result(given[form], path)


def _error(value: object, path: str) -> MockOutcome:
    if isinstance(value, str):
        return mock_result({"content": value, "isError": True})
    reader = MappingReader(value, ERROR, path)
    given = reader.given
    if "content" in given:
        # A result with isError, not a JSON-RPC error.
        if len(given) > 1:
            others = ", ".join(key for key in given if key != "content")
            raise InputError(path, f"expected content, or a code and a message, got content and {others}")
        return _result({"content": given["content"], "isError": True}, f"{path}.content")
    return JsonRpcError(reader.take("code"), reader.take("message"), given.get("data"))


def _result(value: object, path: str) -> MockResult:
    check_names(value, path, NAME_ROOTS)
    return mock_result(value)


def check_names(value: object, path: str, roots: tuple[str, ...]) -> None:
    """Raise InputError if the value holds a `${…}` name whose root is not one of `roots`."""
    name = unknown_name(value, roots)
    if name is not None:
        raise InputError(path, f"expected a name of {', '.join(roots)} in ${{…}}, got {shown(name)}")
