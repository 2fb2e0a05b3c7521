"""OpenAI Responses: a stream of named events, of which the last ones repeat the whole answer.

platform.openai.com/docs/api-reference/responses-streaming: each document has its `type` and a
`sequence_number`; `response.completed`, `response.incomplete` or `response.failed` is the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import Dialect, LlmRequest, Refusal, RefusalKind, Row, rows
from faultkit.faults.dialects.frames import Framing, framed
from faultkit.faults.dialects.json_members import Pattern, pattern_of, write_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.openai_chat import openai_limit_headers, openai_refusal, tool_names
from faultkit.faults.dialects.turn import FinishReason, ToolCall, Turn, token_pieces

_ENDS = rows(
    ("model", "response.model"),
    ("text_copy", "response.output.*.content.*.text"),
    ("call_id", "response.output.*.call_id"),
    ("call_name", "response.output.*.name"),
    ("arguments_copy", "response.output.*.arguments"),
    ("finish", "response.status"),
    ("usage", "response.usage"),
    ("end", "type"),
)
_REASONS: dict[FinishReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}


class OpenAiResponses(Dialect):
    """OpenAI Responses."""

    name: ClassVar[str] = "openai_responses"
    title: ClassVar[str] = "OpenAI Responses"
    type_member: ClassVar[str] = "type"
    index_members: ClassVar[tuple[str, ...]] = ("output_index", "content_index")
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]] = {
        "response.created": rows(("start", "response.id"), ("model", "response.model")),
        "response.in_progress": rows(("model", "response.model")),
        "response.output_text.delta": rows(("text", "delta")),
        "response.output_text.done": rows(("text_copy", "text")),
        "response.content_part.done": rows(("text_copy", "part.text")),
        "response.output_item.added": rows(("call_id", "item.call_id"), ("call_name", "item.name")),
        "response.function_call_arguments.delta": rows(("arguments", "delta")),
        "response.function_call_arguments.done": rows(("arguments_copy", "arguments"), ("call_name", "name")),
        "response.output_item.done": rows(
            ("text_copy", "item.content.*.text"),
            ("call_id", "item.call_id"),
            ("call_name", "item.name"),
            ("arguments_copy", "item.arguments"),
        ),
        "response.completed": _ENDS,
        "response.incomplete": _ENDS,
        "response.failed": (*_ENDS, *rows(("error", "response.error"))),
        "error": rows(("error", "type")),
    }
    whole_rows: ClassVar[tuple[Row, ...]] = rows(
        ("start", "id"),
        ("model", "model"),
        ("text", "output.*.content.*.text"),
        ("call_id", "output.*.call_id"),
        ("call_name", "output.*.name"),
        ("arguments", "output.*.arguments"),
        ("finish", "status"),
        ("usage", "usage"),
        ("error", "error"),
    )
    prompt_places: ClassVar[tuple[Pattern, ...]] = (
        pattern_of("input"),
        pattern_of("input.*.content"),
        pattern_of("input.*.content.*.text"),
        pattern_of("instructions"),
    )
    user_places: ClassVar[tuple[Pattern, ...]] = prompt_places[:3]
    finishes: ClassVar[Mapping[FinishReason, str]] = {
        "stop": "completed",
        "length": "incomplete",
        "tool_calls": "completed",
        "content_filter": "incomplete",
    }

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        if not path.endswith("/responses") or not ("input" in body or "prompt" in body):
            return None
        streamed = body.get("stream") is True
        return LlmRequest(
            self,
            path,
            body,
            model=str(body.get("model") or ""),
            tools=tool_names(body, "tools.*.name"),
            framing="sse" if streamed else "whole",
        )

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        given = body.get("input")
        return isinstance(given, list) and any(
            isinstance(each, dict) and each.get("type") == "function_call_output" for each in given
        )

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        before = body.get("instructions")
        return {**body, "instructions": f"{before}\n\n{text}" if isinstance(before, str) and before else text}

    def with_finish(self, chunk: Chunk, reason: FinishReason) -> Chunk:
        finish = next((part for part in chunk.parts if part.kind == "finish"), None)
        if finish is None:
            return chunk
        own = self.finishes[reason]
        outer = finish.path[:-1]
        details = {"reason": _REASONS[reason]} if reason in _REASONS else None
        changes: dict[Any, Any] = {finish.path: own, (*outer, "incomplete_details"): details}
        if outer:
            changes["type",] = f"response.{own}"
        changed = self.with_changes(chunk, changes)
        if not chunk.name or not outer:
            return changed
        raw = changed.raw.replace(chunk.name.encode(), f"response.{own}".encode(), 1)
        return self.reread(changed, raw)

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        items = [_message(turn, turn.text, "completed")] if turn.text or not turn.calls else []
        items += [_call(turn, call, index, done=True) for index, call in enumerate(turn.calls)]
        return _response(turn, self.finishes[turn.finish], items)

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": _response(turn, "in_progress", [])},
            {"type": "response.in_progress", "response": _response(turn, "in_progress", [])},
        ]
        place = 0
        if turn.text or not turn.calls:
            events += _text_events(turn)
            place = 1
        for index, call in enumerate(turn.calls):
            events += _call_events(turn, call, index, place + index)
        status = self.finishes[turn.finish]
        events.append({"type": f"response.{status}", "response": self.whole_of(turn, request)})
        return [
            framed("sse", write_json({**event, "sequence_number": number}), event["type"])
            for number, event in enumerate(events)
        ]

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        return openai_refusal(kind, message, retry_after_s)

    def limit_headers(self, what: str, most: int, left: int, wait_s: float) -> Iterable[tuple[str, str]]:
        return openai_limit_headers(what, most, left, wait_s)

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        error = self.refusal(kind, message, model).document["error"]
        document = {
            "type": "error",
            "code": error["code"] or error["type"],
            "message": message,
            "param": error["param"],
            "sequence_number": 0,
        }
        return self.new_chunk(at, framing, document, "error")


def _response(turn: Turn, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    is_over = status != "in_progress"
    reason = _REASONS.get(turn.finish) if is_over else None
    return {
        "id": f"resp_{turn.id}",
        "object": "response",
        "created_at": turn.created_s,
        "status": status,
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "instructions": None,
        "metadata": {},
        "model": turn.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(turn) if is_over else None,
    }


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(turn: Turn, text: str | None, status: str) -> dict[str, Any]:
    content = [] if text is None else [_part(text)]
    item = {"id": f"msg_{turn.id}", "type": "message", "status": status, "role": "assistant"}
    return {**item, "content": content}


def _call(turn: Turn, call: ToolCall, index: int, *, done: bool) -> dict[str, Any]:
    return {
        "id": f"fc_{turn.id}{index}",
        "type": "function_call",
        "status": "completed" if done else "in_progress",
        "arguments": call.arguments_text if done else "",
        "call_id": call.id,
        "name": call.name,
    }


def _text_events(turn: Turn) -> list[dict[str, Any]]:
    at = {"item_id": f"msg_{turn.id}", "output_index": 0, "content_index": 0}
    added = {"type": "response.output_item.added", "output_index": 0}
    return [
        {**added, "item": _message(turn, None, "in_progress")},
        {"type": "response.content_part.added", **at, "part": _part("")},
        *(
            {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
            for piece in turn.pieces
        ),
        {"type": "response.output_text.done", **at, "text": turn.text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": _part(turn.text)},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": _message(turn, turn.text, "completed"),
        },
    ]


def _call_events(turn: Turn, call: ToolCall, index: int, place: int) -> list[dict[str, Any]]:
    at = {"item_id": f"fc_{turn.id}{index}", "output_index": place}
    kind = "response.function_call_arguments"
    return [
        {
            "type": "response.output_item.added",
            "output_index": place,
            "item": _call(turn, call, index, done=False),
        },
        *({"type": f"{kind}.delta", **at, "delta": piece} for piece in token_pieces(call.arguments_text)),
        {"type": f"{kind}.done", **at, "name": call.name, "arguments": call.arguments_text},
        {
            "type": "response.output_item.done",
            "output_index": place,
            "item": _call(turn, call, index, done=True),
        },
    ]
