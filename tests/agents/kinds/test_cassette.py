from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.execute.virtual_toolbox import VirtualToolbox
from faultkit.agents.kinds.agent_choice import STUB_TEXT, ModelOptions, TurnSource, model_agent
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, BudgetExceeded, RunBudget, ToolInfo
from faultkit.agents.suite.definition import AgentTest, ModelAgent, SourcePlace, Suite
from faultkit.base.errors import InputError, RunError
from faultkit.llm.cassettes import StaleCassette, cassette_path
from faultkit.llm.conversation import ModelError
from faultkit.llm.providers import MissingKey
from tests.agents.execute.suite_runs import HEAD, row, write
from tests.agents.execute.suite_runs import run as run_file
from tests.agents.kinds.provider_turns import KEY, environment, turn
from tests.agents.memory_server import MemoryServer, toolbox
from tests.llm.scripted_provider import ScriptedServer, Send

RECORD = ModelOptions(record=True)
TEST = AgentTest(
    "recovers from a hung search",
    ModelAgent("gpt-4o"),
    ("shop",),
    SourcePlace("s.yml", 1),
    "Find it.",
    "Be brief.",
)


def suite(folder: Path) -> Suite:
    return Suite(str(folder / "s.yml"))


def run(
    folder: Path,
    env: dict[str, str] | None = None,
    options: ModelOptions = ModelOptions(),  # noqa: B008
    test: AgentTest = TEST,
    box: VirtualToolbox | None = None,
) -> tuple[TurnSource, AgentAnswer]:
    chosen = model_agent(suite(folder), test, env or {}, options)
    box = box or toolbox("hang@search", budget=test.budget)
    return chosen.source, asyncio.run(chosen.agent.run(AgentTask(test.prompt, test.system_prompt), box))


def record(folder: Path, server: ScriptedServer, *turns: Send, **more: Any) -> tuple[TurnSource, AgentAnswer]:
    server.play(*turns)
    return run(folder, environment("openai", server.url), RECORD, **more)


def usual(folder: Path, server: ScriptedServer) -> Path:
    record(
        folder,
        server,
        turn("openai", "Let me see.", ("search", {"q": "it"}), ("search", "{")),
        turn("openai", "It hangs: né ✓"),
    )
    return cassette_path(str(folder / "s.yml"), TEST.name)


def test_what_was_recorded_is_replayed_without_a_key_and_without_a_provider(
    tmp_path: Path, server: ScriptedServer
) -> None:
    path = usual(tmp_path, server)
    assert path == tmp_path / "cassettes" / "recovers-from-a-hung-search.json"
    asked = len(server.requests)
    box = toolbox("hang@search")
    assert run(tmp_path, box=box) == ("cassette", AgentAnswer("It hangs: né ✓"))
    assert len(server.requests) == asked
    assert [(call.outcome, call.invalid) for call in box.calls] == [
        ("timeout", False),
        ("protocol_error", True),
    ]
    assert box.budget_use.tokens == 36


def test_a_cassette_is_for_people_to_read_and_twice_the_same(tmp_path: Path, server: ScriptedServer) -> None:
    path = usual(tmp_path, server)
    text = path.read_text("utf-8")
    usual(tmp_path, server)
    assert path.read_text("utf-8") == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    document = json.loads(text)
    assert list(document) == ["cassette", "suite", "agent", "model", "asked", "turns"]
    assert (document["agent"], document["model"]) == (TEST.name, "gpt-4o")
    assert list(document["asked"]["tools"]) == ["search", "grep", "order", "orders"]
    first, second = document["turns"]
    assert first["calls"][0] == {"tool": "search", "arguments": {"q": "it"}}
    assert "they are no JSON" in first["calls"][1]["problem"]
    assert second["says"] == "It hangs: né ✓"
    assert "né ✓" in text
    assert KEY not in text
    assert "Find it." not in text


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"prompt": "Find that."}, "the prompt changed"),
        ({"system_prompt": "Be long."}, "the system prompt changed"),
        ({"agent": ModelAgent("gpt-4o-mini")}, "the model changed from 'gpt-4o' to 'gpt-4o-mini'"),
    ],
)
def test_a_cassette_for_another_question_is_stale(
    changes: dict[str, Any], problem: str, tmp_path: Path, server: ScriptedServer
) -> None:
    usual(tmp_path, server)
    with pytest.raises(StaleCassette, match=f"the cassette is stale: {problem}; record it again"):
        run(tmp_path, test=replace(TEST, **changes))


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (lambda tools: (*tools, ToolInfo("new", "shop")), r"new: new"),
        (lambda tools: tools[1:], r"gone: search"),
        (lambda tools: (replace(tools[0], description="Other."), *tools[1:]), r"changed: search"),
        (lambda tools: tools[::-1], r"their order"),
    ],
)
def test_a_cassette_for_other_tools_is_stale(
    tools: Any, problem: str, tmp_path: Path, server: ScriptedServer
) -> None:
    usual(tmp_path, server)
    memory = MemoryServer()
    memory.tools = tools(memory.tools)
    with pytest.raises(StaleCassette, match=rf"the tools changed \({problem}\)"):
        run(tmp_path, box=toolbox("hang@search", server=memory))


def test_a_tool_that_answers_something_else_makes_the_turn_behind_it_stale(
    tmp_path: Path, server: ScriptedServer
) -> None:
    usual(tmp_path, server)
    with pytest.raises(StaleCassette, match="turn 2: what the tools had answered"):
        run(tmp_path, box=toolbox())


