"""Correct code that differs from a fault in one place, beside that fault."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_BATCH = "failed-message-dropped"
_SPINS = "busy-loop"
_TRANSACTION = "request-in-transaction"
_ASYNC = "blocking-call-in-async-code"
_GUARDS = "lock-guards-nothing"
_WORKER = "worker-ends-with-one-item"
_AGAIN = "retry-of-non-idempotent-call"
_STAYS = "retry-of-permanent-failure"
_LIMIT = "retry-without-limit"

CASES = [
    # A message that failed is not in the list that is counted as done.
    good(_BATCH, "python", """
        def drain(sqs, url, messages):
            done = []
            for m in messages:
                try:
                    handle(m)
                except Exception:
                    log.exception("x")
                    continue
                done.append(m)
            sqs.delete_message_batch(QueueUrl=url, Entries=[entry(m) for m in done])
        """),
    bad(_BATCH, "python", """
        def drain(sqs, url, messages):
            done = []
            for m in messages:
                try:
                    handle(m)
                except Exception:
                    log.exception("x")
                done.append(m)
            sqs.delete_message_batch(QueueUrl=url, Entries=[entry(m) for m in done])
        """, 6),
    bad(_BATCH, "python", """
        def drain(sqs, url, messages):
            done = []
            for m in messages:
                done.append(m)
                try:
                    handle(m)
                except Exception:
                    log.exception("x")
                    continue
            sqs.delete_message_batch(QueueUrl=url, Entries=[entry(m) for m in done])
        """, 7),
    bad(_BATCH, "python", """
        def drain(sqs, url, messages):
            done = []
            for m in messages:
                if m.is_old:
                    continue
                try:
                    handle(m)
                except Exception:
                    log.exception("x")
                done.append(m)
            sqs.delete_message_batch(QueueUrl=url, Entries=[entry(m) for m in done])
        """, 8),
    # What leaves a loop and what goes on, in a match inside a match.
    good(_SPINS, "rust", """
        async fn serve(mut rx: Receiver<Msg>) {
            loop {
                match rx.recv().await {
                    Some(m) => match m {
                        Msg::A => run().await,
                        _ => {}
                    },
                    None => break,
                }
            }
        }
        """),
    bad(_SPINS, "rust", """
        async fn serve(mut rx: Receiver<Msg>) {
            loop {
                match rx.recv().await {
                    Some(m) => match m {
                        Msg::A => run().await,
                        _ => {}
                    },
                    None => {}
                }
            }
        }
        """, 3),
    # Objects in the memory of this process, with names as services have them.
    good(_TRANSACTION, "java", """
        class Captures {
            private final PasswordVerifier verifier;
            private final JwtSigner signer;
            private final LocaleProvider locales;
            private final RateLookup rates;

            @Transactional
            void capture(PaymentOrder order, Money m, String x) {
                order.capture(m);
                verifier.verify(x);
                signer.sign(x);
                locales.pick(x);
                rates.rate(x);
            }
        }
        """),
    good(_TRANSACTION, "kotlin", """
        class Captures(private val orders: OrderRepository) {
            @Transactional
            fun capture(order: PaymentOrder, m: Money) {
                order.capture(m)
                orders.save(order)
            }
        }
        """),
    bad(_TRANSACTION, "java", """
        class Captures {
            private final DocumentScanner scanner;
            private final OrderRepository orders;

            @Transactional
            void accept(Order order, byte[] content) {
                orders.save(order);
                scanner.scan(content);
            }
        }
        """, 8),
    # A thread is given the function; a task is made of the call of an async client.
    good(_ASYNC, "python", """
        import asyncio

        async def store(s3, b, k):
            await asyncio.gather(asyncio.to_thread(s3.put_object, Bucket=b, Key=k))
        """),
    good(_ASYNC, "python", """
        import asyncio

        async def store(s3, bucket, keys):
            await asyncio.gather(s3.put_object(Bucket=bucket, Key="a"), s3.put_object(Bucket=bucket, Key="b"))
            await asyncio.gather(*(s3.put_object(Bucket=bucket, Key=key) for key in keys))
            task = asyncio.create_task(s3.delete_object(Bucket=bucket, Key="c"))
            await asyncio.wait_for(s3.head_object(Bucket=bucket, Key="d"), 5)
            await task
        """),
    bad(_ASYNC, "python", """
        async def store(s3, b, k):
            s3.put_object(Bucket=b, Key=k)
        """, 2),
    # Locks of other processes are made for each use.
    good(_GUARDS, "typescript", """
        import { Mutex } from "redis-semaphore";
        async function once(redis: Redis, key: string) {
          const m = new Mutex(redis, key);
          await m.acquire();
          try { await work(); } finally { await m.release(); }
        }
        """),
    good(_GUARDS, "rust", """
        use std::sync::Mutex;
        use fd_lock::RwLock;
        fn once(file: File) -> io::Result<()> {
            let mut lock = RwLock::new(file);
            let _guard = lock.write()?;
            work()
        }
        """),
    good(_GUARDS, "rust", """
        fn once(file: File) -> io::Result<()> {
            let mut lock = fd_lock::RwLock::new(file);
            let _guard = lock.write()?;
            work()
        }
        """),
    good(_GUARDS, "python", """
        import posix_ipc

        def once(name):
            gate = posix_ipc.Semaphore(name)
            gate.acquire()
            try:
                work()
            finally:
                gate.release()
        """),
    good(_GUARDS, "csharp", """
        class Start {
            public void Once(string name) {
                using var gate = new Mutex(false, "Global\\\\" + name);
                gate.WaitOne();
                Work();
            }
            public void Twice() {
                var gate = new Semaphore(1, 1, "Global\\\\start");
                gate.Wait();
            }
        }
        """),
    bad(_GUARDS, "rust", """
        use tokio::sync::RwLock;
        async fn once(rows: Vec<u32>) {
            let lock = RwLock::new(rows);
            let mut guard = lock.write().await;
            guard.push(1);
        }
        """, 3),
    bad(_GUARDS, "typescript", """
        import { Mutex } from "../lib/mutex";
        async function once() {
          const gate = new Mutex();
          await gate.acquire();
          await work();
        }
        """, 3),
    bad(_GUARDS, "typescript", """
        import { Semaphore } from "async-mutex";
        async function once() {
          const gate = new Semaphore(1);
          await gate.acquire();
          await work();
        }
        """, 3),
    # What fails only when the program ends, or never.
    good(_WORKER, "rust", """
        fn start(sem: Arc<Semaphore>, mut rx: Receiver<Job>) {
            tokio::spawn(async move {
                while let Some(job) = rx.recv().await {
                    let permit = sem.clone().acquire_owned().await.unwrap();
                    let other = slots.acquire().await.unwrap();
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                    run(job, now, permit).await;
                }
            });
        }
        """),
    bad(_WORKER, "rust", """
        fn start(slots: Arc<Semaphore>, mut rx: Receiver<Job>) {
            tokio::spawn(async move {
                while let Some(job) = rx.recv().await {
                    let permit = slots.acquire().await.unwrap();
                    let order: Order = serde_json::from_slice(&job.body).unwrap();
                    run(order).await;
                }
            });
        }
        """, 5),
    bad(_WORKER, "rust", """
        fn start(pool: PgPool, slots: Arc<Semaphore>, mut rx: Receiver<Job>) {
            tokio::spawn(async move {
                while let Some(job) = rx.recv().await {
                    let mut conn = pool.acquire().await.unwrap();
                    run(job, &mut conn).await;
                }
            });
        }
        """, 4),
    # The number of the try in a log line is not part of the key.
    good(_AGAIN, "python", """
        import requests

        def pay(order, ref):
            for attempt in range(3):
                try:
                    return requests.post(URL, json=order, headers={"Idempotency-Key": ref}, timeout=5)
                except requests.ConnectionError:
                    log.warning(f"charge_ref={ref} failed on attempt {attempt}")
                    log.warning("charge_ref=%s attempt=%d" % (ref, attempt))
                    if attempt == 2:
                        raise PaymentError(f"charge_ref={ref} failed in {attempt}")
        """),
    good(_AGAIN, "javascript", """
        async function pay(order, ref) {
          for (let attempt = 0; attempt < 3; attempt++) {
            try {
              return await axios.post(URL, order, { headers: { "Idempotency-Key": ref }, timeout: 5000 });
            } catch (error) {
              logger.warn(`idempotencyKey=${ref} try ${attempt}`);
              if (error.response) throw error;
            }
          }
        }
        """),
    bad(_AGAIN, "python", """
        import requests

        def pay(order, ref):
            for attempt in range(3):
                try:
                    log.info(f"charge_ref={ref} attempt {attempt}")
                    headers = {"Idempotency-Key": f"{ref}-{attempt}"}
                    return requests.post(URL, json=order, headers=headers, timeout=5)
                except requests.ConnectionError:
                    continue
        """, 7),
    # The call whose status is looked at.
    good(_STAYS, "python", """
        import time

        def settled(state):
            for _ in range(5):
                t0 = time.monotonic()
                refresh(state, t0)
                if state.ok:
                    return state
                time.sleep(1)
        """),
    bad(_STAYS, "python", """
        import time

        def load(c, u):
            for _ in range(5):
                t0 = time.monotonic()
                r = c.get(u)
                if r.status_code == 200:
                    return r
                time.sleep(1)
        """, 4),
    # Names that hold other words.
    good(_LIMIT, "python", """
        def pages():
            while True:
                entries = 0
                page = fetch()
                entries += len(page)
                show(entries)
        """),
    good(_LIMIT, "python", """
        def pages():
            while True:
                countries = 0
                page = fetch()
                countries += len(page)
                show(countries)
        """),
    bad(_LIMIT, "python", """
        def push(item):
            while True:
                tries = 0
                try:
                    return send(item)
                except OSError:
                    tries += 1
                    if tries > 3:
                        raise
        """, 3),
    bad(_LIMIT, "javascript", """
        async function push(item) {
          while (true) {
            let sendTries = 0;
            try { return await send(item); }
            catch (error) {
              sendTries++;
              if (sendTries > 3) throw error;
            }
          }
        }
        """, 3),
    good(_AGAIN, "javascript", """
        async function drain(entries) {
          const r = await axios.post(URL, entries[0], { timeout: 5000 });
          if (r.status === 200) return drain(entries.slice(1));
        }
        """),
    good(_AGAIN, "javascript", """
        async function drain(queue) {
          const r = await axios.post(URL, queue.shift(), { timeout: 5000 });
          if (r.status === 200) return drain(queue);
        }
        """),
    bad(_AGAIN, "javascript", """
        async function push(item, tries = 0) {
          const r = await axios.post(URL, item, { timeout: 5000 });
          if (r.status !== 200 && tries < 3) return push(item, tries + 1);
          return r;
        }
        """, 2),
    bad(_AGAIN, "javascript", """
        async function push(item, tries = 0) {
          const r = await axios.post(URL, item, { timeout: 5000 });
          if (tries < 3 && (r.status < 200 || r.status >= 300)) return push(item, tries + 1);
          return r;
        }
        """, 2),
    bad(_AGAIN, "javascript", """
        async function push(item, sendTries) {
          const r = await axios.post(URL, item, { timeout: 5000 });
          if (r.status === 200) return r;
          else if (sendTries > 0) return push(item, sendTries - 1);
        }
        """, 2),
    # A limit of its own, a unit of its own, a signal to go on, options of a command line.
    good("whole-file-loaded", "javascript", """
        const bodyParser = require('body-parser');
        app.use(bodyParser.json({ limit: '50mb' }));
        """),
    bad("whole-file-loaded", "javascript", """
        const bodyParser = require('body-parser');
        app.use(bodyParser.json({ limit: '500mb' }));
        """, 2),
    good("wrong-time-unit", "java", """
        class C {
          RequestConfig config = RequestConfig.custom().setConnectTimeout(60, TimeUnit.SECONDS).build();
        }
        """),
    bad("wrong-time-unit", "java", """
        class C {
          RequestConfig config = RequestConfig.custom().setConnectTimeout(30).build();
        }
        """, 2),
    good("swallowed-error", "java", """
        class C {
          void all(List<Row> rows) {
            for (Row row : rows) {
              try { store(row); } catch (SkipRowException e) { }
            }
          }
        }
        """),
    bad("swallowed-error", "java", """
        class C {
          void all(List<Row> rows) {
            for (Row row : rows) {
              try { store(row); } catch (SkippedRowsFailure e) { }
            }
          }
        }
        """, 4),
    good("unbounded-page-size", "go", """
        package main

        type ListQuery struct {
            Limit int
        }

        func listRun(opts *ListQuery, db *sql.DB) error {
            rows, err := db.Query("SELECT id FROM runs LIMIT ?", opts.Limit)
            return show(rows, err)
        }
        """),
    bad("unbounded-page-size", "go", """
        package main

        type ListQuery struct {
            Limit int `form:"limit"`
        }

        func listRun(opts *ListQuery, db *sql.DB) error {
            rows, err := db.Query("SELECT id FROM runs LIMIT ?", opts.Limit)
            return show(rows, err)
        }
        """, 8),
    # More items than a number are refused; a coroutine runs after the lock was given back.
    good("unbounded-fan-out", "javascript", """
        const axios = require('axios');
        async function checkout(basket, res) {
          if (basket.lines.length === 0 || basket.lines.length > MAX_LINES) {
            return res.status(422).end();
          }
          await Promise.all(basket.lines.map((line) => axios.put(URL, line, { timeout: 3000 })));
        }
        """),
    bad("unbounded-fan-out", "javascript", """
        const axios = require('axios');
        async function checkout(basket, res) {
          if (basket.lines.length > 0) {
            await Promise.all(basket.lines.map((line) => axios.put(URL, line, { timeout: 3000 })));
          }
        }
        """, 4),
    good("lock-held-over-io", "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.request.post
        class Heartbeat(private val client: HttpClient) {
            @Synchronized
            fun start() {
                job = scope.launch { while (true) { delay(15); client.post(URL) } }
            }
        }
        """),
    bad("lock-held-over-io", "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.request.post
        class Heartbeat(private val client: HttpClient) {
            @Synchronized
            fun start() {
                runBlocking { client.post(URL) }
            }
        }
        """, 6),
]  # fmt: skip
