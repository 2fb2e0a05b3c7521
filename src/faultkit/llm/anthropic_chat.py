"""A client of Anthropic's API.

The API has no response format, so JSON is asked for as the input of a tool that the model must call.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import anthropic

from faultkit.llm.conversation import (
    AnswerFormat,
    Completion,
    CompletionEnd,
    Conversation,
    ToolCall,
    Usage,
    Vectors,
    tokens_in,
)
from faultkit.llm.failure import (
    CONNECT_S,
    ProviderFailure,
    arguments_in,
    body_of,
    count_at,
    failure_of,
    text_at,
    value_at,
)
from faultkit.llm.providers import ModelEndpoint, is_on_this_machine
from faultkit.llm.request_bodies import anthropic_messages, anthropic_tools

_ANSWER_TOOL = "answer"
_ENDS: dict[str, CompletionEnd] = {
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicChat:
    """A client of one endpoint with Anthropic's API."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(
                # A key is for the host that the user named, not for one that it redirects to.
                follow_redirects=False,
                trust_env=not is_on_this_machine(endpoint.base_url),
            ),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(
        self, conversation: Conversation, timeout_s: float, answer: AnswerFormat | None = None
    ) -> Completion:
        """Send one chat request. Raises ProviderFailure."""
        more: dict[str, Any] = {}
        if conversation.system_prompt:
            more["system"] = conversation.system_prompt
        if conversation.tools:
            more["tools"] = anthropic_tools(conversation)
        by_tool = answer is not None and answer.kind == "tool"
        if answer is not None and by_tool:
            tool = {"name": _ANSWER_TOOL, "description": "Takes your answer.", "input_schema": answer.schema}
            more |= {"tools": [tool], "tool_choice": {"type": "tool", "name": _ANSWER_TOOL}}
        messages = anthropic_messages(conversation)
        try:
            with warnings.catch_warnings():
                # The library warns about models that will be retired, which the provider reports itself.
                warnings.simplefilter("ignore", DeprecationWarning)
                raw = await self._client.messages.with_raw_response.create(
                    model=self._endpoint.model,
                    max_tokens=conversation.max_tokens,
                    messages=messages,
                    timeout=anthropic.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
                    **more,
                )
        except anthropic.AnthropicError as error:
            raise failure_of(error, anthropic) from error
        return _completion(body_of(raw.http_response.text), messages, by_tool=by_tool)

    async def embed(self, model: str, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        """Raise ProviderFailure: this API has no embeddings."""
        raise ProviderFailure("rejected", "it makes no embeddings")


def _completion(body: dict[str, Any], sent: list[Any], *, by_tool: bool) -> Completion:
    """Return the completion in a body. `by_tool`: its text is the input of the first tool call, as JSON."""
    content = value_at(body, "content")
    if not isinstance(content, list):
        raise ProviderFailure("garbage", "no content in it")
    blocks = [block for block in content if isinstance(block, dict)]
    text = "\n".join(text_at(block, "text") for block in blocks if text_at(block, "type") == "text")
    inputs = [value_at(block, "input") for block in blocks if text_at(block, "type") == "tool_use"]
    calls: list[ToolCall] = []
    echo: list[dict[str, Any]] = []
    if by_tool:
        text = json.dumps(inputs[0], ensure_ascii=False) if inputs else text
    else:
        for block in blocks:
            if text_at(block, "type") != "tool_use":
                echo.append(block)
                continue
            arguments, problem = arguments_in(value_at(block, "input"))
            id = text_at(block, "id") or f"call_{len(calls) + 1}"
            calls.append(ToolCall(id, text_at(block, "name"), arguments, problem))
            echo.append({**block, "id": id, "input": dict(arguments)})
    counts = [count_at(body, "usage", name) for name in _PROMPT_COUNTS]
    prompt = None if counts[0] is None else sum(count or 0 for count in counts)
    answer = count_at(body, "usage", "output_tokens")
    return Completion(
        text=text,
        calls=tuple(calls),
        usage=Usage(
            tokens_in(str(sent)) if prompt is None else prompt,
            tokens_in(str(content)) if answer is None else answer,
            1,
        ),
        end=_ENDS.get(text_at(body, "stop_reason"), "done"),
        raw=echo,
        model=text_at(body, "model"),
    )
