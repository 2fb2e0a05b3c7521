"""The `servers` of a suite: a program, a URL, or a mock of ours."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.agents.model import CommandServer, MockServer, Serving, SuiteServer, UrlServer
from faultkit.agents.parse.keys import NOT_SERVED_IN_SERVERS, at_most_one, named, opened, texts_by_name, url
from faultkit.agents.parse.sheet import Found, Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import line, text
from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.model import Manifest

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording

SERVER_KEYS = ("name", "command", "args", "env", "cwd", "url", "headers", "mock", "tools_from")
ONLY_SERVER = "server"
"""The name of the one that `server:` declares."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """Files and folders as a suite names them, from the folder in which it stands."""

    path_of: Callable[[str], str]
    open: Callable[[str], Manifest | Recording]


def parse_servers(given: Reading, sheet: Sheet, nearby: Nearby) -> list[Found[SuiteServer]]:
    entries = named(given.given.get("servers"), "servers", "servers", sheet)
    if "server" in given.given:
        entries.append((ONLY_SERVER, given.given["server"], "server"))
    return [_server(name, value, path, sheet, nearby) for name, value, path in entries]


def _server(name: str | None, value: object, path: str, sheet: Sheet, nearby: Nearby) -> Found[SuiteServer]:
    before = len(sheet.problems)
    reading = opened(value, SERVER_KEYS, path, sheet, NOT_SERVED_IN_SERVERS)
    if name is None:
        name = reading.need("name", line, "", "a name")
    elif "name" in reading.given:
        reading.note("name", InputError("", f"expected no name, got one beside {shown(name)}"))
    serving = _serving(reading, sheet, nearby)
    server = SuiteServer(name, serving or CommandServer(()), sheet.place(path))
    return Found(server, path, sheet, value, is_sound=len(sheet.problems) == before)


def _serving(reading: Reading, sheet: Sheet, nearby: Nearby) -> Serving | None:
    how = at_most_one(reading, "command", "url", "mock", "tools_from")
    if how is None:
        if reading.sound:
            sheet.note(reading.path, "expected one of command, url, mock, got none")
        return None
    for key in reading.given:
        if key in _ONLY_WITH and _ONLY_WITH[key] != how:
            reading.note(key, InputError("", f"expected only beside {_ONLY_WITH[key]}, got it beside {how}"))
    if how == "command":
        return _command(reading, nearby)
    if how == "url":
        return UrlServer(reading.take("url", url, ""), reading.take("headers", texts_by_name, {}))
    return reading.take(how, lambda value: _mock(value, sheet, nearby), None)


_ONLY_WITH = {"args": "command", "env": "command", "cwd": "command", "headers": "url"}


def _command(reading: Reading, nearby: Nearby) -> CommandServer:
    argv = reading.take("command", command, ())
    more = reading.take("args", _words, ())
    env = reading.take("env", texts_by_name, {})
    return CommandServer(
        (*argv, *more), env, reading.take("cwd", lambda value: nearby.path_of(text(value)), None)
    )


def command(value: object) -> tuple[str, ...]:
    """A program and its arguments, as a list or as one would type it."""
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


def _mock(value: object, sheet: Sheet, nearby: Nearby) -> MockServer:
    if isinstance(value, Mapping | list):
        return MockServer(sheet.file, parse_manifest(value))
    name = text(value)
    return MockServer(nearby.path_of(name), nearby.open(name))
