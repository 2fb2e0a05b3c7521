"""A small MCP server that keeps every EDGE rule except the one that VICE names.

As a program, `python odd_server.py [VICE]`, it serves stdio. It imports little, because each test starts it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
LIST = {"type": "object", "properties": {"items": {"type": "array"}}}
SAFE = {"readOnlyHint": True}
PAGES: list[list[dict[str, Any]]] = [
    [
        {"name": "say", "inputSchema": TEXT, "annotations": SAFE},
        {"name": "sum", "inputSchema": LIST, "annotations": SAFE},
    ],
    [
        {"name": "wipe", "inputSchema": TEXT, "annotations": {"destructiveHint": True}},
        {"name": "sleep", "inputSchema": {"type": "object"}},
    ],
]
LARGE = 500_000
OVERSIZED = 4_000_000


class Ended(Exception):
    """Raised when the server crashes."""


class OddServer:
    def __init__(self, vice: str = "") -> None:
        self.vice = vice
        self.calls: list[str] = []
        self._lists = 0
        self._sulks = False

    def replies(self, raw: bytes) -> list[dict[str, Any]]:
        """Return the replies to one line or body."""
        if self.vice == "falls over large input" and len(raw) > LARGE:
            raise Ended
        if self.vice == "falls over oversized messages" and len(raw) > OVERSIZED:
            raise Ended
        try:
            message = json.loads(raw)
        except ValueError:
            return [] if self.vice == "ignores half lines" else [error(None, -32700, "parse error")]
        if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
            if self.vice == "takes any envelope":
                return [result(message.get("id"), {})]
            code = -32603 if self.vice == "has one error for all" else -32600
            return [error(message.get("id"), code, "invalid request")]
        if "id" not in message:
            self._sulks |= self.vice == "sulks" and message["method"] == "notifications/cancelled"
            return []
        if self._sulks:
            return []
        return self._answers(message["method"], message["id"], message.get("params") or {})

    def _answers(self, method: str, id: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
        if method == "initialize":
            name = "odd\x1b[2J\x9b31m" if self.vice == "has a wild name" else "odd"
            info = {"name": name, "version": "1"}
            version = params.get("protocolVersion")
            hello = result(
                id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            )
            return [{**hello, "error": None} if self.vice == "begins with two answers" else hello]
        if method == "ping":
            return [result("another" if self.vice == "mixes up ids" and id == "b" else id, {})]
        if method == "tools/list" and self.vice == "cannot list":
            return [error(id, -32603, "no database")]
        if method == "tools/list" and self.vice == "lists nothing":
            return [result(id, {})]
        if method == "tools/list":
            return [result(id, self._page(params.get("cursor")))]
        if method == "tools/call":
            return self._call(id, params)
        return [error(id, -32601, "no such method")]

    def _page(self, cursor: object) -> dict[str, Any]:
        self._lists += 1
        if cursor is None:
            return {"tools": PAGES[0], "nextCursor": "2"}
        if self.vice == "forgets its pages" and self._lists % 2:
            return {"tools": []}
        if self.vice == "lists things twice":
            return {"tools": [*PAGES[1], PAGES[0][0]]}
        return {"tools": PAGES[1]}

    def _call(self, id: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
        tool, given = params.get("name"), params.get("arguments") or {}
        self.calls.append(str(tool))
        if self.vice == "answers calls with two answers":
            return [{**text_reply(id, "done"), "error": {"code": -32603, "message": "failed"}}]
        if self.vice == "answers calls with null":
            return [{"jsonrpc": "2.0", "id": id, "result": None}]
        if self.vice == "refuses every call":
            return [failure(id, "not today")]
        if tool == "say":
            return self._say(id, given.get("text"))
        if tool == "sum":
            return self._sum(id, given.get("items", [1]))
        if tool == "sleep":
            return [] if self.vice == "hangs" else [failure(id, "it took more than 1 s")]
        if self.vice == "takes any tool":
            return [text_reply(id, "done")]
        return [error(id, -32602, f"no tool {tool}")]

    def _say(self, id: Any, text: object) -> list[dict[str, Any]]:
        if not isinstance(text, str):
            return [
                text_reply(id, "done") if self.vice == "takes any arguments" else failure(id, "not a text")
            ]
        if self.vice == "is moody" and not text and len(self.calls) % 2:
            return [failure(id, "not today")]
        if self.vice == "knows no words" or (self.vice == "knows no made-up words" and text == "faultkit"):
            return [failure(id, f"no such word: {text!r}")]
        if self.vice == "quotes its argument":
            text = json.dumps({"you said": text})
        if self.vice == "knows ASCII only":
            text = text.encode("ascii", "replace").decode()
        if self.vice == "falls over Unicode" and not text.isascii():
            raise Ended
        if self.vice == "forgets calls" and len(self.calls) % 3 == 0:
            return []
        if self.vice == "answers with another id":
            return [text_reply(f"not {id}", text)]
        again = 2 if self.vice == "answers twice" else 1
        return [text_reply(id, text)] * again

    def _sum(self, id: Any, items: object) -> list[dict[str, Any]]:
        if not isinstance(items, list):
            return [failure(id, "not a list")]
        if self.vice == "falls over empty arrays" and not items:
            raise Ended
        return [text_reply(id, str(len(items)))]


def result(id: Any, value: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def text_reply(id: Any, text: str) -> dict[str, Any]:
    return result(id, {"content": [{"type": "text", "text": text}]})


def failure(id: Any, text: str) -> dict[str, Any]:
    return result(id, {"content": [{"type": "text", "text": text}], "isError": True})


def error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def main(vice: str) -> int:
    server = OddServer(vice)
    if vice == "writes to stderr":
        sys.stderr.buffer.write("ready \x1b[31m \x9b2J\nlast".encode())
        sys.stderr.flush()
    if vice == "greets":
        sys.stdout.write("server is ready \x1b[2J\n")
        sys.stdout.flush()
    for line in sys.stdin.buffer:
        try:
            for reply in server.replies(line):
                raw = json.dumps(reply).encode()
                if vice == "breaks its replies off" and b'"content"' in raw:
                    raw = raw[: len(raw) // 2]
                if vice == "logs calls" and b'"content"' in raw:
                    sys.stdout.buffer.write(b"call done\n")
                sys.stdout.buffer.write(raw + b"\n")
            sys.stdout.buffer.flush()
        except Ended:
            return 3
    if vice == "outlives its client":
        import signal

        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
