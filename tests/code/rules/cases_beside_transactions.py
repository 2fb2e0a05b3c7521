"""Writes that are not in the transaction around them, and tries through helpers."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad

_QUERY_OUTSIDE_TRANSACTION = "query-outside-transaction"
_RETRY_OF_NON_IDEMPOTENT_CALL = "retry-of-non-idempotent-call"
_RETRY_WITHOUT_LIMIT = "retry-without-limit"
_WRITES_WITHOUT_TRANSACTION = "writes-without-transaction"

CASES = [
    bad(
        _QUERY_OUTSIDE_TRANSACTION,
        "rust",
        """
        pub async fn place(pool: &sqlx::PgPool, order: &Order) -> sqlx::Result<()> {
            let mut tx = pool.begin().await?;
            sqlx::query("INSERT INTO orders (id, sku) VALUES ($1, $2)").bind(order.id).bind(&order.sku).execute(&mut *tx).await?;
            sqlx::query("UPDATE stock SET count = count - 1 WHERE sku = $1").bind(&order.sku).execute(pool).await?;
            tx.commit().await
        }
        """,
        4,
    ),
    bad(
        _QUERY_OUTSIDE_TRANSACTION,
        "typescript",
        """
        import { sequelize, Order, Stock } from "./models";

        export async function place(order: { id: string; sku: string; count: number }) {
          await sequelize.transaction(async (t) => {
            await Order.create(order, { transaction: t });
            await Stock.decrement("count", { by: order.count, where: { sku: order.sku } });
          });
        }
        """,
        6,
    ),
    bad(
        _QUERY_OUTSIDE_TRANSACTION,
        "typescript",
        """
        import mongoose from "mongoose";
        import { Order, Stock } from "./models";

        export async function place(order: { id: string; sku: string }) {
          const session = await mongoose.startSession();
          try {
            await session.withTransaction(async () => {
              await Order.create([order], { session });
              await Stock.updateOne({ sku: order.sku }, { $inc: { count: -1 } });
            });
          } finally {
            await session.endSession();
          }
        }
        """,
        9,
    ),
    bad(
        _QUERY_OUTSIDE_TRANSACTION,
        "go",
        """
        package x

        import "gorm.io/gorm"

        func (s *Store) Place(order *Order) error {
        	return s.db.Transaction(func(tx *gorm.DB) error {
        		if err := tx.Create(order).Error; err != nil {
        			return err
        		}
        		return s.db.Model(&Stock{}).Where("sku = ?", order.Sku).Update("count", gorm.Expr("count - 1")).Error
        	})
        }
        """,
        10,
    ),
    bad(
        _QUERY_OUTSIDE_TRANSACTION,
        "javascript",
        """
        async function move(pool, from, to, cents) {
          await pool.query("BEGIN");
          try {
            await pool.query("UPDATE accounts SET cents = cents - $1 WHERE id = $2", [cents, from]);
            await pool.query("UPDATE accounts SET cents = cents + $1 WHERE id = $2", [cents, to]);
            await pool.query("COMMIT");
          } catch (err) {
            await pool.query("ROLLBACK");
            throw err;
          }
        }
        module.exports = { move };
        """,
        2,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "csharp",
        """
        using System.Threading.Tasks;
        using Dapper;
        using Npgsql;

        public class Ledger
        {
            private readonly NpgsqlDataSource _ds;
            public Ledger(NpgsqlDataSource ds) => _ds = ds;
            public async Task MoveAsync(long from, long to, long cents)
            {
                await using var con = await _ds.OpenConnectionAsync();
                await using var tx = await con.BeginTransactionAsync();
                await con.ExecuteAsync("UPDATE accounts SET cents = cents - @cents WHERE id = @from", new { cents, from }, tx);
                await con.ExecuteAsync("UPDATE accounts SET cents = cents + @cents WHERE id = @to", new { cents, to }, tx);
            }
        }
        """,
        12,
    ),
    bad(
        _WRITES_WITHOUT_TRANSACTION,
        "rust",
        """
        use sea_orm::*;

        pub async fn place(db: &DatabaseConnection, order: order::ActiveModel, stock: stock::ActiveModel) -> Result<(), DbErr> {
            order.insert(db).await?;
            stock.update(db).await?;
            Ok(())
        }
        """,
        5,
    ),
    bad(
        _RETRY_OF_NON_IDEMPOTENT_CALL,
        "go",
        """
        package x

        import (
        	"bytes"
        	"context"
        	"fmt"
        	"math/rand"
        	"net/http"
        	"time"
        )

        func again(ctx context.Context, n int, f func() error) error {
        	var err error
        	for i := 0; i < n; i++ {
        		if err = f(); err == nil {
        			return nil
        		}
        		select {
        		case <-ctx.Done():
        			return ctx.Err()
        		case <-time.After(time.Duration(rand.Intn(100<<i)) * time.Millisecond):
        		}
        	}
        	return err
        }

        func (c *Client) Charge(ctx context.Context, body []byte) error {
        	return again(ctx, 5, func() error {
        		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/charges", bytes.NewReader(body))
        		if err != nil {
        			return err
        		}
        		resp, err := c.http.Do(req)
        		if err != nil {
        			return err
        		}
        		defer resp.Body.Close()
        		if resp.StatusCode >= 300 {
        			return fmt.Errorf("status %d", resp.StatusCode)
        		}
        		return nil
        	})
        }
        """,
        33,
    ),
    bad(
        _RETRY_WITHOUT_LIMIT,
        "rust",
        """
        pub async fn load(api: &Api) -> Rates {
            loop {
                if let Ok(rates) = api.latest().await {
                    break rates;
                }
            }
        }
        """,
        2,
    ),
    bad(
        _RETRY_WITHOUT_LIMIT,
        "rust",
        """
        use backon::{ConstantBuilder, Retryable};

        pub async fn load(api: &Api) -> anyhow::Result<Rates> {
            (|| async { api.latest().await })
                .retry(ConstantBuilder::default().without_max_times())
                .await
        }
        """,
        5,
    ),
]
