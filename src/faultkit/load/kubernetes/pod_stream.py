"""The connection to the standard input and output of a pod, as two streams of text.

A thread moves bytes between the WebSocket of an attached pod and a pair of local sockets, whose other end is
read and written like a file. One thread alone uses the WebSocket: two must not read and write a TLS
connection at the same time.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from math import inf
from typing import Any, TextIO

_STDIN, _STDOUT, _STATUS = 0, 1, 3
_CHUNK = 65536
_FRAME_S = 10.0
"""Seconds in which the rest of a frame must come, or one must go out."""
_CHECK_S = 0.5


class PodStream:
    """The streams of one pod."""

    def __init__(self, websocket: Any) -> None:
        """Take over an open WebSocket (of websocket-client) that speaks `v4.channel.k8s.io`."""
        self.ended = ""
        """Why there is nothing more to read, if the pod did not simply end."""
        self._websocket = websocket
        self._websocket.settimeout(_FRAME_S)
        near, self._far = socket.socketpair()
        self._far.setblocking(True)
        self.output: TextIO = near.makefile("r", encoding="utf-8", errors="surrogateescape", newline="\n")
        self.input: TextIO = near.makefile("w", encoding="utf-8", newline="\n")
        self._near = near
        self._patience_s = inf
        self._read_at = time.monotonic()
        self._closed = threading.Event()
        self._pump = threading.Thread(target=self._move, name="fault-pod-stream", daemon=True)
        self._pump.start()

    def expect_within(self, seconds: float) -> None:
        """End the streams if the pod says nothing for so long, from now on and after each word of it."""
        self._read_at = time.monotonic()
        self._patience_s = seconds

    def close(self) -> None:
        """End both streams; a read under way returns. The pod's input ends with them."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._near.shutdown(socket.SHUT_RDWR)
        self._pump.join(_FRAME_S)
        for each in (self.input, self.output, self._near):
            with contextlib.suppress(OSError, ValueError):
                each.close()

    def _move(self) -> None:
        try:
            poll = select.poll()  # Not `select`: with many pods, descriptors are beyond its 1024.
            poll.register(self._websocket.sock, select.POLLIN)
            poll.register(self._far, select.POLLIN)
            while not self._closed.is_set():
                if self._pending():
                    from_pod, from_us = True, False
                else:
                    ready = {descriptor for descriptor, _ in poll.poll(1000 * _CHECK_S)}
                    from_pod, from_us = self._websocket.sock.fileno() in ready, self._far.fileno() in ready
                if from_pod and not self._take_frame():
                    return
                if from_us and not self._send_chunk():
                    return
                if time.monotonic() > self._read_at + self._patience_s:
                    self.ended = f"it said nothing for {self._patience_s:g} s"
                    return
        except Exception as error:  # Of websocket-client, ssl or a socket: for us all mean the same.
            if not self._closed.is_set():
                self.ended = f"the connection to it broke ({str(error) or type(error).__name__})"
        finally:
            with contextlib.suppress(Exception):
                self._websocket.close(timeout=1)
            self._websocket.shutdown()  # After a close frame of the server, the socket is still open.
            with contextlib.suppress(OSError):
                self._far.shutdown(socket.SHUT_RDWR)
            self._far.close()

    def _pending(self) -> bool:
        """Return whether bytes are read already and wait inside of TLS, where `select` does not see them."""
        pending = getattr(self._websocket.sock, "pending", None)
        return pending is not None and pending() > 0

    def _take_frame(self) -> bool:
        """Pass on what the pod wrote; return False at the end of the stream."""
        opcode, frame = self._websocket.recv_data_frame(True)
        if opcode == frame.OPCODE_CLOSE:
            return False
        if opcode in (frame.OPCODE_BINARY, frame.OPCODE_TEXT) and frame.data:
            channel, data = frame.data[0], frame.data[1:]
            if channel == _STDOUT and data:
                self._far.sendall(data)
                self._read_at = time.monotonic()  # Only now: a slow reader here is no silence of the pod.
            if channel == _STATUS:  # The last word: how the attachment ended.
                return False
        return True

    def _send_chunk(self) -> bool:
        """Send what was written here; return False at the end of the input."""
        data = self._far.recv(_CHUNK)
        if not data:
            return False
        self._websocket.send_binary(bytes([_STDIN]) + data)
        return True
