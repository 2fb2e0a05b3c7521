"""Keys that are asked for and then taken."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "checked-then-inserted"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import redis
        class Dedup:
            def __init__(self, client: redis.Redis):
                self._redis = client
            def first_time(self, event_id: str) -> bool:
                key = f"seen:{event_id}"
                if self._redis.exists(key):
                    return False
                self._redis.setex(key, 3600, "1")
                return True
        """,
        7,
    ),
    good(
        _RULE,
        "python",
        """
        import redis
        class Dedup:
            def __init__(self, client: redis.Redis):
                self._redis = client
            def first_time(self, event_id: str) -> bool:
                key = f"seen:{event_id}"
                return bool(self._redis.set(key, "1", nx=True, ex=3600))
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import redis.asyncio as aioredis
        from fastapi import HTTPException
        async def reserve(r: aioredis.Redis, coupon: str, user: str) -> None:
            owner = await r.get(f"coupon:{coupon}")
            if owner is not None:
                raise HTTPException(409, "taken")
            await r.set(f"coupon:{coupon}", user, ex=900)
        """,
        4,
    ),
    good(
        _RULE,
        "python",
        """
        import redis.asyncio as aioredis
        from fastapi import HTTPException
        async def reserve(r: aioredis.Redis, coupon: str, user: str) -> None:
            ok = await r.set(f"coupon:{coupon}", user, ex=900, nx=True)
            if not ok:
                raise HTTPException(409, "taken")
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import redis, json
        r = redis.Redis(socket_timeout=2)
        def profile(user_id, load):
            return 1
        def noop(): pass
        def bad_claim(order_id, worker):
            if r.get("claim:" + order_id):
                return False
            r.set("claim:" + order_id, worker, ex=60)
            return True
        """,
        7,
    ),
    good(
        _RULE,
        "python",
        """
        import redis, json
        r = redis.Redis(socket_timeout=2)
        def profile(user_id, load):
            raw = r.get("profile:" + user_id)
            if raw is not None:
                return json.loads(raw)
            value = load(user_id)
            r.set("profile:" + user_id, json.dumps(value), ex=60)
            return value
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import Redis from "ioredis";
        export class IdempotencyGuard {
          constructor(private readonly redis: Redis) {}
          async claim(key: string): Promise<boolean> {
            const seen = await this.redis.get(`idem:${key}`);
            if (seen) {
              return false;
            }
            await this.redis.set(`idem:${key}`, "1", "EX", 86400);
            return true;
          }
        }
        """,
        5,
    ),
    good(
        _RULE,
        "typescript",
        """
        import Redis from "ioredis";
        export class IdempotencyGuard {
          constructor(private readonly redis: Redis) {}
          async claim(key: string): Promise<boolean> {
            const set = await this.redis.set(`idem:${key}`, "1", "EX", 86400, "NX");
            return set === "OK";
          }
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import org.springframework.data.redis.core.StringRedisTemplate;
        import org.springframework.stereotype.Service;
        import java.time.Duration;
        @Service
        public class WebhookDeduplicator {
            private final StringRedisTemplate redis;
            public WebhookDeduplicator(StringRedisTemplate redis) { this.redis = redis; }
            public boolean firstDelivery(String id) {
                String key = "webhook:" + id;
                if (Boolean.TRUE.equals(redis.hasKey(key))) {
                    return false;
                }
                redis.opsForValue().set(key, "1", Duration.ofDays(1));
                return true;
            }
        }
        """,
        11,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import org.springframework.data.redis.core.StringRedisTemplate;
        import org.springframework.stereotype.Service;
        import java.time.Duration;
        @Service
        public class WebhookDeduplicator {
            private final StringRedisTemplate redis;
            public WebhookDeduplicator(StringRedisTemplate redis) { this.redis = redis; }
            public boolean firstDelivery(String id) {
                String key = "webhook:" + id;
                return Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, "1", Duration.ofDays(1)));
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        package a
        import io.lettuce.core.api.sync.RedisCommands
        import org.springframework.data.redis.core.StringRedisTemplate
        class OtpThrottle(private val commands: RedisCommands<String, String>) {
            fun mayResend(phone: String): Boolean {
                val key = "otp:$phone"
                if (commands.exists(key) > 0) return false
                commands.setex(key, 60, "1")
                return true
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "kotlin",
        """
        package a
        import io.lettuce.core.SetArgs
        import io.lettuce.core.api.sync.RedisCommands
        class OtpThrottle(private val commands: RedisCommands<String, String>) {
            fun mayResend(phone: String): Boolean {
                val key = "otp:$phone"
                return commands.set(key, "1", SetArgs().nx().ex(60)) != null
            }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import (
            "context"
            "errors"
            "time"
            "github.com/redis/go-redis/v9"
        )
        type Guard struct { client *redis.Client }
        func (g *Guard) Begin(ctx context.Context, id string) (bool, error) {
            _, err := g.client.Get(ctx, "job:"+id).Result()
            if err == nil {
                return false, nil
            }
            if !errors.Is(err, redis.Nil) {
                return false, err
            }
            if err := g.client.Set(ctx, "job:"+id, "running", time.Hour).Err(); err != nil {
                return false, err
            }
            return true, nil
        }
        """,
        10,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import (
            "context"
            "time"
            "github.com/redis/go-redis/v9"
        )
        type Guard struct { client *redis.Client }
        func (g *Guard) Begin(ctx context.Context, id string) (bool, error) {
            return g.client.SetNX(ctx, "job:"+id, "running", time.Hour).Result()
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using Microsoft.Extensions.Caching.Distributed;
        public class ReplayGuard(IDistributedCache cache)
        {
            public async Task<bool> AcceptAsync(string nonce, CancellationToken ct)
            {
                var seen = await cache.GetStringAsync(nonce, ct);
                if (seen is not null)
                {
                    return false;
                }
                await cache.SetStringAsync(nonce, "1", ct);
                return true;
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "csharp",
        """
        using StackExchange.Redis;
        public class ReplayGuard(IDatabase db)
        {
            public async Task<bool> AcceptAsync(string nonce, CancellationToken ct)
            {
                return await db.StringSetAsync(nonce, "1", TimeSpan.FromMinutes(5), When.NotExists);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import Redis from "ioredis";
        export class Payments {
          constructor(private readonly redis: Redis, private readonly gateway: Gateway) {}
          private async isProcessed(id: string): Promise<boolean> {
            return (await this.redis.exists(`paid:${id}`)) === 1;
          }
          private async markProcessed(id: string): Promise<void> {
            await this.redis.set(`paid:${id}`, "1", "EX", 86400);
          }
          async handle(event: PaymentEvent): Promise<void> {
            if (await this.isProcessed(event.id)) {
              return;
            }
            await this.gateway.capture(event.id, event.amount);
            await this.markProcessed(event.id);
          }
        }
        """,
        11,
    ),
    good(
        _RULE,
        "typescript",
        """
        import Redis from "ioredis";
        export class Payments {
          constructor(private readonly redis: Redis, private readonly gateway: Gateway) {}
          private async claim(id: string): Promise<boolean> {
            return (await this.redis.set(`paid:${id}`, "1", "EX", 86400, "NX")) === "OK";
          }
          async handle(event: PaymentEvent): Promise<void> {
            if (!(await this.claim(event.id))) {
              return;
            }
            await this.gateway.capture(event.id, event.amount);
          }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        from fastapi import APIRouter, Header
        import json
        router = APIRouter()
        @router.post("/payments")
        async def create_payment(body: dict, idempotency_key: str = Header()):
            cached = await redis.get(f"idem:{idempotency_key}")
            if cached:
                return json.loads(cached)
            result = await charge(body)
            await redis.set(f"idem:{idempotency_key}", json.dumps(result), ex=86400)
            return result
        """,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        from fastapi import APIRouter, Header, HTTPException
        import json
        router = APIRouter()
        @router.post("/payments")
        async def create_payment(body: dict, idempotency_key: str = Header()):
            key = f"idem:{idempotency_key}"
            if not await redis.set(key, "pending", ex=86400, nx=True):
                cached = await redis.get(key)
                if cached == b"pending":
                    raise HTTPException(409)
                return json.loads(cached)
            result = await charge(body)
            await redis.set(key, json.dumps(result), ex=86400)
            return result
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("context"; "time"; "github.com/redis/go-redis/v9")
        type Limiter struct { rdb *redis.Client; max int }
        func (l *Limiter) Allow(ctx context.Context, user string) (bool, error) {
            n, err := l.rdb.Get(ctx, "rl:"+user).Int()
            if err != nil && err != redis.Nil {
                return false, err
            }
            if n >= l.max {
                return false, nil
            }
            pipe := l.rdb.TxPipeline()
            pipe.Incr(ctx, "rl:"+user)
            pipe.Expire(ctx, "rl:"+user, time.Minute)
            _, err = pipe.Exec(ctx)
            return err == nil, err
        }
        """,
        5,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("context"; "time"; "github.com/redis/go-redis/v9")
        type Limiter struct { rdb *redis.Client; max int64 }
        func (l *Limiter) Allow(ctx context.Context, user string) (bool, error) {
            pipe := l.rdb.TxPipeline()
            n := pipe.Incr(ctx, "rl:"+user)
            pipe.Expire(ctx, "rl:"+user, time.Minute)
            if _, err := pipe.Exec(ctx); err != nil {
                return false, err
            }
            return n.Val() <= l.max, nil
        }
        """,
    ),
]
