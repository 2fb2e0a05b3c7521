"""Rate limit of an LLM API: 429 with the headers of the provider, always or above a quota.

A quota is counted in a sliding window: requests when they come, tokens of prompts and of answers when they
have passed. Without a quota every covered request is refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.llm_events import Chunk, LlmEvent
from faultkit.faults.dialects.turn import count_tokens
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmFault,
    LlmFilter,
    LlmVerdict,
    refused,
    tokens_of,
)

_Uses = deque[tuple[float, int, int]]
"""Time, requests and tokens of each use."""


@dataclass(frozen=True)
class LlmRateLimit(LlmFault):
    kind: ClassVar[str] = "llm_rate_limit"
    summary: ClassVar[str] = (
        "The provider refuses with 429 and says when to try again, always or above a quota."
    )

    retry_after_s: float = setting(
        1.0, "When to try again, if there is no quota that says it.", unit="s", minimum=0, maximum=86_400
    )
    requests: int | None = setting(None, "Requests that a window allows.", minimum=1)
    tokens: int | None = setting(None, "Tokens of prompts and answers that a window allows.", minimum=1)
    window_s: float = setting(60.0, "Length of the window.", unit="s", above=0, maximum=86_400)

    @property
    def shares_memory(self) -> bool:
        return self.requests is not None or self.tokens is not None

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        if self.requests is None and self.tokens is None:
            return self._refuse(request, given, self.retry_after_s, 0, 0)
        uses: _Uses = given.memory.setdefault("uses", deque())
        while uses and uses[0][0] <= given.at - self.window_s:
            uses.popleft()
        requests = sum(use[1] for use in uses)
        tokens = sum(use[2] for use in uses)
        prompt = sum(map(count_tokens, request.dialect.prompts(request.body).values()))
        if self._is_above(requests + 1, tokens + prompt):
            wait_s = self._wait_s(uses, requests + 1, tokens + prompt, given.at)
            return self._refuse(request, given, wait_s, requests, tokens)
        uses.append((given.at, 1, prompt))
        return LlmVerdict(filter=_Counting(uses))

    def _is_above(self, requests: int, tokens: int) -> bool:
        return (self.requests is not None and requests > self.requests) or (
            self.tokens is not None and tokens > self.tokens
        )

    def _wait_s(self, uses: _Uses, requests: int, tokens: int, now: float) -> float:
        """Return when so many requests and tokens would fit: enough uses have left the window by then."""
        for at, used_requests, used_tokens in uses:
            requests -= used_requests
            tokens -= used_tokens
            if not self._is_above(requests, tokens):
                return at + self.window_s - now
        return self.window_s

    def _refuse(
        self, request: LlmRequest, given: LlmCircumstances, wait_s: float, requests: int, tokens: int
    ) -> LlmVerdict:
        wait_s = math.ceil(wait_s * 1000) / 1000
        given.note("retry_after_s", wait_s)
        headers: list[tuple[str, str]] = []
        for name, limit, used in (("requests", self.requests, requests), ("tokens", self.tokens, tokens)):
            if limit is not None or name == "requests":
                most = limit or 0
                headers += request.dialect.limit_headers(name, most, max(0, most - used), wait_s)
        message = f"Rate limit reached for {request.model or 'this model'}: try again in {wait_s:g} s"
        answer = refused(request, "rate_limit", message, given.at, retry_after_s=wait_s, headers=headers)
        return LlmVerdict(answer=answer)


class _Counting(LlmFilter):
    def __init__(self, uses: _Uses) -> None:
        self._uses = uses

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        tokens = tokens_of(chunk)
        if tokens:
            self._uses.append((chunk.at, 0, tokens))
        return (chunk,)
