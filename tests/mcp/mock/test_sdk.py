"""Tools that ask the client, answered by the SDK's client, in both eras and on both transports."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import stdio_client
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from faultkit.mcp.mock.manifest import load_manifest
from faultkit.mcp.mock.mock_server import MockJob
from mcp import Client, MCPError, StdioServerParameters
from tests.mcp.mock.mock_client import over_http, run

TOOLS = """\
name: asker
tools:
  - {name: sampled, sampling: true, response: "it said ${sampling.content.text}"}
  - {name: elicited, elicitation: true, response: "you said ${elicitation.content.answer}"}
  - {name: rooted, roots_list: true, response: "first ${roots.roots.0.uri}"}
  - {name: all, sampling: true, elicitation: true, roots_list: true,
     response: "${sampling.model} ${elicitation.action} ${roots.roots.0.name}"}
  - {name: typed, output_schema: {type: object, properties: {n: {type: integer}}, required: [n]}}
"""
SAID = {
    "sampled": "it said tea",
    "elicited": "you said milk",
    "rooted": "first file:///home",
    "all": "tiny accept home",
}


async def sampled(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="tea"), model="tiny")


async def elicited(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"answer": "milk"})


async def rooted(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///home"), name="home")])


@asynccontextmanager
async def served(front: str, file: Path) -> AsyncIterator[Any]:
    if front == "stdio":
        args = ["-m", "faultkit", "mock", "--tools-from", str(file)]
        yield stdio_client(StdioServerParameters(command=sys.executable, args=args))
    else:
        async with over_http(MockJob(load_manifest(file), front="http", port=0)) as web:
            yield web.url


@pytest.mark.parametrize("front", ["stdio", "http"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_sdks_client_answers_what_a_tool_asks(front: str, mode: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(TOOLS)

    async def main() -> None:
        async with served(front, file) as server:
            client = Client(
                server,
                mode=mode,
                read_timeout_seconds=10,
                sampling_callback=sampled,
                elicitation_callback=elicited,
                list_roots_callback=rooted,
            )
            async with client:
                for tool, said in SAID.items():
                    (block,) = (await client.call_tool(tool)).content
                    assert (tool, block.type == "text" and block.text) == (tool, said)
                typed = await client.call_tool("typed")
                assert typed.structured_content == {"n": 0}

    run(main)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_that_cannot_answer_is_told(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(TOOLS)
    expected = {
        "legacy": (-32603, "the client did not answer sampling/createMessage"),
        "2026-07-28": (-32021, "tool `sampled` asks its client for sampling"),
    }[mode]

    async def main() -> None:
        async with (
            served("stdio", file) as server,
            Client(server, mode=mode, read_timeout_seconds=10) as client,
        ):
            with pytest.raises(MCPError) as error:
                async with asyncio.timeout(10):
                    await client.call_tool("sampled")
            assert (error.value.error.code, error.value.error.message) == expected

    run(main)
