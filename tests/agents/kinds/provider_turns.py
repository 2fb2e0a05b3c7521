"""Turns of a model as OpenAI's and Anthropic's APIs send them, for the scripted provider."""

from __future__ import annotations

import json
from typing import Any

from faultkit.agents.suite.definition import ModelAgent
from faultkit.llm.providers import ModelEndpoint, endpoint_of
from tests.llm.scripted_provider import Send

KEY = "sk-fake-0123456789abcdef0123"
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
BASES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}


def environment(dialect: str, url: str) -> dict[str, str]:
    return {BASES[dialect]: url, f"{dialect.upper()}_API_KEY": KEY}


def endpoint(dialect: str, url: str) -> ModelEndpoint:
    return endpoint_of(ModelAgent(MODELS[dialect]), (), environment(dialect, url))


def turn(dialect: str, text: str = "", *calls: tuple[str, Any], tokens: tuple[int, int] = (11, 7)) -> Send:
    """Return a turn with these calls; arguments given as text are sent unchanged."""
    if dialect == "openai":
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"id_{number}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for number, (name, given) in enumerate(calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return Send(
            {
                "model": "m",
                "choices": [choice],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
            }
        )
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": f"id_{number}", "name": name, "input": given}
        for number, (name, given) in enumerate(calls)
    ]
    return Send(
        {
            "model": "m",
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
        }
    )


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
