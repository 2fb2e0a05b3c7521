"""OpenAI Chat Completions, and the many servers that are compatible with it: OpenRouter, Azure, vLLM …

platform.openai.com/docs/api-reference/chat: a stream has documents of type `chat.completion.chunk`, and ends
with `[DONE]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import Dialect, LlmRequest, Refusal, RefusalKind, Row, retry_after, rows
from faultkit.faults.dialects.frames import Framing, framed
from faultkit.faults.dialects.json_members import Pattern, find_members, pattern_of, write_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.turn import FinishReason, Turn, token_pieces

_AZURE = re.compile(r"/deployments/([^/]+)/chat/completions\Z")

ERRORS: dict[RefusalKind, tuple[int, str, str | None, str | None]] = {
    "rate_limit": (429, "requests", None, "rate_limit_exceeded"),
    "overloaded": (503, "server_error", None, "server_overloaded"),
    "quota_exhausted": (429, "insufficient_quota", None, "insufficient_quota"),
    "context_length": (400, "invalid_request_error", "messages", "context_length_exceeded"),
    "auth": (401, "invalid_request_error", None, "invalid_api_key"),
    "content_filter": (400, "invalid_request_error", "messages", "content_filter"),
    "server_error": (500, "server_error", None, None),
    "invalid_request": (400, "invalid_request_error", None, None),
    "not_found": (404, "invalid_request_error", None, None),
}
"""Status, type, parameter and code of each refusal of OpenAI."""


def openai_refusal(kind: RefusalKind, message: str, retry_after_s: float | None) -> Refusal:
    """Return an error of OpenAI's APIs."""
    status, type_, parameter, code = ERRORS[kind]
    error = {"message": message, "type": type_, "param": parameter, "code": code}
    headers = retry_after(retry_after_s)
    if retry_after_s is not None:
        headers += (("retry-after-ms", str(math.ceil(retry_after_s * 1000))),)
    return Refusal(status, {"error": error}, headers)


def openai_limit_headers(what: str, most: int, left: int, wait_s: float) -> list[tuple[str, str]]:
    """Return the headers of OpenAI's APIs that say how much of a limit is left."""
    return [
        (f"x-ratelimit-limit-{what}", str(most)),
        (f"x-ratelimit-remaining-{what}", str(left)),
        (f"x-ratelimit-reset-{what}", f"{wait_s:g}s"),
    ]


def tool_names(body: Mapping[str, Any], *places: str) -> tuple[str, ...]:
    """Return the names of the tools that a request offers."""
    found = (value for place in places for _, value, _ in find_members(body, pattern_of(place)))
    return tuple(value for value in found if isinstance(value, str))


class OpenAiChat(Dialect):
    """OpenAI Chat Completions."""

    name: ClassVar[str] = "openai_chat"
    title: ClassVar[str] = "OpenAI Chat Completions"
    done: ClassVar[bytes] = b"[DONE]"
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]] = {
        "": rows(
            ("start", "choices.*.delta.role"),
            ("model", "model"),
            ("text", "choices.*.delta.content"),
            ("call_id", "choices.*.delta.tool_calls.*.id"),
            ("call_name", "choices.*.delta.tool_calls.*.function.name"),
            ("arguments", "choices.*.delta.tool_calls.*.function.arguments"),
            ("finish", "choices.*.finish_reason"),
            ("usage", "usage"),
            ("error", "error"),
        )
    }
    whole_rows: ClassVar[tuple[Row, ...]] = rows(
        ("start", "id"),
        ("model", "model"),
        ("text", "choices.*.message.content"),
        ("call_id", "choices.*.message.tool_calls.*.id"),
        ("call_name", "choices.*.message.tool_calls.*.function.name"),
        ("arguments", "choices.*.message.tool_calls.*.function.arguments"),
        ("finish", "choices.*.finish_reason"),
        ("usage", "usage"),
        ("error", "error"),
    )
    prompt_places: ClassVar[tuple[Pattern, ...]] = (
        pattern_of("messages.*.content"),
        pattern_of("messages.*.content.*.text"),
    )
    user_places: ClassVar[tuple[Pattern, ...]] = prompt_places
    finishes: ClassVar[Mapping[FinishReason, str]] = {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "content_filter": "content_filter",
    }

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        if not path.endswith("/chat/completions") or not isinstance(body.get("messages"), list):
            return None
        azure = _AZURE.search(path)
        streamed = body.get("stream") is True
        return LlmRequest(
            self,
            path,
            body,
            model=str(body.get("model") or (azure[1] if azure else "")),
            tools=tool_names(body, "tools.*.function.name", "functions.*.name"),
            framing="sse" if streamed else "whole",
        )

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        return any(role == "tool" for _, role, _ in find_members(body, pattern_of("messages.*.role")))

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        return {**body, "messages": [*body.get("messages", ()), {"role": "system", "content": text}]}

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None, "refusal": None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments_text},
                }
                for call in turn.calls
            ]
        else:
            message["content"] = turn.text
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self.finishes[turn.finish],
        }
        return {**_frame(turn, "chat.completion"), "choices": [choice], "usage": _usage(turn)}

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in turn.pieces]
        for index, call in enumerate(turn.calls):
            opened = {"index": index, "id": call.id, "type": "function"}
            deltas.append({"tool_calls": [{**opened, "function": {"name": call.name, "arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in token_pieces(call.arguments_text)
            ]
        frame = _frame(turn, "chat.completion.chunk")
        documents = [
            {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        last = {"index": 0, "delta": {}, "finish_reason": self.finishes[turn.finish]}
        documents.append({**frame, "choices": [last]})
        options = request.body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage"):
            documents.append({**frame, "choices": [], "usage": _usage(turn)})
        return [framed("sse", write_json(document)) for document in documents] + [framed("sse", self.done)]

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        return openai_refusal(kind, message, retry_after_s)

    def limit_headers(self, what: str, most: int, left: int, wait_s: float) -> Iterable[tuple[str, str]]:
        return openai_limit_headers(what, most, left, wait_s)

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        return self.new_chunk(at, framing, self.refusal(kind, message, model).document)


def _frame(turn: Turn, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{turn.id}", "object": kind, "created": turn.created_s, "model": turn.model}


def _usage(turn: Turn) -> dict[str, int]:
    given, made = turn.input_tokens, turn.output_tokens
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
