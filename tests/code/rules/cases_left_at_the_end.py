"""Workers and buffers that the end of the program leaves behind, and marks of several languages."""

# ruff: noqa: E501  (lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("workers-not-awaited", "go", """
        package main

        import (
            "context"
            "log"
            "os"
            "os/signal"
            "syscall"
        )

        func main() {
            ctx := context.Background()
            consumer, err := Connect(ctx, os.Getenv("BROKER"))
            if err != nil {
                log.Fatal(err)
            }
            jobs := make(chan Job, 100)
            for range 8 {
                go worker(ctx, jobs)
            }
            go consumer.Feed(ctx, jobs)
            sig := make(chan os.Signal, 1)
            signal.Notify(sig, syscall.SIGTERM, os.Interrupt)
            <-sig
            consumer.Close()
            log.Print("stopped")
        }

        func worker(ctx context.Context, jobs <-chan Job) {
            for job := range jobs {
                if err := job.Run(ctx); err != nil {
                    log.Print(err)
                }
            }
        }
        """, 19),
    bad("work-cut-off-at-the-end", "python", """
        import asyncio
        import contextlib

        from fastapi import FastAPI

        from .clickhouse import insert_many


        class Buffer:
            def __init__(self):
                self.rows = []

            def add(self, row):
                self.rows.append(row)
                if len(self.rows) > 10_000:
                    self.rows.pop(0)

            async def run(self):
                while True:
                    await asyncio.sleep(5)
                    rows, self.rows = self.rows, []
                    if rows:
                        await insert_many(rows)


        buffer = Buffer()


        @contextlib.asynccontextmanager
        async def lifespan(app):
            task = asyncio.create_task(buffer.run())
            yield
            task.cancel()


        app = FastAPI(lifespan=lifespan)
        """, 33),
    bad("work-cut-off-at-the-end", "rust", """
        use tokio::signal::unix::{signal, SignalKind};

        #[tokio::main]
        async fn main() -> anyhow::Result<()> {
            let consumer = Consumer::connect("amqp://mq").await?;
            let store = Store::connect().await?;
            let mut term = signal(SignalKind::terminate())?;
            tokio::select! {
                result = run(consumer, store) => result?,
                _ = term.recv() => tracing::info!("stopping"),
            }
            Ok(())
        }

        async fn run(mut consumer: Consumer, store: Store) -> anyhow::Result<()> {
            while let Some(delivery) = consumer.next().await {
                let order = parse(&delivery)?;
                store.insert(&order).await?;
                store.book(&order).await?;
                delivery.ack().await?;
            }
            Ok(())
        }
        """, 8),
    bad("no-graceful-shutdown", "python", """
        import json
        import logging

        from confluent_kafka import Consumer

        from .store import book

        log = logging.getLogger(__name__)


        def main():
            consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "booker", "enable.auto.commit": False})
            consumer.subscribe(["trips"])
            while True:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                if message.error():
                    log.warning("kafka: %s", message.error())
                    continue
                book(json.loads(message.value()))
                consumer.commit(message)


        if __name__ == "__main__":
            main()
        """, 14),
    bad("no-graceful-shutdown", "java", """
        package com.acme.end;

        import java.util.concurrent.ExecutorService;
        import java.util.concurrent.Executors;

        public class Main {
            public static void main(String[] args) throws Exception {
                ExecutorService workers = Executors.newFixedThreadPool(8);
                JobQueue queue = JobQueue.connect(System.getenv("QUEUE_URL"));
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    workers.shutdown();
                    queue.close();
                }));
                while (!Thread.currentThread().isInterrupted()) {
                    Job job = queue.take();
                    workers.submit(() -> job.run());
                }
            }
        }
        """, 11),
    bad("released-on-success-only", "java", """
        package com.acme.docs;

        import java.util.concurrent.atomic.AtomicInteger;

        public class Converter {
            private static final int MAX = 8;
            private final AtomicInteger running = new AtomicInteger();
            private final Engine engine;

            public Converter(Engine engine) {
                this.engine = engine;
            }

            public byte[] convert(byte[] input) {
                if (running.incrementAndGet() > MAX) {
                    running.decrementAndGet();
                    throw new Busy();
                }
                byte[] output = engine.convert(input);
                running.decrementAndGet();
                return output;
            }
        }
        """, 15),
    good("released-on-success-only", "java", """
        package com.acme.docs;

        import java.util.concurrent.atomic.AtomicInteger;

        public class Converter {
            private static final int MAX = 8;
            private final AtomicInteger running = new AtomicInteger();
            private final Engine engine;

            public Converter(Engine engine) {
                this.engine = engine;
            }

            public byte[] convert(byte[] input) {
                if (running.incrementAndGet() > MAX) {
                    running.decrementAndGet();
                    throw new Busy();
                }
                try {
                    return engine.convert(input);
                } finally {
                    running.decrementAndGet();
                }
            }
        }
        """),
    bad("released-on-success-only", "rust", """
        use std::sync::atomic::{AtomicUsize, Ordering};

        pub struct Renderer {
            active: AtomicUsize,
            limit: usize,
            store: Store,
        }

        impl Renderer {
            pub async fn render(&self, id: &str) -> Result<Vec<u8>, RenderError> {
                if self.active.fetch_add(1, Ordering::SeqCst) >= self.limit {
                    self.active.fetch_sub(1, Ordering::SeqCst);
                    return Err(RenderError::Busy);
                }
                let doc = self.store.load(id).await?;
                let out = doc.render().await?;
                self.active.fetch_sub(1, Ordering::SeqCst);
                Ok(out)
            }
        }
        """, 11),
    bad("lock-not-released", "go", """
        package gate

        import (
            "context"
            "errors"
        )

        type Gate struct {
            tokens chan struct{}
            render Renderer
            docs   Docs
        }

        func (g *Gate) Render(ctx context.Context, id string) ([]byte, error) {
            select {
            case <-g.tokens:
            case <-ctx.Done():
                return nil, ctx.Err()
            }
            doc, err := g.docs.Load(ctx, id)
            if err != nil {
                return nil, err
            }
            if doc.Locked {
                return nil, errors.New("locked")
            }
            out, err := g.render.PDF(ctx, doc)
            g.tokens <- struct{}{}
            return out, err
        }
        """, 16),
    good("lock-not-released", "go", """
        package gate

        import (
            "context"
            "errors"
        )

        type Gate struct {
            tokens chan struct{}
            render Renderer
            docs   Docs
        }

        func (g *Gate) Render(ctx context.Context, id string) ([]byte, error) {
            select {
            case <-g.tokens:
            case <-ctx.Done():
                return nil, ctx.Err()
            }
            defer func() { g.tokens <- struct{}{} }()
            doc, err := g.docs.Load(ctx, id)
            if err != nil {
                return nil, err
            }
            if doc.Locked {
                return nil, errors.New("locked")
            }
            return g.render.PDF(ctx, doc)
        }
        """),
    bad("interval-leak", "java", """
        package x;

        class LeaseRunner {
            private final Leases leases;

            LeaseRunner(Leases leases) {
                this.leases = leases;
            }

            void run(String name, Runnable work) {
                Thread renewer = new Thread(() -> {
                    while (true) {
                        leases.renew(name);
                        try {
                            Thread.sleep(5000);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                });
                renewer.setDaemon(true);
                renewer.start();
                work.run();
                renewer.interrupt();
                leases.release(name);
            }
        }
        """, 24),
    bad("goroutine-leak", "go", """
        package scan

        import "context"

        type Scanner struct{ store Store }

        func (s *Scanner) produce(ctx context.Context, rows chan Row) {
            defer close(rows)
            for cursor := s.store.Cursor(ctx); cursor.Next(); {
                rows <- cursor.Row()
            }
        }

        func (s *Scanner) Find(ctx context.Context, match func(Row) bool) (Row, bool) {
            rows := make(chan Row)
            go s.produce(ctx, rows)
            for row := range rows {
                if match(row) {
                    return row, true
                }
            }
            return Row{}, false
        }
        """, 16),
    bad("connection-not-closed", "javascript", """
        const { redis } = require('./redis');

        function register(app) {
          app.get('/rooms/:id/feed', async (req, res) => {
            const sub = redis.duplicate();
            await sub.connect();
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            await sub.subscribe(`room:${req.params.id}`, (message) => {
              res.write(`data: ${message}\\n\\n`);
            });
            req.on('close', () => {
              res.end();
            });
          });
        }

        module.exports = { register };
        """, 5),
    good("connection-not-closed", "javascript", """
        const { redis } = require('./redis');

        function register(app) {
          app.get('/rooms/:id/feed', async (req, res) => {
            const sub = redis.duplicate();
            await sub.connect();
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            req.on('close', () => {
              sub.quit().catch(() => {});
              res.end();
            });
            await sub.subscribe(`room:${req.params.id}`, (message) => {
              res.write(`data: ${message}\\n\\n`);
            });
          });
        }

        module.exports = { register };
        """),
]
