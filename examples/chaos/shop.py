"""A small web shop that reads its products from PostgreSQL.

    python -m examples.chaos.shop PORT DATABASE_URL [--fallback]

`GET /products` answers with the products of the database. Without the database, the plain shop answers 503;
with `--fallback` it answers with the products that it read last, marked as such. It serves until stopped.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

PATIENCE_S = 2
"""Time limit of one connection to the database, in seconds."""


class Shop(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, database: str, fallback: bool) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.database = database
        self.fallback = fallback
        self.last: list[str] | None = None

    def products(self) -> list[str]:
        with psycopg.connect(self.database, connect_timeout=PATIENCE_S) as connection:
            rows = connection.execute("SELECT name FROM products ORDER BY name").fetchall()
        self.last = [str(name) for (name,) in rows]
        return self.last


class Handler(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        if self.path != "/products":
            self._answer(404, {"error": "no such page"})
            return
        try:
            self._answer(200, {"products": self.server.products(), "stale": False})
        except psycopg.OperationalError:
            if self.server.fallback and self.server.last is not None:
                self._answer(200, {"products": self.server.last, "stale": True})
            else:
                self._answer(503, {"error": "the database cannot be reached"})

    def _answer(self, status: int, said: dict[str, object]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    port, database, *flags = sys.argv[1:]
    with Shop(int(port), database, "--fallback" in flags) as shop:
        shop.serve_forever()


if __name__ == "__main__":
    main()
