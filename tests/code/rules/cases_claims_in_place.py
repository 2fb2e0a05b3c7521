"""Files, rows, entries and flags that are asked for and then taken."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "checked-then-inserted"

CASES = [
    bad(
        _RULE,
        "java",
        """
        package a;
        import java.util.Set;
        import java.util.concurrent.ConcurrentHashMap;
        public class InFlight {
            private final Set<String> running = ConcurrentHashMap.newKeySet();
            public void run(String id, Runnable work) {
                if (running.contains(id)) {
                    return;
                }
                running.add(id);
                try { work.run(); } finally { running.remove(id); }
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.Set;
        import java.util.concurrent.ConcurrentHashMap;
        public class InFlight {
            private final Set<String> running = ConcurrentHashMap.newKeySet();
            public void run(String id, Runnable work) {
                if (!running.add(id)) {
                    return;
                }
                try { work.run(); } finally { running.remove(id); }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import "sync/atomic"
        type Exporter struct { busy atomic.Bool }
        func (e *Exporter) Run(work func() error) error {
            if e.busy.Load() {
                return nil
            }
            e.busy.Store(true)
            defer e.busy.Store(false)
            return work()
        }
        """,
        5,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import "sync/atomic"
        type Exporter struct { busy atomic.Bool }
        func (e *Exporter) Run(work func() error) error {
            if !e.busy.CompareAndSwap(false, true) {
                return nil
            }
            defer e.busy.Store(false)
            return work()
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import "sync"
        type Registry struct { conns sync.Map }
        func (r *Registry) Register(id string, c *Conn) error {
            if _, ok := r.conns.Load(id); ok {
                return ErrExists
            }
            r.conns.Store(id, c)
            return nil
        }
        """,
        5,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import "sync"
        type Registry struct { conns sync.Map }
        func (r *Registry) Register(id string, c *Conn) error {
            if _, loaded := r.conns.LoadOrStore(id, c); loaded {
                return ErrExists
            }
            return nil
        }
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        use std::collections::HashMap;
        use tokio::sync::RwLock;
        pub struct Rooms { inner: RwLock<HashMap<String, Room>> }
        impl Rooms {
            pub async fn create(&self, name: &str, room: Room) -> Result<(), Error> {
                if self.inner.read().await.contains_key(name) {
                    return Err(Error::Exists);
                }
                self.inner.write().await.insert(name.to_string(), room);
                Ok(())
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "rust",
        """
        use std::collections::HashMap;
        use std::collections::hash_map::Entry;
        use tokio::sync::RwLock;
        pub struct Rooms { inner: RwLock<HashMap<String, Room>> }
        impl Rooms {
            pub async fn create(&self, name: &str, room: Room) -> Result<(), Error> {
                match self.inner.write().await.entry(name.to_string()) {
                    Entry::Occupied(_) => Err(Error::Exists),
                    Entry::Vacant(slot) => { slot.insert(room); Ok(()) }
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import { existsSync } from "node:fs";
        import { writeFile } from "node:fs/promises";
        export async function takeLock(path: string): Promise<boolean> {
          if (existsSync(path)) {
            return false;
          }
          await writeFile(path, String(process.pid));
          return true;
        }
        """,
        4,
    ),
    good(
        _RULE,
        "typescript",
        """
        import { writeFile } from "node:fs/promises";
        export async function takeLock(path: string): Promise<boolean> {
          try {
            await writeFile(path, String(process.pid), { flag: "wx" });
            return true;
          } catch (err) {
            if ((err as NodeJS.ErrnoException).code === "EEXIST") return false;
            throw err;
          }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("os"; "fmt"; "errors"; "io/fs")
        func Claim(path string) error {
            if _, err := os.Stat(path); err == nil {
                return errors.New("already claimed")
            } else if !errors.Is(err, fs.ErrNotExist) {
                return err
            }
            return os.WriteFile(path, []byte(fmt.Sprint(os.Getpid())), 0o600)
        }
        """,
        4,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("os"; "fmt")
        func Claim(path string) error {
            f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
            if err != nil {
                return err
            }
            defer f.Close()
            _, err = fmt.Fprint(f, os.Getpid())
            return err
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using System.IO;
        public class UploadStore
        {
            private readonly string _root;
            public UploadStore(string root) => _root = root;
            public async Task SaveAsync(string name, byte[] data, CancellationToken ct)
            {
                var path = Path.Combine(_root, name);
                if (File.Exists(path))
                {
                    throw new InvalidOperationException("exists");
                }
                await File.WriteAllBytesAsync(path, data, ct);
            }
        }
        """,
        9,
    ),
    good(
        _RULE,
        "csharp",
        """
        using System.IO;
        public class UploadStore
        {
            private readonly string _root;
            public UploadStore(string root) => _root = root;
            public async Task SaveAsync(string name, byte[] data, CancellationToken ct)
            {
                var path = Path.Combine(_root, name);
                await using var file = new FileStream(path, FileMode.CreateNew);
                await file.WriteAsync(data, ct);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        class Dispatcher:
            def __init__(self, client):
                self._client = client
                self._sent: set[str] = set()
            async def send(self, message_id: str, body: bytes) -> None:
                if message_id in self._sent:
                    return
                await self._client.post(body)
                self._sent.add(message_id)
        """,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        class Dispatcher:
            def __init__(self, client):
                self._client = client
                self._sent: set[str] = set()
            async def send(self, message_id: str, body: bytes) -> None:
                if message_id in self._sent:
                    return
                self._sent.add(message_id)
                await self._client.post(body)
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import boto3
        table = boto3.resource("dynamodb").Table("users")
        def register(username: str, email: str) -> None:
            existing = table.get_item(Key={"username": username})
            if "Item" in existing:
                raise ValueError("username taken")
            table.put_item(Item={"username": username, "email": email})
        """,
        4,
    ),
    good(
        _RULE,
        "python",
        """
        import boto3
        table = boto3.resource("dynamodb").Table("users")
        def register(username: str, email: str) -> None:
            table.put_item(
                Item={"username": username, "email": email},
                ConditionExpression="attribute_not_exists(username)",
            )
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import { getFirestore } from "firebase-admin/firestore";
        const db = getFirestore();
        export async function claimHandle(handle: string, uid: string): Promise<void> {
          const ref = db.collection("handles").doc(handle);
          const snap = await ref.get();
          if (snap.exists) {
            throw new Error("handle taken");
          }
          await ref.set({ uid });
        }
        """,
        5,
    ),
    good(
        _RULE,
        "typescript",
        """
        import { getFirestore } from "firebase-admin/firestore";
        const db = getFirestore();
        export async function claimHandle(handle: string, uid: string): Promise<void> {
          const ref = db.collection("handles").doc(handle);
          await ref.create({ uid });
        }
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        use sqlx::PgPool;
        pub async fn subscribe(pool: &PgPool, email: &str) -> Result<(), SubscribeError> {
            let existing: Option<i64> = sqlx::query_scalar("SELECT id FROM subscribers WHERE email = $1")
                .bind(email).fetch_optional(pool).await?;
            if existing.is_some() {
                return Err(SubscribeError::Duplicate);
            }
            sqlx::query("INSERT INTO subscribers (email) VALUES ($1)").bind(email).execute(pool).await?;
            Ok(())
        }
        """,
        8,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        public class CatalogReloader {
            private volatile boolean reloading;
            private final Catalog catalog;
            public CatalogReloader(Catalog catalog) { this.catalog = catalog; }
            public void reload() {
                if (reloading) {
                    return;
                }
                reloading = true;
                try { catalog.load(); } finally { reloading = false; }
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.atomic.AtomicBoolean;
        public class CatalogReloader {
            private final AtomicBoolean reloading = new AtomicBoolean();
            private final Catalog catalog;
            public CatalogReloader(Catalog catalog) { this.catalog = catalog; }
            public void reload() {
                if (!reloading.compareAndSet(false, true)) {
                    return;
                }
                try { catalog.load(); } finally { reloading.set(false); }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.atomic.AtomicInteger;
        public class ConnectionGate {
            private static final int MAX = 200;
            private final AtomicInteger open = new AtomicInteger();
            public boolean tryEnter() {
                if (open.get() >= MAX) {
                    return false;
                }
                open.incrementAndGet();
                return true;
            }
            public void leave() { open.decrementAndGet(); }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.Semaphore;
        public class ConnectionGate {
            private final Semaphore open = new Semaphore(200);
            public boolean tryEnter() { return open.tryAcquire(); }
            public void leave() { open.release(); }
        }
        """,
    ),
]
