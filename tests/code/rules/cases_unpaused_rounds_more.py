"""Loops of Go, Java, C# and TypeScript whose round without work waits nowhere."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

BUSY = "busy-loop"

CASES: list[Case] = [
    bad(
        BUSY,
        "go",
        """
        package leader

        func (e *Elector) Run(ctx context.Context) error {
            for ctx.Err() == nil {
                ok, err := e.store.TryAcquire(ctx, e.name, e.id, e.ttl)
                if err != nil {
                    e.log.Warn("acquire", "err", err)
                    ok = false
                }
                e.leader.Store(ok)
            }
            return ctx.Err()
        }
        """,
        4,
    ),
    bad(
        BUSY,
        "java",
        """
        package a;
        public class Standby implements Runnable {
            private final LockRegistry registry;
            private volatile boolean stopped;
            public void run() {
                while (!stopped) {
                    Lock lock = registry.obtain("primary");
                    if (lock.tryLock()) {
                        try {
                            lead();
                        } finally {
                            lock.unlock();
                        }
                    }
                }
            }
        }
        """,
        6,
    ),
    bad(
        BUSY,
        "go",
        """
        package spool

        func (w *Watcher) Run() {
            for !w.stopped.Load() {
                entries, err := os.ReadDir(w.dir)
                if err != nil {
                    log.Printf("read spool: %v", err)
                    time.Sleep(time.Second)
                    continue
                }
                for _, e := range entries {
                    w.handle(filepath.Join(w.dir, e.Name()))
                }
            }
        }
        """,
        4,
    ),
    bad(
        BUSY,
        "java",
        """
        package a;
        public class SpoolWatcher extends Thread {
            private final Path dir;
            @Override public void run() {
                while (!isInterrupted()) {
                    try (DirectoryStream<Path> files = Files.newDirectoryStream(dir, "*.csv")) {
                        for (Path file : files) {
                            importer.load(file);
                            Files.delete(file);
                        }
                    } catch (IOException e) {
                        log.error("spool", e);
                    }
                }
            }
        }
        """,
        5,
    ),
    bad(
        BUSY,
        "go",
        """
        package limit
        func (l *Limiter) Acquire() {
            for {
                cur := atomic.LoadInt64(&l.inflight)
                if cur >= l.max {
                    continue
                }
                if atomic.CompareAndSwapInt64(&l.inflight, cur, cur+1) {
                    return
                }
            }
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "go",
        """
        package q
        func (p *Pool) worker() {
            for !p.closed.Load() {
                p.mu.Lock()
                if len(p.jobs) == 0 {
                    p.mu.Unlock()
                    continue
                }
                job := p.jobs[0]
                p.jobs = p.jobs[1:]
                p.mu.Unlock()
                job()
            }
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "java",
        """
        package a;
        class Mailbox implements Runnable {
            private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();
            private volatile boolean open = true;
            @Override public void run() {
                while (open) {
                    Event event;
                    while ((event = events.poll()) != null) {
                        sink.accept(event);
                    }
                }
            }
        }
        """,
        6,
    ),
    bad(
        BUSY,
        "go",
        """
        package l
        func (l *Locker) Lock(ctx context.Context, key string) error {
            for {
                ok, err := l.rdb.SetNX(ctx, key, l.id, 10*time.Second).Result()
                if err != nil {
                    return err
                }
                if ok {
                    return nil
                }
            }
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "go",
        """
        package k
        func consume(r *kafka.Consumer, handle func(*kafka.Message)) {
            for {
                ev := r.Poll(0)
                switch m := ev.(type) {
                case *kafka.Message:
                    handle(m)
                case kafka.Error:
                    log.Printf("kafka: %v", m)
                }
            }
        }
        """,
        3,
    ),
    bad(
        BUSY,
        "java",
        """
        package a;
        class Consumer implements Runnable {
            public void run() {
                while (!closed.get()) {
                    ConsumerRecords<String, String> records = consumer.poll(Duration.ZERO);
                    for (ConsumerRecord<String, String> record : records) {
                        handle(record);
                    }
                }
            }
        }
        """,
        4,
    ),
    good(
        BUSY,
        "go",
        """
        package a
        func (l *Locker) Lock(ctx context.Context, key string) error {
            for {
                ok, err := l.rdb.SetNX(ctx, key, l.id, time.Minute).Result()
                if err != nil {
                    return err
                }
                if ok {
                    return nil
                }
                select {
                case <-ctx.Done():
                    return ctx.Err()
                case <-time.After(l.wait):
                }
            }
        }
        """,
    ),
    good(
        BUSY,
        "go",
        """
        package a
        func (c *Counter) Add(n int64) {
            for {
                old := atomic.LoadInt64(&c.v)
                if atomic.CompareAndSwapInt64(&c.v, old, old+n) {
                    return
                }
            }
        }
        """,
    ),
    good(
        BUSY,
        "java",
        """
        package a;
        class Ids {
            String unique() {
                while (true) {
                    String id = random();
                    if (!repo.existsById(id)) {
                        return id;
                    }
                }
            }
        }
        """,
    ),
    good(
        BUSY,
        "go",
        """
        package a
        func (s *Scanner) skip() {
            for {
                s.mu.Lock()
                c := s.buf[s.pos]
                if c == ' ' {
                    s.pos++
                    s.mu.Unlock()
                    continue
                }
                s.mu.Unlock()
                return
            }
        }
        """,
    ),
    bad(
        BUSY,
        "csharp",
        """
        public class Standby : BackgroundService
        {
            private readonly ILeaseClient _lease;
            protected override async Task ExecuteAsync(CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    var acquired = await _lease.TryAcquireAsync("primary", ct);
                    if (!acquired)
                    {
                        _logger.LogDebug("standby");
                        continue;
                    }
                    await LeadAsync(ct);
                }
            }
        }
        """,
        8,
    ),
    bad(
        BUSY,
        "typescript",
        """
        import { readdir, unlink } from 'node:fs/promises';
        export class Spool {
          private running = true;
          async run(): Promise<void> {
            while (this.running) {
              const files = await readdir(this.dir);
              for (const file of files) {
                await this.send(join(this.dir, file));
                await unlink(join(this.dir, file));
              }
            }
          }
        }
        """,
        5,
    ),
    bad(
        BUSY,
        "csharp",
        """
        public class Importer
        {
            public void Run(CancellationToken token)
            {
                while (!token.IsCancellationRequested)
                {
                    var file = Directory.EnumerateFiles(_inbox, "*.xml").FirstOrDefault();
                    if (file == null)
                        continue;
                    Import(file);
                    File.Delete(file);
                }
            }
        }
        """,
        5,
    ),
    bad(
        BUSY,
        "typescript",
        """
        export async function acquire(redis: Redis, key: string, token: string) {
          while (true) {
            const ok = await redis.set(key, token, 'PX', 10000, 'NX');
            if (ok === 'OK') return;
          }
        }
        """,
        2,
    ),
    bad(
        BUSY,
        "csharp",
        """
        public async Task<IDisposable> AcquireAsync(string key, CancellationToken ct)
        {
            while (true)
            {
                ct.ThrowIfCancellationRequested();
                if (await _db.LockTakeAsync(key, _token, TimeSpan.FromSeconds(10)))
                    return new Releaser(_db, key, _token);
            }
        }
        """,
        3,
    ),
    good(
        BUSY,
        "typescript",
        """
        export async function run(queue: Queue) {
          while (true) {
            const job = await queue.tryClaim();
            if (!job) {
              await sleep(1000);
              continue;
            }
            await handle(job);
          }
        }
        """,
    ),
]
