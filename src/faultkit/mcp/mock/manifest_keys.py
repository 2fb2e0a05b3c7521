"""The keys of a manifest: each mapping is declared once as a table.

Those of responses are in `manifest_responses`. The tables of docs/mock.md are made from them.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.documents.checks import sequence, shown, text
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.values import (
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    choice,
    number,
    pause_s,
    span_schema,
    whole_number,
)
from faultkit.base.errors import InputError
from faultkit.mcp.mock.expressions import Condition, parse_condition
from faultkit.mcp.mock.mock_model import LOG_LEVELS
from faultkit.mcp.mock.uri_template import UriTemplate, parse_template

DEFAULT_NAME = "faultkit-mock"
MOST_ENTRIES = 100_000
"""Largest size of a page."""
_ANY_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_LIST: Schema = {"type": "array"}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


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
_list = _of_type(list, "a list")


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    for index, each in enumerate(sequence(value, "texts", "")):
        if not isinstance(each, str):
            raise InputError(f"[{index}]", f"expected a text, got {shown(each)}")
    return tuple(map(str, sequence(value, "texts", "")))


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


def _uri_template(value: object) -> UriTemplate:
    given = text(value, "a template such as mem://notes/{id}", "")
    try:
        return parse_template(given)
    except ValueError as error:
        raise InputError("", str(error)) from None


def _listed_keys(method: str) -> tuple[Key, ...]:
    """Return the keys of a resource or template that a list shows unchanged."""
    where = f"Listed in `{method}`."
    return (
        Key("title", _any_text, _ANY_TEXT, help=where),
        Key("description", _any_text, _ANY_TEXT, help=where),
        Key("annotations", _mapping, _OBJECT, help=where),
        Key("icons", _list, _LIST, help=where),
        Key("_meta", _mapping, _OBJECT, help=where),
    )


def _listed_when(value: object) -> Condition:
    given = text(value, "a condition such as calls.login > 0", "")
    try:
        return parse_condition(given, ("calls",))
    except ValueError as error:
        raise InputError("", str(error)) from None


_LISTED_WHEN = Key(
    "listed_when",
    _listed_when,
    TEXT_SCHEMA,
    help="A condition on `calls` under which it is there. By default it always is.",
)
SERVER = KeyTable(
    Key(
        "name",
        _filled_text("a name"),
        {**TEXT_SCHEMA, "default": DEFAULT_NAME},
        DEFAULT_NAME,
        "The name in `serverInfo`.",
    ),
    Key(
        "version",
        _filled_text("a version"),
        {**TEXT_SCHEMA, "default": "1.0.0"},
        "1.0.0",
        "The version in `serverInfo`.",
    ),
    Key(
        "instructions",
        lambda value: None if value is None else text(value, "a text", ""),
        TEXT_SCHEMA,
        help="Instructions for clients, sent when they connect.",
    ),
    Key("tools", schema=_LIST, help="The tools; the list may be empty.", required="tools"),
    Key(
        "resources",
        schema=_LIST,
        help="Resources; without any, and without templates, the methods for them do not exist.",
    ),
    Key(
        "resource_templates",
        schema=_LIST,
        help="Templates of resources that clients read by their variables.",
    ),
    Key("prompts", schema=_LIST, help="Prompts; without any, the methods for them do not exist."),
    Key(
        "page_size",
        whole_number(1, MOST_ENTRIES),
        {"type": "integer", "minimum": 1, "maximum": MOST_ENTRIES},
        help="Entries in a page of any list. By default, each list is one page.",
    ),
    has_nulls=False,
)
FILE = KeyTable(Key("mock_server", schema=SERVER, help="The server."), has_nulls=False)
LIST_REPLY = KeyTable(Key("jsonrpc"), Key("id"), Key("result"), has_nulls=False)
"""A whole reply to `tools/list`."""
LIST_RESULT = KeyTable(
    Key("nextCursor"), Key("_meta"), Key("resultType"), Key("ttlMs"), Key("cacheScope"), has_nulls=False
)
"""Keys of the result of a `tools/list` besides its tools. They are ignored."""
TOOL = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the tool.", "a name"),
    Key("title", _any_text, _ANY_TEXT, help="Listed in `tools/list` unchanged."),
    Key("description", _any_text, _ANY_TEXT, help="Listed in `tools/list` unchanged."),
    Key(
        "input_schema",
        _mapping,
        _OBJECT,
        help="The JSON Schema of the arguments; a call without a required one gets error -32602.",
    ),
    Key("inputSchema", _mapping, _OBJECT, help="The same as `input_schema`."),
    Key("output_schema", _mapping, _OBJECT, help="The JSON Schema of structured results."),
    Key("outputSchema", _mapping, _OBJECT, help="The same as `output_schema`."),
    Key("annotations", _mapping, _OBJECT, help="Listed in `tools/list` unchanged."),
    Key("icons", _list, _LIST, help="Listed in `tools/list` unchanged."),
    Key("execution", _mapping, _OBJECT, help="Listed in `tools/list` unchanged."),
    Key("_meta", _mapping, _OBJECT, help="Listed in `tools/list` unchanged."),
    Key("response", help="The result of every call."),
    Key(
        "responses",
        schema=_LIST,
        help="Results and errors with conditions, at least one; not together with `response`.",
    ),
    Key(
        "sampling",
        help="True, or the parameters of the request: before it answers, the tool sends its client "
        "`sampling/createMessage`.",
    ),
    Key("elicitation", help="The same for `elicitation/create`."),
    Key("roots_list", help="The same for `roots/list`."),
    _LISTED_WHEN,
    Key(
        "sends", schema=_LIST, help="Progress and log messages that it sends, in order, while a call is open."
    ),
    has_nulls=False,
)
CALL_MESSAGE = KeyTable(
    Key(
        "progress",
        number("a number"),
        {"type": "number"},
        help="Sends `notifications/progress` with this value, if the call has a progress token.",
    ),
    Key("total", number("a number"), {"type": "number"}, help="The total of the progress."),
    Key("message", _any_text, _ANY_TEXT, help="The message of the progress."),
    Key("log", help="Sends `notifications/message` with this text or value as data."),
    Key(
        "level",
        choice(LOG_LEVELS),
        {"enum": list(LOG_LEVELS)},
        "info",
        "The level of the log message.",
    ),
    Key("logger", _filled_text("a name"), TEXT_SCHEMA, help="The name of the logger."),
    Key(
        "after_ms",
        pause_s,
        span_schema({"minimum": 0}),
        0.0,
        "The time to wait before it is sent, in milliseconds or with a unit.",
    ),
    has_nulls=False,
)
LISTED_KEYS = TOOL.names[: TOOL.names.index("response")]
"""The keys of a tool that `tools/list` shows."""
WIRE_NAMES = {"input_schema": "inputSchema", "output_schema": "outputSchema"}
_CONTENTS = (
    Key(
        "mime_type",
        _filled_text("a media type"),
        {**TEXT_SCHEMA, "default": "text/plain"},
        "text/plain",
        "The media type.",
    ),
    Key("mimeType", _filled_text("a media type"), TEXT_SCHEMA, "text/plain", "The same as `mime_type`."),
)
RESOURCE = KeyTable(
    Key("uri", _filled_text("a URI"), TEXT_SCHEMA, "", "The URI of the resource.", "a URI"),
    Key("name", _filled_text("a name"), TEXT_SCHEMA, help="Listed in `resources/list`; by default the URI."),
    *_listed_keys("resources/list"),
    *_CONTENTS,
    Key("text", _any_text, _ANY_TEXT, "", "The contents as text, with `${calls.TOOL}` filled in."),
    Key("blob", _base64, TEXT_SCHEMA, help="The contents as base64; not together with `text`."),
    _LISTED_WHEN,
    has_nulls=False,
)
TEMPLATE = KeyTable(
    Key(
        "uri_template",
        _uri_template,
        TEXT_SCHEMA,
        help="The template of the URIs: variables are `{id}`, or `{+path}` for a text with slashes.",
    ),
    Key("uriTemplate", _uri_template, TEXT_SCHEMA, help="The same as `uri_template`."),
    Key("name", _filled_text("a name"), TEXT_SCHEMA, help="Listed; by default the template."),
    *_listed_keys("resources/templates/list"),
    *_CONTENTS,
    Key(
        "text",
        _any_text,
        _ANY_TEXT,
        "",
        "The contents as text, with `${args.…}` and `${calls.TOOL}` filled in.",
    ),
    Key("blob", _base64, TEXT_SCHEMA, help="The contents as base64; not together with `text`."),
    Key(
        "complete",
        _mapping,
        {"type": "object", "additionalProperties": _TEXTS},
        help="Values that `completion/complete` offers, by the name of the variable.",
    ),
    _LISTED_WHEN,
    has_nulls=False,
)
PROMPT = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the prompt.", "a name"),
    Key("title", _any_text, _ANY_TEXT, help="Listed in `prompts/list`."),
    Key("description", _any_text, _ANY_TEXT, help="Listed in `prompts/list`, and in the prompt."),
    Key("icons", _list, _LIST, help="Listed in `prompts/list`."),
    Key("_meta", _mapping, _OBJECT, help="Listed in `prompts/list`."),
    Key("arguments", schema=_LIST, help="The arguments, listed in `prompts/list`."),
    Key("text", _any_text, _ANY_TEXT, help="The text of its only message, with `${args.…}` filled in."),
    Key("messages", schema=_LIST, help="Its messages, instead of `text`."),
    _LISTED_WHEN,
    has_nulls=False,
)
ARGUMENT = KeyTable(
    Key("name", _filled_text("a name"), TEXT_SCHEMA, "", "The name of the argument.", "a name"),
    Key("title", schema=_ANY_TEXT, help="Listed in `prompts/list`."),
    Key("description", schema=_ANY_TEXT, help="Listed in `prompts/list`."),
    Key(
        "required",
        _of_type(bool, "true or false"),
        SWITCH_SCHEMA,
        False,
        "True: a request without it gets error -32602.",
    ),
    Key("complete", texts, _TEXTS, help="Values that `completion/complete` offers for it."),
    has_nulls=False,
)
MESSAGE = KeyTable(
    Key("role", _role, {"enum": ["user", "assistant"]}, "user", "The role of the message."),
    Key(
        "content",
        _content,
        {"type": ["string", "object"]},
        help="A text, or a block of content.",
        required="a text or a block of content",
    ),
    has_nulls=False,
)
