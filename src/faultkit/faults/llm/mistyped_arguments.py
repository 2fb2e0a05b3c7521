"""Mistyped arguments: valid JSON whose values have other types than the tool asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.llm_fault import LlmCircumstances, LlmFault, LlmVerdict
from faultkit.faults.llm_tool_calls import ArgumentsFilter


@dataclass(frozen=True)
class MistypedArguments(LlmFault):
    kind: ClassVar[str] = "mistyped_arguments"
    summary: ClassVar[str] = "The arguments of tool calls have wrong types: numbers as texts, texts as lists."

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        return LlmVerdict(filter=ArgumentsFilter(request, given, self.kind, _mistyped))


def _mistyped(text: str, parsed: Any) -> str:
    if not isinstance(parsed, dict):
        return text
    changed = {name: _other(value) for name, value in parsed.items()}
    return json.dumps(changed, ensure_ascii=False, separators=(",", ":"))


def _other(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False) if value is not None else 0
