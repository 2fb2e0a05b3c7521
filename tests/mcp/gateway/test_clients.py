"""Real clients through the gateway, for all four pairs of transports and both eras."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterator
from itertools import product
from typing import Any

import mcp_types as t
import pytest
from mcp.client.stdio import stdio_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from mcp import Client, MCPError, StdioServerParameters
from tests.mcp.gateway.gateway_processes import PROJECT, WAYS, GatewayTargets, all_places

MODERN = "2026-07-28"
BIG_BYTES = 1_000_000
"""Bytes of the largest event that the SDK's client accepts."""
STORM = 500
OF_FASTMCP = {("stdio-stdio", MODERN), ("http-stdio", "legacy")}
"""Each pair of transports and era is tested with one of the two clients; with the other one if all tests are
run."""


def ways_of(client: str) -> pytest.MarkDecorator:
    every = product(WAYS, ("legacy", MODERN))
    usual = {each: (each in OF_FASTMCP) == (client == "fastmcp") for each in every}
    ways = [pytest.param(*each, marks=() if usual[each] else pytest.mark.thorough) for each in usual]
    return pytest.mark.parametrize(("way", "mode"), ways)


@pytest.fixture(scope="module")
def places() -> Iterator[GatewayTargets]:
    with all_places() as found:
        yield found


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    with warnings.catch_warnings():
        # Sampling, logging and roots belong to the legacy era.
        warnings.simplefilter("ignore")
        asyncio.run(bounded())


