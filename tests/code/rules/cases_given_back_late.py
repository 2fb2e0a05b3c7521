"""Locks, permits, connections and bodies that helpers take, that are lent, or that a way out keeps."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOCK = "lock-not-released"
_RELEASED = "released-on-success-only"
_BODY = "response-not-closed"
_OUTCOME = "outcome-ignored"

CASES = [
    bad(
        _LOCK,
        "java",
        """
        class Renderer {
            private final Semaphore permits = new Semaphore(8);
            private final Layouts layouts;

            String render(long match) {
                acquire();
                Layout layout = layouts.find(match);
                String svg = paint(layout);
                permits.release();
                return svg;
            }

            private void acquire() {
                if (!permits.tryAcquire(500, TimeUnit.MILLISECONDS)) {
                    throw new Busy();
                }
            }
        }
        """,
        6,
    ),
    good(
        _LOCK,
        "java",
        """
        class Renderer {
            private final Semaphore permits = new Semaphore(8);
            private final Layouts layouts;

            String render(long match) {
                acquire();
                try {
                    return paint(layouts.find(match));
                } finally {
                    permits.release();
                }
            }

            private void acquire() {
                if (!permits.tryAcquire(500, TimeUnit.MILLISECONDS)) {
                    throw new Busy();
                }
            }
        }
        """,
    ),
    bad(
        _LOCK,
        "typescript",
        """
        async function lock(conn: PoolConnection, name: string): Promise<boolean> {
          const [rows] = await conn.query("SELECT GET_LOCK(?, 2) AS got", [name]);
          return rows[0]?.got === 1;
        }

        async function unlock(conn: PoolConnection, name: string): Promise<void> {
          await conn.query("SELECT RELEASE_LOCK(?)", [name]);
        }

        export async function run(conn: PoolConnection, name: string) {
          if (!(await lock(conn, name))) return null;
          const artists = await distribute(conn);
          if (artists === 0) return 0;
          await unlock(conn, name);
          return artists;
        }
        """,
        11,
    ),
    good(
        _LOCK,
        "typescript",
        """
        async function lock(conn: PoolConnection, name: string): Promise<boolean> {
          const [rows] = await conn.query("SELECT GET_LOCK(?, 2) AS got", [name]);
          return rows[0]?.got === 1;
        }

        async function unlock(conn: PoolConnection, name: string): Promise<void> {
          await conn.query("SELECT RELEASE_LOCK(?)", [name]);
        }

        export async function run(conn: PoolConnection, name: string) {
          if (!(await lock(conn, name))) return null;
          try {
            return await distribute(conn);
          } finally {
            await unlock(conn, name);
          }
        }
        """,
    ),
    bad(
        _LOCK,
        "rust",
        """
        pub async fn refresh(pool: &Pool, id: i64) -> Result<u64, Error> {
            let mut conn = pool.get().await?;
            let row = conn.query_one("SELECT pg_try_advisory_lock($1)", &[&id]).await?;
            if !row.get::<_, bool>(0) {
                return Err(Error::Busy);
            }
            let parcels = recompute(&mut conn, id).await?;
            conn.execute("SELECT pg_advisory_unlock($1)", &[&id]).await?;
            Ok(parcels)
        }

        pub async fn observe(&self) -> Result<Frame, Error> {
            self.slots.try_acquire().map_err(|_| Error::Busy)?.forget();
            let frame = self.driver.expose().await?;
            self.slots.add_permits(1);
            Ok(frame)
        }
        """,
        3,
        13,
    ),
    good(
        _LOCK,
        "rust",
        """
        pub async fn refresh(pool: &Pool, id: i64) -> Result<u64, Error> {
            let mut conn = pool.get().await?;
            conn.execute("SELECT pg_advisory_lock($1)", &[&id]).await?;
            let parcels = recompute(&mut conn, id).await;
            conn.execute("SELECT pg_advisory_unlock($1)", &[&id]).await?;
            parcels
        }

        pub async fn observe(&self) -> Result<Frame, Error> {
            let _slot = self.slots.try_acquire().map_err(|_| Error::Busy)?;
            self.driver.expose().await
        }
        """,
    ),
    bad(
        _RELEASED,
        "python",
        """
        def exclusive(fn):
            def inner(depot):
                lease = store.lock(depot, timeout=3600)
                if not lease.acquire():
                    return 0
                try:
                    count = fn(depot)
                    lease.release()
                    return count
                except HTTPError:
                    raise
            return inner

        def merge(upload, sink):
            archive = zipfile.ZipFile(upload)
            rows = _write(archive.namelist(), sink)
            archive.close()
            return rows

        def _write(lines, sink):
            for line in lines:
                if not line:
                    raise BadArchive(line)
        """,
        3,
        15,
    ),
    bad(
        _RELEASED,
        "java",
        """
        class Seats {
            private final JedisPool pool;

            Optional<Seat> find(String hall) {
                Jedis jedis = pool.getResource();
                if (!jedis.exists(hall)) {
                    return Optional.empty();
                }
                try (jedis; Pipeline pipeline = jedis.pipelined()) {
                    return read(pipeline);
                }
            }
        }
        """,
        5,
    ),
    bad(
        _RELEASED,
        "go",
        """
        func (j *Job) exclusive(ctx context.Context, fn func(*sql.Conn) error) (err error) {
            conn, err := j.db.Conn(ctx)
            if err != nil {
                return err
            }
            var got bool
            if err := conn.QueryRowContext(ctx, "SELECT try()").Scan(&got); err != nil {
                return err
            }
            if !got {
                return ErrBusy
            }
            defer func() {
                err = errors.Join(err, conn.Close())
            }()
            return fn(conn)
        }
        """,
        2,
    ),
    good(
        _RELEASED,
        "go",
        """
        func (j *Job) exclusive(ctx context.Context, fn func(*sql.Conn) error) (err error) {
            conn, err := j.db.Conn(ctx)
            if err != nil {
                return err
            }
            defer conn.Close()
            if !ready(conn) {
                return ErrBusy
            }
            return fn(conn)
        }
        """,
    ),
    bad(
        _BODY,
        "kotlin",
        """
        import okhttp3.ResponseBody
        import retrofit2.http.Streaming

        class Tiles(private val api: TileApi) {
            fun fetch(key: TileKey): Path {
                val response = api.tile(key).execute()
                val body = response.body() ?: throw IOException("no tile")
                if (body.contentLength() > MAX_TILE) {
                    throw IOException("too large")
                }
                return body.byteStream().use { store(key, it) }
            }
        }
        """,
        9,
    ),
    good(
        _BODY,
        "kotlin",
        """
        import okhttp3.ResponseBody
        import retrofit2.http.Streaming

        class Tiles(private val api: TileApi) {
            fun fetch(key: TileKey): Path {
                val response = api.tile(key).execute()
                val body = response.body() ?: throw IOException("no tile")
                return body.use {
                    if (body.contentLength() > MAX_TILE) {
                        throw IOException("too large")
                    }
                    store(key, body.byteStream())
                }
            }
        }
        """,
    ),
    bad(
        _BODY,
        "python",
        """
        import httpx

        async def chat(client: httpx.AsyncClient, request):
            try:
                upstream = await client.send(request, stream=True)
            except httpx.HTTPError as exc:
                raise Unreachable from exc
            if upstream.status_code != 200:
                raise Refused(upstream.status_code)
            return StreamingResponse(relay(upstream))
        """,
        9,
    ),
    good(
        _BODY,
        "python",
        """
        import httpx

        async def chat(client: httpx.AsyncClient, request):
            upstream = await client.send(request, stream=True)
            if upstream.status_code != 200:
                await upstream.aclose()
                raise Refused(upstream.status_code)
            return StreamingResponse(relay(upstream))
        """,
    ),
    bad(
        _OUTCOME,
        "csharp",
        """
        class Scorer
        {
            private static readonly TimeSpan MaxWait = TimeSpan.FromSeconds(5);
            private readonly SemaphoreSlim _slots = new(4);

            async Task Score(CancellationToken token)
            {
                await _slots.WaitAsync(MaxWait, token);
                await _slots.WaitAsync(token);
            }
        }
        """,
        8,
    ),
    bad(
        _RELEASED,
        "python",
        """
        class Job:
            async def tick(self):
                if self._running:
                    return
                self._running = True
                await self.sync()
                self._running = False
        """,
        5,
    ),
    good(
        _RELEASED,
        "python",
        """
        class Job:
            async def tick(self):
                if self._running:
                    return
                self._running = True
                try:
                    await self.sync()
                finally:
                    self._running = False

            async def load(self):
                self.loading = True
                await self.sync()
                self.loading = False
        """,
    ),
    bad(
        _RELEASED,
        "go",
        """
        func (s *Syncer) Run(ctx context.Context) error {
            if !s.busy.CompareAndSwap(false, true) {
                return ErrBusy
            }
            if err := s.sync(ctx); err != nil {
                return err
            }
            s.busy.Store(false)
            return nil
        }
        """,
        2,
    ),
    bad(
        _RELEASED,
        "javascript",
        """
        let syncing = false;

        export async function sync() {
          if (syncing) return;
          syncing = true;
          await upload();
          syncing = false;
        }
        """,
        5,
    ),
    bad(
        "request-in-transaction",
        "javascript",
        """
        export async function place(knex, http, order) {
          await knex.transaction(async (trx) => {
            await trx("orders").insert(order);
            await http.post("https://hooks/orders", order);
          });
        }
        """,
        4,
    ),
]
