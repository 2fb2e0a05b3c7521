"""The connected servers of a suite: programs and URLs by an MCP client, mocks in memory.

A live server is started once for a suite and keeps its state between tests. Each run gets a new mock.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultkit.agents.execute.readiness import wait_until_ready
from faultkit.agents.execute.virtual_toolbox import ConnectedServer
from faultkit.agents.suite.agent_interface import ToolInfo, tool_info
from faultkit.agents.suite.definition import CommandServer, MockServer, SuiteServer, UrlServer
from faultkit.base.errors import TargetError
from faultkit.faults.call_fault import Message, Transport
from faultkit.mcp.mcp_client import OPENING_S, McpClient, ServerAddress
from faultkit.mcp.mock.answer_source import AnswerSource, PendingAnswer
from faultkit.mcp.mock.manifest import load_source
from faultkit.mcp.mock.mock_model import Manifest, reply_of
from faultkit.mcp.mock.mock_server import source_of

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording


class LiveServer:
    """A server that all tests of a suite share. If it exits during a test, the next test starts it again."""

    def __init__(self, name: str, serving: CommandServer | UrlServer) -> None:
        self.name = name
        self.transport: Transport = "http" if isinstance(serving, UrlServer) else "stdio"
        self.tools: tuple[ToolInfo, ...] = ()
        self._serving = serving
        self._request_s = serving.request_s if isinstance(serving, UrlServer) else None
        self._client: McpClient | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Connect and list the tools. Raises TargetError."""
        client = await self._connected()
        async with self._limited("tools/list"):
            self.tools = tuple(tool_info(each, self.name) for each in await client.tools())

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Call a tool; connects again first if the server exited. Raises TargetError."""
        client = await self._connected()
        async with self._limited(f"the call of {tool}"):
            return await client.call(tool, arguments)

    async def request(self, method: str, params: Mapping[str, Any]) -> Message:
        """Send a request of another method. Raises TargetError."""
        client = await self._connected()
        async with self._limited(method):
            return await client.request(method, params)

    async def close(self) -> None:
        """Close the connection; a program ends with it."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.__aexit__(None, None, None)

    async def _connected(self) -> McpClient:
        async with self._opening:
            if self._client is not None and self._client.is_gone:
                await self.close()
            if self._client is None:
                self._client = await _client_of(self._serving).__aenter__()
            return self._client

    @asynccontextmanager
    async def _limited(self, what: str) -> AsyncIterator[None]:
        """Raise TargetError if a request takes longer than `http.timeout` of the server."""
        try:
            async with asyncio.timeout(self._request_s) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise TargetError(
                f"{self.name}: {what} had no answer within {self._request_s:g} s (http.timeout)"
            ) from None


class InMemoryMock:
    """A mock that answers in this process, without a transport."""

    transport: Transport = "stdio"

    def __init__(self, name: str, source: AnswerSource, listed: Sequence[Mapping[str, Any]]) -> None:
        self.name = name
        self.tools = tuple(tool_info(each, name) for each in listed)
        self._source = source

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Return the answer of the mock. Raises TargetError if the tool needs one of its client."""
        return await self.request("tools/call", {"name": tool, "arguments": dict(arguments)})

    async def request(self, method: str, params: Mapping[str, Any]) -> Message:
        """Return the answer to a request. Raises TargetError if it needs one of its client."""
        answer = self._source.answer(method, dict(params), "legacy")
        if isinstance(answer, PendingAnswer):
            if answer.questions:
                what = params.get("name", method)
                raise TargetError(
                    f"{self.name}: `{what}` asks its client, and an agent of a suite has no answers"
                )
            # Messages during a call are for clients: an agent gets the result, in virtual time at once.
            answer = answer.then({})
        reply: Message = json.loads(reply_of(0, answer))
        return reply


@dataclass(frozen=True, slots=True)
class ConnectedServers:
    """The servers of a suite. `fresh` returns them for one run."""

    live: Mapping[str, LiveServer]
    mocks: Mapping[str, MockSource]
    missing: Mapping[str, str]
    """Servers that could not be connected, and why."""

    def are_mocks(self, names: Sequence[str]) -> bool:
        """Return whether all these servers are mocks."""
        return all(name in self.mocks for name in names)

    def fresh(self, names: Sequence[str]) -> list[ConnectedServer]:
        """Return these servers for one run. Raises TargetError if one could not be connected."""
        for name in names:
            if name in self.missing:
                raise TargetError(self.missing[name])
        return [self._server(name) for name in names]

    async def request(self, name: str, method: str, params: Mapping[str, Any]) -> Message:
        """Send one request to a server. Raises TargetError."""
        if name in self.missing:
            raise TargetError(self.missing[name])
        return await self._server(name).request(method, params)

    def _server(self, name: str) -> LiveServer | InMemoryMock:
        return self.live[name] if name in self.live else self.mocks[name].begin()


@dataclass(frozen=True, slots=True)
class MockSource:
    """The manifest or recording of a mock, from which each run gets a new mock."""

    name: str
    manifest: Manifest | Recording

    def begin(self) -> InMemoryMock:
        """Return a mock in its first state."""
        return InMemoryMock(self.name, source_of(self.manifest), self.manifest.listed)


@asynccontextmanager
async def connect_servers(servers: Sequence[SuiteServer], limit_s: float) -> AsyncIterator[ConnectedServers]:
    """Connect all servers in parallel, each within the limit.

    A server that cannot be connected fails only the tests that use it.
    """
    live: dict[str, LiveServer] = {}
    mocks: dict[str, MockSource] = {}
    missing: dict[str, str] = {}

    async def connect(server: LiveServer, serving: CommandServer | UrlServer) -> None:
        try:
            await wait_until_ready(serving)
            async with asyncio.timeout(limit_s):
                await server.open()
            live[server.name] = server
        except TargetError as error:
            missing[server.name] = str(error)
        except TimeoutError:
            missing[server.name] = (
                f"{server.name}: it did not open and list its tools within {limit_s:g} s (--timeout)"
            )

    async with AsyncExitStack() as stack:
        opening: list[tuple[LiveServer, CommandServer | UrlServer]] = []
        for server in servers:
            if isinstance(server.serving, MockServer):
                mock = server.serving
                mocks[server.name] = MockSource(server.name, mock.source or load_source(mock.tools_from))
                continue
            live_server = LiveServer(server.name, server.serving)
            stack.push_async_callback(live_server.close)
            opening.append((live_server, server.serving))
        await asyncio.gather(*(connect(*each) for each in opening))
        yield ConnectedServers(live, mocks, missing)


def list_tools(server: SuiteServer, limit_s: float) -> Sequence[ToolInfo]:
    """Return the tools of a server; blocks. Raises TargetError if it does not list them in time."""
    return asyncio.run(listed_tools(server, limit_s))


async def listed_tools(server: SuiteServer, limit_s: float) -> Sequence[ToolInfo]:
    """Return the tools of a server, by a session of its own. Raises TargetError."""
    async with connect_servers([server], limit_s) as servers:
        return servers.fresh([server.name])[0].tools


def _client_of(serving: CommandServer | UrlServer) -> McpClient:
    """Return a client of a server. Raises TargetError for a variable of its headers that is not set."""
    if isinstance(serving, UrlServer):
        address = ServerAddress(url=serving.url, headers=serving.all_headers(os.environ))
        return McpClient(address, opening_s=serving.connect_s or OPENING_S)
    return McpClient(ServerAddress(command=serving.argv, env=serving.env, cwd=serving.cwd))
