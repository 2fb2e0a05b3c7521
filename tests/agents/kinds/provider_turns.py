"""Turns of a model as OpenAI's and Anthropic's APIs send them, for the scripted provider."""

from __future__ import annotations

import json
from typing import Any

from faultkit.agents.suite.definition import ModelAgent
from faultkit.faults.dialects.turn import ToolCall, Turn
from faultkit.llm.providers import ModelEndpoint, endpoint_of
from tests.llm.scripted_provider import Send, answer

KEY = "sk-fake-0123456789abcdef0123"
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
BASES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}


def environment(dialect: str, url: str) -> dict[str, str]:
    return {BASES[dialect]: url, f"{dialect.upper()}_API_KEY": KEY}


def endpoint(dialect: str, url: str) -> ModelEndpoint:
    return endpoint_of(ModelAgent(MODELS[dialect]), (), environment(dialect, url))


def turn(dialect: str, text: str = "", *calls: tuple[str, Any], tokens: tuple[int, int] = (11, 7)) -> Send:
    """Return a turn with these calls; arguments given as text are sent unchanged."""
    asked = tuple(
        ToolCall(name, given if isinstance(given, dict) else {}, f"id_{number}")
        for number, (name, given) in enumerate(calls)
    )
    pieces = (text,) if text else ()
    sent = answer(dialect, Turn("m", "x", pieces, asked, "tool_calls" if asked else "stop"), tokens)
    for number, (_, given) in enumerate(calls):
        if isinstance(given, dict):
            continue
        if dialect == "openai":
            written = given if isinstance(given, str) else json.dumps(given)
            sent.body["choices"][0]["message"]["tool_calls"][number]["function"]["arguments"] = written
        else:
            [block for block in sent.body["content"] if block["type"] == "tool_use"][number]["input"] = given
    return sent


def results_in(dialect: str, body: Any) -> list[tuple[str, str]]:
    """Return the results of tools in the last round of a request, by the ids of their calls."""
    if dialect == "openai":
        return [
            (each["tool_call_id"], each["content"]) for each in body["messages"] if each["role"] == "tool"
        ]
    return [
        (block["tool_use_id"], f"Error: {block['content']}" if block["is_error"] else block["content"])
        for message in body["messages"]
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
    ]
