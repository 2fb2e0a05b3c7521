"""Blocking calls that async code reaches through a function, and locks that are held over a remote call."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

BLOCKS = "blocking-call-in-async-code"
LOCK = "lock-held-over-io"

CASES = [
    bad(BLOCKS, "kotlin", """
        import javax.sql.DataSource
        class Rows(private val source: DataSource) {
            fun load(id: Long): Int =
                source.connection.use { c ->
                    c.prepareStatement("SELECT n FROM t").use { s -> s.executeQuery().use { it.getInt(1) } }
                }
        }
        class Api(private val rows: Rows) {
            suspend fun one(id: Long) = rows.load(id)
        }
        """, 9),
    good(BLOCKS, "kotlin", """
        import javax.sql.DataSource
        class Rows(private val source: DataSource, private val io: CoroutineContext) {
            fun load(id: Long): Int =
                source.connection.use { c ->
                    c.prepareStatement("SELECT n FROM t").use { s -> s.executeQuery().use { it.getInt(1) } }
                }
            suspend fun one(id: Long) = withContext(io) { load(id) }
            fun two(id: Long) = load(id)
        }
        """),
    bad(BLOCKS, "kotlin", """
        import io.ktor.server.routing.get
        fun Route.rows(jdbc: JdbcTemplate) {
            get("/rows") {
                call.respond(jdbc.queryForList("SELECT n FROM t LIMIT 5"))
            }
        }
        """, 4),
    bad(BLOCKS, "rust", """
        fn page(path: &str) -> std::io::Result<String> { std::fs::read_to_string(path) }
        async fn show(path: String) -> String { page(&path).unwrap_or_default() }
        """, 2),
    good(BLOCKS, "rust", """
        fn page(path: &str) -> std::io::Result<String> { std::fs::read_to_string(path) }
        async fn show(path: String) -> String {
            tokio::task::spawn_blocking(move || page(&path)).await.unwrap().unwrap_or_default()
        }
        #[tokio::main]
        async fn main() { let _ = page("config.toml"); }
        """),
    bad(BLOCKS, "rust", """
        use argon2::{Argon2, PasswordVerifier};
        async fn login(given: &str, hash: &argon2::PasswordHash<'_>) -> bool {
            Argon2::default().verify_password(given.as_bytes(), hash).is_ok()
        }
        """, 3),
    bad(BLOCKS, "csharp", """
        class Jobs {
            private void Settle() { Thread.Sleep(500); }
            public async Task Run() { Settle(); await Next(); }
        }
        """, 3),
    good(BLOCKS, "csharp", """
        class Jobs {
            private void Settle() { Thread.Sleep(500); }
            public async Task Run() { await Task.Run(() => Settle()); await Next(); }
            public void Plain() { Settle(); }
        }
        """),
    # Locks.
    bad(LOCK, "rust", """
        struct Rates { pool: sqlx::PgPool, table: tokio::sync::RwLock<Vec<i64>> }
        impl Rates {
            async fn refresh(&self) -> sqlx::Result<()> {
                let mut table = self.table.write().await;
                let rows = sqlx::query_scalar("SELECT cents FROM rate LIMIT 50").fetch_all(&self.pool).await?;
                *table = rows;
                Ok(())
            }
        }
        """, 5),
    good(LOCK, "rust", """
        struct Rates { pool: sqlx::PgPool, table: tokio::sync::RwLock<Vec<i64>> }
        impl Rates {
            async fn refresh(&self) -> sqlx::Result<()> {
                let rows = sqlx::query_scalar("SELECT cents FROM rate LIMIT 50").fetch_all(&self.pool).await?;
                let mut table = self.table.write().await;
                *table = rows;
                Ok(())
            }
        }
        """),
    good(LOCK, "rust", """
        struct Rates { pool: sqlx::PgPool, conn: tokio::sync::Mutex<sqlx::PgConnection> }
        impl Rates {
            async fn refresh(&self) -> sqlx::Result<()> {
                let mut conn = self.conn.lock().await;
                sqlx::query("DELETE FROM rate WHERE old").execute(&mut *conn).await?;
                drop(conn);
                sqlx::query("DELETE FROM fee WHERE old").execute(&self.pool).await?;
                Ok(())
            }
        }
        """),
    bad(LOCK, "go", """
        package a
        import ("context"; "sync")
        type Source interface{ Load(ctx context.Context) (map[string]bool, error) }
        type Flags struct { src Source; mu sync.Mutex; all map[string]bool }
        func (f *Flags) refresh(ctx context.Context) error {
            f.mu.Lock()
            defer f.mu.Unlock()
            next, err := f.src.Load(ctx)
            if err != nil { return err }
            f.all = next
            return nil
        }
        """, 8),
    good(LOCK, "go", """
        package a
        import ("context"; "sync")
        type Source interface{ Load(ctx context.Context) (map[string]bool, error) }
        type Flags struct { src Source; mu sync.Mutex; all map[string]bool }
        func (f *Flags) refresh(ctx context.Context) error {
            next, err := f.src.Load(ctx)
            if err != nil { return err }
            f.mu.Lock()
            defer f.mu.Unlock()
            f.all = next
            return nil
        }
        """),
    bad(LOCK, "java", """
        class Rates {
            private final RateClient client;
            private Map<String, Rate> all;
            Rates(RateClient client) { this.client = client; }
            synchronized void refresh() { all = client.fetch(); }
        }
        """, 5),
]  # fmt: skip
