"""An agent that answers while its call is still open, and closes the connection only when it exits."""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.request
from typing import Any

PATIENCE_S = 0.5
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def post(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    request = urllib.request.Request(os.environ["FAULT_MCP_URL_SHOP"], body, HEADERS)
    with urllib.request.urlopen(request) as answer:
        HEADERS["mcp-session-id"] = answer.headers.get("mcp-session-id", HEADERS.get("mcp-session-id"))
        answer.read()


info = {"name": "early", "version": "1"}
params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
post({"id": 0, "method": "initialize", "params": params})
post({"method": "notifications/initialized"})
call = {"id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}}
waiting = threading.Thread(target=post, args=(call,), daemon=True)
waiting.start()
waiting.join(PATIENCE_S)
sys.stdout.write("The search does not answer.\n")
sys.stdout.flush()
# The gateway sees the closed connection later than the answer.
waiting.join(PATIENCE_S)