class Person:
    """The user of the client: answers questions, and records notifications."""

    def __init__(self) -> None:
        self.logs: list[Any] = []
        self.progress: list[float] = []
        self.notices: list[Any] = []
        self.noticed = asyncio.Event()
        self.taken_back = 0

    def client(self, place: str | list[str], mode: str) -> Client:
        transport: Any = place
        if not isinstance(place, str):
            command, *args = place
            transport = stdio_client(
                StdioServerParameters(command=command, args=args, cwd=str(PROJECT), env={"PATH": ""})
            )
        return Client(
            transport,
            mode=mode,
            read_timeout_seconds=20,
            sampling_callback=self.sample,
            elicitation_callback=self.elicit,
            list_roots_callback=self.roots,
            logging_callback=self.log,
            log_level="info",
            message_handler=self.message,
        )

    async def sample(self, context: Any, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
        said = params.messages[0].content
        assert isinstance(said, t.TextContent)
        if said.text == "never mind":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                self.taken_back += 1
                raise
        words = t.TextContent(type="text", text=f"so {said.text}")
        return t.CreateMessageResult(role="assistant", content=words, model="me")

    async def elicit(self, context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        return t.ElicitResult(action="accept", content={"username": "ann", "email": "a@b.c"})

    async def roots(self, context: Any) -> t.ListRootsResult:
        return t.ListRootsResult(roots=[t.Root(uri="file:///a"), t.Root(uri="file:///b")])  # type: ignore[arg-type]

    async def log(self, params: t.LoggingMessageNotificationParams) -> None:
        self.logs.append(params.data)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(progress)

    async def message(self, message: Any) -> None:
        if isinstance(message, t.ResourceUpdatedNotification | t.ToolListChangedNotification):
            self.notices.append(message.method)
            self.noticed.set()


def words_of(result: t.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, t.TextContent)]


@ways_of("sdk")
def test_the_sdks_client_can_do_everything_through_the_gateway(
    places: GatewayTargets, way: str, mode: str
) -> None:
    async def tour() -> None:
        person = Person()
        async with person.client(places.of(way), mode) as client:

            async def call(name: str, **arguments: Any) -> list[str]:
                return words_of(await client.call_tool(name, arguments))

            assert (await client.list_tools()).tools[0].name == "test_simple_text"
            result = await client.call_tool("test_multiple_content_types", {})
            assert [block.type for block in result.content] == ["text", "image", "resource"]
            assert (await client.call_tool("test_error_handling", {})).is_error
            with pytest.raises(MCPError, match="Unknown tool: nope"):
                await client.call_tool("nope", {})
            assert await call("test_sampling", prompt="be it") == ["LLM response: so be it"]
            assert "action=accept" in (await call("test_elicitation", message="who?"))[0]
            assert await call("roots") == ["file:///a", "file:///b"]
            await client.call_tool("test_tool_with_progress", {}, progress_callback=person.on_progress)
            assert person.progress == [0, 50, 100]
            await call("test_tool_with_logging")
            assert person.logs == [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ]
            assert (await client.read_resource("test://template/7/data")).contents[
                0
            ].uri == "test://template/7/data"
            assert len((await client.get_prompt("test_prompt_with_image")).messages) == 2
            reference = t.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
            completed = await client.complete(reference, {"name": "arg1", "value": "par"})
            assert completed.completion.values == ["paris", "park", "party"]
            assert await call("test_custom_headers", region=" über ", query="q") == [
                '{"region": " \\u00fcber ", "query": "q"}'
            ]
            assert len((await call("big", bytes=BIG_BYTES))[0]) == BIG_BYTES
            await _storm(client, person)
            await _cancel(client, person)
            await _subscribe(client, person, mode)
            if mode == "legacy":
                assert await call("impatient") == ["taken back"]
                assert person.taken_back == 1

    run(tour)


async def _storm(client: Client, person: Person) -> None:
    person.progress.clear()
    await client.call_tool("storm", {"count": STORM}, progress_callback=person.on_progress)
    assert person.progress == list(range(1, STORM + 1))


async def _cancel(client: Client, person: Person) -> None:
    """The server is notified that a call was cancelled, and the session stays usable."""
    before = int(words_of(await client.call_tool("cancellations", {}))[0])
    started = asyncio.Event()

    async def begun(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    waiting = asyncio.create_task(client.call_tool("wait", {}, progress_callback=begun))
    await started.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(20):
        while int(words_of(await client.call_tool("cancellations", {}))[0]) == before:
            pass


async def _subscribe(client: Client, person: Person, mode: str) -> None:
    uri = "test://watched-resource"
    if mode == "legacy":
        await client.subscribe_resource(uri)
        await client.call_tool("touch", {})
        async with asyncio.timeout(20):
            while len(person.notices) < 2:
                person.noticed.clear()
                await person.noticed.wait()
        assert person.notices == ["notifications/resources/updated", "notifications/tools/list_changed"]
        return
    async with client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as subscription:
        await client.call_tool("touch", {})
        async with asyncio.timeout(20):
            heard = [await anext(subscription), await anext(subscription)]
    assert {type(event) for event in heard} == {ResourceUpdated, ToolsListChanged}


@pytest.mark.thorough
@ways_of("fastmcp")
def test_fastmcps_client_works_through_the_gateway(places: GatewayTargets, way: str, mode: str) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="needs fastmcp-slim[client]")
    transports = pytest.importorskip("fastmcp.client.transports")

    async def tour() -> None:
        place = places.of(way)
        transport = (
            place
            if isinstance(place, str)
            else transports.StdioTransport(place[0], place[1:], cwd=str(PROJECT), keep_alive=False)
        )
        steps: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append(done)

        async def elicit(message: str, response_type: Any, params: Any, context: Any) -> Any:
            return {"username": "ann", "email": "a@b.c"}

        client = fastmcp.Client(
            transport, mode=mode, timeout=20, progress_handler=progress, elicitation_handler=elicit
        )
        async with client:
            assert len(await client.list_tools()) > 20
            text = (await client.call_tool("test_simple_text", {})).content[0].text
            assert text == "This is a simple text response for testing."
            await client.call_tool("test_tool_with_progress", {})
            assert steps == [0, 50, 100]
            answer = (await client.call_tool("test_elicitation", {"message": "who?"})).content[0].text
            assert "action=accept" in answer
            assert (await client.read_resource("test://static-text"))[0].mime_type == "text/plain"

    run(tour)
