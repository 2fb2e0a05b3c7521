"""Scores of a snippet, by the rules or by a model."""

from __future__ import annotations

from typing import Literal

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.asking import asking
from faultkit.agent_tools.tools.written import as_json


def score_performance(call: ToolCall) -> ToolResult:
    return _score(call, "performance")


def score_reliability(call: ToolCall) -> ToolResult:
    return _score(call, "reliability")


def _score(call: ToolCall, kind: Literal["performance", "reliability"]) -> ToolResult:
    with asking(call):
        answer = call.services.advisor().score(
            call.values["snippet"], call.values["lang"], kind, cancel=call.cancelled
        )
    document = {
        "explanation": answer.explanation,
        "score": answer.score,
        "engine": answer.engine,
        "model": answer.model,
    }
    return ToolResult(as_json(document), document)
