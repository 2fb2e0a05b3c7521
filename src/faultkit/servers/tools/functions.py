"""Reading a source file: which functions it has, and the code of one."""

from __future__ import annotations

from faultkit.servers.tool import ToolCall, ToolResult
from faultkit.servers.tools.naming import about
from faultkit.servers.tools.written import as_json
from faultkit.source import find_function, list_functions, read_source


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
