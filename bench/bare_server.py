"""A trivial server on the low level of the official SDK: one tool that returns a line, or its argument.

python -m bench.bare_server              over stdio
python -m bench.bare_server --http 0     over HTTP with JSON replies; the URL is the first line of stdout
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
from typing import Any

import mcp_types as t
from mcp.server import Server, ServerRequestContext

from bench.mcp_client import TEXT, TOOL

_TOOLS = [t.Tool(name=TOOL, description="Says hello.", input_schema={"type": "object"})]


async def _list_tools(
    ctx: ServerRequestContext[Any, Any], params: t.PaginatedRequestParams | None
) -> t.ListToolsResult:
    return t.ListToolsResult(tools=_TOOLS)


async def _call_tool(
    ctx: ServerRequestContext[Any, Any], params: t.CallToolRequestParams
) -> t.CallToolResult:
    said = params.arguments or {}
    if "message" not in said:
        return t.CallToolResult(content=[t.TextContent(type="text", text=TEXT)])
    text = json.dumps(said, separators=(",", ":"))
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)], structured_content=said)


async def _serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


async def _serve_http(server: Server[Any], port: int) -> None:
    import uvicorn

    app = server.streamable_http_app(json_response=True)
    # Without the protocol's name, asyncio leaves Nagle's algorithm on, and each reply waits for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.bare_server")
    parser.add_argument("--http", type=int, metavar="PORT")
    port = parser.parse_args().http
    server: Server[Any] = Server("bare", version="1.0", on_list_tools=_list_tools, on_call_tool=_call_tool)
    asyncio.run(_serve_stdio(server) if port is None else _serve_http(server, port))


if __name__ == "__main__":
    main()
