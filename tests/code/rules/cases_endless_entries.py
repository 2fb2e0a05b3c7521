"""Caches whose keys clients choose, entries without an age, and jobs that hold a share of a table."""

# ruff: noqa: E101, E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CACHE = "unbounded-cache"
_TABLE = "whole-table-loaded"

CASES = [
    bad(
        _CACHE,
        "csharp",
        """
        public sealed class Renderer
        {
            private static readonly ConcurrentDictionary<string, Template> Compiled = new();
            public string Render(string source) => Compiled.GetOrAdd(source, Template.Parse).Render();
        }
        """,
        3,
    ),
    good(
        _CACHE,
        "csharp",
        """
        public sealed class Renderer
        {
            private static readonly ConcurrentDictionary<string, Template> Compiled = new();
            public string Render(string viewName) => Compiled.GetOrAdd(viewName, Load).Render();
        }
        """,
    ),
    bad(
        _CACHE,
        "java",
        """
        import org.springframework.web.bind.annotation.*;
        @RestController
        public class SearchController {
            private static final Map<String, Pattern> PATTERNS = new ConcurrentHashMap<>();
            @GetMapping("/search")
            public List<Article> search(@RequestParam String q) {
                Pattern pattern = PATTERNS.computeIfAbsent(q, it -> Pattern.compile(Pattern.quote(it)));
                return index.matching(pattern, 50);
            }
        }
        """,
        4,
    ),
    bad(
        _CACHE,
        "javascript",
        """
        const router = require('express').Router();
        const thumbnails = {};
        router.get('/thumb/:id', async (req, res) => {
          const { id } = req.params;
          const key = `${id}@${Number(req.query.w)}`;
          if (!thumbnails[key]) {
            thumbnails[key] = await resize(id);
          }
          res.send(thumbnails[key]);
        });
        """,
        2,
    ),
    bad(
        _CACHE,
        "csharp",
        """
        public sealed class LastSeenMiddleware
        {
            private readonly ConcurrentDictionary<string, DateTimeOffset> _lastSeen = new();
            public async Task InvokeAsync(HttpContext context)
            {
                var key = context.Connection.RemoteIpAddress.ToString();
                _lastSeen[key] = DateTimeOffset.UtcNow;
                await _next(context);
            }
        }
        """,
        3,
    ),
    bad(
        _CACHE,
        "go",
        """
        package geo
        import ("context"; "sync")
        type Locator struct {
        	mu    sync.RWMutex
        	known map[string]Location
        }
        func (l *Locator) Locate(ctx context.Context, addr string) (Location, error) {
        	l.mu.Lock()
        	defer l.mu.Unlock()
        	if loc, ok := l.known[addr]; ok {
        		return loc, nil
        	}
        	loc, err := l.lookup(ctx, addr)
        	if err == nil {
        		l.known[addr] = loc
        	}
        	return loc, err
        }
        """,
        5,
    ),
    bad(
        _CACHE,
        "python",
        """
        import redis.asyncio as redis
        class Profiles:
            def __init__(self, client: redis.Redis, db):
                self._redis = client
                self._db = db

            async def load(self, user_id):
                key = f"profile:{user_id}"
                cached = await self._redis.get(key)
                if cached is not None:
                    return cached
                body = await self._db.load(user_id)
                await self._redis.set(key, body)
                return body
        """,
        13,
    ),
    good(
        _CACHE,
        "python",
        """
        import redis
        class Profiles:
            def __init__(self, client: redis.Redis, db):
                self._redis = client

            def load(self, user_id):
                key = f"profile:{user_id}"
                cached = self._redis.get(key)
                if cached is None:
                    cached = self._db.load(user_id)
                    self._redis.set(key, cached, ex=300)
                return cached

            def advance(self, stream_id, step):
                key = f"cursor:{stream_id}"
                current = int(self._redis.get(key) or 0)
                self._redis.set(key, current + step)
        """,
    ),
    bad(
        _CACHE,
        "go",
        """
        package cart
        import (
        	"context"
        	"github.com/redis/go-redis/v9"
        )
        type Prices struct {
        	rdb *redis.Client
        }
        func (p *Prices) Price(ctx context.Context, sku string) (string, error) {
        	key := "price:" + sku
        	raw, err := p.rdb.Get(ctx, key).Result()
        	if err == nil {
        		return raw, nil
        	}
        	price, err := p.api.Price(ctx, sku)
        	if err != nil {
        		return "", err
        	}
        	return price, p.rdb.Set(ctx, key, price, 0).Err()
        }
        """,
        19,
    ),
    bad(
        _CACHE,
        "csharp",
        """
        public sealed class Quotes(IMemoryCache cache, IQuoteClient client)
        {
            public async Task<Quote> GetAsync(string id)
            {
                var key = $"quote:{id}";
                if (cache.TryGetValue(key, out Quote? found)) return found!;
                var quote = await client.LoadAsync(id);
                cache.Set(key, quote);
                return quote;
            }
        }
        """,
        8,
    ),
    bad(
        _CACHE,
        "kotlin",
        """
        import com.github.benmanes.caffeine.cache.Caffeine
        class Catalog {
            private val products = Caffeine.newBuilder().recordStats().build<String, Product>()
        }
        """,
        3,
    ),
    good(
        _CACHE,
        "kotlin",
        """
        import com.github.benmanes.caffeine.cache.Caffeine
        class Catalog {
            private val products = Caffeine.newBuilder().maximumSize(10_000).build<String, Product>()
        }
        """,
    ),
    bad(
        _TABLE,
        "java",
        """
        import org.springframework.jdbc.core.JdbcTemplate;
        class DormantJob {
            private static final String DORMANT = "SELECT id FROM accounts WHERE last_login_at < ? ORDER BY id";
            private final JdbcTemplate jdbc;
            @Scheduled(cron = "0 30 2 * * *")
            void remind() {
                List<Long> ids = jdbc.queryForList(DORMANT, Long.class, limit());
                outbox.enqueueAll(ids);
            }
        }
        """,
        7,
    ),
    good(
        _TABLE,
        "java",
        """
        import org.springframework.jdbc.core.JdbcTemplate;
        class DormantJob {
            private final JdbcTemplate jdbc;
            @Scheduled(cron = "0 30 2 * * *")
            void remind() {
                List<Long> ids = jdbc.queryForList("SELECT id FROM accounts WHERE seen < ? LIMIT 500", Long.class, x);
                outbox.enqueueAll(ids);
            }
            void export(long owner) {
                rows(jdbc.queryForList("SELECT id FROM accounts WHERE seen < ? AND owner_id = ?", seen, owner));
            }
        }
        """,
    ),
    bad(
        _TABLE,
        "python",
        """
        from sqlalchemy import select
        class InactiveUsersTask:
            def run(self):
                with self._sessions() as session:
                    users = session.scalars(select(User).where(User.last_seen < cutoff())).all()
                    self.enqueue(users)
        """,
        5,
    ),
    bad(
        _TABLE,
        "csharp",
        """
        public sealed class ExpireCouponsJob(ShopContext db)
        {
            public async Task RunAsync(CancellationToken ct)
            {
                var cutoff = DateTime.UtcNow;
                var expired = await db.Coupons.Where(c => c.ExpiresAt < cutoff).ToListAsync(ct);
                queue.AddRange(expired);
            }
        }
        """,
        6,
    ),
    bad(
        _TABLE,
        "kotlin",
        """
        class ArchiveJob(private val orderRepository: OrderRepository) {
            fun run() {
                val old = orderRepository.findByCreatedAtBefore(lastYear())
                archive.addAll(old)
            }
        }
        """,
        3,
    ),
    bad(
        _TABLE,
        "javascript",
        """
        async function purgeAbandoned(db) {
          const carts = await db.collection('carts').find({ updatedAt: { $lt: cutoff() } }).toArray();
          return release(carts);
        }
        """,
        2,
    ),
    good(
        _TABLE,
        "javascript",
        """
        async function purgeAbandoned(db) {
          const carts = await db.collection('carts').find({ updatedAt: { $lt: cutoff() } }).limit(500).toArray();
          const own = await db.collection('carts').find({ userId, updatedAt: { $lt: cutoff() } }).toArray();
          return release(carts, own);
        }
        """,
    ),
]
