"""What faults do to whole answers, and to the calls and texts of any answer. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from faultkit.faults.dialects.json_members import parse_json
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.turn import ToolCall, Turn, first_tokens
from faultkit.faults.llm_fault import text_of


def cut_whole(chunk: Chunk, after_tokens: int) -> Chunk:
    """Return the beginning of a whole answer: up to a token of its text, or its first half."""
    size = len(chunk.raw) // 2
    text = next((part.value for part in chunk.parts if part.kind == "text" and part.value), None)
    if isinstance(text, str):
        for ascii_only in (False, True):
            begun = json.dumps(first_tokens(text, after_tokens), ensure_ascii=ascii_only)[1:-1]
            whole = json.dumps(text, ensure_ascii=ascii_only).encode("utf-8", "replace")
            place = chunk.raw.find(whole)
            if place >= 0:
                size = place + 1 + len(begun.encode("utf-8", "replace"))
                break
    return Chunk(chunk.at, chunk.raw[:size], is_whole=True)


def turn_of(chunks: Iterable[Chunk]) -> Turn:
    """Return what an answer has said: its text, in its pieces, its calls and its model."""
    model = answer_id = ""
    pieces: list[str] = []
    calls: dict[str, dict[str, str]] = {}
    for chunk in chunks:
        for part in chunk.parts:
            if part.kind == "model":
                model = str(part.value)
            elif part.kind == "start":
                answer_id = answer_id or str(part.value)
            elif part.kind == "text" and part.value:
                pieces.append(str(part.value))
            elif part.kind in ("call_id", "call_name", "arguments"):
                call = calls.setdefault(part.channel, {})
                before = call.get(part.kind, "") if part.kind == "arguments" else ""
                call[part.kind] = before + text_of(part)
    made = tuple(
        ToolCall(call["call_name"], _arguments(call.get("arguments", "")), call.get("call_id", ""))
        for call in calls.values()
        if "call_name" in call
    )
    return Turn(model, answer_id.rpartition("-")[2].rpartition("_")[2], tuple(pieces), made)


def _arguments(text: str) -> dict[str, Any]:
    found = parse_json(text.encode("utf-8", "replace"))
    return found if isinstance(found, dict) else {}
