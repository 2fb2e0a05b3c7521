"""The same small agent loop on the client of FastMCP: list the tools, call each, go on when one fails.

python fastmcp_client.py URL              a server over HTTP
python fastmcp_client.py COMMAND ARG…     a server on stdio
"""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

from mcp import MCPError

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (("forecast", {"city": "Paris"}), ("cities", {}))
TIMEOUT_S = 2.0
ATTEMPTS = 2


async def call(client: Any, tool: str, arguments: dict[str, Any]) -> bool:
    """Call a tool; return whether it was answered in the end."""
    for attempt in range(ATTEMPTS):
        try:
            result = await client.call_tool(tool, arguments, timeout=TIMEOUT_S)
        except MCPError as error:
            print(f"{tool}: error {error.code}", file=sys.stderr)
        except (ToolError, RuntimeError, ValueError) as error:
            print(f"{tool}: {type(error).__name__}", file=sys.stderr)
        else:
            said = " ".join(getattr(block, "text", "") for block in result.content)
            print(f"{tool}: {said[:80]}")
            return True
        await asyncio.sleep(0.1 * (attempt + 1))
    return False


async def quiet(message: object) -> None:
    """Ignore log messages of the server."""


async def main(words: list[str]) -> int:
    for name in ("mcp", "fastmcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    target: Any = words[0]
    if not words[0].startswith("http"):
        target = StdioTransport(words[0], words[1:], keep_alive=False, log_file=Path(os.devnull))
    async with Client(target, log_handler=quiet) as client:
        listed = {tool.name for tool in await client.list_tools()}
        done = [await call(client, tool, arguments) for tool, arguments in CALLS if tool in listed]
    return 0 if done and all(done) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
