"""A model in a loop with its tools, until it has a last word or a budget ends it. It knows no provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faultkit.agents.kinds.agent import BudgetUsedUp, LastWord, Task, Toolbox, ToolOutcome
from faultkit.agents.kinds.prices import Price
from faultkit.agents.kinds.turns import (
    Conversation,
    ModelFailed,
    OfferedTool,
    ToolCall,
    ToolResult,
    Voice,
    offered,
)

MAX_TOKENS = 1024
_MOST_PROBLEM = 300


class ModelLoop:
    """Tools are called one after another, in the order in which the model named them."""

    def __init__(
        self, model: str, voice: Voice, *, price: Price | None = None, max_tokens: int = MAX_TOKENS
    ) -> None:
        """`price`: None if it is not known; money is not counted then."""
        self._model = model
        self._voice = voice
        self._price = price
        self._max_tokens = max_tokens

    async def run(self, task: Task, tools: Toolbox) -> LastWord:
        is_whole = False
        try:
            word = await self._talk(task, tools)
            is_whole = True
        except BudgetUsedUp:
            is_whole = True
            raise
        finally:
            await self._voice.close(is_whole=is_whole)
        return word

    async def _talk(self, task: Task, tools: Toolbox) -> LastWord:
        talk = Conversation(
            self._model, task.prompt, task.system_prompt, offered(tools.tools), self._max_tokens
        )
        by_name = {tool.name: tool for tool in talk.tools}
        while True:
            tools.spend(turns=1)
            said = await self._voice.say(talk)
            tools.spend(
                tokens=said.usage.tokens, money=0.0 if self._price is None else self._price.of(said.usage)
            )
            if not said.calls and said.end == "cut" and not said.text.strip():
                limit = f"max_tokens ({self._max_tokens})"
                raise ModelFailed(f"{self._model} used up {limit} before it said anything: allow more", "cut")
            if not said.calls:
                return LastWord(said.text, claims_success=False if said.end == "refused" else None)
            results = [await _made(call, by_name.get(call.name), tools) for call in said.calls]
            talk = talk.after(said, results)


async def _made(call: ToolCall, tool: OfferedTool | None, tools: Toolbox) -> ToolResult:
    if call.problem:
        outcome = tools.refuse(call.name if tool is None else tool.info.name, {}, call.problem)
    elif tool is None:
        # The toolbox knows what there is, and says so.
        outcome = await tools.call(call.name, call.arguments)
    elif problem := misfit(call.arguments, tool.info.input_schema):
        outcome = tools.refuse(tool.info.name, call.arguments, f"invalid arguments: {problem}")
    else:
        outcome = await tools.call(tool.info.name, call.arguments)
    return ToolResult(call, _shown(outcome), not outcome.ok)


def misfit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What is wrong with arguments by the tool's own schema; empty if nothing is, or if it cannot be told."""
    if not schema:
        return ""
    from jsonschema import Draft202012Validator

    try:
        errors = sorted(Draft202012Validator(dict(schema)).iter_errors(dict(arguments)), key=str)
    except Exception:
        # A schema that is none is its server's mistake, and no reason to keep a call from it.
        return ""
    return "; ".join(f"{error.json_path}: {error.message}" for error in errors)[:_MOST_PROBLEM]


def _shown(outcome: ToolOutcome) -> str:
    if outcome.text or outcome.structured is None:
        return outcome.text
    return json.dumps(outcome.structured, ensure_ascii=False, default=str)
