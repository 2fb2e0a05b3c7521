"""A small agent loop on the client of the MCP SDK: list the tools, call each, go on when one fails.

python sdk_client.py URL              a server over HTTP
python sdk_client.py COMMAND ARG…     a server on stdio
"""

import asyncio
import logging
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (("forecast", {"city": "Paris"}), ("cities", {}))
TIMEOUT_S = 2.0
ATTEMPTS = 2


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> bool:
    """Call a tool; return whether it was answered in the end."""
    for attempt in range(ATTEMPTS):
        try:
            result = await client.call_tool(tool, arguments, read_timeout_seconds=TIMEOUT_S)
        except MCPError as error:
            print(f"{tool}: error {error.code}", file=sys.stderr)
        except (RuntimeError, ValueError) as error:
            print(f"{tool}: {type(error).__name__}", file=sys.stderr)
        else:
            said = " ".join(getattr(block, "text", "") for block in result.content)
            print(f"{tool}: {said[:80]}", file=sys.stderr if result.is_error else sys.stdout)
            if not result.is_error:
                return True
        await asyncio.sleep(0.1 * (attempt + 1))
    return False


async def main(words: list[str]) -> int:
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    if words[0].startswith("http"):
        target: Any = words[0]
    else:
        target = StdioServerParameters(command=words[0], args=words[1:])
    async with Client(target) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        done = [await call(client, tool, arguments) for tool, arguments in CALLS if tool in listed]
    return 0 if done and all(done) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
