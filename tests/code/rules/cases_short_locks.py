"""Locks that one function holds over a wait and others for short; senders that a goroutine is given."""

# ruff: noqa: E501  (lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("lock-held-over-io", "python", """
        import asyncio


        class Roster:
            def __init__(self, feed):
                self._lock = asyncio.Lock()
                self._entries = {}
                self._feed = feed

            async def find(self, name):
                async with self._lock:
                    return self._entries.get(name)

            async def reload(self):
                async with self._lock:
                    rows = await self._feed.fetch_all()
                    self._entries = {row.name: row for row in rows}
        """, 16),
    good("lock-held-over-io", "python", """
        import asyncio


        class Roster:
            def __init__(self, feed):
                self._lock = asyncio.Lock()
                self._entries = {}
                self._feed = feed

            async def find(self, name):
                async with self._lock:
                    return self._entries.get(name)

            async def reload(self):
                rows = await self._feed.fetch_all()
                async with self._lock:
                    self._entries = {row.name: row for row in rows}
        """),
    bad("lock-held-over-io", "rust", """
        use std::collections::HashMap;
        use tokio::sync::RwLock;

        pub struct Roster {
            feed: Feed,
            entries: RwLock<HashMap<String, Entry>>,
        }

        impl Roster {
            pub async fn find(&self, name: &str) -> Option<Entry> {
                self.entries.read().await.get(name).cloned()
            }

            pub async fn reload(&self) -> Result<(), FeedError> {
                let mut entries = self.entries.write().await;
                let rows = self.feed.fetch_all().await?;
                entries.clear();
                entries.extend(rows.into_iter().map(|row| (row.name.clone(), row)));
                Ok(())
            }
        }
        """, 16),
    good("lock-held-over-io", "rust", """
        use std::collections::HashMap;
        use tokio::sync::RwLock;

        pub struct Roster {
            feed: Feed,
            entries: RwLock<HashMap<String, Entry>>,
        }

        impl Roster {
            pub async fn find(&self, name: &str) -> Option<Entry> {
                self.entries.read().await.get(name).cloned()
            }

            pub async fn reload(&self) -> Result<(), FeedError> {
                let rows = self.feed.fetch_all().await?;
                let mut entries = self.entries.write().await;
                entries.clear();
                entries.extend(rows.into_iter().map(|row| (row.name.clone(), row)));
                Ok(())
            }
        }
        """),
    bad("lock-held-over-io", "csharp", """
        using System.Threading;
        using System.Threading.Tasks;
        using System.Net.Http;
        using System.Net.Http.Json;

        public sealed class Tariffs
        {
            private readonly SemaphoreSlim _gate = new(1, 1);
            private readonly HttpClient _http;
            private Dictionary<string, decimal> _prices = new();

            public Tariffs(HttpClient http) => _http = http;

            public async Task<decimal> PriceAsync(string zone, CancellationToken ct)
            {
                await _gate.WaitAsync(ct);
                try
                {
                    return _prices[zone];
                }
                finally
                {
                    _gate.Release();
                }
            }

            public async Task ReloadAsync(CancellationToken ct)
            {
                await _gate.WaitAsync(ct);
                try
                {
                    _prices = await _http.GetFromJsonAsync<Dictionary<string, decimal>>("/tariffs", ct) ?? new();
                }
                finally
                {
                    _gate.Release();
                }
            }
        }
        """, 32),
    bad("goroutine-leak", "go", """
        package quotes

        import (
            "context"
            "errors"
            "time"
        )

        type answer struct {
            quote Quote
            err   error
        }

        func ask(ctx context.Context, p Provider, out chan<- answer) {
            q, err := p.Quote(ctx)
            out <- answer{q, err}
        }

        func Best(ctx context.Context, providers []Provider) (Quote, error) {
            answers := make(chan answer)
            for _, p := range providers {
                go ask(ctx, p, answers)
            }
            deadline := time.NewTimer(2 * time.Second)
            defer deadline.Stop()
            var best Quote
            for range providers {
                select {
                case a := <-answers:
                    if a.err == nil && a.quote.Better(best) {
                        best = a.quote
                    }
                case <-deadline.C:
                    return best, errors.New("deadline")
                }
            }
            return best, nil
        }
        """, 22),
    good("goroutine-leak", "go", """
        package quotes

        import (
            "context"
            "errors"
            "time"
        )

        type answer struct {
            quote Quote
            err   error
        }

        func ask(ctx context.Context, p Provider, out chan<- answer) {
            q, err := p.Quote(ctx)
            out <- answer{q, err}
        }

        func Best(ctx context.Context, providers []Provider) (Quote, error) {
            answers := make(chan answer, len(providers))
            for _, p := range providers {
                go ask(ctx, p, answers)
            }
            deadline := time.NewTimer(2 * time.Second)
            defer deadline.Stop()
            var best Quote
            for range providers {
                select {
                case a := <-answers:
                    if a.err == nil && a.quote.Better(best) {
                        best = a.quote
                    }
                case <-deadline.C:
                    return best, errors.New("deadline")
                }
            }
            return best, nil
        }
        """),
    bad("goroutine-leak", "go", """
        package hosts

        import "context"

        func FirstAlive(ctx context.Context, hosts []string) string {
            alive := make(chan string)
            for _, h := range hosts {
                go func(host string, found chan<- string) {
                    if probe(ctx, host) {
                        found <- host
                    }
                }(h, alive)
            }
            select {
            case h := <-alive:
                return h
            case <-ctx.Done():
                return ""
            }
        }
        """, 10),
    good("goroutine-leak", "go", """
        package hosts

        func square(n int, out chan<- int) {
            out <- n * n
        }

        func Sum(values []int) int {
            out := make(chan int)
            for _, v := range values {
                go square(v, out)
            }
            total := 0
            for range values {
                total += <-out
            }
            return total
        }
        """),
    bad("goroutine-leak", "go", """
        package srv

        import (
            "context"
            "net"
        )

        func Dial(ctx context.Context, addr string) (net.Conn, error) {
            type result struct {
                conn net.Conn
                err  error
            }
            done := make(chan result)
            go func() {
                conn, err := net.Dial("tcp", addr)
                done <- result{conn, err}
            }()
            select {
            case r := <-done:
                return r.conn, r.err
            case <-ctx.Done():
                return nil, ctx.Err()
            }
        }
        """, 16),
    bad("work-cut-off-at-the-end", "go", """
        package main

        import (
            "context"
            "log"
            "net/http"
            "os/signal"
            "syscall"
            "time"
        )

        func main() {
            ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
            defer stop()
            sink := NewSink(100)
            go sink.Run()
            srv := &http.Server{Addr: ":8080", Handler: routes(sink), ReadHeaderTimeout: 5 * time.Second}
            go func() {
                if err := srv.ListenAndServe(); err != http.ErrServerClosed {
                    log.Fatal(err)
                }
            }()
            <-ctx.Done()
            shutdown, cancel := context.WithTimeout(context.Background(), 10*time.Second)
            defer cancel()
            if err := srv.Shutdown(shutdown); err != nil {
                log.Print(err)
            }
        }
        """, 26),
    bad("work-cut-off-at-the-end", "typescript", """
        import { createServer } from "node:http";
        import { Batcher } from "./batcher.js";
        import { routes } from "./routes.js";

        const batcher = new Batcher({ size: 500, everyMs: 5000 });
        const server = createServer(routes(batcher));
        server.listen(8080);

        process.on("SIGTERM", () => {
          server.close(() => {
            process.exit(0);
          });
        });
        """, 10),
    bad("work-cut-off-at-the-end", "kotlin", """
        import io.ktor.server.engine.embeddedServer
        import io.ktor.server.netty.Netty

        fun main() {
            val buffer = EventBuffer(ClickHouse.fromEnv(), flushEvery = 5000)
            val server = embeddedServer(Netty, port = 8080) { module(buffer) }
            Runtime.getRuntime().addShutdownHook(Thread {
                server.stop(1000, 5000)
            })
            server.start(wait = true)
        }
        """, 8),
]
