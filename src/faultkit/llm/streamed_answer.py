"""The answer of a model, read event by event by a careful client: a completion, or why there is none.

A careful client takes an answer for whole only if it said why it ended, and an event that is no JSON for a
failure. Pure: bytes come in, by whatever way they were sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, Part
from faultkit.faults.llm_fault import text_of
from faultkit.llm.conversation import Completion, CompletionEnd, ToolCall, Usage, tokens_in
from faultkit.llm.failure import ProviderFailure, after_s, arguments_in, body_of, detail_of, status_failure

_ENDS: dict[str, CompletionEnd] = {"length": "cut", "content_filter": "refused"}


@dataclass(slots=True)
class _CallParts:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class StreamedAnswer:
    """An answer that arrives: `begin`, `feed` for its bytes until `is_over`, and `completion` at its end."""

    request: LlmRequest
    is_over: bool = False
    """True once the provider has said its last word; what follows is not read."""
    _reader: AnswerReader | None = None
    _status: int = 200
    _headers: dict[str, str] = field(default_factory=dict)
    _body: bytearray = field(default_factory=bytearray)
    _text: list[str] = field(default_factory=list)
    _calls: dict[str, _CallParts] = field(default_factory=dict)
    _finish: str = ""
    _model: str = ""
    _failure: ProviderFailure | None = None

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Take the status and the headers."""
        self._status = status
        self._headers = {name.lower(): value for name, value in headers}
        self._reader = AnswerReader(self.request, status, self._headers.get("content-type", ""))

    def feed(self, data: bytes) -> None:
        """Take bytes of the body."""
        assert self._reader is not None
        if self._status >= 400:
            self._body += data
            return
        for chunk in self._reader.feed(data, 0.0):
            self._take(chunk)

    def completion(self, how: str = "end") -> Completion:
        """Return the answer. Raises ProviderFailure. `how`: as `End.how`."""
        if self._reader is None:
            raise ProviderFailure("connection", "the connection was closed before the answer")
        if self._status >= 400:
            raise status_failure(self._status, _detail(bytes(self._body)), after_s(self._headers))
        if how == "end" and not self.is_over:
            for chunk in self._reader.end(0.0):
                self._take(chunk)
        if self._failure is not None:
            raise self._failure
        if how != "end":
            raise ProviderFailure("connection", "the connection was closed in the middle of the answer")
        if not self._finish and not self.is_over:
            raise ProviderFailure("connection", "the answer ended in its middle")
        calls = tuple(_call(parts, number) for number, parts in enumerate(self._calls.values(), 1))
        text = "".join(self._text)
        written = sum(tokens_in(parts.arguments) for parts in self._calls.values()) + tokens_in(text)
        # Where a dialect has one word for several reasons, the first one is meant: an end as usual.
        finishes = {own: reason for reason, own in reversed([*self.request.dialect.finishes.items()])}
        return Completion(
            text,
            calls,
            Usage(tokens_in(json.dumps(self.request.body, default=str)), written, 1),
            _ENDS.get(finishes.get(self._finish, ""), "done"),
            _returned(self.request.dialect.name, text, calls),
            self._model,
        )

    def _take(self, chunk: Chunk) -> None:
        if self.is_over or self._failure is not None:
            return
        if chunk.payload and not chunk.parts and _is_broken(chunk.payload):
            self._failure = ProviderFailure("garbage", "an event of the answer is no JSON")
        for part in chunk.parts:
            self._take_part(part)

    def _take_part(self, part: Part) -> None:
        if part.kind == "text" and part.value:
            self._text.append(text_of(part))
        elif part.kind == "model":
            self._model = str(part.value)
        elif part.kind == "finish" and part.value:
            self._finish = str(part.value)
        elif part.kind == "end":
            self.is_over = True
        elif part.kind == "error" and part.value:
            self._failure = ProviderFailure("server", detail_of(part.value))
        elif part.kind in ("call_id", "call_name", "arguments"):
            call = self._calls.setdefault(part.channel, _CallParts())
            if part.kind == "arguments":
                call.arguments += text_of(part)
            elif part.kind == "call_id":
                call.id = text_of(part)
            else:
                call.name = text_of(part)


def _is_broken(payload: bytes) -> bool:
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return True
    return False


def _detail(body: bytes) -> str:
    try:
        return detail_of(body_of(body.decode("utf-8", "replace")))
    except ProviderFailure as failure:
        return failure.detail


def _call(parts: _CallParts, number: int) -> ToolCall:
    arguments, problem = arguments_in(parts.arguments)
    return ToolCall(parts.id or f"call_{number}", parts.name, arguments, problem)


def _returned(dialect: str, text: str, calls: tuple[ToolCall, ...]) -> Any:
    """Return the message as its provider accepts it back in the next request."""
    if dialect == "anthropic_messages":
        blocks: list[Any] = [{"type": "text", "text": text}] if text.strip() else []
        return blocks + [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
            for call in calls
        ]
    echo: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        echo["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in calls
        ]
    return echo
