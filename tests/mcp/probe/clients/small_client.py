"""A small MCP client of the legacy era without a library: `python small_client.py WAY (URL | COMMAND ARG…)`.

WAY is its behaviour: plain, stubborn (retries), patient (waits without a limit), leaky, wordy (prints
something else each time), failing, idle.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

TIMEOUT_S = 1.0
ATTEMPTS = 3


class Http:
    def __init__(self, url: str, timeout_s: float | None) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._session: str | None = None

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        answer = self._send("POST", json.dumps(message).encode())
        lines = [
            line.removeprefix("data: ") for line in answer.splitlines() if line.startswith(("data:", "{"))
        ]
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return found

    def _send(self, method: str, body: bytes | None) -> str:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        request = urllib.request.Request(self._url, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
            self._session = answer.headers.get("mcp-session-id", self._session)
            text: str = answer.read().decode()
            return text

    def close(self) -> None:
        self._send("DELETE", None)


class Pipes:
    def __init__(self, command: list[str]) -> None:
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")
        self._server.stdin.flush()
        if "id" not in message:
            return {}
        line = self._server.stdout.readline()
        if not line:
            raise OSError("the server has left")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self._server.communicate()


def main(way: str, target: list[str]) -> int:
    if way == "failing":
        print("no idea", file=sys.stderr)  # noqa: T201
        return 3
    if target[0].startswith("http"):
        server: Http | Pipes = Http(target[0], None if way == "patient" else TIMEOUT_S)
    else:
        server = Pipes(target)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    server.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    server.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
    if way == "idle":
        server.close()
        return 0
    for attempt in range(ATTEMPTS if way == "stubborn" else 1):
        call = {"name": "forecast", "arguments": {"city": "Paris"}}
        asked = {"jsonrpc": "2.0", "id": 2 + attempt, "method": "tools/call", "params": call}
        try:
            reply = server.ask(asked)
        except (OSError, urllib.error.URLError) as error:
            print(type(error).__name__, file=sys.stderr)  # noqa: T201
            server.ask(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked["id"]}}
            )
            continue
        result = reply.get("result") or {}
        if "error" not in reply and not result.get("isError"):
            print(result["content"][0]["text"], os.getpid() if way == "wordy" else "")  # noqa: T201
            break
    else:
        return 1
    if way == "leaky":
        where = urllib.parse.urlsplit(target[0])
        held = socket.create_connection((where.hostname or "", where.port or 80)).detach()
        idle = [sys.executable, "-I", "-c", "import time; time.sleep(60)"]
        none = subprocess.DEVNULL
        subprocess.Popen(idle, stdin=none, stdout=none, stderr=none, pass_fds=[held])
        return 0
    server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
