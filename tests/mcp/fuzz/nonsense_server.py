"""A server that sends nonsense between legal replies, for a gateway in front of it.

python -m tests.mcp.fuzz.nonsense_server SEED          over stdio: many mutated lines before each reply
python -m tests.mcp.fuzz.nonsense_server SEED --http   over HTTP: a mutated response to each `nonsense` call
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import sys
from typing import Any

from tests.mcp.fuzz import http_mutator as http_games
from tests.mcp.fuzz.message_mutator import VERSION, mutated

LINES = 50
"""Lines of nonsense before each reply, over stdio."""
TEXT = "Ahoy"


def reply_to(message: dict[str, Any]) -> bytes:
    result: dict[str, Any] = {"content": [{"type": "text", "text": TEXT}]}
    if message.get("method") == "initialize":
        info = {"name": "nonsense", "version": "1"}
        result = {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()


def serve_stdio(rng: random.Random) -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message and "method" in message:
            if message["method"] == "tools/call":
                out.write(b"\n".join(mutated(rng) for _ in range(LINES)) + b"\n")
            out.write(reply_to(message) + b"\n")
            out.flush()


async def serve_http(rng: random.Random) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _answer(reader, writer, rng):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rng: random.Random) -> bool:
    """Send a response; return whether the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    _, found, rest = head.partition("content-length:")
    body = await reader.readexactly(int(rest.partition("\r\n")[0])) if found else b""
    if not head.startswith("post"):
        writer.write(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
        return True
    message = json.loads(body)
    if "id" not in message:
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        return True
    if message.get("params", {}).get("name") != "nonsense":
        raw = reply_to(message)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
        writer.write(head.encode() + b"Mcp-Session-Id: nonsense\r\n\r\n" + raw)
        return True
    writer.write(http_games.answer(rng))
    await writer.drain()
    how = rng.randrange(4)
    if how == 0:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    elif how == 1:
        await asyncio.sleep(0.005)
    return how == 3 and rng.random() < 0.5


def main() -> None:
    rng = random.Random(sys.argv[1])
    if "--http" in sys.argv:
        asyncio.run(serve_http(rng))
    else:
        serve_stdio(rng)


if __name__ == "__main__":
    main()
