"""A client of OpenAI's API, which Gemini, OpenRouter, Ollama and most local servers have as well.

The library's retries are off, because `chat.call_with_retries` repeats calls alike for every provider.
"""

from __future__ import annotations

import math
from typing import Any

import openai

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
from faultkit.llm.request_bodies import openai_messages, openai_tools

_ENDS: dict[str, CompletionEnd] = {"length": "cut", "content_filter": "refused"}
_RETURNED_MEMBERS = ("content", "reasoning_details")
"""Members of an assistant message, beside its calls, that are sent back. Many providers reject others."""
_KEPT_HEADERS = {
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "x-stainless-raw-response",  # The library reads it when the response arrives.
}
"""Headers sent to a provider other than OpenAI. The library adds others from environment variables that are
meant for OpenAI: an organization, a project, custom headers."""


class OpenaiChat:
    """A client of one endpoint with OpenAI's API."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint
        kept = {*_KEPT_HEADERS, "openai-organization"} if endpoint.organization else _KEPT_HEADERS

        async def drop_other_headers(request: Any) -> None:
            for name in [name for name in request.headers if name.lower() not in kept]:
                del request.headers[name]

        is_openai = endpoint.provider.name == "openai"
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",
            base_url=endpoint.base_url,
            organization=endpoint.organization or None,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                # A key is for the host that the user named, not for one that it redirects to.
                follow_redirects=False,
                trust_env=not is_on_this_machine(endpoint.base_url),
                event_hooks={} if is_openai else {"request": [drop_other_headers]},
            ),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(
        self, conversation: Conversation, timeout_s: float, answer: AnswerFormat | None = None
    ) -> Completion:
        """Send one chat request. Raises ProviderFailure."""
        provider = self._endpoint.provider
        more: dict[str, Any] = {provider.limit_field: conversation.max_tokens}
        if provider.temperature is not None:
            more["temperature"] = provider.temperature
        if conversation.tools:
            more["tools"] = openai_tools(conversation)
        if answer is not None and answer.kind == "schema":
            named = {"name": "answer", "schema": answer.schema, "strict": False}
            more["response_format"] = {"type": "json_schema", "json_schema": named}
        elif answer is not None and answer.kind == "object":
            more["response_format"] = {"type": "json_object"}
        messages = openai_messages(conversation)
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._endpoint.model,
                messages=messages,
                timeout=openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
                **more,
            )
        except openai.OpenAIError as error:
            raise failure_of(error, openai) from error
        return _completion(body_of(raw.http_response.text), messages)

    async def embed(self, model: str, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        """Send one embeddings request. Raises ProviderFailure."""
        more: dict[str, Any] = {} if dim is None else {"dimensions": dim}
        timeout = openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        try:
            raw = await self._client.embeddings.with_raw_response.create(
                model=model, input=texts, encoding_format="float", timeout=timeout, **more
            )
        except openai.OpenAIError as error:
            raise failure_of(error, openai) from error
        body = body_of(raw.http_response.text)
        used = count_at(body, "usage", "prompt_tokens")
        return Vectors(
            _vectors(body, len(texts)), Usage(sum(map(tokens_in, texts)) if used is None else used, 0, 1)
        )


def _completion(body: dict[str, Any], sent: list[Any]) -> Completion:
    message = value_at(body, "choices", 0, "message")
    if not isinstance(message, dict):
        raise ProviderFailure("garbage", "no choices in it")
    listed = message.get("tool_calls")
    requested = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    calls = tuple(_call(call, number) for number, call in enumerate(requested, 1))
    text, refusal = text_at(message, "content"), text_at(message, "refusal")
    prompt, answer = (count_at(body, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    end = _ENDS.get(text_at(body, "choices", 0, "finish_reason"), "done")
    return Completion(
        text=refusal or text,
        calls=calls,
        usage=Usage(
            tokens_in(str(sent)) if prompt is None else prompt,
            tokens_in(str(message)) if answer is None else answer,
            1,
        ),
        end="refused" if refusal else end,
        raw=_returned_message(message, requested, calls),
        model=text_at(body, "model"),
    )


def _call(call: dict[str, Any], number: int) -> ToolCall:
    arguments, problem = arguments_in(value_at(call, "function", "arguments"))
    return ToolCall(
        text_at(call, "id") or f"call_{number}", text_at(call, "function", "name"), arguments, problem
    )


def _returned_message(
    message: dict[str, Any], requested: list[dict[str, Any]], calls: tuple[ToolCall, ...]
) -> Any:
    """Return the message as its provider accepts it back: without arguments that are no JSON."""
    echo: dict[str, Any] = {"role": "assistant"}
    echo |= {name: message[name] for name in _RETURNED_MEMBERS if message.get(name) is not None}
    if calls:
        echo["tool_calls"] = [
            {
                **was,
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": "{}" if call.problem else text_at(was, "function", "arguments") or "{}",
                },
            }
            for was, call in zip(requested, calls, strict=True)
        ]
    return echo


def _vectors(body: dict[str, Any], count: int) -> list[list[float]]:
    rows = value_at(body, "data")
    if not isinstance(rows, list) or len(rows) != count:
        raise ProviderFailure("garbage", f"expected {count} vectors")
    vectors: dict[int, list[float]] = {}
    for position, row in enumerate(rows):
        index, vector = count_at(row, "index"), value_at(row, "embedding")
        numbers = isinstance(vector, list) and all(
            isinstance(number, (int, float)) and math.isfinite(number) for number in vector
        )
        if not numbers or not vector:
            raise ProviderFailure("garbage", f"vector {position} has other values than numbers")
        vectors[position if index is None else index] = [float(number) for number in vector]
    if sorted(vectors) != list(range(count)):
        raise ProviderFailure("garbage", "vectors whose indexes do not count from 0")
    return [vectors[position] for position in range(count)]
