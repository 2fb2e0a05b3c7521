"""More shapes: rows and tasks, clients, queues, caches and files, as services write them."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad("unbounded-cache", "kotlin", """
        class Fares(private val api: FareApi) {
            private val mutex = Mutex()
            private val quotes = mutableMapOf<String, Quote>()
            suspend fun quote(from: String, to: String): Quote = mutex.withLock {
                val key = "$from-$to"
                quotes[key]?.takeIf { it.validUntil > now() } ?: api.quote(from, to).also { quotes[key] = it }
            }
        }
        """, 3),
    bad("unbounded-cache", "python", """
        from async_lru import alru_cache
        @alru_cache(maxsize=None)
        async def profile(user_id: str) -> dict:
            return await fetch(user_id)
        """, 2),
    bad("unbounded-cache", "javascript", """
        const sessions = new Map();
        app.post('/upload/start', (req, res) => {
          const id = crypto.randomUUID();
          sessions.set(id, { parts: [], createdAt: Date.now() });
          res.json({ id });
        });
        app.post('/upload/:id/finish', (req, res) => {
          const session = sessions.get(req.params.id);
          if (!session) return res.sendStatus(404);
          sessions.delete(req.params.id);
          res.json({ parts: session.parts.length });
        });
        """, 1),
    good("unbounded-cache", "typescript", """
        export class Gate {
          private readonly held = new Map<string, { until: number; ok: boolean }>();
          constructor() {
            setInterval(() => {
              const now = Date.now();
              for (const [key, entry] of this.held) if (entry.until < now) this.held.delete(key);
            }, 60_000).unref();
          }
          async check(userId: string): Promise<boolean> {
            const entry = this.held.get(userId);
            if (entry && entry.until > Date.now()) return entry.ok;
            const ok = await this.ask(userId);
            this.held.set(userId, { ok, until: Date.now() + 60_000 });
            return ok;
          }
        }
        """),
    bad("unbounded-queue", "python", """
        from collections import deque
        class Sink:
            def __init__(self) -> None:
                self._pending = deque()
            def record(self, event) -> None:
                self._pending.append(event)
            async def run(self) -> None:
                while True:
                    while self._pending:
                        await self._store(self._pending.popleft())
                    await asyncio.sleep(1)
        """, 4),
    bad("unbounded-queue", "csharp", """
        public sealed class Sink : BackgroundService
        {
            private readonly ConcurrentQueue<Played> _pending = new();
            public void Record(Played played) => _pending.Enqueue(played);
            protected override async Task ExecuteAsync(CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    while (_pending.TryDequeue(out var played)) await _store.WriteAsync(played, ct);
                    await Task.Delay(1000, ct);
                }
            }
        }
        """, 3),
    bad("unbounded-queue", "typescript", """
        import PQueue from 'p-queue';
        @Injectable()
        export class Renders {
          private readonly queue = new PQueue({ concurrency: 2 });
          enqueue(job: RenderJob): void {
            void this.queue.add(() => this.render(job));
          }
        }
        """, 4),
    bad("unbounded-fan-out", "rust", """
        use tokio::task::JoinSet;
        pub async fn export(pool: PgPool, api: Arc<Api>) -> anyhow::Result<()> {
            let slots = Arc::new(Semaphore::new(16));
            let mut rows = sqlx::query_as::<_, Record>("SELECT * FROM records").fetch(&pool);
            let mut tasks = JoinSet::new();
            while let Some(row) = rows.try_next().await? {
                let (slots, api) = (slots.clone(), api.clone());
                tasks.spawn(async move {
                    let _permit = slots.acquire_owned().await?;
                    api.send(row).await
                });
            }
            while let Some(done) = tasks.join_next().await { done??; }
            Ok(())
        }
        """, 8),
    good("unbounded-fan-out", "rust", """
        use tokio::task::JoinSet;
        pub async fn export(pool: PgPool, api: Arc<Api>) -> anyhow::Result<()> {
            let slots = Arc::new(Semaphore::new(16));
            let mut rows = sqlx::query_as::<_, Record>("SELECT * FROM records").fetch(&pool);
            let mut tasks = JoinSet::new();
            while let Some(row) = rows.try_next().await? {
                let permit = slots.clone().acquire_owned().await?;
                let api = api.clone();
                tasks.spawn(async move {
                    let _permit = permit;
                    api.send(row).await
                });
            }
            while let Some(done) = tasks.join_next().await { done??; }
            Ok(())
        }
        """),
    bad("unbounded-fan-out", "go", """
        package notify
        func (n *Notifier) push(ctx context.Context, id string) error {
            slots := make(chan struct{}, 8)
            slots <- struct{}{}
            defer func() { <-slots }()
            return n.client.Push(ctx, id)
        }
        """, 3),
    bad("unbounded-fan-out", "java", """
        class Refresh {
            List<Item> load(List<String> skus) throws Exception {
                try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
                    var all = skus.stream().map(sku -> pool.submit(() -> client.fetch(sku))).toList();
                    List<Item> out = new ArrayList<>();
                    for (var f : all) out.add(f.get());
                    return out;
                }
            }
        }
        """, 4),
    bad("unbounded-fan-out", "csharp", """
        public class Notifier
        {
            public async Task AnnounceAsync(string channel, CancellationToken ct)
            {
                var tasks = new List<Task>();
                await foreach (var subscriber in _subscribers.OfChannelAsync(channel, ct))
                {
                    tasks.Add(_push.SendAsync(subscriber, ct));
                }
                await Task.WhenAll(tasks);
            }
        }
        """, 10),
    bad("unbounded-fan-out", "typescript", """
        export async function announce(subscribers: AsyncIterable<Subscriber>, push: PushClient) {
          const all: Promise<void>[] = [];
          for await (const subscriber of subscribers) {
            all.push(push.send(subscriber.token));
          }
          await Promise.all(all);
        }
        """, 6),
    bad("file-written-in-place", "typescript", """
        import { writeFile } from 'node:fs/promises';
        export class IndexPublisher {
          private readonly entries = new Map<string, Entry>();
          constructor(private readonly target: string) {}
          async publish(entry: Entry): Promise<void> {
            this.entries.set(entry.id, entry);
            await writeFile(this.target, JSON.stringify([...this.entries.values()]));
          }
        }
        """, 7),
    bad("file-written-in-place", "go", """
        package metrics
        // Writer publishes gauges for the node exporter's textfile collector.
        type Writer struct { path string; values map[string]float64 }
        func (w *Writer) Set(name string, v float64) error {
            w.values[name] = v
            f, err := os.Create(w.path)
            if err != nil { return err }
            defer f.Close()
            for n, v := range w.values {
                if _, err := fmt.Fprintf(f, "%s %g\\n", n, v); err != nil { return err }
            }
            return f.Sync()
        }
        """, 6),
    bad("file-written-in-place", "go", """
        package bank
        // Export writes payment files into the directory that the bank's SFTP agent polls.
        func Export(dir string, batch Batch) error {
            f, err := os.Create(filepath.Join(dir, batch.ID+".xml"))
            if err != nil { return err }
            defer f.Close()
            if err := xml.NewEncoder(f).Encode(batch); err != nil { return err }
            return f.Sync()
        }
        """, 4),
    bad("file-written-in-place", "java", """
        /** Drops label files into the folder that the print server watches. */
        class LabelDrop {
            private final Path folder;
            LabelDrop(Path folder) { this.folder = folder; }
            void print(Label label) throws IOException {
                Path target = folder.resolve(label.id() + ".zpl");
                Files.writeString(target, label.zpl());
            }
        }
        """, 7),
    bad("file-written-in-place", "csharp", """
        public sealed class RouteTable
        {
            private readonly string _file;
            private readonly Dictionary<string, Route> _routes = new();
            public RouteTable(string folder) { _file = Path.Combine(folder, "routes.json"); }
            public async Task AddAsync(Route route, CancellationToken ct)
            {
                _routes[route.Id] = route;
                await File.WriteAllTextAsync(_file, JsonSerializer.Serialize(_routes), ct);
            }
        }
        """, 9),
    bad("query-per-object", "python", """
        from ariadne import ObjectType
        trip = ObjectType("Trip")
        @trip.field("driver")
        async def resolve_driver(trip, info):
            return await info.context["drivers"].get(trip["driver_id"])
        """, 5),
    bad("query-per-object", "typescript", """
        import type { Resolvers } from './generated';
        export const tripResolvers: Resolvers['Trip'] = {
          driver: (trip, _args, { dataSources }) => dataSources.driverApi.getDriver(trip.driverId),
        };
        """, 3),
    bad("query-per-object", "java", """
        @Controller
        class TripController {
            private final DriverService drivers;
            TripController(DriverService drivers) { this.drivers = drivers; }
            @SchemaMapping
            Driver driver(Trip trip) {
                return drivers.byId(trip.driverId());
            }
        }
        """, 7),
    bad("call-per-item", "go", """
        package store
        import ("context"; "gorm.io/gorm")
        type Repo struct { db *gorm.DB }
        func (r *Repo) Board(ctx context.Context) ([]Row, error) {
            var teams []Team
            if err := r.db.Where("active = ?", true).Limit(200).Find(&teams).Error; err != nil {
                return nil, err
            }
            out := make([]Row, 0, len(teams))
            for _, t := range teams {
                var members []Member
                if err := r.db.WithContext(ctx).Where("team_id = ?", t.ID).Find(&members).Error; err != nil {
                    return nil, err
                }
                out = append(out, Row{t, members})
            }
            return out, nil
        }
        """, 12),
    bad("call-per-item", "go", """
        package store
        import ("context"; "database/sql")
        type Store struct { db *sql.DB }
        func (s *Store) Orders(ctx context.Context, customer int64) ([]Order, error) {
            rows, err := s.db.QueryContext(ctx, "SELECT id FROM orders WHERE customer_id = $1", customer)
            if err != nil { return nil, err }
            defer rows.Close()
            var out []Order
            for rows.Next() {
                var o Order
                if err := rows.Scan(&o.ID, &o.Total); err != nil { return nil, err }
                out = append(out, o)
            }
            if err := rows.Err(); err != nil { return nil, err }
            for i := range out {
                lines, err := s.lines(ctx, out[i].ID)
                if err != nil { return nil, err }
                out[i].Lines = lines
            }
            return out, nil
        }
        func (s *Store) lines(ctx context.Context, id int64) ([]Line, error) {
            rows, err := s.db.QueryContext(ctx, "SELECT sku, qty FROM order_lines WHERE order_id = $1", id)
            if err != nil { return nil, err }
            defer rows.Close()
            var out []Line
            for rows.Next() {
                var l Line
                if err := rows.Scan(&l.SKU, &l.Qty); err != nil { return nil, err }
                out = append(out, l)
            }
            return out, rows.Err()
        }
        """, 16),
    bad("http-client-per-call", "python", """
        from zeep import Client
        class Payer:
            def check(self, member_id: str) -> bool:
                client = Client(WSDL)
                return client.service.Check(member_id).active
        """, 4),
    bad("http-client-per-call", "java", """
        @Service
        class Rates {
            Rate rate(String currency) {
                RestTemplate rest = new RestTemplateBuilder().readTimeout(LIMIT).build();
                return rest.getForObject(base + "/rates/" + currency, Rate.class);
            }
        }
        """, 4),
    bad("http-client-per-call", "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.cio.CIO
        class Geo(private val base: String) {
            suspend fun find(q: String): Point =
                HttpClient(CIO) { install(HttpTimeout) { requestTimeoutMillis = 3000 } }.use { client ->
                    client.get("$base/search") { parameter("q", q) }.body()
                }
        }
        """, 5),
    bad("http-client-per-call", "csharp", """
        public class Rates
        {
            public async Task<Rate> GetAsync(string currency, CancellationToken ct)
            {
                var client = new RestClient(new RestClientOptions(_base));
                return await client.GetAsync<Rate>(new RestRequest($"rates/{currency}"), ct);
            }
        }
        """, 5),
    bad("connection-per-call", "go", """
        package files
        import ("github.com/aws/aws-sdk-go-v2/config"; "github.com/aws/aws-sdk-go-v2/service/s3")
        func (s *Service) Put(ctx context.Context, key string, r io.Reader) error {
            cfg, err := config.LoadDefaultConfig(ctx)
            if err != nil { return err }
            client := s3.NewFromConfig(cfg)
            _, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: r})
            return err
        }
        """, 6),
    bad("connection-per-call", "javascript", """
        const { Pool } = require('pg');
        const getPool = () => new Pool({ connectionString: URL, max: 5 });
        async function balance(id) {
          const { rows } = await getPool().query('SELECT balance FROM accounts WHERE id = $1', [id]);
          return rows[0].balance;
        }
        """, 4),
    bad("connection-per-call", "python", """
        from confluent_kafka import Producer
        def publish(event: dict) -> None:
            producer = Producer({"bootstrap.servers": BROKERS})
            producer.produce("events", json.dumps(event))
            producer.flush(5)
        """, 3),
    bad("pool-per-call", "java", """
        import java.util.concurrent.*;
        @Service
        class Quotes {
            List<Quote> quotes(String from) throws Exception {
                ExecutorService pool = Executors.newFixedThreadPool(8);
                try {
                    return collect(pool.invokeAll(tasks(from), 2, TimeUnit.SECONDS));
                } finally {
                    pool.shutdown();
                }
            }
        }
        """, 5),
    bad("unbounded-fan-out", "kotlin", """
        class Notifier(private val push: PushClient, private val scope: CoroutineScope) {
            suspend fun announce(subscribers: Flow<Subscriber>) {
                subscribers.collect { subscriber ->
                    scope.launch { push.send(subscriber.token) }
                }
            }
        }
        """, 4),
    good("unbounded-fan-out", "kotlin", """
        class Notifier(private val push: PushClient, private val scope: CoroutineScope) {
            suspend fun announce(subscribers: Flow<Subscriber>) {
                subscribers.collect { subscriber ->
                    slots.acquire()
                    scope.launch { try { push.send(subscriber.token) } finally { slots.release() } }
                }
            }
        }
        """),
    good("unbounded-cache", "python", """
        class OrderLoader:
            def __init__(self, session) -> None:
                self._session = session
                self._orders: dict[int, Order] = {}

            async def load(self, order_id: int) -> Order:
                if order_id not in self._orders:
                    self._orders[order_id] = await self._session.get(Order, order_id)
                return self._orders[order_id]
        """),
    good("http-client-per-call", "python", """
        from opensearchpy import OpenSearch
        class Command(BaseCommand):
            def handle(self, *args, **options) -> None:
                client = OpenSearch(hosts=HOSTS, timeout=30)
                client.indices.refresh(index="assets")
        """),
]  # fmt: skip
