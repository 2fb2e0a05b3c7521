"""Answers of each dialect, a unit a second, through a fault."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from faultkit.base.rng import Rng
from faultkit.faults.dialects.dialect import CONTENT_TYPES, AnswerReader, LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent
from faultkit.faults.dialects.turn import ToolCall, Turn
from faultkit.faults.llm_answers import turn_of
from faultkit.faults.llm_fault import LlmChain, LlmCircumstances, LlmFault
from tests.faults.dialects.test_turns import request

PIECES = ("One", " two", " three", " four")
CALLS = (ToolCall("search", {"city": "Oslo", "days": 2}, "call_1"), ToolCall("book", {"id": 7}, "call_2"))
TOOLS: dict[str, Any] = {
    "openai_chat": [{"type": "function", "function": {"name": "search"}}],
    "openai_responses": [{"type": "function", "name": "search"}],
    "anthropic_messages": [{"name": "search"}],
    "gemini": [{"functionDeclarations": [{"name": "search"}]}],
    "ollama": [{"type": "function", "function": {"name": "search"}}],
}


@dataclass
class Seen:
    """What came out."""

    request: LlmRequest
    events: list[LlmEvent]
    notes: list[tuple[str, float | None]] = field(default_factory=list)

    @property
    def head(self) -> Head:
        (head,) = (event for event in self.events if isinstance(event, Head))
        return head

    @property
    def end(self) -> End:
        assert isinstance(self.events[-1], End)
        return self.events[-1]

    @property
    def chunks(self) -> list[Chunk]:
        return [event for event in self.events if isinstance(event, Chunk)]

    @property
    def raw(self) -> bytes:
        return b"".join(chunk.raw for chunk in self.chunks)

    @property
    def read(self) -> list[Chunk]:
        """The chunks as a client reads them from the bytes."""
        kind = dict(self.head.headers).get("content-type", "")
        reader = AnswerReader(self.request, self.head.status, kind)
        return reader.feed(self.raw, 0.0) + reader.end(0.0)

    @property
    def text(self) -> str:
        return turn_of(self.read).text

    @property
    def copies(self) -> set[str]:
        return {value for chunk in self.read for value in chunk.values("text_copy")}

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Id, name and arguments of each call."""
        found: dict[str, dict[str, str]] = {}
        for chunk in self.read:
            for part in chunk.parts:
                call = (
                    found.setdefault(part.channel, {}) if "call_" in part.kind or "arg" in part.kind else {}
                )
                if part.kind == "arguments":
                    text = part.value if isinstance(part.value, str) else json.dumps(part.value)
                    call["arguments"] = call.get("arguments", "") + text
                elif part.kind in ("call_id", "call_name"):
                    call[part.kind] = part.value
        return [
            (call.get("call_id", ""), call["call_name"], call.get("arguments", ""))
            for call in found.values()
            if "call_name" in call
        ]

    @property
    def finish(self) -> str | None:
        found = [value for chunk in self.read for value in chunk.values("finish")]
        return found[-1] if found else None

    @property
    def times(self) -> list[float]:
        return [chunk.at for chunk in self.chunks]


def asked(name: str, *, streamed: bool = True, tools: bool = False, **more: Any) -> LlmRequest:
    return request(name, streamed=streamed, **({"tools": TOOLS[name]} if tools else {}), **more)


def answer_to(
    asked: LlmRequest, pieces: tuple[str, ...] = PIECES, calls: tuple[ToolCall, ...] = ()
) -> list[LlmEvent]:
    """Return an answer whose head comes at 0 and whose units come a second apart; a whole one comes at 1."""
    turn = Turn("m", "1", pieces, calls, "tool_calls" if calls else "stop", 3)
    dialect = asked.dialect
    if asked.is_streamed:
        units = dialect.stream_of(turn, asked)
    else:
        units = [json.dumps(dialect.whole_of(turn, asked)).encode()]
    head = Head(0.0, 200, (("content-type", CONTENT_TYPES[asked.framing]),), asked.is_streamed)
    reader = AnswerReader(asked, 200, CONTENT_TYPES[asked.framing])
    events: list[LlmEvent] = [head]
    for at, unit in enumerate(units, 1):
        events += reader.feed(unit, float(at))
    return [*events, *reader.end(float(len(units))), End(float(len(units)))]


def through(
    fault: LlmFault,
    asked: LlmRequest,
    pieces: tuple[str, ...] = PIECES,
    calls: tuple[ToolCall, ...] = (),
    *,
    seed: int = 0,
    at: float = 0.0,
    memory: dict[str, Any] | None = None,
) -> Seen:
    """Return what a client gets."""
    notes: list[tuple[str, float | None]] = []
    given = LlmCircumstances(
        at,
        Rng.keyed(seed),
        {} if memory is None else memory,
        lambda effect, amount: notes.append((effect, amount)),
    )
    verdict = fault.judge(asked, given)
    chain = LlmChain([verdict.filter] if verdict.filter else [], is_array=asked.framing == "array")
    events = verdict.answer or answer_to(asked, pieces, calls)
    return Seen(asked, [out for event in events for out in chain.feed(event)], notes)


def judged(fault: LlmFault, asked: LlmRequest) -> Any:
    """Return the document that the model gets; None if it is the client's."""
    return fault.judge(asked, LlmCircumstances(0.0, Rng.keyed(0), {}, lambda effect, amount: None)).body
