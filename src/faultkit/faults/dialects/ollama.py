"""Ollama's own API: `/api/chat` and `/api/generate`, whose streams are lines of JSON.

github.com/ollama/ollama/blob/main/docs/api.md: both stream unless the request says `"stream": false`. The
last line has `"done": true`, the reason and the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import Dialect, LlmRequest, Refusal, RefusalKind, Row, retry_after, rows
from faultkit.faults.dialects.frames import Framing, framed
from faultkit.faults.dialects.json_members import Pattern, find_members, pattern_of, write_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.openai_chat import tool_names
from faultkit.faults.dialects.turn import FinishReason, Turn

_STATUSES: dict[RefusalKind, int] = {
    "rate_limit": 429,
    "overloaded": 503,
    "quota_exhausted": 429,
    "context_length": 400,
    "auth": 401,
    "content_filter": 400,
    "server_error": 500,
    "invalid_request": 400,
    "not_found": 404,
}
_ROWS = rows(
    ("start", "created_at"),
    ("model", "model"),
    ("text", "message.content"),
    ("text", "response"),
    ("call_name", "message.tool_calls.*.function.name"),
    ("arguments", "message.tool_calls.*.function.arguments"),
    ("finish", "done_reason"),
    ("usage", "prompt_eval_count"),
    ("usage", "eval_count"),
    ("end", "done"),
    ("error", "error"),
)


class Ollama(Dialect):
    """Ollama chat and generate."""

    name: ClassVar[str] = "ollama"
    title: ClassVar[str] = "Ollama"
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]] = {"": _ROWS}
    whole_rows: ClassVar[tuple[Row, ...]] = _ROWS
    prompt_places: ClassVar[tuple[Pattern, ...]] = (
        pattern_of("messages.*.content"),
        pattern_of("prompt"),
        pattern_of("system"),
    )
    user_places: ClassVar[tuple[Pattern, ...]] = prompt_places[:2]
    finishes: ClassVar[Mapping[FinishReason, str]] = {
        "stop": "stop",
        "length": "length",
        "tool_calls": "stop",
        "content_filter": "stop",
    }

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        if not path.endswith(("/api/chat", "/api/generate")) or "model" not in body:
            return None
        streamed = body.get("stream") is not False
        return LlmRequest(
            self,
            path,
            body,
            model=str(body["model"]),
            tools=tool_names(body, "tools.*.function.name"),
            framing="lines" if streamed else "whole",
        )

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        return any(role == "tool" for _, role, _ in find_members(body, pattern_of("messages.*.role")))

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        if isinstance(body.get("messages"), list):
            return {**body, "messages": [*body["messages"], {"role": "system", "content": text}]}
        before = body.get("system")
        return {**body, "system": f"{before}\n\n{text}" if before else text}

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        return {**_line(turn, request, turn.text, with_calls=True), **self._last(turn)}

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        documents = [{**_line(turn, request, piece), "done": False} for piece in turn.pieces]
        if turn.calls:
            documents.append({**_line(turn, request, "", with_calls=True), "done": False})
        documents.append({**_line(turn, request, ""), **self._last(turn)})
        return [framed("lines", write_json(document)) for document in documents]

    def _last(self, turn: Turn) -> dict[str, Any]:
        return {
            "done_reason": self.finishes[turn.finish],
            "done": True,
            "total_duration": 0,
            "load_duration": 0,
            "prompt_eval_count": turn.input_tokens,
            "prompt_eval_duration": 0,
            "eval_count": turn.output_tokens,
            "eval_duration": 0,
        }

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        headers = retry_after(retry_after_s)
        return Refusal(_STATUSES[kind], {"error": message}, headers)

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        return self.new_chunk(at, framing, self.refusal(kind, message, model).document)


def _line(turn: Turn, request: LlmRequest, text: str, *, with_calls: bool = False) -> dict[str, Any]:
    line: dict[str, Any] = {"model": turn.model, "created_at": turn.created_at}
    if request.path.endswith("/api/generate"):
        return {**line, "response": text}
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if with_calls and turn.calls:
        message["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in turn.calls
        ]
    return {**line, "message": message}
