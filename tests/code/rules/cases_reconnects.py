"""Loops that connect or try again without a pause, and locks and messages in further forms."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

BACKOFF = "retry-without-backoff"
LIMIT = "retry-without-limit"
LOCK = "lock-held-over-io"
EXPIRY = "lock-without-expiry"
DROPPED = "failed-message-dropped"
APART = "message-apart-from-data"
BLOCKS = "blocking-call-in-async-code"
REQUEST = "request-in-transaction"

CASES = [
    bad(BACKOFF, "python", """
        import websockets
        async def listen(url):
            while True:
                try:
                    async with websockets.connect(url) as feed:
                        async for message in feed:
                            handle(message)
                except OSError:
                    log.warning("lost")
        """, 8),
    good(BACKOFF, "python", """
        import asyncio, random, websockets
        async def listen(url):
            pause = 1
            while True:
                try:
                    async with websockets.connect(url) as feed:
                        async for message in feed:
                            handle(message)
                except OSError:
                    log.warning("lost")
                await asyncio.sleep(pause + random.random())
                pause = min(60, pause * 2)
        """),
    bad(LIMIT, "rust", """
        async fn publish(broker: &Broker, event: &Event) {
            while let Err(err) = broker.publish(event).await {
                tracing::warn!(%err, "again");
                tokio::time::sleep(PAUSE).await;
            }
        }
        """, 2),
    good(LIMIT, "rust", """
        async fn publish(broker: &Broker, event: &Event) -> Result<(), Error> {
            let mut tries = 0;
            while let Err(err) = broker.publish(event).await {
                tries += 1;
                if tries > 4 { return Err(err); }
                tokio::time::sleep(PAUSE * tries).await;
            }
            Ok(())
        }
        """),
    bad(LIMIT, "javascript", """
        async function upload(id) {
          while (true) {
            try {
              return await api.get(`/uploads/${id}`);
            } catch (err) {
              await sleep(1000);
            }
          }
        }
        """, 2),
    bad(LOCK, "java", """
        class Rates {
            private final ReentrantLock lock = new ReentrantLock();
            private final RestTemplate rest;
            Rate get(String code) {
                lock.lock();
                try {
                    return all.computeIfAbsent(code, k -> rest.getForObject("/rates/{k}", Rate.class, k));
                } finally {
                    lock.unlock();
                }
            }
        }
        """, 7),
    good(LOCK, "java", """
        class Rates {
            private final ReentrantLock lock = new ReentrantLock();
            private final RestTemplate rest;
            void later(String code) {
                lock.lock();
                try {
                    pool.submit(() -> rest.getForObject("/rates/{k}", Rate.class, code));
                } finally {
                    lock.unlock();
                }
            }
        }
        """),
    bad(EXPIRY, "rust", """
        async fn lock(con: &mut Connection, name: &str) -> redis::RedisResult<bool> {
            redis::cmd("SET").arg(name).arg("me").arg("NX").query_async(con).await
        }
        """, 2),
    good(EXPIRY, "rust", """
        async fn lock(con: &mut Connection, name: &str) -> redis::RedisResult<bool> {
            redis::cmd("SET").arg(name).arg("me").arg("NX").arg("PX").arg(30_000).query_async(con).await
        }
        """),
    bad(DROPPED, "java", """
        class Worker {
            void run() {
                while (running) {
                    for (var record : consumer.poll(Duration.ofSeconds(1))) {
                        try { store.apply(record.value()); } catch (Exception e) { log.error("failed", e); }
                    }
                    consumer.commitSync();
                }
            }
        }
        """, 5),
    bad(APART, "python", """
        async def place(session, producer, order):
            session.add(order)
            await session.commit()
            await producer.send_and_wait("orders", order.key)
        """, 4),
    bad(APART, "csharp", """
        class Orders {
            private readonly ShopDb _db;
            private readonly IBus _bus;
            public async Task Place(Order order) {
                _db.Orders.Add(order);
                await _db.SaveChangesAsync();
                await _bus.Publish(new Placed(order.Id));
            }
        }
        """, 7),
    bad(REQUEST, "java", """
        class Refunds {
            private final Rows rows;
            private final StripeService stripe;
            @Transactional
            public void refund(long id) { stripe.refund(rows.lock(id).charge()); }
        }
        """, 5),
    bad(BLOCKS, "python", """
        import json
        from fastapi import FastAPI
        app = FastAPI()
        def load(name):
            with open(name) as file:
                return json.load(file)
        @app.get("/page/{name}")
        async def page(name: str):
            return load(name)
        async def start():
            return load("settings.json")
        """, 9),
]  # fmt: skip
