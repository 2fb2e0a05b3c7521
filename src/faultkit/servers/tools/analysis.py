"""A close look at one function."""

from __future__ import annotations

from faultkit.servers.tool import ToolCall, ToolResult
from faultkit.servers.tools.asking import asking
from faultkit.servers.tools.naming import about
from faultkit.servers.tools.written import as_json


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
