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
)
from faultkit.llm.conversation import (
    ChatModel,
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
            completion = await self._chat.complete(conversation)
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
            results = [await _make_call(call, by_name.get(call.name), tools) for call in completion.calls]
            conversation = conversation.after(completion, results)


def offer_tools(tools: Sequence[ToolInfo]) -> tuple[OfferedTool, ...]:
    """Return each tool under a name that every provider accepts and no other tool has."""
    names = offered_names(info.name for info in tools)
    return tuple(
        OfferedTool(name, info.name, info.description, info.input_schema)
        for name, info in zip(names, tools, strict=True)
    )


async def _make_call(call: ToolCall, tool: OfferedTool | None, tools: Toolbox) -> ToolResult:
    if call.problem:
        outcome = tools.refuse(call.name if tool is None else tool.tool, {}, call.problem)
    elif tool is None:
        # The toolbox refuses the unknown name and lists the known ones.
        outcome = await tools.call(call.name, call.arguments)
    elif problem := schema_problem(call.arguments, tool.input_schema):
        outcome = tools.refuse(tool.tool, call.arguments, f"invalid arguments: {problem}")
    else:
        outcome = await tools.call(tool.tool, call.arguments)
    text = outcome.text
    if not text and outcome.structured is not None:
        text = json.dumps(outcome.structured, ensure_ascii=False, default=str)
    return ToolResult(call, text, not outcome.ok)


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
