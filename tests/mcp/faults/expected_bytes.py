"""The bytes that have to arrive, written without using the code under test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tests.mcp.faults.call_places import SERVER, Place
from tests.mcp.faults.raw_clients import End

ID = 7
INFO = {"io.modelcontextprotocol/serverInfo": {"name": SERVER, "version": "1"}}
COMMENT = b": keep-alive\n\n"
JSON = "content-type: application/json"
STREAM = "content-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no"


@dataclass(frozen=True)
class Seen:
    """The bytes of one connection, and its state afterwards: `open`, `pending` (no end yet), `late` (the
    bytes come after the answer to the next call), `fin` or `rst`."""

    raw: bytes
    end: End = "open"


def text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True)
class Given:
    """The place of the call, and how the server there differs from the mock itself."""

    place: Place
    event_ids: bool = True
    """True if events have ids: those of a legacy stream do, except through a relay."""

    @property
    def is_modern(self) -> bool:
        return self.place.era == "modern"

    # --- messages --------------------------------------------------------------------------------

    def result(self, result: dict[str, Any], id: object = ID) -> dict[str, Any]:
        whole = {"resultType": "complete", **result} if self.is_modern else result
        return {"jsonrpc": "2.0", "id": id, "result": whole}

    def error(self, code: int, message: str, data: object = None, id: object = ID) -> dict[str, Any]:
        more = {} if data is None else {"data": data}
        return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}

    def counted(self, number: int = 1, id: object = ID) -> dict[str, Any]:
        """Return the answer of the server to its n-th call."""
        told = {"call": number, "place": "Paris"}
        result = {"content": [{"type": "text", "text": json.dumps(told)}], "structuredContent": told}
        return self.result({**result, "_meta": INFO} if self.is_modern else result, id)

    def tools(self, *tools: dict[str, Any], **hints: object) -> dict[str, Any]:
        """Return its answer to tools/list."""
        if not self.is_modern:
            return self.result({"tools": list(tools)})
        hints = {"ttlMs": 0, "cacheScope": "private", **hints}
        return self.result({**hints, "tools": list(tools), "_meta": INFO})

    # --- the wire --------------------------------------------------------------------------------

    def one(self, message: dict[str, Any] | bytes, status: int = 200) -> Seen:
        """Return a reply alone."""
        raw = message if isinstance(message, bytes) else text(message)
        if self.place.transport == "stdio":
            return Seen(raw + b"\n")
        return Seen(head(status, JSON, f"content-length: {len(raw)}") + raw)

    def many(self, *messages: dict[str, Any], end: End = "open") -> Seen:
        """Return several messages, which are a stream over HTTP."""
        if self.place.transport == "stdio":
            return Seen(b"".join(text(each) + b"\n" for each in messages), end)
        events = [self.event(each, number) for number, each in enumerate(messages)]
        return self.stream(*events, end=end)

    def event(self, message: dict[str, Any], number: int = 0) -> bytes:
        named = self.event_ids and not self.is_modern
        id = b"id: call1-%d\n" % number if named else b""
        return b"event: message\n" + id + b"data: " + text(message) + b"\n\n"

    def stream(self, *pieces: bytes, end: End = "open") -> Seen:
        raw = head(200, STREAM, "transfer-encoding: chunked") + b"".join(map(chunk, pieces))
        return Seen(raw + chunk(b"") if end == "open" else raw, end)

    def status(self, status: int, body: dict[str, Any] | str, *more: str) -> Seen:
        """Return an HTTP response of the endpoint itself."""
        raw = body.encode() if isinstance(body, str) else text(body)
        kind = "text/plain; charset=utf-8" if isinstance(body, str) else "application/json"
        return Seen(head(status, f"Content-Type: {kind}", *more, f"content-length: {len(raw)}") + raw)


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def head(status: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *lines, "", ""]).encode()


NOTHING = Seen(b"", "pending")
