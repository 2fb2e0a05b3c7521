"""Clients that block, and method references and properties that lead to them."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        import redis
        class Store:
            def __init__(self, url):
                self._redis = redis.Redis.from_url(url)
            def touch(self, key):
                with self._redis.pipeline() as pipe:
                    pipe.zadd(key, {"a": 1})
                    pipe.execute()
        store = Store("redis://cache")
        @app.get("/touch")
        async def touch(key: str):
            store.touch(key)
        """,
        12,
    ),
    good(
        "blocking-call-in-async-code",
        "python",
        """
        import redis.asyncio as redis
        client = redis.Redis.from_url("redis://cache")
        @app.get("/touch")
        async def touch(key: str):
            await client.zadd(key, {"a": 1})
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "kotlin",
        """
        import software.amazon.awssdk.services.s3.S3Client
        class Store(private val s3: S3Client) {
            suspend fun load(key: String): ByteArray = s3.getObject(request(key)).use { it.readBytes() }
        }
        """,
        3,
    ),
    good(
        "blocking-call-in-async-code",
        "kotlin",
        """
        import software.amazon.awssdk.services.s3.S3AsyncClient
        class Store(private val s3: S3AsyncClient) {
            suspend fun load(key: String): ByteArray = s3.getObject(request(key)).await()
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "java",
        """
        package a;
        import org.springframework.jdbc.core.JdbcTemplate;
        import reactor.core.publisher.Mono;
        class Filter {
            private final JdbcTemplate jdbc;
            Mono<Void> filter(Exchange exchange) {
                return Mono.just(exchange.client()).map(this::take).then();
            }
            private int take(String client) {
                return jdbc.update("UPDATE quota SET used = 1 WHERE id = ?", client);
            }
        }
        """,
        10,
    ),
    good(
        "blocking-call-in-async-code",
        "java",
        """
        package a;
        import org.springframework.jdbc.core.JdbcTemplate;
        import reactor.core.publisher.Mono;
        class Filter {
            private final JdbcTemplate jdbc;
            Mono<Void> filter(Exchange exchange) {
                return Mono.just(exchange.client()).publishOn(elastic).map(this::take).then();
            }
            private int take(String client) {
                return jdbc.update("UPDATE quota SET used = 1 WHERE id = ?", client);
            }
        }
        """,
    ),
    bad(
        "task-waited-for-by-thread",
        "csharp",
        """
        class Tenant
        {
            private Info? _current;
            public Info Current => _current ??= LoadAsync().GetAwaiter().GetResult();
            private async Task<Info> LoadAsync() => await _db.Tenants.FirstAsync();
        }
        """,
        4,
    ),
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        from elasticsearch import Elasticsearch

        es = Elasticsearch("http://search:9200")

        async def rebuild(old, new):
            es.indices.create(index=new)
            es.reindex(source=old, dest=new)
            es.indices.delete(index=old)
        """,
        6,
    ),
]
