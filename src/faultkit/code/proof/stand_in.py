"""Something for a service to call when nothing else is named: it answers at once, and counts."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_BODY = b'{"id": 1, "userId": 1, "title": "an answer of the stand-in", "completed": false, "items": []}'


class StandIn:
    """A context manager."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def taken(self) -> int:
        """How many requests came since it was last asked."""
        with self._lock:
            count, self._count = self._count, 0
        return count

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                with stand_in._lock:
                    stand_in._count += 1
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(_BODY)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(_BODY)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
