"""Anthropic Messages: a stream of named events, in blocks of content.

docs.anthropic.com/en/api/messages-streaming: `message_start`, blocks of `content_block_start`, `…_delta` and
`…_stop`, then `message_delta` with the reason of the end, and `message_stop`; `ping` may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import Dialect, LlmRequest, Refusal, RefusalKind, Row, retry_after, rows
from faultkit.faults.dialects.frames import Framing, framed
from faultkit.faults.dialects.json_members import Pattern, find_members, pattern_of, write_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.openai_chat import tool_names
from faultkit.faults.dialects.turn import FinishReason, Turn, token_pieces

_ERRORS: dict[RefusalKind, tuple[int, str]] = {
    "rate_limit": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "quota_exhausted": (402, "billing_error"),
    "context_length": (400, "invalid_request_error"),
    "auth": (401, "authentication_error"),
    "content_filter": (400, "invalid_request_error"),
    "server_error": (500, "api_error"),
    "invalid_request": (400, "invalid_request_error"),
    "not_found": (404, "not_found_error"),
}


class AnthropicMessages(Dialect):
    """Anthropic Messages."""

    name: ClassVar[str] = "anthropic_messages"
    title: ClassVar[str] = "Anthropic Messages"
    type_member: ClassVar[str] = "type"
    index_members: ClassVar[tuple[str, ...]] = ("index",)
    keep_alive_frame: ClassVar[bytes | None] = framed("sse", b'{"type": "ping"}', "ping")
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]] = {
        "message_start": rows(
            ("start", "message.id"), ("model", "message.model"), ("usage", "message.usage")
        ),
        "content_block_start": rows(
            ("text", "content_block.text"),
            ("call_id", "content_block.id"),
            ("call_name", "content_block.name"),
        ),
        "content_block_delta": rows(("text", "delta.text"), ("arguments", "delta.partial_json")),
        "content_block_stop": rows(("block_end", "type")),
        "message_delta": rows(("finish", "delta.stop_reason"), ("usage", "usage")),
        "message_stop": rows(("end", "type")),
        "ping": rows(("keep_alive", "type")),
        "error": rows(("error", "error")),
    }
    whole_rows: ClassVar[tuple[Row, ...]] = rows(
        ("start", "id"),
        ("model", "model"),
        ("text", "content.*.text"),
        ("call_id", "content.*.id"),
        ("call_name", "content.*.name"),
        ("arguments", "content.*.input"),
        ("finish", "stop_reason"),
        ("usage", "usage"),
        ("error", "error"),
    )
    prompt_places: ClassVar[tuple[Pattern, ...]] = (
        pattern_of("messages.*.content"),
        pattern_of("messages.*.content.*.text"),
        pattern_of("system"),
        pattern_of("system.*.text"),
    )
    user_places: ClassVar[tuple[Pattern, ...]] = prompt_places[:2]
    finishes: ClassVar[Mapping[FinishReason, str]] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "refusal",
    }

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        if (
            not path.endswith("/messages")
            or not isinstance(body.get("messages"), list)
            or "model" not in body
        ):
            return None
        streamed = body.get("stream") is True
        return LlmRequest(
            self,
            path,
            body,
            model=str(body["model"]),
            tools=tool_names(body, "tools.*.name"),
            framing="sse" if streamed else "whole",
        )

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        kinds = find_members(body, pattern_of("messages.*.content.*.type"))
        return any(kind == "tool_result" for _, kind, _ in kinds)

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        before = body.get("system")
        if isinstance(before, list):
            return {**body, "system": [*before, {"type": "text", "text": text}]}
        return {**body, "system": f"{before}\n\n{text}" if before else text}

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        content: list[dict[str, Any]] = []
        if turn.text or not turn.calls:
            content.append({"type": "text", "text": turn.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
            for call in turn.calls
        ]
        usage = {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens}
        return {
            **_message(turn),
            "content": content,
            "stop_reason": self.finishes[turn.finish],
            "usage": usage,
        }

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        usage = {"input_tokens": turn.input_tokens, "output_tokens": 1}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**_message(turn), "usage": usage}},
        ]
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if turn.text or not turn.calls:
            deltas = [{"type": "text_delta", "text": piece} for piece in turn.pieces]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in turn.calls:
            pieces = ["", *token_pieces(call.arguments_text)]
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            blocks.append((block, [{"type": "input_json_delta", "partial_json": each} for each in pieces]))
        for index, (block, deltas) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            if index == 0:
                events.append({"type": "ping"})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        stop = {"stop_reason": self.finishes[turn.finish], "stop_sequence": None}
        events.append(
            {"type": "message_delta", "delta": stop, "usage": {"output_tokens": turn.output_tokens}}
        )
        events.append({"type": "message_stop"})
        return [framed("sse", write_json(event), event["type"]) for event in events]

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        status, type_ = _ERRORS[kind]
        headers = retry_after(retry_after_s)
        document = {
            "type": "error",
            "error": {"type": type_, "message": message},
            "request_id": "req_faultkit",
        }
        return Refusal(status, document, headers)

    def limit_headers(self, what: str, most: int, left: int, wait_s: float) -> Iterable[tuple[str, str]]:
        # Without `-reset`, which is a time of day: faults have no clock.
        names = f"anthropic-ratelimit-{what}"
        return [(f"{names}-limit", str(most)), (f"{names}-remaining", str(left))]

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        document = {**self.refusal(kind, message, model).document}
        del document["request_id"]
        return self.new_chunk(at, framing, document, "error")


def _message(turn: Turn) -> dict[str, Any]:
    return {
        "id": f"msg_{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
