"""Fan-out through typed clients, programs and threads, and sizes that are no limit."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

FAN = "unbounded-fan-out"

CASES = [
    bad(FAN, "kotlin", """
        class Enricher(private val customers: Customers, private val scoring: ScoringClient) {
            suspend fun all() = coroutineScope {
                val found = customers.findAllActive()
                found.map { customer -> async { scoring.score(customer.id) } }.awaitAll()
            }
        }
        """, 4),
    good(FAN, "kotlin", """
        class Enricher(private val customers: Customers, private val scoring: ScoringTable) {
            suspend fun all() = coroutineScope {
                val found = customers.findAllActive()
                found.map { customer -> async { scoring.score(customer.id) } }.awaitAll()
            }
        }
        """),
    bad(FAN, "typescript", """
        export async function warm(products: ProductApi, cache: Cache): Promise<void> {
          const ids = await products.allIds();
          const work: Promise<void>[] = [];
          for (const id of ids) {
            work.push(products.get(id).then((one) => cache.set(id, one)));
          }
          await Promise.all(work);
        }
        """, 7),
    bad(FAN, "javascript", """
        const { fork } = require("child_process");
        function convertAll(files) {
          for (const file of files) {
            const child = fork("./convert.js", [file]);
            child.on("exit", report);
          }
        }
        """, 4),
    good(FAN, "python", """
        import subprocess
        def convert_all(files):
            for file in files:
                process = subprocess.Popen(["convert", file])
                process.wait(timeout=60)
        """),
    bad(FAN, "java", """
        class Listener implements MessageListener {
            public void onMessage(Message message) {
                new Thread(() -> orders.process(message)).start();
            }
        }
        """, 3),
    good(FAN, "java", """
        class Listener implements MessageListener {
            public void onMessage(Message message) {
                pool.submit(() -> orders.process(message));
            }
        }
        """),
    bad(FAN, "rust", """
        use futures::future::join_all;
        const BATCH: i64 = 50_000;
        impl Crawler {
            async fn run(&self) -> Result<()> {
                let links = sqlx::query_as("SELECT url FROM links LIMIT $1")
                    .bind(BATCH)
                    .fetch_all(&self.pool)
                    .await?;
                let done = join_all(links.iter().map(|link| self.fetch(link))).await;
                Ok(())
            }
        }
        """, 9),
    good(FAN, "rust", """
        use futures::future::join_all;
        const BATCH: i64 = 20;
        impl Crawler {
            async fn run(&self) -> Result<()> {
                let links = sqlx::query_as("SELECT url FROM links LIMIT $1")
                    .bind(BATCH)
                    .fetch_all(&self.pool)
                    .await?;
                let done = join_all(links.iter().map(|link| self.fetch(link))).await;
                Ok(())
            }
        }
        """),
]  # fmt: skip
