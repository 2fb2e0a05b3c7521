"""`python -m bench.websocket_messages serve|send`: a WebSocket server that answers each message with the
same, and a client of it.

All messages have one size, so frames are made once and counted by their length (RFC 6455 §5.2): the two cost
little beside the relay between them. The client has several connections with one message in flight each. Kept
connections have had one answer when the line `ready` is printed. The last line is JSON.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
import time
from collections.abc import Sequence

_CONNECTIONS = 16
_MESSAGE = b"0123456789abcdef" * 2
_TEXT = 0x81
"""A whole text message."""
_MASK = b"mask"
_MASKED = bytes(byte ^ _MASK[index % 4] for index, byte in enumerate(_MESSAGE))
_REQUEST = bytes((_TEXT, 0x80 | len(_MESSAGE))) + _MASK + _MASKED
_ANSWER = bytes((_TEXT, len(_MESSAGE))) + _MESSAGE
_KEY = base64.b64encode(b"0123456789abcdef")
_ACCEPT = base64.b64encode(hashlib.sha1(_KEY + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
_OPENING = (
    b"GET /messages HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b\r\n\r\n" % _KEY
)
_AGREED = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Accept: %b\r\n\r\n" % _ACCEPT
)


class _Frames(asyncio.Protocol):
    """Frames of one size behind the head of an HTTP message."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._head: bytes | None = b""
        self._rest = 0
        self.transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        if self._head is not None:
            self._head += data
            head, found, data = self._head.partition(b"\r\n\r\n")
            if not found:
                return
            self._head = None
            self.opened(self.transport, head)
        count, self._rest = divmod(self._rest + len(data), self._size)
        if count:
            self.came(self.transport, count)

    def opened(self, transport: asyncio.WriteTransport, head: bytes) -> None:
        """Act on the head."""

    def came(self, transport: asyncio.WriteTransport, count: int) -> None:
        """Act on so many frames."""


class _Server(_Frames):
    def __init__(self) -> None:
        super().__init__(len(_REQUEST))

    def opened(self, transport: asyncio.WriteTransport, head: bytes) -> None:
        transport.write(_AGREED)

    def came(self, transport: asyncio.WriteTransport, count: int) -> None:
        transport.write(_ANSWER * count)


class _Client(_Frames):
    def __init__(self) -> None:
        super().__init__(len(_ANSWER))
        self.answers = 0
        self.failed = False
        self.first = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.write(_OPENING)

    def opened(self, transport: asyncio.WriteTransport, head: bytes) -> None:
        if b" 101 " in head.partition(b"\r\n")[0] and _ACCEPT in head:
            transport.write(_REQUEST)
        else:
            transport.close()

    def came(self, transport: asyncio.WriteTransport, count: int) -> None:
        self.answers += count
        transport.write(_REQUEST * count)
        if not self.first.done():
            self.first.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self.failed = True
        if not self.first.done():
            self.first.set_result(None)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", port)
    await server.serve_forever()


async def _send(port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(_Client, "127.0.0.1", port))[1] for _ in range(_CONNECTIONS)]
    await asyncio.gather(*(client.first for client in clients))
    print("ready", flush=True)
    began_s, before = time.monotonic(), sum(client.answers for client in clients)
    await asyncio.sleep(seconds)
    answers = sum(client.answers for client in clients) - before
    elapsed_us = (time.monotonic() - began_s) * 1e6
    failed = sum(client.failed for client in clients)
    print(json.dumps({"requests": answers, "errors": failed, "elapsed_us": elapsed_us}))


def main(arguments: Sequence[str] | None = None) -> int:
    match list(sys.argv[1:] if arguments is None else arguments):
        case ["serve", port]:
            asyncio.run(_serve(int(port)))
        case ["send", port, seconds]:
            asyncio.run(_send(int(port), float(seconds)))
        case _:
            print("bench.websocket_messages: expected serve PORT or send PORT SECONDS", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
