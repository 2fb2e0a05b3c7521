"""A loop with a real model on this machine: the run has a verdict, whatever the model answers.

The model is tiny and need not call the right tool: request and response must work with a server that
Faultkit did not write.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from faultkit.agents.kinds.agent_choice import ModelOptions, model_agent
from faultkit.agents.kinds.model_loop import offer_tools
from faultkit.agents.recovery.trace import FinalReply, Trace
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, BudgetExceeded, RunBudget
from faultkit.agents.suite.definition import AgentTest, ModelAgent, SourcePlace, Suite
from faultkit.agents.suite.gate import RecoveryGate, gate_recovery
from faultkit.llm.chat import ProviderChat
from faultkit.llm.conversation import Completion, Conversation, ToolCall, ToolResult
from faultkit.llm.providers import endpoint_of
from tests.agents.memory_server import MemoryServer, toolbox
from tests.llm.test_real_model import address as address
from tests.llm.test_real_model import pytestmark as pytestmark

TEST = AgentTest(
    "tiny",
    ModelAgent("ollama/smollm2-135m", max_tokens=48),
    ("shop",),
    SourcePlace("s.yml", 1),
    "Search for tea.",
    "You are helpful. Call a tool if you need one.",
    budget=RunBudget(turns=3),
)


def test_a_real_model_runs_to_its_end_and_its_cassette_says_the_same(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = Suite(str(tmp_path / "s.yml"))

    def run(options: ModelOptions) -> tuple[str, AgentAnswer | str, Trace]:
        chosen = model_agent(suite, TEST, {"OLLAMA_HOST": address}, options)
        box = toolbox("hang@search", budget=TEST.budget)
        try:
            word: AgentAnswer | str = asyncio.run(
                chosen.agent.run(AgentTask(TEST.prompt, TEST.system_prompt), box)
            )
        except BudgetExceeded as used_up:
            return chosen.source, used_up.ending, Trace(tuple(box.calls), None, used_up.ending)
        assert isinstance(word, AgentAnswer)
        return chosen.source, word, Trace(tuple(box.calls), FinalReply(word.text, box.now_ms()))

    source, word, trace = run(ModelOptions(record=True))
    assert source == "recording"
    assert run(ModelOptions()) == ("cassette", word, trace)
    verdict = gate_recovery(RecoveryGate(3000), trace)
    assert verdict.verdict in (("passed", "failed") if trace.faulted else ("not_exercised",))
    with capsys.disabled():
        print(f"\nreal model: {word}, {len(trace.calls)} calls, {verdict.message}")  # noqa: T201


@pytest.mark.thorough
def test_a_real_server_takes_back_the_calls_of_its_model_and_their_results(address: str) -> None:
    agent = ModelAgent("ollama/smollm2-135m")
    wanted = [("id_1", "search"), ("id_2", "orders")]
    raw = {
        "role": "assistant",
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for id, name in wanted
        ],
    }
    calls = tuple(ToolCall(id, name, {}) for id, name in wanted)
    talk = Conversation(
        "smollm2-135m", "Search.", tools=offer_tools(MemoryServer().tools), max_tokens=8
    ).after(
        Completion("", calls, raw=raw), [ToolResult(call, "nothing", call.name == "search") for call in calls]
    )
    voice = ProviderChat(endpoint_of(agent, (), {"OLLAMA_HOST": address}))

    async def say() -> Completion:
        try:
            return await voice.complete(talk)
        finally:
            await voice.close(is_whole=True)

    said = asyncio.run(say())
    assert said.text or said.calls
    assert said.usage.prompt_tokens > 0
