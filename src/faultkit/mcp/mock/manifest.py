"""Manifests from documents: what is wrong is said with its path, and nothing unknown is accepted. Pure.

Three forms: `mock_server: {…}`, the same without that word, and the result of a `tools/list` as a server gave
it. In the last, and wherever no answer is given, a tool answers with `mock NAME`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from faultkit.errors import InputError
from faultkit.mcp.mock.condition import Condition, condition_of
from faultkit.mcp.mock.model import (
    Failure,
    Manifest,
    Outcome,
    Prompt,
    Question,
    Resource,
    Response,
    Tool,
)
from faultkit.mcp.mock.results import Result, result_of
from faultkit.mcp.mock.template import ROOTS, unknown_name
from faultkit.plan.shape import mapping, sequence, shown, text, whole

DEFAULT_NAME = "faultkit-mock"
_SERVER_KEYS = ("name", "version", "instructions", "tools", "resources", "prompts")
_TOOL_KEYS = {
    "name": "name",
    "title": "title",
    "description": "description",
    "input_schema": "inputSchema",
    "inputSchema": "inputSchema",
    "output_schema": "outputSchema",
    "outputSchema": "outputSchema",
    "annotations": "annotations",
    "icons": "icons",
    "execution": "execution",
    "_meta": "_meta",
}
"""Keys of a tool and what they are called on the wire."""
_ANSWER_KEYS = ("response", "responses", "sampling", "elicitation", "roots_list")
_RESPONSE_KEYS = ("when", "default", "result", "error", "sequence")
_ERROR_KEYS = ("code", "message", "data", "content")
_RESOURCE_KEYS = ("uri", "name", "title", "description", "mime_type", "mimeType", "text", "blob")
_PROMPT_KEYS = ("name", "title", "description", "arguments", "text", "messages")
_QUESTIONS = {
    "sampling": "sampling/createMessage",
    "elicitation": "elicitation/create",
    "roots_list": "roots/list",
}


def parse_manifest(document: object) -> Manifest:
    given = _server(document)
    tools = _each(given.get("tools", []), "tools", _tool)
    _once([tool.name for tool in tools], "tools", "name")
    resources = _each(given.get("resources", []), "resources", _resource)
    _once([each.listed["uri"] for each in resources], "resources", "uri")
    prompts = _each(given.get("prompts", []), "prompts", _prompt)
    _once([each.listed["name"] for each in prompts], "prompts", "name")
    instructions = given.get("instructions")
    return Manifest(
        text(given.get("name", DEFAULT_NAME), "a name", "name"),
        text(given.get("version", "1.0.0"), "a version", "version"),
        tuple(tools),
        tuple(resources),
        tuple(prompts),
        None if instructions is None else text(instructions, "a text", "instructions"),
    )


def _server(document: object) -> Mapping[str, Any]:
    if document is None:
        raise InputError("", "expected tools, got an empty file")
    if isinstance(document, list):
        return {"tools": document}
    if not isinstance(document, Mapping):
        raise InputError("", f"expected a mapping with tools, got {shown(document)}")
    if "mock_server" in document:
        inner = mapping(document, ("mock_server",), "")["mock_server"]
        return mapping(inner, _SERVER_KEYS, "mock_server")
    # What `tools/list` gives has these besides its tools.
    listed = ("nextCursor", "_meta", "resultType", "ttlMs", "cacheScope")
    return {
        key: value
        for key, value in mapping(document, (*_SERVER_KEYS, *listed), "").items()
        if key not in listed
    }


def _each(entries: object, what: str, parse: Any) -> list[Any]:
    found = []
    for index, entry in enumerate(sequence(entries, what, what)):
        try:
            found.append(parse(entry))
        except InputError as error:
            raise error.within(f"{what}[{index}]") from None
    return found


def _once(names: Iterable[str], what: str, key: str) -> None:
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"{what}[{index}].{key}", f"{shown(name)} is there already, as {what}[{seen[name]}]"
            )
        seen[name] = index


def _tool(entry: object) -> Tool:
    given = mapping(entry, (*_TOOL_KEYS, *_ANSWER_KEYS), "")
    name = text(given.get("name"), "a name", "name")
    for one, other in (("input_schema", "inputSchema"), ("output_schema", "outputSchema")):
        if one in given and other in given:
            raise InputError(other, f"expected only one of {one} and {other}, got both")
    listed = {wire: given[key] for key, wire in _TOOL_KEYS.items() if key in given}
    for key in ("inputSchema", "outputSchema", "annotations"):
        if key in listed and not isinstance(listed[key], Mapping):
            raise InputError(key, f"expected a mapping, got {shown(listed[key])}")
    for key in ("title", "description"):
        if key in listed and not isinstance(listed[key], str):
            raise InputError(key, f"expected a text, got {shown(listed[key])}")
    listed.setdefault("inputSchema", {"type": "object"})
    schema: Any = listed["inputSchema"]
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        raise InputError("input_schema.required", f"expected a list of names, got {shown(required)}")
    return Tool(name, listed, tuple(required), _responses(given, name), _questions(given))


def _questions(given: Mapping[str, Any]) -> tuple[Question, ...]:
    questions = []
    for key, method in _QUESTIONS.items():
        value = given.get(key)
        if value in (None, False):
            continue
        if value is True:
            value = _USUAL_PARAMS[key]
        if not isinstance(value, Mapping):
            raise InputError(key, f"expected true or the parameters of {method}, got {shown(value)}")
        asks: Any = key.removesuffix("_list")
        questions.append(Question(asks, method, dict(value)))
    return tuple(questions)


_USUAL_PARAMS: dict[str, dict[str, Any]] = {
    "sampling": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "A question of the mock."}}],
        "maxTokens": 100,
    },
    "elicitation": {
        "message": "A question of the mock.",
        "requestedSchema": {"type": "object", "properties": {"answer": {"type": "string"}}},
    },
    "roots_list": {},
}


def _responses(given: Mapping[str, Any], tool: str) -> tuple[Response, ...]:
    if "response" in given and "responses" in given:
        raise InputError("responses", "expected only one of response and responses, got both")
    if "response" in given:
        return (Response(None, (_result(given["response"], "response"),)),)
    responses = tuple(_each(given.get("responses", []), "responses", _response))
    if all(each.when is not None for each in responses):
        # Whoever asks for what no condition covers gets an answer all the same.
        responses += (Response(None, (_result(f"mock {tool}", ""),)),)
    return responses


def _response(entry: object) -> Response:
    given = mapping(entry, _RESPONSE_KEYS, "")
    when = _when(given)
    if "default" in given and given["default"] is not True:
        return Response(None, (_result(given["default"], "default"),))
    forms = [key for key in ("result", "error", "sequence") if key in given]
    if len(forms) != 1:
        raise InputError(
            "", f"expected one of result, error and sequence, got {' and '.join(forms) or 'none'}"
        )
    if "sequence" in given:
        outcomes = [
            _step(each, f"sequence[{index}]")
            for index, each in enumerate(sequence(given["sequence"], "answers", "sequence"))
        ]
        if not outcomes:
            raise InputError("sequence", "expected at least one answer, got none")
        return Response(when, tuple(outcomes))
    return Response(when, (_one(given, forms[0], forms[0]),))


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
    return _result(given["result"], path) if form == "result" else _failure(given["error"], path)


def _failure(value: object, path: str) -> Outcome:
    if isinstance(value, str):
        return result_of({"content": value, "isError": True})
    given = mapping(value, _ERROR_KEYS, path)
    if "content" in given:
        # An error that the tool tells, and not the protocol.
        return _result({"content": given["content"], "isError": True}, f"{path}.content")
    return Failure(
        whole(given.get("code", -32603), "a whole number", f"{path}.code"),
        text(given.get("message", "Internal error"), "a text", f"{path}.message"),
        given.get("data"),
    )


def _result(value: object, path: str) -> Result:
    name = unknown_name(value)
    if name is not None:
        raise InputError(path, f"expected a name of {', '.join(ROOTS)} in ${{…}}, got {shown(name)}")
    return result_of(value)


def _resource(entry: object) -> Resource:
    given = mapping(entry, _RESOURCE_KEYS, "")
    uri = text(given.get("uri"), "a URI", "uri")
    kind = given.get("mime_type", given.get("mimeType", "text/plain"))
    listed = {"uri": uri, "name": text(given.get("name", uri), "a name", "name"), "mimeType": kind}
    listed |= {key: given[key] for key in ("title", "description") if key in given}
    contents: dict[str, Any] = {"uri": uri, "mimeType": text(kind, "a media type", "mime_type")}
    if "blob" in given:
        contents["blob"] = text(given["blob"], "base64 text", "blob")
    else:
        said = given.get("text", "")
        if not isinstance(said, str):
            raise InputError("text", f"expected a text, got {shown(said)}")
        contents["text"] = said
    return Resource(listed, contents)


def _prompt(entry: object) -> Prompt:
    given = mapping(entry, _PROMPT_KEYS, "")
    name = text(given.get("name"), "a name", "name")
    listed = {"name": name} | {
        key: given[key] for key in ("title", "description", "arguments") if key in given
    }
    messages = given.get("messages")
    if messages is None:
        said = text(given.get("text", f"mock {name}"), "a text", "text")
        messages = [{"role": "user", "content": {"type": "text", "text": said}}]
    result: dict[str, Any] = {"messages": sequence(messages, "messages", "messages")}
    if "description" in given:
        result["description"] = given["description"]
    return Prompt(listed, result)
