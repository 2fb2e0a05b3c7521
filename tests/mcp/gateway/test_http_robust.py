"""Upstreams and clients over HTTP that refuse, reset, cut short, drip, sleep or send nonsense."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.http.http_server import RequestLimits
from faultkit.mcp.wire.http_front import HttpFront
from tests.mcp.gateway.gateway_peers import (
    http_answer,
    http_request,
    on_pipes,
    relayed,
    request,
    run,
    scripted,
    to_url,
)
from tests.mcp.gateway.gateway_processes import FAULT, listening
from tests.mcp.gateway.test_bytes import CONTENT, INITIALIZE
from tests.mcp.gateway.test_stdio_robust import rss_mib
from tests.mcp.wire.tool_service import Tools

REPLY = b'{"jsonrpc":"2.0","id":1,"result":{"x":"0123456789"}}'
SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

Upstream = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def says_nothing(writer: asyncio.StreamWriter) -> None:
    """Close the connection without an answer."""


async def resets(writer: asyncio.StreamWriter) -> None:
    reset(writer)


async def cuts_the_body(writer: asyncio.StreamWriter) -> None:
    writer.write(http_answer(REPLY)[:-10])


async def cuts_the_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(SSE + chunk(b"data: half an ev"))


async def resets_the_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(SSE + chunk(b": hello\n\n"))
    await writer.drain()
    await asyncio.sleep(0.05)
    reset(writer)


async def speaks_no_http(writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")


BREAKS: list[tuple[Any, str, bool, bytes]] = [
    (says_nothing, "the connection was closed", False, b""),
    (resets, "the connection was reset", True, b""),
    (cuts_the_body, "the connection was closed", False, REPLY[:-10]),
    (cuts_the_stream, "the connection was closed", False, b"data: half an ev"),
    (resets_the_stream, "the connection was reset", True, b": hello\n\n"),
    (speaks_no_http, "", False, b""),
]


@pytest.mark.parametrize(
    ("how", "why", "is_reset", "got"), BREAKS, ids=lambda value: getattr(value, "__name__", "")
)
@pytest.mark.parametrize("earlier", [0, 1], ids=["new", "kept"])
def test_a_client_sees_its_upstream_break_as_it_would_without_us(
    how: Callable[[asyncio.StreamWriter], Awaitable[None]], why: str, is_reset: bool, got: bytes, earlier: int
) -> None:
    calls = 0

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        for _ in range(earlier):
            await http_request(reader)
            writer.write(http_answer(REPLY))
        await http_request(reader)
        calls += 1
        await how(writer)

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            for _ in range(earlier):
                await (await client.request("POST", CONTENT, request(0, "a"))).body(1000)
            seen = b""
            with pytest.raises(ConnectionLost) as lost:
                reply = await client.request("POST", CONTENT, request(1, "tools/call", name="a"))
                while part := await reply.chunk():
                    seen += part
            assert (lost.value.reset, seen) == (is_reset, got)
            assert calls == 1

    run(main)


@pytest.mark.parametrize(
    ("how", "why", "is_reset", "got"), BREAKS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_client_on_pipes_learns_how_its_upstream_broke(
    how: Callable[[asyncio.StreamWriter], Awaitable[None]], why: str, is_reset: bool, got: bytes
) -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        await how(writer)

    async def main() -> None:
        async with scripted(upstream) as url, on_pipes(to_url(url)) as client:
            client.say(request(1, "tools/call", name="a"))
            answer = await client.message()
            assert (answer["id"], answer["error"]["code"]) == (1, -32000)
            assert answer["error"]["message"].startswith(f"the upstream's connection was lost: {why}")
            assert answer["error"]["data"] == {"reset": is_reset}

    run(main)


def test_a_request_on_a_kept_connection_is_never_sent_twice() -> None:
    bodies: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(2):
            bodies.append((await http_request(reader))[1])
            if number == 1:
                # It has received the call, and exits.
                return
            writer.write(http_answer(REPLY))

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            await (await client.request("POST", CONTENT, request(1, "a"))).body(1000)
            with pytest.raises(ConnectionLost):
                await client.request("POST", CONTENT, request(2, "tools/call", name="pay"))
            assert len(bodies) == 2

    run(main)


def test_an_upstream_that_closes_idle_connections_costs_no_request() -> None:
    calls = 0

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        await http_request(reader)
        calls += 1
        writer.write(http_answer(REPLY))

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            for _ in range(5):
                reply = await client.request("POST", CONTENT, request(1, "a"))
                assert await reply.body(1000) == REPLY
            assert calls == 5

    run(main)


def test_an_unreachable_upstream_is_502_or_a_json_rpc_error(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/mcp"

    async def main() -> None:
        async with relayed(url) as client:
            reply = await client.request("POST", CONTENT, request(1, "a"))
            assert reply.status == 502
            assert (await reply.body(1000)).startswith(f"cannot reach {url}: ".encode())
        async with on_pipes(to_url(url)) as client:
            client.say(request(1, "a"))
            error = (await client.message())["error"]
            assert error["code"] == -32000
            assert error["message"].startswith(f"cannot reach {url}: ")

    run(main)


@pytest.mark.parametrize(
    ("answer", "message", "data"),
    [
        (http_answer(b"no", b"401 Unauthorized"), "the upstream answered 401", {"status": 401}),
        (
            http_answer(b"slow down", b"429 Too Many Requests", b"retry-after: 7"),
            "the upstream answered 429",
            {"status": 429, "retryAfter": "7"},
        ),
        (
            http_answer(b"<html>"),
            "the upstream answered something that is no JSON-RPC message, with 200",
            {"status": 200},
        ),
        (SSE + b"0\r\n\r\n", "the upstream's stream ended without a reply", None),
    ],
)
def test_a_client_on_pipes_learns_what_its_upstream_answered(
    answer: bytes, message: str, data: object
) -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        writer.write(answer)
        await reader.read()

    async def main() -> None:
        async with scripted(upstream) as url, on_pipes(to_url(url)) as client:
            client.say(request(1, "a"))
            error = (await client.message())["error"]
            assert (error["message"], error.get("data")) == (message, data)

    run(main)


def test_a_stream_that_breaks_is_gone_on_with_where_the_server_allows_it() -> None:
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await http_request(reader)
        heads.append(head)
        if len(heads) == 1:
            writer.write(SSE + chunk(b"id: 4\nretry: 10\ndata:\n\n") + b"0\r\n\r\n")
        elif len(heads) == 2:
            note = b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'
            writer.write(SSE + chunk(b"id: 5\n" + note))
        else:
            writer.write(SSE + chunk(b"id: 6\ndata: " + REPLY + b"\n\n") + b"0\r\n\r\n")
        await writer.drain()

    async def main() -> None:
        async with scripted(upstream) as url, on_pipes(to_url(url)) as client:
            client.say(request(1, "tools/call", name="a"))
            assert (await client.message())["method"] == "notifications/x"
            assert await client.line() == REPLY
        assert b"last-event-id: 4\r\n" in heads[1]
        assert b"last-event-id: 5\r\n" in heads[2]

    run(main)


def test_a_result_of_20_mb_passes_as_one_event() -> None:
    whole = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"x" * (20 << 20) + b'"}}'

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await http_request(reader)
            writer.write(SSE)
            event = b"data: " + whole + b"\n\n"
            for start in range(0, len(event), 65_536):
                writer.write(chunk(event[start : start + 65_536]))
                await writer.drain()
            writer.write(b"0\r\n\r\n")

    async def main() -> None:
        async with scripted(upstream) as url:
            async with on_pipes(to_url(url)) as client:
                client.say(request(1, "tools/call", name="a"))
                assert await client.line() == whole
            async with relayed(url) as over_http:
                reply = await over_http.request("POST", CONTENT, request(1, "tools/call", name="a"))
                assert await reply.body(1 << 25) == b"data: " + whole + b"\n\n"

    run(main)


@pytest.mark.parametrize("begun", [True, False], ids=["in the answer", "before it"])
@pytest.mark.parametrize("earlier", [0, 1], ids=["new", "kept"])
def test_an_upstream_sees_its_client_leave(earlier: int, begun: bool) -> None:
    async def main() -> None:
        gone, asked = asyncio.Event(), asyncio.Event()

        async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(earlier):
                await http_request(reader)
                writer.write(http_answer(REPLY))
            await http_request(reader)
            if begun:
                writer.write(SSE)
            asked.set()
            assert await reader.read() == b""
            gone.set()

        async with scripted(upstream) as url, relayed(url) as client:
            for _ in range(earlier):
                await (await client.request("POST", CONTENT, request(0, "a"))).body(1000)
            task = asyncio.create_task(client.request("POST", CONTENT, request(1, "a")))
            await asked.wait()
            if begun:
                (await task).close()
            else:
                task.cancel()
            await gone.wait()

    run(main)


ANSWERS = [
    http_answer(REPLY),
    SSE + chunk(b"data: %b\n\n" % REPLY) + chunk(b""),
    http_answer(b"", b"202 Accepted"),
    b"HTTP/1.1 204 No Content\r\n\r\n",
    http_answer(REPLY, b"200 OK", b"connection: close"),
    http_answer(b"a" * 300_000),
]


@pytest.mark.parametrize("pieces", [1, 3])
def test_answers_on_kept_connections_pass_whole_and_in_pieces(pieces: int) -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            raw = ANSWERS[json.loads((await http_request(reader))[1])["id"]]
            size = len(raw) // pieces + 1
            for start in range(0, len(raw), size):
                writer.write(raw[start : start + size])
                await writer.drain()
                await asyncio.sleep(0)

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            direct = HttpClient(url)
            for number in [*range(len(ANSWERS)), *range(len(ANSWERS))]:
                expected, got = [
                    await each.request("POST", CONTENT, request(number, "a")) for each in (direct, client)
                ]
                assert got.status == expected.status
                assert got.headers.get("content-type") == expected.headers.get("content-type")
                assert await got.body(1_000_000) == await expected.body(1_000_000)
            direct.close()

    run(main)


def test_a_client_that_drips_its_request_is_turned_away_and_others_are_served() -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await http_request(reader)
            writer.write(http_answer(REPLY))

    async def main() -> None:
        limits = RequestLimits(header_s=0.3)
        async with scripted(upstream) as url, relayed(url, limits=limits) as client:
            reader, writer = await asyncio.open_connection(client.host, client.port)
            writer.write(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            dripped = asyncio.create_task(reader.read())
            reply = await client.request("POST", CONTENT, request(1, "a"))
            assert await reply.body(1000) == REPLY
            while not dripped.done():
                writer.write(b"x-a: b\r\n")
                await asyncio.wait([dripped], timeout=0.05)
            assert dripped.result().startswith(b"HTTP/1.1 408 ")
            writer.close()

    run(main)


def test_a_client_that_does_not_read_makes_its_upstream_wait() -> None:
    piece = chunk(b"x" * (1 << 20))

    async def main() -> None:
        sent = 0
        stalled = asyncio.Event()

        async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            await http_request(reader)
            writer.write(SSE)
            for _ in range(200):
                writer.write(piece)
                try:
                    async with asyncio.timeout(0.5):
                        await writer.drain()
                except TimeoutError:
                    stalled.set()
                    await writer.drain()
                sent += 1
            writer.write(b"0\r\n\r\n")
            await writer.drain()

        async with scripted(upstream) as url, relayed(url) as client:
            reader, writer = await asyncio.open_connection(client.host, client.port)
            writer.write(b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            await reader.read(10)
            await stalled.wait()
            assert sent < 50
            read, data = 0, b""
            while not data.endswith(b"\r\n0\r\n\r\n"):
                data = await reader.read(1 << 20)
                read += len(data)
            writer.close()
            assert read > 200 << 20

    run(main)


def test_a_body_of_100_mb_is_refused_by_its_head() -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("this must not be requested")

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            reader, writer = await asyncio.open_connection(client.host, client.port)
            writer.write(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000000\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 413 ")
            writer.close()

    run(main)


@pytest.mark.slow
def test_a_thousand_idle_sessions_cost_little_and_the_next_call_is_answered() -> None:
    async def main() -> None:
        front = HttpFront(Tools())
        host, port = await front.start("127.0.0.1", 0)
        command = [*FAULT, "gateway", "--port", "0", "--upstream", f"http://{host}:{port}/mcp"]
        pid: list[int] = []
        with listening(command, "stderr", pid) as url:
            client = HttpClient(url)
            await _session(client)
            before = rss_mib(pid[0])
            streams = [await _session(client) for _ in range(1000)]
            after = rss_mib(pid[0])
            assert len(streams) == 1000
            print(f"1,000 idle sessions with a stream each: {before:.0f} MiB before, {after:.0f} MiB after")  # noqa: T201
            assert after - before < 60
            reply = await client.request("POST", CONTENT, INITIALIZE)
            assert reply.status == 200
            client.close()
        await front.stop()

    run(main, 60)


async def _session(client: HttpClient) -> Any:
    reply = await client.request("POST", CONTENT, INITIALIZE)
    assert json.loads(await reply.body(1000))["id"] == 0
    session = ("mcp-session-id", reply.headers["mcp-session-id"])
    stream = await client.request("GET", [session, ("accept", "text/event-stream")], b"")
    assert stream.status == 200
    return stream


def test_a_port_that_is_taken_is_exit_3() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*FAULT, "gateway", "--upstream", "http://127.0.0.1:9/mcp", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=10,
        )
    assert (done.returncode, done.stderr) == (
        3,
        f"error: cannot listen on 127.0.0.1:{port}: the port is taken\n",
    )
