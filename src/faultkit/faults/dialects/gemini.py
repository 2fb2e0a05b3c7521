"""Gemini `generateContent` and `streamGenerateContent`, of the Gemini API and of Vertex AI.

ai.google.dev/api/generate-content: a stream has the same documents as a whole answer, as server-sent events
with `alt=sse`, or else as the elements of one JSON array. It has no event for its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote

from faultkit.faults.dialects.dialect import Dialect, LlmRequest, Refusal, RefusalKind, Row, retry_after, rows
from faultkit.faults.dialects.frames import Framing, framed
from faultkit.faults.dialects.json_members import Pattern, find_members, pattern_of, write_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.openai_chat import tool_names
from faultkit.faults.dialects.turn import FinishReason, Turn

_PATH = re.compile(r"/(?:models|tunedModels|endpoints)/([^/:]+):(generateContent|streamGenerateContent)\Z")
_ERRORS: dict[RefusalKind, tuple[int, str]] = {
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "quota_exhausted": (429, "RESOURCE_EXHAUSTED"),
    "context_length": (400, "INVALID_ARGUMENT"),
    "auth": (400, "INVALID_ARGUMENT"),
    "content_filter": (400, "INVALID_ARGUMENT"),
    "server_error": (500, "INTERNAL"),
    "invalid_request": (400, "INVALID_ARGUMENT"),
    "not_found": (404, "NOT_FOUND"),
}
_REASONS: dict[RefusalKind, str] = {"auth": "API_KEY_INVALID"}
_RPC = "type.googleapis.com/google.rpc."
_ROWS = rows(
    ("start", "responseId"),
    ("model", "modelVersion"),
    ("text", "candidates.*.content.parts.*.text", "thought"),
    ("call_id", "candidates.*.content.parts.*.functionCall.id"),
    ("call_name", "candidates.*.content.parts.*.functionCall.name"),
    ("arguments", "candidates.*.content.parts.*.functionCall.args"),
    ("finish", "candidates.*.finishReason"),
    ("usage", "usageMetadata"),
    ("error", "error"),
)


class Gemini(Dialect):
    """Gemini generateContent."""

    name: ClassVar[str] = "gemini"
    title: ClassVar[str] = "Gemini generateContent"
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]] = {"": _ROWS}
    whole_rows: ClassVar[tuple[Row, ...]] = _ROWS
    prompt_places: ClassVar[tuple[Pattern, ...]] = (
        pattern_of("contents.*.parts.*.text"),
        pattern_of("systemInstruction.parts.*.text"),
        pattern_of("system_instruction.parts.*.text"),
    )
    user_places: ClassVar[tuple[Pattern, ...]] = prompt_places[:1]
    finishes: ClassVar[Mapping[FinishReason, str]] = {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "tool_calls": "STOP",
        "content_filter": "SAFETY",
    }

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        found = _PATH.search(path)
        if found is None or not isinstance(body.get("contents"), list | dict):
            return None
        streamed = found[2] == "streamGenerateContent"
        framing: Framing = "whole"
        if streamed:
            framing = "sse" if parse_qs(query).get("alt", [""])[-1] == "sse" else "array"
        places = ("tools.*.functionDeclarations.*.name", "tools.*.function_declarations.*.name")
        return LlmRequest(
            self,
            path,
            body,
            model=unquote(found[1]),
            tools=tool_names(body, *places),
            framing=framing,
        )

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        places = ("contents.*.parts.*.functionResponse", "contents.*.parts.*.function_response")
        return any(True for place in places for _ in find_members(body, pattern_of(place)))

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        key = "system_instruction" if "system_instruction" in body else "systemInstruction"
        before = body.get(key)
        parts = before.get("parts", []) if isinstance(before, dict) else []
        kept = dict(before) if isinstance(before, dict) else {}
        return {**body, key: {**kept, "parts": [*parts, {"text": text}]}}

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text or not turn.calls else []
        parts += _call_parts(turn)
        return self._document(turn, parts, is_last=True)

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        groups: list[list[dict[str, Any]]] = [[{"text": piece}] for piece in turn.pieces]
        if turn.calls:
            groups.append(_call_parts(turn))
        if not groups:
            groups.append([{"text": ""}])
        payloads = [
            write_json(self._document(turn, parts, is_last=number == len(groups)))
            for number, parts in enumerate(groups, 1)
        ]
        if request.framing == "sse":
            return [framed("sse", payload) for payload in payloads]
        return [(b"," if number else b"[") + payload for number, payload in enumerate(payloads)] + [b"]"]

    def _document(self, turn: Turn, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}}
        if is_last:
            candidate["finishReason"] = self.finishes[turn.finish]
        candidate["index"] = 0
        given, made = turn.input_tokens, turn.output_tokens
        usage: dict[str, int] = {"promptTokenCount": given}
        if is_last:
            usage |= {"candidatesTokenCount": made, "totalTokenCount": given + made}
        else:
            usage["totalTokenCount"] = given
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": turn.model,
            "responseId": turn.id,
        }

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        status, name = _ERRORS[kind]
        details: list[dict[str, Any]] = []
        if kind in _REASONS:
            info = {"reason": _REASONS[kind], "domain": "googleapis.com"}
            details.append({"@type": f"{_RPC}ErrorInfo", **info})
        if retry_after_s is not None:
            details.append({"@type": f"{_RPC}RetryInfo", "retryDelay": f"{retry_after_s:g}s"})
        error: dict[str, Any] = {"code": status, "message": message, "status": name}
        if details:
            error["details"] = details
        headers = retry_after(retry_after_s)
        return Refusal(status, {"error": error}, headers)

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        return self.new_chunk(at, framing, self.refusal(kind, message, model).document)


def _call_parts(turn: Turn) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in turn.calls]
