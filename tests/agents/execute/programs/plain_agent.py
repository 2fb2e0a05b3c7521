"""An agent without any library: it calls the given tools and disconnects if a reply is late."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

PATIENCE_S = 1.0
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def post(message: dict[str, Any], timeout_s: float) -> Any:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    request = urllib.request.Request(os.environ["FAULT_MCP_URL_SHOP"], body, HEADERS)
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        HEADERS["mcp-session-id"] = answer.headers.get("mcp-session-id", HEADERS.get("mcp-session-id"))
        return answer.read()


def main(tools: list[str]) -> None:
    info = {"name": "plain", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    post({"id": 0, "method": "initialize", "params": params}, 10)
    post({"method": "notifications/initialized"}, 10)
    for id, tool in enumerate(tools, 1):
        try:
            post({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}}, PATIENCE_S)
        except OSError as error:
            sys.stdout.write(f"{tool}: {type(error).__name__}\n")
    sys.stdout.write("Done.\n")


main(sys.argv[1:])
