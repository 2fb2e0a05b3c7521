"""Cases of locks and permits without effect."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-guards-nothing"

CASES = [
    bad(
        _RULE,
        "rust",
        """
        use std::sync::{Arc, Mutex};
        use tokio::sync::Semaphore;
        pub async fn one(slots: Arc<Semaphore>) -> anyhow::Result<()> {
            let _ = slots.acquire().await.context("stopped")?;
            work().await
        }
        pub async fn two(slots: Arc<Semaphore>) -> anyhow::Result<()> {
            slots.acquire_owned().await?;
            work().await
        }
        pub fn three(state: &Mutex<u32>) {
            let _ = state.lock().unwrap();
            touch();
        }
        """,
        4,
        8,
        12,
    ),
    good(
        _RULE,
        "rust",
        """
        use std::sync::{Arc, Mutex};
        use tokio::sync::Semaphore;
        pub async fn one(slots: Arc<Semaphore>) -> anyhow::Result<()> {
            let _slot = slots.acquire().await.context("stopped")?;
            slots.acquire().await?.forget();
            work().await
        }
        pub fn two(state: &Mutex<Vec<u32>>) {
            let _ = state.lock().unwrap().pop();
            let _ = reader.read(&mut buffer);
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Exports {
            private readonly AsyncLock _mutex = new();
            public async Task One(CancellationToken ct) {
                await _mutex.LockAsync(ct);
                await Work(ct);
            }
            public async Task Two(CancellationToken ct) {
                var gate = new SemaphoreSlim(4);
                await gate.WaitAsync(ct);
                try { await Work(ct); } finally { gate.Release(); }
            }
            public void Three() { lock (new object()) { n++; } }
        }
        """,
        4,
        8,
        12,
    ),
    good(
        _RULE,
        "csharp",
        """
        class Exports {
            private readonly AsyncLock _mutex = new();
            public async Task One(CancellationToken ct) {
                using (await _mutex.LockAsync(ct)) { await Work(ct); }
            }
            public async Task All(IEnumerable<Job> jobs, CancellationToken ct) {
                var gate = new SemaphoreSlim(4);
                await Task.WhenAll(jobs.Select(async job => {
                    await gate.WaitAsync(ct);
                    try { await Work(job, ct); } finally { gate.Release(); }
                }));
            }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import "sync"
        type Counter struct {
            mu sync.Mutex
            n map[string]int
        }
        func (c Counter) Add(k string) {
            c.mu.Lock()
            defer c.mu.Unlock()
            c.n[k]++
        }
        func handle(m map[string]int) {
            var mu sync.Mutex
            mu.Lock()
            defer mu.Unlock()
            m["a"]++
        }
        """,
        8,
        13,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import "sync"
        type Counter struct {
            mu sync.Mutex
            n map[string]int
        }
        func (c *Counter) Add(k string) {
            c.mu.Lock()
            defer c.mu.Unlock()
            c.n[k]++
        }
        func all(xs []string, m map[string]int) {
            var mu sync.Mutex
            var wg sync.WaitGroup
            for _, x := range xs {
                wg.Add(1)
                go func() {
                    defer wg.Done()
                    mu.Lock()
                    m[x]++
                    mu.Unlock()
                }()
            }
            wg.Wait()
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import asyncio, threading
        async def fetch(client, url):
            slots = asyncio.Semaphore(10)
            async with slots:
                return await client.get(url, timeout=5)
        def add(state, key):
            with threading.Lock():
                state[key] = state.get(key, 0) + 1
        """,
        3,
        7,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        async def fetch_all(client, urls):
            slots = asyncio.Semaphore(10)
            async def one(url):
                async with slots:
                    return await client.get(url, timeout=5)
            return await asyncio.gather(*(one(url) for url in urls))
        async def fetch_some(client, urls):
            slots = asyncio.Semaphore(10)
            return await asyncio.gather(*(fetch(client, url, slots) for url in urls))
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.withLock
        class Ledger {
            suspend fun add(n: Int) {
                val mutex = Mutex()
                mutex.withLock { total += n }
            }
        }
        """,
        5,
    ),
    good(
        _RULE,
        "kotlin",
        """
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.withLock
        class Ledger {
            private val mutex = Mutex()
            suspend fun add(n: Int) = mutex.withLock { total += n }
            suspend fun all(xs: List<Int>) = coroutineScope {
                val own = Mutex()
                xs.map { async { own.withLock { out += it } } }.awaitAll()
            }
        }
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import { Mutex } from 'async-mutex';
        export async function save(db: Db) {
          const mutex = new Mutex();
          await mutex.runExclusive(async () => { await db.save(); });
        }
        """,
        3,
    ),
    good(
        _RULE,
        "typescript",
        """
        import { Mutex } from 'async-mutex';
        const mutex = new Mutex();
        export async function save(db: Db) {
          await mutex.runExclusive(async () => { await db.save(); });
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        import java.util.concurrent.locks.ReentrantLock;
        class Totals {
            void add(int n) {
                ReentrantLock lock = new ReentrantLock();
                lock.lock();
                try { total += n; } finally { lock.unlock(); }
            }
            void clear() { synchronized (new Object()) { total = 0; } }
        }
        """,
        4,
        8,
    ),
    good(
        _RULE,
        "java",
        """
        import java.util.concurrent.locks.ReentrantLock;
        class Totals {
            private final ReentrantLock lock = new ReentrantLock();
            void add(int n) {
                lock.lock();
                try { total += n; } finally { lock.unlock(); }
            }
        }
        """,
    ),
]
