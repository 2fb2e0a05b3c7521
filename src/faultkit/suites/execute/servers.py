"""The servers of a suite, connected: programs and URLs by a client of ours, manifests answered in memory.

A live server is started once for a suite and keeps what calls did to it. A mock begins anew with each run.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultkit.errors import TargetError
from faultkit.faults.call.call import Message, Transport
from faultkit.mcp.client import At, Client
from faultkit.mcp.mock.answers import Asking, Source
from faultkit.mcp.mock.file import load_source
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.reply import reply_of
from faultkit.mcp.mock.service import source_of
from faultkit.suites.agents.agent import ToolInfo
from faultkit.suites.execute.virtual import Server
from faultkit.suites.model import CommandServer, MockServer, SuiteServer, UrlServer

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


class LiveServer:
    def __init__(self, name: str, client: Client, listed: Sequence[Mapping[str, Any]]) -> None:
        self.name = name
        self.transport: Transport = "http" if client.at.url else "stdio"
        self.tools = tuple(tool_info(each, name) for each in listed)
        self._client = client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        return await self._client.call(tool, arguments)


class MockedServer:
    """Answers without a process and without a wire."""

    transport: Transport = "stdio"

    def __init__(self, name: str, source: Source, listed: Sequence[Mapping[str, Any]]) -> None:
        self.name = name
        self.tools = tuple(tool_info(each, name) for each in listed)
        self._source = source

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        answer = self._source.answer("tools/call", {"name": tool, "arguments": dict(arguments)}, "legacy")
        if isinstance(answer, Asking):
            raise TargetError(
                f"{self.name}: `{tool}` asks its client, and an agent of a suite has no answers"
            )
        reply: Message = json.loads(reply_of(0, answer))
        return reply


@dataclass(frozen=True, slots=True)
class Connected:
    """The servers of a suite; `fresh` gives them to one run."""

    live: Mapping[str, LiveServer]
    mocks: Mapping[str, MockSource]

    def fresh(self, names: Sequence[str]) -> list[Server]:
        return [self.live[name] if name in self.live else self.mocks[name].begin() for name in names]


@dataclass(frozen=True, slots=True)
class MockSource:
    name: str
    manifest: Manifest | Recording

    def begin(self) -> MockedServer:
        return MockedServer(self.name, source_of(self.manifest), self.manifest.listed)


@asynccontextmanager
async def connected(servers: Sequence[SuiteServer]) -> AsyncIterator[Connected]:
    """TargetError if one of them cannot be had."""
    live: dict[str, LiveServer] = {}
    mocks: dict[str, MockSource] = {}
    async with AsyncExitStack() as stack:
        for server in servers:
            if isinstance(server.serving, MockServer):
                mock = server.serving
                mocks[server.name] = MockSource(server.name, mock.source or load_source(mock.tools_from))
                continue
            client = await stack.enter_async_context(Client(_at(server.serving)))
            live[server.name] = LiveServer(server.name, client, await client.tools())
        yield Connected(live, mocks)


def tool_info(listed: Mapping[str, Any], server: str) -> ToolInfo:
    annotations = listed.get("annotations")
    schema = listed.get("inputSchema")
    return ToolInfo(
        name=str(listed.get("name", "")),
        server=server,
        description=str(listed.get("description") or ""),
        input_schema=schema if isinstance(schema, Mapping) else {},
        read_only=isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True,
    )


def _at(serving: CommandServer | UrlServer) -> At:
    if isinstance(serving, UrlServer):
        return At(url=serving.url, headers=serving.headers)
    return At(command=serving.argv, env=serving.env, cwd=serving.cwd)
