"""Manifests: loading the file that describes a mock.

Reading stops at the first mistake and raises it with its path; unknown keys are mistakes. Three forms are
accepted: `mock_server: {…}`, the same without that key, and the reply to a `tools/list` as a server sent it.
In the last, and wherever no answer is given, a tool answers with `mock NAME`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from faultkit.base.documents.checks import join_path, mapping, shown
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.schema_example import smallest_value
from faultkit.base.documents.yaml_text import placed, read_document, to_json_data
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.base.text import did_you_mean
from faultkit.mcp.mock.expressions import names_behind, tools_of_condition
from faultkit.mcp.mock.manifest_keys import (
    ARGUMENT,
    CALL_MESSAGE,
    FILE,
    LIST_REPLY,
    LIST_RESULT,
    LISTED_KEYS,
    MESSAGE,
    PROMPT,
    RESOURCE,
    SERVER,
    TEMPLATE,
    TOOL,
    WIRE_NAMES,
    texts,
)
from faultkit.mcp.mock.manifest_responses import check_names, each_of, parse_responses
from faultkit.mcp.mock.mock_model import (
    LOG_MESSAGE,
    PROGRESS,
    CallMessage,
    Manifest,
    MockPrompt,
    MockResource,
    MockResult,
    MockTemplate,
    MockTool,
    Question,
    mock_result,
)
from faultkit.mcp.mock.uri_template import UriTemplate

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording

_RECORDING_SUFFIXES = (".jsonl", ".ndjson")
_QUESTIONS = {
    "sampling": "sampling/createMessage",
    "elicitation": "elicitation/create",
    "roots_list": "roots/list",
}
_DEFAULT_PARAMS: dict[str, dict[str, Any]] = {
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
        error = error.at(error.path.removeprefix("tools")) if path == "[]" else error
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
        inner = mapping(document, FILE.names, "")["mock_server"]
        return "mock_server", mapping(inner, SERVER.names, "mock_server")
    path = "result" if "jsonrpc" in document else ""
    if path:
        document = mapping(document, LIST_REPLY.names, "").get("result")
    given = mapping(document, (*SERVER.names, *LIST_RESULT.names), path)
    if "tools" not in given:
        raise InputError(path, "expected tools, got none")
    return path, {key: value for key, value in given.items() if key not in LIST_RESULT}


def _manifest(reader: MappingReader) -> Manifest:
    tools = each_of(reader.given.get("tools", []), "tools", _tool)
    _refuse_repeats([tool.name for tool in tools], "tools", "name")
    resources = each_of(reader.given.get("resources", []), "resources", _resource)
    _refuse_repeats([each.listed["uri"] for each in resources], "resources", "uri")
    templates = each_of(reader.given.get("resource_templates", []), "resource_templates", _template)
    uris = [each.template.text for each in templates]
    _refuse_repeats(uris, "resource_templates", "uri_template")
    prompts = each_of(reader.given.get("prompts", []), "prompts", _prompt)
    _refuse_repeats([each.listed["name"] for each in prompts], "prompts", "name")
    _check_counted_tools(reader.given, [tool.name for tool in tools])
    return Manifest(
        reader.take("name"),
        reader.take("version"),
        tuple(tools),
        tuple(resources),
        tuple(prompts),
        reader.take("instructions"),
        reader.take("page_size"),
        tuple(templates),
    )


_COUNTING_KEYS = {
    "tools": ("response", "responses", "listed_when"),
    "resources": ("text", "listed_when"),
    "resource_templates": ("text", "listed_when"),
    "prompts": ("listed_when",),
}
"""Keys whose values may count the calls of tools."""


def _check_counted_tools(given: Mapping[str, Any], tools: Sequence[str]) -> None:
    """Raise InputError for a tool behind `calls` that the file does not have: its count would never grow."""
    for kind, keys in _COUNTING_KEYS.items():
        for index, entry in enumerate(given.get(kind, [])):
            for key in keys:
                for path, name in _counted_tools(entry.get(key), key):
                    if name not in tools:
                        problem = f"expected a tool of the file behind calls, got {shown(name)}"
                        raise InputError(f"{kind}[{index}].{path}", problem + did_you_mean(name, tools, '"'))


def _counted_tools(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield each tool whose calls a value counts, with the path of the text that does."""
    if isinstance(value, str):
        is_condition = path.rpartition(".")[2] in ("when", "listed_when")
        for name in tools_of_condition(value) if is_condition else names_behind("calls", value):
            yield path, name
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _counted_tools(each, join_path(path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _counted_tools(each, f"{path}[{index}]")


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


def _one_of(reader: MappingReader, one: str, other: str) -> str:
    """Return which of two keys is given; the first if neither is."""
    _refuse_both(reader, one, other)
    return other if other in reader.given else one


def _tool(entry: object) -> MockTool:
    reader = MappingReader(entry, TOOL)
    name = reader.take("name")
    _refuse_both(reader, "input_schema", "inputSchema")
    _refuse_both(reader, "output_schema", "outputSchema")
    listed = {WIRE_NAMES.get(key, key): value for key, value in reader.values(*LISTED_KEYS).items()}
    listed.setdefault("inputSchema", {"type": "object"})
    required = listed["inputSchema"].get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        key = "input_schema" if "input_schema" in reader.given else "inputSchema"
        raise InputError(f"{key}.required", f"expected a list of names, got {shown(required)}")
    default = _default_answer(name, listed.get("outputSchema"))
    return MockTool(
        name,
        listed,
        tuple(required),
        parse_responses(reader.given, default),
        _questions(reader.given),
        _messages(reader.given.get("sends", [])),
        reader.take("listed_when"),
    )


def _default_answer(tool: str, schema: object) -> MockResult:
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
            value = _DEFAULT_PARAMS[key]
        if not isinstance(value, Mapping):
            raise InputError(key, f"expected true or the parameters of {method}, got {shown(value)}")
        check_names(value, key, ("args", "tool"))
        asks: Any = key.removesuffix("_list")
        questions.append(Question(asks, method, dict(value)))
    return tuple(questions)


def _messages(entries: object) -> tuple[CallMessage, ...]:
    messages = each_of(entries, "sends", _message_of_call)
    last: float | None = None
    for index, each in enumerate(messages):
        value = each.params.get("progress")
        if value is None:
            continue
        if last is not None and value <= last:
            # MCP 2025-11-25, Progress: the value must increase with each notification.
            raise InputError(f"sends[{index}].progress", f"expected more than {last:g}, got {value:g}")
        last = value
    return tuple(messages)


def _message_of_call(entry: object) -> CallMessage:
    reader = MappingReader(entry, CALL_MESSAGE)
    given = [key for key in ("progress", "log") if key in reader.given]
    if len(given) != 1:
        raise InputError("", f"expected one of progress and log, got {'both' if given else 'none'}")
    own = ("progress", "total", "message") if given == ["progress"] else ("log", "level", "logger")
    for key in reader.given:
        if key not in own and key != "after_ms":
            raise InputError(key, f"expected one of {', '.join(own)}, after_ms beside {given[0]}")
    for key, value in reader.given.items():
        check_names(value, key, ("args", "tool"))
    after_s = reader.take("after_ms")
    if given == ["progress"]:
        return CallMessage(
            PROGRESS, {key: _whole(value) for key, value in reader.values(*own).items()}, after_s
        )
    params = {"level": reader.take("level"), **reader.values("logger"), "data": reader.given["log"]}
    return CallMessage(LOG_MESSAGE, params, after_s)


def _whole(value: Any) -> Any:
    """Return a number as the file has it: 50, not 50.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _resource(entry: object) -> MockResource:
    reader = MappingReader(entry, RESOURCE)
    uri = reader.take("uri")
    listed, contents = _listed_and_contents(reader, uri)
    counts = frozenset(names_behind("calls", contents.get("text")))
    if counts:
        check_names(contents["text"], "text", ("calls",))
    return MockResource({"uri": uri, **listed}, {"uri": uri, **contents}, reader.take("listed_when"), counts)


def _template(entry: object) -> MockTemplate:
    reader = MappingReader(entry, TEMPLATE)
    key = _one_of(reader, "uri_template", "uriTemplate")
    reader.require(key, "a template such as mem://notes/{id}")
    template: UriTemplate = reader.take(key)
    listed, contents = _listed_and_contents(reader, template.text)
    if "text" in contents:
        check_names(contents["text"], "text", ("args", "calls"))
        for name in names_behind("args", contents["text"]):
            if name not in template.names:
                known = ", ".join(template.names)
                raise InputError("text", f"expected a variable of {known} behind args, got {shown(name)}")
    completions = {}
    for name, values in reader.values("complete").get("complete", {}).items():
        if name not in template.names:
            raise InputError(
                join_path("complete", name),
                f"expected a variable of the template, one of {', '.join(template.names)}",
            )
        try:
            completions[name] = texts(values)
        except InputError as error:
            raise error.within(join_path("complete", name)) from None
    return MockTemplate(
        {"uriTemplate": template.text, **listed},
        template,
        contents,
        completions,
        reader.take("listed_when"),
        frozenset(names_behind("calls", contents.get("text"))),
    )


def _listed_and_contents(reader: MappingReader, uri: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the list shows of a resource or template, and its contents, without the URI."""
    _refuse_both(reader, "text", "blob")
    kind = reader.take(_one_of(reader, "mime_type", "mimeType"))
    name = reader.take("name") if "name" in reader.given else uri
    shown_unchanged = reader.values("title", "description", "annotations", "icons", "_meta")
    form = "blob" if "blob" in reader.given else "text"
    return {"name": name, "mimeType": kind, **shown_unchanged}, {"mimeType": kind, form: reader.take(form)}


def _prompt(entry: object) -> MockPrompt:
    reader = MappingReader(entry, PROMPT)
    name = reader.take("name")
    listed: dict[str, Any] = {"name": name, **reader.values("title", "description", "icons", "_meta")}
    completions: dict[str, tuple[str, ...]] = {}
    if "arguments" in reader.given:
        arguments = each_of(reader.given["arguments"], "arguments", _argument)
        listed["arguments"] = [each for each, _ in arguments]
        completions = {each["name"]: values for each, values in arguments if values is not None}
    _refuse_both(reader, "text", "messages")
    if "messages" in reader.given:
        messages = each_of(reader.given["messages"], "messages", _message)
    else:
        content = reader.take("text") if "text" in reader.given else f"mock {name}"
        messages = [_message({"content": content})]
    check_names(messages, "messages" if "messages" in reader.given else "text", ("args",))
    return MockPrompt(
        listed,
        {"messages": messages, **reader.values("description")},
        completions,
        reader.take("listed_when"),
    )


def _argument(entry: object) -> tuple[Mapping[str, Any], tuple[str, ...] | None]:
    """Return what the list shows of an argument, and the values that complete it."""
    reader = MappingReader(entry, ARGUMENT)
    reader.take("name")
    reader.take("required")
    values = reader.take("complete")
    return {key: value for key, value in reader.given.items() if key != "complete"}, values


def _message(entry: object) -> dict[str, Any]:
    reader = MappingReader(entry, MESSAGE)
    role = reader.take("role")
    return {"role": role, "content": reader.take("content")}


# --- files ---------------------------------------------------------------------------------------


def load_source(path: str | os.PathLike[str]) -> Manifest | Recording:
    """Load a manifest or a recording, whichever the file is."""
    source = os.fspath(path)
    text = read_text(source)
    if is_recording(text) or source.endswith(_RECORDING_SUFFIXES):
        return _read_recording(text, source)
    return read_manifest(text, source)


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Load a recording. Raises InputError if the file holds none."""
    source = os.fspath(path)
    return _read_recording(read_text(source), source)


def _read_recording(text: str, source: str) -> Recording:
    # Imported late: few mocks are recordings, and a stdio client waits for every import.
    from faultkit.mcp.mock.mock_recording import read_recording

    return read_recording(text, source)


def is_recording(text: str) -> bool:
    """Return whether a text is a recording, by its first line."""
    try:
        entry = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "t" in entry and ("from" in entry or "inject" in entry)


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Load a manifest. Raises InputError if the file holds none."""
    source = os.fspath(path)
    return read_manifest(read_text(source), source)


def read_manifest(text: str, source: str = "manifest") -> Manifest:
    """Parse the text of a manifest. Errors have the line, and `source` as the name of the file."""
    document = read_document(text, source, "a manifest")
    try:
        return parse_manifest(document)
    except InputError as error:
        raise placed(error, text, source) from None
    except RecursionError:
        raise InputError(source, "expected a manifest, got one that is nested too deeply") from None
