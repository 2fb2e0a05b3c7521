"""The end of a program, answers that stay open, and loops that poll without a pause."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_STOP = "no-graceful-shutdown"
_WORKERS = "workers-not-awaited"
_OPEN = "response-not-closed"
_BUSY = "busy-loop"
_PY = "python"
_JS = "javascript"
_TS = "typescript"
_GO = "go"
_JAVA = "java"
_RUST = "rust"
_CS = "csharp"

CASES = [
    bad(
        _STOP,
        _GO,
        """
        package main

        import (
        	"net/http"
        	"os"
        	"os/signal"
        	"syscall"
        )

        func main() {
        	srv := &http.Server{Addr: ":8080"}
        	stop := make(chan os.Signal, 1)
        	signal.Notify(stop, syscall.SIGTERM)
        	go func() {
        		<-stop
        		os.Exit(0)
        	}()
        	srv.ListenAndServe()
        }
        """,
        14,
        18,
    ),
    good(
        _STOP,
        _GO,
        """
        package main

        import (
        	"context"
        	"net/http"
        	"os"
        	"os/signal"
        	"syscall"
        )

        func main() {
        	srv := &http.Server{Addr: ":8080"}
        	stop := make(chan os.Signal, 1)
        	signal.Notify(stop, syscall.SIGTERM)
        	go srv.ListenAndServe()
        	<-stop
        	srv.Shutdown(context.Background())
        }
        """,
    ),
    bad(
        _STOP,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Jobs {
          private final ExecutorService workers = Executors.newFixedThreadPool(4);
          @PreDestroy
          void stop() {
            workers.shutdown();
          }
          void accept(Job job) { workers.execute(() -> run(job)); }
        }
        """,
        6,
    ),
    good(
        _STOP,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Jobs {
          private final ExecutorService workers = Executors.newFixedThreadPool(4);
          @PreDestroy
          void stop() throws InterruptedException {
            workers.shutdown();
            workers.awaitTermination(30, TimeUnit.SECONDS);
          }
        }
        """,
    ),
    bad(
        _STOP,
        _JS,
        """
        const server = app.listen(3000);
        process.on('SIGTERM', () => {
          server.close();
          process.exit(0);
        });
        """,
        3,
    ),
    good(
        _STOP,
        _JS,
        """
        const server = app.listen(3000);
        process.on('SIGTERM', () => {
          server.close(() => process.exit(0));
        });
        process.on('SIGINT', async () => {
          await worker.close();
          process.exit(0);
        });
        """,
    ),
    bad(
        _WORKERS,
        _GO,
        """
        package main

        import "sync"

        func main() {
        	var wg sync.WaitGroup
        	for i := 0; i < 4; i++ {
        		wg.Add(1)
        		go func() {
        			defer wg.Done()
        			work()
        		}()
        	}
        	serve()
        }
        """,
        8,
    ),
    good(
        _WORKERS,
        _GO,
        """
        package main

        import "sync"

        func main() {
        	var wg sync.WaitGroup
        	wg.Add(1)
        	go func() {
        		defer wg.Done()
        		work()
        	}()
        	wg.Wait()
        	var other sync.WaitGroup
        	other.Add(1)
        	start(&other)
        }
        """,
    ),
    bad(
        _WORKERS,
        _CS,
        """
        public class Pump : IHostedService {
          private Task? _run;
          public Task StartAsync(CancellationToken ct) {
            _run = Task.Run(() => PumpAsync(_cts.Token));
            return Task.CompletedTask;
          }
          public Task StopAsync(CancellationToken ct) {
            _cts.Cancel();
            return Task.CompletedTask;
          }
        }
        """,
        4,
    ),
    good(
        _WORKERS,
        _CS,
        """
        public class Pump : IHostedService {
          private Task? _run;
          public Task StartAsync(CancellationToken ct) {
            _run = Task.Run(() => PumpAsync(_cts.Token));
            return Task.CompletedTask;
          }
          public async Task StopAsync(CancellationToken ct) {
            _cts.Cancel();
            await _run.WaitAsync(ct);
          }
        }
        """,
    ),
    bad(
        _WORKERS,
        _RUST,
        """
        #[tokio::main]
        async fn main() {
            tokio::spawn(async move { worker.run().await });
            tokio::signal::ctrl_c().await.unwrap();
            println!("stopped");
        }
        """,
        3,
    ),
    good(
        _WORKERS,
        _RUST,
        """
        #[tokio::main]
        async fn main() {
            let handle = tokio::spawn(async move { worker.run().await });
            tokio::signal::ctrl_c().await.unwrap();
            stop.cancel();
            handle.await.unwrap();
        }
        """,
    ),
    bad(
        _OPEN,
        _TS,
        """
        import { request } from 'undici';
        export async function one(url: string) {
          const { statusCode, body } = await request(url);
          if (statusCode !== 200) {
            throw new Error(`status ${statusCode}`);
          }
          return body.json();
        }
        export async function two(url: string) {
          const res = await request(url);
          if (res.statusCode !== 200) return null;
          return res.body.json();
        }
        """,
        4,
        11,
    ),
    good(
        _OPEN,
        _TS,
        """
        import { request } from 'undici';
        export async function one(url: string) {
          const { statusCode, body } = await request(url);
          if (statusCode !== 200) {
            await body.dump();
            throw new Error(`status ${statusCode}`);
          }
          return body.json();
        }
        export async function two(url: string) {
          const res = await request(url);
          const text = await res.body.text();
          if (res.statusCode !== 200) throw new Error(text);
          return text;
        }
        """,
    ),
    bad(
        _OPEN,
        _PY,
        """
        import aiohttp

        async def load(session: aiohttp.ClientSession, url):
            resp = await session.get(url)
            if resp.status != 200:
                raise RuntimeError(resp.status)
            return await resp.json()
        """,
        5,
    ),
    good(
        _OPEN,
        _PY,
        """
        import aiohttp

        async def load(session: aiohttp.ClientSession, url):
            async with session.get(url) as resp:
                if resp.status != 200:
                    raise RuntimeError(resp.status)
                return await resp.json()

        async def other(session: aiohttp.ClientSession, url):
            resp = await session.get(url)
            if resp.status != 200:
                resp.release()
                raise RuntimeError(resp.status)
            return await resp.json()
        """,
    ),
    bad(
        _BUSY,
        _GO,
        """
        package a

        import (
        	"context"
        	"database/sql"
        )

        type Relay struct{ db *sql.DB }

        func (r *Relay) Run(ctx context.Context) error {
        	for {
        		if err := ctx.Err(); err != nil {
        			return err
        		}
        		n, err := r.drain(ctx)
        		if err != nil {
        			r.log.Error("not drained", "err", err)
        			continue
        		}
        		r.log.Info("drained", "count", n)
        	}
        }

        func (r *Relay) drain(ctx context.Context) (int, error) {
        	rows, err := r.db.QueryContext(ctx, "SELECT id FROM outbox LIMIT 10")
        	if err != nil {
        		return 0, err
        	}
        	defer rows.Close()
        	return send(rows)
        }
        """,
        11,
    ),
    good(
        _BUSY,
        _GO,
        """
        package a

        import (
        	"context"
        	"database/sql"
        	"time"
        )

        type Relay struct{ db *sql.DB }

        func (r *Relay) Run(ctx context.Context) error {
        	for {
        		n, err := r.drain(ctx)
        		if err != nil {
        			return err
        		}
        		if n == 0 {
        			time.Sleep(time.Second)
        		}
        	}
        }

        func (r *Relay) All(ctx context.Context) error {
        	for {
        		n, err := r.drain(ctx)
        		if err != nil {
        			return err
        		}
        		if n == 0 {
        			return nil
        		}
        	}
        }

        func (r *Relay) drain(ctx context.Context) (int, error) {
        	_, err := r.db.QueryContext(ctx, "SELECT id FROM outbox LIMIT 10")
        	return 0, err
        }
        """,
    ),
    bad(
        _BUSY,
        _PY,
        """
        import psycopg2

        def run(conn, handler):
            while True:
                with conn.cursor() as cur:
                    cur.execute("SELECT id FROM jobs WHERE state = 'new' LIMIT 10")
                    for row in cur.fetchall():
                        handler.work(row)
        """,
        4,
    ),
    good(
        _WORKERS,
        "go",
        """
        package consumer

        import "sync"

        type Consumer struct{ wg sync.WaitGroup }

        func (c *Consumer) run() {
        	c.wg.Add(1)
        	go c.loop()
        }

        func (c *Consumer) Stop() { close(c.done) }
        """,
    ),
]
