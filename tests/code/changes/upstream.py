"""An HTTP server on loopback that follows a script, request by request, and then answers with success."""

from __future__ import annotations

import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE_S = 20.0


class Upstream:
    """The server; its script and the paths of its requests."""

    def __init__(self) -> None:
        self.script: list[str] = []
        """Behaviours for one request each: `500`, `reset` or `hang`."""
        self.paths: list[str] = []
        self.released = threading.Event()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                upstream.paths.append(self.path)
                upstream.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        word = self.script.pop(0) if self.script else "ok"
        if word == "reset":
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            request.close_connection = True
            return
        if word == "hang":
            self.released.wait(PATIENCE_S)
            request.close_connection = True
            return
        body = json.dumps({"id": 1}).encode()
        request.send_response(500 if word == "500" else 200)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join(PATIENCE_S)
        self._server.server_close()
