"""A small HTTP/1.1 service, which the demo and the docs put behind the proxy.

    python -m examples.service [PORT]

`/` answers at once, `/page` answers with 60 kB. It prints its port and serves until it is stopped.
"""

from __future__ import annotations

import contextlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = {"/": b"hello\n", "/page": b"0123456789abcde\n" * 4096}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        page = PAGES.get(self.path)
        body = b"no such page\n" if page is None else page
        head = (
            f"HTTP/1.1 {404 if page is None else 200} {'Not Found' if page is None else 'OK'}\r\n"
            f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.wfile.write(head.encode() + body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # A fault may cut off a client at any time.


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with Service(("127.0.0.1", port), Handler) as server:
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
