"""Missing event name: one server-sent event lacks its `event:` line, which some clients go by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault, PositionedFilter

_NAME = re.compile(rb"(?:\A|(?<=[\r\n]))event:[^\r\n]*(?:\r\n|\n|\r)")


@dataclass(frozen=True)
class MissingEventName(PositionedFault):
    kind: ClassVar[str] = "missing_event_name"
    summary: ClassVar[str] = "One event lacks its name, in dialects whose events have one; its data stay."
    streams_only: ClassVar[bool] = True

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Unnaming(self, request, given))


class _Unnaming(PositionedFilter):
    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if not chunk.name:
            return (chunk,)
        self.given.note("missing_event_name", None)
        return (self.dialect.reread(chunk, _NAME.sub(b"", chunk.raw, count=1)),)
