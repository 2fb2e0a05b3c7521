"""The entries of servers in a host's configuration file, with their places in its text. Pure.

A rewritten entry keeps its former text: in JSON under the member `_faultkit`, in TOML in a comment, because
hosts may refuse keys of a table that they do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.documents.jsonc import JsoncValue, dumps_like, kind_of, parse_jsonc
from faultkit.base.errors import InputError
from faultkit.mcp.hosts.host_configs import Format, server_homes
from faultkit.mcp.hosts.toml_text import read_toml, table_span, toml_table

MARK = "_faultkit"
"""Member of a rewritten entry, or beginning of a comment in it, that keeps the former text."""
_MARK_LINE = re.compile(rf"^# {MARK}: (.*?)\r?$", re.MULTILINE)


URL_KEYS = ("httpUrl", "serverUrl", "url")
"""Members of an entry that have the URL of its server: of Gemini CLI, of Windsurf, and of the others. In
Gemini CLI, `url` beside `httpUrl` is that of the old transport."""


def url_of(value: Mapping[str, Any]) -> str:
    """Return the URL of an entry's server; empty if it has none."""
    found = (value.get(key) for key in URL_KEYS)
    return next((each for each in found if isinstance(each, str) and each), "")


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The entry of one server, with its place in the text."""

    name: str
    project: str | None
    """Folder of the project that the server belongs to, if the file has servers of several projects."""
    begin: int
    end: int
    text: str
    value: dict[str, Any]
    is_marked: bool = False
    was: str | None = None
    """The former text of a rewritten entry; None if there is none, or if it was damaged."""
    why_fixed: str | None = None
    """Why the entry cannot be rewritten; None if it can."""

    @property
    def label(self) -> str:
        """The name for people."""
        return self.name if self.project is None else f"{self.name} ({self.project})"


def server_entries(text: str, format: Format) -> list[ServerEntry]:
    """Return the entries of all servers in a file. Raises InputError if there is no place for any."""
    return _toml_entries(text) if format == "toml" else _json_entries(text)


def entry_value(text: str, entry: ServerEntry, format: Format) -> dict[str, Any]:
    """Return the value of the text of an entry, such as its former one. Raises InputError."""
    if format == "json":
        plain: dict[str, Any] = _parse_object(text, f"{entry.name}.{MARK}.was").plain
        return plain
    [[key]] = server_homes("toml")
    try:
        found = read_toml(text)[key][entry.name]
        if not isinstance(found, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{entry.name}.{MARK}", "expected the text of the entry as it was, got another"
        ) from None
    return found


def marked_text(entry: ServerEntry, new: Mapping[str, Any], text: str, format: Format) -> str:
    """Return the text of an entry with new content that keeps the former text."""
    was = entry.text if entry.was is None else entry.was
    if format == "json":
        return dumps_like({**new, MARK: {"was": was}}, text, entry.begin, was)
    [[key]] = server_homes("toml")
    header, newline, values = toml_table((key, entry.name), new).partition("\n")
    table = f"{header}{newline}# {MARK}: {json.dumps(was)}{newline}{values}"
    if not was.endswith("\n"):
        table = table.rstrip("\n")
    return table.replace("\n", "\r\n") if "\r\n" in text else table


def _toml_entries(text: str) -> list[ServerEntry]:
    [[key]] = server_homes("toml")
    try:
        servers = read_toml(text).get(key)
    except ValueError as error:
        raise InputError("", str(error)) from None
    if servers is None:
        raise InputError("", f"expected tables [{key}.NAME], got none")
    if not isinstance(servers, dict):
        raise InputError(key, f"expected a table of servers, got {kind_of(servers)}")
    return [_toml_entry(text, key, name, value) for name, value in servers.items()]


def _toml_entry(text: str, key: str, name: str, value: Any) -> ServerEntry:
    if not isinstance(value, dict):
        raise InputError(f"{key}.{name}", f"expected a table, got {kind_of(value)}")
    try:
        begin, end = table_span(text, (key, name))
    except ValueError as error:
        return ServerEntry(name, None, 0, 0, "", value, why_fixed=str(error))
    mark = _MARK_LINE.search(text, begin, end)
    was = None
    if mark is not None:
        try:
            was = json.loads(mark[1])
        except ValueError:
            was = None
    return ServerEntry(
        name,
        None,
        begin,
        end,
        text[begin:end],
        value,
        mark is not None,
        was if isinstance(was, str) else None,
    )


def _json_entries(text: str) -> list[ServerEntry]:
    document = _parse_object(text, "")
    homes = [found for home in server_homes("json") for found in _values_at(document, home)]
    if not homes:
        places = ", ".join(".".join(home) for home in server_homes("json"))
        raise InputError("", f"expected an object of servers under one of {places}, got none")
    return [entry for path, servers in homes for entry in _entries_of(text, path, servers)]


def _entries_of(text: str, path: tuple[str, ...], servers: JsoncValue) -> Iterator[ServerEntry]:
    if not isinstance(servers.plain, dict):
        raise InputError(".".join(path), f"expected an object of servers, got {kind_of(servers.plain)}")
    project = path[1] if path[0] == "projects" else None
    for member in servers.members:
        name, value = member.key, member.value
        if not isinstance(value.plain, dict):
            raise InputError(".".join((*path, name)), f"expected an object, got {kind_of(value.plain)}")
        mark = value.plain.get(MARK)
        was = mark.get("was") if isinstance(mark, dict) else None
        yield ServerEntry(
            name,
            project,
            value.start,
            value.end,
            text[value.start : value.end],
            value.plain,
            MARK in value.plain,
            was if isinstance(was, str) else None,
        )


def _values_at(document: JsoncValue, home: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], JsoncValue]]:
    """Yield the values at a path, in which `*` stands for any key, each with its own path."""
    key, *rest = home
    for member in document.members if isinstance(document.plain, dict) else ():
        if key not in ("*", member.key):
            continue
        if not rest:
            yield (member.key,), member.value
        else:
            for path, value in _values_at(member.value, tuple(rest)):
                yield (member.key, *path), value


def _parse_object(text: str, path: str) -> JsoncValue:
    try:
        # Rewriting would lose a duplicate key.
        value = parse_jsonc(text, once=True)
    except ValueError as error:
        raise InputError(path, str(error)) from None
    if not isinstance(value.plain, dict):
        raise InputError(path, f"expected an object, got {kind_of(value.plain)}")
    return value
