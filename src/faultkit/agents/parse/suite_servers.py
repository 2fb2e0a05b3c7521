"""The `servers` and `providers` of a suite: programs, URLs, mocks, and endpoints with the API of OpenAI."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.agents.parse.suite_source import LocatedPart, SuiteSource
from faultkit.agents.parse.suite_values import (
    BY_NAME_SCHEMA,
    COMMAND_SCHEMA,
    UNSUPPORTED_IN_AUTH,
    UNSUPPORTED_IN_SERVERS,
    URL_SCHEMA,
    WORDS_SCHEMA,
    named_entries,
    texts_by_name,
    url,
)
from faultkit.agents.suite.definition import (
    CommandServer,
    CustomProvider,
    MockServer,
    SecretHeader,
    Serving,
    SuiteServer,
    UrlServer,
)
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, never_both, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    line,
    span_schema,
    text,
    time_limit_s,
)
from faultkit.base.documents.variables import NAME
from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_model import Manifest

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording

ONLY_SERVER = "server"
"""Name of the server that the key `server` declares."""


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """The folder of a suite file, to which the names of other files are relative."""

    path_of: Callable[[str], str]
    """Returns the path of a file by its name in the suite."""
    open: Callable[[str], Manifest | Recording]
    """Reads a manifest or a recording."""


def parse_servers(
    suite: MappingReader, source: SuiteSource, folder: SuiteFolder
) -> list[LocatedPart[SuiteServer]]:
    """Return the servers of `servers` and `server`."""
    entries = named_entries(suite.given.get("servers"), "servers", "servers", source)
    if "server" in suite.given:
        entries.append((ONLY_SERVER, suite.given["server"], "server"))
    return [_server(name, value, path, source, folder) for name, value, path in entries]


def _server(
    name: str | None, value: object, path: str, source: SuiteSource, folder: SuiteFolder
) -> LocatedPart[SuiteServer]:
    before = len(source.problems)
    reader = MappingReader(value, SERVER, path, source.problems)
    if name is None:
        reader.require("name", "a name")
        name = reader.take("name")
    elif "name" in reader.given:
        reader.note("name", InputError("", f"expected no name, got one beside {shown(name)}"))
    serving = _serving(reader, source, folder)
    server = SuiteServer(name, serving or CommandServer(()), source.place(path))
    return LocatedPart(server, path, source, value, is_sound=len(source.problems) == before)


def _serving(reader: MappingReader, source: SuiteSource, folder: SuiteFolder) -> Serving | None:
    how = reader.at_most_one(*_SERVING_KEYS)
    if how is None:
        if reader.sound:
            source.note(reader.path, "expected one of command, url, mock, got none")
        return None
    for key in reader.given:
        if key in _ONLY_WITH and _ONLY_WITH[key] != how:
            reader.note(key, InputError("", f"expected only beside {_ONLY_WITH[key]}, got it beside {how}"))
    if how == "command":
        argv, more, env = reader.take("command"), reader.take("args"), reader.take("env")
        cwd = reader.take("cwd")
        return CommandServer((*argv, *more), env, None if cwd is None else folder.path_of(cwd))
    if how == "url":
        return _url_server(reader)
    return reader.take(how, lambda value: _mock(value, source, folder), None)


def _url_server(reader: MappingReader) -> UrlServer:
    headers, secret_headers = reader.take("headers", _headers, ({}, ()))
    if "auth" in reader.given:
        variable = reader.inner("auth").take("bearer_token_env")
        if any(name.lower() == "authorization" for name in headers):
            reader.note(
                "auth", InputError("", "expected only one of auth and a header Authorization, got both")
            )
        secret_headers += (SecretHeader("Authorization", variable, "auth.bearer_token_env", "Bearer "),)
    limits = reader.inner("http")
    ready = reader.take("wait_for_ready")
    return UrlServer(
        reader.take("url"),
        headers,
        secret_headers,
        request_s=limits.take("timeout"),
        connect_s=limits.take("connect_timeout"),
        ready_s=ready if isinstance(ready, float) else None,
        ready_url=ready if isinstance(ready, str) else "",
    )


def _headers(value: object) -> tuple[dict[str, str], tuple[SecretHeader, ...]]:
    """Return the headers that are given as texts, and those whose values are in the environment."""
    written = value if isinstance(value, Mapping) else {}
    secret: list[SecretHeader] = []
    for name, each in written.items():
        if isinstance(each, Mapping):
            try:
                variable = MappingReader(each, FROM_ENV).take("env")
            except InputError as error:
                raise error.within(join_path("", name)) from None
            secret.append(SecretHeader(name, variable, f"headers.{name}"))
    literal = {name: each for name, each in written.items() if not isinstance(each, Mapping)}
    return texts_by_name(literal if isinstance(value, Mapping) else value), tuple(secret)


def _readiness(value: object) -> float | str:
    """Read a duration in seconds, or a URL."""
    given = text(value)
    if given.startswith(("http://", "https://")):
        return url(given)
    try:
        return duration_s(given)
    except InputError as error:
        raise InputError("", error.problem.replace(", got", " or a URL, got")) from None


def command(value: object) -> tuple[str, ...]:
    """Return a program and its arguments, from a list or from a text as on a command line."""
    if isinstance(value, str):
        try:
            words = tuple(shlex.split(value))
        except ValueError as error:
            raise InputError("", f"expected a command, got {shown(value)}: {str(error).lower()}") from None
    else:
        words = _words(value)
    if not words or not words[0]:
        raise InputError("", f"expected a program and its arguments, got {shown(value)}")
    return words


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError("", f"expected a list of texts, got {shown(value)}")
    for index, each in enumerate(value):
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            raise InputError(f"[{index}]", f"expected a text, got {shown(each)}")
    return tuple(str(each) for each in value)


def _mock(value: object, source: SuiteSource, folder: SuiteFolder) -> MockServer:
    if isinstance(value, Mapping | list):
        return MockServer(source.file, parse_manifest(value))
    name = text(value)
    return MockServer(folder.path_of(name), folder.open(name))


_SERVING_KEYS = ("command", "url", "mock", "tools_from")
_ONLY_WITH = {
    **dict.fromkeys(("args", "env", "cwd"), "command"),
    **dict.fromkeys(("headers", "auth", "http", "wait_for_ready"), "url"),
}


def _server_rules() -> Schema:
    return {
        "anyOf": [given(key) for key in _SERVING_KEYS],
        "allOf": [never_both(one, other) for one in _SERVING_KEYS for other in _SERVING_KEYS if one < other]
        + [{"if": given(key), "then": given(owner)} for key, owner in _ONLY_WITH.items()],
    }


def _variable_name(value: object) -> str:
    name = text(value)
    if not re.fullmatch(NAME, name):
        # Not quoted: a key that was written here by mistake must not appear in an error.
        raise InputError("", "expected the name of an environment variable, got something else")
    return name


_VARIABLE_SCHEMA: Schema = {"type": "string", "pattern": f"^{NAME}$"}
FROM_ENV = KeyTable(
    Key("env", _variable_name, _VARIABLE_SCHEMA, "", "The variable.", "the name of an environment variable")
)
AUTH = KeyTable(
    Key(
        "bearer_token_env",
        _variable_name,
        _VARIABLE_SCHEMA,
        "",
        "The environment variable that holds the token for `Authorization: Bearer`.",
        "the name of an environment variable",
    ),
    unsupported=UNSUPPORTED_IN_AUTH,
)
HTTP_LIMITS = KeyTable(
    Key(
        "timeout",
        time_limit_s,
        span_schema({"exclusiveMinimum": 0}),
        help="The longest time of a call. Agents that are programs have limits of their own.",
    ),
    Key(
        "connect_timeout",
        time_limit_s,
        span_schema({"exclusiveMinimum": 0}),
        help="The longest time until the session is open.",
    ),
)


def _headers_schema() -> Schema:
    either = {"anyOf": [BY_NAME_SCHEMA["additionalProperties"], schema_of(FROM_ENV)]}
    return {"type": "object", "additionalProperties": either}


SERVER = KeyTable(
    Key("name", line, TEXT_SCHEMA, "", "The name of the server, in a list of servers."),
    Key("command", command, COMMAND_SCHEMA, (), "A program that speaks MCP over stdio."),
    Key("args", _words, WORDS_SCHEMA, (), "Further arguments of the program."),
    Key("env", texts_by_name, BY_NAME_SCHEMA, {}, "Environment variables of the program."),
    Key("cwd", text, TEXT_SCHEMA, help="The folder in which the program starts."),
    Key("url", url, URL_SCHEMA, "", "The URL of a running server."),
    Key(
        "headers",
        schema=_headers_schema,
        help="Headers of each request: a text, or {env: NAME} for the value of an environment variable.",
    ),
    Key("auth", schema=AUTH),
    Key("http", schema=HTTP_LIMITS),
    Key(
        "wait_for_ready",
        _readiness,
        {"anyOf": [DURATION_SCHEMA, URL_SCHEMA]},
        help="Wait until the server accepts connections, for at most this duration; or until this URL "
        "answers with a status of 2xx, for at most a minute.",
    ),
    Key(
        "mock",
        schema={"anyOf": [TEXT_SCHEMA, {"type": ["object", "array"]}]},
        help="A manifest or a recording: its file, or the manifest itself.",
    ),
    Key(
        "tools_from",
        schema={"anyOf": [TEXT_SCHEMA, {"type": "object"}]},
        help="Another name of mock.",
    ),
    rules=_server_rules,
    unsupported=UNSUPPORTED_IN_SERVERS,
)

PROVIDER_TYPES = ("openai",)


def parse_providers(suite: MappingReader, source: SuiteSource) -> list[LocatedPart[CustomProvider]]:
    """Return the providers of a suite."""
    entries = named_entries(suite.given.get("providers"), "providers", "providers", source)
    return [
        LocatedPart(_provider(name, value, path, source), path, source, value)
        for name, value, path in entries
    ]


def _provider(name: str | None, value: object, path: str, source: SuiteSource) -> CustomProvider:
    reader = MappingReader(value, PROVIDER, path, source.problems)
    if name is None:
        reader.require("name", "a name")
        name = reader.take("name")
    reader.take("type")
    return CustomProvider(
        name, reader.take("base_url"), reader.take("api_key_env"), reader.take("organization")
    )


PROVIDER = KeyTable(
    Key("name", line, TEXT_SCHEMA, "", "The name of the provider, in a list of providers."),
    Key("type", choice(PROVIDER_TYPES), {"enum": list(PROVIDER_TYPES)}, "openai", "The API of the provider."),
    Key(
        "base_url",
        url,
        URL_SCHEMA,
        "",
        "The URL of the API.",
        "a URL such as http://localhost:8000",
    ),
    Key(
        "api_key_env",
        _variable_name,
        _VARIABLE_SCHEMA,
        "",
        "The environment variable that holds the key.",
    ),
    Key("organization", text, TEXT_SCHEMA, "", "The organization of the account."),
)
