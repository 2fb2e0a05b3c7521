"""Tool call as text: the model writes its call into the text of the answer, where no client runs it.

An answer with calls is held until its end, and written anew without them. One without calls passes then, byte
for byte. Requests that offer no tools are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent, moved_to
from faultkit.faults.dialects.turn import token_pieces
from faultkit.faults.llm_answers import turn_of
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmFilter, LlmVerdict


@dataclass(frozen=True)
class ToolCallAsText(LlmFault):
    kind: ClassVar[str] = "tool_call_as_text"
    summary: ClassVar[str] = "Tool calls come as JSON in the text of the answer, instead of as calls."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Writing(request, given)) if request.tools else LlmVerdict()


class _Writing(LlmFilter):
    def __init__(self, request: LlmRequest, given: LlmCircumstances) -> None:
        self._request = request
        self._given = given
        self._held: list[LlmEvent] = []
        self._is_stream = False

    def head(self, head: Head) -> Iterable[LlmEvent]:
        self._is_stream = head.is_stream
        return (head,)

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if chunk.has("keep_alive"):
            return (chunk,)
        self._held.append(chunk)
        return ()

    def end(self, end: End) -> Iterable[LlmEvent]:
        chunks = [each for each in self._held if isinstance(each, Chunk)]
        turn = turn_of(chunks)
        if not turn.calls or end.how != "end":
            return [*(moved_to(chunk, end.at) for chunk in chunks), end]
        self._given.note("tool_call_as_text", float(len(turn.calls)))
        calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
        text = "".join(f"\n```json\n{write_json(call).decode()}\n```" for call in calls)
        pieces = (*turn.pieces, *token_pieces(text.lstrip() if not turn.text else text))
        written = replace(turn, pieces=pieces, calls=(), finish="stop")
        dialect, request = self._request.dialect, self._request
        if self._is_stream:
            units = dialect.stream_of(written, request)
            content_type = "text/event-stream" if request.framing == "sse" else ""
        else:
            units, content_type = [write_json(dialect.whole_of(written, request))], "application/json"
        reader = AnswerReader(request, 200, content_type)
        made = [chunk for unit in units for chunk in reader.feed(unit, end.at)]
        return [*made, *reader.end(end.at), end]
