"""HTTP requests and responses with wrong headers, lengths and chunks. Pure, determined by a seed."""

from __future__ import annotations

import json
import random

from tests.mcp.fuzz.message_mutator import MODERN, VERSION, initialize, mutated, wrong_bytes

_NASTY_HEADERS = [
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 70000000",
    "Content-Length: 1e3",
    "Content-Length : 3",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: identity",
    "Transfer-Encoding:\tchunked",
    "Expect: 100-continue",
    "Expect: nonsense",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
    "Connection: close",
    "Connection: keep-alive, x",
    "Origin: http://evil.example",
    "Origin: null",
    "Origin: http://[::1",
    "Host: evil.example",
    "Host:",
    "No colon here",
    ": no name",
    "Bad\x00Name: 1",
    "X: a\x00b",
    "X: a\rb",
    "X: 1\r\n folded",
    "X: \xff\xfe",
    "X: " + "y" * 3000,
    "X: " + "y" * 70_000,
    "Mcp-Session-Id: ../../etc",
    "Mcp-Session-Id: " + "s" * 4000,
    "Mcp-Session-Id: \xe9",
    "MCP-Protocol-Version: 1999-01-01",
    f"MCP-Protocol-Version: {MODERN}",
    f"MCP-Protocol-Version: {VERSION}",
    "Mcp-Method: tools/call",
    "Mcp-Name: =?base64?!!!?=",
    "Mcp-Name: =?base64?/////w==?=",
    "Last-Event-ID: own-99999999999999999999",
    "Last-Event-ID: nowhere-\u0663".encode().decode("latin-1"),
    "Accept: */*",
    "Content-Type: text/plain",
    "Content-Type: application/json; charset=utf-16",
]
_STARTS = ["POST /mcp HTTP/1.1"] * 12 + [
    "GET /mcp HTTP/1.1",
    "GET /mcp HTTP/1.1",
    "DELETE /mcp HTTP/1.1",
    "HEAD /mcp HTTP/1.1",
    "PUT /mcp HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "CONNECT a:1 HTTP/1.1",
    "POST /mcp?x=%00 HTTP/1.1",
    "POST http://127.0.0.1/mcp HTTP/1.1",
    "POST /" + "p" * 3000 + " HTTP/1.1",
    "POST /mcp HTTP/1.0",
    "POST /mcp HTTP/9.9",
    "POST /mcp",
    "PRI * HTTP/2.0",
    "post /mcp HTTP/1.1",
    "GET / HTTP/1.1",
]


def request(rng: random.Random, port: int, session: str) -> bytes:
    """Return one request, or several in a row."""
    if rng.random() < 0.05:
        return b"".join(_one(rng, port, session) for _ in range(rng.randint(2, 12)))
    return _one(rng, port, session)


def _one(rng: random.Random, port: int, session: str) -> bytes:
    body = mutated(rng)
    if rng.random() < 0.02:
        body = json.dumps(initialize("fuzz")).encode()
    start = rng.choice(_STARTS)
    lines = [f"Host: 127.0.0.1:{port}", "Content-Type: application/json", "Accept: application/json"]
    lines[2] = (
        "Accept: application/json, text/event-stream"
        if start.startswith("POST")
        else "Accept: text/event-stream"
    )
    if rng.random() < 0.7:
        lines += [f"Mcp-Session-Id: {session}", f"MCP-Protocol-Version: {VERSION}"]
    elif rng.random() < 0.6:
        lines += [f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: echo"]
    lines, framed = _framed(rng, lines, body)
    while rng.random() < 0.25:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(_NASTY_HEADERS))
    if rng.random() < 0.03:
        lines += [f"X-{number}: 1" for number in range(400)]
    raw = "\r\n".join([start, *lines, "", ""]).encode("latin-1", "replace") + framed
    return wrong_bytes(raw, rng) if rng.random() < 0.15 else raw


def _framed(rng: random.Random, lines: list[str], body: bytes) -> tuple[list[str], bytes]:
    """Return headers that are mostly right, so that the bodies are read."""
    roll = rng.random()
    if roll < 0.75:
        return [*lines, f"Content-Length: {len(body)}"], body
    if roll < 0.85:
        return [*lines, "Transfer-Encoding: chunked"], chunked(body, rng)
    if roll < 0.95:
        length = rng.choice([0, 1, len(body) - 1, len(body) + 1, len(body) * 2, 2**31, 2**63, 2**64])
        return [*lines, f"Content-Length: {length}"], body
    return lines, body


def chunked(body: bytes, rng: random.Random) -> bytes:
    wrong = rng.random() < 0.4
    parts = []
    while body:
        size = rng.randint(1, len(body))
        part, body = body[:size], body[size:]
        shown = b"%x" % size
        if wrong:
            choices = [
                b"%x" % (size + 1),
                b"-1",
                b"zz",
                b"",
                b"f" * 17,
                b"0x5",
                shown + b";ext=\x00",
                b" " + shown,
            ]
            shown = rng.choice([shown, *choices])
        parts.append(shown + b"\r\n" + part + b"\r\n")
    end = (
        rng.choice([b"", b"0\r\n", b"0\r\nX: y\r\n\r\n", b"0\n\n", b"00000\r\n\r\n"])
        if wrong
        else b"0\r\n\r\n"
    )
    return b"".join(parts) + end


def answer(rng: random.Random) -> bytes:
    """Return what a server may send instead of a response."""
    body = mutated(rng)
    kind = rng.choice(["application/json", "text/event-stream", "text/event-stream", "text/html", "\xff", ""])
    if kind == "text/event-stream":
        body = b"".join(_event(rng) for _ in range(rng.randint(0, 4)))
    status = rng.choice(
        ["HTTP/1.1 200 OK"] * 6
        + ["HTTP/1.1 202 Accepted", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 404 x"]
        + ["HTTP/1.1 500", "HTTP/1.0 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 101 Switching Protocols"]
        + ["HTTP/1.1 999 x", "HTTP/1.1 20 x", "ICY 200 OK", "SSH-2.0-x", "HTTP/1.1 200 \x00"]
    )
    lines, framed = _framed(rng, [f"Content-Type: {kind}"], body)
    while rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(_NASTY_HEADERS))
    raw = "\r\n".join([status, *lines, "", ""]).encode("latin-1", "replace") + framed
    return wrong_bytes(raw, rng) if rng.random() < 0.2 else raw


def _event(rng: random.Random) -> bytes:
    data = mutated(rng)
    lines = [b"data: " + part for part in data.split(b"\n")]
    while rng.random() < 0.4:
        extra = [
            b"id: \x00",
            b"id: 7",
            b"retry: 99999999999999999999",
            b"retry: 0",
            b"event: \xff",
            b": c",
            b"data",
        ]
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(extra))
    end = rng.choice([b"\n", b"\r\n", b"\r"])
    raw = end.join(lines) + end + end
    return raw[: rng.randrange(len(raw))] if rng.random() < 0.1 else raw
