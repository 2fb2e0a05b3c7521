"""The containers of a stand-in for a node: each is a process of this machine, to whose streams one attaches.

What runs is the real command of the container; what is stood in for is the image, the isolation and the
network of a pod.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

PROTOCOL = "v4.channel.k8s.io"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
_STDIN, _STDOUT, _STATUS = 0, 1, 3


class PodProcess:
    """A container that runs."""

    def __init__(self, pod: dict[str, Any]) -> None:
        container = pod["spec"]["containers"][0]
        self.name: str = pod["metadata"]["name"]
        self.index = int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        env = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        self._process = subprocess.Popen(
            [sys.executable, *container["command"][1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **env},
            start_new_session=True,
        )
        self._attached = threading.Lock()
        self._message = ""

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code as a kubelet has it; None while it runs."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def message(self) -> str:
        """Return the end of what it wrote to its error output: `FallbackToLogsOnError`."""
        if not self._errors.closed:
            self._errors.seek(0)
            self._message = self._errors.read()[-2000:].decode("utf-8", "replace")
        return self._message

    @property
    def is_attached(self) -> bool:
        return self._attached.locked()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Kill it if it runs, and let go of its streams."""
        self._process.kill()
        self._process.wait()
        self.message()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()

    def serve_attachment(self, connection: WebSocketServer) -> None:
        """Move bytes between a WebSocket and the streams, until either ends. The input ends with the first
        attachment: `stdinOnce`."""
        if not self._attached.acquire(blocking=False):
            connection.send(_STATUS, b'{"status":"Failure","message":"its input is closed"}')
            return connection.close()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        theirs, its = connection.socket.fileno(), stdout.fileno()
        with contextlib.suppress(OSError, ValueError):
            while True:
                ready = select.select([theirs, its], [], [], 0.5)[0]
                if theirs in ready:
                    for payload in connection.receive():
                        if payload[:1] == bytes([_STDIN]):
                            stdin.write(payload[1:])
                            stdin.flush()
                    if connection.is_over:
                        break
                if its in ready:
                    data = os.read(its, 65536)
                    if not data:
                        connection.send(_STATUS, b'{"status":"Success"}')
                        break
                    connection.send(_STDOUT, data)
        with contextlib.suppress(OSError, ValueError):
            stdin.close()
        connection.close()


class WebSocketServer:
    """The server's side of one WebSocket, over the connection of an HTTP request. One thread uses it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        key = handler.headers["Sec-WebSocket-Key"].encode()
        accept = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header("Sec-WebSocket-Accept", accept)
        handler.send_header("Sec-WebSocket-Protocol", PROTOCOL)
        handler.end_headers()
        handler.close_connection = True
        self.socket: socket.socket = handler.connection
        self.is_over = False
        self._bytes = bytearray()

    def receive(self) -> Iterator[bytes]:
        """Read what has come, and yield the payload of each whole frame with data."""
        while True:
            data = self.socket.recv(65536)
            self._bytes += data
            self.is_over = self.is_over or not data
            if not data or not getattr(self.socket, "pending", int)():  # More may wait inside of TLS.
                break
        while (frame := self._frame()) is not None:
            opcode, payload = frame
            if opcode == _CLOSE:
                self.is_over = True
            elif opcode == _PING:
                self._send(_PONG, payload)
            elif opcode != _PONG:
                yield payload

    def _frame(self) -> tuple[int, bytes] | None:
        """Take the next frame off what has come; None if it is not whole."""
        if len(self._bytes) < 2:
            return None
        opcode, size, at = self._bytes[0] & 15, self._bytes[1] & 127, 2
        if size == 126:
            size, at = int.from_bytes(self._bytes[2:4], "big"), 4
        elif size == 127:
            size, at = int.from_bytes(self._bytes[2:10], "big"), 10
        if len(self._bytes) < at + 4 + size:
            return None
        mask, masked = self._bytes[at : at + 4], self._bytes[at + 4 : at + 4 + size]
        del self._bytes[: at + 4 + size]
        return opcode, bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked))

    def send(self, channel: int, data: bytes) -> None:
        """Send data of a channel."""
        self._send(_BINARY, bytes([channel]) + data)

    def close(self) -> None:
        """Say that it is over."""
        with contextlib.suppress(OSError, ValueError):
            self._send(_CLOSE, struct.pack("!H", 1000))

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        head = bytes([128 | opcode])
        if size < 126:
            head += bytes([size])
        elif size < 65536:
            head += struct.pack("!BH", 126, size)
        else:
            head += struct.pack("!BQ", 127, size)
        self.socket.sendall(head + payload)
