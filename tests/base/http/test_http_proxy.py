"""The proxy of the environment, and requests through it: the whole URL for HTTP, a tunnel for HTTPS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trustme

from faultkit.base.errors import InputError
from faultkit.base.http.http_client import HttpClient
from faultkit.base.http.http_proxy import HttpProxy, environment_proxy, parse_proxy
from faultkit.base.http.http_url import parse_url

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
Streams = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.mark.parametrize(
    ("written", "proxy"),
    [
        ("http://127.0.0.1:3180", HttpProxy("127.0.0.1", 3180)),
        ("proxy.test:3128", HttpProxy("proxy.test", 3128)),
        ("http://proxy.test", HttpProxy("proxy.test", 80)),
        ("http://me:p%40ss@proxy.test:1", HttpProxy("proxy.test", 1, "Basic bWU6cEBzcw==")),
    ],
)
def test_an_address_of_a_proxy_is_parsed(written: str, proxy: HttpProxy) -> None:
    assert parse_proxy(written) == proxy


@pytest.mark.parametrize("written", ["socks5://proxy.test:1080", "https://proxy.test", "http://:1"])
def test_a_proxy_that_does_not_speak_plain_http_is_refused(written: str) -> None:
    with pytest.raises(InputError):
        parse_proxy(written)


@pytest.mark.parametrize(
    ("url", "proxies", "host"),
    [
        ("http://a.test/", {"http": "p.test:1"}, "p.test"),
        ("https://a.test/", {"http": "p.test:1"}, None),
        ("https://a.test/", {"https": "p.test:1"}, "p.test"),
        ("https://a.test/", {"all": "p.test:1"}, "p.test"),
        ("http://127.0.0.1:80/", {"http": "p.test:1"}, "p.test"),
        ("http://a.test/", {"http": "p.test:1", "no": "b.test,a.test"}, None),
        ("http://x.a.test/", {"http": "p.test:1", "no": ".a.test"}, None),
        ("http://a.test:8080/", {"http": "p.test:1", "no": "a.test:8080"}, None),
        ("http://a.test/", {"http": "p.test:1", "no": "*"}, None),
        ("http://a.test/", {}, None),
    ],
)
def test_the_environment_names_the_proxy_of_a_url(
    url: str, proxies: dict[str, str], host: str | None
) -> None:
    found = environment_proxy(parse_url(url), proxies)
    assert (None if found is None else found.host) == host


@asynccontextmanager
async def serving(handle: Streams, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


def answering(heads: list[bytes], answer: bytes = OK) -> Streams:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()

    return handle


async def get(client: HttpClient) -> tuple[int, bytes]:
    try:
        reply = await client.request("GET", (), b"")
        return reply.status, await reply.body(100)
    finally:
        client.close()


def test_a_plain_request_asks_the_proxy_for_the_whole_url() -> None:
    async def scenario() -> list[bytes]:
        heads: list[bytes] = []
        async with serving(answering(heads)) as port:
            proxy = HttpProxy("127.0.0.1", port, "Basic eA==")
            client = HttpClient("http://shop.test:81/a?b=c", proxy_for=lambda url: proxy)
            assert await get(client) == (200, b"hi")
        return heads

    (head,) = asyncio.run(scenario())
    assert head.splitlines()[:3] == [
        b"GET http://shop.test:81/a?b=c HTTP/1.1",
        b"host: shop.test:81",
        b"proxy-authorization: Basic eA==",
    ]


def test_a_tls_request_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    its_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("shop.test").configure_cert(its_side)
    our_side = ssl.create_default_context()
    authority.configure_trust(our_side)
    monkeypatch.setattr(ssl, "create_default_context", lambda: our_side)
    heads: list[bytes] = []

    async def scenario() -> None:
        async with serving(answering(heads), its_side) as origin_port:

            async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                origin_reader, origin_writer = await asyncio.open_connection("127.0.0.1", origin_port)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(copy(reader, origin_writer), copy(origin_reader, writer))

            async with serving(tunnel) as port:
                proxy = HttpProxy("127.0.0.1", port)
                client = HttpClient("https://shop.test/a", proxy_for=lambda url: proxy)
                assert await get(client) == (200, b"hi")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while part := await reader.read(65536):
                writer.write(part)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    asyncio.run(scenario())
    assert heads[0] == b"CONNECT shop.test:443 HTTP/1.1\r\nhost: shop.test:443\r\n\r\n"
    assert heads[1].startswith(b"GET /a HTTP/1.1\r\nhost: shop.test\r\n")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "the proxy answered 407 to CONNECT shop.test:443",
        ),
        (b"nonsense\r\n\r\n", "the proxy answered without a status to CONNECT shop.test:443"),
        (b"", "the proxy closed the connection before it answered CONNECT"),
    ],
)
def test_a_proxy_that_refuses_is_an_os_error(answer: bytes, problem: str) -> None:
    async def scenario() -> None:
        async with serving(answering([], answer)) as port:
            proxy = HttpProxy("127.0.0.1", port)
            await get(HttpClient("https://shop.test/", proxy_for=lambda url: proxy))

    with pytest.raises(OSError, match=f"^{problem}$"):
        asyncio.run(scenario())


def test_a_client_that_keeps_no_connections_opens_one_for_each_request() -> None:
    async def scenario() -> list[bytes]:
        heads: list[bytes] = []
        async with serving(answering(heads)) as port:
            client = HttpClient(f"http://127.0.0.1:{port}/", most_kept=0)
            for _ in range(2):
                assert await get(client) == (200, b"hi")
        return heads

    assert len(asyncio.run(scenario())) == 2


def test_a_proxy_that_cannot_be_reached_is_an_os_error(closed_port: int) -> None:
    proxy = HttpProxy("127.0.0.1", closed_port)
    with pytest.raises(OSError):
        asyncio.run(get(HttpClient("https://shop.test/", proxy_for=lambda url: proxy)))
