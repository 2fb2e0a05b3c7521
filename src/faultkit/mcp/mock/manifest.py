"""The keys of mock manifests: from a document to what a mock serves. Pure.

Each mapping is declared once as a table of keys. Reading stops at the first mistake and raises it with its
path; unknown keys are mistakes. Three forms are accepted: `mock_server: {…}`, the same without that key, and
the reply to a `tools/list` as a server gave it. In the last, and wherever no answer is given, a tool answers
with `mock NAME`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from faultkit.base.documents.checks import mapping, shown, text
from faultkit.base.documents.json_data import to_json_data
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.schema_example import smallest_value
from faultkit.base.documents.values import SWITCH_SCHEMA, TEXT_SCHEMA
from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest_responses import check_names, each_of, parse_responses
from faultkit.mcp.mock.mock_model import (
    Manifest,
    MockPrompt,
    MockResource,
    MockResult,
    MockTool,
    Question,
    mock_result,
)

DEFAULT_NAME = "faultkit-mock"
_LIST_KEYS = ("nextCursor", "_meta", "resultType", "ttlMs", "cacheScope")
"""Keys of the result of a `tools/list` besides its tools. They are ignored."""
_ANY_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_LIST: Schema = {"type": "array"}


def _filled_text(expected: str) -> Callable[[object], str]:
    return lambda value: text(value, expected, "")


def _of_type(kind: type, expected: str) -> Callable[[object], Any]:
    def read(value: object) -> Any:
        if not isinstance(value, kind):
            raise InputError("", f"expected {expected}, got {shown(value)}")
        return value

    return read


_any_text = _of_type(str, "a text")
_mapping = _of_type(Mapping, "a mapping")


def _base64(value: object) -> str:
    encoded = text(value, "base64 text", "")
    try:
        b64decode(encoded, validate=True)
    except ValueError:
        raise InputError("", f"expected base64 text, got {shown(encoded)}") from None
    return encoded


def _role(value: object) -> str:
    if value not in ("user", "assistant"):
        raise InputError("", f"expected user or assistant, got {shown(value)}")
    return str(value)


def _content(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a text or a block of content, got {shown(value)}")
    return value


SERVER = KeyTable(
    Key(
        "name",
        _filled_text("a name"),
        {**TEXT_SCHEMA, "default": DEFAULT_NAME},
        DEFAULT_NAME,
        "How the server introduces itself.",
    ),
    Key("version", _filled_text("a version"), {**TEXT_SCHEMA, "default": "1.0.0"}, "1.0.0", "Its version."),
    Key(
        "instructions",
        lambda value: None if value is None else text(value, "a text", ""),
        TEXT_SCHEMA,
        help="A text for clients.",
    ),
    Key("tools", schema=_LIST, help="The tools; the list may be empty.", required="tools"),
    Key("resources", schema=_LIST, help="Resources; without them, their methods do not exist."),
    Key("prompts", schema=_LIST, help="Prompts; without them, their methods do not exist."),
    has_nulls=False,
)
TOOL = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the tool.", "a name"),
    Key("title", _any_text, _ANY_TEXT, help="Shown in `tools/list` as it is."),
    Key("description", _any_text, _ANY_TEXT, help="Shown in `tools/list` as it is."),
    Key(
        "input_schema",
        _mapping,
        _OBJECT,
        help="The schema of the arguments; a call that lacks a required one gets error -32602.",
    ),
    Key("inputSchema", _mapping, _OBJECT, help="Another name of input_schema."),
    Key("output_schema", _mapping, _OBJECT, help="The schema of structured answers."),
    Key("outputSchema", _mapping, _OBJECT, help="Another name of output_schema."),
    Key("annotations", _mapping, _OBJECT, help="Shown in `tools/list` as they are."),
    Key("icons", _of_type(list, "a list"), _LIST, help="Shown in `tools/list` as they are."),
    Key("execution", _mapping, _OBJECT, help="Shown in `tools/list` as it is."),
    Key("_meta", _mapping, _OBJECT, help="Shown in `tools/list` as it is."),
    Key("response", help="What each call gives."),
    Key(
        "responses",
        schema=_LIST,
        help="What calls give under conditions, at least one; not together with response.",
    ),
    Key(
        "sampling",
        help="True, or the parameters of the request: the tool asks its client for a message before it "
        "answers.",
    ),
    Key("elicitation", help="The same for a question to the user."),
    Key("roots_list", help="The same for the client's roots."),
    has_nulls=False,
)
_LISTED_KEYS = TOOL.names[: TOOL.names.index("response")]
"""The keys of a tool that `tools/list` shows."""
_WIRE_NAMES = {"input_schema": "inputSchema", "output_schema": "outputSchema"}
RESOURCE = KeyTable(
    Key("uri", _filled_text("a URI"), TEXT_SCHEMA, "", "The URI of the resource.", "a URI"),
    Key("name", _filled_text("a name"), TEXT_SCHEMA, help="Shown in `resources/list`; by default the URI."),
    Key("title", _any_text, _ANY_TEXT, help="Shown in `resources/list`."),
    Key("description", _any_text, _ANY_TEXT, help="Shown in `resources/list`."),
    Key(
        "mime_type",
        _filled_text("a media type"),
        {**TEXT_SCHEMA, "default": "text/plain"},
        "text/plain",
        "The media type.",
    ),
    Key("mimeType", _filled_text("a media type"), TEXT_SCHEMA, "text/plain", "Another name of mime_type."),
    Key("text", _any_text, _ANY_TEXT, "", "The contents as text."),
    Key("blob", _base64, TEXT_SCHEMA, help="The contents as base64, which is checked."),
    has_nulls=False,
)
PROMPT = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the prompt.", "a name"),
    Key("title", _any_text, _ANY_TEXT, help="Shown in `prompts/list`."),
    Key("description", _any_text, _ANY_TEXT, help="Shown in `prompts/list`."),
    Key(
        "arguments",
        schema=_LIST,
        help="Shown in `prompts/list`; a required argument that is missing gets error -32602.",
    ),
    Key("text", _any_text, _ANY_TEXT, help="What it gives, with ${args.…} filled in."),
    Key("messages", schema=_LIST, help="What it gives instead of a text: messages of {role, content}."),
    has_nulls=False,
)
ARGUMENT = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the argument.", "a name"),
    Key("title", schema=_ANY_TEXT),
    Key("description", schema=_ANY_TEXT),
    Key("required", _of_type(bool, "true or false"), SWITCH_SCHEMA, False, "Calls without it fail."),
    has_nulls=False,
)
MESSAGE = KeyTable(
    Key("role", _role, {"enum": ["user", "assistant"]}, "user", "The role of the speaker."),
    Key(
        "content",
        _content,
        {"type": ["string", "object"]},
        help="A text or a block of content.",
        required="a text or a block of content",
    ),
    has_nulls=False,
)
_QUESTIONS = {
    "sampling": "sampling/createMessage",
    "elicitation": "elicitation/create",
    "roots_list": "roots/list",
}
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


def parse_manifest(document: object) -> Manifest:
    """Return the manifest of a document. Raises InputError for the first mistake, with its path."""
    path, given = _server(to_json_data(document))
    try:
        return _manifest(MappingReader(given, SERVER))
    except InputError as error:
        # A bare list of tools has no key for them.
        error = InputError(error.path.removeprefix("tools"), error.problem) if path == "[]" else error
        raise error.within(path) if path not in ("", "[]") else error from None


def _server(document: object) -> tuple[str, Mapping[str, Any]]:
    """Return the path and the mapping of the server, in any of the three forms."""
    if document is None:
        raise InputError("", "expected tools, got an empty file")
    if isinstance(document, list):
        return "[]", {"tools": document}
    if not isinstance(document, Mapping):
        raise InputError("", f"expected a mapping with tools, got {shown(document)}")
    if "mock_server" in document:
        inner = mapping(document, ("mock_server",), "")["mock_server"]
        return "mock_server", mapping(inner, SERVER.names, "mock_server")
    path = "result" if "jsonrpc" in document else ""
    if path:
        document = mapping(document, ("jsonrpc", "id", "result"), "").get("result")
    given = mapping(document, (*SERVER.names, *_LIST_KEYS), path)
    if "tools" not in given:
        raise InputError(path, "expected tools, got none")
    return path, {key: value for key, value in given.items() if key not in _LIST_KEYS}


def _manifest(reader: MappingReader) -> Manifest:
    tools = each_of(reader.given.get("tools", []), "tools", _tool)
    _refuse_repeats([tool.name for tool in tools], "tools", "name")
    resources = each_of(reader.given.get("resources", []), "resources", _resource)
    _refuse_repeats([each.listed["uri"] for each in resources], "resources", "uri")
    prompts = each_of(reader.given.get("prompts", []), "prompts", _prompt)
    _refuse_repeats([each.listed["name"] for each in prompts], "prompts", "name")
    return Manifest(
        reader.take("name"),
        reader.take("version"),
        tuple(tools),
        tuple(resources),
        tuple(prompts),
        reader.take("instructions"),
    )


def _refuse_repeats(names: Iterable[str], what: str, key: str) -> None:
    places: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in places:
            problem = f"{shown(name)} is there already, as {what}[{places[name]}]"
            raise InputError(f"{what}[{index}].{key}", problem)
        places[name] = index


def _refuse_both(reader: MappingReader, one: str, other: str) -> None:
    if one in reader.given and other in reader.given:
        raise InputError(other, f"expected only one of {one} and {other}, got both")


def _tool(entry: object) -> MockTool:
    reader = MappingReader(entry, TOOL)
    name = reader.take("name")
    _refuse_both(reader, "input_schema", "inputSchema")
    _refuse_both(reader, "output_schema", "outputSchema")
    listed = {_WIRE_NAMES.get(key, key): value for key, value in reader.values(*_LISTED_KEYS).items()}
    listed.setdefault("inputSchema", {"type": "object"})
    required = listed["inputSchema"].get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        key = "input_schema" if "input_schema" in reader.given else "inputSchema"
        raise InputError(f"{key}.required", f"expected a list of names, got {shown(required)}")
    usual = _usual_answer(name, listed.get("outputSchema"))
    return MockTool(
        name, listed, tuple(required), parse_responses(reader.given, usual), _questions(reader.given)
    )


def _usual_answer(tool: str, schema: object) -> MockResult:
    """Return the answer of a tool that is given none; with an output schema, one that fits it."""
    content = f"mock {tool}"
    if schema is None:
        return mock_result(content)
    return mock_result({"content": content, "structuredContent": smallest_value(schema)})


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


def _resource(entry: object) -> MockResource:
    reader = MappingReader(entry, RESOURCE)
    _refuse_both(reader, "mime_type", "mimeType")
    _refuse_both(reader, "text", "blob")
    uri = reader.take("uri")
    kind = reader.take("mime_type" if "mime_type" in reader.given else "mimeType")
    name = reader.take("name") if "name" in reader.given else uri
    listed = {"uri": uri, "name": name, "mimeType": kind, **reader.values("title", "description")}
    form = "blob" if "blob" in reader.given else "text"
    return MockResource(listed, {"uri": uri, "mimeType": kind, form: reader.take(form)})


def _prompt(entry: object) -> MockPrompt:
    reader = MappingReader(entry, PROMPT)
    name = reader.take("name")
    listed: dict[str, Any] = {"name": name, **reader.values("title", "description")}
    if "arguments" in reader.given:
        listed["arguments"] = each_of(reader.given["arguments"], "arguments", _argument)
    _refuse_both(reader, "text", "messages")
    if "messages" in reader.given:
        messages = each_of(reader.given["messages"], "messages", _message)
    else:
        content = reader.take("text") if "text" in reader.given else f"mock {name}"
        messages = [_message({"content": content})]
    check_names(messages, "messages" if "messages" in reader.given else "text", ("args",))
    return MockPrompt(listed, {"messages": messages, **reader.values("description")})


def _argument(entry: object) -> Mapping[str, Any]:
    reader = MappingReader(entry, ARGUMENT)
    reader.take("name")
    reader.take("required")
    return reader.given


def _message(entry: object) -> dict[str, Any]:
    reader = MappingReader(entry, MESSAGE)
    role = reader.take("role")
    return {"role": role, "content": reader.take("content")}
