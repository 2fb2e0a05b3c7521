"""The odd server on both transports."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import HttpServer
from faultkit.mcp.mcp_client import ServerAddress
from tests.mcp.probe.servers.odd_server import Ended, OddServer

SCRIPT = str(Path(__file__).with_name("odd_server.py"))
JSON = [("content-type", "application/json")]


def on_pipes(vice: str = "") -> ServerAddress:
    return ServerAddress(command=(sys.executable, "-I", SCRIPT, vice))


@asynccontextmanager
async def over_http(vice: str = "") -> AsyncIterator[tuple[ServerAddress, OddServer]]:
    odd = OddServer(vice)

    def handle(request: HttpRequest, answer: ResponseWriter) -> None:
        if request.method == "DELETE":
            answer.respond(500 if vice == "keeps sessions" else 200)
            return
        if vice == "answers in prose" and b'"jsonrpc"' not in request.body:
            answer.respond(400, [("content-type", "text/plain")], b"bad request")
            return
        if vice == "refuses large bodies" and len(request.body) > 1_000:
            answer.respond(413)
            return
        try:
            replies = odd.replies(request.body)
        except Ended:
            answer.abort()
            return
        if vice == "answers calls with 503" and b'"tools/call"' in request.body:
            answer.respond(503, [("content-type", "text/plain")], b"no upstream")
        elif replies and vice == "answers twice":
            events = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in replies)
            answer.respond(200, [("content-type", "text/event-stream")], events)
        elif replies:
            answer.respond(200, [*JSON, ("mcp-session-id", "one")], json.dumps(replies[0]).encode())
        elif b'"id"' not in request.body:
            answer.respond(202)

    server = HttpServer(handle)
    host, port = await server.start("127.0.0.1", 0)
    try:
        yield ServerAddress(url=f"http://{host}:{port}/mcp"), odd
    finally:
        await server.stop()
