"""Turns in Anthropic's format, by the `anthropic` package."""

from __future__ import annotations

import warnings
from typing import Any

import anthropic

from faultkit.agents.kinds.endpoints import Endpoint
from faultkit.agents.kinds.tool_arguments import arguments_in
from faultkit.agents.kinds.turns import Conversation, End, Said, ToolCall
from faultkit.llm.answers import CONNECT_S, at, body_of, count_at, failure_of, is_loopback, text_at
from faultkit.llm.failure import Failure
from faultkit.llm.usage import Usage, tokens_in

_ENDS: dict[str, End] = {
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicDialect:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(
                # A key is for the host that the user named, not for one that it points to.
                follow_redirects=False,
                trust_env=not is_loopback(endpoint.base_url),
            ),
        )

    async def close(self) -> None:
        await self._client.close()

    async def say(self, conversation: Conversation, timeout_s: float) -> Said:
        more: dict[str, Any] = {}
        if conversation.system_prompt:
            more["system"] = conversation.system_prompt
        if conversation.tools:
            more["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.info.description,
                    "input_schema": {"type": "object", **tool.info.input_schema},
                }
                for tool in conversation.tools
            ]
        try:
            with warnings.catch_warnings():
                # The library warns of models that will be switched off; the provider will say so itself.
                warnings.simplefilter("ignore", DeprecationWarning)
                raw = await self._client.messages.with_raw_response.create(
                    model=self._endpoint.model,
                    max_tokens=conversation.max_tokens,
                    messages=_messages(conversation),
                    timeout=anthropic.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
                    **more,
                )
        except anthropic.AnthropicError as error:
            raise failure_of(error, anthropic) from error
        return _said(body_of(raw.http_response.text), conversation)


def _messages(conversation: Conversation) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": conversation.prompt}]
    for round in conversation.rounds:
        messages.append({"role": "assistant", "content": round.said.raw})
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
    return messages


def _said(body: dict[str, Any], conversation: Conversation) -> Said:
    content = at(body, "content")
    if not isinstance(content, list):
        raise Failure("garbage", "no content in it")
    blocks = [block for block in content if isinstance(block, dict)]
    calls: list[ToolCall] = []
    echo: list[dict[str, Any]] = []
    for block in blocks:
        if text_at(block, "type") != "tool_use":
            echo.append(block)
            continue
        arguments, problem = arguments_in(at(block, "input"))
        id = text_at(block, "id") or f"call_{len(calls) + 1}"
        calls.append(ToolCall(id, text_at(block, "name"), arguments, problem))
        echo.append({**block, "id": id, "input": dict(arguments)})
    counts = [count_at(body, "usage", name) for name in _PROMPT_COUNTS]
    prompt = None if counts[0] is None else sum(count or 0 for count in counts)
    answer = count_at(body, "usage", "output_tokens")
    return Said(
        text="\n".join(text_at(block, "text") for block in blocks if text_at(block, "type") == "text"),
        calls=tuple(calls),
        usage=Usage(
            tokens_in(str(_messages(conversation))) if prompt is None else prompt,
            tokens_in(str(content)) if answer is None else answer,
            1,
        ),
        end=_ENDS.get(text_at(body, "stop_reason"), "done"),
        raw=echo,
    )
