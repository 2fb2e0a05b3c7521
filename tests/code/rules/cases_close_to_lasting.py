"""Code that is close to leaks and locks that are held, and is right."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

_LOCK_HELD_OVER_IO = "lock-held-over-io"
_LOCK_NOT_RELEASED = "lock-not-released"
_RELEASED_ON_SUCCESS_ONLY = "released-on-success-only"


CASES = [
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
    good(
        "listener-leak",
        "java",
        """
        @RestController
        class Series {
            private final SeriesService service;
            @GetMapping("/series/{key}")
            DeferredResult<Answer> read(@PathVariable String key) {
                DeferredResult<Answer> result = new DeferredResult<>();
                Futures.addCallback(service.latest(key), answerTo(result), MoreExecutors.directExecutor());
                return result;
            }
        }
        """,
    ),
    good(
        "listener-leak",
        "java",
        """
        class WebSocketSessionContext {
            private final List<WebSocketEventListener> closeListeners = new LinkedList<>();

            public void addWebsocketClosedListener(WebSocketEventListener listener) {
                this.closeListeners.add(listener);
            }

            public void notifyClosed(int status) {
                for (WebSocketEventListener listener : closeListeners) {
                    listener.onWebSocketClose(this, status);
                }
            }
        }
        """,
    ),
    good(
        "temporary-file-left",
        "python",
        """
        import os
        import tempfile

        def keep(text, target):
            temp = tempfile.NamedTemporaryFile(delete=False)
            temp.write(text.encode("utf-8"))
            temp.close()
            os.replace(temp.name, target)
        """,
    ),
]
