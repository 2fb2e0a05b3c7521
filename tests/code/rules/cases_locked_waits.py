"""Locks that are held while a client, a store or a function of the same text waits."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-held-over-io"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package a
        import ("context"; "database/sql"; "sync")
        type Counters struct {
            mu     sync.Mutex
            counts map[string]int
            db     *sql.DB
        }
        func (c *Counters) Add(key string) {
            c.mu.Lock()
            defer c.mu.Unlock()
            c.counts[key]++
        }
        func (c *Counters) Persist(ctx context.Context) error {
            c.mu.Lock()
            defer c.mu.Unlock()
            return c.writeAll(ctx)
        }
        func (c *Counters) writeAll(ctx context.Context) error {
            for key, n := range c.counts {
                if err := c.writeOne(ctx, key, n); err != nil {
                    return err
                }
            }
            return nil
        }
        func (c *Counters) writeOne(ctx context.Context, key string, n int) error {
            _, err := c.db.ExecContext(ctx, "UPDATE counters SET n = n + $1 WHERE key = $2", n, key)
            return err
        }
        """,
        16,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("context"; "sync")
        type Sink interface { Write(ctx context.Context, batch []Event) error }
        type Buffer struct {
            mu     sync.Mutex
            events []Event
            sink   Sink
        }
        func (b *Buffer) Flush(ctx context.Context) error {
            b.mu.Lock()
            defer b.mu.Unlock()
            if len(b.events) == 0 {
                return nil
            }
            if err := b.sink.Write(ctx, b.events); err != nil {
                return err
            }
            b.events = b.events[:0]
            return nil
        }
        func (b *Buffer) Add(e Event) {
            b.mu.Lock()
            b.events = append(b.events, e)
            b.mu.Unlock()
        }
        """,
        15,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("context"; "sync")
        type Sink interface { Write(ctx context.Context, batch []Event) error }
        type Buffer struct {
            mu     sync.Mutex
            events []Event
            sink   Sink
        }
        func (b *Buffer) Flush(ctx context.Context) error {
            b.mu.Lock()
            batch := b.events
            b.events = nil
            b.mu.Unlock()
            if len(batch) == 0 {
                return nil
            }
            return b.sink.Write(ctx, batch)
        }
        func (b *Buffer) Add(e Event) {
            b.mu.Lock()
            b.events = append(b.events, e)
            b.mu.Unlock()
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading
        import redis
        class SessionFlusher:
            def __init__(self, client: redis.Redis) -> None:
                self._lock = threading.Lock()
                self._seen: dict[str, float] = {}
                self._redis = client
            def touch(self, session_id: str, at: float) -> None:
                with self._lock:
                    self._seen[session_id] = at
            def flush(self) -> None:
                with self._lock:
                    for session_id, at in self._seen.items():
                        self._redis.set(f"session:{session_id}", at, ex=3600)
                    self._seen.clear()
        """,
        14,
    ),
    good(
        _RULE,
        "python",
        """
        import threading
        import redis
        class SessionFlusher:
            def __init__(self, client: redis.Redis) -> None:
                self._lock = threading.Lock()
                self._seen: dict[str, float] = {}
                self._redis = client
            def touch(self, session_id: str, at: float) -> None:
                with self._lock:
                    self._seen[session_id] = at
            def flush(self) -> None:
                with self._lock:
                    batch, self._seen = self._seen, {}
                for session_id, at in batch.items():
                    self._redis.set(f"session:{session_id}", at, ex=3600)
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading
        import psycopg
        class UsageRecorder:
            def __init__(self, pool) -> None:
                self._lock = threading.Lock()
                self._usage: dict[str, int] = {}
                self._pool = pool
            def add(self, tenant: str, n: int) -> None:
                with self._lock:
                    self._usage[tenant] = self._usage.get(tenant, 0) + n
            def flush(self) -> None:
                with self._lock:
                    with self._pool.connection() as conn:
                        for tenant, n in self._usage.items():
                            conn.execute("UPDATE usage SET n = n + %s WHERE tenant = %s", (n, tenant))
                    self._usage.clear()
        """,
        15,
    ),
    good(
        _RULE,
        "python",
        """
        import threading
        import psycopg
        class UsageRecorder:
            def __init__(self, pool) -> None:
                self._lock = threading.Lock()
                self._usage: dict[str, int] = {}
                self._pool = pool
            def add(self, tenant: str, n: int) -> None:
                with self._lock:
                    self._usage[tenant] = self._usage.get(tenant, 0) + n
            def flush(self) -> None:
                with self._lock:
                    usage, self._usage = self._usage, {}
                with self._pool.connection() as conn:
                    for tenant, n in usage.items():
                        conn.execute("UPDATE usage SET n = n + %s WHERE tenant = %s", (n, tenant))
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import java.util.*;
        import org.springframework.jdbc.core.JdbcTemplate;
        public class MetricsBuffer {
            private final Map<String, Long> counts = new HashMap<>();
            private final JdbcTemplate jdbc;
            public MetricsBuffer(JdbcTemplate jdbc) { this.jdbc = jdbc; }
            public synchronized void increment(String name) { counts.merge(name, 1L, Long::sum); }
            public synchronized void flush() {
                for (Map.Entry<String, Long> e : counts.entrySet()) {
                    save(e.getKey(), e.getValue());
                }
                counts.clear();
            }
            private void save(String name, long n) {
                jdbc.update("UPDATE metrics SET n = n + ? WHERE name = ?", n, name);
            }
        }
        """,
        11,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.*;
        import org.springframework.jdbc.core.JdbcTemplate;
        public class MetricsBuffer {
            private Map<String, Long> counts = new HashMap<>();
            private final JdbcTemplate jdbc;
            public MetricsBuffer(JdbcTemplate jdbc) { this.jdbc = jdbc; }
            public synchronized void increment(String name) { counts.merge(name, 1L, Long::sum); }
            public void flush() {
                Map<String, Long> batch;
                synchronized (this) { batch = counts; counts = new HashMap<>(); }
                for (Map.Entry<String, Long> e : batch.entrySet()) {
                    save(e.getKey(), e.getValue());
                }
            }
            private void save(String name, long n) {
                jdbc.update("UPDATE metrics SET n = n + ? WHERE name = ?", n, name);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import smtplib
        import threading
        class Mailer:
            def __init__(self, host: str) -> None:
                self._host = host
                self._lock = threading.Lock()
                self._sent = 0
            def send(self, message) -> None:
                with self._lock:
                    self._sent += 1
                    with smtplib.SMTP(self._host, timeout=10) as smtp:
                        smtp.send_message(message)
            def count(self) -> int:
                with self._lock:
                    return self._sent
        """,
        11,
    ),
]
