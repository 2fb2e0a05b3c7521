"""The servers of a suite, connected: programs and URLs by a client of ours, manifests answered in memory.

A live server is started once for a suite and keeps what calls did to it. A mock begins anew with each run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultkit.agents.execute.virtual import Server
from faultkit.agents.kinds.agent import ToolInfo
from faultkit.agents.model import CommandServer, MockServer, SuiteServer, UrlServer
from faultkit.base.errors import TargetError
from faultkit.faults.call.call import Message, Transport
from faultkit.mcp.client import At, Client
from faultkit.mcp.mock.answers import Asking, Source
from faultkit.mcp.mock.file import load_source
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.reply import reply_of
from faultkit.mcp.mock.service import source_of

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


class LiveServer:
    """One that the tests of a suite share. If it dies in one of them, the next one has it anew."""

    def __init__(self, name: str, at: At) -> None:
        self.name = name
        self.transport: Transport = "http" if at.url else "stdio"
        self.tools: tuple[ToolInfo, ...] = ()
        self._at = at
        self._client: Client | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """TargetError if it cannot be had."""
        client = await self._connected()
        self.tools = tuple(tool_info(each, self.name) for each in await client.tools())

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        return await (await self._connected()).call(tool, arguments)

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.__aexit__(None, None, None)

    async def _connected(self) -> Client:
        async with self._opening:
            if self._client is not None and self._client.is_gone:
                await self.close()
            if self._client is None:
                self._client = await Client(self._at).__aenter__()
            return self._client


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
    missing: Mapping[str, str]
    """Those that could not be had, and why."""

    def are_mocks(self, names: Sequence[str]) -> bool:
        return all(name in self.mocks for name in names)

    def fresh(self, names: Sequence[str]) -> list[Server]:
        """TargetError if one of them could not be had."""
        for name in names:
            if name in self.missing:
                raise TargetError(self.missing[name])
        return [self.live[name] if name in self.live else self.mocks[name].begin() for name in names]


@dataclass(frozen=True, slots=True)
class MockSource:
    name: str
    manifest: Manifest | Recording

    def begin(self) -> MockedServer:
        return MockedServer(self.name, source_of(self.manifest), self.manifest.listed)


@asynccontextmanager
async def connected(servers: Sequence[SuiteServer], limit_s: float) -> AsyncIterator[Connected]:
    """All at once, each within the limit. One that cannot be had is missing to those who need it, and to no
    others."""
    live: dict[str, LiveServer] = {}
    mocks: dict[str, MockSource] = {}
    missing: dict[str, str] = {}

    async def open(one: LiveServer) -> None:
        try:
            async with asyncio.timeout(limit_s):
                await one.open()
            live[one.name] = one
        except TargetError as error:
            missing[one.name] = str(error)
        except TimeoutError:
            missing[one.name] = (
                f"{one.name}: it did not open and list its tools within {limit_s:g} s (--timeout)"
            )

    async with AsyncExitStack() as stack:
        opening: list[LiveServer] = []
        for server in servers:
            if isinstance(server.serving, MockServer):
                mock = server.serving
                mocks[server.name] = MockSource(server.name, mock.source or load_source(mock.tools_from))
                continue
            one = LiveServer(server.name, _at(server.serving))
            stack.push_async_callback(one.close)
            opening.append(one)
        await asyncio.gather(*map(open, opening))
        yield Connected(live, mocks, missing)


def list_tools(server: SuiteServer, limit_s: float) -> Sequence[ToolInfo]:
    """For those who have no event loop. TargetError if it does not say in time what it has."""

    async def main() -> Sequence[ToolInfo]:
        async with connected([server], limit_s) as servers:
            return servers.fresh([server.name])[0].tools

    return asyncio.run(main())


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
