"""A real HTTP/1.1 server that remembers what it was asked, in the clear or with TLS."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from faultkit.base.address import Endpoint


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Origin

    def do_GET(self) -> None:
        body = self._body()
        self.server.seen.append((self.command, self.path, self.headers.get("Host", "")))
        answer = f"{self.command} {self.path} {len(body)}".encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_POST = do_HEAD = do_PUT = do_GET

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: object) -> None:
        pass


class Origin(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, str, str]] = []
        self.status = 200
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # Clients that a fault cut off are the point of these tests.

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.server_port)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Origin]:
    with Origin(context) as origin:
        thread = threading.Thread(target=origin.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield origin
        finally:
            origin.shutdown()
            thread.join()
