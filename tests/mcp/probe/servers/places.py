"""The odd server in both places where probes can meet it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from faultkit.base.http.server import Answer, HttpServer, Request
from faultkit.mcp.client import At
from tests.mcp.probe.servers.odd_server import Ended, OddServer

SCRIPT = str(Path(__file__).with_name("odd_server.py"))
JSON = [("content-type", "application/json")]


def on_pipes(vice: str = "") -> At:
    return At(command=(sys.executable, "-I", SCRIPT, vice))


@asynccontextmanager
async def over_http(vice: str = "") -> AsyncIterator[tuple[At, OddServer]]:
    odd = OddServer(vice)

    def handle(request: Request, answer: Answer) -> None:
        if request.method == "DELETE":
            answer.whole(500 if vice == "keeps sessions" else 200)
            return
        if vice == "answers in prose" and b'"jsonrpc"' not in request.body:
            answer.whole(400, [("content-type", "text/plain")], b"bad request")
            return
        if vice == "refuses large bodies" and len(request.body) > 1_000:
            answer.whole(413)
            return
        try:
            replies = odd.replies(request.body)
        except Ended:
            answer.abort()
            return
        if replies:
            answer.whole(200, [*JSON, ("mcp-session-id", "one")], json.dumps(replies[0]).encode())
        elif b'"id"' not in request.body:
            answer.whole(202)

    server = HttpServer(handle)
    host, port = await server.start("127.0.0.1", 0)
    try:
        yield At(url=f"http://{host}:{port}/mcp"), odd
    finally:
        await server.stop()
