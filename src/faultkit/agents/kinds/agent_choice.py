"""The choice of the agent that runs a test; for a model, of the source of its turns.

The turns of a model come from its provider, a cassette or a stub. A cassette takes precedence over the
provider unless it is being recorded, so that a suite needs no key in CI. A stub writes one sentence and calls
no tool. It lets a user try out the rest of a suite: its rows are marked, and it never passes a recovery gate
(`STUB_VERDICT`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.agents.kinds.model_loop import ModelLoop
from faultkit.agents.kinds.script_model import ModelSpec, ScriptAnswers
from faultkit.agents.kinds.scripted import SHIPPED_AGENTS, ScriptedAgent
from faultkit.agents.suite.agent_interface import Agent, ToolInfo
from faultkit.agents.suite.definition import (
    AgentGoal,
    AgentTest,
    CommandAgent,
    ModelAgent,
    PlannedCall,
    ScriptAgent,
    Suite,
    SuiteTest,
)
from faultkit.agents.suite.gate import RowVerdict
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.documents.schema_example import smallest_value
from faultkit.base.errors import InputError
from faultkit.base.secrets import secret_variables
from faultkit.llm.cassettes import CassettePlayer, CassetteRecorder, cassette_path
from faultkit.llm.chat import ProviderChat
from faultkit.llm.conversation import ChatModel, Completion, Conversation, price_of
from faultkit.llm.mock.mock_answers import MockAnswers
from faultkit.llm.providers import MissingKey, client_of, endpoint_of

TurnSource: TypeAlias = Literal["provider", "recording", "cassette", "stub", "script", "mock"]
"""Source of an agent's turns. script: there is no model, or one that says what the script says."""

STUB_VERDICT: RowVerdict = "inconclusive"
STUB_MESSAGE = "a stub stood in for the model: nothing is known of how it recovers"
STUB_TEXT = "stub: no model was asked."
CHANGED_REQUESTS = ("replace_prompt", "add_instruction")
"""Faults that change the request; that of a cassette or a provider is made from the conversation."""
_SHORTEST_SECRET = 8
"""A shorter value of a variable may occur in a cassette by chance."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Whether the turns of a model are recorded, and whether a stub may stand in for it."""

    record: bool = False
    allow_stub: bool = False


@dataclass(frozen=True, slots=True)
class ChosenAgent:
    """The agent of one run."""

    agent: Agent
    source: TurnSource
    notes: tuple[str, ...] = ()
    """Remarks for the user."""
    model: ModelSpec | None = None
    """The model as the toolbox asks it, where faults act on it; None if no fault does."""

    @property
    def is_stub(self) -> bool:
        """True if a stub stands in for the model."""
        return self.source == "stub"

    @property
    def is_replay(self) -> bool:
        """True if a cassette is replayed."""
        return self.source == "cassette"


class StubModel:
    """A stand-in for a model that calls no tools."""

    async def complete(self, conversation: Conversation) -> Completion:
        """Return the one sentence of a stub."""
        return Completion(STUB_TEXT)

    async def close(self, *, is_whole: bool) -> None:
        """Do nothing: there is no connection."""


def model_agent(
    suite: Suite,
    test: AgentTest,
    env: Mapping[str, str],
    options: ModelOptions = ModelOptions(),
) -> ChosenAgent:
    """Return the agent for one run of a test with a model.

    Raises InputError if no provider has the model, its key is missing, its cassette cannot be read, or the
    client libraries are not installed.
    """
    spec = test.agent
    assert isinstance(spec, ModelAgent)
    if test.mock_model:
        loop = ModelLoop(spec.model, StubModel(), max_tokens=spec.max_tokens)
        answers = MockAnswers("script", test.mock_model, seed=suite.seed)
        return ChosenAgent(loop, "mock", (), ModelSpec(answers, client=client_of(spec, suite.providers)))
    path = cassette_of(suite, test)
    source, chat, provider = _chat_of(suite, test, spec, env, options, path)
    price = price_of(provider, spec.model)
    notes: tuple[str, ...] = ()
    if price is None and test.budget.money is not None and source != "stub":
        notes = (f"the price of {spec.model} is not known: its money is not counted",)
    if source == "recording":
        secrets = {
            name: value for name, value in secret_variables(env).items() if len(value) >= _SHORTEST_SECRET
        }
        chat = CassetteRecorder(chat, path, test.name, secrets, Path(suite.file).name)
    loop = ModelLoop(spec.model, chat, price=price, max_tokens=spec.max_tokens)
    return ChosenAgent(loop, source, notes, _broken_model(suite, test, chat))


