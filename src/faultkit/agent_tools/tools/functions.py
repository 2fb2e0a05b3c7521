"""Reading a source file: which functions it has, and the code of one."""

from __future__ import annotations

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.agent_tools.tools.naming import about
from faultkit.agent_tools.tools.written import as_json
from faultkit.code import find_function, list_functions, read_source


def list_names(call: ToolCall) -> ToolResult:
    path = call.values["file"]
    with about("file", path):
        source = read_source(path, call.values["lang"])
    names = [each.qualified_name for each in list_functions(source.parse())]
    return ToolResult(as_json(names), {"names": names, "language": source.language.name})


def extract_block(call: ToolCall) -> ToolResult:
    path = call.values["file"]
    with about("file", path):
        source = read_source(path, call.values["lang"])
        syntax = source.parse()
        found = find_function(list_functions(syntax), call.values["func"])
    code = {"full": syntax.text(found.full), "body": syntax.text(found.body)}
    place = {
        "name": found.qualified_name,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "language": source.language.name,
    }
    return ToolResult(as_json(code), {**code, **place})
