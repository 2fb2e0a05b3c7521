"""Errors that are lost: with the end of a loop, in a buffer, in a future, or in an empty answer."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ROWS = "iteration-error-ignored"
_DATA = "failure-taken-for-data"
_OUTCOME = "outcome-ignored"
_FUTURE = "dropped-future"
_ERROR = "ignored-error"
_STATUS = "unchecked-response-status"
_STOP = "loop-ignores-stop"
_WRITES = "writes-without-transaction"

CASES = [
    bad(
        _ROWS,
        "rust",
        """
        async fn write(pool: &PgPool, out: &mut File) -> Result<i64> {
            let mut rows = sqlx::query_as::<_, Row>(QUERY).fetch(pool);
            let mut written = 0;
            while let Ok(Some(row)) = rows.try_next().await {
                out.write_all(row.line().as_bytes()).await?;
                written += 1;
            }
            Ok(written)
        }
        """,
        4,
    ),
    bad(
        _ROWS,
        "rust",
        """
        fn load(path: &Path) -> Result<Vec<Fare>, Error> {
            let mut reader = csv::Reader::from_path(path)?;
            Ok(reader.deserialize::<Fare>().filter_map(Result::ok).collect())
        }
        """,
        3,
    ),
    good(
        _ROWS,
        "rust",
        """
        async fn write(pool: &PgPool, out: &mut File) -> Result<i64> {
            let mut rows = sqlx::query_as::<_, Row>(QUERY).fetch(pool);
            while let Some(row) = rows.try_next().await? {
                out.write_all(row.line().as_bytes()).await?;
            }
            Ok(1)
        }
        async fn serve(mut socket: WebSocket) -> Result<(), Error> {
            while let Some(Ok(message)) = socket.recv().await {
                answer(message).await?;
            }
            Ok(())
        }
        """,
    ),
    bad(
        _DATA,
        "kotlin",
        """
        class Sync(private val http: HttpClient, private val fares: FareTable) {
            suspend fun run(partner: String) {
                var cursor: String? = null
                do {
                    val page = fetchPage(partner, cursor)
                    fares.upsert(partner, page.fares)
                    cursor = page.next
                } while (cursor != null)
                fares.deactivateExcept(partner)
            }
            private suspend fun fetchPage(partner: String, cursor: String?): FarePage =
                try {
                    http.get("$base/$partner").body()
                } catch (e: IOException) {
                    log.warn("page {} not available", cursor, e)
                    FarePage(emptyList())
                }
        }
        """,
        16,
    ),
    bad(
        _DATA,
        "python",
        """
        class Feed:
            def all(self):
                page, items = 1, []
                while True:
                    batch = self._page(page)
                    if not batch:
                        break
                    items.extend(batch)
                    page += 1
                return items
            def _page(self, page):
                try:
                    return self._api.list(page=page)
                except RequestException:
                    logger.warning("page %s failed", page)
                    return []
        """,
        16,
    ),
    bad(
        _DATA,
        "typescript",
        """
        export async function allOrders(api: OrdersApi): Promise<Order[]> {
          const found: Order[] = [];
          let cursor: string | undefined;
          while (true) {
            let page;
            try {
              page = await api.list({ cursor });
            } catch (err) {
              logger.warn({ err }, "page failed");
              break;
            }
            found.push(...page.items);
            if (!page.next) break;
            cursor = page.next;
          }
          return found;
        }
        """,
        8,
    ),
    good(
        _DATA,
        "typescript",
        """
        export async function allOrders(api: OrdersApi): Promise<Order[]> {
          const found: Order[] = [];
          let cursor: string | undefined;
          while (true) {
            const page = await api.list({ cursor });
            found.push(...page.items);
            if (!page.next) break;
            cursor = page.next;
          }
          return found;
        }
        """,
    ),
    bad(
        _DATA,
        "go",
        """
        package sync
        func (s *Sync) all(ctx context.Context) ([]Item, error) {
        	var items []Item
        	for token := ""; ; {
        		page, err := s.client.List(ctx, token)
        		if err != nil {
        			slog.Warn("page failed", "token", token, "err", err)
        			break
        		}
        		items = append(items, page.Items...)
        		if page.Next == "" {
        			break
        		}
        		token = page.Next
        	}
        	return items, nil
        }
        """,
        6,
    ),
    good(
        _DATA,
        "go",
        """
        package sync
        func (s *Sync) all(ctx context.Context) ([]Item, error) {
        	var items []Item
        	var err error
        	for token := ""; ; {
        		var page Page
        		page, err = s.client.List(ctx, token)
        		if err != nil {
        			slog.Warn("page failed", "token", token, "err", err)
        			break
        		}
        		items = append(items, page.Items...)
        		token = page.Next
        	}
        	return items, err
        }
        """,
    ),
    bad(
        _OUTCOME,
        "rust",
        """
        use tokio::io::{AsyncWriteExt, BufWriter};
        async fn write(path: &Path, rows: &[Row]) -> Result<()> {
            let mut writer = BufWriter::with_capacity(65536, File::create(path).await?);
            for row in rows {
                writer.write_all(row.line().as_bytes()).await?;
            }
            let file = writer.into_inner();
            file.sync_all().await?;
            Ok(())
        }
        """,
        3,
    ),
    bad(
        _OUTCOME,
        "rust",
        """
        use std::io::{BufWriter, Write};
        fn write(path: &Path, rows: &[Row]) -> io::Result<()> {
            let file = File::create(path)?;
            let mut out = BufWriter::new(&file);
            writeln!(out, "id;name")?;
            for row in rows {
                writeln!(out, "{};{}", row.id, row.name)?;
            }
            drop(out);
            file.sync_all()
        }
        """,
        4,
    ),
    good(
        _OUTCOME,
        "rust",
        """
        use std::io::{BufWriter, Write};
        fn write(path: &Path, rows: &[Row]) -> io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            for row in rows {
                writeln!(out, "{};{}", row.id, row.name)?;
            }
            let file = out.into_inner()?;
            file.sync_all()
        }
        """,
    ),
    bad(
        _OUTCOME,
        "kotlin",
        """
        import org.apache.kafka.clients.producer.KafkaProducer
        fun Application.events() {
            val producer = KafkaProducer<String, String>(config())
            routing {
                post("/events") {
                    producer.send(ProducerRecord("events", call.receiveText())) { _, failure ->
                        if (failure != null) log.error("event not sent", failure)
                    }
                    call.respond(HttpStatusCode.Accepted)
                }
            }
        }
        """,
        3,
    ),
    good(
        _OUTCOME,
        "kotlin",
        """
        import org.apache.kafka.clients.producer.KafkaProducer
        fun Application.events() {
            val producer = KafkaProducer<String, String>(config())
            monitor.subscribe(ApplicationStopped) { producer.close(Duration.ofSeconds(20)) }
            routing {
                post("/events") {
                    producer.send(ProducerRecord("events", call.receiveText())) { _, failure ->
                        if (failure != null) log.error("event not sent", failure)
                    }
                }
            }
        }
        """,
    ),
    bad(
        _FUTURE,
        "kotlin",
        """
        import org.springframework.kafka.core.KafkaTemplate
        class Relay(private val kafka: KafkaTemplate<String, String>) {
            fun relay(events: List<Event>) {
                events.forEach { kafka.send(it.toRecord()) }
                kafka.flush()
                markPublished(events)
            }
        }
        """,
        4,
    ),
    good(
        _FUTURE,
        "kotlin",
        """
        import org.springframework.kafka.core.KafkaTemplate
        class Relay(private val kafka: KafkaTemplate<String, String>) {
            fun relay(events: List<Event>) {
                val sends = events.map { kafka.send(it.toRecord()) }
                CompletableFuture.allOf(*sends.toTypedArray()).get(30, TimeUnit.SECONDS)
                markPublished(events)
            }
        }
        """,
    ),
    bad(
        _ERROR,
        "go",
        """
        package forge
        import "io"
        func read(resp *http.Response) ([]byte, error) {
        	body, _ := io.ReadAll(resp.Body)
        	return body, nil
        }
        """,
        4,
    ),
    good(
        _ERROR,
        "go",
        """
        package forge
        import ("fmt"; "io")
        func check(resp *http.Response) error {
        	detail, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
        	if resp.StatusCode != 201 {
        		return fmt.Errorf("forge answered %d: %s", resp.StatusCode, detail)
        	}
        	return nil
        }
        """,
    ),
    good(
        _STATUS,
        "kotlin",
        """
        import io.ktor.client.HttpClient
        import io.ktor.client.call.body
        import io.ktor.client.request.get
        class Fares(private val http: HttpClient, private val base: String) {
            suspend fun page(): FarePage = http.get("$base/fares").body()
        }
        """,
    ),
    good(
        _STOP,
        "csharp",
        """
        class Sink : BackgroundService {
            public override Task StopAsync(CancellationToken ct) {
                _events.Writer.TryComplete();
                return base.StopAsync(ct);
            }
            protected override async Task ExecuteAsync(CancellationToken stoppingToken) {
                while (await _events.Reader.WaitToReadAsync(CancellationToken.None)) {
                    while (batch.Count < 100 && _events.Reader.TryRead(out var next)) {
                        batch.Add(next);
                    }
                    await WriteAsync(batch);
                }
            }
        }
        """,
    ),
    good(
        _WRITES,
        "javascript",
        """
        async function insertLeg(client, id, leg) {
          const { rows } = await client.query('INSERT INTO legs (id) VALUES ($1) RETURNING id', [id]);
          await client.query('INSERT INTO coupons (leg_id) VALUES ($1)', [rows[0].id]);
        }
        async function rebook(id, legs) {
          const client = await pool.connect();
          await client.query('BEGIN');
          for (const leg of legs) {
            await insertLeg(client, id, leg);
          }
          await client.query('COMMIT');
        }
        """,
    ),
    good(
        _WRITES,
        "javascript",
        """
        async function verify(db, id, code) {
          const { rows } = await db.query(
            'UPDATE signers SET attempts = attempts + 1 WHERE id = $1 AND attempts < $2', [id, MAX]);
          if (!matches(rows, code)) return false;
          await db.query('UPDATE signers SET attempts = 0 WHERE id = $1', [id]);
          return true;
        }
        """,
    ),
    bad(
        _WRITES,
        "javascript",
        """
        async function move(db, from, to, amount) {
          await db.query('UPDATE accounts SET balance = balance - $1 WHERE id = $2', [amount, from]);
          await db.query('UPDATE accounts SET balance = balance + $1 WHERE id = $2', [amount, to]);
        }
        """,
        3,
    ),
    good(
        _WRITES,
        "java",
        """
        class Hook {
            private final TransactionTemplate tx;
            void receive(Event event) {
                tx.executeWithoutResult(status -> store(event));
            }
            private void store(Event event) {
                jdbc.update("insert into events (id) values (?)", event.id());
                jdbc.update("update shipments set status = ? where id = ?", event.status(), event.shipment());
            }
        }
        """,
    ),
]
