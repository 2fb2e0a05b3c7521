"""A scripted agent with a model: the model says which call is next, and what the final reply is.

The model is a mock that knows the script, so that a suite can break the model of an agent that ships with
Faultkit. The agent treats a request to its model as it treats a call: with the attempts, the waits and the
fallback of the step. Once a call is made, it is repeated without asking the model again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from faultkit.agents.kinds.model_loop import make_call, offer_tools
from faultkit.agents.suite.agent_interface import (
    AgentTask,
    ModelOutcome,
    PlannedCall,
    Toolbox,
    ToolOutcome,
)
from faultkit.agents.suite.definition import Script, ScriptStep
from faultkit.base.rng import Rng
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.turn import ToolCall, Turn, count_tokens, token_pieces
from faultkit.llm.conversation import ChatModel, Completion, Conversation, ConversationRound, ToolResult
from faultkit.llm.mock.mock_answers import CREATED_AT, CREATED_S, AnswerSource, answers_before

SCRIPT_MODEL = "mock"
"""The name of the model of every script."""
DONE = "Done."


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What answers for the model of an agent, and in which API."""

    answers: AnswerSource | None = None
    """A mock."""
    chat: ChatModel | None = None
    """A cassette or a provider, if there is no mock."""
    client: Literal["openai", "anthropic"] = "openai"


class ScriptAnswers:
    """The model of a script: it asks for one call after the other, and then gives the reply of the script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def turn_for(self, request: LlmRequest) -> Turn:
        """Return the turn after those that the request has in its history."""
        number = answers_before(request.body)
        steps = self._script.steps
        calls: tuple[ToolCall, ...] = ()
        text = ""
        if number < len(steps):
            planned = steps[number].call
            calls = (ToolCall(planned.tool, planned.arguments, f"call_{number + 1}"),)
        else:
            text = final_text(self._script, str(request.body["messages"][-1].get("content") or ""))
        prompts = sum(map(count_tokens, request.dialect.prompts(request.body).values()))
        return Turn(
            SCRIPT_MODEL,
            f"turn{number + 1}",
            tuple(token_pieces(text)),
            calls,
            "tool_calls" if calls else "stop",
            prompts,
            CREATED_S,
            CREATED_AT,
        )


def final_text(script: Script, last: str) -> str:
    """Return the reply of a script that succeeded; `last`: the text of its last call."""
    return script.say.replace("{result}", last) if script.say else last or DONE


class ScriptModel:
    """The conversation of a scripted agent with its model."""

    def __init__(self, task: AgentTask, tools: Toolbox) -> None:
        self._tools = tools
        self._conversation = Conversation(
            SCRIPT_MODEL, task.prompt or "Do your task.", task.system_prompt, offer_tools(tools.tools)
        )
        self._offered = {tool.name: tool for tool in self._conversation.tools}
        self._round: ConversationRound | None = None
        self.has_strayed = False
        """True if the model has asked for another call than the script, and that call succeeded."""

    async def next_call(self, step: ScriptStep, wait: StepWait) -> tuple[ToolOutcome, bool]:
        """Ask for the call of a step and make it. Return its outcome, and whether it is the planned one."""
        self.has_strayed = False
        attempt = 1
        while True:
            asked = await self._ask()
            completion = asked.completion
            if completion is None or not completion.calls:
                outcome = _unusable(asked)
                self._round = ConversationRound(Completion(outcome.text), follow_up=outcome.text)
            else:
                call = completion.calls[0]
                offered = self._offered.get(call.name)
                outcome = await make_call(call, offered, self._tools)
                result = ToolResult(call, outcome.text, not outcome.ok)
                self._round = ConversationRound(completion, (result,))
                made = PlannedCall(call.name if offered is None else offered.tool, dict(call.arguments))
                if not call.problem and made == PlannedCall(step.call.tool, dict(step.call.arguments)):
                    return outcome, True
                if outcome.ok:
                    self.has_strayed = True
                    return outcome, False
            if step.retry.attempts and attempt >= step.retry.attempts:
                return outcome, False
            retry_after_ms = asked.retry_after_ms if not asked.ok else outcome.retry_after_ms
            await wait.before_attempt(attempt, retry_after_ms)
            attempt += 1

    def end_step(self, outcome: ToolOutcome) -> None:
        """Take the outcome with which a step ended, after its repeated calls and its fallback."""
        before = self._round
        assert before is not None
        if before.results:
            result = ToolResult(before.results[0].call, outcome.text, not outcome.ok)
            ended = ConversationRound(before.completion, (result,))
        else:
            ended = ConversationRound(Completion(before.completion.text or "…"), follow_up=outcome.text)
        rounds = (*self._conversation.rounds, ended)
        self._conversation = Conversation(
            SCRIPT_MODEL,
            self._conversation.prompt,
            self._conversation.system_prompt,
            self._conversation.tools,
            rounds=rounds,
        )

    async def final_reply(self, step: ScriptStep, wait: StepWait) -> str | None:
        """Return the text of the model's last turn; None if the attempts of the last step gave none."""
        attempt = 1
        while True:
            asked = await self._ask()
            completion = asked.completion
            if completion is not None and completion.end == "done" and completion.text.strip():
                return completion.text
            if step.retry.attempts and attempt >= step.retry.attempts:
                return None
            await wait.before_attempt(attempt, asked.retry_after_ms)
            attempt += 1

    async def _ask(self) -> ModelOutcome:
        self._tools.spend(turns=1)
        return await self._tools.ask(self._conversation)


class StepWait:
    """The waits of a step between its attempts."""

    def __init__(self, step: ScriptStep, tools: Toolbox, rng: Rng) -> None:
        self._retry, self._tools, self._rng = step.retry, tools, rng

    async def before_attempt(self, attempt: int, retry_after_ms: float | None) -> None:
        """Wait after attempt number `attempt`, and as long as an answer asks for if the step obeys."""
        retry = self._retry
        wait_ms = retry.wait_ms * retry.factor ** (attempt - 1)
        if retry.jitter:
            wait_ms *= 1 + retry.jitter * (2 * self._rng.uniform() - 1)
        if retry.obeys and retry_after_ms is not None:
            wait_ms = max(wait_ms, retry_after_ms)
        if wait_ms > 0:
            await self._tools.sleep(wait_ms)


def _unusable(asked: ModelOutcome) -> ToolOutcome:
    """Return why an answer of the model has no call to make."""
    if asked.completion is None:
        return ToolOutcome(asked.outcome, asked.text)
    return ToolOutcome("protocol_error", "the model asked for no call")
