"""Scores of a snippet, by the rules or by a model."""

from __future__ import annotations

from typing import Literal

from faultkit.servers.tool import ToolCall, ToolResult
from faultkit.servers.tools.asking import asking
from faultkit.servers.tools.written import as_json


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
