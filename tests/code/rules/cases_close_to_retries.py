"""Code that is close to retries, locks and leaks, and is right."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

_LOCK_HELD_OVER_IO = "lock-held-over-io"
_LOCK_NOT_RELEASED = "lock-not-released"
_RELEASED_ON_SUCCESS_ONLY = "released-on-success-only"
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
        _RELEASED_ON_SUCCESS_ONLY,
        "go",
        """
        package x
        import "fmt"

        func (p *Provider) rotate() (err error) {
        	var tx Tx
        	if tx, err = p.db.Beginx(); err != nil {
        		return err
        	}
        	if err = p.setKey(tx); err != nil {
        		if rollbackErr := tx.Rollback(); rollbackErr != nil {
        			return fmt.Errorf("rolling back: %w", rollbackErr)
        		}
        		return fmt.Errorf("setting the key: %w", err)
        	}
        	if err = p.truncate(tx, "codes"); err != nil {
        		if rollbackErr := tx.Rollback(); rollbackErr != nil {
        			return fmt.Errorf("rolling back: %w", rollbackErr)
        		}
        		return fmt.Errorf("truncating: %w", err)
        	}
        	if err = tx.Commit(); err != nil {
        		return err
        	}
        	return nil
        }
        """,
    ),
    good(
        _RELEASED_ON_SUCCESS_ONLY,
        "java",
        """
        class Tree {
            private final Map<Object, Object> parents = new HashMap<>();

            void process(Span span) {
                Object key = span.id();
                Object parent = keyOf(span.parentId());
                if (parents.containsKey(key)) {
                    parents.put(key, parent);
                } else {
                    parent = span.parentId();
                }
                if (parent == null) {
                    parents.remove(key);
                }
            }
        }
        """,
    ),
    good(
        _LOCK_NOT_RELEASED,
        "rust",
        """
        pub async fn revert(pool: &PgPool, id: &str) -> Result<bool, Error> {
            let mut conn = pool.acquire().await?;
            sqlx::query("SELECT pg_advisory_lock(1)").execute(&mut conn).await?;
            let result: Result<bool, Error> = async {
                let applied = sqlx::query_scalar("SELECT id FROM done").fetch_all(pool).await?;
                if applied.is_empty() {
                    return Err(Error::Missing(id.to_string()));
                }
                Ok(true)
            }
            .await;
            let _ = sqlx::query("SELECT pg_advisory_unlock(1)").execute(&mut conn).await;
            result
        }
        """,
    ),
    good(
        "deadlock",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed

        def run_language(tasks):
            with ThreadPoolExecutor(max_workers=4) as pool:
                futures = [pool.submit(generate, task) for task in tasks]
                return [future.result() for future in as_completed(futures)]

        def run_all(languages):
            with ThreadPoolExecutor(max_workers=4) as pool:
                return [pool.submit(run_language, tasks) for tasks in languages]
        """,
    ),
    good(
        _LOCK_HELD_OVER_IO,
        "go",
        """
        package x
        import ("context"; "sync")

        type Store struct {
        	driver Driver
        	mu     sync.Mutex
        }

        func (s *Store) CreateFirst(ctx context.Context, user *User) (bool, error) {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	users, err := s.driver.ListUsers(ctx, 1)
        	if err != nil || len(users) > 0 {
        		return false, err
        	}
        	_, err = s.driver.CreateUser(ctx, user)
        	return err == nil, err
        }
        """,
    ),
    good(
        _LOCK_HELD_OVER_IO,
        "python",
        """
        class DualCache:
            def reserve(self, key, now):
                with self._redis_access_lock:
                    last = self.last_redis_access_time.get(key)
                    self.last_redis_access_time[key] = now
                return last
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
        "task-left-running",
        "python",
        """
        import asyncio

        _cleanup = None

        async def sweep():
            while True:
                await asyncio.sleep(60)
                await remove_expired()

        async def open_sessions():
            global _cleanup
            _cleanup = asyncio.create_task(sweep())

        async def close_sessions():
            global _cleanup
            if _cleanup is not None:
                _cleanup.cancel()
        """,
    ),
    good(
        "temporary-file-left",
        "python",
        """
        import tempfile

        def credential_paths(cert, key):
            directory = tempfile.mkdtemp(prefix="pem")
            return CredentialPaths(
                cert=write_pem(directory, "cert.pem", cert),
                key=write_pem(directory, "key.pem", key),
            )
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
        _LOCK_HELD_OVER_IO,
        "csharp",
        """
        public class ConfigService {
            private readonly IConfigRepository _repository;
            private Dictionary<string, string> _cache = new();

            private void EnsureCache() {
                lock (_cache) {
                    if (_cache.Count == 0) {
                        var all = _repository.All();
                        _cache = all.ToDictionary(c => c.Key, c => c.Value);
                    }
                }
            }
        }
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
        "file-not-closed",
        "csharp",
        """
        public class HtmlMapper {
            protected Stream GetContentStream(string text) {
                var stream = new MemoryStream();
                var writer = new StreamWriter(stream);
                writer.Write(text);
                writer.Flush();
                stream.Position = 0;
                return stream;
            }
        }
        """,
    ),
]
