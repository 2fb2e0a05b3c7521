"""Rounds that ask through a match, a flag or a stream, and waits for a file."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "busy-loop",
        "rust",
        """
        pub async fn run(pool: PgPool, shutdown: CancellationToken) {
            loop {
                if shutdown.is_cancelled() {
                    return;
                }
                match claim(&pool).await {
                    Ok(Some(job)) => handle(job).await,
                    Ok(None) => tracing::trace!("no job"),
                    Err(err) => {
                        tracing::error!(%err, "claim");
                        tokio::time::sleep(Duration::from_secs(5)).await;
                    }
                }
            }
        }
        async fn claim(pool: &PgPool) -> sqlx::Result<Option<Job>> {
            sqlx::query_as("UPDATE jobs SET state = 'running' WHERE state = 'queued' RETURNING *")
                .fetch_optional(pool)
                .await
        }
        """,
        2,
    ),
    good(
        "busy-loop",
        "rust",
        """
        pub async fn run(pool: PgPool) {
            loop {
                match claim(&pool).await {
                    Ok(Some(job)) => handle(job).await,
                    Ok(None) => tokio::time::sleep(IDLE).await,
                    Err(err) => return,
                }
            }
        }
        async fn claim(pool: &PgPool) -> sqlx::Result<Option<Job>> {
            sqlx::query_as("SELECT id FROM jobs WHERE state = 'queued' LIMIT 1").fetch_optional(pool).await
        }
        """,
    ),
    bad(
        "busy-loop",
        "python",
        """
        async def consume(self):
            while True:
                entries = await self.redis.xreadgroup("g", "c", {"events": ">"}, count=10)
                for _, messages in entries:
                    for mid, fields in messages:
                        await self.handle(mid, fields)
        """,
        2,
    ),
    good(
        "busy-loop",
        "python",
        """
        async def consume(self):
            while True:
                entries = await self.redis.xreadgroup("g", "c", {"events": ">"}, count=10, block=5000)
                for _, messages in entries:
                    await self.handle(messages)
        """,
    ),
    bad(
        "busy-loop",
        "javascript",
        """
        async function waitForDb(pool) {
          let ready = false;
          while (!ready) {
            try {
              await pool.query('SELECT 1');
              ready = true;
            } catch (err) {
              console.warn('database not ready', err.message);
            }
          }
        }
        """,
        3,
    ),
    good(
        "busy-loop",
        "javascript",
        """
        async function waitForDb(pool) {
          let ready = false;
          while (!ready) {
            try {
              await pool.query('SELECT 1');
              ready = true;
            } catch (err) {
              await delay(1000);
            }
          }
        }
        """,
    ),
    bad(
        "busy-loop",
        "csharp",
        """
        public void WaitForFile(string path)
        {
            while (!File.Exists(path))
            {
            }
            Process(path);
        }
        """,
        3,
    ),
    bad(
        "busy-loop",
        "rust",
        """
        pub fn wait_for(path: &Path) {
            while !path.exists() {}
        }
        """,
        2,
    ),
    bad(
        "busy-loop",
        "typescript",
        """
        export class Scheduler {
          async start(): Promise<void> {
            this.running = true;
            while (this.running) {
              const due = await this.repo.findDue(new Date(), 50);
              for (const task of due) {
                await this.execute(task);
              }
            }
          }
        }
        """,
        4,
    ),
    bad(
        "busy-loop",
        "java",
        """
        package a;
        class Poller implements Runnable {
            @Override public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    try {
                        List<Task> tasks = repository.findDue(Instant.now(), 100);
                        tasks.forEach(this::process);
                    } catch (DataAccessException e) {
                        log.error("poll failed", e);
                        sleep(5_000);
                    }
                }
            }
        }
        """,
        4,
    ),
    bad(
        "busy-loop",
        "kotlin",
        """
        class DirWatcher(private val dir: Path, private val sink: Sink) {
            suspend fun run() {
                while (currentCoroutineContext().isActive) {
                    val files = withContext(Dispatchers.IO) { dir.listDirectoryEntries("*.csv") }
                    files.forEach { sink.accept(it) }
                }
            }
        }
        """,
        3,
    ),
]
