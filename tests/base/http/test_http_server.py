"""The HTTP/1.1 server and client: regular use, deliberate faults, and limits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import Handler, HttpServer, RequestLimits

WITHIN_S = 20.0


@asynccontextmanager
async def served(handler: Handler, limits: RequestLimits | None = None) -> AsyncIterator[int]:
    server = HttpServer(handler, limits)
    _, port = await server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await server.stop()


async def raw_exchange(port: int, data: bytes) -> bytes:
    """Return what is received until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    async with asyncio.timeout(WITHIN_S):
        answer = await reader.read(-1)
    writer.close()
    return answer


def run(main: Callable[[], object]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await main()  # type: ignore[misc]

    asyncio.run(bounded())


def say(request: HttpRequest, answer: ResponseWriter) -> None:
    answer.respond(200, [("x-method", request.method)], request.target.encode() + b"|" + request.body)


def test_requests_sent_ahead_are_answered_in_order() -> None:
    async def main() -> None:
        held: list[ResponseWriter] = []

        def handler(request: HttpRequest, answer: ResponseWriter) -> None:
            if request.path == "/first":
                held.append(answer)
                asyncio.get_running_loop().call_later(0.05, say, request, answer)
            else:
                say(request, answer)

        async with served(handler) as port:
            both = b"GET /first HTTP/1.1\r\nhost: a\r\n\r\nGET /second HTTP/1.1\r\nconnection: close\r\n\r\n"
            answer = await raw_exchange(port, both)
        assert answer.index(b"/first|") < answer.index(b"/second|")

    run(main)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"what is this\r\n\r\n", b" 400 "),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 5000 + b"\r\n\r\n", b" 431 "),
        (b"POST / HTTP/1.1\r\ncontent-length: 5000\r\n\r\n", b" 413 "),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n" + b"z" * 2000, b" 413 "),
        (b"POST / HTTP/1.1\r\ncontent-length: 20\r\n\r\nhalf", b" 408 "),
        (b"GET / HT", b" 408 "),
    ],
)
def test_requests_beyond_the_limits_are_refused_and_the_connection_ends(data: bytes, status: bytes) -> None:
    async def main() -> None:
        async with served(say, RequestLimits(header_bytes=4000, body_bytes=1000, header_s=0.2)) as port:
            assert status in (await raw_exchange(port, data)).partition(b"\r\n")[0]

    run(main)


OFFER = b"Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


@pytest.mark.parametrize(
    "framing",
    [b"Content-Length: 2\r\n\r\nhi", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"],
)
@pytest.mark.parametrize("pieces", [1, 2, 1000])
def test_an_offer_to_change_the_protocol_is_ignored(framing: bytes, pieces: int) -> None:
    """Java's HttpClient and `curl --http2` make it with each request."""
    offered = b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\n" + OFFER + framing
    data = offered + b"GET /b HTTP/1.1\r\n" + OFFER + b"\r\n" + b"GET /c HTTP/1.0\r\n\r\n"

    async def main() -> None:
        async with served(say) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            step = -(-len(data) // pieces)
            for start in range(0, len(data), step):
                writer.write(data[start : start + step])
                await writer.drain()
                await asyncio.sleep(0)
            answer = await reader.read(-1)
            writer.close()
        assert answer.count(b"HTTP/1.1 100 Continue\r\n\r\n") == 1
        answers = answer.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"").split(b"HTTP/1.1 200 OK\r\n")
        assert [each.partition(b"\r\n\r\n")[2] for each in answers] == [b"", b"/a|hi", b"/b|", b"/c|"]

    run(main)


def test_a_chunked_answer_and_a_cut_one_look_as_they_should() -> None:
    async def main() -> None:
        def handler(request: HttpRequest, answer: ResponseWriter) -> None:
            if request.path == "/cut":
                answer.begin_sized(200, [], 100)
                answer.write_sized(b"only this")
                answer.abort()
            else:
                answer.begin(200, [("content-type", "text/plain")])
                answer.write(b"one")
                answer.write(b"two!")
                answer.end()

        async with served(handler) as port:
            whole = await raw_exchange(port, b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")
            assert whole.endswith(b"\r\n\r\n3\r\none\r\n4\r\ntwo!\r\n0\r\n\r\n")
            cut = await raw_exchange(port, b"GET /cut HTTP/1.1\r\n\r\n")
            assert b"content-length: 100\r\n\r\nonly this" in cut
            client = HttpClient(f"http://127.0.0.1:{port}/cut")
            reply = await client.request("GET", (), b"")
            with pytest.raises(ConnectionLost, match="closed") as lost:
                await reply.body(1000)
            assert (lost.value.began, lost.value.reset) == (True, False)
            client.close()

    run(main)


def test_a_reset_reaches_the_client_as_a_reset() -> None:
    async def main() -> None:
        async with served(lambda request, answer: answer.abort(reset=True)) as port:
            with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as sock:
                sock.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(sock, b"GET / HTTP/1.1\r\n\r\n")
                with pytest.raises(ConnectionResetError):
                    await loop.sock_recv(sock, 100)
            client = HttpClient(f"http://127.0.0.1:{port}/")
            with pytest.raises(ConnectionLost, match="reset") as lost:
                await client.request("GET", (), b"")
            assert (lost.value.began, lost.value.reset) == (False, True)
            client.close()

    run(main)


def test_a_handler_learns_that_the_client_has_gone() -> None:
    async def main() -> None:
        gone = asyncio.Event()
        async with served(lambda request, answer: answer.on_disconnect(gone.set)) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()
            await gone.wait()

    run(main)


def test_the_client_uses_a_connection_again_and_outlives_its_end() -> None:
    async def main() -> None:
        peers: list[str] = []

        def handler(request: HttpRequest, answer: ResponseWriter) -> None:
            peers.append(request.peer)
            headers = [("connection", "close")] if request.path == "/last" else []
            answer.respond(200, headers, request.body)
            if request.path == "/last":
                answer._connection.abort(reset=False)

        async with served(handler) as port:
            client = HttpClient(f"http://127.0.0.1:{port}/")
            for target in ("/", "/", "/last", "/"):
                reply = await client.request("POST", [("x", "y")], b"body", target)
                assert (reply.status, await reply.body(100)) == (200, b"body")
            client.close()
        assert peers[0] == peers[1] == peers[2] != peers[3]

    run(main)


def test_a_reader_that_does_not_read_holds_the_writer_back() -> None:
    async def main() -> None:
        written: list[int] = []

        async def write_on(answer: ResponseWriter) -> None:
            answer.begin(200)
            while answer.is_open:
                answer.write(b"x" * 65536)
                written.append(65536)
                await answer.drained()

        tasks: list[asyncio.Task[None]] = []

        def handler(request: HttpRequest, answer: ResponseWriter) -> None:
            tasks.append(asyncio.get_running_loop().create_task(write_on(answer)))

        async with served(handler) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await reader.readline()
            before = -1
            while before != len(written):
                before = len(written)
                await asyncio.sleep(0.1)
            assert sum(written) < 64 << 20
            writer.close()
        await asyncio.gather(*tasks)

    run(main)
