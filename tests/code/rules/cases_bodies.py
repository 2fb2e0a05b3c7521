"""Bodies of any size, servers of sockets, and writes of query builders."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

WHOLE = "whole-file-loaded"
SOCKET = "socket-without-timeout"
WRITES = "writes-without-transaction"
LOCK = "lock-held-over-io"

CASES = [
    bad(WHOLE, "javascript", """
        const http = require('http');
        http.createServer((req, res) => {
          let body = '';
          req.on('data', (part) => { body += part; });
          req.on('end', () => res.end(handle(body)));
        });
        """, 4),
    good(WHOLE, "javascript", """
        const http = require('http');
        http.createServer((req, res) => {
          let body = '';
          req.on('data', (part) => {
            body += part;
            if (body.length > 1e6) req.destroy();
          });
          req.on('end', () => res.end(handle(body)));
        });
        """),
    bad(WHOLE, "typescript", """
        import multer from 'multer';
        export const upload = multer({ storage: multer.memoryStorage() });
        """, 2),
    good(WHOLE, "typescript", """
        import multer from 'multer';
        export const upload = multer({ storage: multer.memoryStorage(), limits: { fileSize: 5_000_000 } });
        """),
    bad(WHOLE, "rust", """
        async fn take(body: axum::body::Body) -> Result<Bytes, axum::Error> {
            axum::body::to_bytes(body, usize::MAX).await
        }
        """, 2),
    good(WHOLE, "rust", """
        async fn take(body: axum::body::Body) -> Result<Bytes, axum::Error> {
            axum::body::to_bytes(body, 1 << 20).await
        }
        """),
    bad(WHOLE, "kotlin", """
        import io.ktor.server.routing.post
        fun Route.uploads() {
            post("/files") {
                store(call.receive<ByteArray>())
            }
        }
        """, 4),
    bad(SOCKET, "javascript", """
        const net = require('net');
        net.createServer((socket) => { socket.on('data', handle); socket.on('error', drop); }).listen(99);
        """, 2),
    good(SOCKET, "javascript", """
        const net = require('net');
        net.createServer((socket) => { socket.setTimeout(60000, () => socket.destroy()); }).listen(99);
        """),
    bad(WRITES, "typescript", """
        export class Orders {
          constructor(private readonly db: Kysely<Tables>) {}
          async place(order: Order) {
            await this.db.insertInto('orders').values(order).execute();
            await this.db.updateTable('stock').set({ left: 1 }).where('sku', '=', order.sku).execute();
          }
        }
        """, 5),
    good(WRITES, "typescript", """
        export class Orders {
          constructor(private readonly db: Kysely<Tables>) {}
          async place(order: Order) {
            await this.db.transaction().execute(async (trx) => {
              await trx.insertInto('orders').values(order).execute();
              await trx.updateTable('stock').set({ left: 1 }).where('sku', '=', order.sku).execute();
            });
          }
        }
        """),
    bad(WRITES, "kotlin", """
        class Accounts(private val source: DataSource) {
            fun move(a: Long, b: Long) = source.getConnection().use { con ->
                con.prepareStatement("UPDATE account SET v = v - 1 WHERE id = ?").use { it.executeUpdate() }
                con.prepareStatement("UPDATE account SET v = v + 1 WHERE id = ?").use { it.executeUpdate() }
            }
        }
        """, 4),
    bad(LOCK, "kotlin", """
        class Rates(private val rows: RateRepository) {
            private val known = HashMap<String, Rate>()
            @Synchronized
            fun get(code: String): Rate = known.getOrPut(code) { rows.findByCode(code) }
        }
        """, 4),
]  # fmt: skip
