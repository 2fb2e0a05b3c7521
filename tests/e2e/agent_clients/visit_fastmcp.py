"""Lists tools and calls them all at once with fastmcp's client; run by an environment that has it.

On stdin comes {server: a URL or {command, args, env}, token, era, calls: {tool: arguments}} as JSON; on
stdout goes {names, results: {tool: [texts, structured]}}.
"""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def visit(asked: dict[str, Any]) -> dict[str, Any]:
    server = asked["server"]
    transport = server if isinstance(server, str) else StdioTransport(**server)
    token = asked["token"] if isinstance(server, str) else None
    async with Client(transport, auth=token, mode=asked["era"], timeout=60) as client:
        names = [tool.name for tool in await client.list_tools()]
        results = await asyncio.gather(*(client.call_tool(*call) for call in asked["calls"].items()))
    got = [[[each.text for each in result.content], result.structured_content] for result in results]
    return {"names": names, "results": dict(zip(asked["calls"], got, strict=True))}


if __name__ == "__main__":
    json.dump(asyncio.run(visit(json.load(sys.stdin))), sys.stdout)
