"""Error event: the stream has begun with status 200, and then brings an error in the provider's own shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from faultkit.faults.dialects.dialect import LlmRequest, RefusalKind
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    INJECTED,
    LlmCircumstances,
    LlmVerdict,
    MidwayFault,
    PositionedFilter,
)

_KINDS = ("server_error", "overloaded", "rate_limit")


@dataclass(frozen=True)
class ErrorEvent(MidwayFault):
    kind: ClassVar[str] = "error_event"
    summary: ClassVar[str] = "In the middle of the stream comes an error of the provider, and then the end."
    streams_only: ClassVar[bool] = True

    error: Literal["server_error", "overloaded", "rate_limit"] = setting(
        "server_error", "Which error.", choices=_KINDS
    )
    message: str = setting("The server had an error", "Its message.")

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Failing(self, request, given))


class _Failing(PositionedFilter):
    def __init__(self, fault: ErrorEvent, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._fault = fault

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("error_event", None)
        kind, message = cast("RefusalKind", self._fault.error), f"{self._fault.message} {INJECTED}"
        error = self.dialect.error_chunk(chunk.at, self.request.framing, kind, message, self.request.model)
        return self.finish(error, End(chunk.at))
