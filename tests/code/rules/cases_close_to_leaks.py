"""Correct code that looks like a leak, a late setting, a panic or a clock that jumps."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HTTP = "http-call-without-timeout"
_TIME = "naive-time"
_ASSERT = "assert-for-validation"
_CLOSED = "connection-not-closed"
_CLIENT = "http-client-per-call"
_BLOCKS = "blocking-call-in-async-code"
_LATE = "config-read-late"
_AWAITS = "sequential-awaits"
_LOADED = "loaded-each-time"
_PROGRAM = "subprocess-without-timeout"
_CLOCK = "wall-clock-for-durations"
_PANIC = "panic-on-failure"

CASES = [
    # Dapper opens a closed connection for each query and closes it again.
    good(
        _CLOSED,
        "csharp",
        """
        class Repo {
            public async Task<Plan> Get(Guid id) {
                var connection = new SqlConnection(ConnectionString);
                var found = await connection.QueryAsync<Plan>("[dbo].[Plan_Read]", new { Id = id });
                return found.FirstOrDefault();
            }
        }
        """,
    ),
    # The condition asks for the setting.
    good(
        _LATE,
        "python",
        """
        import os
        from flask import Flask
        app = Flask(__name__)
        @app.get("/settings")
        def settings():
            if "TEAM_OFF" in os.environ:
                return os.environ["TEAM_OFF"]
            return ""
        """,
    ),
    # Two reads of one database gain little together.
    good(
        _AWAITS,
        "typescript",
        """
        class Service {
          async load(id: string) {
            const strategies = await this.strategyStore.getStrategies(id);
            const segments = await this.segmentStore.getSegments(id);
            return { strategies, segments };
          }
        }
        """,
    ),
    bad(
        _AWAITS,
        "typescript",
        """
        class Service {
          async load(id: string) {
            const user = await this.accounts.getUser(id);
            const rates = await this.billing.getRates(id);
            return { user, rates };
          }
        }
        """,
        4,
    ),
    # Each request has another body.
    good(
        _LOADED,
        "csharp",
        """
        public class Hooks : Controller {
            [HttpPost("hook")]
            public async Task<IActionResult> Post() {
                using var reader = new StreamReader(HttpContext.Request.Body);
                var body = await reader.ReadToEndAsync();
                var found = JsonSerializer.Deserialize<JsonDocument>(body);
                return Ok(found.RootElement.ToString());
            }
        }
        """,
    ),
    # A command runs once, and its user sees what hangs.
    good(
        _CLIENT,
        "java",
        """
        import java.net.http.HttpClient;
        class CopyCommand {
            void copy(URI from) throws Exception {
                try (HttpClient client = HttpClient.newBuilder().build()) {
                    client.send(request(from), HttpResponse.BodyHandlers.ofByteArray());
                }
            }
        }
        """,
    ),
    good(
        _PROGRAM,
        "csharp",
        """
        class Setup {
            static void Run(string file) {
                var process = Process.Start(file);
                process.WaitForExit();
                Console.WriteLine("done");
            }
        }
        """,
    ),
    # A jump of the clock is small beside a day.
    good(
        _CLOCK,
        "python",
        """
        import datetime
        _last = None
        def fresh():
            global _last
            now = datetime.datetime.now(datetime.timezone.utc)
            if not _last or now - _last > datetime.timedelta(days=1):
                _last = now
                clear()
        """,
    ),
    # A thread for queries runs the closure, and its panic is an error there.
    good(
        _PANIC,
        "rust",
        """
        use diesel::prelude::*;
        impl Attachment {
            async fn all(conn: &DbConn) -> Vec<Self> {
                conn.run(move |conn| {
                    attachments::table.load::<Self>(conn).expect("Error loading attachments")
                })
                .await
            }
        }
        """,
    ),
    # Each request has a token that ends it.
    good(
        _HTTP,
        "csharp",
        """
        class Dispatcher {
            HttpClient Make(HttpMessageHandler h) => new HttpClient(h) { Timeout = Timeout.InfiniteTimeSpan };
            async Task<HttpResponseMessage> Get(string url) {
                using var cts = new CancellationTokenSource();
                cts.CancelAfter(TimeSpan.FromSeconds(100));
                return await _client.GetAsync(url, cts.Token);
            }
        }
        """,
    ),
    # The line of the log and its counter decide nothing.
    good(
        _CLOCK,
        "kotlin",
        """
        fun check(): Result {
            val start = System.currentTimeMillis()
            val result = run()
            val duration = System.currentTimeMillis() - start
            if (duration > LIMIT) {
                logger.error("took $duration ms")
                slow++
            }
            return result
        }
        """,
    ),
    # The check is of an object that the program loaded.
    good(
        _ASSERT,
        "python",
        """
        from flask import Flask, request
        app = Flask(__name__)
        @app.post("/checks/<code>")
        def update(code):
            check = load(request, code)
            assert check.alert_after
            return "ok"
        """,
    ),
    # Seeding reads its file once, at the start.
    good(
        _BLOCKS,
        "csharp",
        """
        class CatalogSeed {
            public async Task SeedAsync(CatalogContext context) {
                var items = File.ReadAllText("catalog.json");
                await context.AddAsync(items);
            }
        }
        """,
    ),
    # A time in seconds has no zone.
    good(
        _TIME,
        "python",
        """
        import datetime as dt
        def is_old(stats):
            return (dt.datetime.now().timestamp() - stats.st_mtime) > LIMIT_S
        """,
    ),
    # What is written out cannot fail in one request alone; migrations run before the first.
    good(
        _PANIC,
        "rust",
        """
        use axum::http::HeaderMap;
        async fn list(headers: HeaderMap) -> bool {
            VersionReq::parse(">=2024.12.0").unwrap().matches(&version(&headers))
        }
        """,
    ),
    good(
        _PANIC,
        "rust",
        """
        use diesel::prelude::*;
        pub fn run_migrations(connection: &mut PgConnection) {
            diesel::sql_query("SET x = 0").execute(connection).expect("could not switch it off");
        }
        """,
    ),
    # Closing a client asks nothing.
    good(
        _BLOCKS,
        "python",
        """
        from azure.storage.blob import BlobServiceClient
        class Cache:
            def __init__(self, url):
                self.client = BlobServiceClient(url).get_container_client("cache")
            async def disconnect(self):
                self.client.close()
        """,
    ),
]
