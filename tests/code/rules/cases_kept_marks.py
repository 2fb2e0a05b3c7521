"""Counters and marks that a failure leaves set, and what is given back by the opposite method."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("released-on-success-only", "typescript", """
        export class ReportRunner {
          private active = 0;

          constructor(private readonly max: number, private readonly db: Database) {}

          async run(id: string): Promise<Report> {
            if (this.active >= this.max) throw new BusyError();
            this.active++;
            const query = await this.db.loadQuery(id);
            const rows = await this.db.execute(query);
            this.active--;
            return new Report(id, rows);
          }
        }
        """, 8),
    good("released-on-success-only", "typescript", """
        export class ReportRunner {
          private active = 0;

          constructor(private readonly max: number, private readonly db: Database) {}

          async run(id: string): Promise<Report> {
            if (this.active >= this.max) throw new BusyError();
            this.active++;
            try {
              const query = await this.db.loadQuery(id);
              const rows = await this.db.execute(query);
              return new Report(id, rows);
            } finally {
              this.active--;
            }
          }
        }
        """),
    bad("released-on-success-only", "python", """
        class Importer:
            def __init__(self, api, store):
                self._api = api
                self._store = store
                self._running = set()

            async def run(self, feed_id):
                if feed_id in self._running:
                    return "busy"
                self._running.add(feed_id)
                feed = await self._api.fetch(feed_id)
                if feed.empty:
                    self._running.discard(feed_id)
                    return "empty"
                await self._store.save(feed)
                self._running.discard(feed_id)
                return "done"
        """, 10),
    good("released-on-success-only", "python", """
        class Importer:
            def __init__(self, api, store):
                self._api = api
                self._store = store
                self._running = set()

            async def run(self, feed_id):
                if feed_id in self._running:
                    return "busy"
                self._running.add(feed_id)
                try:
                    feed = await self._api.fetch(feed_id)
                    if feed.empty:
                        return "empty"
                    await self._store.save(feed)
                    return "done"
                finally:
                    self._running.discard(feed_id)
        """),
    bad("lock-not-released", "java", """
        package com.acme.docs;

        public class Renderer {
            private final Bulkhead bulkhead;
            private final Templates templates;

            public Renderer(Bulkhead bulkhead, Templates templates) {
                this.bulkhead = bulkhead;
                this.templates = templates;
            }

            public byte[] render(String name) {
                bulkhead.acquirePermission();
                Template template = templates.find(name);
                if (template == null) {
                    throw new NotFound(name);
                }
                byte[] out = template.render();
                bulkhead.releasePermission();
                return out;
            }
        }
        """, 13),
    bad("lock-not-released", "rust", """
        use anyhow::Result;

        pub struct Closer {
            locks: LockService,
            ledger: Ledger,
        }

        impl Closer {
            pub async fn close_day(&self, day: &str) -> Result<usize> {
                let key = format!("close:{day}");
                self.locks.acquire(&key).await?;
                let open = self.ledger.open_items(day).await?;
                if open > 0 {
                    anyhow::bail!("{open} open items on {day}");
                }
                let closed = self.ledger.close(day).await?;
                self.locks.release(&key).await?;
                Ok(closed)
            }
        }
        """, 11),
    good("lock-not-released", "rust", """
        use anyhow::Result;

        pub struct Closer {
            locks: LockService,
            ledger: Ledger,
        }

        impl Closer {
            pub async fn close_day(&self, day: &str) -> Result<usize> {
                let key = format!("close:{day}");
                self.locks.acquire(&key).await?;
                let outcome = self.close_locked(day).await;
                self.locks.release(&key).await?;
                outcome
            }

            async fn close_locked(&self, day: &str) -> Result<usize> {
                let open = self.ledger.open_items(day).await?;
                if open > 0 {
                    anyhow::bail!("{open} open items on {day}");
                }
                Ok(self.ledger.close(day).await?)
            }
        }
        """),
    good("lock-not-released", "rust", """
        impl Gate {
            pub async fn with<T>(&self, key: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
                self.locks.acquire(key).await?;
                let result = work.await;
                if let Err(error) = self.locks.release(key).await {
                    tracing::warn!(%error, "release failed");
                }
                result
            }
        }
        """),
    bad("lock-not-released", "csharp", """
        using System.Threading;
        using System.Threading.Tasks;

        public sealed class Exporter
        {
            private readonly SemaphoreSlim _parallel = new(4);
            private readonly IReportStore _store;

            public Exporter(IReportStore store) => _store = store;

            public async Task<byte[]> ExportAsync(string id, CancellationToken ct)
            {
                if (!await _parallel.WaitAsync(TimeSpan.FromSeconds(5), ct))
                {
                    throw new BusyException();
                }
                var report = await _store.FindAsync(id, ct) ?? throw new NotFoundException(id);
                try
                {
                    return await report.RenderAsync(ct);
                }
                finally
                {
                    _parallel.Release();
                }
            }
        }
        """, 13),
    bad("lock-not-released", "python", """
        import asyncio


        class Renderer:
            def __init__(self, templates, limit=4):
                self._templates = templates
                self._capacity = asyncio.Semaphore(limit)

            async def render(self, name, data):
                await self._capacity.acquire()
                template = await self._templates.load(name)
                if template is None:
                    return None
                try:
                    return await template.render_async(data)
                finally:
                    self._capacity.release()
        """, 10),
]
