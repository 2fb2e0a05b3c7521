"""Cases of what may fail after something was taken, and of documents that are read and written back."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "lock-not-released",
        "java",
        """
        import java.util.concurrent.Semaphore;
        class Renderer {
            private final Semaphore slots = new Semaphore(4);
            private final BrowserPool browsers;
            byte[] render(String html) throws InterruptedException {
                slots.acquire();
                Browser browser = browsers.checkout(html);
                try {
                    return browser.pdf();
                } finally {
                    browser.close();
                    slots.release();
                }
            }
        }
        """,
        6,
    ),
    good(
        "lock-not-released",
        "java",
        """
        import java.util.concurrent.Semaphore;
        class Renderer {
            private final Semaphore slots = new Semaphore(4);
            private final BrowserPool browsers;
            byte[] render(String html) throws InterruptedException {
                slots.acquire();
                try (Browser browser = browsers.checkout(html)) {
                    return browser.pdf();
                } finally {
                    slots.release();
                }
            }
        }
        """,
    ),
    bad(
        "lock-not-released",
        "python",
        """
        import threading
        class Pool:
            def __init__(self):
                self._slots = threading.BoundedSemaphore(4)
            def run(self, job):
                if not self._slots.acquire(timeout=5):
                    raise Busy()
                worker = self._spawn(job)
                try:
                    return worker.result()
                finally:
                    self._slots.release()
            def _spawn(self, job):
                return start_worker(job)
        """,
        6,
    ),
    good(
        "lock-not-released",
        "python",
        """
        import threading
        class Pool:
            def __init__(self):
                self._slots = threading.BoundedSemaphore(4)
            def run(self, job):
                if not self._slots.acquire(timeout=5):
                    raise Busy()
                try:
                    worker = self._spawn(job)
                    return worker.result()
                finally:
                    self._slots.release()
            def _spawn(self, job):
                return start_worker(job)
        """,
    ),
    bad(
        "lock-not-released",
        "go",
        """
        package a
        import ("context"; "golang.org/x/sync/semaphore")
        type R struct { sem *semaphore.Weighted; store Store }
        func (r *R) Render(ctx context.Context, id string) error {
            if err := r.sem.Acquire(ctx, 1); err != nil { return err }
            doc, err := r.store.Load(ctx, id)
            if err != nil {
                return err
            }
            defer r.sem.Release(1)
            return render(doc)
        }
        func (r *R) Slot(ctx context.Context, slots chan struct{}, id string) error {
            slots <- struct{}{}
            doc, err := r.store.Load(ctx, id)
            if err != nil {
                return err
            }
            err = render(doc)
            <-slots
            return err
        }
        """,
        5,
        14,
    ),
    good(
        "lock-not-released",
        "go",
        """
        package a
        import ("context"; "golang.org/x/sync/semaphore")
        type R struct { sem *semaphore.Weighted; store Store }
        func (r *R) Render(ctx context.Context, id string) error {
            if err := r.sem.Acquire(ctx, 1); err != nil { return err }
            defer r.sem.Release(1)
            doc, err := r.store.Load(ctx, id)
            if err != nil {
                return err
            }
            return render(doc)
        }
        func (r *R) Slot(ctx context.Context, slots chan struct{}, id string) error {
            slots <- struct{}{}
            defer func() { <-slots }()
            doc, err := r.store.Load(ctx, id)
            if err != nil {
                return err
            }
            err = render(doc)
            return err
        }
        """,
    ),
    bad(
        "released-on-success-only",
        "typescript",
        """
        import { Semaphore } from 'async-mutex';
        const slots = new Semaphore(5);
        export async function render(doc: Doc, browsers: Browsers): Promise<Buffer> {
          const [, release] = await slots.acquire();
          const page = await browsers.newPage();
          try {
            return await page.pdf(doc);
          } finally {
            await page.close();
            release();
          }
        }
        """,
        4,
    ),
    good(
        "released-on-success-only",
        "typescript",
        """
        import { Semaphore } from 'async-mutex';
        const slots = new Semaphore(5);
        export async function render(doc: Doc, browsers: Browsers): Promise<Buffer> {
          const [, release] = await slots.acquire();
          try {
            return await browsers.print(doc);
          } finally {
            release();
          }
        }
        """,
    ),
    bad(
        "released-on-success-only",
        "javascript",
        """
        const mysql = require('mysql2/promise');
        const pool = mysql.createPool({});
        async function transfer(from, to, cents) {
          const conn = await pool.getConnection();
          try {
            await conn.beginTransaction();
            const [rows] = await conn.query('SELECT balance FROM accounts WHERE id = ? FOR UPDATE', [from]);
            if (rows[0].balance < cents) {
              return { ok: false };
            }
            await conn.query('UPDATE accounts SET balance = balance - ? WHERE id = ?', [cents, from]);
            await conn.commit();
            return { ok: true };
          } catch (e) {
            await conn.rollback();
            throw e;
          } finally {
            conn.release();
          }
        }
        module.exports = { transfer };
        """,
        6,
    ),
    bad(
        "released-on-success-only",
        "go",
        """
        package a
        import ("os"; "bufio")
        func load(paths []string) ([]string, error) {
            var out []string
            for _, p := range paths {
                f, err := os.Open(p)
                if err != nil { return nil, err }
                sc := bufio.NewScanner(f)
                if !sc.Scan() {
                    continue
                }
                out = append(out, sc.Text())
                f.Close()
            }
            return out, nil
        }
        """,
        6,
    ),
    good(
        "released-on-success-only",
        "go",
        """
        package a
        import ("os"; "bufio")
        func load(paths []string) ([]string, error) {
            var out []string
            for _, p := range paths {
                f, err := os.Open(p)
                if err != nil { return nil, err }
                sc := bufio.NewScanner(f)
                if !sc.Scan() {
                    f.Close()
                    continue
                }
                out = append(out, sc.Text())
                f.Close()
            }
            return out, nil
        }
        """,
    ),
    bad(
        "lock-held-over-io",
        "python",
        """
        import threading, requests
        class Tokens:
            def __init__(self, session: requests.Session):
                self._lock = threading.Lock()
                self._session = session
                self._devices = {}
            def poll_all(self):
                with self._lock:
                    for device in self._devices.values():
                        device.read()
            def get(self, k):
                with self._lock:
                    return self._devices.get(k)
        class Device:
            def __init__(self, url): self.url = url
            def read(self):
                self.last = requests.get(self.url, timeout=5).json()
        """,
        10,
    ),
    bad(
        "lost-update",
        "go",
        """
        package a
        import ("context"; "database/sql"; "encoding/json")
        type S struct { db *sql.DB }
        func (s *S) AddDevice(ctx context.Context, id, device string) error {
            var raw []byte
            if err := s.db.QueryRowContext(ctx, `SELECT devices FROM accounts WHERE id = $1`, id).
                Scan(&raw); err != nil {
                return err
            }
            var devices []string
            if err := json.Unmarshal(raw, &devices); err != nil { return err }
            devices = append(devices, device)
            out, err := json.Marshal(devices)
            if err != nil { return err }
            _, err = s.db.ExecContext(ctx, `UPDATE accounts SET devices = $1 WHERE id = $2`, out, id)
            return err
        }
        """,
        15,
    ),
    good(
        "lost-update",
        "go",
        """
        package a
        import ("context"; "database/sql"; "encoding/json")
        type S struct { db *sql.DB }
        func (s *S) AddDevice(ctx context.Context, id, device string) error {
            var raw []byte
            if err := s.db.QueryRowContext(ctx, `SELECT devices FROM accounts WHERE id = $1 FOR UPDATE`, id).
                Scan(&raw); err != nil {
                return err
            }
            var devices []string
            if err := json.Unmarshal(raw, &devices); err != nil { return err }
            devices = append(devices, device)
            out, err := json.Marshal(devices)
            if err != nil { return err }
            _, err = s.db.ExecContext(ctx, `UPDATE accounts SET devices = $1 WHERE id = $2`, out, id)
            return err
        }
        """,
    ),
    bad(
        "lost-update",
        "java",
        """
        class Carts {
            private final StringRedisTemplate redis;
            private final ObjectMapper mapper;
            void add(String cartId, Item item) throws Exception {
                String raw = redis.opsForValue().get("cart:" + cartId);
                Cart cart = raw == null ? new Cart() : mapper.readValue(raw, Cart.class);
                cart.getItems().add(item);
                redis.opsForValue().set("cart:" + cartId,
                    mapper.writeValueAsString(cart), Duration.ofHours(2));
            }
        }
        """,
        5,
    ),
    bad(
        "lock-without-expiry",
        "python",
        """
        import redis
        r = redis.Redis()
        def run_once(job):
            if r.setnx(f"job:{job}:running", "1"):
                try:
                    work(job)
                finally:
                    r.delete(f"job:{job}:running")
        """,
        4,
    ),
]
