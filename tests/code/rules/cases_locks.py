"""Locks and semaphores that stay held after an error."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-not-released"
_PY, _JS, _GO, _JAVA, _CS, _KT = "python", "javascript", "go", "java", "csharp", "kotlin"

CASES = [
    bad(
        _RULE,
        _JAVA,
        """
        import java.util.concurrent.Semaphore;
        import java.util.concurrent.TimeUnit;
        import java.util.concurrent.locks.*;
        class Printer {
          private final ReadWriteLock rw = new ReentrantReadWriteLock();
          private final Lock guard = new ReentrantLock();
          private final Semaphore permits = new Semaphore(4);
          void one(Job job) throws Exception {
            if (!guard.tryLock(5, TimeUnit.SECONDS)) {
              throw new Busy();
            }
            device.print(job);
            guard.unlock();
          }
          void two(Job job) {
            rw.writeLock().lock();
            device.print(job);
            rw.writeLock().unlock();
          }
          void three(Job job) throws Exception {
            permits.acquire();
            device.print(job);
            permits.release();
          }
          void four(Job job) {
            if (guard.tryLock()) {
              device.print(job);
              guard.unlock();
            }
          }
        }
        """,
        9,
        16,
        21,
        26,
    ),
    good(
        _RULE,
        _JAVA,
        """
        import java.util.concurrent.TimeUnit;
        import java.util.concurrent.locks.*;
        class Printer {
          private final Lock guard = new ReentrantLock();
          void one(Job job) throws Exception {
            if (!guard.tryLock(5, TimeUnit.SECONDS)) {
              throw new Busy();
            }
            try {
              device.print(job);
            } finally {
              guard.unlock();
            }
          }
          void two(Job job) {
            guard.lock();
            jobs.add(job);
            guard.unlock();
          }
          boolean three() {
            boolean held = guard.tryLock();
            return held;
          }
        }
        """,
    ),
    bad(
        _RULE,
        _CS,
        """
        class Renderer {
          private readonly SemaphoreSlim _slots = new(4);
          private readonly ReaderWriterLockSlim _rw = new();
          public async Task<byte[]> One(string html, CancellationToken ct) {
            if (!await _slots.WaitAsync(TimeSpan.FromSeconds(10), ct)) {
              throw new TimeoutException();
            }
            var pdf = await _engine.RenderAsync(html, ct);
            _slots.Release();
            return pdf;
          }
          public void Two() {
            _rw.EnterWriteLock();
            Load();
            _rw.ExitWriteLock();
          }
          public void Three() {
            Monitor.Enter(_gate);
            Load();
            Monitor.Exit(_gate);
          }
        }
        """,
        5,
        13,
        18,
    ),
    good(
        _RULE,
        _CS,
        """
        class Renderer {
          private readonly SemaphoreSlim _slots = new(4);
          public async Task<byte[]> One(string html, CancellationToken ct) {
            if (!await _slots.WaitAsync(TimeSpan.FromSeconds(10), ct)) throw new TimeoutException();
            try { return await _engine.RenderAsync(html, ct); } finally { _slots.Release(); }
          }
          public async Task Two(Task task) {
            task.Wait();
            await Done(task);
          }
        }
        """,
    ),
    bad(
        _RULE,
        _PY,
        """
        import asyncio
        import threading

        gate = threading.Semaphore(3)

        class Renderer:
            def __init__(self):
                self._slots = asyncio.Semaphore(4)

            async def one(self, html):
                await self._slots.acquire()
                pdf = await self.engine.render(html)
                self._slots.release()
                return pdf

        def two(job):
            if not gate.acquire(timeout=5):
                raise TimeoutError("busy")
            run(job)
            gate.release()

        def three(job, lock):
            acquired = lock.acquire(timeout=5)
            if not acquired:
                return False
            run(job)
            lock.release()
            return True
        """,
        11,
        17,
        23,
    ),
    good(
        _RULE,
        _PY,
        """
        import threading

        gate = threading.Semaphore(3)

        def two(job):
            if not gate.acquire(timeout=5):
                raise TimeoutError("busy")
            try:
                run(job)
            finally:
                gate.release()

        def three(job, pool):
            item = pool.acquire()
            run(job, item)
            pool.release(item)
        """,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a

        import (
        	"context"

        	"golang.org/x/sync/semaphore"
        )

        type Renderer struct {
        	slots *semaphore.Weighted
        }

        func (r *Renderer) One(ctx context.Context) error {
        	if err := r.slots.Acquire(ctx, 1); err != nil {
        		return err
        	}
        	if err := r.render(ctx); err != nil {
        		return err
        	}
        	r.slots.Release(1)
        	return nil
        }
        """,
        14,
    ),
    good(
        _RULE,
        _GO,
        """
        package a

        import (
        	"context"

        	"golang.org/x/sync/semaphore"
        )

        type Renderer struct {
        	slots *semaphore.Weighted
        }

        func (r *Renderer) One(ctx context.Context) error {
        	if err := r.slots.Acquire(ctx, 1); err != nil {
        		return err
        	}
        	defer r.slots.Release(1)
        	return r.render(ctx)
        }

        func (r *Renderer) Two(ctx context.Context) error {
        	if err := r.slots.Acquire(ctx, 1); err != nil {
        		return err
        	}
        	err := r.render(ctx)
        	r.slots.Release(1)
        	return err
        }
        """,
    ),
    bad(
        _RULE,
        _KT,
        """
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.Semaphore
        class Renderer(private val api: Api) {
            private val mutex = Mutex()
            private val slots = Semaphore(4)
            suspend fun one(html: String) {
                mutex.lock()
                api.render(html)
                mutex.unlock()
            }
            suspend fun two(html: String): ByteArray {
                slots.acquire()
                val pdf = api.render(html)
                slots.release()
                return pdf
            }
        }
        """,
        7,
        12,
    ),
    good(
        _RULE,
        _KT,
        """
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.withLock
        class Renderer(private val api: Api) {
            private val mutex = Mutex()
            suspend fun one(html: String) = mutex.withLock { api.render(html) }
            suspend fun two(html: String) {
                mutex.lock()
                try { api.render(html) } finally { mutex.unlock() }
            }
        }
        """,
    ),
    bad(
        _RULE,
        _JS,
        """
        class Renderer {
          async one(html) {
            await this.lock.acquire();
            const pdf = await this.engine.render(html);
            this.lock.release();
            return pdf;
          }
        }
        """,
        3,
    ),
]

