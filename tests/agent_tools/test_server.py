"""The server as the SDK's own client sees it, in both eras of the protocol."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from faultkit.agent_tools.mcp_server import make_server
from faultkit.agent_tools.tool import Services, Tool
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.llm.model_settings import llm_settings
from tests.agent_tools.sample_tools import PATIENCE_S, SAMPLES, began, ended

ERAS = ("legacy", "2026-07-28")
SEED_TOOLS = """
fault_index_source_code fault_list_function_names fault_extract_code_block fault_score_performance
fault_score_reliability fault_suggest_better_function_performance fault_suggest_better_function_reliability
fault_suggest_service_level_objectives_slo fault_make_reliability_and_perf_changes
fault_run_blackhole_impact_scenario fault_run_latency_impact_scenario fault_run_packet_loss_impact_scenario
fault_run_bandwidth_impact_scenario fault_run_jitter_impact_scenario fault_run_http_error_impact_scenario
fault_function_reliability_deep_analysis
"""
OURS = {"fault_find_breaking_point", "fault_review_code"}

era = pytest.mark.parametrize("mode", ERAS)


def play(
    mode: str,
    scene: Callable[[Client], Awaitable[Any]],
    tools: Mapping[str, Tool] = SAMPLES,
    services: Services | None = None,
) -> Any:
    async def bounded() -> Any:
        server = make_server(ToolRunner(services or Services(), progress_every_s=0), tools)
        with anyio.fail_after(PATIENCE_S):
            async with Client(server, mode=mode) as client:
                return await scene(client)

    return anyio.run(bounded)


def called(mode: str, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    async def scene(client: Client) -> types.CallToolResult:
        return await client.call_tool(name, arguments)

    found: types.CallToolResult = play(mode, scene)
    return found


def text_of(result: types.CallToolResult) -> str:
    assert [each.type for each in result.content] == ["text"]
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    return content.text


@era
def test_all_tools_are_listed_with_all_that_a_client_wants_to_know(mode: str) -> None:
    async def scene(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    listed = play(mode, scene, TOOLS)
    assert {each.name for each in listed} == {*SEED_TOOLS.split(), *OURS}
    for each in listed:
        assert each.title
        assert len(each.description or "") > 100
        assert each.input_schema["additionalProperties"] is False
        assert each.output_schema is not None
        assert each.output_schema["type"] == "object"
        assert all(schema["description"] for schema in each.input_schema["properties"].values())


def hints_of(services: Services) -> dict[str, types.ToolAnnotations]:
    async def scene(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    listed = play("legacy", scene, TOOLS, services)
    return {each.name: each.annotations for each in listed}


def test_annotations_are_true_and_follow_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    offline = hints_of(Services())
    index, score = offline["fault_index_source_code"], offline["fault_score_reliability"]
    assert (index.read_only_hint, index.destructive_hint, index.idempotent_hint) == (False, False, True)
    assert (score.read_only_hint, score.open_world_hint, index.open_world_hint) == (True, False, False)
    online = hints_of(Services(llm_settings({"OPENAI_API_KEY": "sk-1"}, client="openai")))
    assert online["fault_score_reliability"].open_world_hint is True
    assert online["fault_list_function_names"].open_world_hint is False
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:6334")
    assert hints_of(Services())["fault_index_source_code"].open_world_hint is True


@era
def test_a_result_is_a_text_and_the_same_as_data(mode: str) -> None:
    result = called(mode, "echo", {"word": "hi", "ratio": "0.25"})
    assert (text_of(result), result.is_error) == ("hi", False)
    assert result.structured_content == {"values": {"word": "hi", "ratio": 0.25, "count": None}}


@era
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("echo", {"word": 7}, 'word: expected a text, got 7 (for example "hello")'),
        ("refuse", {}, 'key: expected better, got this (for example "a")'),
        ("crash", {}, "unexpected KeyError: 'a secret place\\nin the code'"),
        ("leave", {}, "unexpected SystemExit: 7"),
    ],
)
def test_trouble_of_a_tool_is_a_result_that_a_model_can_read(
    mode: str, name: str, arguments: dict[str, Any], said: str
) -> None:
    result = called(mode, name, arguments)
    assert (result.is_error, text_of(result), result.structured_content) == (True, said, None)


@era
def test_an_unknown_tool_is_an_error_of_the_protocol_and_the_server_lives_on(mode: str) -> None:
    async def scene(client: Client) -> types.CallToolResult:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("ecko", {})
        assert (raised.value.error.code, raised.value.error.message) == (
            types.INVALID_PARAMS,
            'unknown tool "ecko"; did you mean "echo"?',
        )
        return await client.call_tool("echo", {"word": "still here"})

    assert text_of(play(mode, scene)) == "still here"


@era
def test_progress_is_sent_to_a_client_that_asked_for_it(mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def scene(client: Client) -> None:
        await client.call_tool("count", {"times": 300}, progress_callback=hear)

    play(mode, scene)
    values = [done for done, _, _ in heard]
    assert values == sorted(set(values))
    assert heard[-1] == (300.0, 300.0, "300 of 300")


@era
def test_a_call_that_its_client_cancels_is_wound_up_and_others_go_on(mode: str) -> None:
    key = uuid4().hex

    async def happened(event: threading.Event) -> None:
        assert await anyio.to_thread.run_sync(event.wait, PATIENCE_S)

    async def scene(client: Client) -> types.CallToolResult:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"key": key})
            await happened(began[key])
            group.cancel_scope.cancel()
        await happened(ended[key])
        return await client.call_tool("echo", {"word": "on"})

    assert text_of(play(mode, scene)) == "on"


@era
def test_calls_of_a_client_that_disconnects_are_cancelled(mode: str) -> None:
    key = uuid4().hex

    async def scene(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"key": key})
            await anyio.to_thread.run_sync(began[key].wait, PATIENCE_S)
            group.cancel_scope.cancel()

    play(mode, scene)
    assert ended[key].is_set()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_instructions_name_the_source_of_advice(mode: str) -> None:
    async def scene(client: Client) -> str | None:
        return client.instructions

    assert "Faultkit's own rules, offline" in play(mode, scene)
    model = llm_settings({"OPENAI_API_KEY": "sk-1"}, model="gpt-x")
    assert "gpt-x by openai" in play(mode, scene, services=Services(model))


@era
def test_resources_are_the_faults_and_the_last_reports(mode: str) -> None:
    services = Services()
    services.reports.add("A run", "# A run", {"title": "A run"})

    async def scene(client: Client) -> None:
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert listed[:2] == ["fault://faults", "fault://faults/json"]
        assert "fault://reports/1" in listed
        templates = (await client.list_resource_templates()).resource_templates
        assert "fault://reports/{id}" in [each.uri_template for each in templates]
        [content] = (await client.read_resource("fault://reports/1")).contents
        assert isinstance(content, types.TextResourceContents)
        assert (content.text, content.mime_type) == ("# A run", "text/markdown")
        with pytest.raises(MCPError) as raised:
            await client.read_resource("fault://reports/9")
        assert raised.value.error.code == (-32002 if mode == "legacy" else types.INVALID_PARAMS)

    play(mode, scene, services=services)


@era
def test_a_prompt_is_the_users_turn(mode: str) -> None:
    async def scene(client: Client) -> None:
        [prompt] = (await client.list_prompts()).prompts
        assert [each.name for each in prompt.arguments or [] if each.required] == ["file"]
        got = await client.get_prompt(prompt.name, {"file": "/srv/app.py"})
        assert [turn.role for turn in got.messages] == ["user"]
        with pytest.raises(MCPError) as raised:
            await client.get_prompt(prompt.name, {})
        assert raised.value.error.code == types.INVALID_PARAMS

    play(mode, scene)
