"""Keep-alive only, on an LLM API: the answer stops, and only signs of life come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent, moved_to
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault, PositionedFilter

MOST_HELD_BYTES = 4 << 20
"""Length of the rest of an answer that is held for the end of the rule."""


@dataclass(frozen=True)
class LlmKeepAliveOnly(PositionedFault):
    kind: ClassVar[str] = "llm_keep_alive_only"
    summary: ClassVar[str] = "The answer stops, and only keep-alives come: comments, pings or blanks."

    every_ms: float = setting(1000.0, "Time between them.", unit="ms", minimum=10, maximum=86_400_000)
    limit_s: float = setting(
        600.0,
        "After this time the connection closes, so that nothing waits for ever.",
        unit="s",
        minimum=0,
        maximum=86_400,
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Idling(self, request, given))


class _Idling(PositionedFilter):
    def __init__(self, fault: LlmKeepAliveOnly, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._fault = fault
        self._held: list[LlmEvent] | None = []
        """The rest of the answer; None if it is too long to be held."""
        self._size = 0

    def feed(self, event: LlmEvent) -> Iterable[LlmEvent]:
        if not self.is_over:
            return super().feed(event)
        if self._held is not None:
            self._held.append(event)
            self._size += len(event.raw) if isinstance(event, Chunk) else 0
            if self._size > MOST_HELD_BYTES:
                self._held = None
        return ()

    def let_go(self, at: float) -> Iterable[LlmEvent]:
        return [moved_to(event, at) for event in self._held or ()]

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self._idle(chunk)

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return self._idle(chunk)

    def _idle(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note("keep_alive_only", None)
        framing = "whole" if chunk.is_whole else self.request.framing
        every_s = self._fault.every_ms / 1000
        times = int(self._fault.limit_s / every_s)
        alive = (self.dialect.keep_alive(chunk.at + every_s * n, framing) for n in range(1, times + 1))
        self.is_over = self.is_endless = True
        self.feed(chunk)
        # Made one by one, when they are due: there may be millions.
        return chain(alive, (End(chunk.at + self._fault.limit_s, "cut"),))
