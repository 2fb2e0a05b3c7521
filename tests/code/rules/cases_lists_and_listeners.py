"""Lists without a limit, listeners of ended objects, queries that block, and messages to all."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "missing-limit",
        "java",
        """
        package shop;

        import java.util.List;
        import org.springframework.web.bind.annotation.*;

        @RestController
        public class AuditController {
            private final AuditRepository audit;
            AuditController(AuditRepository audit) { this.audit = audit; }

            @GetMapping("/accounts/{id}/audit")
            public List<AuditEntry> list(@PathVariable long id) {
                return audit.findByAccountId(id);
            }
        }
        """,
        13,
    ),
    bad(
        "missing-limit",
        "typescript",
        """
        import { Router } from 'express';
        import { db } from './db';
        export const router = Router();
        router.get('/events', async (req, res, next) => {
          try {
            const rows = await db.selectFrom('events').selectAll().where('tenant', '=', String(req.query.tenant)).execute();
            res.json(rows);
          } catch (err) {
            next(err);
          }
        });
        """,
        6,
    ),
    bad(
        "listener-leak",
        "java",
        """
        package shop;

        public class PriceSession implements AutoCloseable {
            private final PriceFeed feed;
            private final Channel channel;

            public PriceSession(PriceFeed feed, Channel channel) {
                this.feed = feed;
                this.channel = channel;
                feed.addListener(price -> channel.write(price));
            }

            @Override
            public void close() {
                channel.close();
            }
        }
        """,
        10,
    ),
    bad(
        "blocking-call-in-async-code",
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;
        public class Reports : ControllerBase
        {
            private readonly ShopContext _db;
            public Reports(ShopContext db) => _db = db;

            [HttpGet("/reports/{id}")]
            public async Task<IActionResult> Get(int id)
            {
                var report = _db.Reports.FirstOrDefault(r => r.Id == id);
                if (report is null) return NotFound();
                await _audit.WriteAsync(id);
                return Ok(report);
            }
        }
        """,
        10,
    ),
    bad(
        "rejection-in-callback",
        "typescript",
        """
        import { EventEmitter } from 'node:events';

        export class Orders extends EventEmitter {
          constructor(private readonly store: OrderStore) {
            super();
            this.on('paid', async (id: string) => {
              const order = await this.store.load(id);
              await this.store.ship(order);
            });
          }
        }
        """,
        6,
    ),
    bad(
        "slow-receiver-stops-all",
        "python",
        """
        from fastapi import WebSocket

        class ChatRoom:
            def __init__(self) -> None:
                self._members: dict[str, WebSocket] = {}

            async def join(self, name: str, socket: WebSocket) -> None:
                await socket.accept()
                self._members[name] = socket

            def leave(self, name: str) -> None:
                self._members.pop(name, None)

            async def say(self, text: str) -> None:
                for name, socket in self._members.items():
                    await socket.send_text(text)
        """,
        16,
    ),
    bad(
        "slow-receiver-stops-all",
        "csharp",
        """
        using System.Collections.Concurrent;
        using System.Net.WebSockets;

        public class Hub
        {
            private readonly ConcurrentDictionary<Guid, WebSocket> _clients = new();

            public async Task BroadcastAsync(byte[] frame, CancellationToken ct)
            {
                foreach (var (id, socket) in _clients)
                {
                    await socket.SendAsync(frame, WebSocketMessageType.Text, true, ct);
                }
            }
        }
        """,
        12,
    ),
    bad(
        "slow-receiver-stops-all",
        "kotlin",
        """
        package shop

        import kotlinx.coroutines.channels.Channel
        import kotlinx.coroutines.sync.Mutex

        class Room {
            private val members = HashMap<String, Channel<String>>()

            suspend fun say(text: String) {
                for (member in members.values) {
                    member.send(text)
                }
            }
        }
        """,
        11,
    ),
    bad(
        "query-outside-transaction",
        "go",
        """
        package accounts

        import (
        	"context"
        	"database/sql"
        )

        func (r *Repo) Move(ctx context.Context, from, to int64, cents int64) error {
        	tx, err := r.db.BeginTx(ctx, nil)
        	if err != nil {
        		return err
        	}
        	defer tx.Rollback()
        	open, err := r.isOpen(ctx, to)
        	if err != nil || !open {
        		return errClosed
        	}
        	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET cents = cents - $1 WHERE id = $2", cents, from); err != nil {
        		return err
        	}
        	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET cents = cents + $1 WHERE id = $2", cents, to); err != nil {
        		return err
        	}
        	return tx.Commit()
        }

        func (r *Repo) isOpen(ctx context.Context, id int64) (bool, error) {
        	var open bool
        	err := r.db.QueryRowContext(ctx, "SELECT open FROM accounts WHERE id = $1", id).Scan(&open)
        	return open, err
        }
        """,
        14,
    ),
]
