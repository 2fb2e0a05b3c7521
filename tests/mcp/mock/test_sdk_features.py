"""Progress, logging, pages, templates, completion and changes, as the SDK's client gets them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import PromptReference, ResourceTemplateReference

from mcp import Client
from tests.mcp.mock.mock_client import run
from tests.mcp.mock.test_sdk import served

FILE = Path(__file__).parents[3] / "examples/conformance.yml"
CHANGES = """\
page_size: 1
tools: [{name: login}, {name: add, listed_when: calls.login > 0}]
resources: [{uri: "mem://count", text: "${calls.login}"}]
"""
BOTH = pytest.mark.parametrize(
    ("front", "mode"), [(front, mode) for front in ("stdio", "http") for mode in ("legacy", "2026-07-28")]
)


@BOTH
def test_a_client_gets_progress_and_log_messages(front: str, mode: str) -> None:
    logs: list[Any] = []
    steps: list[Any] = []

    async def logged(params: Any) -> None:
        logs.append((params.level, params.data))

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total))

    async def main() -> None:
        async with served(front, FILE) as server:
            level: Any = "info" if mode != "legacy" else None
            client = Client(
                server, mode=mode, read_timeout_seconds=10, logging_callback=logged, log_level=level
            )
            async with client:
                await client.call_tool("test_tool_with_logging")
                await client.call_tool("test_tool_with_progress", progress_callback=progressed)

    run(main)
    words = ("Tool execution started", "Tool processing data", "Tool execution completed")
    assert logs == [("info", each) for each in words]
    assert steps == [(0, 100), (50, 100), (100, 100)]


@BOTH
def test_a_client_reads_templates_and_completes(front: str, mode: str) -> None:
    async def main() -> None:
        async with (
            served(front, FILE) as server,
            Client(server, mode=mode, read_timeout_seconds=10) as client,
        ):
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "test://template/{id}/data"
            (contents,) = (await client.read_resource("test://template/123/data")).contents
            assert '"id":"123"' in getattr(contents, "text", "")
            prompt = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
            found = await client.complete(prompt, {"name": "arg1", "value": "par"})
            assert found.completion.values == ["paris", "park", "party"]
            resource = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
            found = await client.complete(resource, {"name": "id", "value": "4"})
            assert found.completion.values == ["456"]

    run(main)


@pytest.mark.parametrize("front", ["stdio", "http"])
def test_a_legacy_client_is_told_of_changes(front: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(CHANGES)

    async def main() -> None:
        told: asyncio.Queue[str] = asyncio.Queue()

        async def handle(message: Any) -> None:
            method = getattr(message, "method", None)
            if method is not None:
                told.put_nowait(method)

        async with served(front, file) as server:
            client = Client(server, mode="legacy", read_timeout_seconds=10, message_handler=handle)
            async with client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["login"]
                with pytest.warns(MCPDeprecationWarning):  # Of the modern era, which has no such method.
                    await client.subscribe_resource("mem://count")
                await client.call_tool("login")
                async with asyncio.timeout(10):
                    assert await told.get() == "notifications/tools/list_changed"
                    assert await told.get() == "notifications/resources/updated"
                first = await client.list_tools()
                second = await client.list_tools(cursor=first.next_cursor)
                assert [tool.name for tool in (*first.tools, *second.tools)] == ["login", "add"]

    run(main)


@pytest.mark.parametrize("front", ["stdio", "http"])
def test_a_modern_client_listens_to_changes(front: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(CHANGES)

    async def main() -> None:
        async with (
            served(front, file) as server,
            Client(server, mode="2026-07-28", read_timeout_seconds=10) as client,
            client.listen(tools_list_changed=True, resource_subscriptions=["mem://count"]) as events,
        ):
            await client.call_tool("login")
            async with asyncio.timeout(10):
                found = [type(await anext(events)).__name__ for _ in range(2)]
            assert found == ["ToolsListChanged", "ResourceUpdated"]

    run(main)
