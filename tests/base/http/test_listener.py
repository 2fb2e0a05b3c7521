"""A listener accepts no more than its limit, and rests when descriptors run out."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import socket
import ssl
from pathlib import Path

import pytest

from faultkit.base.certificates import add_certificate, client_context, mutual_tls
from faultkit.base.http import listener as listener_module
from faultkit.base.http.listener import MOST_CONNECTIONS, Listener, most_connections
from tests.proxy.control.certificates import Certificates


def bound() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")


async def greeted(address: tuple[str, int]) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection(*address)
    assert await reader.readexactly(5) == b"hello"
    return writer


def test_connections_above_the_limit_wait_until_others_end(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        sock = bound()
        listener = Listener([sock], Echo, most=2)
        listener.start(100)
        address = sock.getsockname()
        first, second = await greeted(address), await greeted(address)
        third = asyncio.create_task(greeted(address))
        done, _ = await asyncio.wait([third], timeout=0.2)
        assert not done
        first.close()
        (await third).close()
        second.close()
        (await greeted(address)).close()
        listener.close()
        sock.close()

    asyncio.run(main())
    assert caplog.messages == ["new connections wait: 2 are open"]


class Exhausted(socket.socket):
    """A socket that cannot accept for want of descriptors, a few times."""

    tries = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.tries += 1
        if self.tries <= 3:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_lack_of_descriptors_is_told_once_and_tried_again_later(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "_FAILURE_REST_S", 0.01)

    async def main() -> int:
        sock = Exhausted()
        sock.bind(("127.0.0.1", 0))
        listener = Listener([sock], Echo)
        listener.start(100)
        (await greeted(sock.getsockname())).close()
        listener.close()
        sock.close()
        return sock.tries

    # One try for each rest, the connection, and one that finds no other.
    assert asyncio.run(main()) <= 5
    assert caplog.messages == ["new connections wait: too many open files"]


def test_a_closed_listener_accepts_no_more() -> None:
    async def main() -> None:
        sock = bound()
        listener = Listener([sock], Echo)
        listener.start(100)
        listener.close()
        listener.close()
        _, writer = await asyncio.open_connection(*sock.getsockname())
        writer.close()
        sock.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(4, 8), (64, 48), (1024, 768), (1 << 20, MOST_CONNECTIONS), (resource.RLIM_INFINITY, MOST_CONNECTIONS)],
)
def test_the_limit_leaves_descriptors_for_other_things(
    descriptors: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (descriptors, descriptors))
    assert most_connections() == most


def test_a_failed_handshake_takes_no_place_of_another_connection(tmp_path: Path) -> None:
    authority = Certificates(tmp_path)
    server = mutual_tls(*authority.issue("localhost"), authority.ca).context
    client = client_context(authority.ca)
    add_certificate(client, *authority.issue("client.test", file="client"))

    async def main() -> None:
        sock = bound()
        listener = Listener([sock], Echo, most=1, tls=server)
        listener.start(100)
        host, port = sock.getsockname()
        for junk in (b"GET / HTTP/1.1\r\n\r\n", b""):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(junk)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            # With TLS 1.3, the client learns only afterwards that it needs a certificate.
            reader, writer = await asyncio.open_connection(
                "localhost", port, ssl=client_context(authority.ca), family=socket.AF_INET
            )
            await reader.readexactly(5)
        reader, writer = await asyncio.open_connection("localhost", port, ssl=client, family=socket.AF_INET)
        assert await reader.readexactly(5) == b"hello"
        writer.transport.abort()
        listener.close()
        sock.close()

    asyncio.run(main())
