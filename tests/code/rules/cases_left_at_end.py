"""Ends that leave running what was started, or lose what is still held."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CUT = "work-cut-off-at-the-end"

CASES = [
    bad(
        CUT,
        "csharp",
        """
        class Listener : IHostedService {
            private readonly ServiceBusProcessor _processor;
            public Task StartAsync(CancellationToken ct) => _processor.StartProcessingAsync(ct);
            public Task StopAsync(CancellationToken ct) {
                _logger.LogInformation("stopping");
                return Task.CompletedTask;
            }
        }
        """,
        4,
    ),
    good(
        CUT,
        "csharp",
        """
        class Listener : IHostedService {
            private readonly ServiceBusProcessor _processor;
            public Task StartAsync(CancellationToken ct) => _processor.StartProcessingAsync(ct);
            public Task StopAsync(CancellationToken ct) => _processor.StopProcessingAsync(ct);
        }
        """,
    ),
    bad(
        CUT,
        "csharp",
        """
        class Trail : IDisposable {
            private readonly IProducer<string, byte[]> _producer;
            public void Record(Message<string, byte[]> message) {
                _producer.Produce("audit", message);
            }
            public void Dispose() => _producer.Dispose();
        }
        """,
        6,
    ),
    bad(
        CUT,
        "typescript",
        """
        class Poller {
          start() {
            this.consumer.start();
          }
          async stop() {
            log.info('stopped');
          }
        }
        """,
        5,
    ),
    bad(
        CUT,
        "java",
        """
        class Buffer {
            private final BlockingQueue<Reading> buffer = new ArrayBlockingQueue<>(20_000);
            void start() { timer.scheduleWithFixedDelay(this::flush, 1, 1, TimeUnit.SECONDS); }
            public boolean offer(Reading reading) { return buffer.offer(reading); }
            private void flush() {
                List<Reading> batch = new ArrayList<>();
                buffer.drainTo(batch, 500);
                store.insertAll(batch);
            }
            @PreDestroy
            void finish() { timer.shutdownNow(); }
        }
        """,
        10,
    ),
    good(
        CUT,
        "java",
        """
        class Buffer {
            private final BlockingQueue<Reading> buffer = new ArrayBlockingQueue<>(20_000);
            void start() { timer.scheduleWithFixedDelay(this::flush, 1, 1, TimeUnit.SECONDS); }
            public boolean offer(Reading reading) { return buffer.offer(reading); }
            private void flush() {
                List<Reading> batch = new ArrayList<>();
                buffer.drainTo(batch, 500);
                store.insertAll(batch);
            }
            @PreDestroy
            void finish() { timer.shutdown(); flush(); }
        }
        """,
    ),
    bad(
        CUT,
        "javascript",
        """
        class Metrics {
          start() {
            this.timer = setInterval(() => this.flush(), 1000);
          }
          add(point) {
            this.points.push(point);
          }
          async flush() {
            const batch = this.points.splice(0);
            await this.api.send(batch);
          }
          stop() {
            clearInterval(this.timer);
          }
        }
        """,
        12,
    ),
    bad(
        CUT,
        "kotlin",
        """
        fun Application.events(registry: Registry) {
            val subscriber = Subscriber.newBuilder(name, receiver(registry)).build()
            subscriber.startAsync().awaitRunning()
        }
        """,
        3,
    ),
    bad(
        CUT,
        "go",
        """
        package main

        import "github.com/robfig/cron/v3"

        func main() {
        	c := cron.New()
        	c.Start()
        	<-ctx.Done()
        	c.Stop()
        }
        """,
        9,
    ),
    good(
        CUT,
        "go",
        """
        package main

        import "github.com/robfig/cron/v3"

        func main() {
        	c := cron.New()
        	c.Start()
        	<-ctx.Done()
        	<-c.Stop().Done()
        }
        """,
    ),
    bad(
        CUT,
        "rust",
        """
        async fn work(mut terminate: Signal, mut messages: Stream) {
            let mut renders = JoinSet::new();
            loop {
                tokio::select! {
                    _ = terminate.recv() => break,
                    Some(message) = messages.next() => { renders.spawn(render(message)); }
                }
            }
            tracing::info!("stopping");
        }
        """,
        8,
    ),
    good(
        CUT,
        "rust",
        """
        async fn work(mut terminate: Signal, mut messages: Stream) {
            let mut renders = JoinSet::new();
            loop {
                tokio::select! {
                    _ = terminate.recv() => break,
                    Some(message) = messages.next() => { renders.spawn(render(message)); }
                }
            }
            while renders.join_next().await.is_some() {}
        }
        """,
    ),
    bad(
        CUT,
        "java",
        """
        import org.quartz.Scheduler;

        class Jobs {
            void stop() throws SchedulerException { scheduler.shutdown(); }
        }
        """,
        4,
    ),
    good(
        CUT,
        "java",
        """
        import org.quartz.Scheduler;

        class Jobs {
            void stop() throws SchedulerException { scheduler.shutdown(true); }
            void shutdown() throws SchedulerException { scheduler.shutdown(); }
        }
        """,
    ),
    bad(
        "daemon-thread-cut-off",
        "python",
        """
        import threading

        class Writer(threading.Thread):
            def __init__(self):
                super().__init__(daemon=True)

            def run(self):
                while True:
                    self._insert(self.rows.get())
        """,
        5,
    ),
    bad(
        "worker-ends-with-one-item",
        "python",
        """
        import asyncio

        class Ingest:
            async def flush(self):
                while True:
                    rows = [await self._queue.get()]
                    await self._pool.executemany(INSERT, rows)

        async def run(ingest, stop):
            task = asyncio.create_task(ingest.flush())
            await stop.wait()
            task.cancel()
        """,
        7,
    ),
]
