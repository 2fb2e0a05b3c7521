"""Failures answered as success, keys made anew for every try, and tries that cannot help."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SUCCESS = "error-answered-as-success"
_TWICE = "retry-of-non-idempotent-call"
_STAYS = "retry-of-permanent-failure"
_ROWS = "write-per-row"
_HANDED = "message-handed-off"

CASES = [
    bad(
        _SUCCESS,
        "csharp",
        """
        class RefundsController : ControllerBase {
            [HttpPost]
            public async Task<IActionResult> Create(Refund refund) {
                try {
                    return Ok(await refunds.CreateAsync(refund));
                }
                catch (Exception ex) {
                    log.LogError(ex, "refund");
                    return Ok(new { success = false, error = ex.Message });
                }
            }
        }
        """,
        9,
    ),
    good(
        _SUCCESS,
        "csharp",
        """
        class RefundsController : ControllerBase {
            [HttpPost]
            public async Task<IActionResult> Create(Refund refund) {
                try {
                    return Ok(await refunds.CreateAsync(refund));
                }
                catch (Exception ex) {
                    log.LogError(ex, "refund");
                    return StatusCode(502, new { success = false, error = ex.Message });
                }
            }
        }
        """,
    ),
    bad(
        _SUCCESS,
        "kotlin",
        """
        fun Route.bookings(service: Bookings) {
            post("/bookings") {
                try {
                    call.respond(service.create(call.receive()))
                } catch (e: Exception) {
                    call.respond(mapOf("success" to false, "message" to e.message))
                }
            }
        }
        """,
        6,
    ),
    good(
        _SUCCESS,
        "kotlin",
        """
        fun Route.bookings(service: Bookings) {
            post("/bookings") {
                try {
                    call.respond(service.create(call.receive()))
                } catch (e: Exception) {
                    call.respond(HttpStatusCode.BadGateway, mapOf("success" to false))
                }
            }
        }
        """,
    ),
    bad(
        _SUCCESS,
        "rust",
        """
        pub async fn redeem(State(app): State<App>) -> Json<Value> {
            match app.coupons.redeem().await {
                Ok(id) => Json(json!({ "ok": true, "id": id })),
                Err(e) => Json(json!({ "ok": false, "error": e.to_string() })),
            }
        }
        """,
        4,
    ),
    good(
        _SUCCESS,
        "rust",
        """
        pub async fn redeem(State(app): State<App>) -> impl IntoResponse {
            match app.coupons.redeem().await {
                Ok(id) => (StatusCode::OK, Json(json!({ "ok": true, "id": id }))),
                Err(e) => (StatusCode::BAD_GATEWAY, Json(json!({ "ok": false, "error": e.to_string() }))),
            }
        }
        """,
    ),
    bad(
        _TWICE,
        "python",
        """
        import time
        import uuid
        import httpx
        class Payouts:
            def __init__(self, http: httpx.Client):
                self.http = http
            def send(self, body):
                for attempt in range(4):
                    headers = {"Idempotency-Key": str(uuid.uuid4())}
                    try:
                        return self.http.post("/payouts", json=body, headers=headers, timeout=5)
                    except httpx.TransportError:
                        time.sleep(2**attempt)
                raise Failed()
        """,
        9,
    ),
    good(
        _TWICE,
        "python",
        """
        import time
        import uuid
        import httpx
        class Payouts:
            def __init__(self, http: httpx.Client):
                self.http = http
            def send(self, body):
                headers = {"Idempotency-Key": str(uuid.uuid4())}
                for attempt in range(4):
                    try:
                        return self.http.post("/payouts", json=body, headers=headers, timeout=5)
                    except httpx.TransportError:
                        time.sleep(2**attempt)
                raise Failed()
        """,
    ),
    bad(
        _STAYS,
        "typescript",
        """
        export async function report(url: string): Promise<Report> {
          let last: unknown;
          for (let attempt = 0; attempt < 5; attempt++) {
            try {
              const res = await fetch(url, { signal: AbortSignal.timeout(3000) });
              if (!res.ok) throw new Error('report');
              return await res.json();
            } catch (err) {
              last = err;
              await sleep(200 * 2 ** attempt);
            }
          }
          throw last;
        }
        """,
        5,
    ),
    good(
        _STAYS,
        "typescript",
        """
        export async function report(url: string): Promise<Report> {
          let last: unknown;
          for (let attempt = 0; attempt < 5; attempt++) {
            try {
              const res = await fetch(url, { signal: AbortSignal.timeout(3000) });
              if (res.status >= 500) throw new Error('report');
              return await parse(res);
            } catch (err) {
              last = err;
              await sleep(200 * 2 ** attempt);
            }
          }
          throw last;
        }
        """,
    ),
    bad(
        _ROWS,
        "csharp",
        """
        class Importer(ShopContext db) {
            public async Task Import(IEnumerable<PriceRow> rows) {
                foreach (var row in rows) {
                    db.Prices.Add(new Price(row.Sku, row.Cents));
                    await db.SaveChangesAsync();
                }
            }
        }
        """,
        5,
    ),
    good(
        _ROWS,
        "javascript",
        """
        async function expire(accounts, due, mailer) {
          for (const account of due) {
            await accounts.updateOne({ _id: account._id }, { $set: { plan: 'free' } });
            await mailer.send(account.email, 'ended');
          }
        }
        """,
    ),
    bad(
        _HANDED,
        "java",
        """
        import org.apache.kafka.clients.consumer.KafkaConsumer;
        class Loop implements Runnable {
            private final KafkaConsumer<String, String> consumer;
            public void run() {
                while (true) {
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofSeconds(1))) {
                        workers.submit(() -> handler.apply(each));
                    }
                    consumer.commitSync();
                }
            }
        }
        """,
        7,
    ),
    good(
        _HANDED,
        "java",
        """
        import org.apache.kafka.clients.consumer.KafkaConsumer;
        class Loop implements Runnable {
            private final KafkaConsumer<String, String> consumer;
            public void run() {
                while (true) {
                    List<Future<?>> running = new ArrayList<>();
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofSeconds(1))) {
                        running.add(workers.submit(() -> handler.apply(each)));
                    }
                    for (Future<?> each : running) {
                        each.get(30, TimeUnit.SECONDS);
                    }
                    consumer.commitSync();
                }
            }
        }
        """,
    ),
    good(
        "retry-of-non-idempotent-call",
        "typescript",
        """
        import axios from 'axios';
        async function withRetry<T>(work: () => Promise<T>): Promise<T> {
          for (let attempt = 1; ; attempt++) {
            try {
              return await work();
            } catch (error) {
              if (attempt > 3) throw error;
              await sleep(100 * 2 ** attempt);
            }
          }
        }
        export async function charge(body: Charge) {
          const key = randomUUID();
          return withRetry(async () => {
            const headers = { 'X-Request-Id': randomUUID(), 'Idempotency-Key': key };
            return (await axios.post('/charges', body, { headers, timeout: 5000 })).data;
          });
        }
        """,
    ),
]
