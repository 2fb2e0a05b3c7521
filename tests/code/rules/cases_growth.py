"""Caches without a bound, and queues without a size, in more shapes."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CACHE = "unbounded-cache"
QUEUE = "unbounded-queue"

CASES = [
    bad(CACHE, "csharp", """
        public sealed class CourseSearch
        {
            private readonly MemoryCache _cache = new(new MemoryCacheOptions());
            public async Task<List<Hit>> FindAsync(string text, CancellationToken ct)
            {
                var key = Normalise(text);
                if (_cache.TryGetValue(key, out List<Hit>? cached)) return cached;
                var hits = await _db.Hits.Where(h => h.Text == key).Take(20).ToListAsync(ct);
                _cache.Set(key, hits);
                return hits;
            }
        }
        """, 9),
    good(CACHE, "csharp", """
        public sealed class CourseSearch
        {
            private readonly MemoryCache _cache = new(new MemoryCacheOptions { SizeLimit = 1000 });
            public async Task<List<Hit>> FindAsync(string text, CancellationToken ct)
            {
                var key = Normalise(text);
                if (_cache.TryGetValue(key, out List<Hit>? cached)) return cached;
                var hits = await _db.Hits.Where(h => h.Text == key).Take(20).ToListAsync(ct);
                _cache.Set(key, hits, new MemoryCacheEntryOptions { Size = 1 });
                return hits;
            }
        }
        """),
    bad(CACHE, "javascript", """
        export class EntitlementGate {
          #decisions = new Map();
          async decide(viewerId, titleId) {
            const key = `${viewerId}:${titleId}`;
            const known = this.#decisions.get(key);
            if (known && known.until > Date.now()) return known.decision;
            const decision = await this.#ask(viewerId, titleId);
            this.#decisions.set(key, { decision, until: Date.now() + 60_000 });
            return decision;
          }
        }
        """, 2),
    bad(CACHE, "typescript", """
        @Injectable()
        export class Prices {
          private readonly known = new Map<string, Price>();
          constructor(private readonly api: PriceApi) {}
          async of(sku: string): Promise<Price> {
            const held = this.known.get(sku);
            if (held) return held;
            const price = await this.api.price(sku);
            this.known.set(sku, price);
            return price;
          }
        }
        """, 3),
    bad(CACHE, "python", """
        class QuoteBook:
            def __init__(self) -> None:
                self._quotes: dict[str, Quote] = {}

            def add(self, rider_id: str, total: int) -> str:
                quote_id = uuid.uuid4().hex
                self._quotes[quote_id] = Quote(rider_id, total, time.monotonic() + QUOTE_TTL)
                return quote_id

            def take(self, quote_id: str) -> Quote | None:
                quote = self._quotes.get(quote_id)
                if quote is None:
                    return None
                del self._quotes[quote_id]
                return quote if quote.expires_at > time.monotonic() else None
        """, 3),
    good(CACHE, "python", """
        class QuoteBook:
            def __init__(self) -> None:
                self._quotes: dict[str, Quote] = {}

            def add(self, rider_id: str, total: int) -> str:
                now = time.monotonic()
                for old in [each for each, quote in self._quotes.items() if quote.expires_at < now]:
                    del self._quotes[old]
                quote_id = uuid.uuid4().hex
                self._quotes[quote_id] = Quote(rider_id, total, now + QUOTE_TTL)
                return quote_id
        """),
    bad(CACHE, "python", """
        class Geocoder:
            def __init__(self, client: httpx.AsyncClient) -> None:
                self._client = client
                self._found: dict[str, Point] = {}

            async def locate(self, street: str, city: str) -> Point:
                key = f"{street}|{city}"
                if key not in self._found:
                    answer = await self._client.get("/search", params={"q": f"{street}, {city}"}, timeout=3)
                    self._found[key] = Point(**answer.json())
                return self._found[key]
        """, 4),
    bad(CACHE, "kotlin", """
        class RateService(private val client: RateClient) {
            private val rates = ConcurrentHashMap<String, Rate>()
            suspend fun rate(accountId: String): Rate =
                rates[accountId] ?: client.fetch(accountId).also { rates[accountId] = it }
        }
        """, 2),
    good(CACHE, "go", """
        type Cache struct {
            payers  map[string]bool
            mu      sync.Mutex
            entries map[string]*Formulary
        }

        func (c *Cache) Tier(ctx context.Context, payer string) (*Formulary, error) {
            if !c.payers[payer] {
                return nil, fmt.Errorf("payer %q is not contracted", payer)
            }
            return c.refresh(ctx, payer)
        }

        func (c *Cache) refresh(ctx context.Context, payer string) (*Formulary, error) {
            f, err := c.fetch(ctx, payer)
            if err != nil {
                return nil, err
            }
            c.mu.Lock()
            defer c.mu.Unlock()
            c.entries[payer] = f
            return f, nil
        }
        """),
    bad(CACHE, "javascript", """
        const memoize = require('p-memoize');
        const profileOf = memoize(async (userId) => {
          const res = await fetch(`${BASE}/users/${userId}`, { signal: AbortSignal.timeout(2000) });
          return res.json();
        });
        """, 2),
    good(CACHE, "javascript", """
        const memoize = require('p-memoize');
        const profileOf = memoize(async (userId) => {
          const res = await fetch(`${BASE}/users/${userId}`, { signal: AbortSignal.timeout(2000) });
          return res.json();
        }, { cache: new QuickLRU({ maxSize: 1000 }) });
        """),
    bad(CACHE, "java", """
        import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
        @Configuration
        class Caches {
            @Bean
            CacheManager cacheManager() {
                return new ConcurrentMapCacheManager("quotes", "profiles");
            }
        }
        """, 6),
    bad(QUEUE, "csharp", """
        public sealed class Sink
        {
            private readonly Channel<Played> _events = Channel.CreateUnbounded<Played>(
                new UnboundedChannelOptions { SingleReader = true });
        }
        """, 3),
    good(QUEUE, "csharp", """
        public sealed class Sink
        {
            private readonly Channel<Played> _events = Channel.CreateBounded<Played>(
                new BoundedChannelOptions(1000) { SingleReader = true });
        }
        """),
    bad(QUEUE, "csharp", """
        public sealed class Mails
        {
            private readonly ActionBlock<Mail> _send = new ActionBlock<Mail>(
                m => SendAsync(m), new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 4 });
            private readonly BlockingCollection<Mail> _held = new(new ConcurrentQueue<Mail>());
        }
        """, 3, 5),
    good(QUEUE, "csharp", """
        public sealed class Mails
        {
            private readonly ActionBlock<Mail> _send = new ActionBlock<Mail>(
                m => SendAsync(m), new ExecutionDataflowBlockOptions { BoundedCapacity = 100 });
            private readonly BlockingCollection<Mail> _held = new(new ConcurrentQueue<Mail>(), 500);
        }
        """),
    bad(QUEUE, "java", """
        import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
        @Configuration
        class Pools {
            @Bean
            ThreadPoolTaskExecutor thumbnails() {
                var executor = new ThreadPoolTaskExecutor();
                executor.setCorePoolSize(4);
                executor.setMaxPoolSize(16);
                return executor;
            }
        }
        """, 6),
    good(QUEUE, "java", """
        import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
        @Configuration
        class Pools {
            @Bean
            ThreadPoolTaskExecutor thumbnails() {
                var executor = new ThreadPoolTaskExecutor();
                executor.setCorePoolSize(4);
                executor.setMaxPoolSize(16);
                executor.setQueueCapacity(200);
                return executor;
            }
        }
        """),
    bad(QUEUE, "kotlin", """
        import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor
        @Configuration
        class Pools {
            @Bean
            fun renders() = ThreadPoolTaskExecutor().apply {
                corePoolSize = 4
                maxPoolSize = 8
            }
        }
        """, 5),
    good(QUEUE, "kotlin", """
        import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor
        @Configuration
        class Pools {
            @Bean
            fun renders() = ThreadPoolTaskExecutor().apply {
                corePoolSize = 4
                queueCapacity = 100
            }
        }
        """),
    bad(QUEUE, "kotlin", """
        class Feed {
            private val events = MutableSharedFlow<Event>(extraBufferCapacity = Int.MAX_VALUE)
            private val jobs = Channel<Job>(capacity = Channel.UNLIMITED)
        }
        """, 2, 3),
    bad(QUEUE, "java", """
        class Sinks1 {
            private final Sinks.Many<Event> events = Sinks.many().unicast().onBackpressureBuffer();
        }
        """, 2),
    good(QUEUE, "java", """
        class Sinks1 {
            private final Sinks.Many<Event> events = Sinks.many().multicast().onBackpressureBuffer(256);
        }
        """),
    bad(QUEUE, "java", """
        import java.util.concurrent.*;
        class Audit {
            private final ExecutorService pool;
            Audit() {
                this.pool = Executors.newFixedThreadPool(4);
            }
            void record(Event event) {
                CompletableFuture.runAsync(() -> store.save(event), pool);
            }
        }
        """, 5),
    bad(QUEUE, "python", """
        from concurrent.futures import ThreadPoolExecutor
        from fastapi import FastAPI
        app = FastAPI()
        pool = ThreadPoolExecutor(max_workers=4)

        @app.post("/reports/{report_id}")
        def order(report_id: str) -> dict:
            pool.submit(render, report_id)
            return {"state": "queued"}
        """, 4),
    good(QUEUE, "python", """
        from concurrent.futures import ThreadPoolExecutor
        from fastapi import FastAPI
        app = FastAPI()
        pool = ThreadPoolExecutor(max_workers=4)

        @app.post("/reports/{report_id}")
        def order(report_id: str) -> bytes:
            return pool.submit(render, report_id).result(timeout=10)
        """),
    bad(QUEUE, "typescript", """
        import PQueue from 'p-queue';
        import express from 'express';
        const app = express();
        const queue = new PQueue({ concurrency: 4 });
        app.post('/renders', (req, res) => {
          const { id } = req.body;
          void queue.add(() => render(id));
          res.status(202).end();
        });
        """, 4),
    good(QUEUE, "typescript", """
        import PQueue from 'p-queue';
        import express from 'express';
        const app = express();
        const queue = new PQueue({ concurrency: 4 });
        app.post('/renders', (req, res) => {
          const { id } = req.body;
          if (queue.size > 100) return res.status(503).end();
          void queue.add(() => render(id));
          res.status(202).end();
        });
        """),
]  # fmt: skip
