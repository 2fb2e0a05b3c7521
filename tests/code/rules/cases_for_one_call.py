"""Listeners for one call, things lent by a pool, and correct code close to what is left or kept."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("listener-leak", "csharp", """
        using System.Threading;
        using System.Threading.Tasks;
        using Microsoft.Extensions.Hosting;

        public sealed class JobRunner
        {
            private readonly IHostApplicationLifetime _lifetime;

            public JobRunner(IHostApplicationLifetime lifetime) => _lifetime = lifetime;

            public async Task RunAsync(Job job)
            {
                _lifetime.ApplicationStopping.Register(() => job.Abort());
                await job.ExecuteAsync();
            }
        }
        """, 13),
    good("listener-leak", "csharp", """
        using System.Threading;
        using System.Threading.Tasks;
        using Microsoft.Extensions.Hosting;

        public sealed class JobRunner
        {
            private readonly IHostApplicationLifetime _lifetime;

            public JobRunner(IHostApplicationLifetime lifetime) => _lifetime = lifetime;

            public async Task RunAsync(Job job)
            {
                using var registration = _lifetime.ApplicationStopping.Register(() => job.Abort());
                await job.ExecuteAsync();
            }
        }
        """),
    bad("listener-leak", "python", """
        import asyncio


        class ExportRunner:
            def __init__(self, bus, store):
                self._bus = bus
                self._store = store

            async def run(self, job):
                cancelled = asyncio.Event()

                def on_cancel(event):
                    if event.job_id == job.id:
                        cancelled.set()

                self._bus.subscribe("job.cancelled", on_cancel)
                async for page in self._store.pages(job):
                    if cancelled.is_set():
                        return "cancelled"
                    await self._store.write(page)
                return "done"
        """, 16),
    good("listener-leak", "python", """
        import asyncio


        class ExportRunner:
            def __init__(self, bus, store):
                self._bus = bus
                self._store = store

            async def run(self, job):
                cancelled = asyncio.Event()

                def on_cancel(event):
                    if event.job_id == job.id:
                        cancelled.set()

                self._bus.subscribe("job.cancelled", on_cancel)
                try:
                    async for page in self._store.pages(job):
                        if cancelled.is_set():
                            return "cancelled"
                        await self._store.write(page)
                    return "done"
                finally:
                    self._bus.unsubscribe("job.cancelled", on_cancel)
        """),
    bad("listener-leak", "kotlin", """
        package i

        import io.ktor.server.application.call
        import io.ktor.server.response.respondTextWriter
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.get
        import kotlinx.coroutines.channels.Channel

        fun Route.alarms(board: AlarmBoard) {
            get("/alarms") {
                val queue = Channel<Alarm>(64)
                board.addListener { alarm -> queue.trySend(alarm) }
                call.respondTextWriter {
                    for (alarm in queue) {
                        write("data: ${alarm.text}\\n\\n")
                        flush()
                    }
                }
            }
        }
        """, 12),
    good("listener-leak", "kotlin", """
        package i

        import io.ktor.server.application.call
        import io.ktor.server.response.respondTextWriter
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.get
        import kotlinx.coroutines.channels.Channel

        fun Route.alarms(board: AlarmBoard) {
            get("/alarms") {
                val queue = Channel<Alarm>(64)
                val listener = AlarmListener { alarm -> queue.trySend(alarm) }
                board.addListener(listener)
                try {
                    call.respondTextWriter {
                        for (alarm in queue) {
                            write("data: ${alarm.text}\\n\\n")
                            flush()
                        }
                    }
                } finally {
                    board.removeListener(listener)
                }
            }
        }
        """),
    bad("released-on-success-only", "csharp", """
        using System.Threading.Tasks;

        public sealed class BadgePrinter
        {
            private readonly PrinterPool _pool;
            private readonly IBadgeStore _badges;

            public BadgePrinter(PrinterPool pool, IBadgeStore badges)
            {
                _pool = pool;
                _badges = badges;
            }

            public async Task<bool> PrintAsync(string id)
            {
                var printer = await _pool.BorrowAsync();
                var badge = await _badges.FindAsync(id);
                if (badge is null)
                {
                    return false;
                }
                await printer.PrintAsync(badge);
                _pool.Return(printer);
                return true;
            }
        }
        """, 16),
    bad("released-on-success-only", "rust", """
        use dashmap::DashSet;

        pub struct Importer {
            running: DashSet<String>,
            store: Store,
        }

        impl Importer {
            pub async fn run(&self, feed: &str) -> Result<usize, ImportError> {
                if !self.running.insert(feed.to_string()) {
                    return Err(ImportError::Busy);
                }
                let rows = self.store.fetch(feed).await?;
                let count = self.store.save(rows).await?;
                self.running.remove(feed);
                Ok(count)
            }
        }
        """, 10),
    bad("released-on-success-only", "python", """
        from concurrent.futures import ThreadPoolExecutor


        class Thumbnails:
            def __init__(self, store):
                self.store = store

            def build(self, ids):
                pool = ThreadPoolExecutor(max_workers=8)
                futures = [pool.submit(self.store.thumbnail, each) for each in ids]
                results = [future.result(timeout=30) for future in futures]
                pool.shutdown()
                return results
        """, 9),
    good("released-on-success-only", "typescript", """
        export class Dedup {
          private readonly pending = new Map<string, Promise<User>>();

          async user(id: string): Promise<User> {
            const known = this.pending.get(id);
            if (known) return known;
            const loading = this.load(id).finally(() => this.pending.delete(id));
            this.pending.set(id, loading);
            return loading;
          }

          async refresh(ids: string[]): Promise<void> {
            const seen = new Set<string>();
            for (const id of ids) {
              if (seen.has(id)) continue;
              seen.add(id);
              await this.load(id);
              seen.delete(id);
            }
          }
        }
        """),
    good("released-on-success-only", "go", """
        package j

        import "io"

        func Merge(out io.Writer, names []string) error {
            for _, name := range names {
                in, err := openPart(name)
                if err != nil {
                    return err
                }
                _, err = io.Copy(out, in)
                in.Close()
                if err != nil {
                    return err
                }
            }
            return nil
        }

        func First(names []string) (string, error) {
            for _, name := range names {
                in, err := openPart(name)
                if err != nil {
                    continue
                }
                line, err := readLine(in)
                closeErr := in.Close()
                if err != nil {
                    return "", err
                }
                if closeErr != nil {
                    return "", closeErr
                }
                if line != "" {
                    return line, nil
                }
            }
            return "", io.EOF
        }
        """),
    good("released-on-success-only", "java", """
        package j;

        class Mailer {
            private final Transport transport;

            Mailer(Transport transport) {
                this.transport = transport;
            }

            Message build(String to) {
                Message message = transport.newMessage();
                message.to(to);
                message.subject("hello");
                message.release();
                return message;
            }

            void consume(Consumer consumer) {
                consumer.pause(consumer.assignment());
                try {
                    work();
                } finally {
                    consumer.resume(consumer.assignment());
                }
            }
        }
        """),
    good("released-on-success-only", "typescript", """
        export class Pages {
          constructor(private readonly browser: Browser, private readonly log: Logger) {}

          async title(url: string): Promise<string> {
            const page = await this.browser.open();
            return page
              .goto(url)
              .then(() => page.title())
              .finally(() => page.close());
          }

          async session(id: string): Promise<Session> {
            const session = await this.store.create(id);
            this.sessions.set(id, session);
            session.on("end", () => session.close());
            return session;
          }
        }
        """),
    good("released-on-success-only", "python", """
        class Rooms:
            def __init__(self):
                self.rooms = {}

            async def leave(self, name):
                room = self.rooms.pop(name)
                await room.announce("bye")
                await room.close()

            async def stop(self):
                for room in list(self.rooms.values()):
                    await room.close()
        """),
    good("released-on-success-only", "python", """
        import asyncio


        class Crawler:
            def __init__(self, limit):
                self.active = 0
                self.limit = limit
                self.done = asyncio.Event()

            async def visit(self, url):
                while self.active >= self.limit:
                    await asyncio.sleep(0.1)
                self.active += 1
                try:
                    await self.fetch(url)
                except Exception:
                    self.errors += 1
                self.active -= 1
        """),
    good("released-on-success-only", "csharp", """
        public sealed class Encoder
        {
            private readonly ObjectPool<StringBuilder> _pool;

            public Encoder(ObjectPool<StringBuilder> pool) => _pool = pool;

            public string Encode(Item item)
            {
                var builder = _pool.Get();
                try
                {
                    builder.Append(item.Name);
                    return builder.ToString();
                }
                finally
                {
                    _pool.Return(builder);
                }
            }
        }
        """),
    good("lock-not-released", "rust", """
        impl Cache {
            pub async fn warm(&self, key: &str) -> Result<(), Error> {
                if self.loading.insert(key.to_string()) {
                    let result = self.load(key).await;
                    self.loading.remove(key);
                    return result;
                }
                Ok(())
            }
        }
        """),
    good("lock-not-released", "kotlin", """
        class Gate(private val slots: Slots) {
            suspend fun <T> with(block: suspend () -> T): T {
                slots.acquire()
                return try {
                    block()
                } finally {
                    slots.release()
                }
            }
        }
        """),
    good("lock-held-over-io", "csharp", """
        public sealed class Ledger
        {
            private readonly SemaphoreSlim _gate = new(1, 1);
            private readonly ILedgerFile _file;

            public Ledger(ILedgerFile file) => _file = file;

            public async Task AppendAsync(Entry entry)
            {
                await _gate.WaitAsync();
                try { await _file.WriteAsync(entry); }
                finally { _gate.Release(); }
            }

            public async Task<Entry> LastAsync()
            {
                await _gate.WaitAsync();
                try { return await _file.ReadLastAsync(); }
                finally { _gate.Release(); }
            }
        }
        """),
    bad("lock-held-over-io", "python", """
        import threading

        import boto3


        class SecretCache:
            def __init__(self):
                self._guard = threading.RLock()
                self._values = {}
                self._client = boto3.client("secretsmanager")

            def get(self, name):
                with self._guard:
                    if name not in self._values:
                        answer = self._client.get_secret_value(SecretId=name)
                        self._values[name] = answer["SecretString"]
                    return self._values[name]
        """, 15),
    bad("lock-held-over-io", "go", """
        package conv

        import (
            "os/exec"
            "sync"
        )

        type Converter struct {
            mu   sync.Mutex
            done map[string]string
        }

        func (c *Converter) Convert(path string) (string, error) {
            c.mu.Lock()
            defer c.mu.Unlock()
            if out, ok := c.done[path]; ok {
                return out, nil
            }
            out := path + ".pdf"
            cmd := exec.Command("soffice", "--convert-to", "pdf", path)
            if err := cmd.Run(); err != nil {
                return "", err
            }
            c.done[path] = out
            return out, nil
        }
        """, 21),
]
