"""An agent on FastMCP's client: it orders, retries at once, and reports whether it succeeded."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from importlib import import_module
from pathlib import Path

ATTEMPTS = 3
PATIENCE_S = 2.0


async def main(config: object) -> None:
    for name in ("mcp", "fastmcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    fastmcp = import_module("fastmcp")
    async with fastmcp.Client(config) as client:
        await client.list_tools()
        item, error = sys.stdin.read(), ""
        for _ in range(ATTEMPTS):
            try:
                result = await client.call_tool("order", {"item": item}, timeout=PATIENCE_S)
            except Exception as raised:
                error = type(raised).__name__
                continue
            say(f"ordered: {result.content[0].text}", success=True)
            return
        say(f"not ordered: {error}", success=False)


def say(reply: str, *, success: bool) -> None:
    sys.stdout.write("thinking aloud\n" + json.dumps({"reply": reply, "success": success}) + "\n")
    sys.stdout.flush()


asyncio.run(main(json.loads(Path(os.environ["FAULT_MCP_CONFIG"]).read_text("utf-8"))))
