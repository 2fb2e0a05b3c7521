"""Transactions that are committed without a part that failed, and writes in two transactions."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILURE_ONLY_LOGGED = "failure-only-logged"
_QUERY_OUTSIDE_TRANSACTION = "query-outside-transaction"
_WRITES_WITHOUT_TRANSACTION = "writes-without-transaction"

CASES = [
    bad(
        _FAILURE_ONLY_LOGGED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.Extensions.Logging;

        public class Ledger
        {
            private readonly LedgerDb _db;
            private readonly ILogger<Ledger> _log;
            public Ledger(LedgerDb db, ILogger<Ledger> log) { _db = db; _log = log; }
            public async Task MoveAsync(Account from, Account to, long cents)
            {
                await using var tx = await _db.Database.BeginTransactionAsync();
                try
                {
                    from.Cents -= cents;
                    to.Cents += cents;
                    await _db.SaveChangesAsync();
                }
                catch (Exception e)
                {
                    _log.LogError(e, "transfer");
                }
                await tx.CommitAsync();
            }
        }
        """,
        19,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"database/sql"
        	"log/slog"
        )

        func (s *Store) Place(ctx context.Context, o Order) error {
        	tx, err := s.db.BeginTx(ctx, nil)
        	if err != nil {
        		return err
        	}
        	defer tx.Rollback()
        	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, sku) VALUES ($1, $2)", o.ID, o.Sku); err != nil {
        		return err
        	}
        	if _, err := tx.ExecContext(ctx, "UPDATE stock SET count = count - 1 WHERE sku = $1", o.Sku); err != nil {
        		slog.Error("stock", "err", err)
        	}
        	return tx.Commit()
        }
        """,
        18,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.transaction.support.TransactionTemplate;

        public class Orders {
            private static final Logger log = LoggerFactory.getLogger(Orders.class);
            private final TransactionTemplate tx;
            private final OrderRepository orders;
            private final StockRepository stock;
            Orders(TransactionTemplate tx, OrderRepository orders, StockRepository stock) { this.tx = tx; this.orders = orders; this.stock = stock; }

            public void place(Order order) {
                tx.executeWithoutResult(status -> {
                    orders.save(order);
                    try {
                        stock.decrement(order.sku(), order.count());
                    } catch (RuntimeException e) {
                        log.error("stock", e);
                    }
                });
            }
        }
        """,
        17,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "kotlin",
        """
        package x
        import org.slf4j.LoggerFactory
        import org.springframework.transaction.annotation.Transactional

        open class Orders(private val orders: OrderRepository, private val stock: StockRepository) {
            private val log = LoggerFactory.getLogger(javaClass)
            @Transactional
            open fun place(order: Order) {
                orders.save(order)
                runCatching { stock.decrement(order.sku, order.count) }.onFailure { log.error("stock", it) }
            }
        }
        """,
        10,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        pub async fn place(pool: &sqlx::PgPool, order: &Order) -> sqlx::Result<()> {
            let mut tx = pool.begin().await?;
            sqlx::query("INSERT INTO orders (id, sku) VALUES ($1, $2)").bind(order.id).bind(&order.sku).execute(&mut *tx).await?;
            if let Err(e) = sqlx::query("UPDATE stock SET count = count - 1 WHERE sku = $1").bind(&order.sku).execute(&mut *tx).await {
                tracing::error!(error = %e, "stock not updated");
            }
            tx.commit().await
        }
        """,
        4,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import { prisma } from "./prisma";
        import { log } from "./log";

        export async function place(order: { id: string; sku: string }) {
          await prisma.$transaction(async (tx) => {
            await tx.order.create({ data: order });
            try {
              await tx.stock.update({ where: { sku: order.sku }, data: { count: { decrement: 1 } } });
            } catch (err) {
              log.error({ err }, "stock not updated");
            }
          });
        }
        """,
        9,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)

        class Rates:
            def __init__(self, api, store):
                self.api = api
                self.store = store

            async def latest(self, currency):
                rate = await self.api.rate(currency)
                try:
                    await self.store.save(currency, rate)
                except OSError:
                    log.warning("rate of %s not kept", currency)
                return rate
        """,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "go",
        """
        package x

        import (
        	"context"
        	"database/sql"
        )

        type Ledger struct{ db *sql.DB }

        func (l *Ledger) post(ctx context.Context, account, cents int64) error {
        	_, err := l.db.ExecContext(ctx, "UPDATE accounts SET cents = cents + $1 WHERE id = $2", cents, account)
        	return err
        }

        func (l *Ledger) Move(ctx context.Context, from, to, cents int64) error {
        	if err := l.post(ctx, from, -cents); err != nil {
        		return err
        	}
        	return l.post(ctx, to, cents)
        }
        """,
        16,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "typescript",
        """
        import type { Pool } from "pg";

        export class Ledger {
          constructor(private readonly pool: Pool) {}
          private async post(account: string, cents: number): Promise<void> {
            await this.pool.query("UPDATE accounts SET cents = cents + $1 WHERE id = $2", [cents, account]);
          }
          async move(from: string, to: string, cents: number): Promise<void> {
            await this.post(from, -cents);
            await this.post(to, cents);
          }
        }
        """,
        9,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "python",
        """
        class Ledger:
            def __init__(self, conn):
                self.conn = conn

            def _post(self, account, cents):
                with self.conn.cursor() as cur:
                    cur.execute("UPDATE accounts SET cents = cents + %s WHERE id = %s", (cents, account))
                self.conn.commit()

            def move(self, src, dst, cents):
                self._post(src, -cents)
                self._post(dst, cents)
        """,
        11,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "kotlin",
        """
        package x
        import org.jetbrains.exposed.sql.*
        import org.jetbrains.exposed.sql.transactions.transaction

        class Ledger {
            fun move(from: Long, to: Long, cents: Long) {
                transaction { Accounts.update({ Accounts.id eq from }) { with(SqlExpressionBuilder) { it.update(balance, balance - cents) } } }
                transaction { Accounts.update({ Accounts.id eq to }) { with(SqlExpressionBuilder) { it.update(balance, balance + cents) } } }
            }
        }
        """,
        7,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "rust",
        """
        pub async fn transfer(pool: &sqlx::PgPool, from: i64, to: i64, cents: i64) -> sqlx::Result<()> {
            let mut tx = pool.begin().await?;
            sqlx::query("UPDATE accounts SET cents = cents - $1 WHERE id = $2").bind(cents).bind(from).execute(&mut *tx).await?;
            tx.commit().await?;
            let mut tx = pool.begin().await?;
            sqlx::query("UPDATE accounts SET cents = cents + $1 WHERE id = $2").bind(cents).bind(to).execute(&mut *tx).await?;
            tx.commit().await
        }
        """,
        4,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "rust",
        """
        pub async fn place(pool: &sqlx::PgPool, order: &Order) -> sqlx::Result<()> {
            let price: i64 = sqlx::query_scalar("SELECT price FROM items WHERE sku = $1").bind(&order.sku).fetch_one(pool).await?;
            let mut tx = pool.begin().await?;
            sqlx::query("INSERT INTO orders (id, price) VALUES ($1, $2)").bind(order.id).bind(price).execute(&mut *tx).await?;
            sqlx::query("UPDATE stock SET count = count - 1 WHERE sku = $1").bind(&order.sku).execute(&mut *tx).await?;
            tx.commit().await
        }
        """,
    ),
    good(
        _QUERY_OUTSIDE_TRANSACTION,
        "rust",
        """
        pub async fn place(pool: &sqlx::PgPool, order: &Order) -> sqlx::Result<()> {
            let price: i64 = sqlx::query_scalar("SELECT price FROM items WHERE sku = $1").bind(&order.sku).fetch_one(pool).await?;
            let mut tx = pool.begin().await?;
            sqlx::query("INSERT INTO orders (id, price) VALUES ($1, $2)").bind(order.id).bind(price).execute(&mut *tx).await?;
            sqlx::query("UPDATE stock SET count = count - 1 WHERE sku = $1").bind(&order.sku).execute(&mut *tx).await?;
            tx.commit().await
        }
        """,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        from django.db import transaction
        from .models import Order, Stock
        log = logging.getLogger(__name__)
        @transaction.atomic
        def place(order_id, sku):
            Order.objects.create(id=order_id, sku=sku)
            try:
                with transaction.atomic():
                    Stock.objects.filter(sku=sku).update(count=0)
            except Exception:
                log.exception("stock not updated")
        """,
    ),
    good(
        "writes-without-transaction",
        "typescript",
        """
        import type { Pool } from "pg";
        export class Jobs {
          constructor(private readonly pool: Pool) {}
          private async mark(id: string, state: string): Promise<void> {
            await this.pool.query("UPDATE jobs SET state = $1 WHERE id = $2", [state, id]);
          }
          async run(id: string, work: () => Promise<void>): Promise<void> {
            await this.mark(id, "running");
            await work();
            await this.mark(id, "done");
          }
        }
        """,
    ),
]
