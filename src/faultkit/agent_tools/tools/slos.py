"""Service level objectives for a snippet."""

from __future__ import annotations

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.asking import asking
from faultkit.agent_tools.tools.written import as_json


def suggest_slos(call: ToolCall) -> ToolResult:
    with asking(call):
        answer = call.services.advisor().slos(
            call.values["snippet"], call.values["lang"], cancel=call.cancelled
        )
    document = answer.document()
    return ToolResult(as_json(document["slos"]), document)
