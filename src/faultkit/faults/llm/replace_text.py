"""Replace text: what matches a pattern in the answer is replaced, also where it is spread over deltas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.patterns import LinearPattern
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_texts import ReplacingFilter, check_replacement


@dataclass(frozen=True)
class ReplaceText(LlmFault):
    kind: ClassVar[str] = "replace_text"
    summary: ClassVar[str] = "What matches a pattern in the answer is replaced, also across deltas."

    pattern: str = setting("good", "A regular expression (RE2).")
    replacement: str = setting("bad", r"What stands in its place; \\1 is the first group.")
    longest: int = setting(
        64,
        "Longest match that may be spread over deltas: so many characters are held back.",
        minimum=1,
        maximum=65_536,
    )

    def check(self) -> None:
        check_replacement(self.pattern, self.replacement)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        pattern = LinearPattern(self.pattern)
        return LlmVerdict(filter=ReplacingFilter(request, given, pattern, self.replacement, self.longest))
