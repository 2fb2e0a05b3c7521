"""Code that is close to retries and other rounds, and is right."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

_RETRY_WITHOUT_BACKOFF = "retry-without-backoff"
_RETRY_WITHOUT_LIMIT = "retry-without-limit"

_UP_THE_TREE = """
    package x
    import ("os"; "path/filepath"; "strings")

    func root(folder string) string {
    	for {
    		path := filepath.Join(folder, "go.mod")
    		if data, err := os.ReadFile(path); err == nil {
    			if strings.Contains(string(data), "module example") {
    				break
    			}
    		}
    		parent := filepath.Dir(folder)
    		if parent == folder {
    			break
    		}
    		folder = parent
    	}
    	return folder
    }
    """
_IN_SELECT = """
    pub async fn run(pool: &PgPool, stop: CancellationToken) {
        let mut backoff = Duration::from_secs(5);
        loop {
            match migrate(pool).await {
                Ok(_) => {
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, "failed");
                }
            }
            tokio::select! {
                _ = tokio::time::sleep(backoff) => {}
                _ = stop.cancelled() => return,
            }
            backoff = (backoff * 2).min(Duration::from_secs(600));
        }
    }
    """

CASES = [
    good(_RETRY_WITHOUT_LIMIT, "go", _UP_THE_TREE),
    good(_RETRY_WITHOUT_BACKOFF, "go", _UP_THE_TREE),
    good(_RETRY_WITHOUT_LIMIT, "rust", _IN_SELECT),
    good(_RETRY_WITHOUT_BACKOFF, "rust", _IN_SELECT),
    good(
        _RETRY_WITHOUT_LIMIT,
        "rust",
        """
        pub async fn deliver(task: Task, stop: CancellationToken) -> Result<(), Error> {
            let mut failures = 0;
            while let Err(error) = task.send().await {
                failures += 1;
                tokio::select! {
                    () = sleep(pause(failures)) => {},
                    () = stop.cancelled() => {
                        // No result is reported.
                        return Ok(());
                    }
                }
            }
            Ok(())
        }
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "python",
        """
        def name_groups(session, groups):
            offset = 0
            for place, group in enumerate(groups):
                attempts = 0
                while True:
                    if attempts >= 3:
                        raise NamingError(group.id)
                    number = place + offset
                    try:
                        rename(session, group, number)
                        break
                    except DatabaseError:
                        session.rollback()
                        attempts += 1
                        offset += 1
                        continue
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "typescript",
        """
        export async function withUniqueName<T>(fn: () => Promise<T>, attempts = 3): Promise<T> {
          for (let attempt = 1; ; attempt++) {
            try {
              return await fn();
            } catch (err) {
              if (!(err instanceof UniqueConstraintError) || attempt >= attempts) {
                throw err;
              }
              logger.info("taken, trying another", { attempt });
            }
          }
        }
        """,
    ),
    good(
        "nested-retries",
        "java",
        """
        class Samples {
            Flux<Sample> finish(Flux<Sample> samples) {
                return samples.flatMap(sample -> Mono.fromFuture(() -> accounts.read(sample.id()))
                    .retryWhen(Retry.backoff(3, Duration.ofSeconds(1)))
                    .flatMap(account -> Mono.fromFuture(() -> store.record(sample, account))
                        .retryWhen(Retry.backoff(3, Duration.ofSeconds(1)))));
            }
        }
        """,
    ),
    good(
        "periodic-work-ends-with-first-error",
        "java",
        """
        class Jobs {
            void start() {
                executor.scheduleWithFixedDelay(() -> {
                    running = scheduler.processJobs()
                        .doOnError(e -> logger.warn("failed", e))
                        .subscribe();
                }, 0, 10, TimeUnit.SECONDS);
            }
        }
        """,
    ),
    good(
        "overlapping-runs",
        "typescript",
        """
        export function start() {
          async function run(schedule: string) {
            for (const task of tasks) {
              await task.schedule({ limit: 10000, schedule });
            }
          }
          setInterval(() => void run("day"), Day.ms).unref();
          setInterval(() => void run("hour"), 60 * 60 * 1000).unref();
        }
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "go",
        """
        package x
        import "time"

        func (p *Provider) StartupCheck() (err error) {
        	for i := 0; i < 19; i++ {
        		if err = p.db.Ping(); err == nil {
        			break
        		}
        		time.Sleep(500 * time.Millisecond)
        	}
        	return err
        }
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "python",
        """
        import time

        class Mailer:
            MAX_TRIES = 3

            def run(self):
                for attempt in range(self.MAX_TRIES):
                    try:
                        return self.message.send()
                    except SMTPServerTimeout:
                        if attempt + 1 == self.MAX_TRIES:
                            raise
                        time.sleep(1)
        """,
    ),
    good(
        "busy-loop",
        "python",
        """
        def touch_lists(buffer, session):
            while True:
                list_id = buffer.pop()
                if not list_id:
                    break
                found = session.query(ShoppingList).filter(ShoppingList.id == list_id).first()
                if not found:
                    continue
                found.updated_at = now()
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "typescript",
        """
        export class ScoreTask {
          async perform() {
            while (true) {
              const left = await this.countRemaining();
              if (left === 0) {
                break;
              }
              try {
                await this.updateBatch();
                await setTimeout(DELAY_MS);
              } catch (error) {
                Logger.error("Batch failed", error);
                await this.skipCurrentBatch();
              }
            }
          }
        }
        """,
    ),
    good(
        _RETRY_WITHOUT_BACKOFF,
        "java",
        """
        class Accounts {
            void delete(UUID id) {
                int tries = 0;
                while (tries < 3) {
                    try {
                        client.transactWriteItems(deletesOf(id));
                        return;
                    } catch (TransactionCanceledException e) {
                        tries++;
                    }
                }
            }
        }
        """,
    ),
]