def _broken_model(suite: Suite, test: AgentTest, chat: ChatModel) -> ModelSpec | None:
    """Return the model if the test breaks it. Raises InputError for a fault that only a mock can show."""
    plan = suite.model_plan(test.inject, suite.seed)
    for rule in plan.rules:
        if rule.fault.kind in CHANGED_REQUESTS:
            problem = f"{rule.fault.kind} changes the request to the model, which only `mock_model` takes"
            raise InputError(test.name, f"inject {rule.name}: {problem}")
    assert isinstance(test.agent, ModelAgent)
    return ModelSpec(chat=chat, client=client_of(test.agent, suite.providers)) if plan.rules else None


def cassette_of(suite: Suite, test: AgentTest) -> Path:
    """Return the path of the cassette of a test with a model, which need not exist."""
    others = [each.name for each in suite.agents if isinstance(each.agent, ModelAgent)]
    return cassette_path(suite.file, test.name, others)


def _model_options(options: RunOptions) -> ModelOptions:
    return ModelOptions(options.record, options.allow_stub)


def _chat_of(
    suite: Suite,
    test: AgentTest,
    spec: ModelAgent,
    env: Mapping[str, str],
    options: ModelOptions,
    path: Path,
) -> tuple[TurnSource, ChatModel, str]:
    """Return the source of a model's turns, its chat, and the name of its provider (empty if unknown)."""
    try:
        endpoint = endpoint_of(spec, suite.providers, env)
    except MissingKey:
        if os.path.exists(path) and not options.record:
            return "cassette", CassettePlayer(path, test.name), ""
        if options.allow_stub and not options.record:
            return "stub", StubModel(), ""
        raise
    name = endpoint.provider.name
    if os.path.exists(path) and not options.record:
        return "cassette", CassettePlayer(path, test.name), name
    from faultkit.base.installation import require_extra

    # Before the run: inside it, a missing package would be one more failure of the agent.
    require_extra("llm", f"the model {spec.model}")
    return "recording" if options.record else "provider", ProviderChat(endpoint), name


def require_clients(suite: Suite, test: SuiteTest, options: RunOptions) -> None:
    """Raise MissingExtra if a test asks a provider and the client libraries are not installed.

    To be called before the first test runs. Other reasons why a model cannot be asked, such as a missing key,
    are left to the result of the test."""
    if not isinstance(test, AgentTest) or not isinstance(test.agent, ModelAgent) or test.mock_model:
        return
    from faultkit.base.installation import MissingExtra

    try:
        _chat_of(suite, test, test.agent, options.env, _model_options(options), cassette_of(suite, test))
    except MissingExtra:
        raise
    except InputError:
        pass


def agent_of(suite: Suite, test: AgentTest, tools: Sequence[ToolInfo], options: RunOptions) -> ChosenAgent:
    """Return the agent for one run.

    Raises InputError if there is no key, no cassette, or no tool that a shipped agent could call.
    """
    spec = test.agent
    assert not isinstance(spec, CommandAgent), "programs are run by agent_program"
    if isinstance(spec, ModelAgent):
        return model_agent(suite, test, options.env, _model_options(options))
    if isinstance(spec, ScriptAgent):
        script = spec.script
    else:
        script = SHIPPED_AGENTS[spec.kind](spec.goal or usual_goal(suite, test, tools))
    has_model = bool(suite.model_plan(test.inject, suite.seed).rules)
    model = ModelSpec(ScriptAnswers(script)) if has_model else None
    return ChosenAgent(ScriptedAgent(script), "script", (), model)


def usual_goal(suite: Suite, test: AgentTest, tools: Sequence[ToolInfo]) -> AgentGoal:
    """Return a call of the first tool that an injected fault targets, with another tool as the fallback."""
    rules = [fault.rule for fault in suite.faults if fault.name in test.inject and not fault.is_of_model]
    faulted = [
        tool for tool in tools if any(fnmatchcase(tool.name, rule.match.tool or "*") for rule in rules)
    ]
    if not tools:
        raise InputError(test.name, "expected a server with tools, got none that an agent could call")
    first = (faulted or list(tools))[0]
    others = [tool for tool in tools if tool.name != first.name and tool not in faulted]
    return AgentGoal(_planned_call(first), fallback=_planned_call(others[0]) if others else None)


def _planned_call(tool: ToolInfo) -> PlannedCall:
    sample = smallest_value(tool.input_schema)
    return PlannedCall(tool.name, sample if isinstance(sample, dict) else {})
