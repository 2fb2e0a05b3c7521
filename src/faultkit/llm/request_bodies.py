"""A conversation as the body of a request: OpenAI Chat Completions and Anthropic Messages. Pure.

The clients of providers send these bodies by their libraries; tests of agents send them to a mock.
"""

from __future__ import annotations

from typing import Any, Literal

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.llm.conversation import Conversation

_NO_ARGUMENTS = {"type": "object", "properties": {}}


def streamed_request(conversation: Conversation, client: Literal["openai", "anthropic"]) -> LlmRequest:
    """Return the request for a streamed answer, as a client of this API sends it."""
    body: dict[str, Any] = {"model": conversation.model, "stream": True}
    if client == "anthropic":
        name, path = "anthropic_messages", "/v1/messages"
        body |= {"max_tokens": conversation.max_tokens, "messages": anthropic_messages(conversation)}
        if conversation.system_prompt:
            body["system"] = conversation.system_prompt
        tools = anthropic_tools(conversation)
    else:
        name, path = "openai_chat", "/v1/chat/completions"
        usage = {"include_usage": True}
        body |= {"messages": openai_messages(conversation), "stream_options": usage}
        tools = openai_tools(conversation)
    if tools:
        body["tools"] = tools
    request = DIALECTS[name].request_of(path, "", body)
    assert request is not None
    return request


def openai_tools(conversation: Conversation) -> list[Any]:
    """Return the offered tools for OpenAI Chat Completions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.input_schema) or _NO_ARGUMENTS,
            },
        }
        for tool in conversation.tools
    ]


def openai_messages(conversation: Conversation) -> list[Any]:
    """Return a conversation as the messages of OpenAI Chat Completions."""
    messages: list[Any] = []
    if conversation.system_prompt:
        messages.append({"role": "system", "content": conversation.system_prompt})
    messages.append({"role": "user", "content": conversation.prompt})
    for round in conversation.rounds:
        if round.completion.raw is not None:
            messages.append(round.completion.raw)
        elif round.completion.text.strip():
            # Some providers reject an assistant message without content.
            messages.append({"role": "assistant", "content": round.completion.text})
        for result in round.results:
            # This format has no member for the failure of a tool.
            text = f"Error: {result.text}" if result.is_error else result.text
            messages.append({"role": "tool", "tool_call_id": result.call.id, "content": text})
        if round.follow_up:
            messages.append({"role": "user", "content": round.follow_up})
    return messages


def anthropic_tools(conversation: Conversation) -> list[Any]:
    """Return the offered tools for Anthropic Messages."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": {"type": "object", **tool.input_schema},
        }
        for tool in conversation.tools
    ]


def anthropic_messages(conversation: Conversation) -> list[Any]:
    """Return a conversation as the messages of Anthropic Messages."""
    messages: list[Any] = [{"role": "user", "content": conversation.prompt}]
    for round in conversation.rounds:
        if round.completion.raw is not None:
            messages.append({"role": "assistant", "content": round.completion.raw})
        elif round.completion.text.strip():
            # An assistant message without content is rejected.
            messages.append({"role": "assistant", "content": round.completion.text})
        if round.results:
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": result.call.id,
                    "content": result.text,
                    "is_error": result.is_error,
                }
                for result in round.results
            ]
            messages.append({"role": "user", "content": results})
        if round.follow_up:
            messages.append({"role": "user", "content": round.follow_up})
    return messages
