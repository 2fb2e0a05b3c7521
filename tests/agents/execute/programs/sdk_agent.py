"""An agent on the official SDK's client: it searches, and greps if the search does not answer in time."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp import Client, MCPError

PATIENCE_S = 2.0


async def main() -> None:
    async with Client(os.environ["FAULT_MCP_URL_SHOP"], mode=os.environ.get("ERA", "auto")) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        said = []
        for name in (name for name in ("search", "grep") if name in names):
            try:
                result = await client.call_tool(
                    name, {"q": os.environ["FAULT_PROMPT"]}, read_timeout_seconds=PATIENCE_S
                )
            except (MCPError, TimeoutError) as error:
                said.append(f"{name}: {type(error).__name__}")
                continue
            said.append("".join(getattr(block, "text", "") for block in result.content))
            if not result.is_error:
                break
        sys.stdout.write("; ".join(said) + "\n")
        sys.stdout.flush()


asyncio.run(main())
