"""Turns in OpenAI's format, which most providers and all local servers speak, by the `openai` package."""

from __future__ import annotations

from typing import Any

import openai

from faultkit.agents.kinds.endpoints import Endpoint
from faultkit.agents.kinds.tool_arguments import arguments_in
from faultkit.agents.kinds.turns import Conversation, End, OfferedTool, Said, ToolCall, ToolResult
from faultkit.llm.answers import CONNECT_S, at, body_of, count_at, failure_of, is_loopback, text_at
from faultkit.llm.failure import Failure
from faultkit.llm.headers import OURS
from faultkit.llm.usage import Usage, tokens_in

_ENDS: dict[str, End] = {"length": "cut", "content_filter": "refused"}
_KEPT = ("content", "reasoning_details")
"""What a provider wants back of its own message, besides the calls. Many reject what else they send."""
_NO_ARGUMENTS = {"type": "object", "properties": {}}


class OpenaiDialect:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        kept = {*OURS, "openai-organization"} if endpoint.organization else OURS

        async def keep(request: Any) -> None:
            for name in [name for name in request.headers if name.lower() not in kept]:
                del request.headers[name]

        hooks: dict[str, Any] = {} if endpoint.provider.name == "openai" else {"request": [keep]}
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key or "none",
            base_url=endpoint.base_url,
            organization=endpoint.organization or None,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                # A key is for the host that the user named, not for one that it points to.
                follow_redirects=False,
                trust_env=not is_loopback(endpoint.base_url),
                event_hooks=hooks,
            ),
        )

    async def close(self) -> None:
        await self._client.close()

    async def say(self, conversation: Conversation, timeout_s: float) -> Said:
        provider = self._endpoint.provider
        more: dict[str, Any] = {provider.limit_field: conversation.max_tokens}
        if provider.temperature is not None:
            more["temperature"] = provider.temperature
        if conversation.tools:
            more["tools"] = [_tool(tool) for tool in conversation.tools]
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._endpoint.model,
                messages=_messages(conversation),
                timeout=openai.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
                **more,
            )
        except openai.OpenAIError as error:
            raise failure_of(error, openai) from error
        return _said(body_of(raw.http_response.text), conversation)


def _tool(tool: OfferedTool) -> dict[str, Any]:
    schema = dict(tool.info.input_schema) or _NO_ARGUMENTS
    function = {"name": tool.name, "description": tool.info.description, "parameters": schema}
    return {"type": "function", "function": function}


def _messages(conversation: Conversation) -> list[Any]:
    messages: list[Any] = []
    if conversation.system_prompt:
        messages.append({"role": "system", "content": conversation.system_prompt})
    messages.append({"role": "user", "content": conversation.prompt})
    for round in conversation.rounds:
        messages.append(round.said.raw)
        messages += [_result(result) for result in round.results]
    return messages


def _result(result: ToolResult) -> dict[str, Any]:
    # This format has no place that says that a result is an error.
    text = f"Error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.call.id, "content": text}


def _said(body: dict[str, Any], conversation: Conversation) -> Said:
    message = at(body, "choices", 0, "message")
    if not isinstance(message, dict):
        raise Failure("garbage", "no choices in it")
    listed = message.get("tool_calls")
    wanted = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    calls = tuple(_call(call, number) for number, call in enumerate(wanted, 1))
    text, refusal = text_at(message, "content"), text_at(message, "refusal")
    prompt, answer = (count_at(body, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    end = _ENDS.get(text_at(body, "choices", 0, "finish_reason"), "done")
    return Said(
        text=refusal or text,
        calls=calls,
        usage=Usage(
            tokens_in(str(_messages(conversation))) if prompt is None else prompt,
            tokens_in(str(message)) if answer is None else answer,
            1,
        ),
        end="refused" if refusal else end,
        raw=_echo(message, wanted, calls),
    )


def _call(call: dict[str, Any], number: int) -> ToolCall:
    arguments, problem = arguments_in(at(call, "function", "arguments"))
    return ToolCall(
        text_at(call, "id") or f"call_{number}", text_at(call, "function", "name"), arguments, problem
    )


def _echo(message: dict[str, Any], wanted: list[dict[str, Any]], calls: tuple[ToolCall, ...]) -> Any:
    """The message as its provider takes it back: arguments that are no JSON would be rejected there."""
    echo: dict[str, Any] = {"role": "assistant"}
    echo |= {name: message[name] for name in _KEPT if message.get(name) is not None}
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
            for was, call in zip(wanted, calls, strict=True)
        ]
    return echo
