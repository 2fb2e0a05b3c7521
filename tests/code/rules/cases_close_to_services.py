"""Code of services that is close to faults and is right: queries, statics, tests' keys, logged failures."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    good(
        "secret-in-code",
        "rust",
        """
        const TEST_FAKE_RSA_KEY: &str = "-----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC9irjRX1r5aero
        -----END PRIVATE KEY-----";
        """,
    ),
    good(
        "fire-and-forget",
        "csharp",
        """
        public class DomainService {
            public async Task ValidateAsync(Domain domain) {
                _ = await _command.SystemVerifyAsync(domain);
            }
        }
        """,
    ),
    good(
        "list-membership-in-loop",
        "csharp",
        """
        public class Accounts {
            private static async Task TouchAsync(DatabaseContext dbContext, List<Guid> accountIds) {
                await dbContext.Accounts
                    .Where(account => accountIds.Contains(account.Id))
                    .ExecuteUpdateAsync(setters => setters.SetProperty(a => a.Revised, DateTime.UtcNow));
            }
        }
        """,
    ),
    good(
        "nested-search",
        "csharp",
        """
        public class Users {
            public async Task<List<Row>> ListAsync(List<Guid> ids) {
                var users = dbContext.Users.Where(x => ids.Contains(x.Id));
                return await users.Select(e => new Row(e) {
                    HasAccess = dbContext.OrganizationUsers.Any(ou => ou.UserId == e.Id)
                }).ToListAsync();
            }
        }
        """,
    ),
    good(
        "promise-leaves-try",
        "csharp",
        """
        public class Health {
            private static Task WriteResponse(HttpContext context, HealthReport report) {
                using var memory = new MemoryStream();
                Write(memory, report);
                return context.Response.WriteAsync(Encoding.UTF8.GetString(memory.ToArray()));
            }
        }
        """,
    ),
    bad(
        "promise-leaves-try",
        "csharp",
        """
        public class Health {
            private static Task WriteResponse(HttpContext context, HealthReport report) {
                using var memory = new MemoryStream();
                Write(memory, report);
                return memory.CopyToAsync(context.Response.Body);
            }
        }
        """,
        5,
    ),
    good(
        "compiled-per-call",
        "rust",
        """
        use regex::Regex;
        use std::sync::LazyLock;
        fn is_valid_name(name: &str) -> bool {
            static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[a-z]+$").unwrap());
            NAME.is_match(name)
        }
        """,
    ),
    good(
        "lock-guards-nothing",
        "rust",
        """
        use std::sync::Mutex;
        fn next_id() -> u64 {
            static LAST: Mutex<u64> = Mutex::new(0);
            let mut last = LAST.lock().unwrap();
            *last += 1;
            *last
        }
        """,
    ),
    good(
        "unbounded-cache",
        "rust",
        """
        use cached::macros::cached;
        #[cached(ttl = 600, sync_writes = "default")]
        async fn release_info(has_access: bool) -> String {
            fetch(has_access).await
        }
        """,
    ),
    good(
        "unbounded-cache",
        "java",
        """
        class Requests {
          private final Map<DeviceId, List<Listener>> listeners = new ConcurrentHashMap<>();
          void add(DeviceId id, Listener listener) {
            listeners.compute(id, (key, known) -> { List<Listener> all = known == null ? new ArrayList<>() : known; all.add(listener); return all; });
          }
          void remove(DeviceId id, Listener listener) {
            listeners.computeIfPresent(id, (key, known) -> { known.remove(listener); return known.isEmpty() ? null : known; });
          }
        }
        """,
    ),
    good(
        "unbounded-labels",
        "java",
        """
        class Presence {
          void count(boolean present, UUID deviceId) {
            Metrics.counter("presence_match", "match", String.valueOf(present == known.get(deviceId))).increment();
          }
        }
        """,
    ),
    good(
        "dropped-future",
        "java",
        """
        import reactor.core.publisher.Flux;
        class Mirror {
          void start(Messages messages) {
            final MessageSubscriber subscriber = new MessageSubscriber();
            messages.all().map(this::convert).subscribe(subscriber);
          }
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "java",
        """
        class Provider {
          void handle(Request request) {
            handler.apply(request)
                .thenAccept(response -> send(request, response))
                .exceptionally(exception -> {
                  logger.error("failed", exception);
                  sendError(request);
                  return null;
                });
          }
        }
        """,
    ),
    good(
        "retry-without-backoff",
        "rust",
        """
        async fn community(ids: &[Id], context: &Context) -> Result<Community, Error> {
            let mut iter = ids.iter();
            loop {
                if let Some(id) = iter.next() {
                    if let Ok(found) = id.dereference(context).await {
                        break Ok(found);
                    }
                } else {
                    return Err(Error::NotFound);
                }
            }
        }
        """,
    ),
    good(
        "retry-without-backoff",
        "rust",
        """
        async fn deliver(task: Task, stop: CancellationToken) -> Result<(), Error> {
            let mut failed = 0;
            while let Err(e) = task.sign_and_send().await {
                failed += 1;
                let delay = delay_of(failed);
                tracing::info!("{e}");
                tokio::select! {
                    () = sleep(delay) => {},
                    () = stop.cancelled() => { return Ok(()); }
                }
            }
            Ok(())
        }
        """,
    ),
    good(
        "retry-without-backoff",
        "typescript",
        """
        export function hasMetadata(bytes: Uint8Array): boolean {
          let pos = 8;
          while (pos < bytes.length) {
            const chunk = bytes.slice(pos, pos + 12);
            pos += 12;
            try {
              if (decode(chunk).includes("mxfile")) {
                return true;
              }
            } catch {
              continue;
            }
          }
          return false;
        }
        """,
    ),
    good(
        "swallowed-error",
        "rust",
        """
        fn remove(user: &User, conn: &mut PgConnection) -> EmptyResult {
            let _: () = diesel::delete(users::table.filter(users::id.eq(user.id)))
                .execute(conn)
                .map_res("Error removing user")?;
            Ok(())
        }
        """,
    ),
    good(
        "unbounded-fan-out",
        "go",
        """
        package webhook

        func init() {
        	for range 4 {
        		go func() {
        			for payload := range queue {
        				_, _ = http.Post(payload.URL, "application/json", payload.Body)
        			}
        		}()
        	}
        }
        """,
    ),
    good(
        "ignored-error",
        "go",
        """
        package cache

        import "context"

        func (c *Cache) Set(ctx context.Context, key string, value any) {
        	c.SetWithTTL(ctx, key, value, c.ttl)
        }

        func (c *Cache) SetWithTTL(_ context.Context, key string, value any, ttl time.Duration) {
        	c.data.Store(key, item{value, ttl})
        }
        """,
    ),
    good(
        "blocking-call-in-async-code",
        "rust",
        """
        use argon2::Argon2;
        fn parse_args() {
            let hash = argon2::Argon2::default().hash_password(b"x", &salt()).unwrap();
            println!("{hash}");
        }
        #[tokio::main]
        async fn main() {
            parse_args();
            serve().await;
        }
        """,
    ),
    good(
        "whole-body-loaded",
        "python",
        """
        import io
        async def as_file(upload):
            data = await upload.read()
            buffer = io.BytesIO(data)
            buffer.name = upload.filename
            return buffer
        """,
    ),
    good(
        "loaded-by-every-caller",
        "go",
        """
        package sqlite

        var patterns sync.Map

        func compile(pattern string) (*regexp.Regexp, error) {
        	if known, ok := patterns.Load(pattern); ok {
        		return known.(*regexp.Regexp), nil
        	}
        	re, err := regexp.Compile(pattern)
        	if err != nil {
        		return nil, err
        	}
        	patterns.Store(pattern, re)
        	return re, nil
        }
        """,
    ),
    good(
        "failure-only-logged",
        "rust",
        """
        fn setup(scheduler: &mut Scheduler, context: Context) {
            scheduler.every(1.hour()).run(move || async move {
                delete_expired(&mut context.pool())
                    .await
                    .inspect_err(|e| warn!("Failed to delete: {e}"))
                    .ok();
            });
        }
        """,
    ),
    good(
        "unbounded-recursion",
        "javascript",
        """
        function init(sbx, env) {
          function settingsOf(plugin, settings) {
            return settings[plugin.name] || {};
          }
          sbx.settingsOf = function pluginSettings(plugin) {
            return settingsOf(plugin, env.settings);
          };
        }
        """,
    ),
    good(
        "missing-value-used",
        "csharp",
        """
        public class Users {
            public async Task Update(Guid id, Config config) {
                var user = Query(db).FirstOrDefault(u => u.Id.Equals(id))
                    ?? throw new ArgumentException("No user");
                user.Mode = config.Mode;
                await db.SaveChangesAsync();
            }
        }
        """,
    ),
    good(
        "secret-in-code",
        "rust",
        """
        const MEILI_S3_ACCESS_KEY: &str = "MEILI_S3_ACCESS_KEY";
        """,
    ),
    good(
        "lazy-relation-in-loop",
        "python",
        """
        from django.db import models

        class Device(models.Model):
            site = models.ForeignKey(Site, on_delete=models.CASCADE)
            parent = models.ForeignKey("self", on_delete=models.CASCADE)

            def move(self):
                devices = Device.objects.filter(parent=self)
                for device in devices:
                    device.site = self.site
                    device.save()
        """,
    ),
    good(
        "whole-body-loaded",
        "csharp",
        """
        public class Listings {
            private byte[] _countriesCache;
            public async Task<Stream> Countries(HttpClient client, string path, CancellationToken token) {
                using var response = await client.GetAsync("/countries", token);
                var bytes = await response.Content.ReadAsByteArrayAsync(token);
                await File.WriteAllBytesAsync(path, bytes, token);
                _countriesCache = bytes;
                return new MemoryStream(bytes, writable: false);
            }
        }
        """,
    ),
    good(
        "shared-mutable-state",
        "java",
        """
        @RestController
        class ServiceProperties implements InitializingBean {
          private Map<String, String> mapping = new HashMap<>();
          @Override
          public void afterPropertiesSet() {
            mapping.put("default", "default");
          }
        }
        """,
    ),
]
