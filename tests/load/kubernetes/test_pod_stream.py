"""The streams of a pod over a real WebSocket, and their end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from kubernetes.stream.ws_client import WebSocket

from faultkit.load.kubernetes.pod_stream import PodStream
from tests.load.kubernetes.pod_processes import PROTOCOL, WebSocketServer

_STDOUT, _STATUS = 1, 3
Serve = Callable[[WebSocketServer], None]


@contextmanager
def attached(serve: Serve) -> Iterator[WebSocket]:
    """Connect to a server whose side of the connection is `serve`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            serve(WebSocketServer(self))

        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        websocket = WebSocket()
        url = f"ws://127.0.0.1:{server.server_address[1]}/"
        websocket.connect(url, header=[f"sec-websocket-protocol: {PROTOCOL}"])
        yield websocket
        thread.join()


def closing(connection: WebSocketServer) -> None:
    connection.close()


def ending(connection: WebSocketServer) -> None:
    connection.send(_STATUS, b"{}")
    connection.close()


def vanishing(connection: WebSocketServer) -> None:
    """End without a word."""


@pytest.mark.parametrize("serve", [closing, ending, vanishing])
def test_the_socket_is_closed_however_the_pod_ends(serve: Serve) -> None:
    def speak(connection: WebSocketServer) -> None:
        connection.send(_STDOUT, b"ready\n")
        serve(connection)

    with attached(speak) as websocket:
        stream = PodStream(websocket)
        assert [stream.output.readline(), stream.output.readline()] == ["ready\n", ""]
        stream.close()
    assert websocket.sock is None
