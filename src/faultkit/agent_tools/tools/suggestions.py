"""Changes to a snippet as a diff in a Markdown code block."""

from __future__ import annotations

from typing import Literal

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.asking import asking
from faultkit.agent_tools.tools.written import as_diff_block


def suggest_performance(call: ToolCall) -> ToolResult:
    return _suggest(call, "performance")


def suggest_reliability(call: ToolCall) -> ToolResult:
    return _suggest(call, "reliability")


def _suggest(call: ToolCall, kind: Literal["performance", "reliability"]) -> ToolResult:
    values = call.values
    score, target = values["score"], values["target_score"]
    with asking(call):
        # A score above the target is no mistake: the code may still be found to be worse than that.
        answer = call.services.advisor().suggest(
            values["snippet"],
            values["lang"],
            kind,
            score=score if score is None or score <= target else None,
            target_score=target,
            cancel=call.cancelled,
        )
    document = answer.document()
    if not answer.diff:
        return ToolResult(f"Nothing to change: {answer.reason}.\n\n{as_diff_block('')}", document)
    notes = [f"also needed at the top of the file: {each}" for each in answer.imports]
    notes += [f"also needed: the package {each}" for each in answer.dependencies]
    return ToolResult(as_diff_block(answer.diff, notes), document)
