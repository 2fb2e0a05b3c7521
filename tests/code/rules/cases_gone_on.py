"""Failures after which work counts as done, releases that an early return leaves out, retries through helpers."""

# ruff: noqa: E501  (snippets of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOGGED, _DROPPED, _EMPTY = "failure-only-logged", "failed-message-dropped", "failure-looks-empty"
_RELEASED, _OPEN, _PAUSE = "released-on-success-only", "file-not-closed", "retry-without-backoff"
_TWICE, _PERMANENT = "retry-of-non-idempotent-call", "retry-of-permanent-failure"

_SYNC = """
    class Sync:
        def run(self, contact):
            try:
                self.crm.upsert(contact)
            except Exception:
                log.exception("not synced")
                {}
            self.contacts.mark_synced(contact.key)
    """
_BOOKED = """
    class Booking {{
      @Transactional
      void book(Order order) {{
        orders.save(order);
        try {{ stock.reserve(order.items()); }} catch (RuntimeException e) {{ {} }}
      }}
    }}
    """
_CLIENT = """
    class Seats {{
      async hold(seat) {{
        const client = await this.pool.connect();
        try {{
          const {{ rows }} = await client.query('SELECT 1');
          if (rows.length === 0) {{ {}return null; }}
          client.release();
          return rows[0];
        }} catch (err) {{ client.release(); throw err; }}
      }}
    }}
    """
_LISTEN = """
    async fn listen(url: &str) {{
        loop {{
            let client = match async_nats::connect(url).await {{
                Ok(client) => client,
                Err(err) => {{
                    tracing::error!(%err, "down");
                    {}
                    continue;
                }}
            }};
            work(client).await;
        }}
    }}
    """
_PAYOUT = """
    async function again(fn) {{ return withRetry(fn); }}
    class Payouts {{
      async pay(account, amount) {{ return withRetry(() => this.send(account, amount)); }}
      async send(account, amount) {{ return this.http.post('/payouts', {{ account, amount }}{}); }}
    }}
    """
_PROFILE = """
    import time, requests
    def profile(session, key):
        for attempt in range(6):
            response = requests.get(f"https://a/{{key}}", timeout=2)
            if response.status_code == 200:
                return response.json()
            {}
            time.sleep(2**attempt)
    """
_ASKED = """
    class Search {{
        private val api: SearchApi
        fun find(text: String): List<Item> = try {{
            api.search(text)
        }} catch (e: IOException) {{
            log.warn("failed", e)
            {}
        }}
    }}
    """

CASES = [
    bad(_LOGGED, "python", _SYNC.format("pass"), 5),
    good(_LOGGED, "python", _SYNC.format("return")),
    good(_LOGGED, "python", _SYNC.format("raise")),
    bad(_LOGGED, "java", _BOOKED.format('log.error("no stock", e);'), 5),
    good(_LOGGED, "java", _BOOKED.format('log.error("no stock", e); throw e;')),
    good(_LOGGED, "java", _BOOKED.format('log.error("no stock", e);').replace("@Transactional", "")),
    bad(
        _LOGGED,
        "go",
        'package a\nfunc (s *S) Sync(ctx context.Context, d Doc) error {\n\tif err := s.sink.Put(ctx, d); err != nil {\n\t\tlog.Printf("no: %v", err)\n\t\treturn nil\n\t}\n\treturn s.mark(ctx)\n}',
        3,
    ),
    good(
        _LOGGED,
        "go",
        'package a\nfunc (s *S) Sync(ctx context.Context, d Doc) error {\n\tif err := s.sink.Put(ctx, d); err != nil {\n\t\tlog.Printf("no: %v", err)\n\t\treturn err\n\t}\n\treturn s.mark(ctx)\n}',
    ),
    bad(
        _DROPPED,
        "javascript",
        "const { Worker } = require('bullmq');\nnew Worker('a', async (job) => { try { await mail.send(job.data); return { sent: true }; } catch (err) { log.warn(err); return { sent: false }; } });",
        2,
    ),
    good(
        _DROPPED,
        "javascript",
        "const { Worker } = require('bullmq');\nnew Worker('a', async (job) => { try { await mail.send(job.data); return { sent: true }; } catch (err) { log.warn(err); await dead.add(job.data); return { sent: false }; } });",
    ),
    bad(
        _DROPPED,
        "typescript",
        "class P { async run(m: M) { try { await this.work(m); } catch (err) { logger.error(err); } await this.sqs.send(new DeleteMessageCommand({ ReceiptHandle: m.h })); } }",
        1,
    ),
    bad(_EMPTY, "kotlin", _ASKED.format("emptyList()"), 5),
    good(_EMPTY, "kotlin", _ASKED.format("throw e")),
    good(_EMPTY, "kotlin", _ASKED.replace("find", "suggest").format("emptyList()")),
    bad(_RELEASED, "javascript", _CLIENT.format(""), 3),
    good(_RELEASED, "javascript", _CLIENT.format("client.release(); ")),
    good(
        _RELEASED,
        "javascript",
        _CLIENT.format("").replace(
            "client.release(); throw err; }", "throw err; } finally { client.release(); }"
        ),
    ),
    bad(
        _RELEASED,
        "java",
        "class D { void f() { c.setAutoCommit(false); save(c); c.commit(); } }",
        1,
    ),
    good(
        _RELEASED,
        "java",
        "class D { void f() { try { c.setAutoCommit(false); save(c); c.commit(); } catch (E e) { c.rollback(); } } }",
    ),
    bad(
        _RELEASED,
        "python",
        "class A:\n    def f(self, path):\n        handle = open(path)\n        for line in handle:\n            self.store.save(line)\n        handle.close()",
        3,
    ),
    good(
        _RELEASED,
        "python",
        "class A:\n    def f(self, path):\n        handle = open(path)\n        text = handle.read()\n        handle.close()\n        return text",
    ),
    bad(
        _OPEN,
        "kotlin",
        "class A { fun f(upload: Upload): Int { val reader = upload.inputStream.bufferedReader()\n return reader.readText().length } }",
        1,
    ),
    good(
        _OPEN,
        "kotlin",
        "class A { fun f(upload: Upload): Int = upload.inputStream.bufferedReader().use { it.readText().length } }",
    ),
    good(
        _OPEN,
        "kotlin",
        "class A { fun f(process: Process): Int { val reader = process.inputStream.bufferedReader()\n return reader.readText().length } }",
    ),
    bad(_PAUSE, "rust", _LISTEN.format(""), 5),
    good(_PAUSE, "rust", _LISTEN.format("tokio::time::sleep(pause).await;")),
    bad(_TWICE, "javascript", _PAYOUT.format(""), 3),
    good(_TWICE, "javascript", _PAYOUT.format(", { headers: { 'Idempotency-Key': key } }")),
    bad(_PERMANENT, "python", _PROFILE.format("pass"), 3),
    good(_PERMANENT, "python", _PROFILE.format("if response.status_code < 500: response.raise_for_status()")),
]
