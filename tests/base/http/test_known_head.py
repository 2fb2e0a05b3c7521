"""Heads that were parsed before: what is recognised means the same, and all else is left to the parser."""

from __future__ import annotations

import asyncio

import pytest

from faultkit.base.http.http_client import HttpClient
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import RequestLimits
from faultkit.base.http.known_head import known_head
from tests.base.http.test_http_server import run, served

BEGIN, END = b"POST /a HTTP/1.1\r\nContent-Length:  ", b" \r\nX-One: 1\r\n\r\n"
LINES = [("Content-Length", "3"), ("X-One", "1")]
HEADERS = {"content-length": "3", "x-one": "1"}
FIRST = BEGIN + b"3 \r\nX-One: 1\r\n\r\nabc"


def test_messages_that_differ_in_length_and_body_alone_have_the_same_head() -> None:
    message = FIRST.replace(b"3 \r\n", b"3\r\n")
    memo: dict[object, object] = {}
    head = known_head(message, LINES, HEADERS, memo)
    assert head is not None
    assert head.take(message) == (LINES, HEADERS, b"abc")
    taken = head.take(message.replace(b"3\r\n", b"12\r\n") + b"defghijkl")
    assert taken is not None
    lines, headers, body = taken
    assert lines == [("Content-Length", "12"), ("X-One", "1")]
    assert headers == {"content-length": "12", "x-one": "1"}
    assert body == b"abcdefghijkl"
    assert HEADERS["content-length"] == "3"
    assert head.memo is memo


@pytest.mark.parametrize(
    "data",
    [
        b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nX-One: 1\r\n\r\nabcd",
        b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nX-One: 1\r\n\r\nab",
        b"POST /a HTTP/1.1\r\nContent-Length: +3\r\nX-One: 1\r\n\r\nabc",
        b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nX-One: 2\r\n\r\nabc",
        b"POST /b HTTP/1.1\r\nContent-Length: 3\r\nX-One: 1\r\n\r\nabc",
        b"POST /a HTTP/1.1\r\nContent-Length: \r\nX-One: 1\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: 3",
        b"POST",
    ],
)
def test_other_bytes_are_not_recognised(data: bytes) -> None:
    message = b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nX-One: 1\r\n\r\nabc"
    head = known_head(message, LINES, HEADERS, {})
    assert head is not None
    assert head.take(data) is None


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (FIRST, HEADERS),  # Blanks after the length.
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", {"host": "a"}),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
            {"transfer-encoding": "x"},
        ),
        (b"\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na", {"content-length": "1"}),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n\r\n\r\n", {"content-length": "2"}),
    ],
    ids=["blanks", "no length", "chunked", "blank lines first", "blank line behind"],
)
def test_a_message_that_a_length_alone_does_not_frame_is_not_kept(
    message: bytes, headers: dict[str, str]
) -> None:
    assert known_head(message, LINES, headers, {}) is None


def test_the_server_recognises_the_heads_of_one_connection_and_parses_all_else() -> None:
    seen: list[tuple[str, str, bytes, int]] = []

    def handler(request: HttpRequest, answer: ResponseWriter) -> None:
        request.memo["calls"] = request.memo.get("calls", 0) + 1
        seen.append((request.target, request.headers["x-one"], request.body, request.memo["calls"]))
        answer.respond(200, (), request.body)

    def asked(target: bytes, body: bytes, one: bytes = b"1") -> bytes:
        return b"POST %b HTTP/1.1\r\nx-one: %b\r\ncontent-length: %d\r\n\r\n%b" % (
            target,
            one,
            len(body),
            body,
        )

    async def main() -> None:
        async with served(handler, RequestLimits(body_bytes=8)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            whole = (asked(b"/a", b"1"), asked(b"/a", b"22"), asked(b"/b", b"3"), asked(b"/b", b"4", b"2"))
            for data in whole:
                writer.write(data)
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(data.count(data[-1:], data.index(b"\r\n\r\n")))
            two = asked(b"/b", b"5", b"2")
            writer.write(two + two)
            for _ in range(2):
                await reader.readuntil(b"\r\n\r\n5")
            writer.write(asked(b"/b", b"", b"2"))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(asked(b"/b", b"too much!", b"2"))
            assert b" 413 " in await reader.readuntil(b"\r\n")
            writer.close()

    run(main)
    assert seen == [
        ("/a", "1", b"1", 1),
        ("/a", "1", b"22", 2),
        ("/b", "1", b"3", 1),
        ("/b", "2", b"4", 1),
        ("/b", "2", b"5", 1),
        ("/b", "2", b"5", 1),
        ("/b", "2", b"", 2),
    ]


def test_the_client_recognises_the_heads_of_one_connection() -> None:
    def handler(request: HttpRequest, answer: ResponseWriter) -> None:
        answer.respond(int(request.body[:3]), [("x-one", "1")], request.body[3:])

    async def main() -> None:
        async with served(handler) as port:
            client = HttpClient(f"http://127.0.0.1:{port}/")
            got = []
            for body in (b"200a", b"200bb", b"404c", b"404c", b"200"):
                reply = await client.request("POST", [], body)
                reply.memo["calls"] = reply.memo.get("calls", 0) + 1
                text = await reply.body(100)
                got.append((reply.status, reply.headers["content-length"], text, reply.memo["calls"]))
                reply.close()
            client.close()
        assert got == [
            (200, "1", b"a", 1),
            (200, "2", b"bb", 2),
            (404, "1", b"c", 1),
            (404, "1", b"c", 2),
            (200, "0", b"", 1),
        ]

    run(main)
