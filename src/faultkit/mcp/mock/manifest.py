"""Manifests from documents: what is wrong is said with its path, and nothing unknown is accepted. Pure.

Three forms: `mock_server: {…}`, the same without that word, and the reply to a `tools/list` as a server gave
it. In the last, and wherever no answer is given, a tool answers with `mock NAME`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.shape import mapping, shown, text
from faultkit.base.errors import InputError
from faultkit.mcp.mock.entries import each_of, once
from faultkit.mcp.mock.model import Manifest, Prompt, Question, Resource, Tool
from faultkit.mcp.mock.plain import plain
from faultkit.mcp.mock.responses import check_names, parse_responses
from faultkit.mcp.mock.results import Result, result_of
from faultkit.mcp.mock.sample import sample_of

DEFAULT_NAME = "faultkit-mock"
_LIST_KEYS = ("nextCursor", "_meta", "resultType", "ttlMs", "cacheScope")
"""What the result of a `tools/list` has besides its tools."""
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
_RESOURCE_KEYS = ("uri", "name", "title", "description", "mime_type", "mimeType", "text", "blob")
_PROMPT_KEYS = ("name", "title", "description", "arguments", "text", "messages")
_QUESTIONS = {
    "sampling": "sampling/createMessage",
    "elicitation": "elicitation/create",
    "roots_list": "roots/list",
}


def parse_manifest(document: object) -> Manifest:
    path, given = _server(plain(document))
    try:
        return _manifest(given)
    except InputError as error:
        # A bare list has no word for its tools.
        error = InputError(error.path.removeprefix("tools"), error.problem) if path == "[]" else error
        raise error.within(path) if path not in ("", "[]") else error from None


def _manifest(given: Mapping[str, Any]) -> Manifest:
    tools = each_of(given.get("tools", []), "tools", _tool)
    once([tool.name for tool in tools], "tools", "name")
    resources = each_of(given.get("resources", []), "resources", _resource)
    once([each.listed["uri"] for each in resources], "resources", "uri")
    prompts = each_of(given.get("prompts", []), "prompts", _prompt)
    once([each.listed["name"] for each in prompts], "prompts", "name")
    instructions = given.get("instructions")
    return Manifest(
        text(given.get("name", DEFAULT_NAME), "a name", "name"),
        text(given.get("version", "1.0.0"), "a version", "version"),
        tuple(tools),
        tuple(resources),
        tuple(prompts),
        None if instructions is None else text(instructions, "a text", "instructions"),
    )


def _server(document: object) -> tuple[str, Mapping[str, Any]]:
    """What the server has, and where in the document that stands."""
    if document is None:
        raise InputError("", "expected tools, got an empty file")
    if isinstance(document, list):
        return "[]", {"tools": document}
    if not isinstance(document, Mapping):
        raise InputError("", f"expected a mapping with tools, got {shown(document)}")
    if "mock_server" in document:
        inner = mapping(document, ("mock_server",), "")["mock_server"]
        return "mock_server", mapping(inner, _SERVER_KEYS, "mock_server")
    path = "result" if "jsonrpc" in document else ""
    if path:
        document = mapping(document, ("jsonrpc", "id", "result"), "").get("result")
    given = mapping(document, (*_SERVER_KEYS, *_LIST_KEYS), path)
    if "tools" not in given:
        raise InputError(path, "expected tools, got none")
    return path, {key: value for key, value in given.items() if key not in _LIST_KEYS}


def _tool(entry: object) -> Tool:
    given = mapping(entry, (*_TOOL_KEYS, *_ANSWER_KEYS), "")
    name = text(given.get("name"), "a name", "name")
    for one, other in (("input_schema", "inputSchema"), ("output_schema", "outputSchema")):
        if one in given and other in given:
            raise InputError(other, f"expected only one of {one} and {other}, got both")
    for key, kind, expected in _SHAPES:
        if key in given and not isinstance(given[key], kind):
            raise InputError(key, f"expected {expected}, got {shown(given[key])}")
    listed = {wire: given[key] for key, wire in _TOOL_KEYS.items() if key in given}
    listed.setdefault("inputSchema", {"type": "object"})
    schema: Any = listed["inputSchema"]
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        key = "input_schema" if "input_schema" in given else "inputSchema"
        raise InputError(f"{key}.required", f"expected a list of names, got {shown(required)}")
    usual = _usual(name, listed.get("outputSchema"))
    return Tool(name, listed, tuple(required), parse_responses(given, usual), _questions(given))


_SHAPES: tuple[tuple[str, type, str], ...] = (
    ("title", str, "a text"),
    ("description", str, "a text"),
    ("input_schema", Mapping, "a mapping"),
    ("inputSchema", Mapping, "a mapping"),
    ("output_schema", Mapping, "a mapping"),
    ("outputSchema", Mapping, "a mapping"),
    ("annotations", Mapping, "a mapping"),
    ("icons", list, "a list"),
    ("execution", Mapping, "a mapping"),
    ("_meta", Mapping, "a mapping"),
)


def _usual(tool: str, schema: object) -> Result:
    """The answer of a tool that is given none. One that promises structure keeps its promise."""
    said = f"mock {tool}"
    if schema is None:
        return result_of(said)
    return result_of({"content": said, "structuredContent": sample_of(schema)})


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


def _resource(entry: object) -> Resource:
    given = mapping(entry, _RESOURCE_KEYS, "")
    for one, other in (("mime_type", "mimeType"), ("text", "blob")):
        if one in given and other in given:
            raise InputError(other, f"expected only one of {one} and {other}, got both")
    uri = text(given.get("uri"), "a URI", "uri")
    key = "mime_type" if "mime_type" in given else "mimeType"
    kind = text(given.get(key, "text/plain"), "a media type", key)
    listed = {"uri": uri, "name": text(given.get("name", uri), "a name", "name"), "mimeType": kind}
    listed |= {key: _said(given[key], key) for key in ("title", "description") if key in given}
    contents = {"uri": uri, "mimeType": kind}
    if "blob" in given:
        contents["blob"] = _base64(given["blob"])
    else:
        contents["text"] = _said(given.get("text", ""), "text")
    return Resource(listed, contents)


def _base64(value: object) -> str:
    said = text(value, "base64 text", "blob")
    try:
        b64decode(said, validate=True)
    except ValueError:
        raise InputError("blob", f"expected base64 text, got {shown(said)}") from None
    return said


def _prompt(entry: object) -> Prompt:
    given = mapping(entry, _PROMPT_KEYS, "")
    name = text(given.get("name"), "a name", "name")
    listed: dict[str, Any] = {"name": name}
    listed |= {key: _said(given[key], key) for key in ("title", "description") if key in given}
    if "arguments" in given:
        listed["arguments"] = each_of(given["arguments"], "arguments", _argument)
    if "text" in given and "messages" in given:
        raise InputError("messages", "expected only one of text and messages, got both")
    if "messages" in given:
        messages = each_of(given["messages"], "messages", _message)
    else:
        said = _said(given.get("text", f"mock {name}"), "text")
        messages = [_message({"content": said})]
    check_names(messages, "messages" if "messages" in given else "text", ("args",))
    result: dict[str, Any] = {"messages": messages}
    if "description" in given:
        result["description"] = given["description"]
    return Prompt(listed, result)


def _argument(entry: object) -> Mapping[str, Any]:
    given = mapping(entry, ("name", "title", "description", "required"), "")
    text(given.get("name"), "a name", "name")
    if not isinstance(given.get("required", False), bool):
        raise InputError("required", f"expected true or false, got {shown(given['required'])}")
    return given


def _message(entry: object) -> dict[str, Any]:
    given = mapping(entry, ("role", "content"), "")
    role, content = given.get("role", "user"), given.get("content")
    if role not in ("user", "assistant"):
        raise InputError("role", f"expected user or assistant, got {shown(role)}")
    if isinstance(content, str):
        content = {"type": "text", "text": content}
    if not isinstance(content, Mapping):
        raise InputError("content", f"expected a text or a block of content, got {shown(content)}")
    return {"role": role, "content": content}


def _said(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(path, f"expected a text, got {shown(value)}")
    return value
