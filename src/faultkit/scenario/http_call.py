"""The call of an item: method, URL with its segments filled in, headers, body, timeout; or a tool of an MCP
server.

Also the settings of `config`, which apply to all calls of a scenario. Nothing is sent here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from faultkit.base.address import SCHEMES, parse_endpoint
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import OR_NOTHING, Key, KeyTable, Schema, given, never_both, sentence
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    line,
    span_schema,
    switch,
    text,
    time_limit_s,
    whole_number,
)
from faultkit.base.errors import InputError
from faultkit.base.secret_names import is_secret_parameter
from faultkit.base.secrets import mask_url
from faultkit.load.load import StreamUntil, Target
from faultkit.load.route import route_of
from faultkit.scenario.mcp_call import MCP, TOOL, check_server, read_arguments
from faultkit.scenario.scenario_model import Call, HttpCall, McpCall

URL = 'an absolute URL such as "http://localhost:8080/path"'
METHOD = "an HTTP method such as GET"
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TOKEN = re.compile(TOKEN)
_SEGMENT = re.compile(r"\{([^{}]*)\}")
_URL_CHARACTERS = re.compile(r"[!-~]+")
_HEADER_CHARACTERS = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
PLACEHOLDER = "REPLACE_ME"
"""The beginning of what `fault scenario generate` writes in place of credentials."""
_PLACEHOLDER = re.compile(rf"\b{PLACEHOLDER}\w*")
_JSON_HEADER = ("content-type", "application/json")

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CallConfig:
    """The settings of `config`, which apply to every call of a scenario."""

    headers: Headers = ()
    segments: tuple[tuple[str, str], ...] = ()


def parse_config(reader: MappingReader) -> CallConfig:
    """Return the values of the mapping `config`."""
    http = reader.inner("http")
    return CallConfig(http.take("headers"), tuple(http.inner("paths").take("segments").items()))


def parse_call(reader: MappingReader, config: CallConfig) -> Call:
    """Return the call of an item, with the headers and segments of `config`."""
    if "mcp" in reader.given:
        return _parse_mcp_call(reader, config)
    for key in ("tool", "arguments"):
        if key in reader.given:
            reader.note(key, InputError("", "expected it beside mcp only, got it without"))
    return parse_http_call(reader, config)


def parse_http_call(reader: MappingReader, config: CallConfig) -> HttpCall:
    """Return a call that is an HTTP request."""
    body, is_json = reader.take("body")
    headers = _merge_headers(config.headers, reader.take("headers"))
    if is_json and not any(name.lower() == _JSON_HEADER[0] for name, _ in headers):
        headers = (*headers, _JSON_HEADER)
    segments = dict(config.segments)
    timeout_s = reader.take("timeout")
    call = HttpCall(
        reader.need("method", _parse_method, "GET", METHOD),
        reader.need("url", lambda value: _parse_url(value, segments), "", URL),
        headers,
        body,
        timeout_s,
        reader.inner("meta").take("operation_id"),
        _parse_stream(reader, timeout_s),
        reader.take("llm"),
    )
    if call.llm and call.stream is not None:
        reader.note("llm", InputError("", "expected no stream beside it: the answer is read as the model's"))
    if call.url:
        try:
            # A call that cannot be sent is reported now, not in the middle of a run.
            body = (call.body or "").encode()
            route_of(Target(call.method, call.url, call.headers, body, llm=call.llm))
        except InputError as error:
            reader.problems.append(error.within(reader.path))
    return call


def _parse_stream(reader: MappingReader, timeout_s: float | None) -> StreamUntil | None:
    """Return until when an event stream is read; None for a call that is none."""
    is_stream = reader.take("stream") is not None
    if "until" not in reader.given:
        return StreamUntil() if is_stream else None
    before = len(reader.problems)
    inner = reader.inner("until")
    until = StreamUntil(inner.take("events"), inner.take("time"), inner.take("data"))
    if len(reader.problems) > before:
        return None
    if not is_stream:
        reader.note("until", InputError("", "expected it beside stream: sse only, got it without"))
    elif not until.is_given:
        reader.note("until", InputError("", "expected events, time or data, got none of them"))
    elif until.time_s is not None and timeout_s is not None and timeout_s <= until.time_s:
        problem = f"expected more than {until.time_s:g} s, the time of until, got {timeout_s:g} s"
        reader.note("timeout", InputError("", problem))
    return until


def _parse_mcp_call(reader: MappingReader, config: CallConfig) -> McpCall:
    for key in ("method", "url", "body", "stream", "until", "llm"):
        if key in reader.given:
            reader.note(key, InputError("", "expected nothing beside mcp, got a value"))
    server = reader.inner("mcp")
    check_server(server)
    segments = dict(config.segments)
    call = McpCall(
        reader.need("tool", text, "", TOOL),
        reader.take("arguments"),
        server.take("url", lambda value: _parse_url(value, segments), ""),
        _merge_headers(config.headers, reader.take("headers")) if "url" in server.given else (),
        server.take("command"),
        server.take("env"),
        server.take("cwd"),
        server.take("era"),
        reader.take("timeout"),
        reader.inner("meta").take("operation_id"),
    )
    if reader.given.get("headers") and "url" not in server.given:
        reader.note("headers", InputError("", "expected them beside a url only, got them beside a command"))
    if call.url:
        try:
            route_of(Target("POST", call.url, call.headers))
        except InputError as error:
            reader.problems.append(error.within(reader.path))
    return call


def placeholders_in(call: Call) -> tuple[str, ...]:
    """Return the placeholders that the call still has, each once."""
    values = [call.url, *(value for _, value in call.headers)]
    if isinstance(call, HttpCall):
        texts = (*values, call.body or "")
    else:
        texts = (*values, call.arguments, *call.command, *(value for _, value in call.env))
    return tuple(dict.fromkeys(found for text in texts for found in _PLACEHOLDER.findall(text)))


def _parse_method(value: object) -> str:
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise InputError("", f"expected {METHOD}, got {shown(value)}")
    if value.upper() == "CONNECT":
        raise InputError("", 'expected a method with an answer of its own, got "CONNECT"')
    return value.upper()


def _parse_url(value: object, segments: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise InputError("", f"expected {URL}, got {shown(value)}")
    url = _fill_segments(value.strip(), segments)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError("", f"expected {URL}, got {shown(value)}: {str(error).lower()}") from None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError("", f"expected {URL}, got {shown(value)}")
    if not _URL_CHARACTERS.fullmatch(url):
        raise InputError("", f"expected a URL with other characters percent-encoded, got {shown(value)}")
    for mark, part, what in (("@", parts.netloc, "a user"), ("#", url, "a fragment")):
        if mark in part:
            raise InputError("", f"expected a URL without {what}, got {shown(mask_url(value))}")
    if parts.netloc.startswith(":"):
        raise InputError("", f"expected a URL with a host, got {shown(value)}")
    parse_endpoint(parts.netloc, SCHEMES[parts.scheme].port, path="")
    return url


def _fill_segments(url: str, segments: Mapping[str, str]) -> str:
    for name in _SEGMENT.findall(url):
        if name not in segments:
            raise InputError(
                "", f'expected a value for "{{{name}}}" in config.http.paths.segments, got nothing'
            )
    filled = _SEGMENT.sub(lambda found: quote(segments[found[1]], safe=""), url)
    if "{" in filled or "}" in filled:
        raise InputError("", f"expected braces around the names of segments only, got {shown(url)}")
    return filled


def _parse_headers(value: object) -> Headers:
    headers = _parse_texts(value, "header names to texts", may_be_empty=True)
    names: set[str] = set()
    for name, content in headers:
        if not _TOKEN.fullmatch(name):
            raise InputError("", f"expected a header name, got {shown(name)}")
        if not _HEADER_CHARACTERS.fullmatch(content):
            came = "something else" if is_secret_parameter(name) else shown(content)
            raise InputError(name, f"expected a text on one line with characters of Latin-1, got {came}")
        if name.lower() in names:
            raise InputError(name, "expected each name once, got it again in other letters")
        names.add(name.lower())
    return headers


def _parse_texts(value: object, what: str, *, may_be_empty: bool = False) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of {what}, got {shown(value)}")
    for name, content in value.items():
        if not isinstance(name, str):
            raise InputError("", f"expected a mapping of {what}, got the key {shown(name)}")
        if not isinstance(content, str):
            raise InputError(join_path("", name), f"expected a text in quotes, got {shown(content)}")
        if not content and not may_be_empty:
            raise InputError(join_path("", name), 'expected a text that is not empty, got ""')
    return tuple(value.items())


def _merge_headers(common: Headers, own: Headers) -> Headers:
    names = {name.lower() for name, _ in own}
    return (*(pair for pair in common if pair[0].lower() not in names), *own)


def _parse_body(value: object) -> tuple[str | None, bool]:
    """Return the body, and whether it was converted to JSON."""
    if isinstance(value, str):
        return value, False
    if not isinstance(value, Mapping | list):
        raise InputError("", f"expected a text, or a mapping or a list to send as JSON, got {shown(value)}")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_refuse_value), True
    except ValueError:
        raise InputError("", "expected values that JSON has, got a number without an end") from None
    except TypeError:
        raise InputError("", "expected texts as the keys of JSON, got others") from None


def _refuse_value(value: object) -> object:
    raise InputError("", f"expected values that JSON has, got {shown(value)} (text needs quotes)")


_HEADERS: Schema = {"$ref": f"#/$defs/headers{OR_NOTHING}"}
HEADERS_SCHEMA: Schema = {
    "type": ["object", "null"],
    "propertyNames": {"pattern": f"^{TOKEN}$"},
    "additionalProperties": {"type": "string"},
}

CONFIG = KeyTable(
    Key(
        "http",
        schema=KeyTable(
            Key(
                "headers",
                _parse_headers,
                _HEADERS,
                (),
                "Headers of every call; a call's own headers take precedence.",
            ),
            Key(
                "paths",
                schema=KeyTable(
                    Key(
                        "segments",
                        lambda value: dict(_parse_texts(value, "names of segments to texts")),
                        {"type": "object", "additionalProperties": TEXT_SCHEMA},
                        {},
                        "Values for {name} in URLs; they are percent-encoded.",
                    )
                ),
            ),
        ),
    ),
    help="What all calls have in common.",
)

_MOST_EVENTS = 1_000_000_000


def _call_schema_rules() -> Schema:
    alone = [never_both("mcp", key) for key in ("method", "url", "body", "stream", "until", "llm")]
    return {
        "anyOf": [given("method", "url"), given("mcp", "tool")],
        "allOf": [
            *alone,
            *({"if": given(key), "then": given("mcp")} for key in ("tool", "arguments")),
            {"if": given("until"), "then": given("stream")},
        ],
    }


CALL = KeyTable(
    Key(
        "method",
        _parse_method,
        {"type": "string", "pattern": f"^{TOKEN}$"},
        help=f"{sentence(METHOD)} Required, unless `mcp` is given.",
    ),
    Key(
        "url",
        schema={"type": "string", "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^/]"},
        help=sentence(f"{URL}; {{name}} stands for a segment of config. Required, unless `mcp` is given"),
    ),
    Key("headers", _parse_headers, _HEADERS, (), "Names and texts; numbers need quotes."),
    Key(
        "body",
        _parse_body,
        {"type": ["string", "object", "array"]},
        (None, False),
        "Text as it is; a mapping or a list is sent as JSON, with a content type unless there is one.",
    ),
    Key(
        "timeout",
        time_limit_s,
        span_schema({"exclusiveMinimum": 0}),
        help='For the whole call: a number of milliseconds, or text such as "500ms". 30 s if none is given.',
    ),
    Key(
        "stream",
        choice(("sse",)),
        {"enum": ["sse"]},
        help="sse: the answer is a stream of server-sent events, whose events are measured.",
    ),
    Key(
        "until",
        schema=KeyTable(
            Key(
                "events",
                whole_number(1, _MOST_EVENTS),
                {"type": "integer", "minimum": 1, "maximum": _MOST_EVENTS},
                help="A stream is complete after so many events.",
            ),
            Key("time", duration_s, DURATION_SCHEMA, help='Or after this time, such as "10s".'),
            Key(
                "data",
                text,
                TEXT_SCHEMA,
                help="Or with an event of this data. By default the server ends it.",
            ),
        ),
    ),
    Key(
        "llm",
        switch,
        SWITCH_SCHEMA,
        False,
        "It is a request to a model, streamed or whole: the tokens of its answer are measured. The API "
        "follows from the path and the body.",
    ),
    Key("mcp", schema=MCP),
    Key("tool", text, TEXT_SCHEMA, help=f"Beside `mcp`: {TOOL}."),
    Key(
        "arguments",
        read_arguments,
        {"type": "object"},
        "{}",
        "Beside `mcp`: the arguments of the tool, as a mapping.",
    ),
    Key(
        "meta",
        schema=KeyTable(Key("operation_id", line, TEXT_SCHEMA, help="Shown in reports.")),
    ),
    rules=_call_schema_rules,
)