def test_a_run_that_goes_on_behind_the_end_of_a_cassette_is_stale(
    tmp_path: Path, server: ScriptedServer
) -> None:
    looping = replace(TEST, budget=RunBudget(turns=2))
    with pytest.raises(BudgetExceeded):
        record(tmp_path, server, turn("openai", "", ("search", {})), test=looping)
    with pytest.raises(BudgetExceeded):
        run(tmp_path, test=looping)
    with pytest.raises(StaleCassette, match="it ends after 2 turns, and the run goes on"):
        run(tmp_path, test=TEST)


def test_the_cassette_of_a_test_of_nearly_the_same_name_is_not_taken_for_its_own(
    tmp_path: Path, server: ScriptedServer
) -> None:
    usual(tmp_path, server)
    with pytest.raises(StaleCassette, match=f"recorded for the agent '{TEST.name}'"):
        run(tmp_path, test=replace(TEST, name="recovers from a hung/search"))


def test_a_model_that_failed_leaves_the_cassette_that_was_there(
    tmp_path: Path, server: ScriptedServer
) -> None:
    before = usual(tmp_path, server).read_text("utf-8")
    with pytest.raises(ModelError):
        record(tmp_path, server, turn("openai", "", ("search", {})), Send({"error": {"message": "x"}}, 400))
    assert usual(tmp_path, server).read_text("utf-8") == before


def test_a_cassette_that_would_hold_a_secret_is_not_written(tmp_path: Path, server: ScriptedServer) -> None:
    with pytest.raises(RunError, match=r"not written, since a turn of the model holds \$OPENAI_API_KEY"):
        record(tmp_path, server, turn("openai", f"Your key is {KEY}."))
    assert not (tmp_path / "cassettes").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "expected a cassette in JSON"),
        ("[]", "expected a cassette of format 1, got None"),
        ('{"cassette": 2}', "expected a cassette of format 1, got 2"),
        ('{"cassette": 1, "agent": "a"}', "lacks 'asked'|lacks 'model'"),
    ],
)
def test_a_file_that_is_no_cassette_is_an_error_that_names_it(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = cassette_path(str(tmp_path / "s.yml"), TEST.name)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        run(tmp_path)
    assert caught.value.path == str(path)


def test_without_key_and_cassette_there_is_an_error_or_by_leave_a_stub(tmp_path: Path) -> None:
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        run(tmp_path)
    assert run(tmp_path, options=ModelOptions(allow_stub=True)) == ("stub", AgentAnswer(STUB_TEXT))
    with pytest.raises(MissingKey):
        run(tmp_path, options=ModelOptions(record=True, allow_stub=True))


def test_a_limit_in_money_for_a_model_of_unknown_price_is_said_to_be_none(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": KEY}
    limited = replace(TEST, budget=RunBudget(money=1.0))
    unknown = replace(limited, agent=ModelAgent("gpt-99"))
    assert model_agent(suite(tmp_path), limited, env).notes == ()
    assert model_agent(suite(tmp_path), unknown, env).notes == (
        "the price of gpt-99 is not known: its money is not counted",
    )
    assert model_agent(suite(tmp_path), replace(unknown, budget=RunBudget()), env).notes == ()


def test_names_that_come_to_the_same_file_have_one_each(tmp_path: Path, server: ScriptedServer) -> None:
    tests = tuple(replace(TEST, name=name) for name in ("a b", "a-b", "alone"))
    several = replace(suite(tmp_path), agents=tests)
    server.play(*[turn("openai", test.name) for test in tests])
    for test in tests:
        chosen = model_agent(several, test, environment("openai", server.url), RECORD)
        asyncio.run(chosen.agent.run(AgentTask(test.prompt, test.system_prompt), toolbox()))
    assert len([*(tmp_path / "cassettes").iterdir()]) == 3
    assert (tmp_path / "cassettes" / "alone.json").exists()
    for test in tests:
        chosen = model_agent(several, test, {})
        word = asyncio.run(chosen.agent.run(AgentTask(test.prompt, test.system_prompt), toolbox()))
        assert word.text == test.name


def test_two_suites_in_one_folder_have_cassettes_of_their_own(tmp_path: Path, server: ScriptedServer) -> None:
    usual(tmp_path, server)
    (tmp_path / "s.yml").write_text("")
    other = str(tmp_path / "other.yml")
    assert cassette_path(other, TEST.name).name == f"other.{TEST.name.replace(' ', '-')}.json"
    # A renamed suite keeps its cassettes.
    (tmp_path / "s.yml").unlink()
    assert cassette_path(other, TEST.name) == cassette_path(str(tmp_path / "s.yml"), TEST.name)


def test_one_recording_is_one_sample_however_often_it_is_replayed(
    tmp_path: Path, server: ScriptedServer
) -> None:
    body = """
agents:
  - { name: a, model: gpt-4o, prompt: Find it., inject: [hung], recovery: { max_detection_ms: 3000 } %s }
"""
    rate = ", runs: 40, min_pass_rate: 80"
    server.play(turn("openai", "Let me see.", ("search", {})), turn("openai", "It hangs."))
    recording: dict[str, Any] = {"record": True, "env": environment("openai", server.url)}
    assert run_file(write(tmp_path, HEAD + body % ""), **recording).ok
    gate = row(run_file(write(tmp_path, HEAD + body % rate), env={}), "a (recovery)")
    assert (gate.verdict, gate.limit, gate.passed_share) == ("inconclusive", "min_pass_rate", None)
    assert gate.message == "min_pass_rate is 80: 40 runs are of one recording, which shows no rate"
    assert run_file(write(tmp_path, HEAD + body % ", runs: 40"), env={}).ok
