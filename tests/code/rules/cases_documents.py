"""Documents under a key that are read, changed and written back."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lost-update"

CASES = [
    bad(
        _RULE,
        "typescript",
        """
        import Redis from "ioredis";
        export class Carts {
          constructor(private readonly redis: Redis) {}
          async add(cartId: string, item: Item): Promise<void> {
            const raw = await this.redis.get(`cart:${cartId}`);
            const cart: Cart = raw ? JSON.parse(raw) : { items: [] };
            cart.items.push(item);
            await this.redis.set(`cart:${cartId}`, JSON.stringify(cart), "EX", 3600);
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
        export class Carts {
          constructor(private readonly redis: Redis) {}
          async add(cartId: string, item: Item): Promise<void> {
            await this.redis.rpush(`cart:${cartId}`, JSON.stringify(item));
          }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import json
        import redis
        r = redis.Redis(socket_timeout=2)
        def add_tag(user_id: str, tag: str) -> None:
            raw = r.get(f"tags:{user_id}")
            tags = json.loads(raw) if raw else []
            if tag not in tags:
                tags.append(tag)
            r.set(f"tags:{user_id}", json.dumps(tags))
        """,
        5,
    ),
    good(
        _RULE,
        "python",
        """
        import redis
        r = redis.Redis(socket_timeout=2)
        def add_tag(user_id: str, tag: str) -> None:
            r.sadd(f"tags:{user_id}", tag)
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("context"; "encoding/json"; "time"; "github.com/redis/go-redis/v9")
        type Sessions struct{ rdb *redis.Client }
        func (s *Sessions) AddRole(ctx context.Context, id, role string) error {
            raw, err := s.rdb.Get(ctx, "session:"+id).Bytes()
            if err != nil {
                return err
            }
            var session Session
            if err := json.Unmarshal(raw, &session); err != nil {
                return err
            }
            session.Roles = append(session.Roles, role)
            raw, err = json.Marshal(session)
            if err != nil {
                return err
            }
            return s.rdb.Set(ctx, "session:"+id, raw, time.Hour).Err()
        }
        """,
        5,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("context"; "github.com/redis/go-redis/v9")
        type Sessions struct{ rdb *redis.Client }
        func (s *Sessions) AddRole(ctx context.Context, id, role string) error {
            return s.rdb.SAdd(ctx, "session:"+id+":roles", role).Err()
        }
        """,
    ),
]
