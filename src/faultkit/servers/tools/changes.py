"""Changes to a whole file, which stays as it is."""

from __future__ import annotations

from faultkit.servers.tool import ToolCall, ToolResult
from faultkit.servers.tools.asking import asking
from faultkit.servers.tools.naming import about
from faultkit.servers.tools.written import as_json


def change_file(call: ToolCall) -> ToolResult:
    values = call.values
    with asking(call), about("file", values["file"]):
        answer = call.services.advisor(values["file"]).change_file(
            values["file"],
            target_score=values["target_score"],
            language=values["lang"],
            cancel=call.cancelled,
        )
    document = answer.document()
    return ToolResult(as_json(document), document)
