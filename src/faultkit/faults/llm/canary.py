"""Canary: a text in the answer that occurs nowhere else, to see where answers get to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call_replies import marker_from
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.fault import setting
from faultkit.faults.llm_fault import LlmCircumstances, LlmVerdict, PositionedFault
from faultkit.faults.llm_texts import InsertingFilter


@dataclass(frozen=True)
class Canary(PositionedFault):
    kind: ClassVar[str] = "canary"
    summary: ClassVar[str] = "A text that occurs nowhere else is put into the answer."

    text: str | None = setting(
        None, "The text; by default canary- and a number that is unique to the request."
    )

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        text = f" {marker_from(given.rng)} " if self.text is None else self.text
        return LlmVerdict(filter=InsertingFilter(self, request, given, text))
