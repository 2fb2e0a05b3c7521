"""Pools, queues and locks that other processes share."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY = "python"
_TS = "typescript"
_GO = "go"
_JAVA = "java"
_CS = "csharp"
_LOCK = "lock-of-another-released"
_POOL = "pool-not-shut-down"
_QUEUE = "unbounded-queue"

CASES = [
    bad(
        _LOCK,
        _PY,
        """
        import uuid
        def work(client, job):
            key = f"lock:{job.id}"
            if not client.set(key, uuid.uuid4().hex, nx=True, ex=30):
                return False
            try:
                run(job)
            finally:
                client.delete(key)
        """,
        9,
    ),
    good(
        _LOCK,
        _PY,
        """
        import uuid
        def work(client, job):
            key, token = f"lock:{job.id}", uuid.uuid4().hex
            if not client.set(key, token, nx=True, ex=30):
                return False
            try:
                run(job)
            finally:
                if client.get(key) == token:
                    client.delete(key)
        """,
    ),
    good(
        _LOCK,
        _PY,
        """
        def remember(client, key):
            client.set(key, 1, ex=30)
            client.delete(key)
        """,
    ),
    bad(
        _LOCK,
        _GO,
        """
        package a

        func (j *Job) Run(ctx context.Context) error {
        	ok, err := j.rdb.SetNX(ctx, lockKey, "1", time.Minute).Result()
        	if err != nil || !ok {
        		return err
        	}
        	defer j.rdb.Del(ctx, lockKey)
        	return j.work(ctx)
        }
        """,
        8,
    ),
    bad(
        _LOCK,
        _TS,
        """
        export class Locks {
          async run(id: string, work: () => Promise<void>) {
            const key = `lock:${id}`;
            const taken = await this.redis.set(key, '1', 'PX', 30000, 'NX');
            if (!taken) throw new Error('locked');
            try {
              await work();
            } finally {
              await this.redis.del(key);
            }
          }
        }
        """,
        9,
    ),
    bad(
        _LOCK,
        _JAVA,
        """
        class Locks {
          void run(String id, Runnable work) {
            String lockKey = "lock:" + id;
            Boolean taken = redis.opsForValue().setIfAbsent(lockKey, "1", Duration.ofSeconds(30));
            if (!Boolean.TRUE.equals(taken)) throw new Locked();
            try { work.run(); } finally { redis.delete(lockKey); }
          }
        }
        """,
        6,
    ),
    bad(
        _POOL,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Reports {
          Report render(Spec spec) throws Exception {
            ExecutorService workers = Executors.newFixedThreadPool(4);
            Future<Chart> chart = workers.submit(() -> renderer.render(spec));
            return new Report(chart.get());
          }
        }
        """,
        4,
    ),
    good(
        _POOL,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Reports {
          private final ExecutorService workers = Executors.newFixedThreadPool(4);
          Report render(Spec spec) throws Exception {
            ExecutorService own = Executors.newFixedThreadPool(4);
            try { return new Report(own.submit(() -> renderer.render(spec)).get()); } finally { own.shutdown(); }
          }
          @Bean ExecutorService pool() { return Executors.newFixedThreadPool(4); }
          public static void main(String[] args) {
            ExecutorService pool = Executors.newFixedThreadPool(4);
            pool.submit(() -> serve());
          }
        }
        """,
    ),
    bad(
        _POOL,
        _PY,
        """
        from concurrent.futures import ThreadPoolExecutor
        def render(spec):
            pool = ThreadPoolExecutor(max_workers=4)
            done = [pool.submit(draw, each) for each in spec.charts]
            return [each.result() for each in done]
        """,
        3,
    ),
    bad(
        _QUEUE,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Ingest {
          private final ExecutorService pool = Executors.newFixedThreadPool(8);
          public void accept(List<Point> points) {
            pool.execute(() -> write(points));
          }
        }
        """,
        3,
    ),
    good(
        _QUEUE,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Ingest {
          private final ExecutorService pool = Executors.newFixedThreadPool(8);
          private final ExecutorService other = new ThreadPoolExecutor(8, 8, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(100));
          public Future<?> accept(List<Point> points) {
            return pool.submit(() -> write(points));
          }
          public void start() { pool.execute(this::loop); }
          public void more(List<Point> points) { other.execute(() -> write(points)); }
        }
        """,
    ),
    bad(
        "shared-mutable-state",
        _CS,
        """
        public class QuotaMiddleware {
          private static readonly Dictionary<string, int> Used = new();
          public async Task InvokeAsync(HttpContext context) {
            Used[context.TraceIdentifier] = 1;
            await _next(context);
          }
        }
        """,
        4,
    ),
    good(
        "shared-mutable-state",
        _CS,
        """
        public class QuotaMiddleware {
          private static readonly ConcurrentDictionary<string, int> Used = new();
          private static readonly Dictionary<string, int> Limits = new();
          public async Task InvokeAsync(HttpContext context) {
            Used[context.TraceIdentifier] = 1;
            lock (Gate) { Limits["a"] = 1; }
            await _next(context);
          }
        }
        """,
    ),
]
