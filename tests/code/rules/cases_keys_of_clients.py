"""Maps whose keys come from requests through functions of the text: limiters, locks, memos."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CACHE = "unbounded-cache"

CASES = [
    bad(
        _CACHE,
        "go",
        """
        package throttle
        type Throttle struct {
            mu    sync.Mutex
            byKey map[string]*rate.Limiter
        }
        func (t *Throttle) limiter(key string) *rate.Limiter {
            t.mu.Lock()
            defer t.mu.Unlock()
            l, ok := t.byKey[key]
            if !ok {
                l = rate.NewLimiter(1, 5)
                t.byKey[key] = l
            }
            return l
        }
        func (t *Throttle) Middleware() gin.HandlerFunc {
            return func(c *gin.Context) {
                if !t.limiter(c.GetHeader("X-Api-Key")).Allow() {
                    c.AbortWithStatus(429)
                }
            }
        }
        """,
        4,
    ),
    bad(
        _CACHE,
        "javascript",
        """
        const Fastify = require('fastify');
        function memoize(fn, keyOf) {
          const seen = new Map();
          return (...args) => {
            const key = keyOf(...args);
            if (!seen.has(key)) {
              const pending = fn(...args).catch((err) => {
                seen.delete(key);
                throw err;
              });
              seen.set(key, pending);
            }
            return seen.get(key);
          };
        }
        const plan = memoize(shortestPath, (from, to) => `${from}|${to}`);
        const app = Fastify();
        app.get('/routes', async (request) => plan(request.query.from, request.query.to));
        """,
        3,
    ),
    good(
        _CACHE,
        "javascript",
        """
        const Fastify = require('fastify');
        function memoize(fn, keyOf) {
          const seen = new Map();
          return (...args) => {
            const key = keyOf(...args);
            if (!seen.has(key)) seen.set(key, fn(...args));
            return seen.get(key);
          };
        }
        const load = memoize(readTemplate, (name) => name);
        const app = Fastify();
        app.get('/', async () => load('index'));
        """,
    ),
    bad(
        _CACHE,
        "rust",
        """
        pub struct QuotaLayer {
            windows: Arc<DashMap<IpAddr, Window>>,
        }
        impl QuotaLayer {
            fn admit(&self, client: IpAddr) -> bool {
                let window = self.windows.entry(client).or_insert_with(fresh);
                window.used.fetch_add(1, Ordering::Relaxed) < PER_WINDOW
            }
        }
        """,
        2,
    ),
    bad(
        _CACHE,
        "python",
        """
        class ParcelLocks:
            def __init__(self) -> None:
                self._locks: dict[str, asyncio.Lock] = {}

            @asynccontextmanager
            async def hold(self, tracking: str):
                lock = self._locks.setdefault(tracking, asyncio.Lock())
                async with lock:
                    yield

        async def post_scan(request: web.Request) -> web.Response:
            event = ScanEvent.model_validate_json(await request.read())
            async with request.app[LOCKS].hold(event.tracking):
                await store(event)
            return web.Response(status=202)
        """,
        3,
    ),
    good(
        _CACHE,
        "python",
        """
        class ParcelLocks:
            def __init__(self) -> None:
                self._locks = WeakValueDictionary()

            def of(self, tracking: str):
                return self._locks.setdefault(tracking, asyncio.Lock())

        class TenantTokens:
            def __init__(self, url: str) -> None:
                self._tokens: dict[str, Token] = {}

            def get(self, tenant: str) -> str:
                token = self._tokens.get(tenant)
                if token is None or not token.fresh:
                    token = self._http.post(self._url, data={"client_id": tenant}, timeout=3)
                    self._tokens[tenant] = token
                return token
        """,
    ),
    bad(
        _CACHE,
        "typescript",
        """
        const vectors = new Map<string, Cached>();
        async function embed(body: EmbedBody): Promise<number[]> {
          const key = cacheKey(body);
          const hit = vectors.get(key);
          if (hit && Date.now() - hit.storedAt < TTL_MS) return hit.vector;
          const answer = await openai.embeddings.create({ model: body.model, input: body.text });
          const vector = answer.data[0].embedding;
          vectors.set(key, { vector, storedAt: Date.now() });
          return vector;
        }
        """,
        1,
    ),
    bad(
        _CACHE,
        "csharp",
        """
        public sealed class Throttle
        {
            private readonly ConcurrentDictionary<string, Bucket> _buckets = new();
            public bool Allow(string client) => _buckets.GetOrAdd(client, _ => new Bucket(10)).TryTake();
        }
        [ApiController]
        public sealed class OrdersController(Throttle throttle) : ControllerBase
        {
            [HttpGet("orders")]
            public IActionResult List() => throttle.Allow(Request.Headers["X-Key"]) ? Ok() : StatusCode(429);
        }
        """,
        3,
    ),
    good(
        _CACHE,
        "csharp",
        """
        public sealed record UsageKey(string Endpoint, ApiPlan Plan);
        public sealed class UsageCounter
        {
            private readonly ConcurrentDictionary<UsageKey, long> _counts = new();
            public void Count(UsageKey key) => _counts.AddOrUpdate(key, 1, static (_, n) => n + 1);
        }
        public sealed class UsageMiddleware(RequestDelegate next, UsageCounter counter)
        {
            public Task InvokeAsync(HttpContext context)
            {
                var endpoint = context.GetEndpoint()?.DisplayName;
                counter.Count(new UsageKey(endpoint, plan));
                return next(context);
            }
        }
        """,
    ),
]
