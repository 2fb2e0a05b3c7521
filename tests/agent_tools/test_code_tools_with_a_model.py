"""The tools about code with a language model: it answers, it is waited for, and it can be called off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from faultkit.agent_tools.framework.tool import Services, ToolResult
from faultkit.agent_tools.framework.tool_runner import ToolFailure, ToolRunner
from faultkit.agent_tools.tool_table import TOOLS
from tests.agent_tools.sample_tools import PATIENCE_S
from tests.llm.ask.conftest import settings_for
from tests.llm.scripted_provider import Hang, ScriptedServer, Send, said

SNIPPET = {"snippet": "def f():\n    return 1\n", "lang": "python"}


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


async def silent(done: float, of: float | None, message: str) -> None:
    pass


def services_of(provider: ScriptedServer) -> Services:
    return Services(settings_for("openai", provider.url))


def test_the_model_answers_and_the_answer_says_so(provider: ScriptedServer) -> None:
    heard: list[tuple[float, str]] = []

    async def send(done: float, of: float | None, message: str) -> None:
        heard.append((done, message))

    async def scene() -> Any:
        services = services_of(provider)
        try:
            return await ToolRunner(services).run(TOOLS["fault_score_reliability"], SNIPPET, send)
        finally:
            services.close()

    provider.play(said("openai", json.dumps({"score": 0.4, "explanation": "No timeout."})))
    found = anyio.run(scene)
    assert isinstance(found, ToolResult)
    assert json.loads(found.text) == found.structured
    assert (found.structured["score"], found.structured["engine"]) == (0.4, "openai")
    assert heard[0][0] == 0
    assert heard[0][1].startswith("asking ")


def test_a_failure_of_the_provider_is_told_and_the_rules_do_not_answer_instead(
    provider: ScriptedServer,
) -> None:
    async def scene() -> Any:
        services = services_of(provider)
        try:
            return await ToolRunner(services).run(TOOLS["fault_score_reliability"], SNIPPET, silent)
        finally:
            services.close()

    provider.play(Send({"error": {"message": "bad key"}}, status=401))
    found = anyio.run(scene)
    assert isinstance(found, ToolFailure)
    assert "OPENAI_API_KEY" in found.text
    assert "\n" not in found.text


def test_a_call_that_is_cancelled_does_not_wait_for_the_model(provider: ScriptedServer) -> None:
    async def scene() -> None:
        services = services_of(provider)
        calls = ToolRunner(services)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(calls.run, TOOLS["fault_score_reliability"], SNIPPET, silent)
                assert await anyio.to_thread.run_sync(provider.arrived.wait, PATIENCE_S)
                group.cancel_scope.cancel()

    provider.play(Hang())
    anyio.run(scene)
    assert len(provider.requests) == 1
