"""Promises, futures and errors that nothing sees."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_DROPPED_FUTURE = "dropped-future"
_FIRE_AND_FORGET = "fire-and-forget"
_IGNORED_ERROR = "ignored-error"
_REJECTION_IN_CALLBACK = "rejection-in-callback"
_SWALLOWED_ERROR = "swallowed-error"
_TASK_RESULTS_DROPPED = "task-results-dropped"

CASES = [
    bad(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        import { Pool } from "pg";
        const pool = new Pool();
        let running: Promise<void> | undefined;

        async function refresh(): Promise<void> {
          await pool.query("REFRESH MATERIALIZED VIEW prices");
        }

        export function start(): NodeJS.Timeout {
          return setInterval(() => {
            running ??= refresh().finally(() => {
              running = undefined;
            });
          }, 60_000);
        }
        """,
        11,
    ),
    good(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        import { Pool } from "pg";
        import { log } from "./log";
        const pool = new Pool();
        let running: Promise<void> | undefined;

        async function refresh(): Promise<void> {
          await pool.query("REFRESH MATERIALIZED VIEW prices");
        }

        export function start(): NodeJS.Timeout {
          return setInterval(() => {
            running ??= refresh()
              .catch((err) => log.error({ err }, "refresh"))
              .finally(() => {
                running = undefined;
              });
          }, 60_000);
        }
        """,
    ),
    good(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        import { Pool } from "pg";
        import { log } from "./log";
        const pool = new Pool();
        let running: Promise<void> | undefined;

        async function refresh(): Promise<void> {
          try {
            await pool.query("REFRESH MATERIALIZED VIEW prices");
          } catch (err) {
            log.error({ err }, "refresh");
          }
        }

        export function start(): NodeJS.Timeout {
          return setInterval(() => {
            running ??= refresh().finally(() => {
              running = undefined;
            });
          }, 60_000);
        }
        """,
    ),
    bad(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        export class TokenSource {
          private refreshing?: Promise<void>;
          constructor(private readonly api: { token(): Promise<string> }) {}
          private token = "";
          start(): void {
            setInterval(() => {
              this.refreshing = this.refresh();
            }, 60_000);
          }
          private async refresh(): Promise<void> {
            this.token = await this.api.token();
          }
        }
        """,
        7,
    ),
    good(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        export class TokenSource {
          private refreshing?: Promise<void>;
          constructor(private readonly api: { token(): Promise<string> }) {}
          private token = "";
          async get(): Promise<string> {
            this.refreshing ??= this.refresh().finally(() => {
              this.refreshing = undefined;
            });
            await this.refreshing;
            return this.token;
          }
          private async refresh(): Promise<void> {
            this.token = await this.api.token();
          }
        }
        """,
    ),
    bad(
        _REJECTION_IN_CALLBACK,
        "typescript",
        """
        import { EventEmitter } from "node:events";
        import { ledger } from "./ledger";

        export class Orders extends EventEmitter {
          constructor() {
            super();
            this.on("paid", async (order: { id: string }) => {
              await ledger.book(order.id);
            });
          }
        }
        """,
        7,
    ),
    good(
        _FIRE_AND_FORGET,
        "typescript",
        """
        export class Loader {
          private loads = new Map<string, Promise<string>>();
          constructor(private readonly api: { get(id: string): Promise<string> }) {}
          load(id: string): Promise<string> {
            const known = this.loads.get(id);
            if (known) return known;
            const load = this.api.get(id).finally(() => this.loads.delete(id));
            this.loads.set(id, load);
            return load;
          }
        }
        """,
    ),
    bad(
        _FIRE_AND_FORGET,
        "csharp",
        """
        using System.Threading.Tasks;

        public class Orders
        {
            private readonly IRepo _repo;
            private readonly ICounter _counter;
            public Orders(IRepo repo, ICounter counter) { _repo = repo; _counter = counter; }
            public void Place(Order order)
            {
                _repo.SaveAsync(order).ContinueWith(t => _counter.Increment());
            }
        }
        """,
        10,
    ),
    bad(
        _DROPPED_FUTURE,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        def export_all(rows, api):
            with ThreadPoolExecutor(max_workers=4) as pool:
                pool.map(api.upload, rows)
            return len(rows)
        """,
        5,
    ),
    good(
        _DROPPED_FUTURE,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        def export_all(rows, api):
            with ThreadPoolExecutor(max_workers=4) as pool:
                list(pool.map(api.upload, rows))
            return len(rows)
        """,
    ),
    bad(
        _DROPPED_FUTURE,
        "python",
        """
        from multiprocessing import Pool

        def render_all(pages, render):
            with Pool(4) as pool:
                for page in pages:
                    pool.apply_async(render, (page,))
                pool.close()
                pool.join()
        """,
        6,
    ),
    bad(
        _DROPPED_FUTURE,
        "python",
        """
        import asyncio

        async def on_upload(path, index):
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, index.add, path)
            return {"status": "accepted"}
        """,
        5,
    ),
    bad(
        _DROPPED_FUTURE,
        "java",
        """
        package x;
        import java.util.concurrent.*;

        public class Notifier {
            private final Gateway gateway;
            private final Store store;
            Notifier(Gateway gateway, Store store) { this.gateway = gateway; this.store = store; }

            public void send(Message message) {
                gateway.sendAsync(message).thenAccept(receipt -> store.markSent(message.id(), receipt));
            }
        }
        """,
        10,
    ),
    bad(
        _DROPPED_FUTURE,
        "java",
        """
        package x;
        import org.springframework.web.reactive.function.client.WebClient;

        public class Ledger {
            private final WebClient client;
            Ledger(WebClient client) { this.client = client; }

            public void book(Entry entry) {
                client.post().uri("/entries").bodyValue(entry).retrieve().toBodilessEntity()
                    .timeout(java.time.Duration.ofSeconds(5)).subscribe();
            }
        }
        """,
        9,
    ),
    bad(
        _TASK_RESULTS_DROPPED,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor, wait

        def export_all(rows, api):
            with ThreadPoolExecutor(max_workers=4) as pool:
                futures = [pool.submit(api.upload, row) for row in rows]
                wait(futures, timeout=60)
            return len(rows)
        """,
        6,
    ),
    bad(
        _TASK_RESULTS_DROPPED,
        "go",
        """
        package x

        import "context"

        func (s *Service) Start(ctx context.Context, rows []Row) {
        	errs := make(chan error, len(rows))
        	for _, row := range rows[:4] {
        		go func() { errs <- s.api.Upload(ctx, row) }()
        	}
        }
        """,
        6,
    ),
    bad(
        _TASK_RESULTS_DROPPED,
        "rust",
        """
        use futures::{stream, StreamExt};

        pub async fn import(rows: Vec<Row>, db: &Db) -> usize {
            let done: Vec<_> = stream::iter(rows)
                .map(|row| async move { db.insert(&row).await })
                .buffer_unordered(8)
                .filter_map(|r| async move { r.ok() })
                .collect()
                .await;
            done.len()
        }
        """,
        4,
    ),
    bad(
        _SWALLOWED_ERROR,
        "javascript",
        """
        export async function place(order, api) {
          await api.create(order).then((res) => res.id, () => {});
          return { ok: true };
        }
        """,
        2,
    ),
    bad(
        _SWALLOWED_ERROR,
        "kotlin",
        """
        package x

        class Orders(private val repo: OrderRepo, private val stock: Stock) {
            fun place(order: Order) {
                runCatching { stock.reserve(order.sku, order.count) }.getOrNull()
                repo.insert(order)
            }
        }
        """,
        5,
    ),
    bad(
        _IGNORED_ERROR,
        "go",
        """
        package x

        import "context"

        func (s *Service) Place(ctx context.Context, order Order) error {
        	err := s.orders.Insert(ctx, order)
        	err = s.stock.Reserve(ctx, order.Sku)
        	if err != nil {
        		return err
        	}
        	return nil
        }
        """,
        6,
    ),
    bad(
        _IGNORED_ERROR,
        "go",
        """
        package x

        import (
        	"context"
        	"database/sql"
        )

        func (s *Service) Move(ctx context.Context, from, to int64, cents int64) (err error) {
        	tx, err := s.db.BeginTx(ctx, nil)
        	if err != nil {
        		return err
        	}
        	defer func() {
        		if err != nil {
        			tx.Rollback()
        			return
        		}
        		tx.Commit()
        	}()
        	if _, err = tx.ExecContext(ctx, "UPDATE accounts SET cents = cents - $1 WHERE id = $2", cents, from); err != nil {
        		return err
        	}
        	_, err = tx.ExecContext(ctx, "UPDATE accounts SET cents = cents + $1 WHERE id = $2", cents, to)
        	return err
        }
        """,
        18,
    ),
    bad(
        _IGNORED_ERROR,
        "go",
        """
        package x

        import (
        	"context"
        	"sync"
        )

        func Export(ctx context.Context, rows []Row, api API) error {
        	var wg sync.WaitGroup
        	for _, row := range rows[:4] {
        		wg.Add(1)
        		go func() {
        			defer wg.Done()
        			api.Upload(ctx, row)
        		}()
        	}
        	wg.Wait()
        	return nil
        }
        """,
        14,
    ),
]
