"""Responses of a manifest's tool: one, several with conditions, sequences, errors. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from faultkit.base.documents.checks import sequence, shown, text, whole
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.mcp.mock.answer_template import ROOTS, unknown_name
from faultkit.mcp.mock.condition import Condition, condition_of
from faultkit.mcp.mock.mock_model import (
    ConditionalResponse,
    JsonRpcError,
    MockOutcome,
    MockResult,
    mock_result,
)

T = TypeVar("T")

RESPONSE = KeyTable(
    Key("when", help="A condition; without one, the response is for every other call."),
    Key("default", help="True: the same as no condition."),
    Key("result", help="What the call gives."),
    Key(
        "error",
        help="{code, message, data}: an error of the protocol. A text, or {content: …}: an error of the "
        "tool, with isError.",
    ),
    Key(
        "sequence",
        help="Results and errors one after the other, call by call; the last one stays. A step is a result, "
        "{result: …} or {error: …}.",
    ),
    has_nulls=False,
)
ERROR = KeyTable(Key("code"), Key("message"), Key("data"), Key("content"), has_nulls=False)


def each_of(entries: object, what: str, parse: Callable[[object], T]) -> list[T]:
    """Parse each entry of a list. The path of an error begins with the place in the list."""
    found = []
    for index, entry in enumerate(sequence(entries, what, what)):
        try:
            found.append(parse(entry))
        except InputError as error:
            raise error.within(f"{what}[{index}]") from None
    return found


def parse_responses(given: Mapping[str, Any], usual: MockResult) -> tuple[ConditionalResponse, ...]:
    """Parse `response` or `responses` of a tool; `usual` is the answer if neither fits."""
    if "response" in given and "responses" in given:
        raise InputError("responses", "expected only one of response and responses, got both")
    if "response" in given:
        return (ConditionalResponse(None, (_result(given["response"], "response"),)),)
    responses = each_of(given.get("responses", []), "responses", _response)
    if "responses" in given and not responses:
        raise InputError("responses", "expected at least one response, got none")
    always = [index for index, each in enumerate(responses) if each.when is None]
    if len(always) > 1:
        raise InputError(
            f"responses[{always[1]}]",
            f"expected a condition, got none, as in responses[{always[0]}] already",
        )
    # The response without a condition comes last, wherever it stands in the file. Without one, the default
    # answer takes its place.
    last = responses[always[0]] if always else ConditionalResponse(None, (usual,))
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
        return ConditionalResponse(when, (_one(given, form, form),))
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
        return condition_of(text(given["when"], 'a condition such as args.city == "Oslo"', "when"))
    except ValueError as error:
        raise InputError("when", str(error)) from None


def _step(entry: object, path: str) -> MockOutcome:
    if isinstance(entry, Mapping) and set(entry) in ({"result"}, {"error"}):
        form = next(iter(entry))
        return _one(entry, form, f"{path}.{form}")
    return _result(entry, path)


def _one(given: Mapping[str, Any], form: str, path: str) -> MockOutcome:
    return _failure(given[form], path) if form == "error" else _result(given[form], path)


def _failure(value: object, path: str) -> MockOutcome:
    if isinstance(value, str):
        return mock_result({"content": value, "isError": True})
    given = MappingReader(value, ERROR, path).given
    if "content" in given:
        # A result with isError, not a JSON-RPC error.
        if len(given) > 1:
            others = ", ".join(key for key in given if key != "content")
            raise InputError(path, f"expected content, or a code and a message, got content and {others}")
        return _result({"content": given["content"], "isError": True}, f"{path}.content")
    return JsonRpcError(
        whole(given.get("code", -32603), "a whole number", f"{path}.code"),
        text(given.get("message", "Internal error"), "a text", f"{path}.message"),
        given.get("data"),
    )


def _result(value: object, path: str) -> MockResult:
    check_names(value, path, ROOTS)
    return mock_result(value)


def check_names(value: object, path: str, roots: tuple[str, ...]) -> None:
    """Raise InputError if the value holds a `${…}` name whose root is not one of `roots`."""
    name = unknown_name(value, roots)
    if name is not None:
        raise InputError(path, f"expected a name of {', '.join(roots)} in ${{…}}, got {shown(name)}")
