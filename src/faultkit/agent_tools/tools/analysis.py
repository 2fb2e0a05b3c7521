"""A close look at one function."""

from __future__ import annotations

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.asking import asking
from faultkit.agent_tools.tools.naming import about
from faultkit.agent_tools.tools.written import as_json


def analyse(call: ToolCall) -> ToolResult:
    values = call.values
    with asking(call), about("file", values["file"]):
        answer = call.services.advisor(values["file"]).analyse(
            values["file"],
            values["func"],
            language=values["lang"],
            concerns=values["concerns"],
            cancel=call.cancelled,
        )
    document = answer.document()
    return ToolResult(as_json(document), document)
