"""Blocking calls in async code on clients that the code is given."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "blocking-call-in-async-code"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import redis
        class Limits:
            def __init__(self, store):
                self._store = store
            def _taken(self, key):
                return self._store.incr(key)
            async def allow(self, key):
                return self._taken(key) < 5
        limits = Limits(redis.Redis(host="x", socket_timeout=1))
    """,
        8,
    ),
    bad(
        _RULE,
        "python",
        """
        class Publisher:
            def __init__(self, s3, bucket):
                self._s3 = s3
            async def publish(self, key, data):
                self._s3.put_object(Bucket="b", Key=key, Body=data)
    """,
        5,
    ),
    good(
        _RULE,
        "python",
        """
        class Publisher:
            def __init__(self, s3, bucket):
                self._s3 = s3
            async def publish(self, key, data):
                await self._s3.put_object(Bucket="b", Key=key, Body=data)
            async def other(self, key, data):
                await asyncio.to_thread(self._s3.put_object, Bucket="b", Key=key, Body=data)
    """,
    ),
    bad(
        _RULE,
        "python",
        "import psycopg\nasync def load(conn: psycopg.Connection, key):\n    return conn.execute('select 1', (key,)).fetchone()",
        3,
    ),
    bad(
        _RULE,
        "python",
        "import dns.resolver\nasync def mx(domain):\n    return dns.resolver.resolve(domain, 'MX')",
        3,
    ),
    good(
        _RULE,
        "python",
        """
        import redis.asyncio
        class Limits:
            def __init__(self, store):
                self._store = store
            async def allow(self, key):
                return await self._store.incr(key) < 5
        limits = Limits(redis.asyncio.Redis(host="x", socket_timeout=1))
    """,
    ),
]
