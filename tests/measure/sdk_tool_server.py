"""A server on the official SDK with a tool that writes down its calls: `sdk_tool_server.py JOURNAL [--http]`.

Every third call of a process has `isError`, every fifth raises. Over HTTP, the URL is the first line of
stdout.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Any

import mcp_types as t
from mcp.server import Server, ServerRequestContext

from mcp import MCPError

calls = 0
journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


async def list_tools(
    ctx: ServerRequestContext[Any, Any], params: t.PaginatedRequestParams | None
) -> t.ListToolsResult:
    return t.ListToolsResult(tools=[t.Tool(name="count", input_schema={"type": "object"})])


async def call_tool(ctx: ServerRequestContext[Any, Any], params: t.CallToolRequestParams) -> t.CallToolResult:
    global calls
    calls += 1
    what = "raise" if calls % 5 == 0 else "error" if calls % 3 == 0 else "ok"
    os.write(journal, f"{what}\n".encode())
    if what == "raise":
        raise MCPError(code=-32000, message="no more")
    return t.CallToolResult(content=[t.TextContent(type="text", text=what)], is_error=what == "error")


async def serve(server: Server[Any]) -> None:
    if "--http" not in sys.argv:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
        return
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    app = server.streamable_http_app(json_response="--json" in sys.argv)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listener])


asyncio.run(serve(Server("counter", version="1", on_list_tools=list_tools, on_call_tool=call_tool)))
