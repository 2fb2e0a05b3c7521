"""The servers of a host's configuration file, each started once: does it answer, and what do its tools cost?

A host puts the tools of all its servers into its model's context. The cost is what `tools/list` has of them,
in bytes of JSON, and as tokens by the usual rule of four bytes each.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.base.documents.jsonc import kind_of
from faultkit.base.errors import FaultkitError
from faultkit.base.text import counted, untrusted_line
from faultkit.mcp.hosts.server_entries import URL_KEYS, ServerEntry, url_of
from faultkit.mcp.mcp_client import McpClient, ServerAddress
from faultkit.mcp.upstreams.server_stderr import StderrPipe
from faultkit.mcp.wire.era import LEGACY_VERSIONS, NEWEST

BYTES_OF_A_TOKEN = 4
_AT_ONCE = 4
_LAST_BYTES = 4096
"""Bytes of a server's standard error in which its last line is looked for."""
_MOST_SHOWN = 80
"""Characters of what a server sent that are shown."""
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class CheckedServer:
    """What one server of a configuration has."""

    name: str
    tools: tuple[str, ...] = ()
    size: int = 0
    """Bytes of its tools, as JSON."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""
    is_off: bool = False
    """True if the configuration has turned it off; it is not started then."""
    why_unchecked: str = ""
    """Why only the client itself can start it; empty if it can be checked here."""
    notes: tuple[str, ...] = ()
    """What is odd about it, though clients can use it."""

    @property
    def tokens(self) -> int:
        """About how many tokens its tools take."""
        return round(self.size / BYTES_OF_A_TOKEN)


async def check_servers_of(
    entries: Sequence[ServerEntry], variables: Mapping[str, str], timeout_s: float
) -> list[CheckedServer]:
    """Start each server, list its tools, and end it.

    variables: those that entries refer to as ${NAME} or ${env:NAME}"""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def check(entry: ServerEntry) -> CheckedServer:
        async with limit:
            return await _checked(entry, variables, timeout_s)

    return list(await asyncio.gather(*map(check, entries)))


def shared_names(servers: Sequence[CheckedServer]) -> dict[str, list[str]]:
    """Return the tools that several servers have, with the servers."""
    owners: dict[str, list[str]] = {}
    for server in servers:
        for tool in dict.fromkeys(server.tools):
            owners.setdefault(tool, []).append(server.name)
    return {tool: names for tool, names in owners.items() if len(names) > 1}


async def _checked(entry: ServerEntry, variables: Mapping[str, str], timeout_s: float) -> CheckedServer:
    if entry.value.get("disabled") is True or entry.value.get("enabled") is False:
        return CheckedServer(entry.label, is_off=True)
    if _is_of_extension(entry.value):
        return CheckedServer(entry.label, why_unchecked="an extension of the client starts it")
    try:
        address = address_of(entry.value, variables)
    except ValueError as error:
        return CheckedServer(entry.label, problem=str(error))
    # Several servers run at a time: what they print would be mixed, without their names.
    with _LastLine() as stderr:
        try:
            client = McpClient(address, opening_s=timeout_s, is_bounded=True, stderr=stderr.writing)
            async with asyncio.timeout(timeout_s), client:
                tools = await client.listed_tools() if "tools" in client.capabilities else []
        except TimeoutError:
            problem = f"no list of tools within {timeout_s:g} s"
            return CheckedServer(entry.label, problem=stderr.added_to(problem))
        except (FaultkitError, ValueError) as error:
            return CheckedServer(entry.label, problem=stderr.added_to(str(error)))
    if problem := _why_refused(client.protocol_version, tools):
        return CheckedServer(entry.label, problem=problem)
    size = sum(len(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode()) for tool in tools)
    names = tuple(str(tool["name"]) for tool in tools)
    return CheckedServer(entry.label, names, size, notes=tuple(_notes(names, client.invalid_lines)))


def _why_refused(version: object, tools: Sequence[Any]) -> str:
    """Return why clients refuse a server that answered; empty if they do not."""
    if version not in (*LEGACY_VERSIONS, NEWEST):
        return f"initialize: expected a protocolVersion that clients know, got {_short(version)}"
    for tool in tools:
        if not isinstance(tool, Mapping):
            return f"tools/list: expected tools as objects, got {_short(tool)}"
        if not isinstance(tool.get("name"), str) or not isinstance(tool.get("inputSchema"), Mapping):
            return f"tools/list: expected a name and an inputSchema of each tool, got {_short(tool)}"
    return ""


def _short(value: object) -> str:
    return json.dumps(value)[:_MOST_SHOWN]


def _notes(names: Sequence[str], invalid_lines: int) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"it lists the tool {untrusted_line(name)} {count:,} times: clients use one of them only"
    if invalid_lines:
        lines = counted(invalid_lines, "line")
        yield f"its stdout has {lines} besides MCP messages: log lines belong on stderr"


class _LastLine:
    """The last line that a server writes to its standard error. The rest is dropped, as it may be endless."""

    def __init__(self) -> None:
        self._tail = b""
        self._pipe = StderrPipe(self._keep)
        self.writing = self._pipe.writing

    def __enter__(self) -> _LastLine:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pipe.close()

    def added_to(self, problem: str) -> str:
        self._pipe.read_rest()
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return f"{problem}; last line of its stderr: {untrusted_line(lines[-1])}" if lines else problem

    def _keep(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_LAST_BYTES:]


def _is_of_extension(value: Mapping[str, Any]) -> bool:
    """Return whether an entry of Zed only has the settings of a server that an extension starts."""
    is_marked = value.get("source") == "extension" or isinstance(value.get("settings"), dict)
    return is_marked and not value.get("command") and not url_of(value)


def address_of(value: Mapping[str, Any], variables: Mapping[str, str]) -> ServerAddress:
    """Return how an entry reaches its server. Raises ValueError if it does not say, lacks a variable, or has
    a value of another type than clients accept."""
    plain = _filled(dict(value), variables)
    inner = plain.get("command")
    # The older form of Zed.
    started = {**plain, **inner, "command": inner.get("path")} if isinstance(inner, dict) else plain
    if command := _text(started, "command"):
        args, env = _texts(started, "args"), _texts_by_name(started, "env")
        return ServerAddress((command, *args), env=env, cwd=_text(started, "cwd") or None)
    for key in URL_KEYS:
        _text(plain, key)
    if url := url_of(plain):
        if plain.get("type", plain.get("transport")) == "sse":
            raise ValueError("the transport sse is not supported (use streamable HTTP or stdio)")
        headers = _texts_by_name(plain, "headers") or _texts_by_name(plain, "http_headers")
        return ServerAddress(url=url, headers=headers)
    raise ValueError("it has neither a command nor a url")


def _text(value: Mapping[str, Any], key: str) -> str:
    return _expect_text(key, value[key]) if value.get(key) is not None else ""


def _texts(value: Mapping[str, Any], key: str) -> list[str]:
    found = [] if value.get(key) is None else value[key]
    if not isinstance(found, list):
        raise ValueError(f"{key}: expected a list of texts, got {kind_of(found)}")
    return [_expect_text(f"{key}[{index}]", each) for index, each in enumerate(found)]


def _texts_by_name(value: Mapping[str, Any], key: str) -> dict[str, str]:
    found = {} if value.get(key) is None else value[key]
    if not isinstance(found, dict):
        raise ValueError(f"{key}: expected an object of texts, got {kind_of(found)}")
    return {name: _expect_text(f"{key}.{name}", each) for name, each in found.items()}


def _expect_text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{path}: expected a text, got {kind_of(value)}")
    return value


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """Return the value with its references to variables replaced."""
    if isinstance(value, dict):
        # The former text of an entry behind the gateway is not used.
        return {key: _filled(each, variables) for key, each in value.items() if not key.startswith("_")}
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    if not isinstance(value, str):
        return value

    def of(found: re.Match[str]) -> str:
        there = variables.get(found[1], found[2])
        if there is None:
            raise ValueError(f"it needs the environment variable {found[1]}, which is not set")
        return there

    return _VARIABLE.sub(of, value)
