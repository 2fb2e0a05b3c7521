"""An agent that is a model in a loop with its tools, until it answers or exceeds a budget.

The loop does not depend on a provider: completions come from any `ChatModel`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.agents.suite.agent_interface import (
    AgentAnswer,
    AgentTask,
    BudgetExceeded,
    Toolbox,
    ToolInfo,
    ToolOutcome,
)
from faultkit.base.rng import Rng
from faultkit.llm.conversation import (
    ChatModel,
    Completion,
    Conversation,
    ModelError,
    OfferedTool,
    Price,
    ToolCall,
    ToolResult,
    offered_names,
)

MAX_TOKENS = 1024
_LONGEST_PROBLEM = 300
_NO_LIMIT_S = 86_400.0


class ModelLoop:
    """A model with tools. The calls of one turn are made one after another, in the model's order."""

    def __init__(
        self, model: str, chat: ChatModel, *, price: Price | None = None, max_tokens: int = MAX_TOKENS
    ) -> None:
        """Create an agent. Without a known `price`, money is not counted."""
        self._model = model
        self._chat = chat
        self._price = price
        self._max_tokens = max_tokens
        self._rng = Rng.keyed("model loop", model)

    async def run(self, task: AgentTask, tools: Toolbox) -> AgentAnswer:
        """Run the conversation. Raises BudgetExceeded and ModelError."""
        # A cassette is written of whole conversations only: those that end by an answer or by a budget.
        is_whole = False
        try:
            answer = await self._converse(task, tools)
            is_whole = True
        except BudgetExceeded:
            is_whole = True
            raise
        finally:
            await self._chat.close(is_whole=is_whole)
        return answer

    async def _converse(self, task: AgentTask, tools: Toolbox) -> AgentAnswer:
        conversation = Conversation(
            self._model, task.prompt, task.system_prompt, offer_tools(tools.tools), self._max_tokens
        )
        by_name = {tool.name: tool for tool in conversation.tools}
        while True:
            tools.spend(turns=1)
            completion = await self._complete(conversation, tools)
            tools.spend(
                tokens=completion.usage.tokens,
                money=0.0 if self._price is None else self._price.of(completion.usage),
            )
            if not completion.calls and completion.end == "cut" and not completion.text.strip():
                limit = f"max_tokens ({self._max_tokens})"
                raise ModelError(f"{self._model} used up {limit} before it wrote anything: allow more", "cut")
            if not completion.calls:
                return AgentAnswer(
                    completion.text, claims_success=False if completion.end == "refused" else None
                )
            results = []
            for call in completion.calls:
                outcome = await make_call(call, by_name.get(call.name), tools)
                results.append(ToolResult(call, _text_of(outcome), not outcome.ok))
            conversation = conversation.after(completion, results)

    async def _complete(self, conversation: Conversation, tools: Toolbox) -> Completion:
        """Return the model's next turn: of the toolbox, where faults act on it, or of the chat."""
        if not tools.has_model:
            return await self._chat.complete(conversation)
        from faultkit.llm.chat import TRIES, TRIES_IF_SLOW, RetriesExhausted, RetryPolicy, call_with_retries

        async def ask(limit_s: float) -> Completion:
            asked = await tools.ask(conversation)
            if asked.completion is None:
                assert asked.failure is not None
                raise asked.failure
            return asked.completion

        async def pause(seconds: float) -> None:
            await tools.sleep(seconds * 1000)

        policy = RetryPolicy(self._rng, TRIES, TRIES_IF_SLOW, pause)
        try:
            # The toolbox ends a request that takes too long, on its own clock.
            return await call_with_retries(ask, policy, lambda: _NO_LIMIT_S)
        except RetriesExhausted as error:
            failure = error.failure
            status = f"HTTP {failure.status}: " if failure.status else ""
            after = f" after {error.tries} tries" if error.tries > 1 else ""
            why = f"the model {self._model} failed{after}: {status}{failure.detail or failure.kind}"
            raise ModelError(why, failure.kind, error.tries) from None


def offer_tools(tools: Sequence[ToolInfo]) -> tuple[OfferedTool, ...]:
    """Return each tool under a name that every provider accepts and no other tool has."""
    names = offered_names(info.name for info in tools)
    return tuple(
        OfferedTool(name, info.name, info.description, info.input_schema)
        for name, info in zip(names, tools, strict=True)
    )


async def make_call(call: ToolCall, tool: OfferedTool | None, tools: Toolbox) -> ToolOutcome:
    """Make the call that a model asks for; `tool` is None if none was offered under its name."""
    if call.problem:
        return tools.refuse(call.name if tool is None else tool.tool, {}, call.problem)
    if tool is None:
        # The toolbox refuses the unknown name and lists the known ones.
        return await tools.call(call.name, call.arguments)
    if problem := schema_problem(call.arguments, tool.input_schema):
        return tools.refuse(tool.tool, call.arguments, f"invalid arguments: {problem}")
    return await tools.call(tool.tool, call.arguments)


def _text_of(outcome: ToolOutcome) -> str:
    if outcome.text or outcome.structured is None:
        return outcome.text
    return json.dumps(outcome.structured, ensure_ascii=False, default=str)


def schema_problem(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return how arguments violate a tool's schema; empty if they fit it or it is no valid schema."""
    if not schema:
        return ""
    from faultkit.agents.matchers.schema_validator import SchemaValidator

    try:
        errors = sorted(SchemaValidator(dict(schema)).iter_errors(dict(arguments)), key=str)
    except Exception:
        # An invalid schema is the server's mistake, and no reason to withhold the call.
        return ""
    return "; ".join(f"{error.json_path}: {error.message}" for error in errors)[:_LONGEST_PROBLEM]