_RELEASED = "released-on-success-only"
CASES += [
    bad(
        "response-not-closed",
        _GO,
        """
        package a

        import "net/http"

        type Rates struct{ http *http.Client }

        func (r *Rates) Latest(req *http.Request) (string, error) {
        	resp, err := r.http.Do(req)
        	if err != nil {
        		return "", err
        	}
        	if resp.StatusCode != http.StatusOK {
        		return "", errStatus
        	}
        	defer resp.Body.Close()
        	return read(resp.Body)
        }
        """,
        12,
    ),
    good(
        _RELEASED,
        _GO,
        """
        package a

        import (
        	"net/http"
        	"os"
        )

        func Latest(req *http.Request) (string, error) {
        	resp, err := http.DefaultClient.Do(req)
        	if err != nil {
        		return "", err
        	}
        	defer func() { _ = resp.Body.Close() }()
        	if resp.StatusCode != http.StatusOK {
        		return "", errStatus
        	}
        	return read(resp.Body)
        }

        func Closed(req *http.Request) (string, error) {
        	resp, err := http.DefaultClient.Do(req)
        	if err != nil {
        		return "", err
        	}
        	if resp.StatusCode != http.StatusOK {
        		resp.Body.Close()
        		return "", errStatus
        	}
        	defer resp.Body.Close()
        	return read(resp.Body)
        }

        func Missing(name string) (string, error) {
        	f, err := os.Open(name)
        	if os.IsNotExist(err) {
        		return "", nil
        	}
        	if err != nil {
        		return "", err
        	}
        	defer f.Close()
        	return read(f)
        }
        """,
    ),
    bad(
        _RELEASED,
        _PY,
        """
        import asyncpg

        def store(rows):
            conn = POOL.getconn()
            with conn, conn.cursor() as cur:
                cur.executemany(UPSERT, rows)
            POOL.putconn(conn)

        async def load(pool: asyncpg.Pool, key):
            conn = await pool.acquire()
            row = await conn.fetchrow("SELECT 1 FROM t WHERE id = $1", key)
            await pool.release(conn)
            return row

        def orders():
            session = SessionLocal()
            found = session.query(Order).all()
            session.close()
            return found
        """,
        4,
        10,
        16,
    ),
    good(
        _RELEASED,
        _PY,
        """
        import asyncpg

        def store(rows):
            conn = POOL.getconn()
            try:
                with conn, conn.cursor() as cur:
                    cur.executemany(UPSERT, rows)
            finally:
                POOL.putconn(conn)

        async def load(pool: asyncpg.Pool, key):
            async with pool.acquire() as conn:
                return await conn.fetchrow("SELECT 1 FROM t WHERE id = $1", key)

        def orders():
            with SessionLocal() as session:
                return session.query(Order).all()
        """,
    ),
    bad(
        _RELEASED,
        _JS,
        """
        const puppeteer = require('puppeteer');
        async function shoot(url) {
          const browser = await puppeteer.launch();
          const page = await browser.newPage();
          await page.goto(url);
          const shot = await page.screenshot();
          await browser.close();
          return shot;
        }
        """,
        3,
    ),
    bad(
        _RULE,
        _PY,
        """
        def nightly(conn):
            conn.execute("SELECT pg_advisory_lock(1)")
            try:
                build(conn)
            finally:
                conn.execute("SELECT pg_advisory_unlock(1)")

        def hourly(conn):
            conn.execute("SELECT pg_advisory_lock(2)")
            build(conn)
            conn.execute("SELECT pg_advisory_unlock(2)")

        def daily(conn):
            conn.execute("SELECT pg_advisory_lock(3)")
            build(conn)
            conn.execute("SELECT pg_advisory_unlock(3)")
        """,
        9,
        14,
    ),
]
