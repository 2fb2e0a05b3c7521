"""What a tool of a manifest answers: one response, several with conditions, sequences, errors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.shape import mapping, sequence, shown, text, whole
from faultkit.base.errors import InputError
from faultkit.mcp.mock.condition import Condition, condition_of
from faultkit.mcp.mock.entries import each_of
from faultkit.mcp.mock.model import Failure, Outcome, Response
from faultkit.mcp.mock.results import Result, result_of
from faultkit.mcp.mock.template import ROOTS, unknown_name

_RESPONSE_KEYS = ("when", "default", "result", "error", "sequence")
_ERROR_KEYS = ("code", "message", "data", "content")


def parse_responses(given: Mapping[str, Any], usual: Result) -> tuple[Response, ...]:
    if "response" in given and "responses" in given:
        raise InputError("responses", "expected only one of response and responses, got both")
    if "response" in given:
        return (Response(None, (_result(given["response"], "response"),)),)
    responses = each_of(given.get("responses", []), "responses", _response)
    if "responses" in given and not responses:
        raise InputError("responses", "expected at least one response, got none")
    always = [index for index, each in enumerate(responses) if each.when is None]
    if len(always) > 1:
        raise InputError(
            f"responses[{always[1]}]",
            f"expected a condition, got none, as in responses[{always[0]}] already",
        )
    # The one without a condition is for what no other covers, wherever it stands; without one, whoever asks
    # for that gets an answer all the same.
    last = responses[always[0]] if always else Response(None, (usual,))
    return (*(each for each in responses if each.when is not None), last)


def _response(entry: object) -> Response:
    given = mapping(entry, _RESPONSE_KEYS, "")
    when = _when(given)
    forms = [key for key in ("result", "error", "sequence") if key in given]
    if "default" in given and given["default"] is not True:
        forms.append("default")
    if len(forms) != 1:
        raise InputError(
            "", f"expected one of result, error and sequence, got {' and '.join(forms) or 'none'}"
        )
    (form,) = forms
    if form != "sequence":
        return Response(when, (_one(given, form, form),))
    outcomes = [
        _step(each, f"sequence[{index}]")
        for index, each in enumerate(sequence(given["sequence"], "answers", "sequence"))
    ]
    if not outcomes:
        raise InputError("sequence", "expected at least one answer, got none")
    return Response(when, tuple(outcomes))


def _when(given: Mapping[str, Any]) -> Condition | None:
    if given.get("when") in (None, "default", "true", True):
        return None
    if "default" in given:
        raise InputError("default", "expected no default beside a condition")
    try:
        return condition_of(text(given["when"], 'a condition such as args.city == "Oslo"', "when"))
    except ValueError as error:
        raise InputError("when", str(error)) from None


def _step(entry: object, path: str) -> Outcome:
    if isinstance(entry, Mapping) and set(entry) in ({"result"}, {"error"}):
        form = next(iter(entry))
        return _one(entry, form, f"{path}.{form}")
    return _result(entry, path)


def _one(given: Mapping[str, Any], form: str, path: str) -> Outcome:
    return _failure(given[form], path) if form == "error" else _result(given[form], path)


def _failure(value: object, path: str) -> Outcome:
    if isinstance(value, str):
        return result_of({"content": value, "isError": True})
    given = mapping(value, _ERROR_KEYS, path)
    if "content" in given:
        # An error that the tool tells, and not the protocol.
        if len(given) > 1:
            others = ", ".join(key for key in given if key != "content")
            raise InputError(path, f"expected content, or a code and a message, got content and {others}")
        return _result({"content": given["content"], "isError": True}, f"{path}.content")
    return Failure(
        whole(given.get("code", -32603), "a whole number", f"{path}.code"),
        text(given.get("message", "Internal error"), "a text", f"{path}.message"),
        given.get("data"),
    )


def _result(value: object, path: str) -> Result:
    check_names(value, path, ROOTS)
    return result_of(value)


def check_names(value: object, path: str, roots: tuple[str, ...]) -> None:
    name = unknown_name(value, roots)
    if name is not None:
        raise InputError(path, f"expected a name of {', '.join(roots)} in ${{…}}, got {shown(name)}")
