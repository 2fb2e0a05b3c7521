"""The client libraries under test. Each is imported only when it is used."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TextIO

from faultkit.faults.call_fault import Era
from tests.mcp.faults.call_places import TOOL
from tests.mcp.faults.clients.observation import TIMEOUT_S, shortened

MODES = {"legacy": "legacy", "modern": "2026-07-28"}
ARGUMENTS = {"city": "Paris"}


class Peer(Protocol):
    """A client library as a program uses it. Results are returned in words."""

    name: str

    def versions(self) -> str: ...

    def process(self, python: str, arguments: list[str], cwd: Path, heard: TextIO) -> Any:
        """Return a target that is a process."""

    def open(self, target: Any, era: Era) -> AbstractAsyncContextManager[Any]: ...

    async def call(self, client: Any) -> str: ...

    async def list(self, client: Any) -> str: ...

    async def listen(self, client: Any) -> str: ...


class Sdk:
    """`mcp.Client` of the official Python SDK."""

    name = "mcp"

    def __init__(self) -> None:
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)

    def versions(self) -> str:
        return f"mcp {version('mcp')}, httpx2 {version('httpx2')}, anyio {version('anyio')}"

    def process(self, python: str, arguments: list[str], cwd: Path, heard: TextIO) -> Any:
        from mcp.client.stdio import stdio_client

        from mcp import StdioServerParameters

        parameters = StdioServerParameters(command=python, args=arguments, cwd=cwd, env=environment(cwd))
        return stdio_client(parameters, heard)

    def open(self, target: Any, era: Era) -> AbstractAsyncContextManager[Any]:
        from mcp import Client

        return Client(target, mode=MODES[era], log_level="info")

    async def call(self, client: Any) -> str:
        return shown(await client.call_tool(TOOL, ARGUMENTS, read_timeout_seconds=TIMEOUT_S))

    async def list(self, client: Any) -> str:
        return listed((await client.list_tools()).tools)

    async def listen(self, client: Any) -> str:
        async with client.listen(tools_list_changed=True) as subscription:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    async for event in subscription:
                        return type(event).__name__
            except TimeoutError:
                return "a subscription without events"
        return "the end of the subscription"


class FastMcp:
    """`fastmcp.Client`."""

    name = "fastmcp"

    def __init__(self) -> None:
        for name in ("mcp", "fastmcp"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def versions(self) -> str:
        own = import_module("fastmcp").__version__
        return f"fastmcp {own}, mcp {version('mcp')}, httpx2 {version('httpx2')}"

    def process(self, python: str, arguments: list[str], cwd: Path, heard: TextIO) -> Any:
        return import_module("fastmcp.client.transports").StdioTransport(
            python, arguments, env=environment(cwd), cwd=str(cwd), keep_alive=False, log_file=heard
        )

    def open(self, target: Any, era: Era) -> AbstractAsyncContextManager[Any]:
        # Its own log handler prints each message in colours, which takes longer than everything else.
        made = import_module("fastmcp").Client(target, mode=MODES[era], log_handler=_ignore)
        client: AbstractAsyncContextManager[Any] = made
        return client

    async def call(self, client: Any) -> str:
        return shown(await client.call_tool(TOOL, ARGUMENTS, timeout=TIMEOUT_S))

    async def list(self, client: Any) -> str:
        return listed(await client.list_tools())

    async def listen(self, client: Any) -> str:
        return "no way to subscribe"


async def _ignore(message: object) -> None:
    pass


PEERS: dict[str, type[Sdk] | type[FastMcp]] = {"mcp": Sdk, "fastmcp": FastMcp}


def environment(project: Path) -> dict[str, str]:
    """Return an environment in which an interpreter finds this project without having it installed."""
    return {"PYTHONPATH": f"{project / 'src'}{os.pathsep}{project}"}


def shown(result: Any) -> str:
    """Return the result of a call in words."""
    texts = [getattr(block, "text", "") for block in result.content]
    said = " | ".join(shortened(text) if len(text) < 500 else f"{len(text):,} bytes" for text in texts)
    if result.is_error:
        return f"isError: {said}"
    structured = result.structured_content
    if len(texts) == 1 and structured and structured.get("place") == "Paris":
        number = structured["call"]
        return "the result" if number == 1 else f"the result of call {number}"
    return f"a result: {said or 'nothing'}"


def listed(tools: list[Any]) -> str:
    said = [f"{tool.name}({', '.join(tool.input_schema.get('properties', {}))})" for tool in tools]
    return f"tools: {', '.join(said) or 'none'}"
