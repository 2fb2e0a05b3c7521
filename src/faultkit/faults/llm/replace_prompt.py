"""Replace prompt: what matches a pattern in the texts of the request is replaced on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.base.patterns import LinearPattern
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import with_members
from faultkit.faults.dialects.llm_events import Path
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_texts import check_replacement, replaced


@dataclass(frozen=True)
class ReplacePrompt(LlmFault):
    kind: ClassVar[str] = "replace_prompt"
    summary: ClassVar[str] = "What matches a pattern in the prompt is replaced before the model gets it."

    pattern: str = setting("not ", "A regular expression (RE2).")
    replacement: str = setting("", r"What stands in its place; \\1 is the first group.")

    def check(self) -> None:
        check_replacement(self.pattern, self.replacement)

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        pattern = LinearPattern(self.pattern)
        changes: dict[Path, Any] = {}
        for path, text in request.dialect.prompts(request.body).items():
            changed = replaced(text, pattern, self.replacement)
            if changed != text:
                changes[path] = changed
        if not changes:
            return LlmVerdict()
        given.note("replaced", float(len(changes)))
        return LlmVerdict(body=with_members(request.body, changes))
