"""Token rate: the answer comes at so many tokens a second, with or without jitter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent, moved_to
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmFault,
    LlmFilter,
    LlmVerdict,
    is_delta,
    tokens_of,
)


@dataclass(frozen=True)
class TokenRate(LlmFault):
    kind: ClassVar[str] = "token_rate"
    summary: ClassVar[str] = "Tokens come at most at a rate; a whole answer comes when its last token would."

    tokens_per_s: float = setting(
        5.0, "Tokens a second.", above=0, maximum=1_000_000, flag="tokens-per-second"
    )
    jitter: float = setting(0.0, "Largest deviation of a gap, as a share of it.", minimum=0, maximum=1)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=_Paced(self, given))


class _Paced(LlmFilter):
    """Each event with content follows the one before it after the time that its tokens take."""

    def __init__(self, fault: TokenRate, given: LlmCircumstances) -> None:
        self._fault = fault
        self._given = given
        self._free_at: float | None = None
        self._head: Head | None = None

    def head(self, head: Head) -> Iterable[LlmEvent]:
        if head.is_stream or head.status >= 400:
            return (head,)
        self._head = head  # The head of a whole answer comes with its body.
        return ()

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        head, self._head = self._head, None
        at = chunk.at
        if is_delta(chunk):
            # The first token of an answer is not delayed: it came before the event, or before the others.
            gap_s = max(0, tokens_of(chunk) - chunk.is_whole) / self._fault.tokens_per_s
            if self._fault.jitter:
                gap_s *= 1 + self._given.rng.between(-self._fault.jitter, self._fault.jitter)
            begin = at if self._free_at is None else self._free_at
            at = max(at, begin + gap_s) if self._free_at is not None or chunk.is_whole else at
            if self._free_at is None:
                self._given.note("tokens_per_s", self._fault.tokens_per_s)
            self._free_at = at
        moved = moved_to(chunk, at)
        return (moved,) if head is None else (moved_to(head, at), moved)

    def end(self, end: End) -> Iterable[LlmEvent]:
        head, self._head = self._head, None
        return (end,) if head is None else (moved_to(head, end.at), end)
